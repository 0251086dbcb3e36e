"""Kernels whose cores wait for each other: in the interpreter, and through the library on every machine and level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.diag import CompileError, Sink
from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import PassContext, parse_pipeline, run_pipeline
from pptc.runtime import Module, PptError, Status
from tests.differential import kernels_comm, kernels_pairs
from tests.differential.kernels_pairs import STUCK
from tests.differential.opened import opened
from tests.differential.test_kernels import ROADS
from tests.passes.lowering import parsed

CASES = (*kernels_pairs.CASES, *kernels_comm.CASES)


def _module() -> Op:
    texts = "".join(case.text for case in (*CASES, *STUCK))
    return parsed(f'module attributes {{pto.target_arch = "a2a3"}} {{\n{texts}}}\n')


def _compiled(target: str, level: str, threads: int = 0) -> Module:
    return opened(_module(), target, level, threads)


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def test_the_interpreter() -> None:
    module = _module()
    for case in CASES:
        for before, grid in case.inputs():
            after = _copies(before)
            run_kernel(module, case.name, after, grid, poison=True)
            case.check(before, after)


def test_the_interpreter_after_the_expansion() -> None:
    """The slots that pipes become mean the same."""
    module = _module()
    run_pipeline(
        parse_pipeline("expand-pipes,expand-transfers,canonicalize", PASSES),
        module,
        PassContext(load_machine("avx2"), Sink()),
    )
    for case in CASES:
        for before, grid in case.inputs():
            after = _copies(before)
            run_kernel(module, case.name, after, grid, poison=True)
            case.check(before, after)


@pytest.mark.parametrize(("target", "level"), ROADS)
def test_a_road(target: str, level: str) -> None:
    module = _compiled(target, level)
    for case in CASES:
        for before, grid in case.inputs():
            for _ in range(5):  # the threads meet in other ways each time
                after = _copies(before)
                module[case.name](**after, grid=grid)
                case.check(before, after)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads(threads: int) -> None:
    """A context of one thread takes more for a pair; one of many runs several blocks at once."""
    module = _compiled("avx2", "O2", threads)
    for case in (case for case in CASES if case.runs.grid != (1,)):
        for before, grid in case.inputs():
            for _ in range(10):
                after = _copies(before)
                module[case.name](**after, grid=grid)
                case.check(before, after)


@pytest.mark.parametrize("name", [stuck.name for stuck in STUCK])
def test_waiting_for_ever_is_a_fault(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        run_kernel(_module(), name, {"y": np.zeros((8, 32), np.float32)})
    assert [d.code for d in caught.value.sink] == ["P0602"]
    module = _compiled("avx2", "O2")
    for _ in range(3):  # and the library goes on afterwards
        with pytest.raises(PptError, match="wait for each other") as failed:
            module[name](np.zeros((8, 32), np.float32))
        assert failed.value.status == Status.E_FAULT
    case = CASES[0]
    before, grid = next(iter(case.inputs()))
    after = _copies(before)
    module[case.name](**after, grid=grid)
    case.check(before, after)


def test_a_signal_that_never_comes() -> None:
    """The interpreter sees that nobody is left to send it; the processor would wait."""
    case = next(case for case in CASES if case.name == "one_after_another")
    before, _ = next(iter(case.inputs()))
    place = {"__pypto_spmd_block_idx": 0, "__pypto_spmd_block_num": 8}
    with pytest.raises(CompileError) as caught:
        run_kernel(_module(), case.name, before | place)
    (found,) = caught.value.sink
    assert found.code == "P0602" and "pto.comm.twait" in found.message


def test_parts_of_a_grid_are_refused() -> None:
    module = _compiled("avx2", "O2")
    case = next(case for case in CASES if case.name == "all_blocks_meet")
    before, grid = next(iter(case.inputs()))
    with pytest.raises(PptError, match="all of them at once"):
        module[case.name].launch_blocks(0, grid - 1, grid, **before)
