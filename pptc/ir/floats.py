"""Floating scalars as NumPy values: dtypes, bits, and the comparisons that IEEE 754 and MLIR name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def to_bits(value: Any, type: ScalarType) -> int:
    """The bit pattern of a float value."""
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
