"""Floating scalars as NumPy values: dtypes, bits, and the comparisons that IEEE 754 and MLIR name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pptc.ir.lazy import ml_dtypes, np
from pptc.ir.types import ScalarType

_MODULES: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "f16": (np, "float16"),
        "f32": (np, "float32"),
        "f64": (np, "float64"),
        "bf16": (ml_dtypes, "bfloat16"),
        "f8E4M3FN": (ml_dtypes, "float8_e4m3fn"),
        "f8E5M2": (ml_dtypes, "float8_e5m2"),
    }
)


def numpy_type(type: ScalarType) -> Any:
    """The NumPy scalar class of a float or integer type."""
    if type.is_float:
        module, name = _MODULES[type.name]
        return getattr(module, name)
    if type.bits == 1:
        return np.bool_
    return getattr(np, f"{'u' if type.kind == 'uint' else ''}int{type.bits}")


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The fields of a binary float: sign, `exponent` bits, `mantissa` bits. Without infinity, overflow gives NaN."""

    exponent: int
    mantissa: int
    has_infinity: bool = True

    @property
    def bits(self) -> int:
        """All bits with the sign's."""
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        """What the stored exponent is larger by."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """The bits that overflow rounds to: infinity, or NaN where there is none."""
        whole = ((1 << self.exponent) - 1) << self.mantissa
        return whole if self.has_infinity else whole | (1 << self.mantissa) - 1

    @property
    def largest(self) -> int:
        """The bits of the largest finite value."""
        return self.infinity - 1

    @property
    def nan(self) -> int:
        """The bits of a quiet NaN."""
        return self.infinity | (1 << (self.mantissa - 1))


FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {
        "f64": FloatFormat(11, 52),
        "f32": FloatFormat(8, 23),
        "f16": FloatFormat(5, 10),
        "bf16": FloatFormat(8, 7),
        "f8E5M2": FloatFormat(5, 2),
        "f8E4M3FN": FloatFormat(4, 3, has_infinity=False),
    }
)


def encode(value: float, type: ScalarType) -> int:
    """The bits of a Python number in a float type, rounded to nearest, ties to even."""
    form = FORMATS[type.name]
    (wide,) = struct.unpack("<Q", struct.pack("<d", value))
    sign = (wide >> 63) << (form.bits - 1)
    if value != value:
        return int(sign | form.nan)
    exponent, mantissa = (wide >> 52) & 0x7FF, wide & ((1 << 52) - 1)
    if exponent == 0x7FF:
        return int(sign | form.infinity)
    whole = mantissa | (1 << 52 if exponent else 0)  # value = whole * 2^(exponent - 1075)
    stored = max(exponent - 1023 + form.bias, 1) if exponent else 1
    shift = 1075 - max(exponent, 1) - (form.bias + form.mantissa - stored)
    rounded = _shift_to_even(whole, shift)
    bits = rounded if rounded < 1 << form.mantissa else rounded + ((stored - 1) << form.mantissa)
    return int(sign | min(bits, form.infinity))


def _shift_to_even(value: int, shift: int) -> int:
    """value / 2^shift to nearest, ties to even."""
    if shift <= 0:
        return value << -shift
    low = value & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    up = low > half or (low == half and (value >> shift) & 1)
    return (value >> shift) + int(up)


def to_bits(value: Any, type: ScalarType) -> int:
    """The bit pattern of a float value; of a Python number without NumPy."""
    if isinstance(value, float | int):
        return encode(float(value), type)
    stored = numpy_type(type)(value)
    return int(np.asarray(stored).view(f"uint{type.bits}"))


def from_bits(bits: int, type: ScalarType) -> Any:
    """The NumPy scalar of a bit pattern."""
    stored = np.array(bits, f"uint{type.bits}").view(numpy_type(type))
    return stored[()]


def maximum(a: Any, b: Any) -> Any:
    """IEEE maximum: a NaN wins, +0 beats -0."""
    if a != a or b != b:
        return a + b
    if a == b:
        return b if np.signbit(a) else a
    return a if a > b else b


def minimum(a: Any, b: Any) -> Any:
    """IEEE minimum: a NaN wins, -0 beats +0."""
    return -maximum(-a, -b)


_ORDERED: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "eq": lambda a, b: a == b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "ne": lambda a, b: a != b,
    }
)


def compare_floats(predicate: str, a: Any, b: Any) -> bool:
    """An arith.cmpf predicate: o.. is false, u.. true when one side is a NaN."""
    if predicate in ("true", "false"):
        return predicate == "true"
    unordered = bool(a != a or b != b)
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    if unordered:
        return predicate[0] == "u"
    return bool(_ORDERED[predicate[1:]](a, b))
