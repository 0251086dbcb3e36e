"""One run of a kernel: its arguments from texts, the calls, and the report on what became of the arrays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pptc.cli import values
from pptc.cli.console import Console
from pptc.cli.flags import Parsed
from pptc.cli.kernels import Kernel, open_kernel
from pptc.diag import CompileError, Diagnostic, Sink, fail
from pptc.ir.signature import Argument


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers of a command line."""

    grid: int
    threads: int
    repeat: int
    rtol: float
    atol: float


def launch(parsed: Parsed, console: Console) -> int:
    """Run what the command line says; returns the exit status."""
    settings = _settings(parsed)
    if len(parsed.inputs) != 1:
        raise fail("P0301", f"one module is run, not {len(parsed.inputs)}", hint="pptc-run --help")
    kernel = open_kernel(parsed, settings.threads)
    arrays = {a.name: a for a in kernel.signature.arguments if a.kind == "pointer"}
    sink = Sink()
    start = _starts(kernel, _pairs(parsed, "input", sink), sink)
    saved = _arrays_only(_pairs(parsed, "output", sink), arrays, "-o", sink)
    expected = _expected(_arrays_only(_pairs(parsed, "expect", sink), arrays, "--expect", sink), arrays, sink)
    sink.check()
    end, seconds = _calls(kernel, start, settings)
    for name, path in saved.items():
        values.write_array(path, end[name], arrays[name].dtype)
    differences = {name: _compare(name, end[name], goal, settings) for name, goal in expected.items()}
    unsafe = kernel.sync.findings() if kernel.sync else []
    _report(parsed, console, kernel, end, seconds, differences)
    return console.show([*unsafe, *_findings(differences, settings)])


def _settings(parsed: Parsed) -> Settings:
    sink = Sink()
    found = Settings(
        parsed.number("grid", 1),
        parsed.number("threads", 1),
        parsed.number("repeat", 1),
        _tolerance(parsed, "rtol", 1e-5, sink),
        _tolerance(parsed, "atol", 1e-8, sink),
    )
    sink.check()
    return found


def _tolerance(parsed: Parsed, key: str, default: float, sink: Sink) -> float:
    text = parsed.value(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        sink.error("P0301", f"--{key} takes a number from 0, not '{text}'")
    return value


def _pairs(parsed: Parsed, key: str, sink: Sink) -> dict[str, str]:
    out: dict[str, str] = {}
    for word in parsed.values(key):
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            sink.error("P0301", f"'{word}' is not NAME=VALUE")
        elif name in out:
            sink.error("P0301", f"'{name}' is given twice")
        out[name] = value
    return out


def _starts(kernel: Kernel, given: Mapping[str, str], sink: Sink) -> dict[str, Any]:
    """The value of each argument; every fault is reported."""
    known = {argument.name: argument for argument in kernel.signature.arguments}
    for name in given:
        if name not in known:
            sink.error(
                "P0306",
                f"@{kernel.signature.name} has no argument {name}",
                hint=f"it takes {', '.join(known)}",
            )
    start: dict[str, Any] = {}
    for name, argument in known.items():
        if name in given:
            read = values.array_value if argument.kind == "pointer" else values.scalar_value
            _collect(sink, start, name, read, given[name], argument)
        elif not argument.role:
            sink.error("P0306", f"argument {name} has no value", hint=f"-i {name}={_example(argument)}")
    return start


def _collect(
    sink: Sink, start: dict[str, Any], name: str, read: Callable[..., Any], text: str, argument: Argument
) -> None:
    try:
        start[name] = read(name, text, argument.dtype)
    except CompileError as error:
        for found in error.sink:
            sink.report(found)


def _example(argument: Argument) -> str:
    return f"64x64x{argument.dtype.name}=zeros" if argument.kind == "pointer" else "1"


def _arrays_only(
    given: dict[str, str], arrays: Mapping[str, Argument], flag: str, sink: Sink
) -> dict[str, str]:
    for name in given:
        if name not in arrays:
            sink.error("P0306", f"{flag} {name}: no array is named so", hint=f"arrays: {', '.join(arrays)}")
    return {name: path for name, path in given.items() if name in arrays}


def _expected(paths: Mapping[str, str], arrays: Mapping[str, Argument], sink: Sink) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, path in paths.items():
        _collect(sink, out, name, values.read_array, path, arrays[name])
    return out


def _calls(
    kernel: Kernel, start: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], list[float]]:
    """Call as often as asked, each time on a copy of the start; the last copy and the seconds of each call."""
    seconds: list[float] = []
    end: dict[str, Any] = {}
    for _ in range(settings.repeat):
        end = {name: value.copy() if hasattr(value, "copy") else value for name, value in start.items()}
        begin = time.perf_counter()
        kernel.call(end, settings.grid)
        seconds.append(time.perf_counter() - begin)
    return end, seconds


def _compare(name: str, got: Any, wanted: Any, settings: Settings) -> values.Difference:
    if got.size != wanted.size:
        raise fail("P0306", f"--expect {name}: {wanted.size} elements, but the array has {got.size}")
    return values.compare(got, wanted, settings.rtol, settings.atol)


def _findings(differences: Mapping[str, values.Difference], settings: Settings) -> Iterable[Diagnostic]:
    for name, found in differences.items():
        if found.bad:
            place = f"{name}[{', '.join(map(str, found.first))}]"
            message = f"{place} is {found.got:.9g}, expected {found.wanted:.9g}; {found.bad} elements differ"
            allowed = f"{settings.atol:g} + {settings.rtol:g} * |expected|"
            hint = f"largest difference {found.max_abs:.3g}; allowed is {allowed}"
            yield Diagnostic("P0601", message, hint=hint)


def _report(
    parsed: Parsed,
    console: Console,
    kernel: Kernel,
    end: Mapping[str, Any],
    seconds: list[float],
    differences: Mapping[str, values.Difference],
) -> None:
    outputs = {
        a.name: _output(end[a.name], a, differences.get(a.name))
        for a in kernel.signature.arguments
        if a.kind == "pointer" and a.writes
    }
    report = {
        "kernel": kernel.signature.name,
        "section": kernel.section,
        "target": kernel.target,
        "device": kernel.device,
        "seconds": seconds,
        "outputs": outputs,
        "degradations": list(kernel.degradations),
        **({"sync": kernel.sync.summary} if kernel.sync else {}),
    }
    if parsed.on("json"):
        console.out.write(json.dumps(report) + "\n")
    else:
        console.out.write(_text(report))
    path = parsed.value("report")
    if path:
        try:
            Path(path).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise fail("P0303", f"cannot write '{path}': {error.strerror}") from None


def _output(array: Any, argument: Argument, found: values.Difference | None) -> dict[str, Any]:
    return {
        "shape": list(array.shape),
        "dtype": argument.dtype.name,
        "max_abs": found.max_abs if found else None,
        "max_rel": found.max_rel if found else None,
    }


def _text(report: Mapping[str, Any]) -> str:
    seconds = report["seconds"]
    median = sorted(seconds)[len(seconds) // 2]
    lines = [
        f"{report['kernel']} on {report['target']}: {median:.6f} s"
        + (f" (median of {len(seconds)})" * (len(seconds) > 1))
    ]
    for name, output in report["outputs"].items():
        shape = "x".join(map(str, [*output["shape"], output["dtype"]]))
        off = "" if output["max_abs"] is None else f", largest difference {output['max_abs']:.3g}"
        lines.append(f"  {name}: {shape}{off}")
    if "sync" in report:
        lines.append(f"  flags: {report['sync']}")
    return "\n".join(lines) + "\n"
