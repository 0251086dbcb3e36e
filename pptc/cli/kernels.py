"""The kernels that `pptc-run` can call: of a compiled module through the C library, or interpreted on NumPy."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pptc import driver
from pptc.cli.flags import Parsed
from pptc.diag import CompileError, Diagnostic, Note, Sink, fail
from pptc.ir.core import Op
from pptc.ir.signature import Argument, KernelSignature, signatures
from pptc.ir.types import I32
from pptc.options import CompileOptions

if TYPE_CHECKING:
    from pptc.ir.sync_check import SyncCheck
    from pptc.runtime import Function, PptError

BLOCK_INDEX = "__pypto_spmd_block_idx"
BLOCK_COUNT = "__pypto_spmd_block_num"
"""The names that SPMD arguments have in every text; files keep their roles only."""

_CODES: Mapping[str, str] = MappingProxyType(
    {
        "E_INVALID_ARGUMENT": "P0306",
        "E_TYPE": "P0306",
        "E_OVERLAP": "P0306",
        "E_IO": "P0302",
        "E_CORRUPT": "P0304",
        "E_VERSION": "P0304",
        "E_NO_IMAGE": "P0404",
        "E_UNSUPPORTED": "P0402",
        "E_NOT_FOUND": "P0103",
        "E_FAULT": "P0602",
    }
)
"""The diagnostics of the C library's statuses; the others are failures of the system (P0503)."""


@dataclass(frozen=True)
class Kernel:
    """What a run needs of a kernel. `call` runs all blocks of a grid and changes arrays in place."""

    signature: KernelSignature
    call: Callable[[Mapping[str, Any], int], None]
    section: str
    target: str
    device: str
    degradations: tuple[str, ...] = ()
    sync: SyncCheck | None = None


def open_kernel(parsed: Parsed, threads: int) -> Kernel:
    """The kernel that a command line names. Raises CompileError when there is none or it can't run here."""
    path = parsed.inputs[0]
    if path == "-" or Path(path).suffix == ".pto":
        return _of_source(path, parsed, threads)
    if parsed.on("level"):
        raise fail("P0301", f"-O is for .pto files; '{path}' is compiled already")
    if parsed.on("check_sync"):
        raise fail("P0301", f"--check-sync is for .pto files; '{path}' is compiled already")
    return _of_image(path, parsed, threads, parsed.value("target") or "")


def _of_source(path: str, parsed: Parsed, threads: int) -> Kernel:
    target, level = parsed.value("target") or "host", parsed.value("level") or "2"
    options = CompileOptions(targets=(target,), opt_level=int(level))
    (machine,) = driver.machines(options)
    journal = driver.Journal(sys.stdin.buffer.read)
    unit = driver.load((path,), (), options, journal)
    if not machine.triple:
        signature = _choose(signatures(unit.module), parsed.value("entry"))
        return _interpreted(unit.module, signature, parsed.on("check_sync"))
    if parsed.on("check_sync"):
        raise fail("P0301", "only the interpreter checks flags", hint="pptc-run -t ref --check-sync")
    image = driver.link("so", [driver.lower(unit, machine, options, journal)], options, journal)
    with tempfile.TemporaryDirectory(prefix="pptc-") as folder:
        file = Path(folder, "kernel.so")
        file.write_bytes(image)
        return _of_image(str(file), parsed, threads)


def _interpreted(module: Op, signature: KernelSignature, check_sync: bool) -> Kernel:
    from pptc.ir.interp import run_kernel
    from pptc.ir.sync_check import SyncCheck

    sync = SyncCheck(module) if check_sync else None
    watch = sync.core if sync else nullcontext

    def show(text: str) -> None:
        sys.stderr.write(text)

    def call(arguments: Mapping[str, Any], grid: int) -> None:
        try:
            run_kernel(module, signature.name, arguments, grid, output=show, watch=watch)
        except CompileError as error:
            raise _after(sync.findings() if sync else [], error) from None

    return Kernel(signature, call, "tile module", "ref", "NumPy", sync=sync)


def _after(findings: list[Diagnostic], error: CompileError) -> CompileError:
    """The error, with what was found before it."""
    sink = Sink()
    for found in (*findings, *error.sink):
        sink.report(found)
    return CompileError(sink)


def _of_image(path: str, parsed: Parsed, threads: int, target: str = "") -> Kernel:
    from pptc.runtime import Context, PptError, load

    features = parsed.value("cpu_features") or ""
    try:
        context = Context(threads=threads, cpu_features=features, target=target, environment=False)
        module = load(path, context)
    except PptError as error:
        raise _diagnosed(error) from None
    known = {name: _signature(module[name]) for name in module.kernels}
    signature = _choose(tuple(known.values()), parsed.value("entry"))
    function = module[signature.name]

    def call(arguments: Mapping[str, Any], grid: int) -> None:
        try:
            _launch(function, dict(arguments), grid)
        except PptError as error:
            raise _diagnosed(error) from None

    return Kernel(signature, call, module.report.strip(), module.target, context.device)


def _signature(function: Function) -> KernelSignature:
    passed = [Argument(a.name, a.kind, a.dtype, a.reads, a.writes) for a in function.arguments]
    if function.uses_grid:
        passed.append(Argument(BLOCK_INDEX, "scalar", I32, role="block_idx"))
        passed.append(Argument(BLOCK_COUNT, "scalar", I32, role="block_num"))
    return KernelSignature(function.name, tuple(passed), function.uses_grid)


def _launch(function: Function, arguments: dict[str, Any], grid: int) -> None:
    """All blocks, or the one that -i names."""
    block, count = arguments.pop(BLOCK_INDEX, None), arguments.pop(BLOCK_COUNT, grid)
    begin, end = (0, count) if block is None else (block, block + 1)
    function.launch_blocks(begin, end, count, **arguments)


def _diagnosed(error: PptError) -> CompileError:
    """The library's sentence as a diagnostic; what it lists after the first line become notes."""
    first, *rest = str(error).splitlines()
    code = _CODES.get(error.status.name, "P0503")
    sink = Sink()
    sink.report(Diagnostic(code, first, notes=tuple(Note(line) for line in rest)))
    return CompileError(sink)


def _choose(found: tuple[KernelSignature, ...], entry: str | None) -> KernelSignature:
    """The kernel of that name, or the only one. Raises CompileError P0103 or P0301."""
    names = [signature.name for signature in found]
    if entry is None and len(found) != 1:
        raise fail(
            "P0301", f"the module has {len(names)} kernels", hint=f"--entry takes one of {', '.join(names)}"
        )
    for signature in found:
        if entry in (None, signature.name):
            return signature
    raise fail("P0103", f"no kernel is named '{entry}'", hint=f"the module has {', '.join(names)}")
