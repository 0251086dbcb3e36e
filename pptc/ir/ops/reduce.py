"""Rows of the tile dialect that reduce rows or columns of a tile.

They iterate over the source's valid region. Sums and products of floats run in f32, in an order that the target
chooses; the reference runs in f64 and rounds once. A reduction over nothing writes its identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pptc.ir import numeric
from pptc.ir.kinds import (
    NUMBERS,
    extent,
    in_spaces,
    same_elements,
    same_valid,
    scratch,
    source,
    supported_elements,
    target,
    unboxed,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import (
    EXACT,
    Attribute,
    ColumnReduce,
    OpDef,
    RowReduce,
    Tolerance,
    dps,
    table,
)
from pptc.ir.scalars import Recipe
from pptc.ir.types import ScalarType

Reference = Callable[[Any, int], Any]
Identity = Callable[[ScalarType], float | int]

_ORDER = Tolerance(
    relative=1e-5, absolute=1e-5, ulps=1, reason="f32 accumulation in an order that the target chooses"
)


def _accumulate(function: Callable[..., Any]) -> Reference:
    """A sum or product along an axis: in f64 for floats, wrapping for integers."""
    return lambda x, axis: function(
        x, axis=axis, keepdims=True, dtype=np.float64 if x.dtype.kind == "f" else x.dtype
    )


def _extreme(function: Callable[..., Any], identity: Identity, strong_zero: float) -> Reference:
    """The largest or smallest along an axis; NumPy leaves open which zero wins, so that is settled afterwards."""

    def reference(x: Any, axis: int) -> Any:
        start = np.asarray(identity(numeric.scalar_type(x.dtype)), x.dtype)
        best = function(x, axis=axis, keepdims=True, initial=start)
        if x.dtype.kind != "f":
            return best
        strong = ((x == 0) & (np.signbit(x) == np.signbit(strong_zero))).any(axis=axis, keepdims=True)
        return np.where(best == 0, np.where(strong, strong_zero, -strong_zero), best)

    return reference


def _lowest(elem: ScalarType) -> float | int:
    return float("-inf") if elem.is_float else numeric.integer_range(elem)[0]


def _highest(elem: ScalarType) -> float | int:
    return float("inf") if elem.is_float else numeric.integer_range(elem)[1]


_REDUCTIONS: tuple[tuple[str, str, Any, Recipe, Identity, Reference, Tolerance], ...] = (
    ("sum", "the sum of", "add", lambda b, x, y: b.add(x, y), lambda elem: 0,
     _accumulate(lambda *a, **k: np.sum(*a, **k)), _ORDER),
    ("prod", "the product of", "mul", lambda b, x, y: b.mul(x, y), lambda elem: 1,
     _accumulate(lambda *a, **k: np.prod(*a, **k)), _ORDER),
    ("max", "the largest of (a NaN wins)", "max", lambda b, x, y: b.max(x, y), _lowest,
     _extreme(lambda *a, **k: np.max(*a, **k), _lowest, 0.0), EXACT),
    ("min", "the smallest of (a NaN wins)", "min", lambda b, x, y: b.min(x, y), _highest,
     _extreme(lambda *a, **k: np.min(*a, **k), _highest, -0.0), EXACT),
)  # fmt: skip

_COMMON = (in_spaces, supported_elements, unboxed("src", "dst"), same_elements("src", "dst"))


def row_reduce(
    word: str,
    doc: str,
    kind: Any,
    recipe: Recipe,
    identity: Identity,
    reference: Reference,
    tolerance: Tolerance,
) -> OpDef:
    """dst[r, 0] = the reduction of row r."""
    return OpDef(
        name=f"pto.trow{word}",
        doc=f"dst[r, 0] = {doc} row r's valid elements.",
        operands=(source("src"), scratch(), target()),
        format=dps(("src", "tmp")),
        dtypes=NUMBERS,
        rules=(*_COMMON, same_valid("src", "dst", columns=False), extent("dst", columns=1)),
        reference=lambda x: reference(x, 1),
        meaning=RowReduce(recipe, identity, kind),
        tolerance=tolerance,
    )


def column_reduce(
    word: str,
    doc: str,
    kind: Any,
    recipe: Recipe,
    identity: Identity,
    reference: Reference,
    tolerance: Tolerance,
) -> OpDef:
    """dst[0, c] = the reduction of column c."""
    tmp = (scratch(),) if word == "sum" else ()
    return OpDef(
        name=f"pto.tcol{word}",
        doc=f"dst[0, c] = {doc} column c's valid elements.",
        operands=(source("src"), *tmp, target()),
        attributes=(_BINARY,) if tmp else (),
        format=_COLUMN_SUM if tmp else dps(("src",)),
        dtypes=NUMBERS,
        rules=(*_COMMON, same_valid("src", "dst", rows=False), extent("dst", rows=1)),
        reference=lambda x: reference(x, 0),
        meaning=ColumnReduce(recipe, identity, kind),
        tolerance=tolerance,
    )


_BINARY = Attribute("isBinary", "bool", default=False, doc="whether the chip adds in a tree")
_COLUMN_SUM = dps(("src", "tmp"), inside=True) + " attr-dict"

ROWS = table(
    (row_reduce(*reduction) for reduction in _REDUCTIONS),
    (column_reduce(*reduction) for reduction in _REDUCTIONS),
)
