"""Transposes: square blocks of vectors turned in registers, element by element what is left at the edges."""

from __future__ import annotations

from pptc.ir.core import Value
from pptc.passes.lower_tiles.code import Code, Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lanes
from pptc.passes.lower_tiles.packing import shuffled
from pptc.passes.lower_tiles.places import Place
from pptc.passes.lower_tiles.tiles import Tile

_LARGEST_BLOCK = 16
"""Rows of a block: more would not stay in registers."""


def turn(frame: Frame, source: Tile, target: Place, height: Index, width: Index) -> None:
    """target[c, r] = source[r, c] for `height` rows and `width` columns; they share no bytes."""
    code, place = frame.code, source.locate()
    size = min(_LARGEST_BLOCK, frame.lanes_over(source.elem.bits, (place, target)))
    if size == 1:
        _elements(frame, source, target, (0, height), (0, width))
        return
    down, across = code.floor(height, size), code.floor(width, size)

    def blocks(r: Index, _: list[Value]) -> None:
        code.loop(0, across, size, lambda c, _: _block(frame, source, target, size, (r, c)))

    code.loop(0, down, size, blocks)
    _elements(frame, source, target, (0, down), (across, width))
    _elements(frame, source, target, (down, height), (0, width))


def _block(frame: Frame, source: Tile, target: Place, size: int, corner: tuple[Index, Index]) -> None:
    """Turn size x size elements."""
    code, lanes, place = frame.code, Lanes(frame.code, size), source.locate()
    row, column = corner
    vectors = [
        lanes.load_raw(*place.line(code, code.add(row, number)).at(code, column), source.elem)
        for number in range(size)
    ]
    for number, vector in enumerate(_turned(code, vectors)):
        memory, index = target.line(code, code.add(column, number)).at(code, row)
        code.create("vector.store", (vector, memory, code.index(index)))


def _turned(code: Code, vectors: list[Value]) -> list[Value]:
    """As many vectors as each has lanes, turned: every stage interleaves those of the two halves."""
    size = len(vectors)
    half = size // 2
    masks = [
        [lane for number in range(half) for lane in (start + number, start + number + size)]
        for start in (0, half)
    ]
    for _ in range(size.bit_length() - 1):
        vectors = [
            shuffled(code, vectors[number], vectors[number + half], mask)
            for number in range(half)
            for mask in masks
        ]
    return vectors


def _elements(
    frame: Frame, source: Tile, target: Place, down: tuple[Index, Index], across: tuple[Index, Index]
) -> None:
    """Turn a part element by element, along the rows of the source."""
    code, lanes, place = frame.code, Lanes(frame.code, 1), source.locate()

    def row(r: Index, _: list[Value]) -> None:
        line = place.line(code, r)

        def column(c: Index, _: list[Value]) -> None:
            x = lanes.load(*line.at(code, c), source.elem)
            lanes.store(x, *target.line(code, c).at(code, r), source.elem)

        code.loop(*across, 1, column)

    code.loop(*down, 1, row)
