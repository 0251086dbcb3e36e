"""The order of the stages, and nothing else: read, parse, verify, passes per machine, emit in workers, link, write.

Products are bytes in memory until `write_output` renames them into place, so a failed compile leaves old files alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pptc import __version__
from pptc.diag import CompileError, Sink, Source, fail
from pptc.emit.section import Section
from pptc.ir.core import Block, Op
from pptc.ir.machine import Machine
from pptc.ir.signature import KernelSignature
from pptc.options import CompileOptions, EmitKind, host_target, load_machine
from pptc.passes.base import Observer, Pass, PassContext, Pipeline, Remark, parse_pipeline, run_pipeline

LEVEL_CHANGE = "lower-tiles"
"""The pass that ends the tile level."""

PRODUCER = f"pptc {__version__} (llvmlite 0.50)"
"""What every file says about its maker; the code generator's version is pinned by the package."""

Watch = Callable[[Machine, Pipeline, Op], Observer]
"""Makes the observer of one run of a pipeline on a module."""


@dataclass
class Journal:
    """What one run did: findings, remarks, seconds per step; and who is told about it."""

    stdin: Callable[[], bytes] = bytes
    watches: tuple[Watch, ...] = ()
    announce: Callable[[str], None] = lambda _step: None
    sink: Sink = field(default_factory=Sink)
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Announce a step and take its time."""
        self.announce(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent(name, time.perf_counter() - start)

    def settle(self, found: Sink) -> None:
        """Keep the findings of a stage. Raises CompileError when one is an error."""
        found.check()
        for diagnostic in found:
            self.sink.report(diagnostic)

    def spent(self, name: str, seconds: float) -> None:
        """Add time to a step."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds


@dataclass(frozen=True)
class Unit:
    """One verified module; `files` are all that were read for it, the inputs first."""

    name: str
    module: Op
    files: tuple[str, ...]


@dataclass(frozen=True)
class Lowered:
    """A unit's module after the passes of one machine, and what callers must know about its kernels."""

    unit: Unit
    machine: Machine
    module: Op
    kernels: tuple[KernelSignature, ...]


# ---------------------------------------------------------------- reading


def read_source(name: str, stdin: Callable[[], bytes], sink: Sink) -> Source | None:
    """The text of a file, or of standard input for `-`. Raises CompileError P0302; other faults go to the sink."""
    from pptc.parser import decode

    try:
        data = stdin() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise fail("P0302", f"cannot read '{name}': {error.strerror}") from None
    return decode("<stdin>" if name == "-" else name, data, sink)


def find_include(name: str, folders: Sequence[str]) -> str | None:
    """The path of an -include file: as it stands, else in the -I folders."""
    candidates = [name, *(str(Path(folder, name)) for folder in folders)]
    return next((path for path in candidates if Path(path).is_file()), None)


def include_paths(includes: Sequence[str], options: CompileOptions) -> tuple[str, ...]:
    """The paths of all -include files. Raises CompileError P0302."""
    found = []
    for name in includes:
        path = find_include(name, options.include_paths)
        if path is None:
            raise fail("P0302", f"cannot find '{name}' of -include", hint="-I DIR adds a folder to look in")
        found.append(path)
    return tuple(found)


def load(
    inputs: Sequence[str],
    includes: Sequence[str],
    options: CompileOptions,
    journal: Journal,
    *,
    verified: bool = True,
) -> Unit:
    """Read and parse the inputs of one module and its -include files, join them, apply -D, verify.

    Raises CompileError with the faults of all these stages.
    """
    from pptc.ir.compose import bind_constants, prepend, require_level
    from pptc.ir.dialect import check_version, settle_saturation

    included = include_paths(includes, options)
    sink = Sink()
    modules = [_parsed(path, sink, options, journal) for path in (*included, *inputs)]
    found = [module for module in modules if module is not None]
    if found:
        module = found.pop()
        with journal.step(f"join {inputs[0]}"):
            while found:
                prepend(module, found.pop(), sink)
            bind_constants(module, options.defines, sink)
            if options.pto_level:
                require_level(module, options.pto_level, sink)
            if options.pto_version:
                check_version(module, options.pto_version, sink)
        if verified:
            check(module, sink, journal)
        if not sink.error_count:
            settle_saturation(module, options.tcvt_default_sat, sink)
    journal.settle(sink)
    return Unit(inputs[0], module, (*inputs, *included))


def _parsed(path: str, sink: Sink, options: CompileOptions, journal: Journal) -> Op | None:
    from pptc.parser import parse

    with journal.step(f"parse {path}"):
        source = read_source(path, journal.stdin, sink)
        return parse(source, sink, options.pto_arch) if source is not None else None


def check(module: Op, sink: Sink, journal: Journal) -> None:
    """Verify a module and what its chip asks of it; the findings go to the sink."""
    from pptc.ir.chip import check_chip
    from pptc.ir.verify import verify

    with journal.step("verify"):
        verify(module, sink)
        if not sink.error_count:
            check_chip(module, sink)


# ---------------------------------------------------------------- machines and passes


def machines(options: CompileOptions) -> tuple[Machine, ...]:
    """The machines of -t in order, each once; `host` is resolved here. Raises CompileError P0401 with all faults."""
    sink = Sink()
    found: dict[str, Machine] = {}
    for name in options.targets:
        try:
            machine = load_machine(host_target() if name == "host" else name)
            found[machine.name] = machine
        except CompileError as error:
            for diagnostic in error.sink:
                sink.report(diagnostic)
    sink.check()
    return tuple(found.values())


def pipeline_of(machine: Machine, options: CompileOptions) -> Pipeline:
    """The passes that -O or --pass-pipeline name for a machine."""
    from pptc.passes import PASSES

    if options.pass_pipeline is not None:
        return parse_pipeline(options.pass_pipeline, PASSES)
    return parse_pipeline(machine.pipelines.get(options.pipeline, ""), PASSES)


def until(pipeline: Pipeline, phase: str) -> Pipeline:
    """The part of a pipeline that a phase runs: `canonical` its first pass, `tiled` the tile level, else all."""
    if phase == "canonical":
        return pipeline[:1]
    if phase == "tiled":
        names = [step.name for step in pipeline]
        return pipeline[: names.index(LEVEL_CHANGE)] if LEVEL_CHANGE in names else pipeline
    return pipeline


def copy_module(module: Op) -> Op:
    """A deep copy, so that every machine starts from the same module."""
    from pptc.ir.builder import Builder
    from pptc.ir.rewrite import clone

    copy = clone(module, Builder(Block()), {})
    copy.remove()
    return copy


def transform(
    module: Op, machine: Machine, pipeline: Pipeline, options: CompileOptions, journal: Journal
) -> None:
    """Run the passes in place, with the verifier after each where asked for."""
    sink = Sink()
    with journal.step(f"{machine.name}: passes"):
        watchers = [
            _timer(machine, journal),
            *(watch(machine, pipeline, module) for watch in journal.watches),
        ]
        if options.verify_each:
            watchers.insert(0, _verifier(sink))
        run_pipeline(pipeline, module, PassContext(machine, sink, journal.remarks), watchers)
    journal.settle(sink)


def _timer(machine: Machine, journal: Journal) -> Observer:
    last = [time.perf_counter()]

    def note(step: Pass, _module: Op, _changed: bool) -> None:
        now = time.perf_counter()
        journal.spent(f"{machine.name}: {step}", now - last[0])
        last[0] = now

    return note


def _verifier(sink: Sink) -> Observer:
    from pptc.ir.verify import verify

    def look(step: Pass, module: Op, _changed: bool) -> None:
        before = sink.error_count
        verify(module, sink)
        if sink.error_count > before:
            sink.error("P9999", f"the module is not valid after pass {step.name}")
        sink.check()

    return look


def lower(
    unit: Unit, machine: Machine, options: CompileOptions, journal: Journal, phase: str = "lowered"
) -> Lowered:
    """A copy of the unit's module after the passes of a machine up to a phase."""
    from pptc.ir.signature import signatures

    module = copy_module(unit.module)
    transform(module, machine, until(pipeline_of(machine, options), phase), options, journal)
    kernels = tuple(replace(kernel, may_alias=options.may_alias) for kernel in signatures(unit.module))
    return Lowered(unit, machine, module, kernels)


# ---------------------------------------------------------------- code and files


def emit_all(
    items: Sequence[Lowered], kind: EmitKind, options: CompileOptions, journal: Journal
) -> list[Section | bytes]:
    """Emit every item in a worker process, at most `options.jobs` at once: sections for `obj`, else text or bitcode."""
    from pptc.emit import emit_modules

    names = ", ".join(f"{item.unit.name} for {item.machine.name}" for item in items)
    with journal.step(f"emit {kind} of {names}"):
        requests = [(item.module, item.machine, options.emit(kind)) for item in items]
        made = emit_modules(requests, options.jobs)
    return [product.encode() if isinstance(product, str) else product for product in made]


def link(kind: str, items: Sequence[Lowered], options: CompileOptions, journal: Journal) -> bytes:
    """Emit the items, which are one unit for several machines, and make an `obj`, `so` or `fatbin` of them."""
    from pptc.link import image

    writer = {"obj": image.host_object, "so": image.shared_object, "fatbin": image.fat_file}[kind]
    made = emit_all(items, "obj", options, journal)
    sections = [section for section in made if isinstance(section, Section)]
    with journal.step(f"link {items[0].unit.name}"):
        provenance = image.Provenance(PRODUCER, f"-O{options.opt_level}")
        return writer(sections, items[0].kernels, provenance)


def header(item: Lowered, options: CompileOptions, name: str) -> bytes:
    """The C header of a unit's kernels."""
    from pptc.emit.section import kernel_codes
    from pptc.link.header import c_header

    prefix = options.symbol_prefix
    codes = [replace(code, name=prefix + code.name) for code in kernel_codes(item.module, prefix)]
    kernels = [replace(kernel, name=prefix + kernel.name) for kernel in item.kernels]
    return c_header(kernels, codes, Path(name).name, PRODUCER).encode()


def write_output(path: str, data: bytes, inputs: Sequence[str] = ()) -> bool:
    """Put the bytes into a file by renaming a temporary one; an equal file is left alone. Returns whether it wrote.

    An equal file that is older than an input gets a new date: otherwise make would build it again and again.
    """
    import tempfile

    target = Path(path)
    try:
        if target.is_file() and target.read_bytes() == data:
            if any(_is_newer(Path(name), target) for name in inputs):
                os.utime(target)
            return False
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return True
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise fail("P0303", f"cannot write '{path}': {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise fail("P0303", f"cannot write '{path}': {error.strerror}") from None
        raise
    return True


def _is_newer(source: Path, target: Path) -> bool:
    return source.is_file() and source.stat().st_mtime_ns > target.stat().st_mtime_ns


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one; a shared object may be executed."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if target.suffix == ".so" else 0o666) & ~mask


def compile_file(source: str, output: str, target: str, opt_level: int) -> None:
    """One input, one target, one output: what `pptc.compile` does."""
    options, journal = CompileOptions(targets=(target,), opt_level=opt_level), Journal()
    (machine,) = machines(options)
    unit = load((source,), (), options, journal)
    kind = "obj" if output.endswith(".o") else "so"
    write_output(output, link(kind, [lower(unit, machine, options, journal)], options, journal))
