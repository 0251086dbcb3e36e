"""What the values of one row are while its code is made: lines in memory, scalars of the row, vectors of a block."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pptc.ir.core import Block, Value
from pptc.ir.opdef import Spread
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.graph import Node
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Line


@dataclass(eq=False)
class Columns:
    """A block of columns while it is evaluated: one vector from `start` on, or one element."""

    lanes: Lanes
    start: Index
    mask: Value | None
    phase: int
    known: dict[Node, Lane] = field(default_factory=dict)


class RowValues:
    """The values of row `row`."""

    def __init__(self, frame: Frame, row: Index) -> None:
        self.frame = frame
        self.code = frame.code
        self.row = row
        self._home: Block = frame.code.block
        self._scalars: dict[Node, Lane] = {}
        self._lines: dict[Node, Line] = {}

    # -- values that a row has once

    def hoisted(self) -> AbstractContextManager[None]:
        """In front of the column loop that the cursor is in."""
        return self.code.hoisted(self._home)

    def line(self, node: Node) -> Line:
        """The node's row in memory."""
        if node not in self._lines:
            assert node.place is not None
            with self.hoisted():
                self._lines[node] = node.place.line(self.code, 0 if node.first_row else self.row)
        return self._lines[node]

    def settle(self, node: Node, result: Lane) -> None:
        """Note what a row reduction gave."""
        self._scalars[node] = result

    def scalar(self, node: Node) -> Lane:
        """The node's value in column 0."""
        if node.scalar is not None:
            return node.scalar
        if node not in self._scalars:
            with self.hoisted():
                self._scalars[node] = self._scalar(node)
        return self._scalars[node]

    def _scalar(self, node: Node) -> Lane:
        lanes = Lanes(self.code, 1)
        if node.step is None:
            return lanes.load(*self.line(node).at(self.code, 0), node.elem)
        assert node.reduction is None, "a row reduction is asked for before its phase has run"
        values = [self.scalar(argument) for argument, _ in node.arguments]
        return lanes.rounded(node.step.compute(lanes, values), node.elem)

    # -- values of a block of columns

    def pull(self, node: Node, block: Columns, spread: Spread = Spread.FULL) -> Lane:
        """The node's value in a block of columns."""
        if node.is_column or spread is Spread.ROW:
            return block.lanes.splat(self.scalar(node))
        if node not in block.known:
            block.known[node] = self._pull(node, block)
        return block.known[node]

    def _pull(self, node: Node, block: Columns) -> Lane:
        if node.step is None or (node.place is not None and block.phase > node.phase):
            at = self.line(node).at(self.code, block.start)
            return block.lanes.load(*at, node.elem, block.mask)
        return block.lanes.rounded(self.computed(node, block), node.elem)

    def computed(self, node: Node, block: Columns) -> Lane:
        """The node's value before it is rounded to its element type; of a reduction, what it combines."""
        assert node.step is not None
        values = [self.pull(argument, block, spread) for argument, spread in node.arguments]
        return node.step.compute(block.lanes, values)
