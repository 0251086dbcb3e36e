"""Rows of the tile dialect that combine several element-wise steps: sums of three, slopes, remainders, powers."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOAT,
    FLOATS,
    SCALAR,
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
from pptc.ir.lazy import np
from pptc.ir.opdef import Map, OpDef, Operand, Problem, Spread, Tolerance, dps, table
from pptc.ir.ops.elementwise import SIGNED, binary, elementwise, precision, tile_scalar
from pptc.ir.recipes import (
    float_power,
    float_remainder,
    integer_power,
    integer_remainder,
    toward_divisor,
)
from pptc.ir.types import F32

# ---------------------------------------------------------------- sums of three

_TILES = MappingProxyType({"src0": Spread.FULL, "src1": Spread.FULL, "src2": Spread.FULL})
_SCALAR = MappingProxyType({"src0": Spread.FULL, "scalar": Spread.SCALAR, "src1": Spread.FULL})
_THREE = (source("src0"), source("src1"), source("src2"))
_WITH_SCALAR = (source("src0"), Operand("scalar", SCALAR), source("src1"))

_SUMS = (
    ("add", "+", lambda b, x, y, z: b.add(b.add(x, y), z), lambda x, y, z: x + y + z),
    ("sub", "-", lambda b, x, y, z: b.add(b.sub(x, y), z), lambda x, y, z: x - y + z),
)

SUMS = (
    *(
        elementwise(f"pto.t{word}c", f"dst = src0 {sign} src1 + src2.", _THREE, recipe, reference, _TILES)
        for word, sign, recipe, reference in _SUMS
    ),
    *(
        elementwise(
            f"pto.t{word}sc", f"dst = src0 {sign} scalar + src1.", _WITH_SCALAR, recipe, reference, _SCALAR
        )
        for word, sign, recipe, reference in _SUMS
    ),
)


def _axpy_elements(op: Op) -> Iterator[Problem]:
    """dst has the element type of src, or is f32."""
    types = dict(typed_tiles(op, ("src", "dst")))
    if len(types) == 2 and types["dst"].elem not in (types["src"].elem, F32):
        found, wanted = types["dst"].elem.name, types["src"].elem.name
        yield Problem("P0204", f"dst has elements of {found}, neither {wanted} nor f32", "dst")


AXPY = OpDef(
    name="pto.taxpy",
    doc="dst = dst + scalar * src, in two roundings; a dst of f32 may take narrower sources.",
    operands=(source("src"), Operand("scalar", FLOAT), target(access="update")),
    format=dps(("src", "scalar")),
    dtypes=FLOATS,
    rules=(
        in_spaces, supported_elements, unboxed(), same_elements("src", "scalar"), _axpy_elements,
        same_valid("src", "dst"),
    ),
    reference=lambda x, scalar, old: old + scalar * x,
    meaning=Map(
        lambda b, x, scalar, old: b.add(old, b.mul(scalar, x)),
        MappingProxyType({"src": Spread.FULL, "scalar": Spread.SCALAR, "dst": Spread.FULL}),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- slopes


def _sloped(b: Any, x: Any, slope: Any) -> Any:
    return b.select(b.compare("gt", x, b.const(0.0, x)), x, b.mul(x, slope))


def _sloped_reference(x: Any, slope: Any) -> Any:
    return np.where(x > 0, x, x * slope)


SLOPES = (
    binary(
        "pto.taddrelu", "dst = the larger one of src0 + src1 and 0.",
        lambda b, x, y: b.max(b.add(x, y), b.const(0, x)),
        lambda x, y: numeric.maximum(x + y, np.zeros_like(x)),
        dtypes=(*FLOATS, *SIGNED), commutative=True, since="0.57",
    ),
    binary(
        "pto.tprelu", "dst = src0 where src0 > 0, else src0 times the slope in src1.",
        _sloped, _sloped_reference, scratch(), dtypes=FLOATS,
    ),
    OpDef(
        name="pto.tlrelu",
        doc="dst = src where src > 0, else src times the slope.",
        operands=(source("src"), Operand("slope", FLOAT, doc="f32 whatever the tile's type"), target()),
        format=dps(("src", "slope")),
        dtypes=FLOATS,
        rules=(in_spaces, supported_elements, unboxed(), same_elements("src", "dst"), same_valid("src", "dst")),
        reference=_sloped_reference,
        meaning=Map(_sloped, MappingProxyType({"src": Spread.FULL, "slope": Spread.SCALAR})),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- remainders and powers


def _fmod(b: Any, x: Any, y: Any) -> Any:
    return (float_remainder if b.type_of(x).is_float else integer_remainder)(b, x, y)


def _rem(b: Any, x: Any, y: Any) -> Any:
    return toward_divisor(b, _fmod(b, x, y), y)


def _pow(b: Any, x: Any, y: Any) -> Any:
    return (float_power if b.type_of(x).is_float else integer_power)(b, x, y)


def _fmod_reference(x: Any, y: Any) -> Any:
    return np.fmod(x, y) if x.dtype.kind == "f" else np.where(y == 0, x, np.fmod(x, y))


def _rem_reference(x: Any, y: Any) -> Any:
    return np.remainder(x, y) if x.dtype.kind == "f" else np.where(y == 0, x, np.remainder(x, y))


def _pow_reference(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        exponents = np.array(np.broadcast_to(y, x.shape), np.float64)  # a lone 0.5 would become a square root
        return np.power(x.astype(np.float64), exponents)
    bits = x.dtype.itemsize * 8

    def one(base: int, exponent: int) -> int:
        if exponent >= 0:
            return int(pow(base, exponent, 1 << bits))
        return (base if exponent % 2 else 1) % (1 << bits) if base in (1, -1) else 0

    whole: Any = np.frompyfunc(one, 2, 1)(x.astype(object), y.astype(object))
    return whole.astype(f"u{x.dtype.itemsize}").view(x.dtype)


_POWER = Tolerance(relative=4e-5, ulps=1, reason="exp and log of a few ulps each, whose product reaches 88")

_ZERO = "a zero divisor leaves integers as they are, and gives NaN for floats"

_REMAINDERS = (
    (
        "rem",
        f"{{0}} - floor({{0}} / {{1}}) * {{1}}, of the divisor's sign; {_ZERO}",
        _rem,
        _rem_reference,
        (scratch(),),
    ),
    (
        "fmod",
        f"C's fmod of {{0}} and {{1}}, exact and of the dividend's sign; {_ZERO}",
        _fmod,
        _fmod_reference,
        (),
    ),
)

REMAINDERS = (
    *(
        binary(
            f"pto.t{word}",
            f"dst = {doc.format('src0', 'src1')}.",
            recipe,
            reference,
            *tmp,
            attributes=(precision(word),),
        )
        for word, doc, recipe, reference, tmp in _REMAINDERS
    ),
    *(
        tile_scalar(f"pto.t{word}s", f"dst = {doc.format('src', 'scalar')}.", recipe, reference, *tmp)
        for word, doc, recipe, reference, tmp in _REMAINDERS
    ),
)

_POWERS = "C's pow; integers wrap, and what lies between -1 and 1 becomes 0"

POWERS = (
    elementwise(
        "pto.tpow", f"dst = base to the power of exp: {_POWERS}.",
        (source("base"), source("exp"), scratch()), _pow, _pow_reference,
        MappingProxyType({"base": Spread.FULL, "exp": Spread.FULL}),
        attributes=(precision("pow"),), tolerance=_POWER, since="0.57",
    ),
    tile_scalar(
        "pto.tpows", f"dst = src to the power of the scalar: {_POWERS}.", _pow, _pow_reference, scratch(),
        attributes=(precision("pow"),), tolerance=_POWER, since="0.57",
    ),
)  # fmt: skip

ROWS = table(SUMS, AXPY, SLOPES, REMAINDERS, POWERS)
