"""What the signature allows holds in compiled code: an output in the memory of an input gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pptc
from examples.case import Example
from examples.rmsnorm.case import EXAMPLE as RMSNORM
from examples.softmax.case import EXAMPLE as SOFTMAX
from examples.vadd.case import EXAMPLE as VADD
from pptc.runtime import Function, PptError, Status


def copies(example: Example, rows: int) -> dict[str, Any]:
    arguments = example.make(rows, np.random.default_rng(rows)).arguments
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }


def shared_pairs(function: Function, example: Example) -> Iterator[tuple[str, str]]:
    """(written, read) arguments that the library lets be one array, found by trying."""
    pointers = [a for a in function.arguments if a.kind == "pointer"]
    for written in (a for a in pointers if a.writes):
        for read in (a for a in pointers if not a.writes):
            values = copies(example, 3)
            values[written.name] = values[read.name]
            try:
                function(**values)
            except PptError as error:
                assert error.status == Status.E_OVERLAP
            else:
                yield written.name, read.name


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize(
    ("example", "pairs"), [(VADD, 2), (SOFTMAX, 1), (RMSNORM, 1)], ids=["vadd", "softmax", "rmsnorm"]
)
def test_in_place_gives_the_same_bits(example: Example, pairs: int, level: int, tmp_path: Path) -> None:
    pptc.compile(example.path, tmp_path / "k.so", opt_level=level)
    function = pptc.load(tmp_path / "k.so")[example.kernel]
    allowed = list(shared_pairs(function, example))
    assert len(allowed) == pairs
    for written, read in allowed:
        for rows in (0, 1, 7, 64, 200):
            apart, together = copies(example, rows), copies(example, rows)
            together[written] = together[read]
            function(**apart)
            function(**together)
            assert together[written].tobytes() == apart[written].tobytes(), (written, read, rows)
