"""The column loop of one phase: several vectors per trip, then what is left by masks or element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pptc.ir.core import Value
from pptc.ir.scalars import compute_type
from pptc.ir.types import INDEX, ScalarType
from pptc.passes.homes import STREAMED
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.graph import Node
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Strided
from pptc.passes.lower_tiles.reductions import Accumulator, accumulator
from pptc.passes.lower_tiles.row_values import Columns, RowValues

_LINE_BYTES = 64
_LEAST_STREAM_BYTES = 16


class ColumnLoop:
    """Sinks of one phase that share their number of columns: stores of vectors, and row reductions.

    `fetched` are places that the next row will read: they are asked for on the way.
    """

    def __init__(
        self, row: RowValues, phase: int, span: Index, sinks: Sequence[Node], fetched: Sequence[Node] = ()
    ) -> None:
        self._row = row
        self._code = row.code
        self._phase = phase
        self._span = span
        self._stores = [node for node in sinks if node.reduction is None]
        self._reductions = [node for node in sinks if node.reduction is not None]
        read = list(_read(sinks, phase))
        places = [node.place for node in [*read, *self._stores] if node.place is not None]
        bits = max(compute_type(node.elem).bits for node in [*read, *sinks])
        self._width = row.frame.lanes_over(bits, places)
        self._masks = row.frame.has_masks(*(place.elem for place in places))
        self._fetched = fetched
        self._streamed = next(filter(self._may_stream, self._stores), None)
        row.frame.streams |= self._streamed is not None

    def _may_stream(self, node: Node) -> bool:
        """Whether a store passes the caches: vectors of at least 16 bytes that lie side by side do."""
        return (
            node.step is not None
            and STREAMED in node.step.op.attributes
            and isinstance(node.place, Strided)
            and self._width * node.elem.bytes >= _LEAST_STREAM_BYTES
        )

    # -- the loops

    def run(self) -> dict[Node, Lane]:
        """Emit the loops; gives the results of the reductions."""
        code, width, span, first = self._code, self._width, self._span, self._first_column()
        done, carried = self._unrolled(first)
        if width > 1 and self._masks and not (isinstance(span, int) and first == 0 and span % width == 0):
            carried = code.loop(done, span, width, lambda c, a: self._step(c, a, width, limit=span), carried)
            carried = code.loop(0, first, width, lambda c, a: self._step(c, a, width, limit=first), carried)
            return self._results(self._totals(carried))
        whole = code.add(first, code.floor(code.sub(span, first), width))
        carried = code.loop(done, whole, width, lambda c, a: self._step(c, a, width), carried)
        totals = self._totals(carried)
        if width > 1:
            totals = code.loop(whole, span, 1, lambda c, a: self._step(c, a, 1), totals)
            totals = code.loop(0, first, 1, lambda c, a: self._step(c, a, 1), totals)
        return self._results(totals)

    def _first_column(self) -> Index:
        """The first column of whole vectors: those of a streamed store begin at a multiple of their size."""
        if self._streamed is None:
            return 0
        code, elem = self._code, self._streamed.elem
        memory, start = self._row.line(self._streamed).at(code, 0)
        base = code.value("memref.extract_aligned_pointer_as_index", (memory,), INDEX)
        size = self._width * elem.bytes
        past = code.rem_natural(code.add(base, code.mul(start, elem.bytes)), size)
        missing = code.rem_natural(code.sub(size, past), size)
        return code.min(code.div_natural(missing, elem.bytes), self._span)

    def _unrolled(self, first: Index) -> tuple[Index, list[Value]]:
        """The loop of several vectors per trip from column `first` on; gives the first column after it."""
        unroll, width, span = self._row.frame.options.unroll, self._width, self._span
        while isinstance(span, int) and unroll > 1 and span < unroll * width:
            unroll //= 2
        if unroll == 1 or width == 1:
            return first, [x for sums in self._accumulators(width) for x in sums.start(1)]
        code, stride = self._code, unroll * width
        start = [x for sums in self._accumulators(width) for x in sums.start(unroll)]
        done = code.add(first, code.floor(code.sub(span, first), stride))
        wide = code.loop(first, done, stride, lambda c, a: self._step(c, a, width, unroll), start)
        sums = self._accumulators(width)
        return done, [
            x
            for part, own in zip(sums, self._split(wide, width, unroll), strict=True)
            for x in part.joined(own)
        ]

    def _step(
        self,
        column: Index,
        carried: Sequence[Value],
        width: int,
        unroll: int = 1,
        limit: Index | None = None,
    ) -> list[Value]:
        """`unroll` vectors from `column` on, of columns below `limit`: all is computed before anything is stored."""
        lanes, code = self._lanes(width), self._code
        blocks = []
        for number in range(unroll):
            here = code.add(column, number * width)
            mask = None if limit is None else lanes.mask(code.sub(limit, here))
            blocks.append(Columns(lanes, here, mask, self._phase))
        self._fetch(column, unroll * width)
        values = [[self._row.pull(node, block) for node in self._stores] for block in blocks]
        following: list[Value] = []
        sums = self._accumulators(width)
        for node, part, own in zip(self._reductions, sums, self._split(carried, width, unroll), strict=True):
            following += part.add(own, [self._element(node, block) for block in blocks])
        for block, row in zip(blocks, values, strict=True):
            for node, x in zip(self._stores, row, strict=True):
                place = self._row.line(node).at(code, block.start)
                lanes.store(x, *place, node.elem, block.mask, node is self._streamed)
        return following

    def _fetch(self, column: Index, count: int) -> None:
        """Ask for the cache lines of these columns in the next row; blocks of less than a line leave it to others."""
        for node in self._fetched:
            assert isinstance(node.place, Strided) and node.place.ahead is not None
            for first in range(0, count, _LINE_BYTES // node.elem.bytes):
                if (count - first) * node.elem.bytes >= _LINE_BYTES:
                    memory, index = self._row.line(node).at(self._code, self._code.add(column, first))
                    index = self._code.add(index, node.place.ahead)
                    self._code.create("memref.prefetch", (memory, self._code.index(index)))

    def _lanes(self, width: int) -> Lanes:
        """Lanes whose invariant values are made in front of the loop."""
        return Lanes(self._code, width, self._row.frame.options.reciprocal, self._row.hoisted)

    # -- reductions

    def _accumulators(self, width: int) -> list[Accumulator]:
        lanes = self._lanes(width)
        return [
            accumulator(lanes, node.reduction, _sum_type(node)) for node in self._reductions if node.reduction
        ]

    def _split(self, carried: Sequence[Value], width: int, count: int) -> list[Sequence[Value]]:
        """The carried values of each reduction that has `count` partial results."""
        found, start = [], 0
        for sums in self._accumulators(width):
            found.append(carried[start : start + count + sums.extra])
            start += count + sums.extra
        return found

    def _element(self, node: Node, block: Columns) -> Lane:
        """What a reduction takes in; the identity where a column does not exist."""
        x = self._row.computed(node, block)
        if block.mask is None or node.reduction is None:
            return x
        neutral = block.lanes.constant(node.reduction.identity(x.type), x.type)
        return block.lanes.select(Lane(block.mask, x.type), x, neutral)

    def _totals(self, carried: Sequence[Value]) -> list[Value]:
        """One element each of the carried vectors."""
        if self._width == 1:
            return list(carried)
        sums = self._accumulators(self._width)
        return [
            part.total(own).value
            for part, own in zip(sums, self._split(carried, self._width, 1), strict=True)
        ]

    def _results(self, totals: Sequence[Value]) -> dict[Node, Lane]:
        lanes = self._lanes(1)
        return {
            node: lanes.rounded(Lane(x, _sum_type(node)), node.elem)
            for node, x in zip(self._reductions, totals, strict=True)
        }


def _sum_type(node: Node) -> ScalarType:
    """The type that a reduction accumulates in."""
    return compute_type(node.arguments[0][0].elem)


def _read(sinks: Sequence[Node], phase: int) -> Iterator[Node]:
    """The nodes that the sinks' vectors are computed from, reads of memory included."""
    pending = [argument for sink in sinks for argument, _ in sink.arguments]
    seen: dict[Node, None] = {}
    while pending:
        node = pending.pop()
        if node in seen or node.is_column:
            continue
        seen[node] = None
        if node.step is None or (node.place is not None and phase > node.phase):
            yield node
        else:
            pending += [argument for argument, _ in node.arguments]
