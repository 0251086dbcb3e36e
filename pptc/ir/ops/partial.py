"""Rows that number the extrema of rows or columns, and rows that copy where only one of two sources is valid."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    extent,
    in_spaces,
    same_elements,
    same_valid,
    scratch,
    source,
    supported_elements,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.opdef import ArgPartial, ArgReduce, OpDef, Partial, Problem, Rule, dps, table
from pptc.ir.types import I8, I16, I32, UI32

_VALUES = (I16, I32, *FLOATS)


def _numbers(op: Op) -> Iterator[Problem]:
    """dst holds i32 or ui32, src one of the row's elements."""
    for name, type in typed_tiles(op, ("src", "dst")):
        allowed = op.definition.dtypes if name == "src" else (I32, UI32)
        if type.elem not in allowed:
            listed = ", ".join(elem.name for elem in allowed)
            yield Problem("P0216", f"{name} has elements of {type.elem.name}", name, f"it takes {listed}")


def _arg(axis: str, kind: str, rules: tuple[Rule, ...]) -> OpDef:
    what = {"row": "dst[r, 0] = the first column of row r", "col": "dst[0, c] = the first row of column c"}[
        axis
    ]
    return OpDef(
        name=f"pto.t{axis}arg{kind}",
        doc=f"{what} that holds its {kind}imum; the first NaN where there is one.",
        operands=(source("src"), scratch(), target()),
        format=dps(("src", "tmp")),
        dtypes=_VALUES,
        rules=(in_spaces, unboxed("src", "dst"), _numbers, *rules),
        meaning=ArgReduce(axis == "row", kind == "max"),
    )


_ROW = (same_valid("src", "dst", columns=False), extent("dst", columns=1))
_COLUMN = (same_valid("src", "dst", rows=False), extent("dst", rows=1))

_PARTS = (
    ("add", "the sum", lambda b, x, y: b.add(x, y), lambda x, y: x + y),
    ("mul", "the product", lambda b, x, y: b.mul(x, y), lambda x, y: x * y),
    ("max", "the larger one (a NaN wins)", lambda b, x, y: b.max(x, y), numeric.maximum),
    ("min", "the smaller one (a NaN wins)", lambda b, x, y: b.min(x, y), numeric.minimum),
)

_PAIR = ("src0", "src1", "dst")
_INDEX = ("src0_idx", "src1_idx", "dst_idx")


def _elements(op: Op) -> Iterator[Problem]:
    """Values are of the row's elements, numbers i32 or ui32."""
    for name, type in typed_tiles(op):
        allowed = (I32, UI32) if name in _INDEX else op.definition.dtypes
        if type.elem not in allowed:
            listed = ", ".join(elem.name for elem in allowed)
            yield Problem("P0216", f"{name} has elements of {type.elem.name}", name, f"it takes {listed}")


def _arg_part(kind: str) -> OpDef:
    more = "larger" if kind == "max" else "smaller"
    return OpDef(
        name=f"pto.tpartarg{kind}",
        doc=f"dst and dst_idx = the {more} value and its number (of equal ones the second; a NaN wins) where both "
        "sources are valid, and the pair that is valid elsewhere.",
        operands=(*map(source, ("src0", "src1", "src0_idx", "src1_idx")), target(), target("dst_idx")),
        format=dps(("src0", "src1", "src0_idx", "src1_idx"), ("dst", "dst_idx")),
        dtypes=(I8, *_VALUES),
        rules=(
            in_spaces,
            unboxed(),
            _elements,
            same_elements(*_PAIR),
            same_elements(*_INDEX),
            *(same_valid(*pair) for pair in zip(_PAIR, _INDEX, strict=True)),
        ),
        since="0.57",
        meaning=ArgPartial(kind == "max"),
    )


ROWS = table(
    (_arg_part(kind) for kind in ("max", "min")),
    (_arg("row", kind, _ROW) for kind in ("max", "min")),
    (_arg("col", kind, _COLUMN) for kind in ("max", "min")),
    (
        OpDef(
            name=f"pto.tpart{word}",
            doc=f"dst = {doc} where both sources are valid, and the one that is valid elsewhere.",
            operands=(source("src0"), source("src1"), target()),
            format=dps(("src0", "src1")),
            dtypes=(I8, *_VALUES),
            rules=(in_spaces, supported_elements, unboxed(), same_elements("src0", "src1", "dst")),
            reference=reference,
            meaning=Partial(recipe),
        )
        for word, doc, recipe, reference in _PARTS
    ),
)
