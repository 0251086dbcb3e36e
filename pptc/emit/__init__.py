"""From the loop level to a section: `emit_module` for one target, `emit_modules` for several in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pptc.diag import CompileError, fail
from pptc.emit.section import KernelCode, Section, kernel_codes
from pptc.emit.target import TARGETS, check_machine, emitter
from pptc.emit.worker import Crash, Outcome, run_jobs, value_of
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.options import EmitOptions

__all__ = ["TARGETS", "KernelCode", "Section", "emit_module", "emit_modules"]

Request = tuple[Op, Machine, EmitOptions]
"""A loop-level module, the machine that it was lowered for, and what to make of it."""


def emit_module(module: Op, machine: Machine, options: EmitOptions) -> Section | str | bytes:
    """A Section for kind `obj`, else the text or bitcode. Raises CompileError; P0504 when LLVM ends the worker."""
    (made,) = emit_modules([(module, machine, options)])
    return made


def emit_modules(requests: Sequence[Request], workers: int = 1) -> list[Section | str | bytes]:
    """One result per request in their order, made by at most `workers` processes at a time."""
    codes = []
    for module, machine, options in requests:
        check_machine(machine)
        codes.append(kernel_codes(module, options.symbol_prefix))
    outcomes = run_jobs([partial(_generate, *request) for request in requests], workers)
    made: list[Section | str | bytes] = []
    for (module, machine, options), kernels, outcome in zip(requests, codes, outcomes, strict=True):
        payload = _payload(outcome, module, machine, options)
        if options.kind == "obj" and isinstance(payload, bytes):
            made.append(Section(machine, payload, kernels))
        else:
            made.append(payload)
    return made


def _generate(module: Op, machine: Machine, options: EmitOptions) -> bytes | str:
    return emitter(machine).generate(module, machine, options)


def _payload(
    outcome: Outcome[bytes | str], module: Op, machine: Machine, options: EmitOptions
) -> bytes | str:
    if outcome.crash:
        raise _crashed(outcome.crash, module, machine, options)
    return value_of(outcome)


def _crashed(crash: Crash, module: Op, machine: Machine, options: EmitOptions) -> CompileError:
    """P0504 with the last words of the child and a file that brings the crash back."""
    words = [line for line in crash.stderr.splitlines() if line.strip()]
    said = next((line for line in words if "ERROR" in line), words[-1] if words else "no message")
    path = _write_reproducer(module, machine, options)
    message = f"the code generator ended with {crash.status} on {machine.name}: {said.strip()}"
    return fail("P0504", message, hint=f"the loop-level module is in {path}")


def _write_reproducer(module: Op, machine: Machine, options: EmitOptions) -> str:
    import tempfile

    from pptc.ir.printer import print_module

    if options.reproducer:
        path = Path(options.reproducer)
    else:
        with tempfile.NamedTemporaryFile(prefix="pptc-", suffix=".pptrepro", delete=False) as file:
            path = Path(file.name)
    text = f"// target {machine.name}, -O{options.opt_level}\n{print_module(module)}"
    path.write_text(text, encoding="utf-8")
    return str(path)
