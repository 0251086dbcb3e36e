"""What the entries of a kernel pass to its body beside the kernel's own arguments, for the ops that ask for it."""

from __future__ import annotations

from pptc.ir.core import Op, with_called
from pptc.ir.spmd import GRID_OPS

BLOCK, BLOCKS, SUBBLOCK, SERVICES = "block", "blocks", "subblock", "services"

NEEDS_LIBRARY = ("tile.claim_slot", "tile.send_slot", "tile.receive_slot", "tile.free_slot", "tile.meet")
"""Ops that cannot do without the library's services."""

CONCURRENT = ("tile.meet", "tile.pause")
"""Ops by which blocks wait for each other."""

_ASKED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (BLOCK, GRID_OPS),
    (BLOCKS, GRID_OPS),
    (SUBBLOCK, ("pto.get_subblock_idx",)),
    (SERVICES, (*NEEDS_LIBRARY, "tile.pause", "tile.print")),
)


def hidden_arguments(function: Op) -> tuple[str, ...]:
    """The names of a body's hidden arguments, in the order in which they follow the others."""
    names = {op.name for each in with_called(function) for op in each.walk()}
    return tuple(hidden for hidden, ops in _ASKED if not names.isdisjoint(ops))
