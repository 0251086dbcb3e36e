"""Section: what an emitter hands to the linker. Nobody greps the payload for facts."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.diag import fail
from pptc.emit.hidden import CONCURRENT, NEEDS_LIBRARY
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op, with_called
from pptc.ir.machine import Machine
from pptc.ir.pairs import SHARED_BYTES, entries
from pptc.ir.signature import DIVISIBLE

STACK_SCRATCH_BYTES = 262144
"""PPT_STACK_SCRATCH_BYTES of pptc_kernel.h: the most scratch that a plain symbol keeps on the stack."""


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One kernel of a section.

    `entry` is the hidden symbol of `void entry(const ppt_args *, const ppt_group *)`; `exports` are the plain C
    symbols. `scratch_bytes` is what one running core needs. `divisible`: any number of blocks gives the result of one.
    `concurrent`: all blocks run at the same time. `threads` run a block and share `shared_bytes` of memory.
    """

    name: str
    entry: str
    scratch_bytes: int
    exports: tuple[str, ...]
    divisible: bool = False
    concurrent: bool = False
    threads: int = 1
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """Code of one target. `payload` is a relocatable ELF object for CPU targets."""

    machine: Machine
    payload: bytes
    kernels: tuple[KernelCode, ...]


def scratch_bytes(function: Op) -> int | None:
    """The scratch that a loop-level function takes as its last argument; None when it has no such argument."""
    return integer_attribute(function, "tile.scratch_bytes")


def integer_attribute(function: Op, name: str) -> int | None:
    """The value of an integer attribute, or None."""
    found = function.attributes.get(name)
    return found.value if isinstance(found, IntAttr) else None


def kernel_codes(module: Op, prefix: str = "") -> tuple[KernelCode, ...]:
    """The kernels of a loop-level module by their symbols. Raises CompileError P0104 when two share one."""
    codes = []
    owners: dict[str, str] = {}
    for entry in entries(module):
        name, function = entry.name, entry.functions[0]
        size = max(scratch_bytes(each) or 0 for each in entry.functions)
        plain = prefix + name
        ops = {op.name for each in entry.functions for part in with_called(each) for op in part.walk()}
        alone = entry.is_pair or not ops.isdisjoint(NEEDS_LIBRARY)
        exports = () if alone else (plain, f"{plain}_ws", f"{plain}_scratch_bytes")
        for symbol in exports:
            if symbol in owners:
                raise fail(
                    "P0104", f"kernels @{owners[symbol]} and @{name} both export {symbol}", function.span
                )
            owners[symbol] = name
        kept = exports if size <= STACK_SCRATCH_BYTES else exports[1:]
        divisible = DIVISIBLE in function.attributes
        shared = integer_attribute(function, SHARED_BYTES) or 0
        concurrent = not ops.isdisjoint(CONCURRENT)
        codes.append(
            KernelCode(name, f"{plain}.kernel", size, kept, divisible, concurrent, entry.threads, shared)
        )
    return tuple(codes)
