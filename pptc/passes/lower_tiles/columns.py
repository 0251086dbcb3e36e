"""The column loop of one phase: several vectors per trip, then what is left by masks or element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pptc.ir.core import Value
from pptc.ir.scalars import compute_type
from pptc.ir.types import ScalarType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.graph import Node
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Place
from pptc.passes.lower_tiles.row_values import Columns, RowValues

_LEAST_WIDTH = 4
"""Shorter runs of neighbours are not worth vectors."""


class ColumnLoop:
    """Sinks of one phase that share their number of columns: stores of vectors, and row reductions."""

    def __init__(self, row: RowValues, phase: int, span: Index, sinks: Sequence[Node]) -> None:
        self._row = row
        self._code = row.code
        self._phase = phase
        self._span = span
        self._stores = [node for node in sinks if node.reduction is None]
        self._reductions = [node for node in sinks if node.reduction is not None]
        read = list(_read(sinks, phase))
        places = [node.place for node in [*read, *self._stores] if node.place is not None]
        self._width = self._lanes_at_once([*read, *sinks], places)
        self._masks = self._has_masks(places)

    def _lanes_at_once(self, nodes: Sequence[Node], places: Sequence[Place]) -> int:
        """As many lanes as fill a register with the widest element, and as lie side by side everywhere."""
        frame = self._row.frame
        if not frame.options.vectors:
            return 1
        width = frame.machine.lanes(max(compute_type(node.elem).bits for node in nodes))
        for place in places:
            width = min(width, place.run & -place.run)
        return width if width >= _LEAST_WIDTH else 1

    def _has_masks(self, places: Sequence[Place]) -> bool:
        native = self._row.frame.machine.native
        return "mask.8" in native or ("mask.32" in native and all(p.elem.bits >= 32 for p in places))

    # -- the loops

    def run(self) -> dict[Node, Lane]:
        """Emit the loops; gives the results of the reductions."""
        code, width, span = self._code, self._width, self._span
        accumulators = [self._start(node) for node in self._reductions]
        done, accumulators = self._unrolled(accumulators)
        if width > 1 and self._masks and not (isinstance(span, int) and span % width == 0):
            accumulators = code.loop(
                done, span, width, lambda c, a: self._step(c, a, width, masked=True), accumulators
            )
            return self._results(self._horizontal(accumulators))
        whole = code.floor(span, width)
        accumulators = code.loop(done, whole, width, lambda c, a: self._step(c, a, width), accumulators)
        accumulators = self._horizontal(accumulators)
        if width > 1:
            accumulators = code.loop(whole, span, 1, lambda c, a: self._step(c, a, 1), accumulators)
        return self._results(accumulators)

    def _unrolled(self, accumulators: list[Value]) -> tuple[Index, list[Value]]:
        """The loop of several vectors per trip; gives the first column after it."""
        unroll, span = self._row.frame.options.unroll, self._span
        while isinstance(span, int) and unroll > 1 and span < unroll * self._width:
            unroll //= 2
        if unroll == 1 or self._width == 1:
            return 0, accumulators
        stride = unroll * self._width
        spread = [x for x in accumulators for _ in range(unroll)]
        done = self._code.floor(span, stride)
        wide = self._code.loop(0, done, stride, lambda c, a: self._step(c, a, self._width, unroll), spread)
        return done, [
            self._joined(node, wide[index * unroll : (index + 1) * unroll])
            for index, node in enumerate(self._reductions)
        ]

    def _step(
        self, column: Index, accumulators: Sequence[Value], width: int, unroll: int = 1, masked: bool = False
    ) -> list[Value]:
        """`unroll` vectors from `column` on: everything is computed before anything is stored."""
        lanes, code = self._lanes(width), self._code
        blocks = []
        for number in range(unroll):
            here = code.add(column, number * width)
            mask = lanes.mask(code.sub(self._span, here)) if masked else None
            blocks.append(Columns(lanes, here, mask, self._phase))
        values = [[self._row.pull(node, block) for node in self._stores] for block in blocks]
        following = [
            self._combined(node, accumulators[index * unroll + number], block)
            for index, node in enumerate(self._reductions)
            for number, block in enumerate(blocks)
        ]
        for block, row in zip(blocks, values, strict=True):
            for node, x in zip(self._stores, row, strict=True):
                lanes.store(x, *self._row.line(node).at(code, block.start), node.elem, block.mask)
        return following

    def _lanes(self, width: int) -> Lanes:
        """Lanes whose invariant values are made in front of the loop."""
        return Lanes(self._code, width, self._row.frame.options.reciprocal, self._row.hoisted)

    # -- reductions

    def _start(self, node: Node) -> Value:
        assert node.reduction is not None
        type = _sum_type(node)
        return self._lanes(self._width).constant(node.reduction.identity(type), type).value

    def _combined(self, node: Node, accumulator: Value, block: Columns) -> Value:
        assert node.reduction is not None
        old = Lane(accumulator, _sum_type(node))
        new: Lane = node.reduction.combine(block.lanes, old, self._row.computed(node, block))
        if block.mask is not None:
            new = block.lanes.select(Lane(block.mask, new.type), new, old)
        return new.value

    def _joined(self, node: Node, accumulators: Sequence[Value]) -> Value:
        """The accumulators of the unrolled vectors, combined pair by pair."""
        assert node.reduction is not None
        lanes, type = self._lanes(self._width), _sum_type(node)
        parts = [Lane(x, type) for x in accumulators]
        while len(parts) > 1:
            parts = [
                node.reduction.combine(lanes, *parts[i : i + 2]) if i + 1 < len(parts) else parts[i]
                for i in range(0, len(parts), 2)
            ]
        return parts[0].value

    def _horizontal(self, accumulators: Sequence[Value]) -> list[Value]:
        """One element each of the accumulators' vectors."""
        if self._width == 1:
            return list(accumulators)
        return [
            self._lanes(1).reduced(Lane(x, _sum_type(node)), node.reduction.kind).value
            for node, x in zip(self._reductions, accumulators, strict=True)
            if node.reduction is not None
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
