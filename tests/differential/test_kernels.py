"""Odd kernels in one module, compiled on every road and interpreted with poison, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.differential import (
    kernels_flow,
    kernels_indexed,
    kernels_masks,
    kernels_memory,
    kernels_numbers,
    kernels_partial,
    kernels_products,
    kernels_quantize,
    kernels_rearrange,
    kernels_scalars,
    kernels_shapes,
    kernels_sort,
)
from tests.differential.case import Arguments, Case
from tests.passes.lowering import MACHINES, Library, parsed

CASES = (
    *kernels_shapes.CASES,
    *kernels_flow.CASES,
    *kernels_indexed.CASES,
    *kernels_masks.CASES,
    *kernels_memory.CASES,
    *kernels_numbers.CASES,
    *kernels_partial.CASES,
    *kernels_products.CASES,
    *kernels_quantize.CASES,
    *kernels_rearrange.CASES,
    *kernels_scalars.CASES,
    *kernels_sort.CASES,
)
BEST = MACHINES[-1]
ROADS = ((BEST, "O0"), (BEST, "O1"), (BEST, "may-alias"), *((name, "O2") for name in MACHINES))


def _module() -> Op:
    """All kernels, so that a road is compiled once."""
    return parsed(f'module attributes {{pto.target_arch = "a2a3"}} {{\n{"".join(c.text for c in CASES)}}}\n')


def _run(compiled: Library | Op, case: Case, arguments: Arguments, grid: int) -> None:
    if isinstance(compiled, Op):
        run_kernel(compiled, case.name, arguments, grid, poison=True)
        return
    for block in range(grid):
        place = {"__pypto_spmd_block_idx": block, "__pypto_spmd_block_num": grid}
        compiled.call(case.name, *((arguments | place)[name] for name in case.arguments))


def _check(compiled: Library | Op) -> None:
    """Run every case; all that is wrong is said at once."""
    wrong = []
    for case in CASES:
        for before, grid in case.inputs():
            after = {
                key: value.copy() if isinstance(value, np.ndarray) else value for key, value in before.items()
            }
            _run(compiled, case, after, grid)
            try:
                case.check(before, after)
            except AssertionError as error:
                wrong.append(f"{case.name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_interpreter() -> None:
    _check(_module())


@pytest.mark.parametrize(("target", "level"), ROADS)
def test_a_road(target: str, level: str) -> None:
    pipeline = parse_pipeline(load_machine(target).pipelines[level], PASSES)
    _check(Library(_module(), target, pipeline, opt_level=0 if level == "O0" else 1))
