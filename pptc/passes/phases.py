"""The phases of a strip loop's row: what must be finished before what, shared by residency and the lowering.

A row reduction ends a phase: its result is there from the next one on. Ops that touch the same bytes keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.analysis import Use, is_handle_op, root_pointer, root_tile, uses
from pptc.ir.core import Op, Value
from pptc.ir.opdef import RowReduce
from pptc.ir.types import TileType


@dataclass(frozen=True, slots=True)
class Phases:
    """The phase of every op of a strip loop's body that touches elements, in text order."""

    of: dict[Op, int]

    @property
    def count(self) -> int:
        """How many passes over the columns a row takes."""
        return max(self.of.values(), default=-1) + 1


def storage(use: Use) -> Value:
    """What an operand's elements are stored in: the root handle of a tile, the pointer behind a view."""
    is_tile = isinstance(use.value.type, TileType)
    return root_tile(use.value) if is_tile else root_pointer(use.value)


def phases_of(loop: Op) -> Phases:
    """The phases of the ops in the body of a strip loop.

    An op comes no earlier than the values it reads, and a write no earlier than the ops before it that name its bytes.
    """
    ready: dict[Value, int] = {}
    touched: dict[Value, int] = {}
    found: dict[Op, int] = {}
    for op in loop.body:
        touching = [use for use in uses(op) if use.reads or use.writes]
        if is_handle_op(op) or not touching:
            continue
        phase = 0
        for use in touching:
            place = storage(use)
            phase = max(
                phase, ready.get(place, 0) if use.reads else 0, touched.get(place, 0) if use.writes else 0
            )
        found[op] = phase
        for use in touching:
            place = storage(use)
            touched[place] = max(touched.get(place, 0), phase)
            if use.writes:
                ready[place] = phase + isinstance(op.definition.meaning, RowReduce)
    return Phases(found)
