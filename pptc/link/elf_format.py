"""The records and numbers of ELF-64 little endian that the linker reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.link.records import Record, i64, octets, u8, u16, u32, u64

IDENT = b"\x7fELF\x02\x01\x01"
"""Magic, 64-bit, little endian, version 1."""

OSABI_GNU = 3
ET_REL, ET_DYN = 1, 3
EM_X86_64, EM_AARCH64 = 62, 183

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH = 0, 1, 2, 3, 4, 5
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 6, 7, 8, 9, 11
SHT_GROUP, SHT_SYMTAB_SHNDX = 17, 18
SHT_LLVM_ADDRSIG, SHT_X86_64_UNWIND = 0x6FFF4C03, 0x70000001

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS, SHF_INFO_LINK = 1, 2, 4, 0x10, 0x20, 0x40
SHF_GNU_RETAIN, SHF_EXCLUDE = 0x200000, 0x80000000

SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2

STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE = 0, 1, 2, 3, 4
STV_DEFAULT, STV_HIDDEN = 0, 2

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR = 1, 2, 4, 6
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4

DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT = 0, 4, 5, 6, 7, 8, 9
DT_STRSZ, DT_SYMENT, DT_SONAME, DT_RELACOUNT = 10, 11, 14, 0x6FFFFFF9


@dataclass
class FileHeader(Record):
    """Elf64_Ehdr."""

    ident: bytes = octets(16)
    type: int = u16()
    machine: int = u16()
    version: int = u32()
    entry: int = u64()
    program_offset: int = u64()
    section_offset: int = u64()
    flags: int = u32()
    header_size: int = u16()
    program_size: int = u16()
    program_count: int = u16()
    section_size: int = u16()
    section_count: int = u16()
    names: int = u16()


@dataclass
class SectionHeader(Record):
    """Elf64_Shdr."""

    name: int = u32()
    type: int = u32()
    flags: int = u64()
    address: int = u64()
    offset: int = u64()
    length: int = u64()
    link: int = u32()
    info: int = u32()
    align: int = u64()
    entry_size: int = u64()


@dataclass
class ProgramHeader(Record):
    """Elf64_Phdr."""

    type: int = u32()
    flags: int = u32()
    offset: int = u64()
    address: int = u64()
    physical: int = u64()
    file_size: int = u64()
    memory_size: int = u64()
    align: int = u64()


@dataclass
class SymbolRecord(Record):
    """Elf64_Sym."""

    name: int = u32()
    info: int = u8()
    other: int = u8()
    section: int = u16()
    value: int = u64()
    length: int = u64()


@dataclass
class RelaRecord(Record):
    """Elf64_Rela."""

    offset: int = u64()
    info: int = u64()
    addend: int = i64()


@dataclass
class DynamicRecord(Record):
    """Elf64_Dyn."""

    tag: int = i64()
    value: int = u64()


def align_up(value: int, alignment: int) -> int:
    """The next multiple of `alignment`, a power of two; 0 counts as 1."""
    mask = max(alignment, 1) - 1
    return (value + mask) & ~mask
