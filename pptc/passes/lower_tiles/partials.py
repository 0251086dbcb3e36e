"""Ops on the part that two tiles have in common: it is combined, and what only one of them has is copied."""

from __future__ import annotations

from collections.abc import Sequence

from pptc.ir.core import Op
from pptc.ir.opdef import ArgPartial, Partial, Spread
from pptc.passes.lower_tiles.arguments import wins
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.overlap import share_bytes
from pptc.passes.lower_tiles.rearrangement import assemble
from pptc.passes.lower_tiles.steps import Compute, Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile


def lower_partial(frame: Frame, op: Op) -> None:
    """Lower one op."""
    meaning = op.definition.meaning
    first, second, target = (frame.tiles[op.operand(name)] for name in ("src0", "src1", "dst"))
    if isinstance(meaning, ArgPartial):
        _numbers(frame, op, meaning.largest)
        _combine(frame, op, (first, second), target, (first, second), _better(meaning.largest, 0))
        return
    assert isinstance(meaning, Partial)
    recipe = meaning.recipe

    def compute(lanes: Lanes, values: Sequence[Lane]) -> Lane:
        result = recipe(lanes, *values)
        assert isinstance(result, Lane)
        return result

    _combine(frame, op, (first, second), target, (first, second), compute)


def _numbers(frame: Frame, op: Op, largest: bool) -> None:
    values, numbers = (
        tuple(frame.tiles[op.operand(f"src{place}{end}")] for place in (0, 1)) for end in ("", "_idx")
    )
    target = frame.tiles[op.operand("dst_idx")]
    if any(share_bytes(tile, target) for tile in values):
        raise frame.unsupported("dst_idx shares bytes with src0 or src1, which are read after it is written")
    _combine(frame, op, numbers, target, (*values, *numbers), _better(largest, 2))


def _better(largest: bool, chosen: int) -> Compute:
    """Of two sources from `chosen` on, the one whose value wins; the second where none does."""

    def compute(lanes: Lanes, values: Sequence[Lane]) -> Lane:
        first, second = values[chosen : chosen + 2]
        return lanes.select(wins(lanes, values[0], values[1], largest), first, second)

    return compute


def _combine(
    frame: Frame,
    op: Op,
    pair: tuple[Tile, ...],
    target: Tile,
    sources: Sequence[Tile],
    compute: Compute,
) -> None:
    """`compute` of the sources where both tiles of the pair are valid; what else they have is copied."""
    code = frame.code
    both = [code.min(a, b) for a, b in zip(*(tile.extents() for tile in pair), strict=True)]
    common = tuple(Source(Spread.FULL, tile) for tile in sources)
    pieces = [Step(op, common, target, both[0], both[1], compute)]
    for tile in pair:  # what it has to the right of the common part, and below
        rows, columns = tile.extents()
        for (row, column), (count, width) in (
            ((0, both[1]), (both[0], code.sub(columns, both[1]))),
            ((both[0], 0), (code.sub(rows, both[0]), columns)),
        ):
            shift = (row, column)
            own = (Source(Spread.FULL, tile, shift=shift),)
            pieces.append(Step(op, own, target, count, width, identity, shift=shift))
    assemble(frame, pieces, *target.extents())
