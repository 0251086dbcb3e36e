"""expand-pipes: the tiles that pass between the cores of a block become stores to slots of shared memory and loads.

A push claims a slot, stores its tile there and sends it; a pop receives a slot and loads its tile, and the free that
belongs to it gives the slot back. A slot holds the whole tile in dense rows; the second vector core has the half that
begins behind the physical extent of the first one's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from pptc.diag import fail
from pptc.ir.analysis import root_pointer
from pptc.ir.attrs import UNIT, Attr, IntAttr
from pptc.ir.builder import Builder, Operand
from pptc.ir.core import Block, Op, Value
from pptc.ir.kinds import plain
from pptc.ir.pairs import (
    CUBE,
    PAIR,
    ROLE,
    SHARED_BYTES,
    THREADS,
    VECTOR,
    Entry,
    entries,
    pipe_id,
    pipe_ops,
    pipe_side,
    split_of,
)
from pptc.ir.pipes import Channel, channels, element, passed, producer, whole_shape
from pptc.ir.rewrite import constant, replace
from pptc.ir.types import I32, I64, INDEX, PartType, PtrType, TileType, ViewType
from pptc.passes.base import Pass, PassContext
from pptc.passes.handles import Extent, as_value
from pptc.passes.homes import PRIVATE


@dataclass(frozen=True)
class ExpandPipes(Pass):
    """See the module."""

    name: ClassVar[str] = "expand-pipes"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every pair whose pipes are not expanded yet."""
        changed = False
        for entry in entries(module):
            if entry.is_pair and PAIR not in entry.functions[0].attributes:
                _expand(entry)
                changed = True
        return changed


@dataclass
class _Pipes:
    """The queues of a pair, the shape that a slot of each has, and the slots that are popped and not freed yet."""

    channels: Mapping[tuple[int, str], Channel]
    shapes: Mapping[int, tuple[int, int]]
    popped: dict[tuple[Block, int], list[Value]] = field(default_factory=dict)

    def channel(self, op: Op) -> Channel:
        """The queue of a pipe op."""
        return self.channels[pipe_id(op), producer(op)]


def _expand(entry: Entry) -> None:
    known = channels(entry)
    threads, size = entry.threads, sum(channel.size for channel in known.values())
    pipes = _Pipes(known, _shapes(entry, known))
    for role, function in zip((CUBE, VECTOR), entry.functions, strict=True):
        ops = [op for op in function.walk() if op.name in _EXPANSIONS]
        for op in ops:
            _EXPANSIONS[op.name](pipes, op)
        for op in [op for op in function.walk() if op.name == "pto.get_subblock_num"]:
            replace(op, (constant(Builder.before(op), threads - 1, I64),))
        function.attributes[PAIR] = entry.name
        function.attributes[ROLE] = role
        function.attributes[THREADS] = IntAttr(threads, I64)
        function.attributes[SHARED_BYTES] = IntAttr(size, I64)


def _shapes(entry: Entry, known: Mapping[tuple[int, str], Channel]) -> Mapping[int, tuple[int, int]]:
    """Rows and columns of the slots of each queue: those of the largest whole tile."""
    shapes: dict[int, tuple[int, int]] = {}
    for op in (op for function in entry.functions for op in pipe_ops(function)):
        value = None if op.name.endswith("_initialize_pipe") else passed(op)
        if value is not None:
            number = known[pipe_id(op), producer(op)].number
            rows, columns = shapes.get(number, (0, 0))
            whole = whole_shape(op, value)
            shapes[number] = max(rows, whole[0]), max(columns, whole[1])
    return shapes


# ---------------------------------------------------------------- slots


def _waiting(builder: Builder, name: str, channel: Channel, entry: Value) -> Value:
    """The pointer to the slot that an op waits for."""
    attributes: dict[str, Attr] = {
        "channel": IntAttr(channel.number, I64),
        "slots": IntAttr(channel.slots, I64),
        "bytes": IntAttr(channel.bytes, I64),
        "offset": IntAttr(channel.offset, I64),
    }
    return builder.value(name, (), PtrType(element(entry)), attributes)


def _passing(builder: Builder, name: str, channel: Channel, slot: Value) -> None:
    builder.create(name, (slot,), (), {"channel": IntAttr(channel.number, I64)})


def _view(builder: Builder, slot: Value, shape: tuple[int, int], type: ViewType) -> Value:
    rows, columns = (constant(builder, extent) for extent in shape)
    operands: dict[str, Operand] = {
        "ptr": slot,
        "shape": (rows, columns),
        "strides": (columns, constant(builder, 1)),
    }
    return builder.value("pto.make_tensor_view", operands, type)


def _part(
    builder: Builder, op: Op, slot: Value, shape: tuple[int, int], valid: tuple[Extent, Extent]
) -> Value:
    """The window of a slot that the op's core has, as large as the valid region of its tile."""
    elem = slot.type.elem  # type: ignore[attr-defined]
    view = _view(builder, slot, shape, ViewType(shape, elem))
    offsets = [constant(builder, 0), constant(builder, 0)]
    split = split_of(op)
    sizes = list(valid)
    if split and pipe_side(op) == VECTOR:
        axis = 0 if split % 2 else 1
        offsets[axis], sizes[axis] = _half(builder, op, axis, shape[axis], valid[axis])
    values = tuple(as_value(builder, size) for size in sizes)
    type = PartType(tuple(size if isinstance(size, int) else None for size in sizes), elem)
    operands: dict[str, Operand] = {"source": view, "offsets": tuple(offsets), "sizes": values}
    return builder.value("pto.partition_view", operands, type)


def _half(builder: Builder, op: Op, axis: int, whole: int, extent: Extent) -> tuple[Value, Extent]:
    """Where the half of a vector core begins, and how long it is: within the slot, whatever the program says."""
    given = op.optional("aiv_subblockid")
    core = given or builder.value("pto.get_subblock_idx", (), I64)
    number = builder.value("arith.index_cast", (core,), INDEX)
    entry = passed(op)
    assert entry is not None and isinstance(entry.type, TileType)
    length = (entry.type.rows, entry.type.cols)[axis]
    start = builder.value("arith.muli", (number, constant(builder, length)), INDEX)
    if given is None and split_of(op) <= 2:
        return start, extent
    start = builder.value("arith.maxsi", (start, constant(builder, 0)), INDEX)
    start = builder.value("arith.minsi", (start, constant(builder, whole)), INDEX)
    left = builder.value("arith.subi", (constant(builder, whole), start), INDEX)
    return start, builder.value("arith.minsi", (as_value(builder, extent), left), INDEX)


# ---------------------------------------------------------------- ops


def _push(pipes: _Pipes, op: Op) -> None:
    b, channel, entry = Builder.before(op), pipes.channel(op), op.operand("tile")
    if isinstance(entry.type, ViewType):
        slot = root_pointer(entry)
    else:
        slot = _waiting(b, "tile.claim_slot", channel, entry)
        part = _part(b, op, slot, pipes.shapes[channel.number], _valid(b, entry))
        b.create("pto.tstore", {"src": entry, "dst": part})
    _passing(b, "tile.send_slot", channel, slot)
    op.erase()


def _valid(builder: Builder, tile: Value) -> tuple[Extent, Extent]:
    """The valid region of a tile, now."""
    type = tile.type
    assert isinstance(type, TileType)
    if type.v_row is not None and type.v_col is not None:
        return type.v_row, type.v_col
    found = builder.create("pto.get_validshape", (tile,), (INDEX, INDEX)).results
    return (
        found[0] if type.v_row is None else type.v_row,
        found[1] if type.v_col is None else type.v_col,
    )


def _pop(pipes: _Pipes, op: Op) -> None:
    b, channel, type = Builder.before(op), pipes.channel(op), op.result.type
    slot = _waiting(b, "tile.receive_slot", channel, op.result)
    assert op.block is not None
    pipes.popped.setdefault((op.block, channel.number), []).append(slot)
    if isinstance(type, ViewType):
        replace(op, (_view(b, slot, whole_shape(op, op.result), type),))
        return
    assert isinstance(type, TileType)
    row, column = op.optional("valid_row"), op.optional("valid_col")
    rows, columns = row if type.v_row is None else type.v_row, column if type.v_col is None else type.v_col
    assert rows is not None and columns is not None
    part = _part(b, op, slot, pipes.shapes[channel.number], (rows, columns))
    operands = {"addr": None, "valid_row": row, "valid_col": column}
    tile = b.value("pto.alloc_tile", operands, type, {PRIVATE: UNIT})
    b.create("pto.tload", {"src": part, "dst": tile})
    replace(op, (tile,))


def _free(pipes: _Pipes, op: Op) -> None:
    channel = pipes.channel(op)
    assert op.block is not None
    waiting = pipes.popped.get((op.block, channel.number))
    if not waiting:
        raise fail(
            "P0402",
            f"{op.name} frees a slot that was popped in another block of the program",
            op.span,
            hint="pop and free it in one loop body or branch",
        )
    _passing(Builder.before(op), "tile.free_slot", channel, waiting.pop(0))
    op.erase()


def _allocate(pipes: _Pipes, op: Op) -> None:
    b, type = Builder.before(op), op.result.type
    assert isinstance(type, ViewType)
    slot = _waiting(b, "tile.claim_slot", pipes.channel(op), op.result)
    replace(op, (_view(b, slot, whole_shape(op, op.result), type),))


def _initialize(pipes: _Pipes, op: Op) -> None:
    op.erase()


def _buffer(pipes: _Pipes, op: Op) -> None:
    base = plain(op.attributes.get("base"))
    replace(op, (constant(Builder.before(op), base or 0, I32),))


_EXPANSIONS: Mapping[str, Callable[[_Pipes, Op], None]] = MappingProxyType(
    {
        "pto.reserve_buffer": _buffer,
        "pto.import_reserved_buffer": _buffer,
        "pto.aic_initialize_pipe": _initialize,
        "pto.aiv_initialize_pipe": _initialize,
        "pto.talloc_to_aiv": _allocate,
        "pto.talloc_to_aic": _allocate,
        "pto.tpush_to_aiv": _push,
        "pto.tpush_to_aic": _push,
        "pto.tpop_from_aiv": _pop,
        "pto.tpop_from_aic": _pop,
        "pto.tfree_from_aiv": _free,
        "pto.tfree_from_aic": _free,
    }
)
