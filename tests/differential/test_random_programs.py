"""Two thousand random programs: the interpreter, the plain lowering and the optimised ones agree.

What may differ is what the interpreter itself changes when every inexact op is off by its tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pptc.driver import copy_module
from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.differential.case import SPECIAL
from tests.differential.random_memory import is_float
from tests.differential.random_programs import COLUMNS, DRAWN, ROWS, Generator, Program, is_exact
from tests.passes.lowering import MACHINES, NUMPY, Library, parsed

BATCH = 50
COUNT = 2000
ROADS = tuple(dict.fromkeys([(MACHINES[-1], "O0"), *((name, "O2") for name in MACHINES[1:])]))
_PERTURBED = 3
_INEXACT = frozenset(row.name for row in DRAWN if not is_exact(row, "f32"))

Arrays = dict[str, Any]


def _module(programs: Sequence[Program]) -> Op:
    texts = "".join(program.text for program in programs)
    return parsed(f'module attributes {{pto.target_arch = "a2a3"}} {{\n{texts}}}\n')


def _inputs(program: Program, seed: int) -> Arrays:
    random = np.random.default_rng(seed)
    arrays = {}
    for name, elem in program.elems.items():
        dtype = np.dtype(NUMPY[elem])
        if is_float(elem):
            values = 3 * random.standard_normal((ROWS, COLUMNS))
            if seed % 4 == 0:
                where = random.random(values.shape) < 0.05
                values[where] = random.choice(SPECIAL, where.sum())
            with np.errstate(over="ignore"):
                arrays[name] = values.astype(dtype)
        else:
            info = np.iinfo(dtype)
            arrays[name] = random.integers(info.min, info.max, (ROWS, COLUMNS), dtype, endpoint=True)
    return arrays


def _interpreted(module: Op, program: Program, arrays: Arrays) -> Arrays:
    after = {name: array.copy() for name, array in arrays.items()}
    run_kernel(module, program.name, after | {"r": program.rows, "c": program.columns}, poison=True)
    return after


@contextmanager
def _perturbed(module: Op, seed: int) -> Iterator[None]:
    """Every inexact op of a module is wrong by as much as its row allows."""
    random = np.random.default_rng(seed)
    changed = [(op, op.definition) for op in module.walk() if op.name in _INEXACT]
    for op, row in changed:
        op.definition = replace(row, reference=_noisy(row.reference, random))
    yield
    for op, row in changed:
        op.definition = row


def _noisy(reference: Any, random: np.random.Generator) -> Any:
    def shaken(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind in "iub":
            return x
        return (x * (1 + 1e-6 * random.choice((-1.0, 1.0), x.shape))).astype(x.dtype)

    return lambda *inputs, **words: shaken(reference(*map(shaken, inputs), **words))


def _allowed(module: Op, runs: Sequence[tuple[Program, Arrays]], want: Sequence[Arrays]) -> list[Arrays]:
    """How far each element of each array may be away: where no op is inexact, not at all."""
    allowed = [{name: np.zeros(array.shape) for name, array in arrays.items()} for arrays in want]
    for seed in range(_PERTURBED):
        with _perturbed(module, seed):
            for (program, arrays), exact, bounds in zip(runs, want, allowed, strict=True):
                for name, array in _interpreted(module, program, arrays).items():
                    bounds[name] = np.fmax(bounds[name], _apart(array, exact[name]))
    return allowed


def _apart(shaken: Any, want: Any) -> Any:
    """Eight times the distance, and two units of floats: a last bit may fall either way without a trial showing it."""
    a, b = shaken.astype(np.float64), want.astype(np.float64)
    apart = np.where(_same(shaken, want), 0, 8 * np.abs(a - b))
    if want.dtype.kind not in "iu":
        apart = np.where(apart > 0, apart + 2 * float(ml_dtypes.finfo(want.dtype).eps) * np.abs(b), 0)
    return np.where(np.isnan(apart), np.inf, apart)


def _same(a: Any, b: Any) -> Any:
    return (a == b) | (np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)))


def _differs(got: Any, want: Any, allowed: Any) -> Any:
    return ~(_same(got, want) | (np.abs(got.astype(np.float64) - want.astype(np.float64)) <= allowed))


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_roads_agree(first: int) -> None:
    programs = [Generator(seed).program() for seed in range(first, first + BATCH)]
    inputs = [_inputs(program, first + number) for number, program in enumerate(programs)]
    module = _module(programs)
    want = [_interpreted(module, program, arrays) for program, arrays in zip(programs, inputs, strict=True)]
    with np.errstate(all="ignore"):
        allowed = _allowed(module, list(zip(programs, inputs, strict=True)), want)
    wrong = []
    for target, level in ROADS:
        pipeline = parse_pipeline(load_machine(target).pipelines[level], PASSES)
        library = Library(copy_module(module), target, pipeline, verified=first % (8 * BATCH) == 0)
        for program, arrays, exact, bounds in zip(programs, inputs, want, allowed, strict=True):
            got = {name: array.copy() for name, array in arrays.items()}
            library.call(program.name, *got.values(), program.rows, program.columns)
            for name, array in got.items():
                with np.errstate(all="ignore"):
                    away = _differs(array, exact[name], bounds[name])
                if away.any():
                    wrong.append(
                        f"{program.name} {target} {level} {name}: {array[away][:3]} not {exact[name][away][:3]}"
                    )
    assert not wrong, "\n".join(wrong)
