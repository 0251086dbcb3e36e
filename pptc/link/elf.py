"""The linker: relocatable objects of self-contained kernels in, a shared image or an object with one more section out.

`link_shared` makes an ET_DYN that exports exactly the symbols asked for and imports nothing. `relocatable` leaves an
object as it is and appends sections, so that a system linker takes it. Anything not understood is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pptc.diag import Sink, fail
from pptc.link import elf_format as elf
from pptc.link.elf_format import align_up
from pptc.link.elf_layout import Layout, OutputSection, segments_of, string_section
from pptc.link.elf_object import InputRelocation, InputSection, InputSymbol, ObjectFile, read_object
from pptc.link.elf_relocations import ElfMachine, OutOfRange, Relocation, Site
from pptc.link.elf_symbols import all_symbols, dynamic_symbols, hash_table
from pptc.link.records import StringTable


@dataclass(frozen=True, slots=True)
class ExtraSection:
    """A read-only loaded section that the caller makes.

    `references` are (offset, symbol): the 64-bit word there becomes the distance from itself to the symbol.
    """

    name: str
    data: bytes
    align: int
    references: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SharedImage:
    """An ET_DYN. `addresses` are those of all global symbols of the objects, exported or not, relative to the image."""

    data: bytes
    addresses: Mapping[str, int]


def link_shared(
    objects: Sequence[bytes],
    exports: Sequence[str],
    *,
    entries: Sequence[str] = (),
    extra: Sequence[ExtraSection] = (),
    soname: str | None = None,
) -> SharedImage:
    """Link objects of one machine to a shared image. Raises CompileError P0501, P0502 or P0505.

    `exports` become visible; `entries` must be defined too but are found by their address only.
    """
    files = [
        read_object(data, f"object {i}" if len(objects) > 1 else "object") for i, data in enumerate(objects)
    ]
    machine = _common_machine(files)
    symbols = _resolve(files, [*exports, *entries])
    sections = [section for file in files for section in file.sections if section.size]
    sections += [_extra_section(e, symbols, machine) for e in extra]
    exported = [symbols[name] for name in sorted(exports)]
    layout, tables = _lay_out(machine, files[0].flags, sections, exported, soname)
    layout.place()
    dynamic = _relocate(machine, sections)
    tables.finish(layout, exported, [s for file in files for s in file.symbols], dynamic)
    addresses = {name: symbol.address for name, symbol in symbols.items()}
    return SharedImage(layout.write(), MappingProxyType(addresses))


def _common_machine(files: Sequence[ObjectFile]) -> ElfMachine:
    for file in files[1:]:
        if (file.machine, file.flags) != (files[0].machine, files[0].flags):
            raise fail("P0502", f"{file.name} is for another machine than {files[0].name}")
    return files[0].machine


def _resolve(files: Sequence[ObjectFile], wanted: Sequence[str]) -> dict[str, InputSymbol]:
    """The global symbols by name; references of one object to another are bound to the definition."""
    sink = Sink()
    found: dict[str, InputSymbol] = {}
    for file in files:
        for symbol in file.symbols:
            if symbol.is_global and symbol.section:
                if symbol.name in found:
                    sink.error("P0505", f"{file.name}: symbol {symbol.name} is defined twice")
                found[symbol.name] = symbol
    needed = [
        s.name for file in files for s in file.symbols if s.is_global and not s.section and not s.absolute
    ]
    for name in dict.fromkeys([*needed, *wanted]):
        if name not in found:
            sink.error(
                "P0501", f"undefined symbol {name}", hint="a kernel calls nothing outside of its own object"
            )
    sink.check()
    for file in files:
        for section in file.sections:
            for relocation in section.relocations:
                relocation.symbol = _definition(relocation, section, found)
    return found


def _definition(
    relocation: InputRelocation, section: InputSection, found: dict[str, InputSymbol]
) -> InputSymbol:
    symbol = relocation.symbol
    if symbol.is_global and not symbol.absolute:
        return found[symbol.name]
    if symbol.section is None:
        raise fail(
            "P0502", f"section {section.name} refers to {symbol.name or 'nothing'}, which is not in the image"
        )
    return symbol


def _extra_section(extra: ExtraSection, symbols: dict[str, InputSymbol], machine: ElfMachine) -> InputSection:
    relocations = []
    for offset, name in extra.references:
        if name not in symbols:
            raise fail("P0501", f"undefined symbol {name}")
        relocations.append(InputRelocation(offset, machine.place64, symbols[name], 0))
    data = bytearray(extra.data)
    return InputSection(
        extra.name, elf.SHT_PROGBITS, elf.SHF_ALLOC, extra.align, len(data), data, relocations
    )


# ---------------------------------------------------------------- relocations


def _relocation(machine: ElfMachine, section: InputSection, entry: InputRelocation) -> Relocation:
    kind = machine.relocations.get(entry.type)
    where = f"section {section.name} at {entry.offset:#x}, symbol {entry.symbol.name}"
    if kind is None:
        raise fail("P0502", f"{where}: unknown {machine.name} relocation {entry.type}")
    if entry.offset + kind.width > section.size or section.is_zero:
        raise fail("P0502", f"{where}: the relocation ends beyond the section")
    if kind.apply is None and not section.flags & elf.SHF_WRITE:
        raise fail("P0502", f"{where}: {kind.name} in read-only memory")
    return kind


def _is_dynamic(machine: ElfMachine, entry: InputRelocation) -> bool:
    kind = machine.relocations.get(entry.type)
    return kind is not None and kind.apply is None


def _relocate(machine: ElfMachine, sections: Sequence[InputSection]) -> list[elf.RelaRecord]:
    """Patch all places; returns what the loader has to add its base to."""
    dynamic = []
    for section in sections:
        for entry in section.relocations:
            kind = _relocation(machine, section, entry)
            place, value = section.address + entry.offset, entry.symbol.address + entry.addend
            if kind.apply is None:
                section.data[entry.offset : entry.offset + 8] = value.to_bytes(8, "little", signed=value < 0)
                dynamic.append(elf.RelaRecord(place, machine.relative, value))
                continue
            try:
                kind.apply(Site(section.data, entry.offset, place, value))
            except OutOfRange:
                where = f"section {section.name} at {entry.offset:#x}"
                raise fail("P0502", f"{where}: {kind.name} cannot reach {entry.symbol.name}") from None
    return sorted(dynamic, key=lambda record: record.offset)


# ---------------------------------------------------------------- an object for a system linker


def relocatable(data: bytes, extra: Sequence[ExtraSection]) -> bytes:
    """The object with sections appended; they are retained even when a linker collects unused sections."""
    file = read_object(data)
    header = elf.FileHeader.unpack(data)
    old = [
        elf.SectionHeader.unpack(data, header.section_offset + i * elf.SectionHeader.size())
        for i in range(header.section_count)
    ]
    out = bytearray(data)
    headers = list(old)
    titles = bytearray(data[old[header.names].offset :][: old[header.names].length])
    for section in extra:
        headers += _appended(out, titles, section, file, len(headers), _symbol_table(old))
    headers[header.names] = replace(old[header.names], offset=_append(out, titles, 1), length=len(titles))
    table = b"".join(h.pack() for h in headers)
    ident = bytearray(header.ident)
    ident[7] = elf.OSABI_GNU  # SHF_GNU_RETAIN is an extension of GNU
    header = replace(
        header, ident=bytes(ident), section_offset=_append(out, table, 8), section_count=len(headers)
    )
    out[: elf.FileHeader.size()] = header.pack()
    return bytes(out)


def _symbol_table(headers: Sequence[elf.SectionHeader]) -> int:
    return next(i for i, h in enumerate(headers) if h.type == elf.SHT_SYMTAB)


def _append(out: bytearray, data: bytes | bytearray, align: int) -> int:
    out += bytes(align_up(len(out), align) - len(out))
    offset = len(out)
    out += data
    return offset


def _appended(
    out: bytearray, titles: bytearray, extra: ExtraSection, file: ObjectFile, number: int, symbol_table: int
) -> list[elf.SectionHeader]:
    """Append the section, and its relocations as the section after it."""
    defined = {s.name: i for i, s in enumerate(file.symbols) if s.section and s.is_global}
    records = []
    for offset, name in extra.references:
        if name not in defined:
            raise fail("P0501", f"undefined symbol {name}")
        records.append(elf.RelaRecord(offset, defined[name] << 32 | file.machine.place64, 0))
    flags = elf.SHF_ALLOC | elf.SHF_GNU_RETAIN
    sections = [
        elf.SectionHeader(
            name=_append(titles, extra.name.encode() + b"\0", 1),
            type=elf.SHT_PROGBITS,
            flags=flags,
            offset=_append(out, extra.data, extra.align),
            length=len(extra.data),
            align=extra.align,
        )
    ]
    if records:
        table = b"".join(record.pack() for record in records)
        sections.append(
            elf.SectionHeader(
                name=_append(titles, b".rela" + extra.name.encode() + b"\0", 1),
                type=elf.SHT_RELA,
                flags=elf.SHF_INFO_LINK,
                offset=_append(out, table, 8),
                length=len(table),
                link=symbol_table,
                info=number,
                align=8,
                entry_size=elf.RelaRecord.size(),
            )
        )
    return sections


# ---------------------------------------------------------------- the tables of the image


@dataclass(slots=True)
class _Tables:
    """The sections that describe the image; their sizes are known before the layout, their bytes after it."""

    symbols: OutputSection
    hashes: OutputSection
    strings: OutputSection
    relative: OutputSection | None
    dynamic: OutputSection
    names: StringTable
    soname: int | None

    def loaded(self) -> list[OutputSection]:
        found = [self.symbols, self.hashes, self.strings]
        return found + ([self.relative] if self.relative else [])

    def finish(
        self,
        layout: Layout,
        exports: Sequence[InputSymbol],
        symbols: Sequence[InputSymbol],
        relative: Sequence[elf.RelaRecord],
    ) -> None:
        """Fill in the bytes, and append the tables that are not loaded."""
        self.symbols.data = dynamic_symbols(exports, self.names, layout.numbers())
        if self.relative:
            self.relative.data = b"".join(record.pack() for record in relative)
        self.dynamic.data = b"".join(record.pack() for record in self.dynamic_records())
        strings = StringTable()
        data, first = all_symbols(symbols, exports, strings, layout.numbers())
        text = string_section(".strtab", strings)
        size = elf.SymbolRecord.size()
        layout.unloaded += [
            OutputSection(".symtab", elf.SHT_SYMTAB, 0, 8, len(data), data, size, text, first),
            text,
        ]

    def dynamic_records(self) -> list[elf.DynamicRecord]:
        """What the system's loader reads; always as many as `_dynamic_count` says."""
        pairs = [(elf.DT_SONAME, self.soname)] if self.soname is not None else []
        pairs += [
            (elf.DT_HASH, self.hashes.address),
            (elf.DT_STRTAB, self.strings.address),
            (elf.DT_SYMTAB, self.symbols.address),
            (elf.DT_STRSZ, self.strings.size),
            (elf.DT_SYMENT, elf.SymbolRecord.size()),
        ]
        if self.relative:
            size = elf.RelaRecord.size()
            pairs += [
                (elf.DT_RELA, self.relative.address),
                (elf.DT_RELASZ, self.relative.size),
                (elf.DT_RELAENT, size),
                (elf.DT_RELACOUNT, self.relative.size // size),
            ]
        return [elf.DynamicRecord(tag, value) for tag, value in [*pairs, (elf.DT_NULL, 0)]]


def _lay_out(
    machine: ElfMachine,
    flags: int,
    sections: Sequence[InputSection],
    exports: Sequence[InputSymbol],
    soname: str | None,
) -> tuple[Layout, _Tables]:
    count = sum(_is_dynamic(machine, entry) for section in sections for entry in section.relocations)
    tables = _tables(exports, soname, count)
    outputs = [OutputSection.of(section) for section in sections]
    return Layout(
        machine, flags, segments_of(tables.loaded(), outputs, tables.dynamic), tables.dynamic
    ), tables


def _tables(exports: Sequence[InputSymbol], soname: str | None, relative_count: int) -> _Tables:
    names = StringTable()
    for symbol in exports:
        names.add(symbol.name)
    soname_offset = names.add(soname) if soname is not None else None
    strings = string_section(".dynstr", names, elf.SHF_ALLOC)
    hashes = hash_table([symbol.name for symbol in exports])
    size = elf.SymbolRecord.size()
    symbols = OutputSection(
        ".dynsym", elf.SHT_DYNSYM, elf.SHF_ALLOC, 8, size * (len(exports) + 1), b"", size, strings, info=1
    )
    relative = None
    if relative_count:
        size = elf.RelaRecord.size()
        relative = OutputSection(
            ".rela.dyn", elf.SHT_RELA, elf.SHF_ALLOC, 8, size * relative_count, b"", size, symbols
        )
    size = elf.DynamicRecord.size()
    dynamic = OutputSection(
        ".dynamic", elf.SHT_DYNAMIC, elf.SHF_ALLOC | elf.SHF_WRITE, 8, 0, b"", size, strings
    )
    tables = _Tables(
        symbols=symbols,
        hashes=OutputSection(".hash", elf.SHT_HASH, elf.SHF_ALLOC, 8, len(hashes), hashes, 4, symbols),
        strings=strings,
        relative=relative,
        dynamic=dynamic,
        names=names,
        soname=soname_offset,
    )
    dynamic.size = size * len(tables.dynamic_records())
    return tables
