"""Who touched which byte last: what the check of flags remembers of tiles and of global memory.

Every memory has a shadow, with numbers of accesses where the memory has bytes (tiles) or elements (arrays). A number
stands for one run of one op; 0 for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pptc.ir.chip_pipes import S, Work
from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame
from pptc.ir.layouts import element_count, element_offset
from pptc.ir.lazy import np
from pptc.ir.storage import Pointer, Tile, View
from pptc.ir.types import TileType

Array = Any


def _none(size: int = 0) -> Array:
    return np.zeros(size, np.int32)


@dataclass(eq=False)
class Shadow:
    """The last writer of every place, and its readers since then: the last one of each pipe."""

    memory: Any  # kept, so that no other memory gets its identity
    written: Array = field(default_factory=_none)
    read: dict[str, Array] = field(default_factory=dict)

    def reach(self, size: int) -> None:
        """Cover that many places."""
        missing = size - self.written.size
        if missing > 0:
            more = _none(max(missing, self.written.size))
            self.written = np.concatenate([self.written, more])
            self.read = {pipe: np.concatenate([numbers, more]) for pipe, numbers in self.read.items()}

    def writers(self, where: Any) -> Iterator[int]:
        """The accesses that wrote last there."""
        return _numbers(self.written[where])

    def readers(self, where: Any) -> Iterator[int]:
        """The accesses that read what is there now."""
        for numbers in self.read.values():
            yield from _numbers(numbers[where])

    def note_read(self, where: Any, pipe: str, number: int) -> None:
        """An access of a pipe reads."""
        if pipe not in self.read:
            self.read[pipe] = _none(self.written.size)
        self.read[pipe][where] = number

    def note_written(self, where: Any, number: int) -> None:
        """An access writes; 0 forgets what was known."""
        self.written[where] = number
        for numbers in self.read.values():
            numbers[where] = 0


def _numbers(found: Array) -> Iterator[int]:
    """The numbers other than 0, each once; mostly there is one only."""
    if found.size:
        first = found.flat[0]
        distinct = [first] if (found == first).all() else np.unique(found)
        yield from (int(number) for number in distinct if number)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a memory."""

    shadow: Shadow
    where: Any


@dataclass(eq=False)
class Shadows:
    """The shadows of all memories that a core has touched."""

    known: dict[int, Shadow] = field(default_factory=dict)

    def place(self, frame: Frame, op: Op, work: Work, value: Any) -> Place | None:
        """What an op touches behind a tile, view or pointer; None where that is not known or not memory."""
        if work.pipe == S:
            return self._element(value, frame.one(op, "offset"))
        if isinstance(value, Tile):
            return self._in_arena(value, _window(value))
        if isinstance(value, View) and op.definition.meaning is None:
            rows, columns = value.extents
            for tile in frame.get(op.operands) if work.pipe else ():
                if isinstance(tile, Tile):
                    rows, columns = min(rows, tile.v_row), min(columns, tile.v_col)
            return self._in_array(value.base.array, value.places(rows, columns))
        return None

    def _element(self, value: Tile | Pointer, offset: int) -> Place:
        if isinstance(value, Pointer):
            return self._in_array(value.array, np.asarray([value.offset + offset]))
        size = value.type.elem.bytes
        first = value.start + value.place(offset) * size
        return self._in_arena(value, slice(first, first + size))

    def _in_arena(self, tile: Tile, where: Any) -> Place:
        shadow = self._shadow(tile.arena)
        shadow.reach(tile.start + element_count(tile.whole) * tile.whole.elem.bytes)
        return Place(shadow, where)

    def _in_array(self, array: Array, places: Array) -> Place:
        """In the array that the bytes belong to, which pointers of other element types share."""
        root = _root(array)
        shadow = self._shadow(root)
        shadow.reach(root.size)
        shift = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return Place(shadow, (shift + places * array.itemsize) // root.itemsize)

    def _shadow(self, memory: Any) -> Shadow:
        return self.known.setdefault(id(memory), Shadow(memory))


def _root(array: Array) -> Array:
    while isinstance(array.base, np.ndarray) and array.base.flags.c_contiguous:
        array = array.base
    return array


def _window(tile: Tile) -> Any:
    """The bytes of a handle in its arena: all rows, valid or not."""
    if tile.whole is tile.type:
        return slice(tile.start, tile.start + element_count(tile.whole) * tile.whole.elem.bytes)
    return tile.start + _window_bytes(tile.whole, tile.row, tile.column, tile.type.rows, tile.type.cols)


@lru_cache(maxsize=256)
def _window_bytes(whole: TileType, row: int, column: int, rows: int, columns: int) -> Array:
    """The bytes of a window, from the first of the physical tile."""
    down, across = np.arange(row, row + rows), np.arange(column, column + columns)
    first = element_offset(whole, down[:, None], across[None, :]) * whole.elem.bytes
    return first[:, :, None] + np.arange(whole.elem.bytes)
