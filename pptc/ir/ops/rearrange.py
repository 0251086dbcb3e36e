"""Rows of the tile dialect that put elements elsewhere: transposed, side by side, or framed by a pad value."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    PART,
    VEC,
    attribute,
    in_spaces,
    plain,
    same_elements,
    same_valid,
    scratch,
    source,
    supported_elements,
    target,
    tile,
    typed_tiles,
    unboxed,
)
from pptc.ir.opdef import Attribute, Concatenate, OpDef, Operand, Pad, Problem, Transpose, dps, table
from pptc.ir.types import I8, I16, I32, UI8, UI16, UI32, element_type

_SIGNLESS = (I8, I16, I32)
_MOVABLE = (*_SIGNLESS, UI8, UI16, UI32, *FLOATS)
_VEC_OR_MAT = tile("vec", "mat")
_PADS = ("null", "zero", "max", "min")


def _turned(op: Op) -> Iterator[Problem]:
    """The transposed valid region of src fits into dst."""
    tiles = dict(typed_tiles(op, ("src", "dst")))
    src, dst = tiles.get("src"), tiles.get("dst")
    if src is None or dst is None:
        return
    for have, size, word in ((src.v_col, dst.rows, "rows"), (src.v_row, dst.cols, "columns")):
        if have is not None and have > size:
            yield Problem("P0205", f"dst has {size} {word}, the transposed src {have}", "dst")


def _room(op: Op) -> Iterator[Problem]:
    """What stands side by side fits into dst."""
    tiles = dict(typed_tiles(op, ("src0", "src1", "dst")))
    if len(tiles) < 3:
        return
    left, right, room = tiles["src0"].v_col, tiles["src1"].v_col, tiles["dst"].cols
    if left is not None and right is not None and left + right > room:
        yield Problem("P0205", f"{left} and {right} columns do not fit into the {room} of dst", "dst")


def _has_pad(op: Op) -> Iterator[Problem]:
    """dst says what to fill with, and padValue says the same."""
    for _, type in typed_tiles(op, ("dst",)):
        given = plain(attribute(op, "padValue"))
        if type.pad == 0:
            yield Problem("P0207", "dst must have a pad value: zero, max or min", "dst", "pad=1")
        elif given not in (None, _PADS[type.pad]):
            yield Problem("P0207", f"padValue is {given}, dst's pad {_PADS[type.pad]}", "=padValue")


def _covers(op: Op) -> Iterator[Problem]:
    """dst holds at least what src holds."""
    tiles = dict(typed_tiles(op, ("src", "dst")))
    src, dst = tiles.get("src"), tiles.get("dst")
    if src and dst and (dst.rows < src.rows or dst.cols < src.cols):
        yield Problem(
            "P0205", f"dst, {dst.rows}x{dst.cols}, is smaller than src, {src.rows}x{src.cols}", "dst"
        )


def _fill_pad(name: str, doc: str) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=(source("src", _VEC_OR_MAT), target(kind=_VEC_OR_MAT)),
        attributes=(
            Attribute(
                "padValue", "enum", "pad_value", values=_PADS, doc="the pad of dst once more; since 0.57"
            ),
        ),
        format=dps(("src",)),
        dtypes=_MOVABLE,
        rules=(in_spaces, supported_elements, same_elements("src", "dst"), _has_pad, _covers),
        meaning=Pad(),
    )


def _same_size(op: Op) -> Iterator[Problem]:
    src, dst = (element_type(op.operand(name).type) for name in ("src", "dst"))
    if src is not None and dst is not None and src.bytes != dst.bytes:
        yield Problem("P0204", f"elements of src have {src.bytes} bytes, those of dst {dst.bytes}", "dst")


def _counted(op: Op) -> Iterator[Problem]:
    """Element types of the data and of the numbers of columns."""
    for name, type in typed_tiles(op):
        if type.elem not in (_SIGNLESS if name.endswith("Idx") else _MOVABLE):
            yield Problem("P0216", f"{op.name} has no meaning for {type.elem.name} in {name}", name)


_COUNT = "column 0: how many columns to take, at most what is valid and fits"
_SIDES = (in_spaces, supported_elements, unboxed(), same_elements("src0", "src1", "dst"))
_SAME_ROWS = same_valid("src0", "src1", "dst", columns=False)

ROWS = table(
    OpDef(
        name="pto.ttrans",
        doc="dst[r, c] = src[c, r], for src's valid region.",
        operands=(source("src"), scratch(VEC), target()),
        format=dps(("src", "tmp")),
        dtypes=_MOVABLE,
        rules=(in_spaces, supported_elements, unboxed("src", "dst"), same_elements("src", "dst"), _turned),
        meaning=Transpose(),
    ),
    OpDef(
        name="pto.tconcat",
        doc="dst = the valid columns of src0, then those of src1.",
        operands=(source("src0"), source("src1"), target()),
        format=dps(("src0", "src1")),
        dtypes=_MOVABLE,
        rules=(*_SIDES, _SAME_ROWS, _room),
        meaning=Concatenate(),
    ),
    OpDef(
        name="pto.tconcatidx",
        doc="dst[r] = the first src0Idx[r, 0] columns of src0[r], then the first src1Idx[r, 0] of src1[r].",
        operands=(
            source("src0"),
            source("src1"),
            source("src0Idx", doc=_COUNT),
            source("src1Idx", doc=_COUNT),
            target(),
        ),
        format=dps(("src0", "src1", "src0Idx", "src1Idx")),
        rules=(in_spaces, unboxed(), same_elements("src0", "src1", "dst"), _counted, _SAME_ROWS),
        meaning=Concatenate(counts=("src0Idx", "src1Idx")),
        since="0.57",
    ),
    _fill_pad(
        "pto.tfillpad",
        "dst = src's valid elements, and dst's pad value in all others of the physical tile.",
    ),
    _fill_pad("pto.tfillpad_expand", "The older word for pto.tfillpad into a larger tile; not since 0.60."),
    _fill_pad("pto.tfillpad_inplace", "The older word for pto.tfillpad in place; not since 0.60."),
    OpDef(
        name="pto.tprefetch",
        doc="A hint that src will be loaded into dst; changes no element.",
        operands=(Operand("src", PART), Operand("dst", _VEC_OR_MAT)),
        format=dps(("src",)),
        rules=(in_spaces, _same_size),
    ),
)
