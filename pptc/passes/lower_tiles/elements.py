"""Element work as plain scalar loops, one nest per op: the -O0 form, and the fallback for layouts without lanes.

Nothing is fused and nothing assumed about layouts, which makes this form the independent leg of differential tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pptc.ir.core import Value
from pptc.ir.opdef import Spread
from pptc.ir.scalars import compute_type
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Line, Place
from pptc.passes.lower_tiles.steps import Source, Step
from pptc.passes.lower_tiles.tiles import Tile

if TYPE_CHECKING:
    from pptc.passes.lower_tiles.contraction import Operands


def lower_step(frame: Frame, step: Step) -> None:
    """A map, move or row reduction, element by element."""
    target = step.place(frame)
    places = {source: source.place(frame) for source in step.sources if source.spread is not Spread.SCALAR}

    def row(r: Index, _: list[Value]) -> None:
        out = target.line(frame.code, r)
        reader = _Reader(
            frame, r, {source: _line(frame, source, place, r) for source, place in places.items()}
        )
        if step.reduction is not None:
            total = _reduced(frame, step, reader)
            _store(frame, total, out, 0, step)
            return

        def column(c: Index, _: list[Value]) -> None:
            _store(frame, reader.compute(step, c), out, c, step)

        frame.code.loop(0, step.columns, 1, column)

    frame.code.loop(0, step.rows, 1, row)


def _line(frame: Frame, source: Source, place: Place, row: Index) -> Line:
    return place.line(frame.code, 0 if source.spread is Spread.COLUMN else row)


def _store(frame: Frame, x: Lane, line: Line, column: Index, step: Step) -> None:
    Lanes(frame.code, 1).store(x, *line.at(frame.code, column), step.elem)


class _Reader:
    """The sources of a step in one row."""

    def __init__(self, frame: Frame, row: Index, lines: dict[Source, Line]) -> None:
        self._frame = frame
        self._lines = lines

    def compute(self, step: Step, column: Index) -> Lane:
        """The step's value at a column."""
        lanes = Lanes(self._frame.code, 1)
        return step.compute(lanes, [self._value(lanes, source, column) for source in step.sources])

    def _value(self, lanes: Lanes, source: Source, column: Index) -> Lane:
        if source.scalar is not None:
            return source.scalar
        assert source.matrix is not None
        at = self._lines[source].at(self._frame.code, 0 if source.spread is Spread.ROW else column)
        return lanes.load(*at, source.matrix.elem)


def _reduced(frame: Frame, step: Step, reader: _Reader) -> Lane:
    meaning, source = step.reduction, step.sources[0].matrix
    assert meaning is not None and source is not None
    lanes, type = Lanes(frame.code, 1), compute_type(source.elem)

    def column(c: Index, carried: list[Value]) -> Sequence[Value]:
        combined = meaning.combine(lanes, Lane(carried[0], type), reader.compute(step, c))
        return [combined.value]

    start = lanes.constant(meaning.identity(type), type)
    (total,) = frame.code.loop(0, step.columns, 1, column, [start.value])
    return Lane(total, type)


def lower_contraction(frame: Frame, product: Operands) -> None:
    """Every element of the product as one chain of multiply-adds along k."""
    code, lanes, target = frame.code, Lanes(frame.code, 1), product.target
    (rows, columns), (_, depth) = target.extents(), product.left.extents()
    type = compute_type(target.elem)

    def read(tile: Tile, row: Index, column: Index) -> Lane:
        x = lanes.load(*tile.locate().line(code, row).at(code, column), tile.elem)
        return x if x.type == type else lanes.cast("arith.extsi", x, type)

    def element(r: Index, c: Index) -> None:
        def inner(k: Index, carried: list[Value]) -> Sequence[Value]:
            factors = read(product.left, r, k), read(product.right, k, c)
            return [lanes.fma(*factors, Lane(carried[0], type)).value]

        first = read(product.start, r, c) if product.start else lanes.constant(0, type)
        (total,) = code.loop(0, depth, 1, inner, [first.value])
        result = Lane(total, type)
        if product.bias is not None:
            result = lanes.add(result, read(product.bias, 0, c))
        lanes.store(result, *target.locate().line(code, r).at(code, c), target.elem)

    code.loop(0, rows, 1, lambda r, _: code.loop(0, columns, 1, lambda c, _: element(r, c)))
