"""Odd kernels, five ways: interpreted with poison in unspecified lanes, at -O0, and optimised for each machine."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import pptc
from pptc import driver
from pptc.ir.interp import run_kernel
from pptc.options import CompileOptions
from tests.differential.cases import CASES, Arguments, Odd
from tests.passes.lowering import MACHINES

FILES = Path(__file__).parents[1] / "files" / "odd"
LEGS = (("ref", 0), (MACHINES[-1], 0), *((name, 2) for name in MACHINES))


def interpret(name: str, arguments: Arguments, grid: int) -> None:
    unit = driver.load((str(FILES / f"{name}.pto"),), (), CompileOptions(), driver.Journal())
    (kernel,) = unit.module.body
    names = [value.name for value in kernel.body.args]
    named = {str(key): value for key, value in zip(names, arguments, strict=False)}
    run_kernel(unit.module, name, named, grid, poison=True)


def check(case: Odd, given: Arguments, arguments: Arguments) -> None:
    for place, want in case.expect(given).items():
        if want.dtype.kind == "i":
            np.testing.assert_array_equal(arguments[place], want)
        else:
            # A few f32 operations on numbers of size 1 to 10, and sums of at most 64 of them.
            np.testing.assert_allclose(arguments[place], want, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize(("target", "level"), LEGS, ids=lambda value: str(value))
@pytest.mark.parametrize("name", list(CASES))
def test_odd_kernel(name: str, target: str, level: int, tmp_path: Path) -> None:
    kernel = None
    if target != "ref":
        library = str(tmp_path / "k.so")
        driver.compile_file(str(FILES / f"{name}.pto"), library, target, level)
        kernel = pptc.load(library)[name]
    for number, case in enumerate(CASES[name]):
        given = case.arguments(np.random.default_rng(number))
        arguments = copy.deepcopy(given)
        if kernel is None:
            interpret(name, arguments, case.grid)
        else:
            kernel(*arguments, grid=case.grid)
        check(case, given, arguments)


def test_every_file_has_a_case() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(CASES)
