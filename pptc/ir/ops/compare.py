"""Rows that compare elements into masks of bits, and rows that choose by such masks."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import (
    SCALAR,
    choice,
    in_spaces,
    same_elements,
    same_valid,
    scratch,
    source,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.opdef import Compare, OpDef, Operand, Problem, Select, dps, table
from pptc.ir.types import BF16, F16, F32, I8, I16, I32, TileType

_ELEMENTS = (I8, I16, I32, F16, BF16, F32)
_MODES = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = 8


def _mask_room(op: Op, mask: str, other: str) -> Iterator[Problem]:
    """The mask tile has bytes, and a bit for each column."""
    tiles = dict(typed_tiles(op, (mask, other)))
    bits, data = tiles.get(mask), tiles.get(other)
    if bits is None or data is None:
        return
    if bits.elem.bits != _BITS or bits.elem.is_float:
        yield Problem("P0204", f"{mask} has elements of {bits.elem.name}, and bits come in i8 or ui8", mask)
    columns = data.cols if data.v_col is None else data.v_col
    if bits.cols * _BITS < columns or bits.blayout != "row_major":
        yield Problem("P0205", f"{mask} has {bits.cols * _BITS} bits a row for {columns} columns", mask)


def _data(op: Op, *names: str) -> Iterator[Problem]:
    for name, type in typed_tiles(op, names):
        if type.elem not in _ELEMENTS:
            listed = ", ".join(elem.name for elem in _ELEMENTS)
            yield Problem(
                "P0216", f"{op.name} has no meaning for {type.elem.name}", name, f"it takes {listed}"
            )


def _compares(op: Op) -> Iterator[Problem]:
    first = op.definition.operands[0].name
    yield from _data(op, *(o.name for o in op.definition.operands if o.access == "read"))
    yield from _mask_room(op, "dst", first)


def _selects(op: Op) -> Iterator[Problem]:
    data = [o.name for o in op.definition.operands if o.access in ("read", "write") and o.name != "mask"]
    yield from _data(op, *data)
    if isinstance(op.operand("dst").type, TileType):
        yield from _mask_room(op, "mask", "dst")


_MODE = choice("cmpMode", "cmp", *_MODES, default="eq", doc="a NaN is unequal to everything")
_SHARED = (in_spaces, unboxed())

ROWS = table(
    OpDef(
        name="pto.tcmp",
        doc="Bit c of row r of dst says how src0[r, c] compares with src1[r, c]; the lowest bit of a byte comes first.",
        operands=(source("src0"), source("src1"), target()),
        attributes=(_MODE,),
        format=dps(("src0", "src1"), inside=True),
        dtypes=_ELEMENTS,
        rules=(*_SHARED, same_elements("src0", "src1"), same_valid("src0", "src1"), _compares),
        meaning=Compare("src0", "src1"),
    ),
    OpDef(
        name="pto.tcmps",
        doc="Bit c of row r of dst says how src[r, c] compares with the scalar; the lowest bit of a byte comes first.",
        operands=(source("src"), Operand("scalar", SCALAR), target()),
        attributes=(_MODE,),
        format=dps(("src", "scalar"), inside=True),
        dtypes=_ELEMENTS,
        rules=(*_SHARED, same_elements("src", "scalar"), _compares),
        meaning=Compare("src", "scalar"),
    ),
    OpDef(
        name="pto.tsel",
        doc="dst = src0 where the mask of tcmp has a 1, else src1.",
        operands=(source("mask"), source("src0"), source("src1"), scratch(), target()),
        format=dps(("mask", "src0", "src1", "tmp")),
        dtypes=_ELEMENTS,
        rules=(*_SHARED, same_elements("src0", "src1", "dst"), same_valid("src0", "src1", "dst"), _selects),
        meaning=Select("src0", "src1"),
    ),
    OpDef(
        name="pto.tsels",
        doc="dst = src where the mask of tcmp has a 1, else the scalar.",
        operands=(source("mask"), source("src"), scratch(), Operand("scalar", SCALAR), target()),
        format=dps(("mask", "src", "tmp", "scalar")),
        dtypes=_ELEMENTS,
        rules=(*_SHARED, same_elements("src", "scalar", "dst"), same_valid("src", "dst"), _selects),
        meaning=Select("src", "scalar"),
    ),
)
