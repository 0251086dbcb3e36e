"""The numbers of extrema: of each row, and of each column."""

from __future__ import annotations

from pptc.ir import numeric
from pptc.ir.core import Op, Value
from pptc.ir.opdef import ArgReduce
from pptc.ir.scalars import compute_type
from pptc.ir.types import I32, ScalarType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.overlap import destination


def lower_argument(frame: Frame, op: Op) -> None:
    """Lower one op; by way of a copy where its destination shares bytes with the source."""
    meaning = op.definition.meaning
    assert isinstance(meaning, ArgReduce)
    code, source, target = frame.code, frame.tiles[op.operand("src")], frame.tiles[op.operand("dst")]
    rows, columns = source.extents()
    extents: tuple[Index, Index] = (rows, 1) if meaning.of_rows else (1, columns)
    place, finish = destination(frame, op, [source], target, extents)
    there = source.locate()
    outer, inner = (rows, columns) if meaning.of_rows else (columns, rows)
    start = Lanes(code, 1).constant(_worst(source.elem, meaning.largest), compute_type(source.elem))

    def one(number: Index, _: list[Value]) -> None:
        def step(at: Index, carried: list[Value]) -> list[Value]:
            row, column = (number, at) if meaning.of_rows else (at, number)
            lanes = Lanes(code, 1)
            x = lanes.load(*there.line(code, row).at(code, column), source.elem)
            here = code.value("arith.index_cast", (code.index(at),), I32)
            better = wins(lanes, x, Lane(carried[0], start.type), meaning.largest).value
            return [
                code.value("arith.select", (better, new, old), new.type)
                for new, old in zip((x.value, here), carried, strict=True)
            ]

        best = code.loop(0, inner, 1, step, [start.value, code.constant(I32, 0)])
        row, column = (number, 0) if meaning.of_rows else (0, number)
        memory, index = place.line(code, row).at(code, column)
        code.create("memref.store", (best[1], memory, code.index(index)))

    code.loop(0, outer, 1, one)
    finish()


def _worst(elem: ScalarType, largest: bool) -> float | int:
    if elem.is_float:
        return float("-inf") if largest else float("inf")
    return numeric.integer_range(elem)[0 if largest else 1]


def wins(lanes: Lanes, x: Lane, best: Lane, largest: bool) -> Lane:
    """Whether x comes before the best one so far: it is better, or the first NaN."""
    better = lanes.compare("gt" if largest else "lt", x, best)
    if not x.type.is_float:
        return better
    nan = lanes.bit_and(lanes.unordered(x, x), lanes.compare("eq", best, best))
    return lanes.bit_or(better, nan)
