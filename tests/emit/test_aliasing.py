"""Arguments that overlap: with --may-alias every load and store of the program happens in its order."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from pptc.diag import Sink
from pptc.emit import Section, emit_module
from pptc.options import CompileOptions, load_machine
from pptc.passes import PASSES
from pptc.passes.base import PassContext, parse_pipeline, run_pipeline
from tests.emit.harness import MACHINES, loaded, parsed, pointer

VADD = Path(__file__).parents[2] / "examples" / "vadd" / "vadd.pto"


def vadd(target: str, options: CompileOptions) -> ctypes.CDLL:
    """The example under the pipeline of the options."""
    machine, module = load_machine(target), parsed(VADD.read_text())
    pipeline = parse_pipeline(machine.pipelines[options.pipeline], PASSES)
    run_pipeline(pipeline, module, PassContext(machine, Sink()))
    section = emit_module(module, machine, options.emit())
    assert isinstance(section, Section)
    return loaded(section)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("opt_level", (0, 2))
@pytest.mark.parametrize("shift", (1, 64, 100, -64))
def test_an_output_that_overlaps_an_input(target, opt_level, shift):
    library = vadd(target, CompileOptions(opt_level=opt_level, may_alias=True))
    rows, start = 150, 128
    memory = np.random.default_rng(0).standard_normal(rows * 64 + 2 * start).astype("f4")
    y = np.random.default_rng(1).standard_normal(rows * 64).astype("f4")
    want = memory.copy()
    for row in range(0, rows, 64):  # the kernel's tiles, each loaded whole before it is stored
        span = slice(row * 64, min(row + 64, rows) * 64)
        total = want[start:][span] + y[span]
        want[start + shift :][span] = total
    x = memory[start:]
    z = memory[start + shift :]
    library.vadd_scratch_bytes.restype = ctypes.c_size_t
    room = np.zeros(library.vadd_scratch_bytes() + 64, "u1")
    scratch = room[-room.ctypes.data % 64 :]
    library.vadd_ws(pointer(x), pointer(y), pointer(z), ctypes.c_int32(rows), pointer(scratch))
    assert (memory == want).all()
