"""What a differential case is: a kernel, the arguments of its runs, and what NumPy says that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from tests.differential.writer import Writer
from tests.passes.lowering import NUMPY

Array = Any
Arguments = dict[str, Any]

SPECIAL = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    3e38,
    -3e38,
    0.5,
    1.5,
    2.5,
    -2.5,
    65519.0,
    65520.0,
)


@dataclass(frozen=True)
class Runs:
    """The arrays' shapes, the scalars of every run, and the arrays that must differ afterwards.

    Arrays that `want` does not return must keep every bit. `special` mixes NaN, infinities and other edges into floats.
    """

    shapes: Mapping[str, Sequence[int]]
    want: Callable[..., Mapping[str, Array]]
    scalars: Sequence[Mapping[str, Any]] = ({},)
    special: bool = False
    grid: Sequence[int] = (1,)


@dataclass(frozen=True)
class Case:
    """A kernel with its text. Floats may be `ulps` units of their type away, or `absolute`."""

    name: str
    arguments: Mapping[str, str]
    text: str
    runs: Runs
    ulps: float
    absolute: float

    def inputs(self) -> Iterator[tuple[Arguments, int]]:
        """Arguments and grid of every run."""
        for number, scalars in enumerate(self.runs.scalars):
            random = np.random.default_rng(number)
            arrays = {
                name: self._array(self.arguments[name], shape, random)
                for name, shape in self.runs.shapes.items()
            }
            for grid in self.runs.grid:
                yield {name: array.copy() for name, array in arrays.items()} | scalars, grid

    def _array(self, kind: str, shape: Sequence[int], random: np.random.Generator) -> Array:
        dtype = np.dtype(NUMPY[kind[1:]])
        if dtype.kind in "iu":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            return random.integers(low, high, shape, dtype, endpoint=True)
        values = 2 * random.standard_normal(shape)
        if self.runs.special:
            flat = values.reshape(-1)
            flat[random.permutation(flat.size)[: flat.size // 2]] = random.choice(SPECIAL, flat.size // 2)
        with np.errstate(all="ignore"):
            return values.astype(dtype)

    def check(self, before: Arguments, after: Arguments) -> None:
        """The arrays are what NumPy makes of the arguments before the run."""
        given = {
            key: value.copy() if isinstance(value, np.ndarray) else value for key, value in before.items()
        }
        with np.errstate(all="ignore"):
            want = self.runs.want(**given)
        for name in self.runs.shapes:
            if name in want:
                self._near(name, after[name], np.asarray(want[name]))
            else:
                assert after[name].tobytes() == before[name].tobytes(), f"{name} was written"

    def _near(self, name: str, found: Array, want: Array) -> None:
        assert found.shape == want.shape, (name, want.shape)
        if found.dtype.kind in "iu":
            np.testing.assert_array_equal(found, want.astype(found.dtype), name)
            return
        unit = float(ml_dtypes.finfo(found.dtype).eps)
        with np.errstate(all="ignore"):
            a, b = found.astype(np.float64), want.astype(found.dtype).astype(np.float64)
            near = np.abs(a - b) <= self.absolute + self.ulps * unit * np.abs(b)
        near |= (a == b) | (np.isnan(a) & np.isnan(b))
        wrong = np.argwhere(~near)
        assert near.all(), (
            f"{name}: {len(wrong)} wrong, first at {wrong[0]}: {a[~near][:4]} instead of {b[~near][:4]}"
        )


def kernel(
    *, ulps: float = 4, absolute: float = 0.0, **arguments: str
) -> Callable[[Callable[[Writer], Runs]], Case]:
    """Makes a case of a function that writes a kernel and returns its runs."""

    def make(write: Callable[[Writer], Runs]) -> Case:
        writer = Writer(write.__name__, arguments)
        runs = write(writer)
        return Case(write.__name__, arguments, str(writer), runs, ulps, absolute)

    return make


def wide(**arrays: Array) -> list[Array]:
    """The arrays in f64."""
    return [array.astype(np.float64) for array in arrays.values()]


def renamed(case: Case, name: str) -> Case:
    """The case under another name."""
    return replace(case, name=name, text=case.text.replace(f"@{case.name}(", f"@{name}("))
