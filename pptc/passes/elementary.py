"""exp, log, tanh, rsqrt and rounding in f32, out of additions, products and bit operations.

Bounds are in units in the last place of the f32 result against the exact value, measured over all exponents; NaN,
infinities, signed zeros, overflow and gradual underflow are as IEEE has them. The bounds hold with and without fma.
The coefficients are minimax fits of relative error, each rounded to f32 before the next one was fitted.
"""

from __future__ import annotations

import math

from pptc.ir.core import Value
from pptc.ir.loop_rules import lanes_of
from pptc.ir.types import F32, F64, I32
from pptc.passes.lanes import Lanes

# 1.5 * 2^23: adding it rounds a small number to an integer, which then stands in the low bits of the sum.
_MAGIC = 12582912.0
_LOG2_E = 1.0 / math.log(2.0)
# ln 2 in two parts: the first has 15 bits, so that its product with an exponent is exact.
_LN2_HIGH = 0.693145751953125
_LN2_LOW = math.log(2.0) - _LN2_HIGH

# (e^r - 1 - r) / r^2 over |r| <= ln 2 / 2, relative error of e^r 3.1e-9
_EXP = (
    0.4999999403953552,
    0.1666652113199234,
    0.04166826605796814,
    0.008368675597012043,
    0.0013820689637213945,
)
# (ln(1 + f) - f + f^2 / 2) / f^3 over sqrt(1/2) <= 1 + f <= sqrt(2), relative error of ln 5.9e-9
_LOG = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001250505447388,
    -0.16623316705226898,
    0.14201270043849945,
    -0.13160161674022675,
    0.12764795124530792,
    -0.07638338208198547,
)
# (tanh x - x) / x^3 in x^2 over |x| <= 0.625, relative error of tanh 4.5e-9
_TANH = (
    -0.3333328068256378,
    0.13331405818462372,
    -0.05373651534318924,
    0.02062816731631756,
    -0.0056922961957752705,
)

_ONE_BITS = 0x3F800000
_TWO_BITS = 0x40000000
_ROOT_HALF_BITS = 0x3F3504F3
_LEAST_NORMAL = 2.0**-126


def exp(b: Lanes, x: Value) -> Value:
    """e^x, at most 1.02 ulp from exact."""
    if "scaleb" in b.machine.native:
        n, _, r = _reduced(b, x)
        return b.op("math.scaleb", b.add(_exp_less_one(b, _below_two(b, r)), b.number(1.0)), n)
    x = b.at_least(b.at_most(x, b.number(104.0)), b.number(-104.0))
    _, whole, r = _reduced(b, x)
    return _scale(b, _exp_less_one(b, r), whole)


def _reduced(b: Lanes, x: Value) -> tuple[Value, Value, Value]:
    """x = n ln 2 + r with |r| <= ln 2 / 2: n as a float, n in the low bits of an integer, and r."""
    shifted = b.fma(x, b.number(_LOG2_E), b.number(_MAGIC))
    n = b.sub(shifted, b.number(_MAGIC))
    r = b.fma(n, b.number(-_LN2_HIGH), x)
    return n, b.cast(shifted, I32), b.fma(n, b.number(-_LN2_LOW), r)


def _exp_less_one(b: Lanes, r: Value) -> Value:
    """e^r - 1 of a small r."""
    return b.fma(b.polynomial(r, _EXP), b.mul(r, r), r)


def _below_two(b: Lanes, r: Value) -> Value:
    """r where |r| < 2, else anything that small.

    Where x is so large that r is noise, n is so large that 2^n alone decides; e^r has to be positive and finite only.
    """
    return b.cast(b.op("arith.andi", b.cast(r, I32), b.bits(~_TWO_BITS)), F32)


def _power(b: Lanes, whole: Value) -> Value:
    """2^n of the n in the low 8 bits."""
    field = b.op("arith.shli", whole, b.bits(23))
    return b.cast(b.op("arith.addi", field, b.bits(_ONE_BITS)), F32)


def _scale(b: Lanes, p: Value, whole: Value) -> Value:
    """(1 + p) * 2^n in two steps, so that the result may be subnormal, and overflows once. A NaN p stays."""
    half = b.op("arith.shrsi", whole, b.bits(1))
    rest = b.op("arith.subi", whole, half)
    power = _power(b, half)
    return b.mul(b.fma(p, power, power), _power(b, rest))


def log(b: Lanes, x: Value) -> Value:
    """ln x, at most 0.9 ulp from exact; -inf of a zero, NaN of a negative number."""
    small = b.compare("olt", x, b.number(_LEAST_NORMAL))
    normal = b.select(small, b.mul(x, b.number(2.0**23)), x)
    bits = b.cast(normal, I32)
    exponent = b.op("arith.shrsi", b.op("arith.subi", bits, b.bits(_ROOT_HALF_BITS)), b.bits(23))
    mantissa = b.op("arith.subi", bits, b.op("arith.shli", exponent, b.bits(23)))
    exponent = b.op("arith.subi", exponent, b.select(small, b.bits(23), b.bits(0)))
    n = b.op("arith.sitofp", exponent, to=F32)
    f = b.sub(b.cast(mantissa, F32), b.number(1.0))
    square = b.mul(f, f)
    tail = b.mul(b.mul(b.polynomial(f, _LOG), square), f)
    tail = b.fma(n, b.number(_LN2_LOW), tail)
    tail = b.fma(square, b.number(-0.5), tail)
    result = b.fma(n, b.number(_LN2_HIGH), b.add(f, tail))
    infinity = b.number(math.inf)
    result = b.select(b.compare("olt", x, infinity), result, x)
    result = b.select(b.compare("olt", x, b.number(0.0)), b.number(math.nan), result)
    return b.select(b.compare("oeq", x, b.number(0.0)), b.number(-math.inf), result)


def tanh(b: Lanes, x: Value) -> Value:
    """The hyperbolic tangent, at most 1.4 ulp from exact; the sign of a zero stays."""
    size = b.at_most(b.op("math.absf", x), b.number(10.0))
    square = b.mul(size, size)
    near = b.fma(b.mul(b.polynomial(square, _TANH), square), size, size)
    _, whole, r = _reduced(b, b.add(size, size))
    p = _exp_less_one(b, r)
    power = _power(b, whole)
    squared = b.fma(p, power, power)
    far = b.op("arith.divf", b.number(2.0), b.add(squared, b.number(1.0)))
    far = b.sub(b.number(1.0), far)
    result = b.select(b.compare("olt", size, b.number(0.625)), near, far)
    return b.op("math.copysign", result, x)


def rsqrt(b: Lanes, x: Value) -> Value:
    """1 / sqrt(x): two correctly rounded operations, at most 1.5 ulp from exact."""
    elem = lanes_of(x.type)
    assert elem is not None
    return b.op("arith.divf", b.number(1.0, elem), b.op("math.sqrt", x))


# ---------------------------------------------------------------- rounding to integral values, exact


def roundeven(b: Lanes, x: Value) -> Value:
    """Halves to even: adding and taking away 2^23 (2^52 of f64) rounds what is smaller than it."""
    elem = lanes_of(x.type)
    assert elem in (F32, F64)
    limit = b.number(2.0**23 if elem == F32 else 2.0**52, elem)
    size = b.op("math.absf", x)
    rounded = b.op("math.copysign", b.sub(b.add(size, limit), limit), x)
    return b.select(b.compare("olt", size, limit), rounded, x)


def floor(b: Lanes, x: Value) -> Value:
    """Down."""
    return _stepped(b, x, roundeven(b, x), "ogt", -1.0)


def ceil(b: Lanes, x: Value) -> Value:
    """Up."""
    return _stepped(b, x, roundeven(b, x), "olt", 1.0)


def _stepped(b: Lanes, x: Value, rounded: Value, predicate: str, step: float) -> Value:
    """One step further where `rounded` lies on the wrong side of x; a zero keeps the sign of x."""
    elem = lanes_of(x.type)
    assert elem is not None
    moved = b.add(rounded, b.number(step, elem))
    result = b.select(b.compare(predicate, rounded, x), moved, rounded)
    return b.op("math.copysign", result, x)


def trunc(b: Lanes, x: Value) -> Value:
    """Toward zero."""
    return b.op("math.copysign", floor(b, b.op("math.absf", x)), x)


def round_away(b: Lanes, x: Value) -> Value:
    """Halves away from zero."""
    elem = lanes_of(x.type)
    assert elem is not None
    native = "round" in b.machine.native
    whole = b.op("math.trunc", x) if native else trunc(b, x)
    rest = b.op("math.absf", b.sub(x, whole))
    moved = b.add(whole, b.op("math.copysign", b.number(1.0, elem), x))
    result = b.select(b.compare("oge", rest, b.number(0.5, elem)), moved, whole)
    return b.op("math.copysign", result, x)
