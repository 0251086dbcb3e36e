"""Section: what an emitter hands to the linker. Nobody greps the payload for facts."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.machine import Machine


@dataclass(frozen=True, slots=True)
class KernelCode:
    """One kernel of a section.

    `entry` is the hidden symbol of `void entry(const ppt_args *, const ppt_group *)`; `exports` are the plain C symbols.
    `scratch_bytes` is what one running block needs.
    """

    name: str
    entry: str
    scratch_bytes: int
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Code of one target. `payload` is a relocatable ELF object for CPU targets."""

    machine: Machine
    payload: bytes
    kernels: tuple[KernelCode, ...]
