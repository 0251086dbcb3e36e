"""Machine: the facts of one target, frozen. Read from configs/targets/*.yaml by `options`; asked by passes and emit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class MatrixTile:
    """The register block of the matrix micro-kernel for one operand type.

    `rows` x (`vectors` x lanes) accumulators; `group` consecutive k elements fill one 32-bit lane of the packed panel.
    `instruction` is the dot instruction's name in the emitter, or None for multiply-add on operands widened in packing.
    `unsigned_left`: the instruction takes bytes of `left` as unsigned, so that 128 is added to them, and 128 times the
    sums of `right`'s columns is taken away.
    """

    rows: int
    vectors: int
    group: int = 1
    instruction: str | None = None
    unsigned_left: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """One target. `native` names what the machine can say; a thing not in it is decomposed because it is missing."""

    name: str
    family: str  # the emitter: ref, x86, aarch64, nvptx, amdgcn, cce
    doc: str
    aliases: tuple[str, ...] = ()
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()  # in LLVM's spelling, without the +
    requires: tuple[str, ...] = ()  # features that the C library probes before it picks a section
    rank: int = 0  # among sections that fit, the highest runs
    vector_bits: int = 0
    scalable: bool = False
    native: frozenset[str] = frozenset()
    matrix: Mapping[str, MatrixTile] = field(default_factory=lambda: MappingProxyType({}))
    facts: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({})
    )  # capacities and sizes in bytes
    pipelines: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # -O level -> pipeline text

    def lanes(self, bits: int) -> int:
        """How many elements of `bits` fill one vector register."""
        return max(1, self.vector_bits // bits)
