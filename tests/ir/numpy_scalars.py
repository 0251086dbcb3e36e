"""Scalars on NumPy arrays: what a recipe means when each of its words is one NumPy operation in the compute type.

Conversions are written here on Python's exact rationals, apart from `pptc.ir.numeric`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from pptc.ir.types import SCALARS, ScalarType

Array = Any
DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"ui{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip
COMPARE = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def dtype(elem: ScalarType) -> Any:
    return np.dtype(DTYPES[elem.name])


def integral(value: Fraction, rounding: str) -> int:
    """An exact value rounded to an integer."""
    floor = math.floor(value)
    if value == floor:
        return floor
    toward_zero = floor if value > 0 else floor + 1
    away = floor + 1 if value > 0 else floor
    if rounding == "ODD":
        return floor if floor % 2 else floor + 1
    if rounding in ("FLOOR", "CEIL", "TRUNC"):
        return {"FLOOR": floor, "CEIL": floor + 1, "TRUNC": toward_zero}[rounding]
    half = value - floor
    if half != Fraction(1, 2):
        return floor + (half > Fraction(1, 2))
    if rounding == "ROUND":
        return away
    return floor if floor % 2 == 0 else floor + 1


def to_float(value: Fraction, to: ScalarType, rounding: str, saturate: bool) -> float:
    """An exact value as a float of `to`, by the quantum of its binade."""
    info = ml_dtypes.finfo(dtype(to))
    smallest = Fraction(float(info.smallest_subnormal))
    quantum = smallest
    if value:
        binade = Fraction(2) ** (
            math.floor(math.log2(abs(value))) if abs(value) > Fraction(1, 2**1000) else -1000
        )
        while binade > abs(value):
            binade /= 2
        while binade * 2 <= abs(value):
            binade *= 2
        quantum = max(smallest, binade / 2 ** int(info.nmant))
    rounded = integral(value / quantum, rounding) * quantum
    if abs(rounded) > Fraction(float(info.max)):
        return math.copysign(float(info.max) if saturate else math.inf, value)
    return float(rounded)


def convert_one(value: Any, to: ScalarType, rounding: str, saturate: bool) -> Any:
    if to.is_float:
        if isinstance(value, float) and (math.isnan(value) or value == 0):
            return value
        if isinstance(value, float) and math.isinf(value):
            return math.copysign(float(ml_dtypes.finfo(dtype(to)).max), value) if saturate else value
        return to_float(Fraction(value), to, rounding, saturate)
    bits = to.bits
    low, high = (0, 2**bits - 1) if to.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if isinstance(value, float) and not math.isfinite(value):
        clamped = 0 if math.isnan(value) else high if value > 0 else low
        return clamped if saturate else 0
    exact = integral(Fraction(value), rounding)
    return min(max(exact, low), high) if saturate else (exact - low) % 2**bits + low


class NumpyScalars:
    """Implements pptc.ir.scalars.Scalars."""

    def type_of(self, x: Array) -> ScalarType:
        return next(SCALARS[name] for name, kind in DTYPES.items() if np.dtype(kind) == np.asarray(x).dtype)

    def const(self, value: float | int, like: Array) -> Array:
        return np.full_like(like, np.asarray(value).astype(like.dtype))

    def add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def sub(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def div(self, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return np.divide(a, b)
        wide_a, wide_b = a.astype(object), b.astype(object)

        def one(x: int, y: int) -> int:
            if y == 0:
                return 0
            quotient = abs(x) // abs(y)
            return quotient if (x < 0) == (y < 0) else -quotient

        exact = np.frompyfunc(one, 2, 1)(wide_a, wide_b)
        bits = a.dtype.itemsize * 8
        return (
            np.vectorize(lambda v: v % 2**bits, otypes=[np.uint64])(exact)
            .astype(f"u{a.dtype.itemsize}")
            .view(a.dtype)
        )

    def max(self, a: Array, b: Array) -> Array:
        return np.frompyfunc(self._larger, 2, 1)(a, b).astype(a.dtype)

    def min(self, a: Array, b: Array) -> Array:
        if a.dtype.kind != "f":
            return np.minimum(a, b)
        return -self.max(-a, -b)

    @staticmethod
    def _larger(x: Any, y: Any) -> Any:
        if x != x or y != y:
            return x if x != x else y
        if x == 0 and y == 0 and isinstance(x, float | np.floating):
            return x if not np.signbit(x) else y
        return x if x > y else y

    def neg(self, a: Array) -> Array:
        return np.negative(a)

    def abs(self, a: Array) -> Array:
        return np.absolute(a)

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        return a * b + c

    def exp(self, a: Array) -> Array:
        return np.exp(a)

    def log(self, a: Array) -> Array:
        return np.log(a)

    def tanh(self, a: Array) -> Array:
        return np.tanh(a)

    def sqrt(self, a: Array) -> Array:
        return np.sqrt(a)

    def rsqrt(self, a: Array) -> Array:
        return np.divide(np.ones_like(a), np.sqrt(a))

    def compare(self, predicate: str, a: Array, b: Array) -> Array:
        return getattr(np, COMPARE[predicate])(a, b)

    def select(self, condition: Array, a: Array, b: Array) -> Array:
        return np.where(condition, a, b)

    def bit_and(self, a: Array, b: Array) -> Array:
        return np.bitwise_and(a, b)

    def bit_or(self, a: Array, b: Array) -> Array:
        return np.bitwise_or(a, b)

    def bit_xor(self, a: Array, b: Array) -> Array:
        return np.bitwise_xor(a, b)

    def shift_left(self, a: Array, b: Array) -> Array:
        bits = a.dtype.itemsize * 8
        return self._each(lambda x, n: x << n % 2**bits if n % 2**bits < bits else 0, a, b)

    def shift_right(self, a: Array, b: Array) -> Array:
        bits = a.dtype.itemsize * 8
        return self._each(lambda x, n: x >> min(n % 2**bits, bits), a, b)

    @staticmethod
    def _each(function: Any, a: Array, b: Array) -> Array:
        bits = a.dtype.itemsize * 8
        exact = np.frompyfunc(function, 2, 1)(a.astype(object), b.astype(object))
        return (
            np.vectorize(lambda v: v % 2**bits, otypes=[np.uint64])(exact)
            .astype(f"u{a.dtype.itemsize}")
            .view(a.dtype)
        )

    def convert(self, a: Array, to: ScalarType, rounding: str, saturate: bool) -> Array:
        if to.name in ("f32", "f64") and a.dtype.kind == "f":
            return a.astype(dtype(to))  # widening
        compute = np.float32 if to.is_float and to.name != "f64" else dtype(to)
        flat = [convert_one(x.item(), to, rounding, saturate) for x in np.asarray(a).reshape(-1)]
        return np.array(flat, dtype=object).astype(compute).reshape(np.shape(a))
