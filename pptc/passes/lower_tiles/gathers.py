"""Elements picked by number or by a repeating pattern, one by one."""

from __future__ import annotations

from pptc.ir.core import Op, Value
from pptc.ir.kinds import kept_places
from pptc.ir.opdef import Pick
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.indexed import number_at
from pptc.passes.lower_tiles.lanes import Lanes
from pptc.passes.lower_tiles.overlap import destination
from pptc.passes.lower_tiles.places import Place


def lower_pick(frame: Frame, op: Op) -> None:
    """Lower a tgather; by way of a copy where the destination shares bytes with what is read."""
    meaning, target = op.definition.meaning, frame.tiles[op.operand("dst")]
    assert isinstance(meaning, Pick)
    read = [frame.tiles[value] for name in ("src", meaning.numbers) for value in op.group(name)]
    place, finish = destination(frame, op, read, target, target.extents())
    if op.group(meaning.numbers):
        _by_number(frame, op, meaning, place)
    else:
        _by_pattern(frame, op, place)
    finish()


def _by_number(frame: Frame, op: Op, meaning: Pick, out: Place) -> None:
    code, lanes = frame.code, Lanes(frame.code, 1)
    source, numbers = frame.tiles[op.operand("src")], frame.tiles[op.operand(meaning.numbers)]
    rows, columns = frame.tiles[op.operand("dst")].extents()
    last, width = source.type.rows * source.type.cols - 1, source.type.cols
    here, there = numbers.locate(), source.locate()

    def row(r: Index, _: list[Value]) -> None:
        line, made = here.line(code, r), out.line(code, r)

        def column(c: Index, _: list[Value]) -> None:
            number = code.max(0, number_at(frame, numbers, line, c))
            number = code.min(code.div_natural(number, source.elem.bytes if meaning.in_bytes else 1), last)
            from_ = there.line(code, code.div_natural(number, width)).at(
                code, code.rem_natural(number, width)
            )
            lanes.store(lanes.load(*from_, source.elem), *made.at(code, c), source.elem)

        code.loop(0, columns, 1, column)

    code.loop(0, rows, 1, row)


def _by_pattern(frame: Frame, op: Op, out: Place) -> None:
    """The n-th kept element of a row stands in group n / count of four columns."""
    code, lanes = frame.code, Lanes(frame.code, 1)
    source = frame.tiles[op.operand("src")]
    places = kept_places(op)
    rows, columns = frame.tiles[op.operand("dst")].extents()
    groups = code.div_natural(columns, len(places))
    there = source.locate()

    def row(r: Index, _: list[Value]) -> None:
        line, made = there.line(code, r), out.line(code, r)

        def put(place: int, group: Index, number: int) -> None:
            at = line.at(code, code.add(code.mul(group, 4), place))
            to = made.at(code, code.add(code.mul(group, len(places)), number))
            lanes.store(lanes.load(*at, source.elem), *to, source.elem)

        def four(group: Index, _: list[Value]) -> None:
            for number, place in enumerate(places):
                put(place, group, number)

        code.loop(0, groups, 1, four)
        left = code.rem_natural(columns, len(places))
        for number, place in enumerate(places[:-1]):
            code.branch(code.compare("slt", number, left), lambda p=place, n=number: put(p, groups, n))  # type: ignore[misc]

    code.loop(0, rows, 1, row)
