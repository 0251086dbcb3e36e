"""Reading a relocatable ELF object. The bytes come from a code generator but are checked like any input:

every offset is bounded, and a section or symbol that the linker has no meaning for is refused by its name (P0502).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from pptc.diag import CompileError, fail
from pptc.link import elf_format as elf
from pptc.link.elf_relocations import MACHINES, ElfMachine
from pptc.link.records import Record

R = TypeVar("R", bound=Record)


@dataclass(slots=True, eq=False)
class InputSection:
    """A section that becomes part of the image; `address` is set by the layout."""

    name: str
    type: int
    flags: int
    align: int
    size: int
    data: bytearray
    relocations: list[InputRelocation] = field(default_factory=list)
    address: int = 0

    @property
    def is_zero(self) -> bool:
        """True for memory without bytes in the file (.bss)."""
        return self.type == elf.SHT_NOBITS


@dataclass(slots=True, eq=False)
class InputSymbol:
    """A symbol; `section` is None while nothing of this object defines it."""

    name: str
    value: int
    size: int
    type: int
    binding: int
    visibility: int
    section: InputSection | None
    absolute: bool = False

    @property
    def is_global(self) -> bool:
        """True when other objects may refer to it."""
        return self.binding != elf.STB_LOCAL

    @property
    def address(self) -> int:
        """The address in the image, once sections have theirs."""
        return self.value + (self.section.address if self.section else 0)


@dataclass(slots=True)
class InputRelocation:
    """A place of a section that depends on the address of a symbol."""

    offset: int
    type: int
    symbol: InputSymbol
    addend: int


@dataclass(slots=True)
class ObjectFile:
    """A relocatable object: the allocated sections and all symbols, in file order."""

    name: str
    machine: ElfMachine
    flags: int
    sections: list[InputSection]
    symbols: list[InputSymbol]


_KNOWN_FLAGS = (
    elf.SHF_WRITE | elf.SHF_ALLOC | elf.SHF_EXECINSTR | elf.SHF_MERGE | elf.SHF_STRINGS | elf.SHF_GNU_RETAIN
)
_KNOWN_TYPES = (elf.SHT_PROGBITS, elf.SHT_NOBITS, elf.SHT_NOTE, elf.SHT_X86_64_UNWIND)
_DROPPED = (".note.gnu.property",)  # states what all of a linked file does; nothing is the safe statement


def read_object(data: bytes, name: str = "object") -> ObjectFile:
    """Read an ET_REL file; `name` is for messages."""
    return _Reader(data, name).read()


class _Reader:
    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    def damaged(self, what: str) -> CompileError:
        return fail("P0502", f"{self.name}: {what}")

    def read(self) -> ObjectFile:
        header = self.header()
        headers = self.table(elf.SectionHeader, header.section_offset, header.section_count, "section table")
        if header.names >= len(headers):
            raise self.damaged("the section of section names does not exist")
        names = self.bytes_of(headers[header.names])
        titles = [self.text(names, h.name) for h in headers]
        sections = [self.section(h, t) for h, t in zip(headers, titles, strict=True)]
        tables = [i for i, h in enumerate(headers) if h.type == elf.SHT_SYMTAB]
        if len(tables) != 1:
            raise self.damaged(f"{len(tables)} symbol tables, not one")
        symbols = self.symbols(headers, headers[tables[0]], sections)
        for h in headers:
            if h.type == elf.SHT_RELA:
                self.relocations(h, sections, symbols, tables[0])
        machine = MACHINES[header.machine]
        return ObjectFile(self.name, machine, header.flags, [s for s in sections if s], symbols)

    def header(self) -> elf.FileHeader:
        if len(self.data) < elf.FileHeader.size() or self.data[: len(elf.IDENT)] != elf.IDENT:
            raise self.damaged("not a 64-bit little-endian ELF file")
        header = elf.FileHeader.unpack(self.data)
        if header.type != elf.ET_REL:
            raise self.damaged("not a relocatable object")
        if header.machine not in MACHINES:
            raise self.damaged(f"unknown machine {header.machine}")
        if header.section_size != elf.SectionHeader.size():
            raise self.damaged("section headers of unknown size")
        return header

    def slice(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self.data):
            raise self.damaged(f"{what} ends beyond the file")
        return self.data[offset : offset + size]

    def table(self, record: type[R], offset: int, count: int, what: str) -> list[R]:
        data = self.slice(offset, count * record.size(), what)
        return [record.unpack(data, i * record.size()) for i in range(count)]

    def bytes_of(self, header: elf.SectionHeader) -> bytes:
        return self.slice(header.offset, header.length, "a section")

    def text(self, strings: bytes, offset: int) -> str:
        end = strings.find(b"\0", offset)
        if end < 0:
            raise self.damaged("a name ends beyond its string table")
        return strings[offset:end].decode("utf-8", "replace")

    def section(self, header: elf.SectionHeader, name: str) -> InputSection | None:
        """The section if it is part of the image."""
        if not header.flags & elf.SHF_ALLOC or name in _DROPPED:
            if header.type in (elf.SHT_REL, elf.SHT_GROUP, elf.SHT_SYMTAB_SHNDX):
                raise self.damaged(f"section {name} has the unknown type {header.type}")
            return None
        unknown = header.flags & ~_KNOWN_FLAGS
        if header.type not in _KNOWN_TYPES or unknown:
            what = f"the unknown flags {unknown:#x}" if unknown else f"the unknown type {header.type:#x}"
            raise self.damaged(f"section {name} has {what}")
        if header.flags & elf.SHF_WRITE and header.flags & elf.SHF_EXECINSTR:
            raise self.damaged(f"section {name} is writable and executable")
        if header.align & (header.align - 1) or header.align > 0x1000:
            raise self.damaged(f"section {name} has the alignment {header.align}")
        data = (
            b""
            if header.type == elf.SHT_NOBITS
            else self.slice(header.offset, header.length, f"section {name}")
        )
        align = max(header.align, 1)
        return InputSection(name, header.type, header.flags, align, header.length, bytearray(data))

    def symbols(
        self, headers: list[elf.SectionHeader], table: elf.SectionHeader, sections: list[InputSection | None]
    ) -> list[InputSymbol]:
        if table.link >= len(headers):
            raise self.damaged("the symbol table's string table does not exist")
        strings = self.bytes_of(headers[table.link])
        records = self.table(
            elf.SymbolRecord, table.offset, table.length // elf.SymbolRecord.size(), "symbol table"
        )
        return [self.symbol(record, strings, sections) for record in records]

    def symbol(
        self, record: elf.SymbolRecord, strings: bytes, sections: list[InputSection | None]
    ) -> InputSymbol:
        name = self.text(strings, record.name)
        section = None
        if record.section < elf.SHN_LORESERVE:
            if record.section >= len(sections):
                raise self.damaged(f"symbol {name} lies in a section that does not exist")
            section = sections[record.section]
            if section and not name and record.info & 15 == elf.STT_SECTION:
                name = section.name
            if section and record.value + record.length > section.size:
                raise self.damaged(f"symbol {name} ends beyond section {section.name}")
        elif record.section != elf.SHN_ABS:
            raise self.damaged(f"symbol {name} lies in the unknown section {record.section:#x}")
        return InputSymbol(
            name=name,
            value=record.value,
            size=record.length,
            type=record.info & 15,
            binding=record.info >> 4,
            visibility=record.other & 3,
            section=section,
            absolute=record.section == elf.SHN_ABS,
        )

    def relocations(
        self,
        header: elf.SectionHeader,
        sections: list[InputSection | None],
        symbols: list[InputSymbol],
        symbol_table: int,
    ) -> None:
        """Read one table of relocations into the section that it is about."""
        if header.info >= len(sections) or header.link != symbol_table:
            raise self.damaged("relocations that belong to no section or symbol table")
        target = sections[header.info]
        if target is None:
            return
        count = header.length // elf.RelaRecord.size()
        for record in self.table(elf.RelaRecord, header.offset, count, f"relocations of {target.name}"):
            index = record.info >> 32
            if index >= len(symbols):
                raise self.damaged(
                    f"a relocation of {target.name} names symbol {index}, which does not exist"
                )
            target.relocations.append(
                InputRelocation(record.offset, record.info & 0xFFFFFFFF, symbols[index], record.addend)
            )
