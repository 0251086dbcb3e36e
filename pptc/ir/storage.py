"""What pointers, views and tile handles are while the reference interpreter runs: windows of NumPy arrays.

Every memory space is an arena of bytes. A tile handle is a place in one, read and written through its layout and
element type, so that tiles which share bytes reinterpret them as the dialect says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

from pptc.ir.layouts import element_count, element_offset
from pptc.ir.lazy import np
from pptc.ir.numeric import dtype_of
from pptc.ir.types import ScalarType, TileType

Array = Any

_LARGEST_ARENA = 1 << 31
POISON_BYTE = 0xFF
"""Fills unspecified bytes: NaN in every float type, -1 in every integer type."""


class MemoryFault(Exception):
    """An access outside of what a pointer or tile owns; the interpreter adds the op."""


@dataclass(frozen=True)
class Pointer:
    """Element `offset` of a flat array."""

    array: Array
    offset: int
    elem: ScalarType

    def moved(self, count: int) -> Pointer:
        """The pointer `count` elements further."""
        return Pointer(self.array, self.offset + count, self.elem)

    def cast(self, elem: ScalarType) -> Pointer:
        """The same address as a pointer to elements of another type, as far as whole ones fit."""
        content = self.array.view(np.uint8)
        first = self.offset * self.elem.bytes
        before = first // elem.bytes
        content = content[first - before * elem.bytes :]
        content = content[: len(content) // elem.bytes * elem.bytes]
        return Pointer(content.view(dtype_of(elem)), before, elem)

    def load(self, index: int) -> Any:
        """Element `index`."""
        return self.array[self._checked(index)]

    def store(self, index: int, value: Any) -> None:
        """Write element `index`."""
        self.array[self._checked(index)] = value

    def _checked(self, index: int) -> int:
        place = self.offset + index
        if not 0 <= place < self.array.size:
            raise MemoryFault(f"element {place} is outside of the argument's {self.array.size} elements")
        return place


@dataclass(frozen=True)
class View:
    """A strided window of global memory; `layout` is the word of make_tensor_view."""

    base: Pointer
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    layout: str | None = None

    def window(self, offsets: tuple[int, ...], sizes: tuple[int, ...]) -> View:
        """The part at `offsets`."""
        shift = sum(o * s for o, s in zip(offsets, self.strides, strict=True))
        return View(self.base.moved(shift), sizes, self.strides, self.layout)

    def _groups(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which dimensions number the rows, and which the columns, each from the slowest."""
        if self.layout == "nz" and len(self.dims) == 5:
            return (2, 3), (0, 1, 4)
        return tuple(range(len(self.dims) - 1)), (len(self.dims) - 1,)

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of the view as a matrix."""
        rows, columns = (prod(max(0, self.dims[d]) for d in group) for group in self._groups())
        return rows, columns

    def places(self, rows: int, columns: int) -> Array:
        """The array places of the elements (0..rows, 0..columns), all inside of the array."""
        down, across = self._groups()
        places = self.base.offset + self._steps(down, rows)[:, None] + self._steps(across, columns)[None, :]
        if places.size:
            size = self.base.array.size
            for place in (int(places.min()), int(places.max())):
                if not 0 <= place < size:
                    raise MemoryFault(f"element {place} is outside of the argument's {size} elements")
        return places

    def _steps(self, group: tuple[int, ...], count: int) -> Array:
        number, offset = np.arange(count), np.zeros(count, np.int64)
        for dimension in reversed(group):
            offset = offset + number % max(1, self.dims[dimension]) * self.strides[dimension]
            number = number // max(1, self.dims[dimension])
        return offset


@dataclass
class Arena:
    """Bytes of a memory space, growing as far as addresses reach."""

    poison: bool
    data: Array = field(init=False)

    def __post_init__(self) -> None:
        self.data = self._fresh(0)

    def _fresh(self, size: int) -> Array:
        return np.full(size, POISON_BYTE if self.poison else 0, np.uint8)

    def bytes(self, start: int, size: int) -> Array:
        """Bytes [start, start + size)."""
        if start < 0 or start + size > _LARGEST_ARENA:
            raise MemoryFault(f"a tile at byte {start} lies outside of every memory space")
        missing = start + size - self.data.size
        if missing > 0:
            self.data = np.concatenate([self.data, self._fresh(max(missing, self.data.size))])
        return self.data[start : start + size]


@lru_cache(maxsize=256)
def _boxed_places(type: TileType, row: int, column: int, rows: int, columns: int) -> Array:
    down, across = np.arange(row, row + rows), np.arange(column, column + columns)
    return element_offset(type, down[:, None], across[None, :])


@dataclass
class Tile:
    """A tile handle. `whole` is the physical tile whose layout counts; the handle starts at (row, column) of it."""

    type: TileType
    arena: Arena
    start: int
    v_row: int
    v_col: int
    whole: TileType
    row: int = 0
    column: int = 0

    @property
    def elements(self) -> Array:
        """The elements of the physical tile in memory order."""
        size = element_count(self.whole) * self.whole.elem.bytes
        return self.arena.bytes(self.start, size).view(dtype_of(self.type.elem))

    @property
    def origin(self) -> int:
        """The memory-order number of the handle's element (0, 0)."""
        return int(element_offset(self.whole, self.row, self.column))

    def read(self, rows: int, columns: int, row: int = 0, column: int = 0) -> Array:
        """A copy of the elements from (row, column) on."""
        elements, place = self._select(rows, columns, row, column)
        return elements[place].copy()

    def write(self, values: Array, row: int = 0, column: int = 0) -> None:
        """Write a matrix of elements from (row, column) on."""
        rows, columns = values.shape
        elements, place = self._select(rows, columns, row, column)
        elements[place] = values

    def leave_unspecified(self, outside: bool) -> None:
        """Poison the handle's elements, or those outside of its valid region."""
        kept = self.read(self.v_row, self.v_col) if outside else None
        filler = np.full(1, POISON_BYTE, np.uint8).repeat(self.type.elem.bytes).view(dtype_of(self.type.elem))
        self.write(np.broadcast_to(filler, (self.type.rows, self.type.cols)))
        if kept is not None:
            self.write(kept)

    def place(self, offset: int) -> int:
        """The place among `elements` of element `offset`, counted in memory order from the handle's first."""
        place = self.origin + offset
        if not 0 <= place < element_count(self.whole):
            raise MemoryFault(f"element {offset} is outside of the tile's {self.type.rows}x{self.type.cols}")
        return place

    def subview(self, type: TileType, row: int, column: int, v_row: int, v_col: int) -> Tile:
        """The window at (row, column)."""
        self._check(type.rows, type.cols, row, column)
        return Tile(
            type, self.arena, self.start, v_row, v_col, self.whole, self.row + row, self.column + column
        )

    def reinterpreted(self, type: TileType, v_row: int, v_col: int) -> Tile:
        """The same bytes as a tile of another type."""
        return Tile(type, self.arena, self.start + self.origin * self.type.elem.bytes, v_row, v_col, type)

    def _check(self, rows: int, columns: int, row: int, column: int) -> None:
        if min(row, column) < 0 or row + rows > self.type.rows or column + columns > self.type.cols:
            raise MemoryFault(
                f"rows {row}..{row + rows}, columns {column}..{column + columns} "
                f"are outside of the tile's {self.type.rows}x{self.type.cols}"
            )

    def _select(self, rows: int, columns: int, row: int, column: int) -> tuple[Array, Any]:
        """An array of elements, and what to index it with to get the window."""
        self._check(rows, columns, row, column)
        row, column, whole = row + self.row, column + self.column, self.whole
        if whole.is_boxed:
            return self.elements, _boxed_places(whole, row, column, rows, columns)
        straight = whole.blayout == "row_major"
        matrix = self.elements.reshape((whole.rows, whole.cols) if straight else (whole.cols, whole.rows))
        window = (slice(row, row + rows), slice(column, column + columns))
        return (matrix if straight else matrix.T), window
