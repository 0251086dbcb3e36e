"""plan-memory: gives bytes to every tile that needs them.

Tiles of level 2 get an `addr` in their space, private tiles a `tile.offset` in the scratch; tiles that do not live at
the same time share bytes. The function gets `tile.scratch_bytes`, and `tile.space_offsets` says where the spaces with
addressed tiles begin in the scratch. A tile of run-time address may lie anywhere in its space, which then has the size
of the largest chip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from pptc.ir.analysis import constant_of
from pptc.ir.attrs import DictAttr, IntAttr
from pptc.ir.builder import Builder
from pptc.ir.core import Op, functions
from pptc.ir.machine import Machine
from pptc.ir.rewrite import constant
from pptc.ir.types import I64, SPACES, Space
from pptc.passes.base import Pass, PassContext
from pptc.passes.homes import OFFSET, SCRATCH_BYTES, SPACE_OFFSETS, home_bytes, is_private, tile_of
from pptc.passes.lifetimes import Lifetimes, Request, packed

ALIGNMENT = 64
_CAPACITY: Mapping[Space, int] = MappingProxyType(
    {
        "vec": 262_144,
        "mat": 524_288,
        "left": 65_536,
        "right": 65_536,
        "acc": 262_144,
        "bias": 4_096,
        "scaling": 65_536,
    }
)


@dataclass(frozen=True)
class PlanMemory(Pass):
    """See the module."""

    name: ClassVar[str] = "plan-memory"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function that has tiles."""
        changed = False
        for function in functions(module):
            allocs = [op for op in function.walk() if op.name == "pto.alloc_tile"]
            if allocs:
                _plan(function, allocs, context.machine)
                changed = True
        return changed


def _plan(function: Op, allocs: list[Op], machine: Machine) -> None:
    lifetimes = Lifetimes(function)
    private = [op for op in allocs if is_private(op)]
    total = _place_private(private, lifetimes, machine)
    _place_level2([op for op in allocs if not is_private(op) and not op.group("addr")], lifetimes)
    spaces = []
    for space in SPACES:
        size = _space_bytes([op for op in allocs if not is_private(op) and tile_of(op).space == space])
        if size:
            spaces.append((space, IntAttr(total, I64)))
            total += _aligned(size)
    if spaces:
        function.attributes[SPACE_OFFSETS] = DictAttr(tuple(spaces))
    function.attributes[SCRATCH_BYTES] = IntAttr(total, I64)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _place_private(allocs: list[Op], lifetimes: Lifetimes, machine: Machine) -> int:
    """Write `tile.offset`; gives the bytes that the tiles take together."""
    sized = [(op, home_bytes(op, machine)) for op in allocs]
    wanted = [(op, _aligned(size)) for op, size in sized if size]
    offsets, total = packed([Request(*lifetimes.of(op.result), size) for op, size in wanted])
    for (op, _), offset in zip(wanted, offsets, strict=True):
        op.attributes[OFFSET] = IntAttr(offset, I64)
    return total


def _place_level2(allocs: list[Op], lifetimes: Lifetimes) -> None:
    """Write `addr` on the tiles that have none, space by space."""
    for space in SPACES:
        here = [op for op in allocs if tile_of(op).space == space]
        requests = [Request(*lifetimes.of(op.result), _aligned(tile_of(op).size_bytes)) for op in here]
        for op, offset in zip(here, packed(requests)[0], strict=True):
            address = constant(Builder.before(op), offset, I64)
            valid = {name: op.group(name) for name in ("valid_row", "valid_col")}
            order = [(address,), valid["valid_row"], valid["valid_col"]]
            op.set_operands([value for group in order for value in group], tuple(map(len, order)))


def _space_bytes(allocs: list[Op]) -> int:
    """How far the addressed tiles of one space reach."""
    size = 0
    for op in allocs:
        start = constant_of(op.operand("addr"))
        if start is None:
            return _CAPACITY[tile_of(op).space]
        size = max(size, start + tile_of(op).size_bytes)
    return size
