"""Rows of the tile dialect that spread one value per row, or one per column, over a tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.kinds import (
    FLOATS,
    NUMBERS,
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
from pptc.ir.opdef import EXACT, Attribute, Map, OpDef, Operand, Rule, Spread, Tolerance, dps, table
from pptc.ir.ops.elementwise import divide, precision
from pptc.ir.scalars import Recipe
from pptc.ir.types import ScalarType

Reference = Callable[..., Any]


def _row(
    name: str,
    doc: str,
    operands: tuple[Operand, ...],
    spread: Mapping[str, Spread],
    recipe: Recipe,
    reference: Reference,
    shape_rules: tuple[Rule, ...],
    *,
    dtypes: tuple[ScalarType, ...] = NUMBERS,
    attributes: tuple[Attribute, ...] = (),
    tolerance: Tolerance = EXACT,
) -> OpDef:
    names = tuple(operand.name for operand in operands)
    return OpDef(
        name=name,
        doc=doc,
        operands=(*operands, target()),
        attributes=attributes,
        format=dps(names),
        dtypes=dtypes,
        rules=(in_spaces, supported_elements, unboxed(), same_elements(*spread, "dst"), *shape_rules),
        reference=reference,
        meaning=Map(recipe, spread),
        tolerance=tolerance,
    )


_ONE_PER_ROW = "one value per row: element (r, 0) of a column vector, or of a block that repeats it"
_ONE_PER_COLUMN = "one value per column: its first row"


def row_expand(word: str, doc: str, recipe: Recipe, reference: Reference, **facts: Any) -> OpDef:
    """dst = src0 op the row's value of src1."""
    return _row(
        f"pto.trowexpand{word}",
        f"dst[r, c] = {doc.format('src1[r]')}.",
        (source("src0"), source("src1", doc=_ONE_PER_ROW), scratch()),
        MappingProxyType({"src0": Spread.FULL, "src1": Spread.ROW}),
        recipe,
        reference,
        (same_valid("src0", "dst"), same_valid("src1", "dst", columns=False)),
        **facts,
    )


def column_expand(word: str, doc: str, recipe: Recipe, reference: Reference, **facts: Any) -> OpDef:
    """dst = src0 op the column's value of src1."""
    return _row(
        f"pto.tcolexpand{word}",
        f"dst[r, c] = {doc.format('src1[c]')}.",
        (source("src0"), source("src1", doc=_ONE_PER_COLUMN)),
        MappingProxyType({"src0": Spread.FULL, "src1": Spread.COLUMN}),
        recipe,
        reference,
        (same_valid("src0", "dst"), same_valid("src1", "dst", rows=False)),
        **facts,
    )


def _exponential(x: Any, y: Any) -> Any:
    return np.exp((x - y).astype(np.float64))


_EXP = Tolerance(ulps=2, reason="one IEEE subtraction, then a polynomial of a few ulps")

_COMBINATIONS: tuple[tuple[str, str, Recipe, Reference, dict[str, Any]], ...] = (
    ("add", "src0[r, c] + {}", lambda b, x, y: b.add(x, y), lambda x, y: x + y, {}),
    ("sub", "src0[r, c] - {}", lambda b, x, y: b.sub(x, y), lambda x, y: x - y, {}),
    ("mul", "src0[r, c] * {}", lambda b, x, y: b.mul(x, y), lambda x, y: x * y, {}),
    ("div", "src0[r, c] / {}", lambda b, x, y: b.div(x, y), divide, {"attributes": (precision("div"),)}),
    ("max", "the larger one of src0[r, c] and {}", lambda b, x, y: b.max(x, y), numeric.maximum, {}),
    ("min", "the smaller one of src0[r, c] and {}", lambda b, x, y: b.min(x, y), numeric.minimum, {}),
    (
        "expdif", "e to the power of src0[r, c] - {}", lambda b, x, y: b.exp(b.sub(x, y)), _exponential,
        {"dtypes": FLOATS, "tolerance": _EXP},
    ),
)  # fmt: skip


def _fill(name: str, doc: str, spread: Spread, shape_rule: Rule) -> OpDef:
    return _row(
        name,
        doc,
        (source("src"),),
        MappingProxyType({"src": spread}),
        lambda b, x: x,
        lambda x: x,
        (shape_rule,),
    )


ROWS = table(
    _fill(
        "pto.trowexpand",
        "dst[r, c] = src[r, 0].",
        Spread.ROW,
        same_valid("src", "dst", columns=False),
    ),
    _fill(
        "pto.tcolexpand",
        "dst[r, c] = src[0, c].",
        Spread.COLUMN,
        same_valid("src", "dst", rows=False),
    ),
    (
        row_expand(word, doc, recipe, reference, **facts)
        for word, doc, recipe, reference, facts in _COMBINATIONS
    ),
    (
        column_expand(word, doc, recipe, reference, **facts)
        for word, doc, recipe, reference, facts in _COMBINATIONS
    ),
)
