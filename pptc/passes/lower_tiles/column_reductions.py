"""Column reductions: rows combined in order, several columns side by side where vectors are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from pptc.ir.core import Op, Value
from pptc.ir.opdef import ColumnReduce, Spread
from pptc.ir.scalars import compute_type
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.overlap import share_bytes, staging
from pptc.passes.lower_tiles.places import Line, Place
from pptc.passes.lower_tiles.steps import Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile


def lower_column_reduction(frame: Frame, op: Op, meaning: ColumnReduce) -> Step | None:
    """Reduce the columns of a tile; gives the copy back that is left to do where source and destination share bytes."""
    source, target = (frame.tiles[op.operand(name)] for name in (meaning.source, meaning.destination))
    if not share_bytes(source, target):
        _Columns(frame, meaning, source, target.locate()).run()
        return None
    copy = staging(frame, target)
    _Columns(frame, meaning, source, copy.place).run()
    _, columns = source.extents()
    return Step(op, (Source(Spread.FULL, copy),), target, 1, columns, identity)


class _Columns:
    def __init__(self, frame: Frame, meaning: ColumnReduce, source: Tile, target: Place) -> None:
        self._code = frame.code
        self._meaning = meaning
        self._source = source
        self._place = source.locate()
        self._elem = target.elem
        self._out: Line = target.line(frame.code, 0)
        self._type = compute_type(source.elem)
        self._rows, self._columns = source.extents()
        self._unroll = frame.options.unroll
        self._width = frame.lanes_over(self._type.bits, (self._place, target))

    def run(self) -> None:
        """Blocks of several vectors, single vectors, single columns."""
        wide = [(self._width, self._unroll), (self._width, 1)] if self._width > 1 else []
        first: Index = 0
        for width, count in [*wide, (1, 1)]:
            end = self._code.floor(self._columns, width * count)
            self._blocks(first, end, count, Lanes(self._code, width))
            first = end

    def _blocks(self, first: Index, end: Index, count: int, lanes: Lanes) -> None:
        self._code.loop(first, end, lanes.width * count, lambda c, _: self._block(c, count, lanes))

    def _block(self, column: Index, count: int, lanes: Lanes) -> None:
        places = [self._code.add(column, number * lanes.width) for number in range(count)]

        def row(r: Index, carried: list[Value]) -> Sequence[Value]:
            line = self._place.line(self._code, r)
            read = [lanes.load(*line.at(self._code, c), self._source.elem) for c in places]
            return [self._combined(lanes, total, x) for total, x in zip(carried, read, strict=True)]

        start = lanes.constant(self._meaning.identity(self._type), self._type).value
        totals = self._code.loop(0, self._rows, 1, row, [start] * count)
        for total, c in zip(totals, places, strict=True):
            lanes.store(Lane(total, self._type), *self._out.at(self._code, c), self._elem)

    def _combined(self, lanes: Lanes, total: Value, x: Lane) -> Value:
        combined = self._meaning.combine(lanes, Lane(total, self._type), x)
        assert isinstance(combined, Lane)
        return combined.value
