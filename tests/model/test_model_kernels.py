"""Kernels of a decoder layer, in the front end's own form, on every road and against NumPy in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.differential.opened import opened
from tests.model import kernels_cube, kernels_vector
from tests.model.front import GRID, Model
from tests.model.kernel_pair import ATTENTION
from tests.passes.lowering import MACHINES, NUMPY, Library, parsed, runnable

MODELS = (*kernels_vector.MODELS, *kernels_cube.MODELS)
VARIANTS = tuple(name for name, _ in runnable("avx512+bf16", 2))
ROADS = ((MACHINES[-1], "O0"), *((name, "O2") for name in (*MACHINES, *VARIANTS)))

Arguments = dict[str, Any]


def _module() -> Op:
    texts = "".join(model.text for model in (*MODELS, ATTENTION))
    return parsed(f'module attributes {{pto.target_arch = "a2a3"}} {{\n{texts}}}\n')


def _arguments(model: Model) -> Arguments:
    random = np.random.default_rng(11)
    arrays = {
        name: random.standard_normal(shape).astype(NUMPY[model.arguments[name][1:]])
        for name, shape in model.shapes.items()
    }
    return arrays | model.scalars


def _check(model: Model, before: Arguments, after: Arguments) -> None:
    want = model.want(**before)
    for name in model.shapes:
        if name in want:
            found, exact = (np.asarray(array).astype(np.float64) for array in (after[name], want[name]))
            np.testing.assert_allclose(
                found, exact, model.relative, model.absolute, err_msg=f"{model.name} {name}"
            )
        else:
            assert after[name].tobytes() == before[name].tobytes(), f"{model.name}: {name} was written"


def _copies(arguments: Arguments) -> Arguments:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }


def test_the_interpreter() -> None:
    module = _module()
    for model in (*MODELS, ATTENTION):
        before = _arguments(model)
        after = _copies(before)
        run_kernel(module, model.name, after, model.grid, poison=True)
        _check(model, before, after)


@pytest.mark.parametrize(("target", "level"), ROADS)
def test_a_road(target: str, level: str) -> None:
    pipeline = parse_pipeline(load_machine(target).pipelines[level], PASSES)
    library = Library(_module(), target, pipeline, opt_level=0 if level == "O0" else 2)
    for model in MODELS:
        before = _arguments(model)
        after = _copies(before)
        for block in range(model.grid):
            place = dict(zip(GRID, (block, model.grid), strict=True))
            library.call(model.name, *((after | place)[name] for name in model.arguments))
        _check(model, before, after)


@pytest.mark.parametrize(("target", "level"), ROADS)
def test_a_road_of_the_pair(target: str, level: str) -> None:
    module = opened(_module(), target, level)
    for _ in range(5):  # the threads meet in other ways each time
        before = _arguments(ATTENTION)
        after = _copies(before)
        module[ATTENTION.name](**after, grid=ATTENTION.grid)
        _check(ATTENTION, before, after)
