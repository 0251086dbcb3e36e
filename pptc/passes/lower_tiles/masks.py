"""Comparisons into masks of bits and choices by them, whole bytes of the mask in vectors and the rest bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pptc.ir.core import Op, Value
from pptc.ir.kinds import attribute, plain
from pptc.ir.opdef import Compare, Select, Spread
from pptc.ir.scalars import Predicate, compute_type
from pptc.ir.types import I1, I8, I32, ScalarType, VectorType
from pptc.passes.lower_tiles import elements
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.overlap import same_places, share_bytes, staging
from pptc.passes.lower_tiles.places import Line, Place
from pptc.passes.lower_tiles.steps import Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile

_BITS = 8


def lower_mask(frame: Frame, op: Op) -> None:
    """Lower one op; by way of a copy where its destination may change what it still has to read."""
    meaning = op.definition.meaning
    target = frame.tiles[op.operand("dst")]
    sources = [
        frame.tiles[value] for value in op.operands if value in frame.tiles and value is not op.operand("dst")
    ]
    apart = isinstance(meaning, Select)
    meets = [
        tile for tile in sources if share_bytes(tile, target) and not (apart and same_places(tile, target))
    ]
    copy = staging(frame, target) if meets else None
    place = copy.place if copy else target.locate()
    work = _Compare if isinstance(meaning, Compare) else _Select
    work(frame, op, place).run()
    if copy:
        extents = (target.type.rows, target.type.cols) if isinstance(meaning, Compare) else target.extents()
        elements.lower_step(frame, Step(op, (Source(Spread.FULL, copy),), target, *extents, identity))


@dataclass(frozen=True)
class _Masked:
    """What both share: rows, whole vectors of columns, the rest."""

    frame: Frame
    op: Op
    target: Place

    def run(self) -> None:
        """All rows."""
        rows, columns = self._extents()
        self.frame.code.loop(0, rows, 1, lambda r, _: self._row(r, columns))

    def _extents(self) -> tuple[Index, Index]:
        raise NotImplementedError

    def _row(self, row: Index, columns: Index) -> None:
        code, width = self.frame.code, self._width()
        whole: Index = code.floor(columns, width) if width > 1 else 0
        body = self._body(row)
        if width > 1:
            code.loop(0, whole, width, lambda c, _: body(Lanes(code, width), c, columns))
        code.loop(whole, columns, _BITS, lambda c, _: body(Lanes(code, 1), c, columns))

    def _body(self, row: Index) -> Callable[[Lanes, Index, Index], None]:
        raise NotImplementedError

    def _data(self) -> list[Tile]:
        """The tiles that hold elements, not bits."""
        raise NotImplementedError

    def _width(self) -> int:
        """Columns per vector: whole bytes of bits; 1 where elements are scattered."""
        tiles = self._data()
        places = [tile.locate() for tile in tiles]
        if not self.frame.options.vectors or any(place.run % _BITS for place in places):
            return 1
        return max(_BITS, self.frame.machine.lanes(compute_type(tiles[0].elem).bits))

    def _operand(self, name: str, row: Index) -> Callable[[Lanes, Index], Lane]:
        """The elements of a tile from a column on, or a scalar in every lane."""
        value, code = self.op.operand(name), self.frame.code
        if value not in self.frame.tiles:
            scalar = self.frame.lane(value)
            return lambda lanes, _: lanes.splat(scalar)
        tile = self.frame.tiles[value]
        line: Line = tile.locate().line(code, row)
        return lambda lanes, c: lanes.load(*line.at(code, c), tile.elem)


class _Compare(_Masked):
    def _extents(self) -> tuple[Index, Index]:
        return self._data()[0].extents()

    def _data(self) -> list[Tile]:
        meaning = self.op.definition.meaning
        assert isinstance(meaning, Compare)
        named = (self.op.operand(name) for name in (meaning.lhs, meaning.rhs))
        return [self.frame.tiles[value] for value in named if value in self.frame.tiles]

    def _body(self, row: Index) -> Callable[[Lanes, Index, Index], None]:
        meaning, code = self.op.definition.meaning, self.frame.code
        assert isinstance(meaning, Compare)
        a, b = (self._operand(name, row) for name in (meaning.lhs, meaning.rhs))
        out = self.target.line(code, row)
        mode: Predicate = plain(attribute(self.op, "cmpMode"))

        def body(lanes: Lanes, c: Index, columns: Index) -> None:
            at = code.div_natural(c, _BITS)
            if lanes.width > 1:
                bits = lanes.compare(mode, a(lanes, c), b(lanes, c))
                packed = VectorType(lanes.width // _BITS, I8)
                value = code.value("vector.bitcast", (bits.value,), packed)
                memory, index = out.at(code, at)
                code.create("vector.store", (value, memory, code.index(index)))
                return
            Lanes(code, 1).store(self._byte(lanes, c, columns, mode, a, b), *out.at(code, at), I8)

        return body

    def _byte(
        self, lanes: Lanes, c: Index, columns: Index, mode: Predicate,
        a: Callable[[Lanes, Index], Lane], b: Callable[[Lanes, Index], Lane],
    ) -> Lane:  # fmt: skip
        """The bits of up to eight columns; zero for those that do not exist."""
        code = self.frame.code
        count = code.min(_BITS, code.sub(columns, c))

        def bit(number: Index, carried: list[Value]) -> list[Value]:
            here = code.add(c, number)
            found = lanes.compare(mode, a(lanes, here), b(lanes, here))
            one = code.value("arith.extui", (found.value,), I32)
            place = code.value("arith.index_cast", (code.index(number),), I32)
            moved = code.value("arith.shli", (one, place), I32)
            return [code.value("arith.ori", (carried[0], moved), I32)]

        (bits,) = code.loop(0, count, 1, bit, [code.constant(I32, 0)])
        return Lane(code.value("arith.trunci", (bits,), I8), I8)


class _Select(_Masked):
    def _extents(self) -> tuple[Index, Index]:
        return self.frame.tiles[self.op.operand("dst")].extents()

    def _data(self) -> list[Tile]:
        meaning = self.op.definition.meaning
        assert isinstance(meaning, Select)
        named = (self.op.operand(name) for name in ("dst", meaning.yes, meaning.no))
        return [self.frame.tiles[value] for value in named if value in self.frame.tiles]

    def _body(self, row: Index) -> Callable[[Lanes, Index, Index], None]:
        meaning, code = self.op.definition.meaning, self.frame.code
        assert isinstance(meaning, Select)
        yes, no = (self._operand(name, row) for name in (meaning.yes, meaning.no))
        bits = self.frame.tiles[self.op.operand("mask")].locate().line(code, row)
        out, elem = self.target.line(code, row), self._data()[0].elem

        def body(lanes: Lanes, c: Index, columns: Index) -> None:
            at = bits.at(code, code.div_natural(c, _BITS))
            if lanes.width > 1:
                packed = Lanes(code, lanes.width // _BITS).load_raw(*at, I8)
                chosen = code.value("vector.bitcast", (_vector(packed),), VectorType(lanes.width, I1))
                self._put(lanes, chosen, c, yes, no, out, elem)
                return
            byte = Lanes(code, 1).load_raw(*at, I8)
            count = code.min(_BITS, code.sub(columns, c))

            def one(number: Index, _: list[Value]) -> None:
                wide = code.value("arith.extui", (byte,), I32)
                place = code.value("arith.index_cast", (code.index(number),), I32)
                moved = code.value("arith.shrui", (wide, place), I32)
                self._put(
                    lanes, code.value("arith.trunci", (moved,), I1), code.add(c, number), yes, no, out, elem
                )

            code.loop(0, count, 1, one)

        def _vector(value: Value) -> Value:
            """One byte as a vector of one."""
            return (
                value
                if isinstance(value.type, VectorType)
                else code.value("vector.broadcast", (value,), VectorType(1, I8))
            )

        return body

    def _put(
        self, lanes: Lanes, chosen: Value, c: Index, yes: Callable[[Lanes, Index], Lane],
        no: Callable[[Lanes, Index], Lane], out: Line, elem: ScalarType,
    ) -> None:  # fmt: skip
        picked = lanes.select(Lane(chosen, I1), yes(lanes, c), no(lanes, c))
        lanes.store(picked, *out.at(self.frame.code, c), elem)
