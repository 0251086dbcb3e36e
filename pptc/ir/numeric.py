"""What numbers are in memory, on NumPy: dtypes, roundings and conversions of the reference.

The interpreter and the rows' references use it. It shares nothing with the code that emitters produce.
"""

from __future__ import annotations

from typing import Any

from pptc.diag import fail
from pptc.ir.floats import numpy_type
from pptc.ir.lazy import ml_dtypes, np
from pptc.ir.scalars import compute_type
from pptc.ir.types import F32, F64, INDEX, SCALARS, ScalarType

Array = Any  # numpy.ndarray; the compile path never sees it


def has_array_type(elem: ScalarType) -> bool:
    """Whether NumPy (with ml_dtypes) has arrays of this element type."""
    return not elem.name.startswith("!")


def dtype_of(elem: ScalarType) -> Any:
    """The NumPy dtype of an element type; an i1 is a bool, an index an int64. Raises CompileError P0402."""
    if not has_array_type(elem):
        raise fail("P0402", f"the reference interpreter has no arrays of {elem.name}")
    return np.dtype(numpy_type(elem))


def scalar_type(dtype: Any) -> ScalarType:
    """The element type of an array's dtype."""
    return next(t for t in SCALARS.values() if has_array_type(t) and t != INDEX and dtype_of(t) == dtype)


def widen(values: Array, elem: ScalarType) -> Array:
    """Elements of memory as values of the compute type; exact."""
    return np.asarray(values).astype(dtype_of(compute_type(elem)), copy=False)


def narrow(values: Array, elem: ScalarType) -> Array:
    """Results as elements of memory: one rounding to the compute type, then one to `elem`, both to nearest even."""
    with np.errstate(all="ignore"):
        values = np.asarray(values)
        if elem.is_float:
            values = values.astype(dtype_of(compute_type(elem)), copy=False)
        return values.astype(dtype_of(elem), copy=False)


def integer_range(elem: ScalarType) -> tuple[int, int]:
    """Smallest and largest value of an integer type; signless ones are read as signed."""
    if elem.kind == "uint" or elem.bits == 1:
        return 0, 2**elem.bits - 1
    return -(2 ** (elem.bits - 1)), 2 ** (elem.bits - 1) - 1


def pad_value(elem: ScalarType, pad: int) -> float | int:
    """What a tile's `pad` fills with: 1 zero, 2 the largest value, 3 the smallest one."""
    if pad == 1:
        return 0
    if elem.is_float:
        return float("inf") if pad == 2 else float("-inf")
    lowest, highest = integer_range(elem)
    return highest if pad == 2 else lowest


def maximum(a: Array, b: Array) -> Array:
    """IEEE maximum: a NaN wins and +0 beats -0."""
    return _extremum(a, b, np.greater, later_sign=False)


def minimum(a: Array, b: Array) -> Array:
    """IEEE minimum: a NaN wins and -0 beats +0."""
    return _extremum(a, b, np.less, later_sign=True)


def _extremum(a: Array, b: Array, better: Any, later_sign: bool) -> Array:
    a, b = np.broadcast_arrays(a, b)
    if a.dtype.kind in "iub":
        return np.where(better(a, b), a, b)
    tie = np.where(np.signbit(a) == later_sign, a, b)
    picked = np.where(a == b, tie, np.where(better(a, b), a, b))
    return np.where(np.isnan(a), a, picked)


def truncated_quotient(a: Array, b: Array) -> Array:
    """Integer division toward zero; by zero it is 0, and the smallest value by -1 wraps."""
    with np.errstate(all="ignore"):
        safe = np.where(b == 0, np.ones_like(b), b)
        floor = np.floor_divide(a, safe)
        inexact = np.multiply(floor, safe) != a
        toward_zero = floor + (inexact & ((a < 0) != (safe < 0))).astype(floor.dtype)
        return np.where(b == 0, np.zeros_like(floor), toward_zero)


# ---------------------------------------------------------------- conversions


def to_integral(values: Array, rounding: str) -> Array:
    """Float values rounded to integers by a round_mode word; signs of zero are kept where the mode has one."""
    down = np.trunc(values)
    if rounding == "FLOOR":
        return np.floor(values)
    if rounding == "CEIL":
        return np.ceil(values)
    if rounding == "TRUNC":
        return down
    fraction = np.abs(values - down)
    away = down + np.copysign(1.0, values)
    odd = np.fmod(down, 2.0) != 0
    if rounding == "ROUND":
        return np.where(fraction >= 0.5, away, down)
    if rounding == "ODD":
        return np.where((fraction > 0) & ~odd, away, down)
    return np.where((fraction > 0.5) | ((fraction == 0.5) & odd), away, down)


def _exact(values: Array) -> Array:
    """Values as f64; integers of more than 53 bits keep a sticky last bit, so that a later rounding is right."""
    values = np.asarray(values)
    if values.dtype.kind == "f" or values.dtype.itemsize < 8:
        return values.astype(np.float64)
    magnitude = np.where(values < 0, 0 - values.astype(np.uint64), values.astype(np.uint64))
    sticky = ((magnitude & np.uint64(0x7FF)) != 0).astype(np.uint64)
    wide = ((magnitude >> np.uint64(11)) | sticky).astype(np.float64) * 2048.0
    near = np.where(magnitude >> np.uint64(53) != 0, wide, magnitude.astype(np.float64))
    return np.where(values < 0, -near, near)


def _to_float(values: Array, to: ScalarType, rounding: str, saturate: bool) -> Array:
    info = ml_dtypes.finfo(dtype_of(to))
    exact = _exact(values)
    _, exponent = np.frexp(exact)
    exponent = np.maximum(exponent - 1, int(info.minexp)) - int(info.nmant)
    units = to_integral(np.ldexp(exact, -exponent), rounding)
    rounded = np.where(np.isfinite(exact), np.ldexp(units, exponent), exact)
    largest = float(info.max)
    beyond = np.abs(rounded) > largest
    limit = largest if saturate else np.inf
    return np.where(beyond, np.copysign(limit, rounded), rounded).astype(dtype_of(to))


def _to_integer(values: Array, to: ScalarType, rounding: str, saturate: bool) -> Array:
    low, high = integer_range(to)
    integral = to_integral(np.where(np.isnan(values), 0.0, values).astype(np.float64), rounding)
    if saturate:
        inside = np.where((integral >= low) & (integral < float(high + 1)), integral, 0.0)
        exact = inside.astype(np.uint64 if to.kind == "uint" else np.int64)
        clamped = np.where(integral < low, low, np.where(integral >= float(high + 1), high, exact))
        return clamped.astype(dtype_of(to))
    wrapped = np.where(np.isinf(integral), 0.0, np.fmod(integral, 2.0**64))
    magnitude = np.abs(wrapped).astype(np.uint64)
    return np.where(wrapped < 0, np.uint64(0) - magnitude, magnitude).astype(dtype_of(to))


def _between_integers(values: Array, to: ScalarType, saturate: bool) -> Array:
    if saturate:
        low, high = integer_range(to)
        info = np.iinfo(values.dtype)
        values = np.clip(values, max(low, int(info.min)), min(high, int(info.max)))
    return values.astype(dtype_of(to))


def convert(values: Array, to: ScalarType, rounding: str = "RINT", saturate: bool = True) -> Array:
    """The reference of tcvt: values of a compute type as elements of `to`.

    One rounding by the round_mode word. `saturate` clamps to the finite range of `to`, infinities too;
    otherwise integers wrap (an infinity gives 0) and floats beyond the range become infinite. NaN becomes integer 0.
    """
    values = np.asarray(values)
    with np.errstate(all="ignore"):
        if to.is_float:
            wide = to in (F32, F64) and values.dtype.kind == "f" and values.dtype.itemsize <= to.bytes
            return values.astype(dtype_of(to)) if wide else _to_float(values, to, rounding, saturate)
        if values.dtype.kind == "f":
            return _to_integer(values, to, rounding, saturate)
        return _between_integers(values, to, saturate)
