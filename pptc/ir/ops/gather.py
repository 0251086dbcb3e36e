"""Rows of the tile dialect that pick elements by number or by a repeating pattern."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
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
from pptc.ir.opdef import Attribute, OpDef, Operand, Pick, Problem, table
from pptc.ir.types import I8, I16, I32, UI8, UI16, UI32

PATTERNS = ("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111")
_ELEMENTS = (I8, I16, I32, UI8, UI16, UI32, *FLOATS)
_NUMBERS = (I16, I32, UI16, UI32)


def _one_form(op: Op) -> Iterator[Problem]:
    """Either indices or a pattern."""
    indices = bool(op.group("indices"))
    if indices == ("maskPattern" in op.attributes):
        yield Problem("P0202", "tgather takes either a tile of indices or a maskPattern", "src")
    if "axis" in op.attributes and (indices or plain(attribute(op, "axis")) != "row"):
        yield Problem("P0106", "tgather along columns is not supported yet", "=axis")


def _elements(op: Op) -> Iterator[Problem]:
    for name, type in typed_tiles(op, ("src", "dst")):
        if type.elem not in _ELEMENTS:
            yield Problem("P0216", f"tgather has no meaning for {type.elem.name}", name)
    for name, type in typed_tiles(op, ("indices",)):
        if type.elem not in _NUMBERS:
            yield Problem("P0216", f"indices are integers, not {type.elem.name}", name)


ROWS = table(
    OpDef(
        name="pto.tgather",
        doc="With indices, dst[r, c] = element indices[r, c] of src, counted over its physical rows; a number out of "
        "range takes the nearest element. With a maskPattern, each row keeps the elements at the ones of the pattern, "
        "whose last digit is the first element: P0101 the even columns, P1000 the fourth of every four.",
        operands=(source("src"), Operand("indices", VEC, "read", "optional"), scratch(VEC), target()),
        attributes=(
            Attribute("maskPattern", "enum", "mask_pattern", values=PATTERNS),
            Attribute("axis", "string", doc='"row", which is what its absence means'),
        ),
        format="`ins` `(` list($src, $indices, $tmp) (`,` attr-dict^)? `:` type($src, $indices, $tmp) "
        "(`,` $axis^)? `)` `outs` `(` $dst `:` type($dst) `)`",
        dtypes=_ELEMENTS,
        rules=(in_spaces, unboxed(), same_elements("src", "dst"), _one_form, _elements),
        meaning=Pick(),
    ),
)
