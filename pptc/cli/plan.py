"""What a `pptc` command line asks for: which inputs become which outputs of which kind. All faults are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pptc.cli.flags import Parsed
from pptc.cli.render import Policy, warning_groups
from pptc.diag import Sink
from pptc.ir.dialect import SATURATIONS, Saturation
from pptc.options import CompileOptions

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        "pto": ".pto",
        "llvm-ir": ".ll",
        "bc": ".bc",
        "asm": ".s",
        "obj": ".o",
        "so": ".so",
        "fatbin": ".pptf",
        "c-header": ".h",
    }
)
"""Kinds of output and their suffixes."""

_PHASE_KINDS: Mapping[str, str] = MappingProxyType(
    {"llvm": "llvm-ir", "asm": "asm", "obj": "obj", "link": "so"}
)
_LATER_SUFFIXES = (".ptx", ".hsaco")


@dataclass(frozen=True, slots=True)
class Task:
    """One output and the inputs that go into it. `output` is None when nothing is written."""

    inputs: tuple[str, ...]
    output: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole run. `phase` is where a `pto` output is taken."""

    kind: str
    phase: str
    tasks: tuple[Task, ...]
    options: CompileOptions
    includes: tuple[str, ...]


def make_plan(parsed: Parsed) -> Plan:
    """The plan of a command line. Raises CompileError P0301 with everything that does not fit together."""
    sink = Sink()
    kind = _kind(parsed, sink)
    phase = parsed.value("phase") or ("parse" if parsed.on("expand") else "verify")
    options = _options(parsed, sink)
    plan = Plan(kind, phase, _tasks(parsed, kind, sink), options, parsed.values("include"))
    if not parsed.inputs:
        sink.error("P0301", "no input file", hint="pptc k.pto -o k.so; pptc --help says more")
    sink.check()
    return plan


def policy(parsed: Parsed, sink: Sink) -> Policy:
    """What the -W flags do, the later one winning."""
    off: dict[str, None] = {}
    errors: dict[str, None] = {}
    all_errors = False
    for word in parsed.values("warn"):
        name = word.removeprefix("error=").removeprefix("no-")
        if word in ("error", "no-error"):
            all_errors = word == "error"
        elif word != "all" and name not in warning_groups():
            sink.error(
                "P0301", f"no warning group is named '{name}'", hint=f"groups: {', '.join(warning_groups())}"
            )
        elif word.startswith("error="):
            errors[name] = None
        elif word.startswith("no-"):
            off[name] = None
        else:
            off.pop(name, None)
    return Policy(frozenset(off), frozenset(errors), parsed.on("silent"), all_errors)


def prints_only(parsed: Parsed) -> bool:
    """Whether the run shows something about the module and asks for no output."""
    shows = any(map(parsed.on, ("dump", "dump_dir", "timing", "remarks")))
    wants = any(map(parsed.on, ("output", "object", "assembly", "expand", "emit", "phase", "save_temps")))
    return shows and not wants


def _kind(parsed: Parsed, sink: Sink) -> str:
    asked = {
        word: kind
        for word, kind, given in (
            ("-c", "obj", parsed.on("object")),
            ("-S", "asm", parsed.on("assembly")),
            ("-E", "pto", parsed.on("expand")),
            (f"--emit={parsed.value('emit')}", parsed.value("emit"), parsed.on("emit")),
            (f"--compile-to={parsed.value('phase')}", _phase_kind(parsed), parsed.on("phase")),
        )
        if given and kind
    }
    kinds = tuple(dict.fromkeys(asked.values()))
    if len(kinds) > 1:
        sink.error("P0301", f"{' and '.join(asked)} ask for different outputs")
    return kinds[0] if kinds else _kind_of_suffix(parsed.value("output"), sink)


def _phase_kind(parsed: Parsed) -> str:
    return _PHASE_KINDS.get(parsed.value("phase") or "", "pto")


def _kind_of_suffix(output: str | None, sink: Sink) -> str:
    suffix = Path(output).suffix if output else ""
    if suffix in _LATER_SUFFIXES:
        sink.error(
            "P0301", f"pptc {_version()} does not write {suffix} files", hint="-o k.so writes a shared object"
        )
    return next((kind for kind, known in SUFFIXES.items() if known == suffix), "so")


def _version() -> str:
    from pptc import __version__

    return __version__


def _options(parsed: Parsed, sink: Sink) -> CompileOptions:
    targets = tuple(name for word in parsed.values("target") for name in word.split(",") if name)
    return CompileOptions(
        targets=targets or ("host",),
        opt_level=int(parsed.value("level") or 2),
        may_alias=parsed.on("may_alias"),
        jobs=parsed.number("jobs", 1),
        symbol_prefix=parsed.value("prefix") or "",
        defines=_defines(parsed, sink),
        include_paths=parsed.values("include_dir"),
        pass_pipeline=parsed.value("pipeline"),
        verify_each=parsed.on("verify_each"),
        pto_arch=parsed.value("pto_arch"),
        pto_level=parsed.value("pto_level"),
        pto_version=parsed.value("pto_version"),
        tcvt_default_sat=_saturation(parsed.value("saturation")),
    )


def _saturation(word: str | None) -> Saturation | None:
    return next((choice for choice in SATURATIONS if choice == word), None)


def _defines(parsed: Parsed, sink: Sink) -> tuple[tuple[str, str], ...]:
    pairs = []
    for word in parsed.values("define"):
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            sink.error("P0301", f"-D takes NAME=VALUE, not '{word}'")
        pairs.append((name.removeprefix("%"), value))
    return tuple(pairs)


def _tasks(parsed: Parsed, kind: str, sink: Sink) -> tuple[Task, ...]:
    output = parsed.value("output")
    if prints_only(parsed):
        return tuple(Task((name,), None) for name in parsed.inputs)
    if kind == "so":
        tasks = (
            [Task(parsed.inputs, output or _default_output(parsed.inputs, kind, sink))]
            if parsed.inputs
            else []
        )
    elif output is not None and len(parsed.inputs) > 1:
        sink.error(
            "P0301", f"one -o for {len(parsed.inputs)} outputs", hint="without -o each gets its own name"
        )
        tasks = []
    else:
        tasks = [Task((name,), output or _default_output((name,), kind, sink)) for name in parsed.inputs]
    _check_outputs(tasks, sink)
    return tuple(tasks)


def _default_output(inputs: tuple[str, ...], kind: str, sink: Sink) -> str:
    if kind == "pto":
        return "-"
    if len(inputs) > 1:
        sink.error("P0301", "several inputs make one shared object: give it a name with -o")
    if inputs[0] == "-":
        sink.error("P0301", "standard input has no name: give the output one with -o")
    return Path(inputs[0]).stem + SUFFIXES[kind]


def _check_outputs(tasks: list[Task], sink: Sink) -> None:
    seen: dict[str, Task] = {}
    for task in tasks:
        for name in task.inputs:
            if task.output and task.output != "-" and _same_file(name, task.output):
                sink.error("P0301", f"the output '{task.output}' is an input")
        if task.output and task.output != "-" and seen.setdefault(task.output, task) is not task:
            sink.error("P0301", f"two inputs would be written to '{task.output}'")


def _same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
