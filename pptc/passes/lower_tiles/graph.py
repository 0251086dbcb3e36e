"""The values of a row as a graph: what is read, what is computed from what, and what has bytes of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pptc.ir.core import Op
from pptc.ir.opdef import RowReduce, Spread
from pptc.ir.types import ScalarType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane
from pptc.passes.lower_tiles.places import Place
from pptc.passes.lower_tiles.steps import Source, Step
from pptc.passes.lower_tiles.tiles import Tile, View, buffer_strides


@dataclass(eq=False)
class Node:
    """A value of the row: read from `place` (when `step` is None), given as a `scalar`, or computed by a step."""

    elem: ScalarType
    is_column: bool
    phase: int = 0
    step: Step | None = None
    arguments: tuple[tuple[Node, Spread], ...] = ()
    place: Place | None = None
    first_row: bool = False  # the place is read in row 0 whatever the row
    scalar: Lane | None = None

    @property
    def reduction(self) -> RowReduce | None:
        """The row reduction that makes it."""
        return self.step.reduction if self.step else None


def nodes_of(frame: Frame, steps: Sequence[Step], phases: Mapping[Op, int]) -> list[Node]:
    """The nodes of the steps in order; an op without a phase belongs to the first."""
    latest: dict[object, Node] = {}
    made = []
    for step in steps:
        arguments = tuple((_source(frame, latest, source), source.spread) for source in step.sources)
        is_column = step.reduction is not None or step.columns == 1
        node = Node(step.elem, is_column, phases.get(step.op, 0), step, arguments)
        if _has_bytes(step):
            node.place = step.place(frame)
        latest[_key(frame, step.destination, step.shift)] = node
        made.append(node)
    return made


def _source(frame: Frame, latest: dict[object, Node], source: Source) -> Node:
    if source.scalar is not None:
        return Node(source.scalar.type, True, scalar=source.scalar)
    matrix = source.matrix
    assert matrix is not None
    key = _key(frame, matrix, source.shift)
    if key in latest:
        return latest[key]
    first_row = source.spread is Spread.COLUMN
    known = (key, first_row)
    if known not in latest:
        is_column = isinstance(matrix, Tile) and matrix.is_column
        latest[known] = Node(matrix.elem, is_column, place=source.place(frame), first_row=first_row)
    return latest[known]


def _key(frame: Frame, matrix: Tile | View, shift: tuple[Index, Index]) -> object:
    """Equal for handles of the same elements.

    That is the same window of one view or root, or the same first byte and the same steps from row to row and from
    column to column, as far as the handle has several.
    """
    if isinstance(matrix, View):
        return matrix, shift
    first_byte = matrix.first_byte(frame.code)
    if first_byte is None:
        return matrix.root, matrix.shift, matrix.elem, shift
    strides = buffer_strides(matrix.physical, matrix.private) or (matrix.physical, matrix.physical)
    shape = matrix.type.rows, matrix.type.cols
    steps = (None if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True))
    return first_byte, *steps, matrix.elem, shift


def _has_bytes(step: Step) -> bool:
    return not (isinstance(step.destination, Tile) and step.destination.home == "register")
