"""The queues of a pair, and what each push and pop moves through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pptc.ir.core import Op, Value
from pptc.ir.kinds import plain
from pptc.ir.pairs import CUBE, VECTOR, Entry, pipe_id, pipe_ops, pipe_side, split_of
from pptc.ir.types import ScalarType, TileType, ViewType

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Channel:
    """One direction of a pipe: a queue of `slots` slots of `bytes` bytes, `offset` bytes into the shared memory."""

    number: int
    slots: int
    bytes: int
    offset: int

    @property
    def size(self) -> int:
        """Bytes of all slots."""
        return self.slots * self.bytes


def channels(entry: Entry) -> Mapping[tuple[int, str], Channel]:
    """The queues of a pair by pipe and producer; even numbers lead from the cube to the vector cores."""
    found: dict[tuple[int, str], Channel] = {}
    offset = 0
    opened = {pipe_id(op): op for op in pipe_ops(entry.functions[0]) if op.name == "pto.aic_initialize_pipe"}
    for number, (id, op) in enumerate(sorted(opened.items())):
        directions = int(plain(op.attributes["dir_mask"]))
        slots = int(plain(op.attributes.get("slot_num")) or (4 if directions == 3 else 8))
        size = -(-int(plain(op.attributes["slot_size"])) // _ALIGNMENT) * _ALIGNMENT
        for bit, producer in enumerate((CUBE, VECTOR)):
            if directions >> bit & 1:
                channel = Channel(2 * number + bit, slots, size, offset)
                found[id, producer] = channel
                offset += channel.size
    return found


# ---------------------------------------------------------------- what a transfer moves


def producer(op: Op) -> str:
    """The core that fills the slots of an op's queue: that of a push, the other one of a pop."""
    side = pipe_side(op) or CUBE
    pops = ".tpop" in op.name or ".tfree" in op.name
    return (VECTOR if side == CUBE else CUBE) if pops else side


def passed(op: Op) -> Value | None:
    """The tile or view that a transfer moves; None for one that frees."""
    if op.results:
        return op.result
    return op.operand("tile") if ".tpush" in op.name else None


def element(entry: Value) -> ScalarType:
    """The element type of a tile or view."""
    assert isinstance(entry.type, TileType | ViewType)
    return entry.type.elem


def whole_shape(op: Op, entry: Value) -> tuple[int, int]:
    """Rows and columns of the whole tile: of a half on the vector side, twice as many along the split, or one less."""
    if isinstance(entry.type, ViewType):
        dims = [dim or 0 for dim in entry.type.dims]
        rows, columns = (dims[-2] if len(dims) > 1 else 1), dims[-1]
    else:
        assert isinstance(entry.type, TileType)
        rows, columns = entry.type.rows, entry.type.cols
    halves = pipe_side(op) == VECTOR and split_of(op)
    if not halves:
        return rows, columns
    odd = split_of(op) > 2
    return (2 * rows - odd, columns) if split_of(op) % 2 else (rows, 2 * columns - odd)
