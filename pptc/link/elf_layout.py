"""Where everything of a shared image stands, and its bytes: segments, program headers, section headers.

The file has no padding to pages: each segment starts at an address whose offset in the page is that of the file, so a
few bytes of the neighbour are mapped twice, read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pptc.link import elf_format as elf
from pptc.link.elf_format import align_up
from pptc.link.elf_object import InputSection
from pptc.link.elf_relocations import ElfMachine
from pptc.link.records import StringTable


@dataclass(slots=True, eq=False)
class OutputSection:
    """A section of the image. `link` and `info` of its header are set once all numbers are known."""

    name: str
    type: int
    flags: int
    align: int
    size: int
    data: bytes | bytearray
    entry_size: int = 0
    link: OutputSection | None = None
    info: int = 0
    source: InputSection | None = None
    address: int = 0
    offset: int = 0

    @classmethod
    def of(cls, source: InputSection) -> OutputSection:
        """The output of an input section; both share their bytes."""
        kept = source.flags & (elf.SHF_WRITE | elf.SHF_ALLOC | elf.SHF_EXECINSTR)
        return cls(source.name, source.type, kept, source.align, source.size, source.data, source=source)

    def move_to(self, address: int, offset: int) -> None:
        """Fix the place."""
        self.address, self.offset = address, offset
        if self.source is not None:
            self.source.address = address


@dataclass(slots=True, eq=False)
class Segment:
    """Sections that are mapped with one protection. `relro` segments become read-only after loading."""

    flags: int
    sections: list[OutputSection]
    relro: bool = False
    offset: int = 0
    address: int = 0
    file_size: int = 0
    memory_size: int = 0

    def place(self, address: int, offset: int, headers: int, page: int) -> None:
        """Give addresses to all sections, after `headers` bytes."""
        self.address, self.offset = address, offset
        end = address + headers
        self.file_size = headers
        for section in self.sections:
            end = align_up(end, section.align)
            section.move_to(end, offset + end - address)
            end += section.size
            if section.type != elf.SHT_NOBITS:
                self.file_size = end - address
        self.memory_size = (align_up(end, page) if self.relro else end) - address

    def program_header(self, page: int) -> elf.ProgramHeader:
        """The PT_LOAD of the segment."""
        return _program(
            elf.PT_LOAD, self.flags, self.offset, self.address, self.file_size, self.memory_size, page
        )


@dataclass(slots=True)
class Layout:
    """The whole image: loaded segments, then sections that are only in the file."""

    machine: ElfMachine
    flags: int
    segments: list[Segment]
    dynamic: OutputSection
    unloaded: list[OutputSection] = field(default_factory=list)
    names: StringTable = field(default_factory=StringTable)

    @property
    def sections(self) -> list[OutputSection]:
        """All sections in the order of their numbers, the null section left out."""
        return [section for segment in self.segments for section in segment.sections] + self.unloaded

    def numbers(self) -> dict[int, int]:
        """The section number of every input section, by its identity."""
        return {id(s.source): number for number, s in enumerate(self.sections, 1) if s.source}

    def place(self) -> None:
        """Give every loaded section its address."""
        page = self.machine.page
        headers = elf.FileHeader.size() + len(self.program_headers()) * elf.ProgramHeader.size()
        address = offset = 0
        for index, segment in enumerate(self.segments):
            if index:
                offset = align_up(offset, 64)
                address = align_up(address, page) + offset % page
            segment.place(address, offset, 0 if index else headers, page)
            address, offset = address + segment.memory_size, offset + segment.file_size

    def program_headers(self) -> list[elf.ProgramHeader]:
        """All program headers; their number does not depend on the placement."""
        page = self.machine.page
        loads = [segment.program_header(page) for segment in self.segments]
        notes = [s for segment in self.segments for s in segment.sections if s.type == elf.SHT_NOTE]
        relro = [s for s in self.segments if s.relro]
        size = (3 + len(loads) + len(notes) + len(relro)) * elf.ProgramHeader.size()
        start = elf.FileHeader.size()
        return [
            _program(elf.PT_PHDR, elf.PF_R, start, start, size, size, 8),
            *loads,
            _covering(elf.PT_DYNAMIC, elf.PF_R | elf.PF_W, self.dynamic),
            *(_covering(elf.PT_NOTE, elf.PF_R, note) for note in notes),
            *(
                _program(elf.PT_GNU_RELRO, elf.PF_R, s.offset, s.address, s.file_size, s.memory_size, 1)
                for s in relro
            ),
            _program(elf.PT_GNU_STACK, elf.PF_R | elf.PF_W, 0, 0, 0, 0, 16),
        ]

    def write(self) -> bytes:
        """The file. Sections that are not loaded get their offsets here; the last of them holds the names."""
        for section in self.sections:
            self.names.add(section.name)
        self.unloaded.append(string_section(".shstrtab", self.names))
        out = bytearray(self.segments[-1].offset + self.segments[-1].file_size)
        for section in self.sections:
            if section in self.unloaded:
                out += bytes(align_up(len(out), section.align) - len(out))
                section.offset = len(out)
                out += section.data
            elif section.type != elf.SHT_NOBITS:
                out[section.offset : section.offset + section.size] = section.data
        out += bytes(-len(out) % 8)
        header = self.file_header(len(out))
        out += elf.SectionHeader().pack() + b"".join(h.pack() for h in self.section_headers())
        programs = b"".join(h.pack() for h in self.program_headers())
        out[: len(programs) + elf.FileHeader.size()] = header.pack() + programs
        return bytes(out)

    def file_header(self, section_offset: int) -> elf.FileHeader:
        """The ELF header; the last section holds the names."""
        count = len(self.sections) + 1
        return elf.FileHeader(
            ident=elf.IDENT.ljust(16, b"\0"),
            type=elf.ET_DYN,
            machine=self.machine.number,
            version=1,
            program_offset=elf.FileHeader.size(),
            section_offset=section_offset,
            flags=self.flags,
            header_size=elf.FileHeader.size(),
            program_size=elf.ProgramHeader.size(),
            program_count=len(self.program_headers()),
            section_size=elf.SectionHeader.size(),
            section_count=count,
            names=count - 1,
        )

    def section_headers(self) -> list[elf.SectionHeader]:
        """The headers of all sections."""
        numbers = {id(section): number for number, section in enumerate(self.sections, 1)}
        return [
            elf.SectionHeader(
                name=self.names.add(s.name),
                type=s.type,
                flags=s.flags,
                address=s.address,
                offset=s.offset,
                length=s.size,
                link=numbers[id(s.link)] if s.link else 0,
                info=s.info,
                align=s.align,
                entry_size=s.entry_size,
            )
            for s in self.sections
        ]


def string_section(name: str, strings: StringTable, flags: int = 0) -> OutputSection:
    """A finished string table as a section; its own name is in it when it holds section names."""
    if not flags:
        strings.add(name)
    return OutputSection(name, elf.SHT_STRTAB, flags, 1, len(strings.data), strings.data)


def segments_of(
    tables: Sequence[OutputSection], inputs: Sequence[OutputSection], dynamic: OutputSection
) -> list[Segment]:
    """Sort sections into read-only, executable, read-only-after-loading and writable segments; none is empty."""
    writable = [s for s in inputs if s.flags & elf.SHF_WRITE]
    code = [s for s in inputs if s.flags & elf.SHF_EXECINSTR]
    constant = [s for s in inputs if not s.flags & (elf.SHF_WRITE | elf.SHF_EXECINSTR)]
    pointers = [s for s in writable if s.name.startswith(".data.rel.ro") and s.type != elf.SHT_NOBITS]
    data = [s for s in writable if s not in pointers]
    constant.sort(key=lambda s: s.type != elf.SHT_NOTE)
    data.sort(key=lambda s: s.type == elf.SHT_NOBITS)
    segments = [
        Segment(elf.PF_R, [*tables, *constant]),
        Segment(elf.PF_R | elf.PF_X, code),
        Segment(elf.PF_R | elf.PF_W, [*pointers, dynamic], relro=True),
        Segment(elf.PF_R | elf.PF_W, data),
    ]
    return [segment for segment in segments if segment.sections]


def _program(
    type_: int, flags: int, offset: int, address: int, size: int, memory: int, align: int
) -> elf.ProgramHeader:
    return elf.ProgramHeader(type_, flags, offset, address, address, size, memory, align)


def _covering(type_: int, flags: int, section: OutputSection) -> elf.ProgramHeader:
    return _program(type_, flags, section.offset, section.address, section.size, section.size, section.align)
