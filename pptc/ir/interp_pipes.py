"""How the interpreter executes pipes: queues of whole tiles between the cube and the vector cores of a block.

A popped tile lies in its consumer's buffer, as on the chip. The slot ops that pipes are expanded to work on the same
queues, with slots that are arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.kinds import plain
from pptc.ir.lazy import np
from pptc.ir.numeric import dtype_of
from pptc.ir.pairs import CUBE, VECTOR, pipe_id, pipe_side, split_of
from pptc.ir.pipes import element, producer, whole_shape
from pptc.ir.storage import POISON_BYTE, Arena, MemoryFault, Pointer, Tile, View
from pptc.ir.types import PtrType, TileType, ViewType

Array = Any


@dataclass
class Queue:
    """Slots in the order they were filled; each end counts what each of its cores has done."""

    slots: int
    filled: dict[int, int] = field(default_factory=dict)  # by producer
    taken: dict[int, int] = field(default_factory=dict)  # by consumer
    freed: dict[int, int] = field(default_factory=dict)
    content: dict[int, Any] = field(default_factory=dict)

    def has_room(self, core: int, consumers: int) -> bool:
        """Whether `core` may fill another slot."""
        oldest = min(self.freed.get(number, 0) for number in range(consumers))
        return self.filled.get(core, 0) - oldest < self.slots

    def has_next(self, core: int, producers: int) -> bool:
        """Whether all producers have filled the slot that `core` takes next."""
        newest = min(self.filled.get(number, 0) for number in range(producers))
        return newest > self.taken.get(core, 0)


@dataclass(frozen=True)
class _End:
    """Where an op stands: its queue, the number of its core, and how many cores are at the queue's two ends."""

    queue: Queue
    core: int
    producers: int
    consumers: int


def _end(frame: Frame, key: tuple[int, str], slots: int) -> _End:
    producers, consumers = (frame.grid.subblocks, 1) if key[1] == VECTOR else (1, frame.grid.subblocks)
    queue = frame.queues.setdefault(key, Queue(slots))
    return _End(queue, frame.grid.subblock, producers, consumers)


def _pipe(frame: Frame, op: Op) -> _End:
    key = pipe_id(op), producer(op)
    if key not in frame.queues:
        raise MemoryFault(f"pipe {key[0]} is not open")
    return _end(frame, key, 0)


def _wait_for_room(frame: Frame, end: _End) -> int:
    """The number of the slot that the core fills next."""
    frame.wait(lambda: end.queue.has_room(end.core, end.consumers))
    return end.queue.filled.get(end.core, 0)


def _wait_for_next(frame: Frame, end: _End) -> int:
    """The number of the slot that the core takes."""
    frame.wait(lambda: end.queue.has_next(end.core, end.producers))
    number = end.queue.taken.get(end.core, 0)
    end.queue.taken[end.core] = number + 1
    return number


def _send(end: _End) -> None:
    end.queue.filled[end.core] = end.queue.filled.get(end.core, 0) + 1


def _release(end: _End) -> None:
    freed = end.queue.freed.get(end.core, 0)
    if freed == end.queue.taken.get(end.core, 0):
        raise MemoryFault("nothing is popped that could be freed")
    end.queue.freed[end.core] = freed + 1


def _fresh(frame: Frame, shape: tuple[int, ...], dtype: Any) -> Array:
    made = np.zeros(shape, dtype)
    made.view(np.uint8)[...] = POISON_BYTE if frame.poison else 0
    return made


# ---------------------------------------------------------------- pipes


def _initialize(frame: Frame, op: Op) -> Results:
    """Both sides open the queues of a pipe; the addresses of the consumers' buffers stand in the frame."""
    directions = plain(op.attributes["dir_mask"])
    slots = plain(op.attributes.get("slot_num")) or (4 if directions == 3 else 8)
    for bit, (core, buffer) in enumerate(((CUBE, "c2v_consumer_buf"), (VECTOR, "v2c_consumer_buf"))):
        if directions >> bit & 1:
            _end(frame, (pipe_id(op), core), slots)
            frame.buffers[pipe_id(op), core] = frame.one(op, buffer), plain(op.attributes["slot_size"])
    return None


def _half(frame: Frame, op: Op, type: TileType) -> tuple[int, int]:
    """Where the half of a vector core begins in the whole tile."""
    split = split_of(op)
    if pipe_side(op) != VECTOR or not split:
        return 0, 0
    given = frame.one(op, "aiv_subblockid")
    core = frame.grid.subblock if given is None else given
    return (core * type.rows, 0) if split % 2 else (0, core * type.cols)


def _window(whole: Array, place: tuple[int, int], shape: tuple[int, int]) -> Array:
    return whole[place[0] : place[0] + shape[0], place[1] : place[1] + shape[1]]


def _push(frame: Frame, op: Op) -> Results:
    end, entry = _pipe(frame, op), frame.one(op, "tile")
    if isinstance(entry, Tile):
        number = _wait_for_room(frame, end)
        whole = end.queue.content.get(number)
        if whole is None:
            shape = whole_shape(op, op.operand("tile"))
            whole = end.queue.content[number] = _fresh(frame, shape, dtype_of(entry.type.elem))
        valid = entry.v_row, entry.v_col
        window = _window(whole, _half(frame, op, entry.type), valid)
        window[...] = entry.read(*window.shape)
    _send(end)
    return None


def _pop(frame: Frame, op: Op) -> Results:
    end, type = _pipe(frame, op), op.result.type
    number = _wait_for_next(frame, end)
    whole = end.queue.content[number]
    if isinstance(type, ViewType):
        return (whole,)
    assert isinstance(type, TileType)
    buffer, size = frame.buffers[pipe_id(op), producer(op)]
    arena, start = (Arena(frame.poison), 0) if buffer is None else (frame.arena(type.space), buffer)
    place = 0 if buffer is None else start + number % end.queue.slots * size
    given = frame.one(op, "valid_row"), frame.one(op, "valid_col")
    rows, columns = (
        static if static is not None else value
        for static, value in zip((type.v_row, type.v_col), given, strict=True)
    )
    if not (0 <= rows <= type.rows and 0 <= columns <= type.cols):
        raise MemoryFault(f"a valid region of {rows}x{columns} does not fit {type.rows}x{type.cols}")
    tile = Tile(type, arena, place, rows, columns, type)
    if frame.poison:
        tile.leave_unspecified(outside=False)
    tile.write(_window(whole, _half(frame, op, type), (rows, columns)))
    return (tile,)


def _free(frame: Frame, op: Op) -> Results:
    """Forget what all have freed."""
    end = _pipe(frame, op)
    _release(end)
    oldest = min(end.queue.freed.get(number, 0) for number in range(end.consumers))
    end.queue.content.pop(oldest - 1, None)
    return None


def _allocate(frame: Frame, op: Op) -> Results:
    """A view of a fresh slot: dense rows of the elements that its type says."""
    end, type = _pipe(frame, op), op.result.type
    number = _wait_for_room(frame, end)
    assert isinstance(type, ViewType)
    rows, columns = whole_shape(op, op.result)
    array = _fresh(frame, (rows * columns,), dtype_of(element(op.result)))
    view = View(Pointer(array, 0, type.elem), (rows, columns), (columns, 1))
    end.queue.content[number] = view
    return (view,)


def _buffer(frame: Frame, op: Op) -> Results:
    base = plain(op.attributes.get("base"))
    return (0 if base is None else base,)


def _import(frame: Frame, op: Op) -> Results:
    """The other function's buffer: nobody but its owner goes by the address."""
    return (0,)


# ---------------------------------------------------------------- slots


def _channel(frame: Frame, op: Op) -> _End:
    number = plain(op.attributes["channel"])
    slots = plain(op.attributes["slots"]) if "slots" in op.attributes else 0
    return _end(frame, (number // 2, VECTOR if number % 2 else CUBE), slots)


def _slot(frame: Frame, op: Op, number: int, end: _End) -> Pointer:
    """A pointer to the bytes of a slot, which stay until the queue comes round again."""
    type = op.result.type
    assert isinstance(type, PtrType)
    place = number % end.queue.slots
    bytes = end.queue.content.get(place)
    if bytes is None:
        bytes = end.queue.content[place] = _fresh(frame, (plain(op.attributes["bytes"]),), np.uint8)
    return Pointer(bytes.view(dtype_of(type.elem)), 0, type.elem)


def _claim_slot(frame: Frame, op: Op) -> Results:
    end = _channel(frame, op)
    return (_slot(frame, op, _wait_for_room(frame, end), end),)


def _receive_slot(frame: Frame, op: Op) -> Results:
    end = _channel(frame, op)
    return (_slot(frame, op, _wait_for_next(frame, end), end),)


def _send_slot(frame: Frame, op: Op) -> Results:
    _send(_channel(frame, op))
    return None


def _free_slot(frame: Frame, op: Op) -> Results:
    end = _channel(frame, op)
    if frame.poison and end.consumers == 1:
        frame.one(op, "slot").array.view(np.uint8)[...] = POISON_BYTE
    _release(end)
    return None


PIPES: Mapping[str, Handler] = MappingProxyType(
    {
        "pto.reserve_buffer": _buffer,
        "pto.import_reserved_buffer": _import,
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
        "tile.claim_slot": _claim_slot,
        "tile.send_slot": _send_slot,
        "tile.receive_slot": _receive_slot,
        "tile.free_slot": _free_slot,
    }
)
