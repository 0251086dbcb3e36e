"""What an example tells its runners: arguments in the kernel's order, and the values that NumPy expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One call of a kernel. `arguments` are arrays (pointers) or numbers; `expected` maps an output to its f64 values.

    An output may differ by `absolute + relative * |expected|`; `reason` says where the tolerance comes from.
    """

    arguments: Mapping[str, Array | int | float]
    expected: Mapping[str, Array]
    relative: float
    absolute: float
    reason: str

    def error(self, name: str) -> float:
        """The largest difference between an output and its expectation."""
        want = self.expected[name]
        got = np.asarray(self.arguments[name]).astype(np.float64)
        return float(np.max(np.abs(got - want), initial=0.0))

    def check(self) -> None:
        """Raise AssertionError where an output is off."""
        for name, want in self.expected.items():
            got = np.asarray(self.arguments[name]).astype(np.float64)
            np.testing.assert_allclose(got, want, rtol=self.relative, atol=self.absolute, err_msg=name)


@dataclass(frozen=True)
class Example:
    """A kernel file and the function that makes a case of a number of rows."""

    path: Path
    kernel: str
    make: Callable[[int, np.random.Generator], Case]
