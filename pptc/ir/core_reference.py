"""Arithmetic of the core level's references, on NumPy: binary64 inside, one rounding to nearest even at the end.

A reference is called as `reference(op, symbols, *arrays)`: the op with its types and attributes, the number that each
symbol stands for, the operands' arrays; it returns the result's array, or a tuple where the op has several results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pptc.ir.attrs import Attr, DenseAttr, FloatAttr
from pptc.ir.core import Op
from pptc.ir.lazy import np
from pptc.ir.literals import float_value
from pptc.ir.numeric import dtype_of, integer_range
from pptc.ir.symbols import evaluate
from pptc.ir.types import BF16, F16, F32, F64, ScalarType, TensorType

Array = Any  # numpy.ndarray
Reference = Callable[..., Any]


def result_type(op: Op, index: int = 0) -> TensorType:
    """The tensor type of a result."""
    type = op.results[index].type
    assert isinstance(type, TensorType)
    return type


def concrete_shape(type: TensorType, symbols: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of a type when the symbols are known."""
    return tuple(evaluate(dim, symbols) for dim in type.dims)


def wide(values: Array) -> Array:
    """Floats of any type as binary64; integers as they are."""
    return values if values.dtype.kind in "iub" else values.astype(np.float64)


def rounded(values: Array, elem: ScalarType) -> Array:
    """Binary64 values to elements, in one rounding; integers wrap."""
    with np.errstate(all="ignore"):
        if elem in (F64, F32) or not elem.is_float:
            return np.asarray(values).astype(dtype_of(elem))
        return _to_odd(np.asarray(values)).astype(dtype_of(elem))


def _to_odd(values: Array) -> Array:
    """Binary32 rounded to odd: the second rounding, to a type at most half as wide, is then right."""
    near = values.astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != values)
    toward_zero = np.where(
        np.abs(near.astype(np.float64)) > np.abs(values), np.nextafter(near, np.float32(0)), near
    )
    odd = (toward_zero.view(np.uint32) | np.uint32(1)).view(np.float32)
    return np.where(inexact, odd, near)


def literal(value: Attr) -> Any:
    """A number attribute as a Python number."""
    return float_value(value) if isinstance(value, FloatAttr) else getattr(value, "value", value)


def dense(value: DenseAttr, symbols: Mapping[str, int]) -> Array:
    """The array of a constant."""
    assert isinstance(value.type, TensorType)
    elem, shape = value.type.elem, concrete_shape(value.type, symbols)
    if elem.is_float:
        bits = [item.bits for item in value.values if isinstance(item, FloatAttr)]
        flat = np.array(bits, f"uint{elem.bits}").view(dtype_of(elem))
    else:
        flat = np.array([int(literal(item)) for item in value.values]).astype(dtype_of(elem))
    return np.broadcast_to(flat, shape) if len(value.values) == 1 else flat.reshape(shape)


def elementwise(function: Callable[..., Any]) -> Reference:
    """`function` on every element, broadcast; floats in binary64."""

    def reference(op: Op, symbols: Mapping[str, int], *arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            return rounded(np.asarray(function(*map(wide, arrays))), result_type(op).elem)

    return reference


def sigmoid(x: Array) -> Array:
    """Split by sign, so that nothing overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def silu(x: Array) -> Array:
    """x * sigmoid(x); 0 at minus infinity."""
    return np.where(np.isneginf(x), 0.0, x * sigmoid(x))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without a threshold."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def error_function(x: Array) -> Array:
    """erf of the C library, element by element."""
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gelu(x: Array) -> Array:
    """x * Phi(x)."""
    return 0.5 * x * (1 + error_function(x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    """The common approximation of gelu."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def truncated_to(values: Array, elem: ScalarType) -> Array:
    """A cast: floats to integers toward zero, clamped, NaN to 0; everything else by rounding or wrapping."""
    values = wide(values)
    if elem.bits == 1 and not elem.is_float:
        return values != 0
    if elem.is_float or values.dtype.kind in "iub":
        return rounded(values.astype(np.float64) if elem in (F16, BF16) else values, elem)
    low, high = integer_range(elem)
    whole = np.where(np.isnan(values), 0.0, np.trunc(values))
    inner = np.clip(whole, float(low), math.nextafter(float(high) + 1, 0.0)).astype(dtype_of(elem))
    return np.where(whole > high, dtype_of(elem).type(high), inner)
