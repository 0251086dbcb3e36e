"""The packed form of a `right` operand: `[N / columns][K / group][columns][group]`, a 32-bit lane per column and group.

With `sums`, one more 32-bit lane per column follows the last group of a panel: what its products start from.
Residency and memory planning ask for its size, the lowering for its shape; both get it here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.machine import Machine, MatrixTile
from pptc.ir.types import ScalarType

LANE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """`columns` (NR) lie side by side; `group` consecutive k elements share one 32-bit lane.

    `sums` names the dot instruction that sums up the columns, for kernels whose `left` is offset.
    """

    columns: int
    group: int
    sums: str | None = None

    def bytes(self, k: int, n: int) -> int:
        """Bytes of a packed k x n operand; both extents are rounded up and filled with zeros."""
        panels = -(-n // self.columns)
        groups = -(-k // self.group) + (self.sums is not None)
        return panels * groups * self.columns * LANE_BYTES


def panel_of(machine: Machine, element: ScalarType) -> Panel | None:
    """The panel that the machine's micro-kernel for `element` reads, or None where the machine has no such kernel.

    Elements narrower than a lane and without a dot instruction (group 1) are widened to 32 bits while packing.
    """
    block = machine.matrix.get(element.name)
    return None if block is None else panel_for(machine, block)


def panel_for(machine: Machine, block: MatrixTile) -> Panel:
    """The panel that a block of registers reads."""
    sums = block.instruction if block.unsigned_left else None
    return Panel(block.vectors * machine.lanes(8 * LANE_BYTES), block.group, sums)
