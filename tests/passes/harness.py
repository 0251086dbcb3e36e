"""Running passes as the driver does, with the checks that every pass owes: verified, printable, the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pptc.diag import Sink, Source
from pptc.ir.compare import difference
from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.ir.machine import Machine, MatrixTile
from pptc.ir.printer import print_module
from pptc.ir.verify import verify
from pptc.parser import parse
from pptc.passes import PASSES
from pptc.passes.base import PassContext, Remark, parse_pipeline
from tests.passes.homes_model import run_homes

MACHINE = Machine(
    "test", "x86", "for tests", vector_bits=512, matrix={"f32": MatrixTile(8, 2), "bf16": MatrixTile(6, 4, 2)}
)
TILE_LEVEL = (
    "canonicalize,promote-tiles,forward-moves,collapse-k,hoist-loads,canonicalize,strip-rows,canonicalize,"
    "residency,plan-memory"
)


def module_of(text: str) -> Op:
    """The verified module of a text."""
    sink = Sink()
    module = parse(Source("test.pto", text), sink)
    if module is not None:
        verify(module, sink)
    found = [(d.code, d.message, d.span and text.splitlines()[d.span.position[0] - 1]) for d in sink]
    assert module is not None and not found, found
    return module


def transformed(text: str, pipeline: str, remarks: list[Remark] | None = None) -> Op:
    """The module after each pass of a pipeline, verified and printed and read back after every one."""
    module = module_of(text)
    context = PassContext(MACHINE, Sink())
    for step in parse_pipeline(pipeline, PASSES):
        step.run(module, context)
        context.sink.check()
        sink = Sink()
        verify(module, sink)
        printed = print_module(module)
        assert not list(sink), (step.name, [d.message for d in sink], printed)
        assert difference(module_of(printed), module) is None, step.name
    if remarks is not None:
        remarks += context.remarks
    return module


def printed(text: str, pipeline: str) -> str:
    """The text after a pipeline."""
    return print_module(transformed(text, pipeline))


def run(module: Op, entry: str, arguments: Mapping[str, Any], grid: int = 1) -> dict[str, Any]:
    """The arrays after a run on copies, with unspecified bytes poisoned."""
    copies = {name: value.copy() if hasattr(value, "copy") else value for name, value in arguments.items()}
    run_kernel(module, entry, copies, grid, poison=True)
    return {name: value for name, value in copies.items() if isinstance(value, np.ndarray)}


def check_same(
    text: str,
    pipeline: str,
    entry: str,
    arguments: Mapping[str, Any],
    *,
    relative: float = 0.0,
    grid: int = 1,
) -> Op:
    """The kernel gives the same numbers before and after every pass of the pipeline; returns the last module."""
    want = run(module_of(text), entry, arguments, grid)
    module = module_of(text)
    context = PassContext(MACHINE, Sink())
    for step in parse_pipeline(pipeline, PASSES):
        step.run(module, context)
        compare(run(module, entry, arguments, grid), want, step.name, relative)
    compare(run_homes(module, entry, arguments, grid), want, "the homes", relative)
    return module


def compare(got: Mapping[str, Any], want: Mapping[str, Any], after: str, relative: float) -> None:
    """Arrays are equal, or close by the largest value."""
    for name, array in want.items():
        if relative:
            scale = float(np.max(np.abs(array.astype(np.float64)), initial=0.0))
            np.testing.assert_allclose(
                got[name].astype(np.float64), array.astype(np.float64), rtol=relative, atol=relative * scale,
                err_msg=f"{name} after {after}",
            )  # fmt: skip
        else:
            np.testing.assert_array_equal(got[name], array, err_msg=f"{name} after {after}")
