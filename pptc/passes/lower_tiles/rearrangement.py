"""Ops that put elements elsewhere: each is a few copies and fills of windows of its destination.

An op reads all of its sources before it writes: where the destination may change what is still to be read, everything
is put together in scratch first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pptc.ir import numeric
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Concatenate, Pad, Spread, Transpose
from pptc.ir.scalars import compute_type
from pptc.ir.types import INDEX
from pptc.passes.lower_tiles import elements, rows
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lanes
from pptc.passes.lower_tiles.overlap import same_places, share_bytes, staging
from pptc.passes.lower_tiles.places import Line
from pptc.passes.lower_tiles.steps import Source, Step, identity
from pptc.passes.lower_tiles.tiles import Tile
from pptc.passes.lower_tiles.transposition import turn


def lower_rearrangement(frame: Frame, op: Op) -> None:
    """Lower one op."""
    match op.definition.meaning:
        case Transpose() as meaning:
            _transpose(frame, op, meaning)
        case Concatenate() as meaning:
            _concatenate(frame, op, meaning)
        case Pad() as meaning:
            _pad(frame, op, meaning)


def _lower(frame: Frame, step: Step) -> None:
    (rows.lower_step if frame.options.vectors else elements.lower_step)(frame, step)


def assemble(frame: Frame, pieces: Sequence[Step], height: Index, width: Index) -> None:
    """Write pieces that cover `height` x `width` elements of one tile."""
    target = pieces[0].destination
    assert isinstance(target, Tile)
    sources = [source.matrix for piece in pieces for source in piece.sources]
    if not any(isinstance(tile, Tile) and share_bytes(tile, target) for tile in sources):
        for piece in pieces:
            _lower(frame, piece)
        return
    copy = staging(frame, target)
    for piece in pieces:
        _lower(frame, replace(piece, destination=copy))
    _lower(frame, Step(pieces[0].op, (Source(Spread.FULL, copy),), target, height, width, identity))


def _concatenate(frame: Frame, op: Op, meaning: Concatenate) -> None:
    left, right, target = (
        frame.tiles[op.operand(name)] for name in (meaning.left, meaning.right, meaning.destination)
    )
    height, _ = target.extents()
    if meaning.counts is not None:
        _concatenate_by_row(frame, op, meaning.counts, (left, right), target)
        return
    (_, first), (_, second) = left.extents(), right.extents()
    pieces = [
        Step(op, (Source(Spread.FULL, left),), target, height, first, identity),
        Step(op, (Source(Spread.FULL, right),), target, height, second, identity, shift=(0, first)),
    ]
    assemble(frame, pieces, height, frame.code.add(first, second))


def _concatenate_by_row(
    frame: Frame, op: Op, counts: tuple[str, str], parts: tuple[Tile, Tile], target: Tile
) -> None:
    """As many columns of each row as its counts say, none beyond what the sources and dst hold."""
    code, room = frame.code, target.type.cols
    numbers = [frame.tiles[op.operand(name)] for name in counts]
    shared = any(share_bytes(tile, target) for tile in (*parts, *numbers))
    copy = staging(frame, target) if shared else None
    place = copy.place if copy else target.locate()
    height, _ = target.extents()

    def row(r: Index, _: list[Value]) -> None:
        out: Line = place.line(code, r)
        first: Index = 0
        for part, number in zip(parts, numbers, strict=True):
            most = code.min(part.extents()[1], code.sub(room, first))
            count = code.max(0, code.min(_count(frame, number, r), most))
            _copy_columns(frame, part, r, out, first, count)
            first = code.add(first, count)

    code.loop(0, height, 1, row)
    if copy:
        _lower(frame, Step(op, (Source(Spread.FULL, copy),), target, height, room, identity))


def _count(frame: Frame, tile: Tile, row: Index) -> Index:
    """Column 0 of a row of an integer tile, as an index."""
    code, lanes = frame.code, Lanes(frame.code, 1)
    x = lanes.load(*tile.locate().line(code, row).at(code, 0), tile.elem)
    return code.value("arith.index_cast", (x.value,), INDEX)


def _copy_columns(frame: Frame, part: Tile, row: Index, out: Line, first: Index, count: Index) -> None:
    code, lanes, line = frame.code, Lanes(frame.code, 1), part.locate().line(frame.code, row)

    def column(c: Index, _: list[Value]) -> None:
        x = lanes.load(*line.at(code, c), part.elem)
        lanes.store(x, *out.at(code, code.add(first, c)), part.elem)

    code.loop(0, count, 1, column)


def _pad(frame: Frame, op: Op, meaning: Pad) -> None:
    source, target = (frame.tiles[op.operand(name)] for name in (meaning.source, meaning.destination))
    (height, width), type = source.extents(), target.type
    elem = compute_type(type.elem)
    filler = (
        Source(
            Spread.SCALAR, scalar=Lanes(frame.code, 1).constant(numeric.pad_value(type.elem, type.pad), elem)
        ),
    )
    code = frame.code
    rest = [
        Step(op, filler, target, height, code.sub(type.cols, width), identity, shift=(0, width)),
        Step(op, filler, target, code.sub(type.rows, height), type.cols, identity, shift=(height, 0)),
    ]
    if share_bytes(source, target) and same_places(source, target):
        for piece in rest:
            _lower(frame, piece)
        return
    kept = Step(op, (Source(Spread.FULL, source),), target, height, width, identity)
    assemble(frame, [kept, *rest], type.rows, type.cols)


def _transpose(frame: Frame, op: Op, meaning: Transpose) -> None:
    source, target = (frame.tiles[op.operand(name)] for name in (meaning.source, meaning.destination))
    height, width = source.extents()
    if not share_bytes(source, target):
        turn(frame, source, target.locate(), height, width)
        return
    copy = staging(frame, target)
    turn(frame, source, copy.place, height, width)
    _lower(frame, Step(op, (Source(Spread.FULL, copy),), target, width, height, identity))
