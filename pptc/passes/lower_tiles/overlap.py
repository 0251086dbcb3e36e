"""Ops whose destination shares bytes with a source: an op reads all of its sources before it writes.

In place, element by element, that needs nothing. Anything else goes by way of a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from pptc.ir.core import Op
from pptc.ir.opdef import Spread
from pptc.passes.homes import arena_bytes
from pptc.passes.lower_tiles import elements
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.places import Place
from pptc.passes.lower_tiles.steps import Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile, View


def lower_apart(frame: Frame, step: Step, lower: Callable[[Frame, Step], None]) -> None:
    """Lower a step by `lower`; by way of a copy where its destination may change what it still has to read."""
    target = step.destination
    if not isinstance(target, Tile) or not any(_is_changed(source, step) for source in step.sources):
        lower(frame, step)
        return
    columns = 1 if step.reduction else step.columns
    copy = staging(frame, target)
    copy = replace(copy, extents=(step.rows, columns))
    lower(frame, replace(step, destination=copy, shift=(0, 0)))
    source = (Source(Spread.FULL, copy),)
    lower(frame, Step(step.op, source, target, step.rows, columns, identity, shift=step.shift))


def destination(
    frame: Frame, op: Op, sources: Iterable[Tile], target: Tile, extents: tuple[Index, Index]
) -> tuple[Place, Callable[[], None]]:
    """Where an op puts its results, and what brings `extents` of them into the target when all sources are read."""
    if not any(share_bytes(tile, target) for tile in sources):
        return target.locate(), lambda: None
    copy = staging(frame, target)
    step = Step(op, (Source(Spread.FULL, copy),), target, *extents, identity)
    return copy.place, lambda: elements.lower_step(frame, step)


def staging(frame: Frame, tile: Tile) -> View:
    """Scratch for the elements of a tile, row by row, until the end of the op."""
    type = tile.type
    start = frame.shared("copy of a tile", type.rows * type.cols * type.elem.bytes)
    return View(frame.memory(start, type.elem), type.elem, (type.rows, type.cols), (type.cols, 1))


def _is_changed(source: Source, step: Step) -> bool:
    tile, target = source.matrix, step.destination
    if not isinstance(tile, Tile) or not isinstance(target, Tile) or not share_bytes(tile, target):
        return False
    in_place = source.spread is Spread.FULL and step.reduction is None and source.shift == step.shift
    return not (in_place and same_places(tile, target))


def share_bytes(a: Tile, b: Tile) -> bool:
    """Whether two tiles may have bytes in common."""
    if a.start is None or b.start is None or _are_apart(a, b):
        return False
    if isinstance(a.start, int) and isinstance(b.start, int):
        return a.start < b.start + _size(b) and b.start < a.start + _size(a)
    return not (a.private or b.private) and a.type.space == b.type.space


def _are_apart(a: Tile, b: Tile) -> bool:
    """True for windows of one tile that have no row or no column in common."""
    if a.start != b.start or _layout(a) != _layout(b):
        return False
    sides = zip(a.shift, (a.type.rows, a.type.cols), b.shift, (b.type.rows, b.type.cols), strict=True)
    return any(_end_before(x, m, y) or _end_before(y, n, x) for x, m, y, n in sides)


def _end_before(first: Index, count: int, other: Index) -> bool:
    return isinstance(first, int) and isinstance(other, int) and first + count <= other


def _size(tile: Tile) -> int:
    return arena_bytes(tile.physical, tile.private)


def same_places(a: Tile, b: Tile) -> bool:
    """Whether elements with the same row and column are the same bytes."""
    return (a.start, a.shift, _layout(a)) == (b.start, b.shift, _layout(b))


def _layout(tile: Tile) -> tuple[object, ...]:
    type = tile.physical
    return type.elem.bytes, type.rows, type.cols, type.blayout, type.slayout, type.fractal
