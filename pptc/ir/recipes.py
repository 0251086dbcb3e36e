"""Element recipes that take more than a line: remainders and powers. See `scalars.py` for the vocabulary."""

from __future__ import annotations

from typing import Any

from pptc.ir.scalars import Scalars
from pptc.ir.types import F32, F64, I32

_STEP = 26
"""Bits of a quotient that one division in f64 settles exactly: 24 + 26 <= 53."""

_QUOTIENT_BITS = 277
"""Bits of the largest quotient of two f32 numbers."""


def _negative(b: Scalars[Any], x: Any) -> Any:
    """Whether a float is below zero, or -0."""
    zero = b.const(0.0, x)
    return b.compare("lt", b.select(b.compare("eq", x, zero), b.div(b.const(1.0, x), x), x), zero)


def float_remainder(b: Scalars[Any], x: Any, y: Any) -> Any:
    """C's fmod, exactly: the quotient's bits are settled from the highest on, in f64, where every step is exact."""
    rest, divisor = (b.convert(b.abs(v), F64, "RINT", False) for v in (x, y))
    size, infinite = rest, b.compare("eq", divisor, b.const(float("inf"), divisor))
    for power in range(_QUOTIENT_BITS // _STEP * _STEP, -1, -_STEP):
        unit = b.mul(divisor, b.const(2.0**power, divisor))
        times = b.convert(b.convert(b.div(rest, unit), I32, "TRUNC", True), F64, "RINT", False)
        rest = b.sub(rest, b.mul(times, unit))
    rest = b.convert(b.select(infinite, size, rest), F32, "RINT", False)
    zero = b.const(0.0, x)
    signed = b.select(b.compare("lt", x, zero), b.neg(rest), rest)
    signed = b.select(b.compare("eq", x, zero), x, signed)
    finite = b.compare("lt", b.abs(x), b.const(float("inf"), x))
    defined = b.bit_and(finite, b.compare("gt", b.abs(y), zero))
    return b.select(defined, signed, b.const(float("nan"), x))


def integer_remainder(b: Scalars[Any], x: Any, y: Any) -> Any:
    """What truncating division leaves; a zero divisor leaves `x`."""
    return b.sub(x, b.mul(b.div(x, y), y))


def toward_divisor(b: Scalars[Any], rest: Any, y: Any) -> Any:
    """The remainder of truncating division, moved to the sign of the divisor."""
    zero = b.const(0, rest)
    differ = b.bit_xor(b.compare("lt", rest, zero), b.compare("lt", y, zero))
    moved = b.select(b.bit_and(differ, b.compare("ne", rest, zero)), b.add(rest, y), rest)
    if not b.type_of(rest).is_float:
        return moved
    no_rest = b.select(b.compare("lt", y, zero), b.const(-0.0, rest), zero)
    return b.select(b.compare("eq", rest, zero), no_rest, moved)


def float_power(b: Scalars[Any], x: Any, y: Any) -> Any:
    """C's pow from exp(log|x| * y): signs, zeros, infinities and NaNs exactly, the magnitude as exp and log are."""
    zero, one = b.const(0.0, x), b.const(1.0, x)
    whole = b.convert(y, I32, "TRUNC", True)
    even = b.compare("ge", b.abs(y), b.const(2.0**24, y))  # and so are infinities
    integral = b.bit_or(even, b.compare("eq", b.convert(whole, F32, "RINT", False), y))
    parity = b.compare("ne", b.bit_and(whole, b.const(1, whole)), b.const(0, whole))
    odd = b.bit_and(integral, b.select(even, b.compare("ne", one, one), parity))
    size = b.exp(b.mul(b.log(b.abs(x)), y))
    size = b.select(b.compare("eq", b.abs(x), one), one, size)
    signed = b.select(b.bit_and(odd, _negative(b, x)), b.neg(size), size)
    finite = b.bit_and(b.compare("lt", x, zero), b.compare("gt", x, b.const(float("-inf"), x)))
    signed = b.select(b.select(integral, b.compare("ne", one, one), finite), b.const(float("nan"), x), signed)
    always = b.bit_or(b.compare("eq", y, zero), b.compare("eq", x, one))
    return b.select(always, one, signed)


def integer_power(b: Scalars[Any], x: Any, n: Any) -> Any:
    """`x` to the power of `n`, wrapping; what lies between -1 and 1 is truncated to 0."""
    type, zero, one = b.type_of(x), b.const(0, x), b.const(1, x)
    result, square = one, x
    for bit in range(type.bits - (type.kind == "int")):
        is_set = b.compare("ne", b.bit_and(n, b.const(1 << bit, n)), zero)
        result = b.select(is_set, b.mul(result, square), result)
        square = b.mul(square, square)
    if type.kind == "uint":
        return result
    minus = b.const(-1, x)
    odd = b.compare("ne", b.bit_and(n, one), zero)
    of_minus = b.select(b.compare("eq", x, minus), b.select(odd, minus, one), zero)
    inverse = b.select(b.compare("eq", x, one), one, of_minus)
    return b.select(b.compare("lt", n, zero), inverse, result)
