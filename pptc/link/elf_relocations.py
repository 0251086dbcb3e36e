"""What each relocation does to its place: one table per machine. A type that is not in a table is refused.

Only what self-contained position-independent code needs: no GOT, no PLT, no thread-local storage.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.link.elf_format import EM_AARCH64, EM_X86_64


class OutOfRange(Exception):
    """The value does not fit the place."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place to be patched: `data[offset:]` at run-time address `place`; `value` is symbol + addend."""

    data: bytearray
    offset: int
    place: int
    value: int

    def patch_word(self, change: Callable[[int], int]) -> None:
        """Rewrite the 32-bit instruction word at the place."""
        (word,) = struct.unpack_from("<I", self.data, self.offset)
        struct.pack_into("<I", self.data, self.offset, change(word))

    def put(self, value: int, width: int) -> None:
        """Store a signed little-endian number of `width` bytes."""
        self.data[self.offset : self.offset + width] = signed(value, 8 * width).to_bytes(
            width, "little", signed=True
        )


@dataclass(frozen=True, slots=True)
class Relocation:
    """One type. `apply` is None for the full address of something, which the loader has to finish."""

    name: str
    width: int
    apply: Callable[[Site], None] | None


@dataclass(frozen=True, slots=True)
class ElfMachine:
    """What the linker must know about an e_machine."""

    number: int
    name: str
    page: int
    relative: int  # the dynamic relocation "image base + addend"
    place64: int  # the static relocation "64 bits relative to the place"
    relocations: Mapping[int, Relocation]


def signed(value: int, bits: int) -> int:
    """The value if it fits a signed field of `bits`."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise OutOfRange
    return value


def _relative(name: str, width: int) -> Relocation:
    return Relocation(name, width, lambda site: site.put(site.value - site.place, width))


def _address(name: str) -> Relocation:
    return Relocation(name, 8, None)


def _branch(name: str) -> Relocation:
    def apply(site: Site) -> None:
        distance = signed(site.value - site.place, 28) >> 2 & 0x3FFFFFF
        site.patch_word(lambda word: word & ~0x3FFFFFF | distance)

    return Relocation(name, 4, apply)


def _page(name: str) -> Relocation:
    def apply(site: Site) -> None:
        pages = signed((site.value & ~0xFFF) - (site.place & ~0xFFF), 33) >> 12
        field = (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        site.patch_word(lambda word: word & ~(3 << 29 | 0x7FFFF << 5) | field)

    return Relocation(name, 4, apply)


def _low12(name: str, shift: int) -> Relocation:
    def apply(site: Site) -> None:
        low = site.value & 0xFFF
        if low & (1 << shift) - 1:
            raise OutOfRange
        site.patch_word(lambda word: word & ~(0xFFF << 10) | low >> shift << 10)

    return Relocation(name, 4, apply)


_X86_64 = MappingProxyType(
    {
        1: _address("R_X86_64_64"),
        2: _relative("R_X86_64_PC32", 4),
        4: _relative("R_X86_64_PLT32", 4),  # the callee is in the image: no table in between
        24: _relative("R_X86_64_PC64", 8),
    }
)

_AARCH64 = MappingProxyType(
    {
        257: _address("R_AARCH64_ABS64"),
        260: _relative("R_AARCH64_PREL64", 8),
        261: _relative("R_AARCH64_PREL32", 4),
        275: _page("R_AARCH64_ADR_PREL_PG_HI21"),
        277: _low12("R_AARCH64_ADD_ABS_LO12_NC", 0),
        278: _low12("R_AARCH64_LDST8_ABS_LO12_NC", 0),
        282: _branch("R_AARCH64_JUMP26"),
        283: _branch("R_AARCH64_CALL26"),
        284: _low12("R_AARCH64_LDST16_ABS_LO12_NC", 1),
        285: _low12("R_AARCH64_LDST32_ABS_LO12_NC", 2),
        286: _low12("R_AARCH64_LDST64_ABS_LO12_NC", 3),
        299: _low12("R_AARCH64_LDST128_ABS_LO12_NC", 4),
    }
)

MACHINES: Mapping[int, ElfMachine] = MappingProxyType(
    {
        machine.number: machine
        for machine in (
            ElfMachine(EM_X86_64, "x86-64", 0x1000, 8, 24, MappingProxyType(_X86_64)),
            ElfMachine(EM_AARCH64, "AArch64", 0x10000, 1027, 260, MappingProxyType(_AARCH64)),
        )
    }
)
