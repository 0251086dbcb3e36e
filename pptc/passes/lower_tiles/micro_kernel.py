"""The matrix micro-kernel: a block of rows x columns of the product in registers over all of k.

Per k: the columns of `right` as vectors, each element of `left` broadcast, one multiply-add (or dot instruction) per
pair of them. At the edges of the product, columns are masked when they are stored, and rows beyond the last one repeat
it and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pptc.ir.attrs import Attr, IntAttr
from pptc.ir.core import Value
from pptc.ir.machine import MatrixTile
from pptc.ir.types import I32, I64, ScalarType, VectorType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.packing import operand
from pptc.passes.lower_tiles.places import Line, Place, moved
from pptc.passes.lower_tiles.tiles import Packed

_SIGN_BITS = 0x80808080 - (1 << 32)
"""The first bit of each of four bytes: flipping it adds 128."""

_LEAST_SUMS = 8
"""Independent sums that hide the latency of a multiply-add."""


@dataclass(frozen=True)
class Product:
    """What is multiplied. `right` is packed, or a place whose columns lie side by side."""

    rows: Index
    columns: Index
    depth: Index
    left: Place
    right: Packed | Place
    acc: ScalarType
    target: Place
    start: Place | None = None
    bias: Place | None = None


@dataclass(frozen=True)
class Edge:
    """What a block may not touch: rows from `rows` on, columns from `columns` on; None where all are there."""

    rows: Index | None = None
    columns: Index | None = None


INSIDE = Edge()


class MicroKernel:
    """Emits blocks of one product."""

    def __init__(self, frame: Frame, product: Product, block: MatrixTile) -> None:
        self._frame = frame
        self._code = frame.code
        self._product = product
        self._block = block
        self._lanes = Lanes(frame.code, frame.machine.lanes(32))
        self.columns = block.vectors * self._lanes.width

    def emit(self, i: Index, j: Index, rows: int, edge: Edge) -> None:
        """The block of `rows` rows from row `i` and of one panel's columns from column `j` on."""
        code, product, vectors = self._code, self._product, self._block.vectors
        places = [code.add(i, number) for number in range(rows)]
        if edge.rows is not None:
            places = [code.min(place, code.sub(edge.rows, 1)) for place in places]
        left = [product.left.line(code, place) for place in places]
        strips = _Strips(self._frame, self._lanes, vectors, edge.columns)
        factors = _Factors(self._frame, self._lanes, product, self._block, left, j, edge)
        start = self._start(strips, places, j)
        if self._block.unsigned_left:
            start = factors.corrected(start)
        sums = self._sums(factors, start)
        for number, place in enumerate(places):
            row = [Lane(x, product.acc) for x in sums[number * vectors : (number + 1) * vectors]]
            exists = code.compare("slt", code.add(i, number), edge.rows) if edge.rows is not None else True
            code.branch(exists, partial(strips.write, row, product.target, place, j))

    def _start(self, strips: _Strips, places: Sequence[Index], j: Index) -> list[Value]:
        product = self._product
        if product.start is not None:
            return [x.value for place in places for x in strips.read(product.start, place, j)]
        if product.bias is not None:
            return [x.value for x in strips.read(product.bias, 0, j)] * len(places)
        zero = self._code.constant(self._lanes.shaped(product.acc), 0)
        return [zero] * (len(places) * self._block.vectors)

    # -- the sum over k

    def _sums(self, factors: _Factors, start: Sequence[Value]) -> list[Value]:
        """The accumulators, row by row. A block of few rows sums several k in turn, to hide latency."""
        code, group, count = self._code, self._block.group, len(start)
        whole = code.div(self._product.depth, group)
        turns = max(1, _LEAST_SUMS // count)

        def step(k: Index, sums: Sequence[Value]) -> list[Value]:
            parts = [sums[turn * count : (turn + 1) * count] for turn in range(turns)]
            return [
                x
                for turn, part in enumerate(parts)
                for x in self._multiplied(
                    part, factors.left(code.add(k, turn)), factors.right(code.add(k, turn))
                )
            ]

        def rest(_: Index, sums: Sequence[Value]) -> list[Value]:
            return self._multiplied(sums, factors.last_left(whole), factors.right(whole))

        done = code.floor(whole, turns)
        zero = code.constant(self._lanes.shaped(self._product.acc), 0)
        rolled: dict[str, Attr] = {"loop.unroll": "off"} if turns > 1 else {}
        wide = code.loop(0, done, turns, step, [*start, *[zero] * (count * (turns - 1))], rolled)
        sums = [self._total(wide[number::count]) for number in range(count)]
        if turns > 1:
            single = lambda k, s: self._multiplied(s, factors.left(k), factors.right(k))  # noqa: E731
            sums = code.loop(done, whole, 1, single, sums)
        return code.loop(0, code.min(1, code.rem(self._product.depth, group)), 1, rest, sums)

    def _total(self, parts: Sequence[Value]) -> Value:
        total = Lane(parts[0], self._product.acc)
        for part in parts[1:]:
            total = self._lanes.add(total, Lane(part, self._product.acc))
        return total.value

    def _multiplied(self, sums: Sequence[Value], left: Sequence[Lane], right: Sequence[Lane]) -> list[Value]:
        """The accumulators after one k (or group of k)."""
        pairs = [(a, b) for a in left for b in right]
        return [self._multiply_add(x, a, b) for x, (a, b) in zip(sums, pairs, strict=True)]

    def _multiply_add(self, total: Value, a: Lane, b: Lane) -> Value:
        if self._block.instruction is None or self._block.group == 1:
            return self._lanes.fma(a, b, Lane(total, self._product.acc)).value
        instruction: dict[str, Attr] = {"instruction": self._block.instruction}
        return self._code.value("vector.dot", (total, a.value, b.value), total.type, instruction)


class _Factors:
    """The factors of one block: broadcast elements (or groups of them) of `left`, vectors of `right`."""

    def __init__(
        self,
        frame: Frame,
        lanes: Lanes,
        product: Product,
        block: MatrixTile,
        left: Sequence[Line],
        j: Index,
        edge: Edge,
    ) -> None:
        self._code = frame.code
        self._lanes = lanes
        self._product = product
        self._block = block
        self._left = left
        self._j = j
        self._edge = edge
        if isinstance(product.right, Packed):
            self._panel = moved(
                frame.code,
                frame.memory(product.right.start, product.right.elem),
                frame.code.mul(j, frame.code.mul(product.right.pitch, block.group)),
            )

    def left(self, k: Index) -> list[Lane]:
        """Element (or group) `k` of every row, in all lanes."""
        if self._block.group == 1:
            return [self._lanes.splat(self._element(line, k)) for line in self._left]
        return [self._spread(self._group(line, k)) for line in self._left]

    def last_left(self, k: Index) -> list[Lane]:
        """Like `left` for the group in which the last elements are missing: zeros stand for them."""
        code, group, elem = self._code, self._block.group, self._product.left.elem
        one, wide = Lanes(code, 1), Lanes(code, group)
        found = []
        for line in self._left:
            packed = code.constant(wide.shaped(elem), 0)
            for position in range(group - 1):
                at = code.add(code.mul(k, group), position)
                exists = code.compare("slt", at, self._product.depth)
                x = one.load_raw(*line.at(code, code.min(at, code.sub(self._product.depth, 1))), elem)
                if not isinstance(exists, bool):
                    x = code.value("arith.select", (exists, x, code.constant(x.type, 0)), x.type)
                elif not exists:
                    x = code.constant(x.type, 0)
                where = {"position": IntAttr(position, I64)}
                packed = code.value("vector.insert", (x, packed), packed.type, where)
            found.append(self._spread(packed))
        return found

    def _element(self, line: Line, k: Index) -> Lane:
        lanes = Lanes(self._code, 1)
        return operand(lanes, lanes.load(*line.at(self._code, k), self._product.left.elem))

    def _group(self, line: Line, k: Index) -> Value:
        lanes = Lanes(self._code, self._block.group)
        return lanes.load_raw(
            *line.at(self._code, self._code.mul(k, self._block.group)), self._product.left.elem
        )

    def _spread(self, group: Value) -> Lane:
        """A group of elements in every 32-bit lane."""
        code, elem = self._code, self._product.left.elem
        word = code.value("vector.bitcast", (group,), VectorType(1, I32))
        scalar = code.value("vector.extract", (word,), I32, {"position": IntAttr(0, I64)})
        words = code.value("vector.broadcast", (scalar,), VectorType(self._lanes.width, I32))
        if self._block.unsigned_left:
            signs = code.constant(words.type, _SIGN_BITS)
            words = code.value("arith.xori", (words, signs), words.type)
        type = VectorType(self._lanes.width * self._block.group, elem)
        return Lane(code.value("vector.bitcast", (words,), type), elem)

    def corrected(self, start: Sequence[Value]) -> list[Value]:
        """Accumulators that make up for the 128 by which every left element is too large."""
        code, right, vectors = self._code, self._product.right, self._block.vectors
        assert isinstance(right, Packed)
        type = VectorType(self._lanes.width, I32)
        sums = [code.value("vector.bitcast", (x.value,), type) for x in self.right(right.groups)]
        return [
            self._lanes.add(Lane(x, I32), Lane(sums[number % vectors], I32)).value
            for number, x in enumerate(start)
        ]

    def right(self, k: Index) -> list[Lane]:
        """The vectors of row (or group of rows) `k`."""
        code, right, group, width = self._code, self._product.right, self._block.group, self._lanes.width
        firsts = [number * width for number in range(self._block.vectors)]
        if not isinstance(right, Packed):
            line = right.line(code, k)
            return [self._in_place(line, right.elem, code.add(self._j, first)) for first in firsts]
        lanes = Lanes(code, width * group)
        start = code.mul(k, group * width * self._block.vectors)
        found = []
        for first in firsts:
            x = lanes.load_raw(self._panel, code.add(start, first * group), right.elem)
            found.append(Lane(x, right.elem))
        return found

    def _in_place(self, line: Line, elem: ScalarType, column: Index) -> Lane:
        limit = self._edge.columns
        mask = self._lanes.mask(self._code.sub(limit, column)) if limit is not None else None
        return operand(self._lanes, self._lanes.load(*line.at(self._code, column), elem, mask))


class _Strips:
    """Rows of a block in memory, `vectors` vectors wide, up to column `limit`."""

    def __init__(self, frame: Frame, lanes: Lanes, vectors: int, limit: Index | None) -> None:
        self._frame = frame
        self._code = frame.code
        self._lanes = lanes
        self._firsts = [number * lanes.width for number in range(vectors)]
        self._limit = limit

    def _is_direct(self, place: Place) -> bool:
        """Whether vectors can be read and written in place."""
        is_masked = self._limit is None or self._frame.has_masks(place.elem)
        return place.run % self._lanes.width == 0 and is_masked

    def _mask(self, column: Index) -> Value | None:
        return None if self._limit is None else self._lanes.mask(self._code.sub(self._limit, column))

    def read(self, place: Place, row: Index, j: Index) -> list[Lane]:
        """The vectors of a row from column `j` on; lanes beyond the limit hold anything."""
        line = place.line(self._code, row)
        if self._is_direct(place):
            columns = [self._code.add(j, first) for first in self._firsts]
            return [
                operand(self._lanes, self._lanes.load(*line.at(self._code, c), place.elem, self._mask(c)))
                for c in columns
            ]
        one = Lanes(self._code, 1)
        type = operand(one, one.load(*line.at(self._code, j), place.elem)).type
        buffer = self._buffer(type)

        def copy(c: Index) -> None:
            x = operand(one, one.load(*line.at(self._code, self._code.add(j, c)), place.elem))
            one.store(x, buffer, c, type)

        self._each(j, copy)
        return [self._lanes.load(buffer, first, type) for first in self._firsts]

    def write(self, row: Sequence[Lane], place: Place, at: Index, j: Index) -> None:
        """Round the vectors of a row to the place's element type and store them."""
        line = place.line(self._code, at)
        if self._is_direct(place):
            for x, first in zip(row, self._firsts, strict=True):
                column = self._code.add(j, first)
                self._lanes.store(x, *line.at(self._code, column), place.elem, self._mask(column))
            return
        type, one = row[0].type, Lanes(self._code, 1)
        buffer = self._buffer(type)
        for x, first in zip(row, self._firsts, strict=True):
            self._lanes.store(x, buffer, first, type)

        def copy(c: Index) -> None:
            x = one.load(buffer, c, type)
            one.store(x, *line.at(self._code, self._code.add(j, c)), place.elem)

        self._each(j, copy)

    def _each(self, j: Index, copy: Callable[[Index], None]) -> None:
        """Run `copy` for the columns of the block that exist."""
        count: Index = len(self._firsts) * self._lanes.width
        if self._limit is not None:
            count = self._code.min(count, self._code.sub(self._limit, j))
        self._code.loop(0, count, 1, lambda c, _: copy(c))

    def _buffer(self, type: ScalarType) -> Value:
        """Scratch for one row of a block."""
        size = len(self._firsts) * self._lanes.width * type.bytes
        return self._frame.memory(self._frame.shared("row of a block", size), type)
