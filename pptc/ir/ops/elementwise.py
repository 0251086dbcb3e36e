"""Rows of the tile dialect that compute each destination element from the source elements at its place.

All iterate over the destination's valid region. A reference gets arrays of the compute type (f32 for f16 and bf16) and
returns the exact or f64 value where there is one; the interpreter rounds it to the compute type and then to the tile's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    INT,
    INTEGERS,
    NUMBERS,
    SCALAR,
    TILE_OR_SCALAR,
    choice,
    in_spaces,
    same_elements,
    same_valid,
    scratch,
    source,
    supported_elements,
    target,
    tile,
    unboxed,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import EXACT, Attribute, Kind, Map, OpDef, Operand, Problem, Spread, Tolerance, dps, table
from pptc.ir.scalars import Recipe
from pptc.ir.types import I8, I16, I32, I64, ScalarType, TileType

Reference = Callable[..., Any]

SIGNED = (I8, I16, I32, I64)

FULL = MappingProxyType({"src": Spread.FULL})
PAIR = MappingProxyType({"src0": Spread.FULL, "src1": Spread.FULL})
WITH_SCALAR = MappingProxyType({"src": Spread.FULL, "scalar": Spread.SCALAR})


def precision(enum: str) -> Attribute:
    """The precisionType attribute; pptc computes both the same way, which meets the higher one."""
    return choice(
        "precisionType", f"{enum}_precision", "default", "high_precision", default="default",
        doc="how exact the chip's instruction is; pptc always meets high_precision",
    )  # fmt: skip


def elementwise(
    name: str,
    doc: str,
    operands: tuple[Operand, ...],
    recipe: Recipe,
    reference: Reference,
    spread: Mapping[str, Spread],
    *,
    dtypes: tuple[ScalarType, ...] = NUMBERS,
    attributes: tuple[Attribute, ...] = (),
    tolerance: Tolerance = EXACT,
    commutative: bool = False,
    since: str = "0.27",
) -> OpDef:
    """A row whose tiles have one element type and one valid region; `operands` are the sources and scratch."""
    names = tuple(operand.name for operand in operands)
    full = tuple(key for key, value in spread.items() if value is Spread.FULL)
    return OpDef(
        name=name,
        doc=doc,
        operands=(*operands, target()),
        attributes=attributes,
        format=dps(names),
        dtypes=dtypes,
        rules=(
            in_spaces,
            supported_elements,
            unboxed(),
            same_elements(*spread, "dst"),
            same_valid(*full, "dst"),
        ),
        reference=reference,
        meaning=Map(recipe, spread),
        tolerance=tolerance,
        commutative=commutative,
        since=since,
    )


def binary(name: str, doc: str, recipe: Recipe, reference: Reference, *tmp: Operand, **facts: Any) -> OpDef:
    """dst = src0 op src1."""
    return elementwise(name, doc, (source("src0"), source("src1"), *tmp), recipe, reference, PAIR, **facts)


def unary(name: str, doc: str, recipe: Recipe, reference: Reference, *tmp: Operand, **facts: Any) -> OpDef:
    """dst = op src."""
    return elementwise(name, doc, (source("src"), *tmp), recipe, reference, FULL, **facts)


def tile_scalar(
    name: str,
    doc: str,
    recipe: Recipe,
    reference: Reference,
    *tmp: Operand,
    kind: Kind = SCALAR,
    **facts: Any,
) -> OpDef:
    """dst = src op scalar."""
    operands = (source("src"), Operand("scalar", kind), *tmp)
    return elementwise(name, doc, operands, recipe, reference, WITH_SCALAR, **facts)


# ---------------------------------------------------------------- arithmetic


def divide(a: Any, b: Any) -> Any:
    """The reference of division: IEEE for floats, toward zero for integers."""
    return np.divide(a, b) if a.dtype.kind == "f" else numeric.truncated_quotient(a, b)


def _one_tile(op: Op) -> Any:
    kinds = [isinstance(op.operand(name).type, TileType) for name in ("lhs", "rhs")]
    if kinds.count(True) != 1:
        yield Problem("P0203", "one operand is a tile and the other a scalar", "lhs")


_ARITHMETIC = (
    ("add", "the sum of both", lambda b, x, y: b.add(x, y), lambda x, y: x + y, True),
    ("sub", "the first less the second", lambda b, x, y: b.sub(x, y), lambda x, y: x - y, False),
    ("mul", "the product of both", lambda b, x, y: b.mul(x, y), lambda x, y: x * y, True),
    ("max", "the larger one; a NaN wins", lambda b, x, y: b.max(x, y), numeric.maximum, True),
    ("min", "the smaller one; a NaN wins", lambda b, x, y: b.min(x, y), numeric.minimum, True),
)

_DIVISION = "integers truncate and a zero divisor gives 0"

ARITHMETIC = (
    *(
        binary(f"pto.t{word}", f"dst = {doc}.", recipe, reference, commutative=commutes)
        for word, doc, recipe, reference, commutes in _ARITHMETIC
    ),
    *(
        tile_scalar(f"pto.t{word}s", f"dst = {doc}, a tile and a scalar.", recipe, reference)
        for word, doc, recipe, reference, _ in _ARITHMETIC
    ),
    binary(
        "pto.tdiv", f"dst = src0 / src1; {_DIVISION}.", lambda b, x, y: b.div(x, y), divide,
        attributes=(precision("div"),),
    ),
    OpDef(
        name="pto.tdivs",
        doc=f"dst = lhs / rhs, one of them a tile and the other a scalar; {_DIVISION}.",
        operands=(source("lhs", TILE_OR_SCALAR), source("rhs", TILE_OR_SCALAR), target()),
        attributes=(precision("div"),),
        format=dps(("lhs", "rhs")),
        dtypes=NUMBERS,
        rules=(
            in_spaces, supported_elements, unboxed(), _one_tile,
            same_elements("lhs", "rhs", "dst"), same_valid("lhs", "rhs", "dst"),
        ),
        reference=divide,
        meaning=Map(lambda b, x, y: b.div(x, y), MappingProxyType({"lhs": Spread.FULL, "rhs": Spread.FULL})),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- functions of one element


def _wide(function: Callable[[Any], Any]) -> Reference:
    """The function in f64: its rounding to f32 is the nearest value but for rare halfway cases."""
    return lambda x: function(x.astype(np.float64))


def _near(ulps: float, what: str) -> Tolerance:
    return Tolerance(ulps=ulps, reason=what)


_SERIES = "a polynomial in f32 of a few ulps, rounded again to the tile's type"
_TWO_ROUNDINGS = "two IEEE roundings, square root and division"

UNARY = (
    unary(
        "pto.tabs", "dst = |src|; the smallest integer wraps to itself.",
        lambda b, x: b.abs(x), lambda x: np.abs(x), dtypes=FLOATS + SIGNED,
    ),
    unary("pto.tneg", "dst = -src; integers wrap.", lambda b, x: b.neg(x), lambda x: np.negative(x)),
    unary(
        "pto.texp", "dst = e to the power of src.", lambda b, x: b.exp(x), _wide(lambda x: np.exp(x)),
        dtypes=FLOATS, attributes=(precision("exp"),), tolerance=_near(2, _SERIES),
    ),
    unary(
        "pto.tlog", "dst = the natural logarithm of src.", lambda b, x: b.log(x), _wide(lambda x: np.log(x)),
        dtypes=FLOATS, attributes=(precision("log"),), tolerance=_near(2, _SERIES),
    ),
    unary(
        "tile.tanh", "dst = the hyperbolic tangent of src.", lambda b, x: b.tanh(x), _wide(lambda x: np.tanh(x)),
        dtypes=FLOATS, tolerance=_near(3, _SERIES),
    ),
    unary(
        "pto.tsqrt", "dst = the square root of src.", lambda b, x: b.sqrt(x), lambda x: np.sqrt(x),
        dtypes=FLOATS, attributes=(precision("sqrt"),),
    ),
    unary(
        "pto.trsqrt", "dst = 1 / sqrt(src).", lambda b, x: b.rsqrt(x), _wide(lambda x: 1.0 / np.sqrt(x)),
        scratch(), dtypes=FLOATS, attributes=(precision("rsqrt"),), tolerance=_near(2, _TWO_ROUNDINGS),
    ),
    unary(
        "pto.trecip", "dst = 1 / src.", lambda b, x: b.div(b.const(1.0, x), x), lambda x: np.reciprocal(x),
        dtypes=FLOATS, attributes=(precision("recip"),),
    ),
    unary(
        "pto.trelu", "dst = the larger one of src and 0; a NaN stays.",
        lambda b, x: b.max(x, b.const(0, x)), lambda x: numeric.maximum(x, np.zeros_like(x)),
        dtypes=(*FLOATS, *SIGNED),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- bits


def _shift(by: Callable[[Any, Any], Any], beyond: Callable[[Any], Any]) -> Reference:
    """A shift whose amount is read as unsigned; as many bits or more move everything out."""

    def reference(x: Any, amount: Any) -> Any:
        bits = x.dtype.itemsize * 8
        unsigned = amount.astype(amount.dtype.str.replace("i", "u"))
        inside = unsigned < bits
        return np.where(inside, by(x, np.where(inside, amount, 0).astype(x.dtype)), beyond(x))

    return reference


_BITS = (
    ("and", "the bits set in both", lambda b, x, y: b.bit_and(x, y), lambda x, y: x & y, True, ()),
    ("or", "the bits set in either", lambda b, x, y: b.bit_or(x, y), lambda x, y: x | y, True, ()),
    ("xor", "the bits set in one", lambda b, x, y: b.bit_xor(x, y), lambda x, y: x ^ y, True, (scratch(),)),
    (
        "shl", "src shifted left; by the width or more it is 0", lambda b, x, y: b.shift_left(x, y),
        _shift(lambda x, n: x << n, lambda x: np.zeros_like(x)), False, (),
    ),
    (
        "shr", "src shifted right; the sign fills, zeros for unsigned types", lambda b, x, y: b.shift_right(x, y),
        _shift(lambda x, n: x >> n, lambda x: np.where(x < 0, -np.ones_like(x), np.zeros_like(x))), False, (),
    ),
)  # fmt: skip

BITS = (
    *(
        binary(f"pto.t{word}", f"dst = {doc}.", recipe, reference, *tmp, dtypes=INTEGERS, commutative=commutes)
        for word, doc, recipe, reference, commutes, tmp in _BITS
    ),
    *(
        tile_scalar(
            f"pto.t{word}s", f"dst = {doc}, a tile and a scalar.", recipe, reference, *tmp,
            kind=INT, dtypes=INTEGERS,
        )
        for word, doc, recipe, reference, _, tmp in _BITS
    ),
    unary(
        "pto.tnot", "dst = every bit flipped.", lambda b, x: b.bit_xor(x, b.const(-1, x)), lambda x: ~x,
        dtypes=INTEGERS,
    ),
)  # fmt: skip


# ---------------------------------------------------------------- fill and convert

_ROUND_MODES = ("NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD", "CAST_RINT")


def _convert(x: Any, to: ScalarType, rmode: str, satmode: str) -> Any:
    return numeric.convert(x, to, rmode, satmode == "ON")


FILL = (
    OpDef(
        name="pto.texpands",
        doc="dst = the scalar, in every element.",
        operands=(Operand("scalar", SCALAR), target(kind=tile("vec", "mat"))),
        format=dps(("scalar",)),
        dtypes=NUMBERS,
        rules=(in_spaces, supported_elements, same_elements("scalar", "dst")),
        reference=lambda scalar: scalar,
        meaning=Map(lambda b, scalar: scalar, MappingProxyType({"scalar": Spread.SCALAR})),
    ),
    OpDef(
        name="pto.tcvt",
        doc="dst = src in the destination's element type, rounded once by rmode. NaN becomes integer 0.",
        operands=(source("src"), scratch(), target()),
        attributes=(
            choice(
                "rmode", "round_mode", *_ROUND_MODES, default="CAST_RINT",
                doc="NONE, RINT and CAST_RINT: ties to even; ROUND: ties away from 0; ODD: inexact becomes odd",
            ),
            choice(
                "satmode", "saturation_mode", "ON", "OFF", default="ON", aliases=("sat_mode",),
                doc="ON (v0.63's default) clamps to the finite range; OFF wraps integers and makes floats infinite",
            ),
        ),
        format=dps(("src", "tmp"), inside=True),
        rules=(in_spaces, unboxed(), same_valid("src", "dst")),
        reference=_convert,
        meaning=Map(
            lambda b, x, to, rmode, satmode: b.convert(x, to, rmode, satmode == "ON"),
            FULL,
            ("to", "rmode", "satmode"),
        ),
    ),
)  # fmt: skip

ROWS = table(ARITHMETIC, UNARY, BITS, FILL)
