"""The tiles of a matrix product."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pptc.ir.core import Op
from pptc.ir.opdef import Contract, Spread
from pptc.passes.lower_tiles import elements
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.overlap import same_places, share_bytes, staging
from pptc.passes.lower_tiles.steps import Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile


@dataclass(frozen=True)
class Operands:
    """target = left x right, plus `start` (a tile of the target's shape) or `bias` (one row)."""

    left: Tile
    right: Tile
    target: Tile
    start: Tile | None
    bias: Tile | None


def operands_of(frame: Frame, op: Op, meaning: Contract) -> Operands:
    """The tiles of a contraction. A start that the target overwrites at other places is copied first."""
    names = (meaning.lhs, meaning.rhs, meaning.destination)
    left, right, target = (frame.tiles[op.operand(name)] for name in names)
    start, bias = (frame.tiles[op.operand(n)] if n else None for n in (meaning.start, meaning.bias))
    if start is not None and share_bytes(start, target) and not same_places(start, target):
        start = _copied(frame, op, start, target)
    return Operands(left, right, target, start, bias)


def _copied(frame: Frame, op: Op, start: Tile, target: Tile) -> Tile:
    copy = staging(frame, start)
    step = Step(op, (Source(Spread.FULL, start),), copy, *target.extents(), identity)
    elements.lower_step(frame, step)
    return replace(start, locate=lambda: copy.place, start=None, origin=start)
