"""Rows of the tile dialect whose elements depend on their own row and column: counters and triangles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    INT,
    attribute,
    in_spaces,
    plain,
    same_elements,
    scratch,
    supported_elements,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import Attribute, Generate, OpDef, Operand, Problem, dps, table
from pptc.ir.types import I8, I16, I32, I64, UI8, UI16, UI32, ScalarType


def _several_columns(op: Op) -> Iterator[Problem]:
    """A counter needs more than one column."""
    for _, type in typed_tiles(op, ("dst",)):
        if type.cols == 1:
            yield Problem("P0205", "dst must have more than one column", "dst")


def _lower_or_upper(op: Op) -> Iterator[Problem]:
    if plain(attribute(op, "upperOrLower")) not in (0, 1):
        yield Problem("P0207", "upperOrLower must be 0 (lower) or 1 (upper)", "=upperOrLower")


def _count(
    b: Any, row: Any, column: Any, columns: Any, start: Any, *, descending: bool, to: ScalarType
) -> Any:
    number = b.convert(b.add(b.mul(row, columns), column), to, "TRUNC", False)
    return b.sub(start, number) if descending else b.add(start, number)


def _count_reference(rows: int, columns: int, start: Any, *, descending: bool, to: ScalarType) -> Any:
    number = np.arange(rows * columns).reshape(rows, columns).astype(start.dtype)
    return start - number if descending else start + number


def _triangle(
    b: Any, row: Any, column: Any, columns: Any, diagonal: Any, *, upperOrLower: int, to: ScalarType
) -> Any:
    one, zero = (b.convert(b.const(value, row), to, "RINT", False) for value in (1, 0))
    wide = b.convert(diagonal, I64, "TRUNC", False)
    inside = b.compare("ge" if upperOrLower else "le", b.sub(column, row), wide)
    return b.select(inside, one, zero)


def _triangle_reference(rows: int, columns: int, diagonal: Any, *, upperOrLower: int, to: ScalarType) -> Any:
    steps = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    inside = steps >= int(diagonal) if upperOrLower else steps <= int(diagonal)
    return np.where(inside, 1, 0)


ROWS = table(
    OpDef(
        name="pto.tci",
        doc="dst = start + k, or start - k descending, where k numbers the valid elements row by row.",
        operands=(Operand("start", INT, doc="of the destination's element type"), scratch(), target()),
        attributes=(Attribute("descending", "bool", default=False, doc="count down"),),
        format=dps(("start", "tmp"), once_inside=True),
        dtypes=(I16, UI16, I32, UI32),
        rules=(
            in_spaces,
            supported_elements,
            unboxed("dst"),
            same_elements("start", "dst"),
            _several_columns,
        ),
        reference=_count_reference,
        meaning=Generate(_count, ("start",), ("descending", "to")),
    ),
    OpDef(
        name="pto.ttri",
        doc="dst[r, c] = 1 in the lower triangle, c <= r + diagonal, or in the upper one, c >= r + diagonal; else 0.",
        operands=(Operand("diagonal", INT), target()),
        attributes=(
            Attribute(
                "upperOrLower", "int", default=IntAttr(0, I32), doc="0 the lower triangle, 1 the upper"
            ),
        ),
        format=dps(("diagonal",), inside=True),
        dtypes=(I8, I16, I32, UI8, UI16, UI32, *FLOATS),
        rules=(in_spaces, supported_elements, unboxed(), _lower_or_upper),
        reference=_triangle_reference,
        meaning=Generate(_triangle, ("diagonal",), ("upperOrLower", "to")),
    ),
)
