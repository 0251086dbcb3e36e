"""Tiles and views of the function that is being lowered: where their elements are, and how many are valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pptc.ir.core import Value
from pptc.ir.layouts import element_offset
from pptc.ir.types import ScalarType, TileType
from pptc.passes.homes import Home, row_pitch
from pptc.passes.lower_tiles.code import Code, Index
from pptc.passes.lower_tiles.places import Boxed, Digit, Folded, Number, Place, Strided


@dataclass(frozen=True)
class View:
    """A window of global memory; `extents` and `strides` of 1 to 5 dimensions, outermost first.

    `ahead` is how many elements further the window of a strip loop's next trip lies, where that is known.
    """

    memory: Value
    elem: ScalarType
    extents: tuple[Index, ...]
    strides: tuple[Index, ...]
    layout: str | None = None
    offset: Index = 0
    ahead: Index | None = None

    def part(self, code: Code, offsets: tuple[Index, ...], sizes: tuple[Index, ...]) -> View:
        """The window that starts at `offsets` and has the extents `sizes`."""
        start = self.offset
        for offset, stride in zip(offsets, self.strides, strict=True):
            start = code.add(start, code.mul(offset, stride))
        return replace(self, extents=sizes, offset=start, ahead=None)

    def _groups(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which dimensions number the rows, and which the columns, each from the slowest."""
        last = len(self.extents) - 1
        if self.layout == "nz" and last == 4:
            return (2, 3), (0, 1, 4)
        return tuple(range(last)), (last,)

    def shape(self, code: Code) -> tuple[Index, Index]:
        """Rows and columns of the view as a matrix."""
        counts: list[Index] = [1, 1]
        for side, group in enumerate(self._groups()):
            for dimension in group:
                counts[side] = code.mul(counts[side], self.extents[dimension])
        return counts[0], counts[1]

    @property
    def place(self) -> Place:
        """The elements of the view as a matrix."""
        down, across = (
            tuple(Digit(self.strides[d], self.extents[d]) for d in group if self.extents[d] != 1)
            for group in self._groups()
        )
        if len(down) <= 1 and len(across) <= 1:
            row_stride = down[0].stride if down else 0 if len(self.strides) == 1 else self.strides[-2]
            column_stride = across[0].stride if across else self.strides[-1]
            return Strided(self.memory, self.elem, row_stride, column_stride, self.offset, self.ahead)
        return Folded(self.memory, self.elem, down, across, self.offset)


@dataclass(frozen=True)
class Packed:
    """A `right` operand packed for the micro-kernel, from byte `start` of the scratch on: `groups` groups of k rows.

    A panel takes `pitch` groups: one more where the sums of its columns follow.
    """

    start: Index
    elem: ScalarType  # of the packed elements
    groups: Index
    pitch: Index


@dataclass(eq=False)
class Tile:
    """A tile handle. `extents` gives the valid rows and columns as they are now, `locate` the place of the elements.

    `physical` is the type that the bytes are laid out by, `start` the first byte in the scratch where they are a buffer
    there, `shift` the row and column of the handle's first element. `origin` is the handle that this one was made from.
    The writer of a tile that lives in a view or in a panel sets `locate` or `packed`.
    """

    type: TileType
    physical: TileType
    home: Home
    extents: Callable[[], tuple[Index, Index]]
    locate: Callable[[], Place]
    private: bool = False
    start: Index | None = None
    shift: tuple[Index, Index] = (0, 0)
    packed: Packed | None = None
    origin: Tile | None = None

    @property
    def elem(self) -> ScalarType:
        """The element type."""
        return self.type.elem

    @property
    def root(self) -> Tile:
        """The handle of the alloc_tile that this one comes from."""
        return self if self.origin is None else self.origin.root

    @property
    def is_column(self) -> bool:
        """Whether a row holds one value."""
        return self.type.cols == 1 or self.extents()[1] == 1

    def first_element(self, code: Code) -> Index:
        """The number of the handle's first element among those of the physical tile, in memory order."""
        if self.shift == (0, 0):
            return 0
        row, column = (Number(code, index) for index in self.shift)
        number: Number = element_offset(self.physical, row, column)
        return number.value

    def first_byte(self, code: Code) -> Index | None:
        """The byte in the scratch of the handle's first element; None where the tile is no buffer there."""
        if self.start is None:
            return None
        return code.add(self.start, code.mul(self.first_element(code), self.elem.bytes))


def buffer_strides(type: TileType, private: bool) -> tuple[int, int] | None:
    """Elements from row to row and from column to column of a tile in a buffer; None in PTO's boxed layouts."""
    if type.is_boxed and not private:
        return None
    if type.is_boxed or type.blayout == "row_major":
        return row_pitch(type, private), 1
    return 1, type.rows


def buffer_place(type: TileType, memory: Value, private: bool) -> Place:
    """The place of a tile whose first byte is element 0 of `memory`."""
    strides = buffer_strides(type, private)
    return Boxed(memory, type) if strides is None else Strided(memory, type.elem, *strides)
