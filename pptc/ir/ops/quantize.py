"""Rows of the tile dialect between f32 and the codes of integers, with a scale and an offset per row."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.kinds import (
    VEC,
    attribute,
    in_spaces,
    plain,
    same_valid,
    scratch,
    source,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import Attribute, Map, OpDef, Operand, Problem, Spread, dps, table
from pptc.ir.types import F32, I8, I16, UI8, ScalarType

_ONE_PER_ROW = "one value per row: element (r, 0)"
_CODES = MappingProxyType({"INT8_SYM": I8, "INT8_ASYM": UI8})
_NEAREST = "CAST_RINT"


def _elements(op: Op) -> Iterator[Problem]:
    """Codes are integers, everything else is f32."""
    codes = "dst" if op.name == "pto.tquant" else "src"
    for name, type in typed_tiles(op):
        allowed = op.definition.dtypes if name == codes else (F32,)
        if type.elem not in allowed:
            listed = ", ".join(elem.name for elem in allowed)
            yield Problem("P0216", f"{name} has elements of {type.elem.name}", name, f"it takes {listed}")


def _kind(op: Op) -> Iterator[Problem]:
    """INT8_SYM makes i8; INT8_ASYM makes ui8 and has an offset."""
    word = str(plain(attribute(op, "quant_type")))
    for _, type in typed_tiles(op, ("dst",)):
        if type.elem != _CODES.get(word, type.elem):
            yield Problem("P0216", f"{word} makes {_CODES[word].name}, not {type.elem.name}", "dst")
    if (op.optional("offset") is not None) != (word == "INT8_ASYM"):
        yield Problem("P0202", "INT8_ASYM takes an offset, INT8_SYM takes none", "offset")


def _quantize(x: Any, scale: Any, *offset: Any, to: ScalarType) -> Any:
    value = np.multiply(x, scale, dtype=np.float32)
    for each in offset:
        value = np.add(value, each, dtype=np.float32)
    return numeric.convert(value, to, _NEAREST)


def _scaled(b: Any, x: Any, scale: Any, *offset: Any, to: ScalarType) -> Any:
    value = b.mul(x, scale)
    for each in offset:
        value = b.add(value, each)
    return b.convert(value, to, _NEAREST, True)


ROWS = table(
    OpDef(
        name="pto.tquant",
        doc="dst[r, c] = src[r, c] * fp[r] (+ offset[r]), to nearest, ties to even, clamped to the codes; NaN is 0.",
        operands=(
            source("src"),
            source("fp", doc=_ONE_PER_ROW),
            Operand("offset", VEC, "read", "optional", _ONE_PER_ROW),
            target(),
            scratch(),
        ),
        attributes=(
            Attribute(
                "quant_type", "enum", "quant_type", values=tuple(_CODES), required=True, spaced=True,
                doc="codes of i8, or of ui8 with an offset",
            ),
        ),
        format=dps(("src", "fp", "offset"), ("dst", "tmp")),
        dtypes=(I8, UI8),
        rules=(
            in_spaces, unboxed(), _elements, _kind, same_valid("src", "dst"),
            *(same_valid(name, "dst", columns=False) for name in ("fp", "offset")),
        ),
        reference=_quantize,
        meaning=Map(
            _scaled,
            MappingProxyType({"src": Spread.FULL, "fp": Spread.ROW, "offset": Spread.ROW}),
            ("to",),
        ),
    ),
    OpDef(
        name="pto.tdequant",
        doc="dst[r, c] = (src[r, c] - offset[r]) * scale[r].",
        operands=(
            source("src"), source("scale", doc=_ONE_PER_ROW), source("offset", doc=_ONE_PER_ROW), target(),
        ),
        format=dps(("src", "scale", "offset")),
        dtypes=(I8, I16),
        rules=(
            in_spaces, unboxed(), _elements, same_valid("src", "dst"),
            *(same_valid(name, "dst", columns=False) for name in ("scale", "offset")),
        ),
        reference=lambda x, scale, offset: (x.astype(np.float32) - offset) * scale,
        meaning=Map(
            lambda b, x, scale, offset: b.mul(b.sub(b.convert(x, F32, _NEAREST, True), offset), scale),
            MappingProxyType({"src": Spread.FULL, "scale": Spread.ROW, "offset": Spread.ROW}),
        ),
    ),
)  # fmt: skip
