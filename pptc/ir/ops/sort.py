"""Rows of the tile dialect that sort values with their numbers.

A pair takes 8 bytes: the value, and a 32-bit number in the second half. A tile of f32 holds a pair in two columns, one
of f16 in four, the second of which is zero. NaN come last, equal values stay in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import (
    INT,
    VEC,
    attribute,
    in_spaces,
    plain,
    same_elements,
    scratch,
    source,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.opdef import Attribute, Kind, Merge, OpDef, Operand, Problem, SortRuns, dps, table
from pptc.ir.types import F16, F32, UI32, VectorType

PAIR_BYTES = 8
_COUNTS = Kind("a vector<4xi16>", lambda type: isinstance(type, VectorType) and type.lanes == 4)


def _values(op: Op) -> Iterator[Problem]:
    for name, type in typed_tiles(op):
        if name != "idx" and type.elem not in (F16, F32):
            yield Problem("P0216", f"{op.name} sorts f16 and f32, not {type.elem.name}", name)


def _room(op: Op) -> Iterator[Problem]:
    """dst holds a pair for each element; the numbers are ui32."""
    tiles = dict(typed_tiles(op, ("src", "idx", "dst")))
    src, dst, idx = tiles.get("src"), tiles.get("dst"), tiles.get("idx")
    if idx is not None and idx.elem != UI32:
        yield Problem("P0216", f"idx has elements of {idx.elem.name}, not ui32", "idx")
    if src is None or dst is None:
        return
    columns = src.cols if src.v_col is None else src.v_col
    needed = columns * PAIR_BYTES // dst.elem.bytes
    if dst.cols < needed:
        yield Problem("P0205", f"dst has {dst.cols} columns, {columns} pairs take {needed}", "dst")


def _merges(op: Op) -> Iterator[Problem]:
    lists = op.group("srcs")
    if bool(op.group("blockLen")) != (len(lists) == 1) or len(lists) > 4:
        yield Problem("P0202", "tmrgsort takes one tile and a block length, or two to four tiles", "srcs")
    if plain(attribute(op, "exhausted")):
        yield Problem("P0106", "tmrgsort with exhausted = true is not supported yet", "=exhausted")
    for name, type in typed_tiles(op, ("srcs", "dst")):
        if type.rows != 1:
            yield Problem("P0205", f"{name} must have one row", name)
    sizes = [type.v_col for name, type in typed_tiles(op, ("srcs",))]
    for _, dst in typed_tiles(op, ("dst",)):
        if None not in sizes and sum(size or 0 for size in sizes) > dst.cols:
            yield Problem(
                "P0205", f"dst has {dst.cols} columns for {sum(size or 0 for size in sizes)}", "dst"
            )


ROWS = table(
    OpDef(
        name="pto.tsort32",
        doc="Sorts every 32 columns of a row by descending value; dst gets the pairs of value and idx.",
        operands=(source("src"), source("idx"), scratch(VEC), target()),
        format=dps(("src", "idx", "tmp")),
        dtypes=(F16, F32),
        rules=(in_spaces, unboxed(), same_elements("src", "dst"), _values, _room),
        meaning=SortRuns(),
    ),
    OpDef(
        name="pto.tmrgsort",
        doc="Merges sorted pairs: of one tile every four runs of blockLen columns, or two to four whole tiles. "
        "How many pairs each list gave is not told: `executed` keeps what it is.",
        operands=(
            Operand("srcs", VEC, "read", "many"), Operand("tmp", VEC, "scratch", "optional"),
            Operand("blockLen", INT, arity="optional"), target(), Operand("executed", _COUNTS, arity="optional"),
        ),
        attributes=(Attribute("exhausted", "bool", default=False, doc="stop when one list is used up"),),
        format="`ins` `(` list($srcs, $tmp, $blockLen) attr-dict `:` type($srcs, $tmp, $blockLen) `)` "
        "`outs` `(` list($dst, $executed) `:` type($dst, $executed) `)`",
        dtypes=(F16, F32),
        rules=(in_spaces, unboxed(), same_elements("srcs", "dst"), _values, _merges),
        meaning=Merge(),
    ),
)  # fmt: skip
