"""Jobs in forked children: LLVM may end its process, and pptc may not. Children run in parallel; results keep order."""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import selectors
import sys
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
    """A running child; `streams` are the reading ends of its pipes: the pickled outcome, and its stderr."""

    index: int
    process: int
    streams: tuple[int, int]
    received: dict[int, bytearray] = field(default_factory=dict)
    open: int = 2


def run_jobs(jobs: Sequence[Callable[[], T]], workers: int = 1) -> list[Outcome[T]]:
    """Run every job in a child of its own, at most `workers` at a time. What a job returns must pickle."""
    outcomes: list[Outcome[T]] = [Outcome()] * len(jobs)
    waiting = list(enumerate(jobs))
    running = 0
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and running < max(1, workers):
                child = _start(*waiting.pop(0))
                running += 1
                for stream in child.streams:
                    selector.register(stream, selectors.EVENT_READ, child)
            for key, _ in selector.select():
                child = key.data
                if not _receive(child, key.fd):
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    child.open -= 1
                    running -= child.open == 0
                if not child.open:
                    outcomes[child.index] = _finish(child)
    return outcomes


def _receive(child: _Child, stream: int) -> bool:
    """Read what has come; False at the end."""
    chunk = os.read(stream, 1 << 20)
    child.received.setdefault(stream, bytearray()).extend(chunk)
    return bool(chunk)


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
    (result, result_end), (words, words_end) = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        faulthandler.disable()  # the parent tells of a crash
        gc.disable()  # what the parent has is not the child's to finish
        os.dup2(words_end, 2)
        _run_and_exit(job, result_end)
    os.close(result_end)
    os.close(words_end)
    return _Child(index, process, (result, words))


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
    _, status = os.waitpid(child.process, 0)
    result, words = (bytes(child.received[stream]) for stream in child.streams)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and result:
        outcome: Outcome[Any] = pickle.loads(result)
        return outcome
    ended = f"signal {-code}" if code < 0 else f"exit status {code}"
    return Outcome(crash=Crash(ended, words.decode("utf-8", "replace")))
