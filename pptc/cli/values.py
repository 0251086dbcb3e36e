"""Values of a run: `-i` texts to arrays and scalars, .npy files of every element type, comparison with expectations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pptc.diag import CompileError, fail
from pptc.ir.floats import numpy_type
from pptc.ir.lazy import np
from pptc.ir.types import ScalarType

Array = Any
"""A NumPy array."""

_TYPED = re.compile(r"(?P<dims>(?:\d+x)*)(?P<dtype>[A-Za-z]\w*)=(?P<fill>.*)")
_SMALL = 9
"""Random integers lie below this, so that sums and products of a few thousand of them stay exact in f32."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an array is from what was expected; `first` is the index of the first bad element."""

    max_abs: float
    max_rel: float
    bad: int = 0
    first: tuple[int, ...] = ()
    got: float = 0.0
    wanted: float = 0.0


def array_value(name: str, text: str, dtype: ScalarType) -> Array:
    """The array of a `-i NAME=VALUE`. Raises CompileError P0306 or P0302."""
    match = _TYPED.fullmatch(text)
    if match is None:
        if text.endswith(".npy"):
            return read_array(name, text, dtype)
        raise _wrong(name, text, f"an array is wanted: x.npy, 4x8x{dtype.name}=random:1, =zeros or =1,2,...")
    if match["dtype"] != dtype.name:
        raise _wrong(name, text, f"its elements are {dtype.name}, not {match['dtype']}")
    shape = tuple(map(int, match["dims"].split("x")[:-1]))
    return _filled(name, text, shape, dtype, match["fill"])


def _filled(name: str, text: str, shape: tuple[int, ...], dtype: ScalarType, fill: str) -> Array:
    kind = numpy_type(dtype)
    if fill == "zeros":
        return np.zeros(shape, kind)
    if seed := re.fullmatch(r"random:(\d+)", fill):
        random = np.random.default_rng(int(seed[1]))
        if dtype.is_float:
            return random.standard_normal(shape, np.float32).astype(kind)
        low = 0 if dtype.kind == "uint" or dtype.bits == 1 else 1 - _SMALL
        return random.integers(low, 2 if dtype.bits == 1 else _SMALL, shape).astype(kind)
    try:
        numbers = [_number(word, dtype) for word in fill.split(",")]
        values = np.array(numbers, kind)
    except (ValueError, OverflowError):
        raise _wrong(name, text, f"'{fill}' is not a list of {dtype.name}, zeros or random:SEED") from None
    count = int(np.prod(shape, dtype=np.int64))
    if len(numbers) not in (1, count):
        raise _wrong(name, text, f"{len(numbers)} numbers do not fill {count} elements")
    return (
        np.broadcast_to(values, (count,)).reshape(shape).copy()
        if len(numbers) == 1
        else values.reshape(shape)
    )


def _number(word: str, dtype: ScalarType) -> int | float:
    return float(word) if dtype.is_float else int(word, 0)


def scalar_value(name: str, text: str, dtype: ScalarType) -> int | float:
    """The number of a `-i NAME=VALUE` for a scalar argument; integers must fit their type."""
    typed = _TYPED.fullmatch(text)
    word = typed["fill"] if typed and not typed["dims"] and typed["dtype"] == dtype.name else text
    try:
        value = _number(word, dtype)
    except ValueError:
        raise _wrong(name, text, f"a number of type {dtype.name} is wanted") from None
    low = -(1 << (dtype.bits - 1)) if dtype.kind != "uint" and dtype.bits > 1 else 0
    if dtype.is_integer and not low <= value < 1 << dtype.bits:
        raise _wrong(name, text, f"{value} does not fit {dtype.name}")
    return value


def read_array(name: str, path: str, dtype: ScalarType) -> Array:
    """The array of a .npy file as elements of `dtype`; 8- and 16-bit floats are raw bits, or f32 that is rounded."""
    try:
        data = np.load(path, allow_pickle=False)
    except OSError as error:
        raise fail("P0302", f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise fail("P0302", f"'{path}' is not a .npy file: {error}") from None
    kind = np.dtype(numpy_type(dtype))
    if data.dtype == kind:
        return np.ascontiguousarray(data)
    if _is_raw(data.dtype, dtype):
        return np.ascontiguousarray(data).view(kind)
    if dtype.is_float and dtype.bits <= 16 and data.dtype == np.float32:
        return np.ascontiguousarray(data.astype(kind))
    raise fail("P0306", f"argument {name}: '{path}' holds {data.dtype}, the kernel takes {dtype.name}")


def _is_raw(found: Any, dtype: ScalarType) -> bool:
    """Whether a file's element type is the bits of a float that NumPy itself does not have."""
    return found.itemsize == dtype.bytes and (
        found.kind == "V" or (found.kind == "u" and has_raw_form(dtype))
    )


def has_raw_form(dtype: ScalarType) -> bool:
    """Whether .npy files hold the type as raw bits."""
    return dtype.is_float and dtype.name not in ("f16", "f32", "f64")


def write_array(path: str, array: Array, dtype: ScalarType) -> None:
    """Save an array. Raises CompileError P0303."""
    try:
        with Path(path).open("wb") as file:
            np.save(file, array.view(f"uint{dtype.bits}") if has_raw_form(dtype) else array)
    except OSError as error:
        raise fail("P0303", f"cannot write '{path}': {error.strerror}") from None


def compare(got: Array, wanted: Array, rtol: float, atol: float) -> Difference:
    """Element by element; NaN equals NaN. Shapes may differ as long as the number of elements does not."""
    flat, goal = (np.asarray(a).reshape(-1).astype(_wide(a)) for a in (got, wanted))
    if not flat.size:
        return Difference(0.0, 0.0)
    with np.errstate(all="ignore"):
        off = np.where((flat == goal) | ((flat != flat) & (goal != goal)), 0, np.abs(flat - goal)).astype(
            np.float64
        )
        relative = np.where(off == 0, 0.0, off / np.abs(goal))
        allowed = np.where(np.isfinite(goal), atol + rtol * np.abs(goal), 0.0)
        bad = np.flatnonzero(~(off <= allowed))
    largest = float(np.max(off)), float(np.max(relative))
    if not bad.size:
        return Difference(*largest)
    first = int(bad[0])
    index = tuple(int(i) for i in np.unravel_index(first, np.shape(got)))
    return Difference(*largest, int(bad.size), index, float(flat[first]), float(goal[first]))


def _wide(array: Array) -> Any:
    """A type in which differences of the array's elements do not wrap."""
    return np.longdouble if np.asarray(array).dtype.kind in "iub" else np.float64


def _wrong(name: str, text: str, why: str) -> CompileError:
    return fail("P0306", f"argument {name}: '{text}' does not fit: {why}")
