"""Section: what an emitter hands to the linker. Nobody greps the payload for facts."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.diag import fail
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op, symbol_name
from pptc.ir.machine import Machine
from pptc.ir.signature import DIVISIBLE, kernels

STACK_SCRATCH_BYTES = 262144
"""PPT_STACK_SCRATCH_BYTES of pptc_kernel.h: the most scratch that a plain symbol keeps on the stack."""


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One kernel of a section.

    `entry` is the hidden symbol of `void entry(const ppt_args *, const ppt_group *)`; `exports` are the plain C
    symbols. `scratch_bytes` is what one running block needs. `divisible`: any number of blocks gives the result of one.
    """

    name: str
    entry: str
    scratch_bytes: int
    exports: tuple[str, ...]
    divisible: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Code of one target. `payload` is a relocatable ELF object for CPU targets."""

    machine: Machine
    payload: bytes
    kernels: tuple[KernelCode, ...]


def scratch_bytes(function: Op) -> int | None:
    """The scratch that a loop-level function takes as its last argument; None when it has no such argument."""
    size = function.attributes.get("tile.scratch_bytes")
    return size.value if isinstance(size, IntAttr) else None


def kernel_codes(module: Op, prefix: str = "") -> tuple[KernelCode, ...]:
    """The kernels of a loop-level module by their symbols. Raises CompileError P0104 when two share one."""
    codes = []
    owners: dict[str, str] = {}
    for function in kernels(module):
        name, size = symbol_name(function), scratch_bytes(function) or 0
        plain = prefix + name
        exports = (plain, f"{plain}_ws", f"{plain}_scratch_bytes")
        for symbol in exports:
            if symbol in owners:
                raise fail(
                    "P0104", f"kernels @{owners[symbol]} and @{name} both export {symbol}", function.span
                )
            owners[symbol] = name
        kept = exports if size <= STACK_SCRATCH_BYTES else exports[1:]
        codes.append(KernelCode(name, f"{plain}.kernel", size, kept, DIVISIBLE in function.attributes))
    return tuple(codes)
