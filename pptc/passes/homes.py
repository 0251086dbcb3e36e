"""The attributes by which tile passes and the lowering speak about where a tile lives, and the bytes it needs there."""

from __future__ import annotations

from typing import Literal, cast

from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.ir.types import TileType
from pptc.passes.panels import panel_of

PRIVATE = "tile.private"
"""Unit, on alloc_tile: only this handle reaches the bytes; the tile has no `addr` and obeys no chip's capacity."""

HOME = "tile.home"
OFFSET = "tile.offset"
"""Integer, on a private alloc_tile: its first byte in the scratch."""

ROW = "tile.row"
"""Integer, on an alloc_tile and a tstore of one strip loop: the strip is the tstore's destination row."""

STRIP = "tile.strip"
"""Unit, on scf.for: one row per trip."""

STREAMED = "tile.streamed"
"""Unit, on a tstore of a strip loop: its row is written past the caches, by one store per element.
On scf.if: its branches hold one strip loop with and without such stores."""

SCRATCH_BYTES = "tile.scratch_bytes"
SPACE_OFFSETS = "tile.space_offsets"
"""Dictionary, on func.func: where byte 0 of each space that has addressed tiles lies in the scratch."""

Home = Literal["arena", "view", "register", "strip", "panel", "accumulator"]

_PADDING_BYTES = 64
_CONFLICT_BYTES = 1024


def is_private(alloc: Op) -> bool:
    """True for an alloc_tile whose bytes only its own handle reaches."""
    return PRIVATE in alloc.attributes


def home_of(alloc: Op) -> Home:
    """Where the tile of an alloc_tile lives; `arena` unless residency said otherwise."""
    return cast(Home, alloc.attributes.get(HOME, "arena"))


def tile_of(alloc: Op) -> TileType:
    """The tile type of an alloc_tile."""
    type = alloc.result.type
    assert isinstance(type, TileType)
    return type


def row_pitch(type: TileType, private: bool = True) -> int:
    """Elements from one row to the next of an ND tile, or of a private boxed one (kept row-major).

    Boxed rows are padded off strides of 1 KiB, which would fall into few cache sets.
    """
    if not (private and type.is_boxed) or type.cols * type.elem.bytes % _CONFLICT_BYTES:
        return type.cols
    return type.cols + _PADDING_BYTES // type.elem.bytes


def arena_bytes(type: TileType, private: bool = True) -> int:
    """Bytes of the tile as a buffer."""
    if private and type.is_boxed:
        return type.rows * row_pitch(type) * type.elem.bytes
    return type.size_bytes


def home_bytes(alloc: Op, machine: Machine) -> int:
    """Bytes of scratch that a private tile needs at its home."""
    type = tile_of(alloc)
    match home_of(alloc):
        case "arena":
            return arena_bytes(type)
        case "strip":
            return 0 if ROW in alloc.attributes else type.size_bytes
        case "panel":
            panel = panel_of(machine, type.elem)
            assert panel is not None, "residency gave a panel to a machine without one"
            return panel.bytes(type.rows, type.cols)
        case "view" | "register" | "accumulator":
            return 0


def integer(op: Op, key: str) -> int | None:
    """The value of an integer attribute, or None."""
    found = op.attributes.get(key)
    return found.value if isinstance(found, IntAttr) else None
