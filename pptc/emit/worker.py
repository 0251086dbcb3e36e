"""Jobs in forked children: LLVM may end its process, and pptc may not. Children run in parallel; results keep order."""

from __future__ import annotations

import faulthandler
import os
import pickle
import selectors
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pptc.diag import CompileError, Diagnostic, Sink

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Crash:
    """How a child ended without a result, and what it wrote to stderr."""

    status: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The value of a job, or its diagnostics, or its crash."""

    value: T | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    crash: Crash | None = None


@dataclass(slots=True)
class _Child:
    index: int
    process: int
    results: int  # the reading end of its pipe
    stderr: Any
    received: bytearray = field(default_factory=bytearray)


def run_jobs(jobs: Sequence[Callable[[], T]], workers: int = 1) -> list[Outcome[T]]:
    """Run every job in a child of its own, at most `workers` at a time. What a job returns must pickle."""
    outcomes: list[Outcome[T]] = [Outcome()] * len(jobs)
    waiting = list(enumerate(jobs))
    with selectors.DefaultSelector() as selector:
        while waiting or selector.get_map():
            while waiting and len(selector.get_map()) < max(1, workers):
                index, job = waiting.pop(0)
                child = _start(index, job)
                selector.register(child.results, selectors.EVENT_READ, child)
            for key, _ in selector.select():
                child = key.data
                chunk = os.read(child.results, 1 << 20)
                child.received += chunk
                if not chunk:
                    selector.unregister(child.results)
                    outcomes[child.index] = _finish(child)
    return outcomes


def value_of(outcome: Outcome[T]) -> T:
    """The value of a job without crash; raises its CompileError."""
    if outcome.diagnostics:
        sink = Sink()
        for diagnostic in outcome.diagnostics:
            sink.report(diagnostic)
        raise CompileError(sink)
    assert outcome.crash is None
    return outcome.value  # type: ignore[return-value]


def _start(index: int, job: Callable[[], object]) -> _Child:
    reading, writing = os.pipe()
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _finish)
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        faulthandler.disable()  # the parent tells of a crash
        os.close(reading)
        os.dup2(stderr.fileno(), 2)
        _run_and_exit(job, writing)
    os.close(writing)
    return _Child(index, process, reading, stderr)


def _run_and_exit(job: Callable[[], object], writing: int) -> None:
    """The life of a child; never returns."""
    status = 1
    try:
        try:
            outcome: Outcome[object] = Outcome(job())
        except CompileError as error:
            outcome = Outcome(diagnostics=tuple(error.sink))
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(outcome, pipe)
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _finish(child: _Child) -> Outcome[Any]:
    os.close(child.results)
    _, status = os.waitpid(child.process, 0)
    with child.stderr:
        child.stderr.seek(0)
        stderr = child.stderr.read().decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and child.received:
        outcome: Outcome[Any] = pickle.loads(bytes(child.received))
        return outcome
    ended = f"signal {-code}" if code < 0 else f"exit status {code}"
    return Outcome(crash=Crash(ended, stderr))
