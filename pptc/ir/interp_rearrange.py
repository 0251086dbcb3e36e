"""How the interpreter executes ops that put elements elsewhere: transposes, concatenations and padding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.lazy import np
from pptc.ir.opdef import ArgPartial, ArgReduce, Concatenate, Pad, Partial, Transpose
from pptc.ir.storage import Tile

Array = Any


def settle(frame: Frame, op: Op, target: Tile, values: Array) -> None:
    """Write a matrix to a tile of which nothing else is known then; scratch is spoilt before."""
    for operand in op.definition.operands:
        if frame.poison and operand.access == "scratch":
            for value in op.group(operand.name):
                frame.values[value].leave_unspecified(outside=False)
    if frame.poison and target.whole is target.type:
        target.leave_unspecified(outside=False)
    target.write(values)


def _transpose(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Transpose)
    source: Tile = frame.one(op, meaning.source)
    target: Tile = frame.one(op, meaning.destination)
    settle(frame, op, target, source.read(source.v_row, source.v_col).T)
    return None


def _concatenate(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Concatenate)
    left, right, target = (frame.one(op, name) for name in (meaning.left, meaning.right, meaning.destination))
    rows = target.v_row
    if meaning.counts is not None:
        return _concatenate_by_row(frame, op, meaning.counts, (left, right), target)
    parts = [part.read(rows, part.v_col) for part in (left, right)]
    settle(frame, op, target, np.concatenate(parts, axis=1))
    return None


def _concatenate_by_row(
    frame: Frame, op: Op, counts: tuple[str, str], parts: tuple[Tile, Tile], target: Tile
) -> Results:
    """As many columns of each row as its counts say, none beyond what the sources and dst hold."""
    room = target.type.cols
    numbers = [frame.one(op, name).read(target.v_row, 1)[:, 0] for name in counts]
    values = [part.read(target.v_row, part.v_col) for part in parts]
    settle(frame, op, target, np.empty((0, 0), values[0].dtype))
    for row in range(target.v_row):
        pieces = [
            value[row, : max(0, int(number[row]))] for value, number in zip(values, numbers, strict=True)
        ]
        target.write(np.concatenate(pieces)[None, :room], row)
    return None


def _pad(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Pad)
    source: Tile = frame.one(op, meaning.source)
    target: Tile = frame.one(op, meaning.destination)
    filler = np.full(
        (target.type.rows, target.type.cols),
        numeric.pad_value(target.type.elem, target.type.pad),
        numeric.dtype_of(target.type.elem),
    )
    filler[: source.v_row, : source.v_col] = source.read(source.v_row, source.v_col)
    target.write(filler)
    return None


def _partial(frame: Frame, op: Op) -> Results:
    first, second, target = (frame.one(op, name) for name in ("src0", "src1", "dst"))
    elem, reference = target.type.elem, op.definition.reference
    assert reference is not None
    made = np.zeros((target.v_row, target.v_col), numeric.dtype_of(elem))
    for tile in (first, second):
        made[: tile.v_row, : tile.v_col] = tile.read(tile.v_row, tile.v_col)
    rows, columns = min(first.v_row, second.v_row), min(first.v_col, second.v_col)
    both = [numeric.widen(tile.read(rows, columns), elem) for tile in (first, second)]
    made[:rows, :columns] = numeric.narrow(reference(*both), elem)
    settle(frame, op, target, made)
    return None


def _arg_partial(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, ArgPartial)
    first, second, one, two = (frame.one(op, name) for name in ("src0", "src1", "src0_idx", "src1_idx"))
    rows, columns = min(first.v_row, second.v_row), min(first.v_col, second.v_col)
    x, y = (numeric.widen(tile.read(rows, columns), tile.type.elem) for tile in (first, second))
    better = x > y if meaning.largest else x < y
    better = better | (np.isnan(x) & ~np.isnan(y)) if first.type.elem.is_float else better
    made = []
    for here, there, name in ((first, second, "dst"), (one, two, "dst_idx")):
        target: Tile = frame.one(op, name)
        values = np.zeros((target.v_row, target.v_col), numeric.dtype_of(target.type.elem))
        for tile in (here, there):
            values[: tile.v_row, : tile.v_col] = tile.read(tile.v_row, tile.v_col)
        values[:rows, :columns] = np.where(better, here.read(rows, columns), there.read(rows, columns))
        made.append((target, values))
    for target, values in made:
        settle(frame, op, target, values)
    return None


def _argument(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, ArgReduce)
    source: Tile = frame.one(op, "src")
    values = numeric.widen(source.read(source.v_row, source.v_col), source.type.elem)
    axis = int(meaning.of_rows)
    shape = [source.v_row, source.v_col]
    shape[axis] = 1
    found = np.zeros(shape, np.int64)
    if values.size:
        found = (np.argmax if meaning.largest else np.argmin)(values, axis).reshape(shape)
    target: Tile = frame.one(op, "dst")
    settle(frame, op, target, found.astype(numeric.dtype_of(target.type.elem)))
    return None


REARRANGEMENTS: Mapping[type, Handler] = MappingProxyType(
    {
        Transpose: _transpose,
        Concatenate: _concatenate,
        Pad: _pad,
        Partial: _partial,
        ArgPartial: _arg_partial,
        ArgReduce: _argument,
    }
)
