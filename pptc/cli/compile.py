"""A compile as the command line asks for it: plan, stages, findings, files, depfiles and dumps."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from pptc import driver
from pptc.cli import depfile, dumps, timing
from pptc.cli.console import Console
from pptc.cli.flags import Parsed
from pptc.cli.output import Product, write
from pptc.cli.plan import SUFFIXES, Plan, Task, make_plan
from pptc.diag import CompileError, Sink, fail
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.options import EmitKind

LINKED = ("obj", "so", "fatbin")


def compile_line(parsed: Parsed, console: Console) -> int:
    """Run the plan of a command line; returns the exit status."""
    plan = make_plan(parsed)
    for key, shown in (
        ("deps", _print_dependencies),
        ("deps_user", _print_dependencies),
        ("print_pipeline", _print_pipelines),
        ("dry_run", _print_commands),
    ):
        if parsed.on(key):
            shown(plan, parsed, console)
            return 0
    return _Run(plan, parsed, console).run()


class _Run:
    """One compile: keeps what the steps share."""

    def __init__(self, plan: Plan, parsed: Parsed, console: Console) -> None:
        self.plan, self.parsed, self.console = plan, parsed, console
        self.machines = driver.machines(plan.options)
        self.journal = driver.Journal(sys.stdin.buffer.read, tuple(_watches(parsed, console)))
        if parsed.on("verbose"):
            self.journal.announce = lambda step: _tell(console, step)

    def run(self) -> int:
        """Compile, show findings, write files."""
        units = self._units()
        products = [
            replace(product, files=unit.files)
            for task, unit in units
            for product in self._products(task, unit)
        ]
        status = self.console.show(self.journal.sink)
        if status == 0:
            for product in products:
                write(product, self.console)
        timing.show_remarks(self.parsed, self.journal, self.console)
        timing.show_seconds(self.parsed, self.journal, self.console)
        return status

    def _units(self) -> list[tuple[Task, driver.Unit]]:
        """All inputs, read and verified; the faults of all are shown together."""
        sink, units = Sink(), []
        for task in self.plan.tasks:
            try:
                verified = self.plan.phase != "parse"
                options, includes = self.plan.options, self.plan.includes
                units.append(
                    (task, driver.load(task.inputs, includes, options, self.journal, verified=verified))
                )
            except CompileError as error:
                for found in error.sink:
                    sink.report(found)
        sink.check()
        return units

    def _products(self, task: Task, unit: driver.Unit) -> Iterator[Product]:
        """The outputs of one task, its depfile among them."""
        if self.plan.kind == "pto" and self.plan.phase in ("parse", "verify") and task.output is not None:
            yield Product(task.output, _text(unit.module))
        else:
            yield from self._code(task, self._lowered(unit))
        if task.output is not None and (self.parsed.on("deps_too") or self.parsed.on("deps_user_too")):
            yield self._depfile(task, unit)

    def _lowered(self, unit: driver.Unit) -> list[driver.Lowered]:
        phase = self.plan.phase if self.plan.kind == "pto" else "lowered"
        return [driver.lower(unit, m, self.plan.options, self.journal, phase) for m in self.machines]

    def _code(self, task: Task, items: list[driver.Lowered]) -> Iterator[Product]:
        kind, options = self.plan.kind, self.plan.options
        if self.parsed.on("save_temps"):
            yield from self._temporaries(task, items)
        if task.output is None:
            return
        if kind in LINKED:
            yield Product(task.output, driver.link(kind, items, options, self.journal))
        elif kind == "c-header":
            yield Product(task.output, driver.header(items[0], options, task.output))
        elif kind == "pto":
            for item in items:
                yield Product(self._named(task.output, item.machine), _text(item.module))
        else:
            yield from self._emitted(task.output, items, cast("EmitKind", kind))

    def _emitted(self, output: str, items: list[driver.Lowered], kind: EmitKind) -> Iterator[Product]:
        made = driver.emit_all(items, kind, self.plan.options, self.journal)
        for item, data in zip(items, made, strict=True):
            payload = data if isinstance(data, bytes) else data.payload
            yield Product(self._named(output, item.machine), payload)

    def _named(self, output: str, machine: Machine) -> str:
        """The output's name; with several machines each has its own in front of the suffix."""
        if len(self.machines) == 1 or output == "-":
            return output
        if self.parsed.on("output"):
            raise fail(
                "P0403", f"one -o for {len(self.machines)} targets", hint="leave -o out, or name one target"
            )
        path = Path(output)
        return str(path.with_name(f"{path.stem}.{machine.name}{path.suffix}"))

    def _temporaries(self, task: Task, items: list[driver.Lowered]) -> Iterator[Product]:
        folder = self.parsed.value("save_temps") or str(Path(task.output or ".").parent)
        stem = Path(task.output).stem if task.output not in (None, "-") else Path(task.inputs[0]).stem
        for item in items:
            base = f"{folder}/{stem}.{item.machine.name}" if folder != "." else f"{stem}.{item.machine.name}"
            yield Product(f"{base}.pto", _text(item.module))
            for kind in ("llvm-ir", "asm", "obj"):
                for made in self._emitted("-", [item], kind):
                    yield replace(made, path=base + SUFFIXES[kind])

    def _depfile(self, task: Task, unit: driver.Unit) -> Product:
        assert task.output is not None
        path = self.parsed.value("deps_file") or depfile.default_path(task.output, task.inputs[0])
        return Product(path, _rule(self.parsed, task, unit.files).encode())


def _text(module: Op) -> bytes:
    from pptc.ir.printer import print_module

    return print_module(module).encode()


def _tell(console: Console, step: str) -> None:
    console.err.write(f"pptc: {step}\n")


def _watches(parsed: Parsed, console: Console) -> Iterator[driver.Watch]:
    if parsed.on("dump") or parsed.on("dump_dir"):
        folder = parsed.value("dump_dir")
        write_dump = dumps.into_folder(folder) if folder else _dump_to(console)
        when = parsed.value("dump") or dumps.WHEN[0]
        yield dumps.make(when, parsed.value("dump_function"), write_dump).observer


def _dump_to(console: Console) -> Callable[[str, str], None]:
    def write_dump(_name: str, text: str) -> None:
        console.out.write(text)

    return write_dump


# ---------------------------------------------------------------- runs that compile nothing


def _rule(parsed: Parsed, task: Task, files: tuple[str, ...]) -> str:
    named = task.output if task.output not in (None, "-") else Path(task.inputs[0]).stem + ".o"
    targets = depfile.targets_of(parsed, named or "")
    return depfile.rule(targets, files, phony=parsed.on("deps_phony"))


def _print_dependencies(plan: Plan, parsed: Parsed, console: Console) -> None:
    """-M: the inputs and their includes; with -MG also those that are not there yet."""
    missing_is_fine = parsed.on("deps_missing")
    included = (
        tuple(driver.find_include(n, plan.options.include_paths) or n for n in plan.includes)
        if missing_is_fine
        else driver.include_paths(plan.includes, plan.options)
    )
    sink = Sink()
    for name in (name for task in plan.tasks for name in task.inputs):
        driver.read_source(name, sys.stdin.buffer.read, sink)
    sink.check()
    tasks = [Task(t.inputs, None) if plan.kind == "so" and not parsed.on("output") else t for t in plan.tasks]
    text = "".join(_rule(parsed, task, (*task.inputs, *included)) for task in tasks)
    path = parsed.value("deps_file")
    write(Product(path or "-", text.encode()), console)


def _print_pipelines(plan: Plan, _parsed: Parsed, console: Console) -> None:
    from pptc.passes.base import print_pipeline

    for machine in driver.machines(plan.options):
        console.out.write(f"{machine.name}: {print_pipeline(driver.pipeline_of(machine, plan.options))}\n")


def _print_commands(plan: Plan, parsed: Parsed, console: Console) -> None:
    """-###: the line with everything resolved, once per output."""
    from pptc.passes.base import print_pipeline

    machines = driver.machines(plan.options)
    for task in plan.tasks:
        words = ["pptc", "-t", ",".join(machine.name for machine in machines), f"-O{plan.options.opt_level}"]
        if len(machines) == 1:
            words.append(f"--pass-pipeline={print_pipeline(driver.pipeline_of(machines[0], plan.options))}")
        words += [f"-D{name}={value}" for name, value in plan.options.defines]
        words += [w for path in driver.include_paths(plan.includes, plan.options) for w in ("-include", path)]
        words += ["--may-alias"] if plan.options.may_alias else []
        words += [f"--symbol-prefix={plan.options.symbol_prefix}"] if plan.options.symbol_prefix else []
        words += [f"--compile-to={plan.phase}"] if plan.kind == "pto" else [f"--emit={plan.kind}"]
        words += [*task.inputs, *(("-o", task.output) if task.output else ())]
        console.err.write(f"#$ {shlex.join(words)}\n")
