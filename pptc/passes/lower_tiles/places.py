"""Places: where element (row, column) of a tile or of a part of global memory is.

A place fixes the row first (`line`), so that what belongs to the row is computed outside of the column loop, and then
gives a memref and an index per column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import Protocol

from pptc.ir.core import Value
from pptc.ir.kinds import box
from pptc.ir.layouts import element_offset
from pptc.ir.types import MemRefType, ScalarType, TileType
from pptc.passes.lower_tiles.code import Code, Index

UNBOUNDED = 1 << 62
"""The `run` of places whose columns all lie side by side."""


class Line(Protocol):
    """One row of a place."""

    def at(self, code: Code, column: Index) -> tuple[Value, Index]:
        """The memref and the element index of a column."""


class Place(Protocol):
    """Where the elements of a matrix are.

    From every multiple of `run` on, that many columns lie side by side.
    """

    @property
    def elem(self) -> ScalarType: ...

    @property
    def run(self) -> int: ...

    def line(self, code: Code, row: Index) -> Line:
        """The row, addressed by columns."""

    def window(self, code: Code, row: Index, column: Index) -> Place:
        """The place whose element (0, 0) is the element (row, column) of this one."""


@dataclass(frozen=True)
class Strided:
    """Element (r, c) is `memory[offset + r * row_stride + c * column_stride]`.

    `ahead` is how many elements further the next trip of a strip loop reads, where that is known.
    """

    memory: Value
    elem: ScalarType
    row_stride: Index
    column_stride: Index = 1
    offset: Index = 0
    ahead: Index | None = None

    @property
    def run(self) -> int:
        return UNBOUNDED if self.column_stride == 1 else 1

    def line(self, code: Code, row: Index) -> Line:
        start = code.add(self.offset, code.mul(row, self.row_stride))
        return _StridedLine(moved(code, self.memory, start), self.column_stride)

    def window(self, code: Code, row: Index, column: Index) -> Strided:
        shift = code.add(code.mul(row, self.row_stride), code.mul(column, self.column_stride))
        return replace(self, offset=code.add(self.offset, shift))

    def transposed(self) -> Strided:
        """The same elements with rows and columns exchanged."""
        return replace(self, row_stride=self.column_stride, column_stride=self.row_stride, ahead=None)


@dataclass(frozen=True)
class _StridedLine:
    memory: Value
    stride: Index

    def at(self, code: Code, column: Index) -> tuple[Value, Index]:
        return self.memory, code.mul(column, self.stride)


@dataclass(frozen=True)
class Boxed:
    """A tile in PTO's exact layout; (row, column) of a window count from element (`top`, `left`)."""

    memory: Value
    type: TileType
    top: Index = 0
    left: Index = 0

    @property
    def elem(self) -> ScalarType:
        return self.type.elem

    @property
    def run(self) -> int:
        _, columns = box(self.type)
        if self.type.slayout != "row_major" or not isinstance(self.left, int):
            return 1
        return gcd(columns, self.left)

    def line(self, code: Code, row: Index) -> Line:
        return _BoxedLine(self, code.add(self.top, row))

    def window(self, code: Code, row: Index, column: Index) -> Boxed:
        return replace(self, top=code.add(self.top, row), left=code.add(self.left, column))


@dataclass(frozen=True)
class _BoxedLine:
    place: Boxed
    row: Index

    def at(self, code: Code, column: Index) -> tuple[Value, Index]:
        place = self.place
        column = code.add(place.left, column)
        offset = element_offset(place.type, Number(code, self.row), Number(code, column))
        return place.memory, offset.value


@dataclass(frozen=True)
class Digit:
    """One dimension of a view: the distance of its elements, and how many there are."""

    stride: Index
    extent: Index


@dataclass(frozen=True)
class Folded:
    """A matrix whose rows or columns run over several dimensions of a view, the slowest first."""

    memory: Value
    elem: ScalarType
    down: tuple[Digit, ...]
    across: tuple[Digit, ...]
    offset: Index = 0
    top: Index = 0
    left: Index = 0

    @property
    def run(self) -> int:
        last = self.across[-1] if self.across else Digit(1, 1)
        if last.stride != 1:
            return 1
        if len(self.across) == 1:
            return UNBOUNDED
        return (
            gcd(last.extent, self.left) if isinstance(last.extent, int) and isinstance(self.left, int) else 1
        )

    def line(self, code: Code, row: Index) -> Line:
        start = code.add(self.offset, _steps(code, self.down, code.add(self.top, row)))
        return _FoldedLine(moved(code, self.memory, start), self.across, self.left)

    def window(self, code: Code, row: Index, column: Index) -> Folded:
        return replace(self, top=code.add(self.top, row), left=code.add(self.left, column))


@dataclass(frozen=True)
class _FoldedLine:
    memory: Value
    across: tuple[Digit, ...]
    left: Index

    def at(self, code: Code, column: Index) -> tuple[Value, Index]:
        return self.memory, _steps(code, self.across, code.add(self.left, column))


def _steps(code: Code, digits: tuple[Digit, ...], number: Index) -> Index:
    """The distance of the element with this number, counted over all digits."""
    distance: Index = 0
    for digit in reversed(digits[1:]):
        distance = code.add(distance, code.mul(code.rem_natural(number, digit.extent), digit.stride))
        number = code.div_natural(number, digit.extent)
    return code.add(distance, code.mul(number, digits[0].stride)) if digits else distance


def moved(code: Code, memory: Value, start: Index) -> Value:
    """The memref with element `start` as its element 0."""
    if start == 0:
        return memory
    return code.value("memref.offset", (memory, code.index(start)), memory.type)


def memref(elem: ScalarType) -> MemRefType:
    """`memref<?xelem>`."""
    return MemRefType((None,), elem)


@dataclass(frozen=True)
class Number:
    """An index in formulas that use + * // %."""

    code: Code
    value: Index

    def _with(self, value: Index) -> Number:
        return Number(self.code, value)

    def __add__(self, other: Number | int) -> Number:
        return self._with(self.code.add(self.value, _plain(other)))

    def __mul__(self, other: Number | int) -> Number:
        return self._with(self.code.mul(self.value, _plain(other)))

    def __rmul__(self, other: int) -> Number:
        return self * other

    def __floordiv__(self, other: int) -> Number:
        return self._with(self.code.div_natural(self.value, other))

    def __mod__(self, other: int) -> Number:
        return self._with(self.code.rem_natural(self.value, other))


def _plain(x: Number | int) -> Index:
    return x.value if isinstance(x, Number) else x
