"""The kernels that `pptc-run` can call: of a shared object through the C library, or interpreted on NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pptc.cli.flags import Parsed
from pptc.diag import fail
from pptc.ir.core import Op
from pptc.ir.signature import KernelSignature


@dataclass(frozen=True)
class Kernel:
    """What a run needs of a kernel. `call` runs all blocks of a grid and changes arrays in place."""

    signature: KernelSignature
    call: Callable[[Mapping[str, Any], int], None]
    section: str
    target: str
    device: str
    degradations: tuple[str, ...] = ()


def open_kernel(parsed: Parsed, threads: int) -> Kernel:
    """The kernel that a command line names. Raises CompileError when there is none or it can't run here."""
    path = parsed.inputs[0]
    if path == "-" or Path(path).suffix == ".pto":
        return _of_source(path, parsed, threads)
    for flag, key in (("-t", "target"), ("-O", "level")):
        if parsed.on(key):
            raise fail("P0301", f"{flag} is for .pto files; '{path}' is compiled already")
    return _of_image(path, parsed.value("entry"), threads)


def _of_source(path: str, parsed: Parsed, threads: int) -> Kernel:
    from pptc import driver
    from pptc.ir.signature import signatures
    from pptc.options import CompileOptions

    options = CompileOptions(
        targets=(parsed.value("target") or "host",), opt_level=int(parsed.value("level") or 2)
    )
    (machine,) = driver.machines(options)
    journal = driver.Journal(sys.stdin.buffer.read)
    unit = driver.load((path,), (), options, journal)
    if not machine.triple:
        return _interpreted(unit.module, choose(signatures(unit.module), parsed.value("entry")))
    import tempfile

    image = driver.link("so", [driver.lower(unit, machine, options, journal)], options, journal)
    with tempfile.TemporaryDirectory(prefix="pptc-") as folder:
        file = Path(folder, "kernel.so")
        file.write_bytes(image)
        return _of_image(str(file), parsed.value("entry"), threads)


def _interpreted(module: Op, signature: KernelSignature) -> Kernel:
    from pptc.ir.interp import run_kernel

    def call(arguments: Mapping[str, Any], grid: int) -> None:
        run_kernel(
            module, signature.name, arguments, grid, output=lambda text: print(text, end="", file=sys.stderr)
        )

    return Kernel(signature, call, "tile module", "ref", "NumPy")


def choose(signatures: tuple[KernelSignature, ...], entry: str | None) -> KernelSignature:
    """The kernel of that name, or the only one. Raises CompileError P0103 or P0301."""
    names = [signature.name for signature in signatures]
    if entry is None and len(signatures) != 1:
        raise fail(
            "P0301", f"the module has {len(names)} kernels", hint=f"--entry takes one of {', '.join(names)}"
        )
    for signature in signatures:
        if entry in (None, signature.name):
            return signature
    raise fail("P0103", f"no kernel is named '{entry}'", hint=f"the module has {', '.join(names)}")
