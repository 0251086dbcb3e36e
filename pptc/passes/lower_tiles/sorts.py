"""Sorting with numbers, and merging of what is sorted: scalar code, by ranks and by the heads of lists.

The order is that of the interpreter: the largest first, NaN last, equal values as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pptc.ir.core import Op, Value
from pptc.ir.types import F16, I1, I16, I32, INDEX, ScalarType
from pptc.passes.lower_tiles.code import Code, Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lanes
from pptc.passes.lower_tiles.overlap import destination
from pptc.passes.lower_tiles.places import Line
from pptc.passes.lower_tiles.tiles import Tile

_RUN = 32
_PAIR_BYTES = 8


def lower_sort(frame: Frame, op: Op) -> None:
    """tsort32."""
    source, numbers, target = (frame.tiles[op.operand(name)] for name in ("src", "idx", "dst"))
    rows, columns = source.extents()
    slots = _PAIR_BYTES // source.elem.bytes
    out, finish = destination(frame, op, [source, numbers], target, (rows, frame.code.mul(columns, slots)))
    here, numbered, code = source.locate(), numbers.locate(), frame.code

    def row(r: Index, _: list[Value]) -> None:
        sorter = _RowSorter(code, source.elem, here.line(code, r), numbered.line(code, r), out.line(code, r))
        code.loop(
            0, columns, _RUN, lambda first, _: sorter.run(first, code.min(_RUN, code.sub(columns, first)))
        )

    code.loop(0, rows, 1, row)
    finish()


def _before(code: Code, a: Value, b: Value) -> Value:
    """Whether value a comes strictly before b: it is larger, or b alone is NaN."""

    def compare(word: str, x: Value, y: Value) -> Value:
        return code.value("arith.cmpf", (x, y), I1, {"predicate": word})

    only = code.value("arith.andi", (compare("uno", b, b), compare("ord", a, a)), I1)
    return code.value("arith.ori", (compare("ogt", a, b), only), I1)


@dataclass(frozen=True)
class _RowSorter:
    """Sorts runs of one row: each element goes to the place that its rank says."""

    code: Code
    elem: ScalarType
    values: Line
    numbers: Line
    out: Line

    def run(self, first: Index, count: Index) -> None:
        """The run of `count` columns from `first` on."""
        self.code.loop(0, count, 1, lambda i, _: self._place(first, i, count))

    def _value(self, column: Index) -> Value:
        return Lanes(self.code, 1).load(*self.values.at(self.code, column), self.elem).value

    def _place(self, first: Index, i: Index, count: Index) -> None:
        code = self.code
        mine = self._value(code.add(first, i))

        def count_one(j: Index, carried: list[Value]) -> list[Value]:
            other = self._value(code.add(first, j))
            earlier = code.compare("slt", j, i)
            if isinstance(earlier, bool):
                earlier = code.constant(I1, earlier)
            yes = code.constant(I1, True)
            not_after = code.value("arith.xori", (_before(code, mine, other), yes), I1)
            tie = code.value("arith.andi", (not_after, earlier), I1)
            before = code.value("arith.ori", (_before(code, other, mine), tie), I1)
            one = code.value("arith.extui", (before,), I32)
            return [code.value("arith.addi", (carried[0], one), I32)]

        (rank,) = code.loop(0, count, 1, count_one, [code.constant(I32, 0)])
        at = code.add(first, code.value("arith.index_cast", (rank,), INDEX))
        raw = Lanes(code, 1).load_raw(*self.values.at(code, code.add(first, i)), self.elem)
        number = Lanes(code, 1).load_raw(*self.numbers.at(code, code.add(first, i)), I32)
        for slot, value in enumerate(_pair(code, self.elem, raw, number)):
            _put(code, self.out, code.add(code.mul(at, _PAIR_BYTES // self.elem.bytes), slot), value)


def _pair(code: Code, elem: ScalarType, value: Value, number: Value) -> list[Value]:
    """The columns of a pair."""
    if elem != F16:
        return [value, code.value("arith.bitcast", (number,), elem)]
    high = code.value("arith.shrui", (number, code.constant(I32, 16)), I32)
    halves = [code.value("arith.trunci", (x,), I16) for x in (number, high)]
    return [value, code.constant(elem, 0), *(code.value("arith.bitcast", (half,), elem) for half in halves)]


def _put(code: Code, line: Line, column: Index, value: Value) -> None:
    memory, index = line.at(code, column)
    code.create("memref.store", (value, memory, code.index(index)))


# ---------------------------------------------------------------- merging


@dataclass(frozen=True)
class _List:
    """Sorted pairs of one row: `count` of them from pair `start` on."""

    line: Line
    start: Index
    count: Index


def lower_merge(frame: Frame, op: Op) -> None:
    """tmrgsort."""
    code, target = frame.code, frame.tiles[op.operand("dst")]
    tiles = [frame.tiles[value] for value in op.group("srcs")]
    elem = target.elem
    slots = _PAIR_BYTES // elem.bytes
    counts = [code.div_natural(tile.extents()[1], slots) for tile in tiles]
    total: Index = 0
    for count in counts:
        total = code.add(total, count)
    out, finish = destination(frame, op, tiles, target, (1, code.mul(total, slots)))
    merger = _Merger(code, elem, out.line(code, 0))
    if op.group("blockLen"):
        _merge_blocks(frame, op, merger, tiles[0], counts[0])
    else:
        lists = [
            _List(tile.locate().line(code, 0), 0, count) for tile, count in zip(tiles, counts, strict=True)
        ]
        merger.merge(lists, 0, total)
    finish()


def _merge_blocks(frame: Frame, op: Op, merger: _Merger, tile: Tile, total: Index) -> None:
    """Every four runs of one tile; the last ones may be short or missing."""
    code, line = frame.code, tile.locate().line(frame.code, 0)
    slots = _PAIR_BYTES // tile.elem.bytes
    length = code.max(1, code.div(frame.index(op.operand("blockLen")), slots))
    whole = code.mul(length, 4)
    groups = code.div(code.add(total, code.sub(whole, 1)), whole)

    def group(number: Index, _: list[Value]) -> None:
        first = code.mul(number, whole)
        lists = []
        for run in range(4):
            start = code.min(code.add(first, code.mul(length, run)), total)
            lists.append(_List(line, start, code.min(length, code.sub(total, start))))
        merger.merge(lists, first, code.min(whole, code.sub(total, first)))

    code.loop(0, groups, 1, group)


@dataclass(frozen=True)
class _Merger:
    code: Code
    elem: ScalarType
    out: Line

    def merge(self, lists: Sequence[_List], first: Index, total: Index) -> None:
        """`total` pairs from pair `first` of the result on: always the best of the lists' heads."""
        code = self.code

        def one(number: Index, heads: list[Value]) -> list[Value]:
            chosen, pair = self._best(lists, heads)
            for slot, value in enumerate(pair):
                _put(code, self.out, code.add(code.mul(code.add(first, number), len(pair)), slot), value)
            return [
                code.value("arith.addi", (head, code.value("arith.extui", (mine,), I32)), I32)
                for head, mine in zip(heads, chosen, strict=True)
            ]

        code.loop(0, total, 1, one, [code.constant(I32, 0)] * len(lists))

    def _best(self, lists: Sequence[_List], heads: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """Which list's head comes first, as one flag per list, and its pair."""
        code, no, yes = self.code, self.code.constant(I1, False), self.code.constant(I1, True)
        any_left: Value = no
        best: list[Value] = []
        chosen: list[Value] = []
        for list_, head in zip(lists, heads, strict=True):
            pair, left = self._head(list_, head)
            if not best:
                best, chosen, any_left = pair, [left], left
                continue
            before = _before(code, self._wide(pair[0]), self._wide(best[0]))
            none = code.value("arith.xori", (any_left, yes), I1)
            wins = code.value("arith.andi", (left, code.value("arith.ori", (before, none), I1)), I1)
            loses = code.value("arith.xori", (wins, yes), I1)
            chosen = [code.value("arith.andi", (flag, loses), I1) for flag in chosen] + [wins]
            best = [
                code.value("arith.select", (wins, mine, old), mine.type)
                for mine, old in zip(pair, best, strict=True)
            ]
            any_left = code.value("arith.ori", (any_left, left), I1)
        return chosen, best

    def _wide(self, value: Value) -> Value:
        lanes = Lanes(self.code, 1)
        return lanes.widen(value, self.elem).value

    def _head(self, list_: _List, head: Value) -> tuple[list[Value], Value]:
        """The pair at the head, the last one there is when the list is used up, and whether it is not."""
        code, slots = self.code, _PAIR_BYTES // self.elem.bytes
        at = code.value("arith.index_cast", (head,), INDEX)
        left = code.value("arith.cmpi", (at, code.index(list_.count)), I1, {"predicate": "slt"})
        held = code.max(0, code.add(list_.start, code.min(at, code.sub(list_.count, 1))))
        first = code.mul(held, slots)
        lanes = Lanes(code, 1)
        pair = [
            lanes.load_raw(*list_.line.at(code, code.add(first, slot)), self.elem) for slot in range(slots)
        ]
        return pair, left
