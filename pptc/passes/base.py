"""Passes and pipelines: a pass is a frozen dataclass whose fields are its options; a pipeline is a tuple of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pptc.diag import Sink, Span, fail
from pptc.ir.core import Op
from pptc.ir.machine import Machine


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a user may want to know about what a pass did or did not do."""

    pass_name: str
    message: str
    span: Span | None = None


@dataclass
class PassContext:
    """What passes may know besides the module."""

    machine: Machine
    sink: Sink
    remarks: list[Remark] = field(default_factory=list)


@dataclass(frozen=True)
class Pass:
    """Base of all passes. `run` edits the module in place and says whether it changed anything."""

    name: ClassVar[str] = ""

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The pass in pipeline notation, options that differ from their default in braces."""
        given = [
            f"{f.name.replace('_', '-')}={_text(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != f.default
        ]
        return self.name + (f"{{{','.join(given)}}}" if given else "")


Pipeline = tuple[Pass, ...]
Observer = Callable[[Pass, Op, bool], None]
"""Called after every pass with the module and whether the pass changed it."""


def run_pipeline(
    pipeline: Pipeline, module: Op, context: PassContext, observers: Iterable[Observer] = ()
) -> None:
    """Run the passes in order; stops with CompileError at the first pass that reports an error."""
    watchers = tuple(observers)
    for step in pipeline:
        changed = step.run(module, context)
        context.sink.check()
        for observe in watchers:
            observe(step, module, changed)


def parse_pipeline(text: str, passes: Mapping[str, type[Pass]]) -> Pipeline:
    """`a,b{x=1,y=off}` -> passes. Raises CompileError P0305 on an unknown pass or option."""
    out = []
    for item in _split(text):
        match = re.fullmatch(r"([a-z0-9-]+)(?:\{(.*)\})?", item.strip())
        if not match or match[1] not in passes:
            raise fail("P0305", f"no pass is named '{item.strip()}'", hint="pptc --list-passes lists them")
        out.append(_instance(passes[match[1]], match[2] or ""))
    return tuple(out)


def print_pipeline(pipeline: Pipeline) -> str:
    """The text that `parse_pipeline` reads."""
    return ",".join(map(str, pipeline))


def _split(text: str) -> list[str]:
    return [item for item in re.split(r",(?![^{]*\})", text) if item.strip()]


def _instance(kind: type[Pass], options: str) -> Pass:
    known = {f.name.replace("_", "-"): f for f in dataclasses.fields(kind)}
    values: dict[str, object] = {}
    for option in filter(None, (part.strip() for part in options.split(","))):
        key, _, value = option.partition("=")
        if key not in known:
            listed = ", ".join(known) or "none"
            raise fail("P0305", f"pass {kind.name} has no option '{key}'", hint=f"its options: {listed}")
        values[known[key].name] = _value(kind, key, value, known[key].default)
    return kind(**values)


def _value(kind: type[Pass], key: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        if text not in ("on", "off", ""):
            raise fail("P0305", f"{kind.name}: {key} is on or off, not '{text}'")
        return text != "off"
    if isinstance(default, int):
        if not re.fullmatch(r"-?\d+", text):
            raise fail("P0305", f"{kind.name}: {key} is an integer, not '{text}'")
        return int(text)
    return text


def _text(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
