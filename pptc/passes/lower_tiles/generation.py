"""Tiles whose elements depend on their row and column, element by element."""

from __future__ import annotations

from pptc.ir.core import Op, Value
from pptc.ir.kinds import keywords
from pptc.ir.opdef import Generate
from pptc.ir.types import I64
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes


def lower_generation(frame: Frame, op: Op) -> None:
    """Every valid element by the row's recipe."""
    meaning = op.definition.meaning
    assert isinstance(meaning, Generate)
    code, lanes = frame.code, Lanes(frame.code, 1)
    target = frame.tiles[op.operand(meaning.destination)]
    place, (rows, columns) = target.locate(), target.extents()
    scalars = [frame.lane(op.operand(name)) for name in meaning.scalars]
    words = keywords(op, meaning)

    def number(index: Index) -> Lane:
        if isinstance(index, int):
            return lanes.constant(index, I64)
        return Lane(code.value("arith.index_cast", (index,), I64), I64)

    def row(r: Index, _: list[Value]) -> None:
        line = place.line(code, r)

        def column(c: Index, _: list[Value]) -> None:
            x = meaning.recipe(lanes, number(r), number(c), number(columns), *scalars, **words)
            lanes.store(x, *line.at(code, c), target.elem)

        code.loop(0, columns, 1, column)

    code.loop(0, rows, 1, row)
