"""Conversions of `tcvt` in every rounding mode, by ops that every machine has.

A narrowing starts from the nearest-even result. On which side of it the exact value lies says how the other modes
differ: the magnitude of a float, read as an integer, goes down or up by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pptc.diag import fail
from pptc.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I16, I32, I64, UI64, ScalarType

if TYPE_CHECKING:
    from pptc.passes.lower_tiles.lanes import Lane, Lanes

_NEAREST = ("NONE", "RINT", "CAST_RINT")
_INTEGRAL: Mapping[str, str] = MappingProxyType(
    {"FLOOR": "math.floor", "CEIL": "math.ceil", "TRUNC": "math.trunc", "ROUND": "math.round"}
)
_LARGEST: Mapping[ScalarType, float] = MappingProxyType(
    {
        F8E4M3FN: 448.0,
        F8E5M2: 57344.0,
        F16: 65504.0,
        BF16: (2 - 2.0**-7) * 2.0**127,
        F32: (2 - 2.0**-23) * 2.0**127,
    }
)
_BEYOND: Mapping[ScalarType, float] = MappingProxyType(
    {F8E4M3FN: 480.0, F8E5M2: 65536.0, F16: 65536.0, BF16: float("inf"), F32: float("inf")}
)
"""From here on every mode gives what nearest-even gives."""
_BITS: Mapping[ScalarType, ScalarType] = MappingProxyType(
    {F8E4M3FN: I8, F8E5M2: I8, F16: I16, BF16: I16, F32: I32}
)
_NAN_OF_FINITE = 0x7F
"""The magnitude of the NaN of f8E4M3FN, which stands where the number 480 would."""


def convert(lanes: Lanes, a: Lane, to: ScalarType, rounding: str, saturate: bool) -> Lane:
    """See `Scalars.convert`."""
    if to.is_float:
        return _to_float(lanes, a, to, rounding, saturate)
    if a.type.is_float:
        return _to_integer(lanes, a, to, rounding, saturate)
    return _between_integers(lanes, a, to, saturate)


# ---------------------------------------------------------------- to integers


def _to_integer(lanes: Lanes, a: Lane, to: ScalarType, rounding: str, saturate: bool) -> Lane:
    whole = _integral(lanes, a, rounding)
    if saturate:
        return lanes.cast("arith.fptoui" if to.kind == "uint" else "arith.fptosi", whole, to)
    period = 2.0**to.bits
    turns = lanes.cast("math.trunc", lanes.mul(whole, lanes.const(1 / period, a)), a.type)
    rest = lanes.sub(
        whole, lanes.mul(turns, lanes.const(period, a))
    )  # exact: of the same sign and fewer bits
    size = lanes.cast("arith.fptoui", lanes.abs(rest), to)
    return lanes.select(lanes.compare("lt", rest, lanes.const(0.0, a)), lanes.neg(size), size)


def _integral(lanes: Lanes, a: Lane, rounding: str) -> Lane:
    if rounding != "ODD":
        return lanes.cast(_INTEGRAL.get(rounding, "math.roundeven"), a, a.type)
    down = lanes.cast("math.trunc", a, a.type)
    half = lanes.mul(down, lanes.const(0.5, a))
    even = lanes.compare("eq", lanes.cast("math.trunc", half, a.type), half)
    away = lanes.add(down, lanes.copysign(lanes.const(1.0, a), a))
    return lanes.select(lanes.bit_and(even, lanes.compare("ne", down, a)), away, down)


def _between_integers(lanes: Lanes, a: Lane, to: ScalarType, saturate: bool) -> Lane:
    if saturate:
        a = _clipped(lanes, a, to)
    if to.bits == a.type.bits:
        return replace(a, type=to)
    if to.bits < a.type.bits:
        return lanes.cast("arith.trunci", a, to)
    return lanes.cast("arith.extui" if a.type.kind == "uint" else "arith.extsi", a, to)


def _range(type: ScalarType) -> tuple[int, int]:
    if type.kind == "uint":
        return 0, 2**type.bits - 1
    return -(2 ** (type.bits - 1)), 2 ** (type.bits - 1) - 1


def _clipped(lanes: Lanes, a: Lane, to: ScalarType) -> Lane:
    (low, high), (least, most) = _range(to), _range(a.type)
    if low > least:
        a = lanes.max(a, lanes.const(low, a))
    return lanes.min(a, lanes.const(high, a)) if high < most else a


# ---------------------------------------------------------------- to floats


def _to_float(lanes: Lanes, a: Lane, to: ScalarType, rounding: str, saturate: bool) -> Lane:
    if a.type.is_float and a.type.bits <= to.bits:
        return a if a.type == to else lanes.cast("arith.extf", a, to)
    if a.type.is_float and (a.type == F32 or to == F32):
        return _from_float(lanes, a, to, rounding, saturate)
    if not a.type.is_float and to in (F32, F64):
        return _from_integer(lanes, a, to, rounding)
    odd = _to_float(lanes, a, F32, "ODD", False)  # its last bit keeps on which side the rest lies
    return _from_float(lanes, odd, to, rounding, saturate)


def _from_float(lanes: Lanes, a: Lane, to: ScalarType, rounding: str, saturate: bool) -> Lane:
    if to not in _LARGEST:
        origin = lanes.code.origin
        raise fail("P0402", f"nothing is converted to {to.name} here", origin.span if origin else None)
    if saturate:
        largest, least = (lanes.const(sign * _LARGEST[to], a) for sign in (1, -1))
        a = lanes.select(lanes.compare("gt", a, largest), largest, a)
        a = lanes.select(lanes.compare("lt", a, least), least, a)
    near = lanes.truncated(a, to)
    if rounding in _NEAREST:
        return lanes.widen(near, to)

    def value(bits: Lane) -> Lane:
        number = lanes.cast("arith.extf", lanes.cast("arith.bitcast", bits, to), a.type)
        if to != F8E4M3FN:
            return number
        code = lanes.const(_NAN_OF_FINITE, bits)
        next_one = lanes.copysign(lanes.const(_BEYOND[to], a), a)
        return lanes.select(lanes.compare("eq", lanes.bit_and(bits, code), code), next_one, number)

    bits = _directed(lanes, a, lanes.reinterpret(near, _BITS[to]), value, rounding)
    size = lanes.abs(a)
    inside = lanes.compare("lt", size, lanes.const(_BEYOND[to], a))
    bits = lanes.select(inside, bits, lanes.reinterpret(near, _BITS[to]))
    return lanes.widen(lanes.cast("arith.bitcast", bits, to).value, to)


def _from_integer(lanes: Lanes, a: Lane, to: ScalarType, rounding: str) -> Lane:
    unsigned = a.type.kind == "uint"
    near = lanes.cast("arith.uitofp" if unsigned else "arith.sitofp", a, to)
    exact = a.type.bits <= (53 if to == F64 else 24)
    if rounding in _NEAREST or exact or to == F64:
        return near
    whole = UI64 if unsigned else I64

    def value(bits: Lane) -> Lane:
        return lanes.cast(
            "arith.fptoui" if unsigned else "arith.fptosi", lanes.cast("arith.bitcast", bits, to), whole
        )

    wide = _between_integers(lanes, a, whole, False)
    limit = lanes.const(2.0 ** (64 if unsigned else 63), near)
    too_large = lanes.compare("ge", near, limit)  # `value` would clamp it to the largest integer
    bits = _directed(lanes, wide, lanes.reinterpret(near.value, _BITS[to]), value, rounding, too_large)
    return lanes.cast("arith.bitcast", bits, to)


def _directed(
    lanes: Lanes,
    a: Lane,
    near: Lane,
    value: Callable[[Lane], Lane],
    rounding: str,
    known_above: Lane | None = None,
) -> Lane:
    """Bits of `a` rounded by a directed mode or to nearest away, from its nearest-even bits `near`."""
    negative = lanes.compare("lt", a, lanes.const(0, a))
    back, one = value(near), lanes.const(1, near)
    above, below = lanes.compare("gt", back, a), lanes.compare("lt", back, a)
    if known_above is not None:
        above = lanes.bit_or(above, known_above)
    too_large = lanes.select(negative, below, above)
    down = lanes.select(too_large, lanes.sub(near, one), near)
    inexact = lanes.bit_or(above, below)
    up = lanes.select(inexact, lanes.add(down, one), down)
    match rounding:
        case "TRUNC":
            return down
        case "FLOOR":
            return lanes.select(negative, up, down)
        case "CEIL":
            return lanes.select(negative, down, up)
        case "ODD":
            return lanes.select(inexact, lanes.bit_or(down, one), down)
    tie = lanes.compare("eq", lanes.sub(a, value(down)), lanes.sub(value(up), a))
    return lanes.select(lanes.bit_and(tie, inexact), up, near)
