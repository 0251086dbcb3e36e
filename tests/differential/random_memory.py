"""What a random program may read: the element type of every byte of vector memory, and what is only nearly known.

A byte is undefined, or part of a float or an integer element of a size. What an inexact op gave is `near`: roads may
differ in its last bits, so nothing that jumps may be computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

BYTES = {"i8": 1, "ui8": 1, "i16": 2, "ui16": 2, "f16": 2, "bf16": 2, "i32": 4, "ui32": 4, "f32": 4}
_KINDS = {name: number for number, name in enumerate(["", "int8", "int16", "int32", "f16", "bf16", "f32"])}


def is_float(elem: str) -> bool:
    """True for f16, bf16 and f32."""
    return elem in ("f16", "bf16", "f32")


def _kind(elem: str) -> int:
    return _KINDS[elem if is_float(elem) else f"int{8 * BYTES[elem]}"]


@dataclass(frozen=True)
class Region:
    """The valid elements of a tile: `rows` x `columns` of a `height` x `width` one at a byte address."""

    address: int
    elem: str
    height: int
    width: int
    rows: int
    columns: int

    def cells(self) -> np.ndarray:
        """The bytes of the valid elements."""
        size = BYTES[self.elem]
        rows, columns = np.arange(self.rows), np.arange(self.columns)
        first = (rows[:, None] * self.width + columns) * size
        return (self.address + first.reshape(-1)[:, None] + np.arange(size)).reshape(-1)

    @property
    def whole(self) -> slice:
        """The bytes of the whole tile."""
        return slice(self.address, self.address + self.height * self.width * BYTES[self.elem])


class Memory:
    """The state between two statements."""

    def __init__(self, size: int, kind: np.ndarray | None = None, near: np.ndarray | None = None) -> None:
        self.kind = np.zeros(size, np.int8) if kind is None else kind
        self.near = np.zeros(size, bool) if near is None else near

    def copy(self) -> Memory:
        """The same state, to be changed on its own."""
        return Memory(len(self.kind), self.kind.copy(), self.near.copy())

    def is_defined(self, region: Region) -> bool:
        """Whether every valid element is one of this type."""
        return bool((self.kind[region.cells()] == _kind(region.elem)).all())

    def is_near(self, regions: Iterable[Region]) -> bool:
        """Whether some element is not known to the bit."""
        return any(self.near[region.cells()].any() for region in regions)

    def write(self, region: Region, near: bool) -> None:
        """The valid elements are defined; what else the tile holds is not."""
        self.kind[region.whole] = 0
        cells = region.cells()
        self.kind[cells] = _kind(region.elem)
        self.near[cells] = near

    def spoil(self, region: Region) -> None:
        """Scratch: nothing is known of the tile."""
        self.kind[region.whole] = 0

    def join(self, other: Memory) -> None:
        """What holds after either of two branches."""
        self.kind[self.kind != other.kind] = 0
        self.near |= other.near
