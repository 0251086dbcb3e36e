"""Symbol tables of an image: .dynsym with its hash table, and the .symtab that tools read."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from pptc.link import elf_format as elf
from pptc.link.elf_object import InputSymbol
from pptc.link.records import StringTable

Numbers = Mapping[int, int]
"""Section numbers by the identity of the input section."""


def hash_table(names: Sequence[str]) -> bytes:
    """DT_HASH of the symbols 1 .. len(names)."""
    buckets = [0] * max(1, len(names))
    chain = [0] * (len(names) + 1)
    for index in range(len(names), 0, -1):
        slot = _hash(names[index - 1]) % len(buckets)
        chain[index], buckets[slot] = buckets[slot], index
    words = [len(buckets), len(chain), *buckets, *chain]
    return struct.pack(f"<{len(words)}I", *words)


def _hash(name: str) -> int:
    """The hash function of the System V ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & 0x0FFFFFFF
    return value


def dynamic_symbols(exports: Sequence[InputSymbol], strings: StringTable, numbers: Numbers) -> bytes:
    """.dynsym: the null symbol and the exports."""
    return elf.SymbolRecord().pack() + b"".join(
        _record(symbol, strings, numbers, elf.STB_GLOBAL).pack() for symbol in exports
    )


def all_symbols(
    symbols: Sequence[InputSymbol], exports: Sequence[InputSymbol], strings: StringTable, numbers: Numbers
) -> tuple[bytes, int]:
    """.symtab of every named place in the image, and the number of its first exported symbol."""
    exported = [id(symbol) for symbol in exports]
    local = [
        s for s in symbols if s.section and s.name and s.type != elf.STT_SECTION and id(s) not in exported
    ]
    records = [_record(s, strings, numbers, elf.STB_LOCAL) for s in local]
    records += [_record(s, strings, numbers, elf.STB_GLOBAL) for s in exports]
    return b"".join(r.pack() for r in [elf.SymbolRecord(), *records]), len(local) + 1


def _record(symbol: InputSymbol, strings: StringTable, numbers: Numbers, binding: int) -> elf.SymbolRecord:
    return elf.SymbolRecord(
        name=strings.add(symbol.name),
        info=binding << 4 | symbol.type,
        other=elf.STV_DEFAULT,
        section=numbers[id(symbol.section)],
        value=symbol.address,
        length=symbol.size,
    )


def _is_named_place(symbol: InputSymbol) -> bool:
    named = symbol.name != "" and not symbol.name.startswith(".L")
    return symbol.section is not None and named and symbol.type != elf.STT_SECTION
