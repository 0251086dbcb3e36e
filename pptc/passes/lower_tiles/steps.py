"""Steps: element work of one op in a uniform shape, read off the meaning of its row.

A step computes the elements of a region from matrices (tiles or views) and scalars. Loads, stores and moves are steps
whose recipe is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pptc.ir.core import Op
from pptc.ir.kinds import keywords, sources
from pptc.ir.opdef import Map, RowReduce, Spread, Window
from pptc.ir.types import ScalarType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Place
from pptc.passes.lower_tiles.tiles import Tile, View

Compute = Callable[[Lanes, Sequence[Lane]], Lane]


@dataclass(frozen=True)
class Source:
    """A matrix that a step reads, from element `shift` on, or a scalar."""

    spread: Spread
    matrix: Tile | View | None = None
    scalar: Lane | None = None
    shift: tuple[Index, Index] = (0, 0)

    def place(self, frame: Frame) -> Place:
        """Where the elements are."""
        assert self.matrix is not None
        return place_of(frame, self.matrix, self.shift)


@dataclass(frozen=True)
class Step:
    """`compute` of the sources for every element of `rows` x `columns`; with `reduction`, of whole rows.

    A reduction combines what `compute` gives along a row and writes column 0 of the destination.
    """

    op: Op
    sources: tuple[Source, ...]
    destination: Tile | View
    rows: Index
    columns: Index
    compute: Compute
    reduction: RowReduce | None = None
    shift: tuple[Index, Index] = (0, 0)

    @property
    def elem(self) -> ScalarType:
        """The destination's element type."""
        return self.destination.elem

    def place(self, frame: Frame) -> Place:
        """Where the results go."""
        return place_of(frame, self.destination, self.shift)


def place_of(frame: Frame, matrix: Tile | View, shift: tuple[Index, Index]) -> Place:
    """The place of a matrix, from an element on."""
    place = matrix.locate() if isinstance(matrix, Tile) else matrix.place
    return place if shift == (0, 0) else place.window(frame.code, *shift)


def shape_of(frame: Frame, matrix: Tile | View) -> tuple[Index, Index]:
    """The valid region of a tile, or the extents of a view."""
    return matrix.extents() if isinstance(matrix, Tile) else matrix.shape(frame.code)


def identity(lanes: Lanes, values: Sequence[Lane]) -> Lane:
    """The recipe of loads, stores and moves."""
    return values[0]


def step_of(frame: Frame, op: Op) -> Step | None:
    """The step of an op, or None when it is no element work on rows."""
    match op.definition.meaning:
        case Map() as meaning:
            return _map(frame, op, meaning)
        case RowReduce() as meaning:
            return _reduction(frame, op, meaning)
        case Window() as meaning:
            return _window(frame, op, meaning)
    return _transfer(frame, op) if op.name in ("pto.tload", "pto.tstore") else None


def _map(frame: Frame, op: Op, meaning: Map) -> Step:
    found = []
    for value, spread in sources(op, meaning):
        if spread is Spread.SCALAR:
            found.append(Source(spread, scalar=frame.lane(value)))
        else:
            found.append(Source(spread, frame.matrix(value)))
    words = keywords(op, meaning)

    def compute(lanes: Lanes, values: Sequence[Lane]) -> Lane:
        result = meaning.recipe(lanes, *values, **words)
        assert isinstance(result, Lane)
        return result

    destination = frame.matrix(op.operand(meaning.destination))
    return Step(op, tuple(found), destination, *shape_of(frame, destination), compute)


def _reduction(frame: Frame, op: Op, meaning: RowReduce) -> Step:
    source = frame.matrix(op.operand(meaning.source))
    destination = frame.matrix(op.operand(meaning.destination))
    rows, columns = shape_of(frame, source)
    return Step(op, (Source(Spread.FULL, source),), destination, rows, columns, identity, meaning)


def _window(frame: Frame, op: Op, meaning: Window) -> Step:
    source, destination = (
        frame.matrix(op.operand(meaning.source)),
        frame.matrix(op.operand(meaning.destination)),
    )
    shift = frame.index(op.operand(meaning.row)), frame.index(op.operand(meaning.column))
    shape = shape_of(frame, source if meaning.into else destination)
    here = Source(Spread.FULL, source, shift=(0, 0) if meaning.into else shift)
    return Step(op, (here,), destination, *shape, identity, shift=shift if meaning.into else (0, 0))


def _transfer(frame: Frame, op: Op) -> Step:
    """tload and tstore move what both the partition and the tile's valid region hold."""
    source, destination = frame.matrix(op.operand("src")), frame.matrix(op.operand("dst"))
    shapes = shape_of(frame, source), shape_of(frame, destination)
    rows, columns = (frame.code.min(a, b) for a, b in zip(*shapes, strict=True))
    return Step(op, (Source(Spread.FULL, source),), destination, rows, columns, identity)
