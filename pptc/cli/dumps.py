"""`--dump-ir`: observers of the passes that print the module, to a stream or to numbered files. A dump is an input."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pptc.diag import CompileError, fail
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.machine import Machine
from pptc.passes.base import Observer, Pass, Pipeline

WHEN = ("after-change", "after-all", "final")

Write = Callable[[str, str], None]
"""Takes a short file name and the text."""


@dataclass(frozen=True)
class Dumps:
    """What to dump and where. `when` is a word of WHEN, or `before:PASS` or `after:PASS`."""

    when: str
    write: Write
    function: re.Pattern[str] | None = None
    _count: list[int] = field(default_factory=lambda: [0])

    def observer(self, machine: Machine, pipeline: Pipeline, module: Op) -> Observer:
        """The observer of one run of a pipeline."""
        position = itertools.count(1)
        if self.when == f"before:{pipeline[0].name if pipeline else ''}":
            self.dump(module, self.when, "input", machine)

        def look(step: Pass, module: Op, changed: bool) -> None:
            following = next(position)
            if self._shown(step, pipeline[following:], changed):
                self.dump(module, f"after {step}", step.name, machine)

        return look

    def _shown(self, step: Pass, rest: Pipeline, changed: bool) -> bool:
        if self.when in ("after-all", "after-change"):
            return changed or self.when == "after-all"
        if self.when == "final":
            return not rest
        return self.when in (f"after:{step.name}", f"before:{rest[0].name if rest else ''}")

    def dump(self, module: Op, moment: str, name: str, machine: Machine) -> None:
        """Print the module, or those of its functions whose name matches."""
        from pptc.ir.printer import print_module

        if self.function is not None:
            module = _only(module, self.function)
        self._count[0] += 1
        text = f"// ----- {moment} ({machine.name})\n{print_module(module)}"
        self.write(f"{self._count[0]:02d}-{name}.{machine.name}.pto", text)


def make(when: str, function: str | None, write: Write) -> Dumps:
    """The dumps of a command line. Raises CompileError P0301."""
    if when not in WHEN and not re.fullmatch(r"(?:before|after):[a-z0-9-]+", when):
        raise fail(
            "P0301", f"--dump-ir does not take '{when}'", hint=f"{', '.join(WHEN)}, before:PASS or after:PASS"
        )
    return Dumps(when, write, _pattern(function))


def into_folder(folder: str) -> Write:
    """Write dumps to files of a folder, which is made."""

    def write(name: str, text: str) -> None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise fail("P0303", f"cannot write a dump to '{folder}': {error.strerror}") from None

    return write


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text is not None else None
    except re.error as error:
        raise _bad_pattern(text or "", error) from None


def _bad_pattern(text: str, error: re.error) -> CompileError:
    return fail("P0301", f"--dump-func: '{text}' is not a regular expression: {error}")


def _only(module: Op, pattern: re.Pattern[str]) -> Op:
    """A copy of the module that has only the matching functions."""
    from pptc.driver import copy_module

    copy = copy_module(module)
    for function in list(functions(copy)):
        if not pattern.search(symbol_name(function)):
            function.erase()
    return copy
