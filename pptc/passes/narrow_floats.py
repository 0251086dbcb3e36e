"""Conversions between f32 and the narrow floats bf16, f16 and f8, out of integer operations.

Rounding is to nearest with ties to even, once; NaN stays a quiet NaN of its sign, results may be subnormal, overflow
gives infinity (NaN in f8E4M3FN, which has none).
"""

from __future__ import annotations

from pptc.ir.core import Value
from pptc.ir.floats import FORMATS, FloatFormat
from pptc.ir.types import BF16, F32, F64, I8, I16, I32, ScalarType
from pptc.passes.lanes import Lanes

_WIDE = FORMATS["f32"]
_SIGN = 0x80000000
_SIZE = 0x7FFFFFFF


def integer_of(elem: ScalarType) -> ScalarType:
    """The integer of a narrow float's width."""
    return I8 if elem.bits == 8 else I16


def widen(b: Lanes, x: Value, elem: ScalarType) -> Value:
    """The f32 equal to a narrow float."""
    bits = b.op("arith.extui", b.cast(x, integer_of(elem)), to=I32)
    if elem == BF16:
        return b.cast(b.op("arith.shli", bits, b.bits(16)), F32)
    form = FORMATS[elem.name]
    sign_place = 1 << (elem.bits - 1)
    sign = b.op("arith.shli", b.op("arith.andi", bits, b.bits(sign_place)), b.bits(32 - elem.bits))
    code = b.op("arith.andi", bits, b.bits(sign_place - 1))
    aligned = b.op("arith.shli", code, b.bits(_WIDE.mantissa - form.mantissa))
    # As an f32 the aligned bits are the value times 2^-(bias difference), subnormals included.
    scaled = b.mul(b.cast(aligned, F32), b.number(2.0 ** (_WIDE.bias - form.bias)))
    finite = b.compare("ult", code, b.bits(form.infinity))
    above = b.op("arith.ori", aligned, b.bits(_WIDE.infinity)) if form.has_infinity else b.bits(_WIDE.nan)
    size = b.select(finite, b.cast(scaled, I32), above)
    return b.cast(b.op("arith.ori", size, sign), F32)


def narrow(b: Lanes, x: Value, elem: ScalarType) -> Value:
    """An f32 rounded to a narrow float."""
    bits = b.cast(x, I32)
    code = _narrow_bf16(b, x, bits) if elem == BF16 else _narrow_small(b, x, bits, FORMATS[elem.name], elem)
    return b.cast(b.op("arith.trunci", code, to=integer_of(elem)), elem)


def _narrow_bf16(b: Lanes, x: Value, bits: Value) -> Value:
    """The upper half after adding just under half a step, or half a step to an odd one."""
    upper = b.op("arith.shrui", bits, b.bits(16))
    odd = b.op("arith.andi", upper, b.bits(1))
    raised = b.op("arith.addi", b.op("arith.addi", bits, b.bits(0x7FFF)), odd)
    rounded = b.op("arith.shrui", raised, b.bits(16))
    quiet = b.op("arith.ori", upper, b.bits(0x40))
    return b.select(b.compare("uno", x, x), quiet, rounded)


def _narrow_small(b: Lanes, x: Value, bits: Value, form: FloatFormat, elem: ScalarType) -> Value:
    size = b.op("arith.andi", bits, b.bits(_SIZE))
    sign = b.op("arith.shrui", b.op("arith.andi", bits, b.bits(_SIGN)), b.bits(32 - elem.bits))
    normal = _round_normal(b, size, form)
    tiny = b.compare("ult", size, b.bits((_WIDE.bias - form.bias + 1) << _WIDE.mantissa))
    code = b.select(tiny, _round_subnormal(b, size, form), normal)
    code = b.select(b.compare("ugt", code, b.bits(form.largest)), b.bits(form.infinity), code)
    code = b.select(b.compare("uno", x, x), b.bits(form.nan), code)
    return b.op("arith.ori", code, sign)


def _round_normal(b: Lanes, size: Value, form: FloatFormat) -> Value:
    """The exponent moved by the difference of the biases, the mantissa rounded with a carry into it."""
    drop = _WIDE.mantissa - form.mantissa
    odd = b.op("arith.andi", b.op("arith.shrui", size, b.bits(drop)), b.bits(1))
    moved = (1 << (drop - 1)) - 1 - ((_WIDE.bias - form.bias) << _WIDE.mantissa)
    raised = b.op("arith.addi", b.op("arith.addi", size, b.bits(moved)), odd)
    return b.op("arith.shrui", raised, b.bits(drop))


def _round_subnormal(b: Lanes, size: Value, form: FloatFormat) -> Value:
    """Adding a power of two whose last place is the narrow format's smallest step lets the f32 adder round."""
    step = 1 - form.bias - form.mantissa  # exponent of the smallest step
    magic = 2.0 ** (step + _WIDE.mantissa)
    summed = b.cast(b.add(b.cast(size, F32), b.number(magic)), I32)
    magic_bits = (step + _WIDE.mantissa + _WIDE.bias) << _WIDE.mantissa
    return b.op("arith.subi", summed, b.bits(magic_bits))


def narrow_to_odd(b: Lanes, x: Value) -> Value:
    """An f64 as f32, rounded to odd when inexact: a second rounding to fewer bits then is the only one that counts."""
    near = b.op("arith.truncf", x, to=F32)
    back = b.op("arith.extf", near, to=F64)
    bits = b.cast(near, I32)
    away = b.compare("ogt", b.op("math.absf", back), b.op("math.absf", x))
    toward_zero = b.op("arith.subi", bits, b.op("arith.extui", away, to=I32))
    odd = b.op("arith.ori", toward_zero, b.bits(1))
    return b.cast(b.select(b.compare("one", back, x), odd, bits), F32)
