"""How the interpreter picks elements, sorts them with their numbers, and merges what is sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.interp_rearrange import settle
from pptc.ir.kinds import kept_places
from pptc.ir.lazy import np
from pptc.ir.opdef import Merge, Pick, SortRuns
from pptc.ir.storage import Tile

Array = Any

_RUN = 32


def _pick(frame: Frame, op: Op) -> Results:
    source: Tile = frame.one(op, "src")
    target: Tile = frame.one(op, "dst")
    meaning = op.definition.meaning
    assert isinstance(meaning, Pick)
    if op.group(meaning.numbers):
        all_elements = source.read(source.type.rows, source.type.cols).reshape(-1)
        numbers = frame.one(op, meaning.numbers).read(target.v_row, target.v_col).astype(np.int64)
        numbers //= source.type.elem.bytes if meaning.in_bytes else 1
        settle(frame, op, target, all_elements[np.clip(numbers, 0, len(all_elements) - 1)])
        return None
    places = kept_places(op)
    columns = [column for column in range(source.v_col) if column % 4 in places][: target.v_col]
    settle(frame, op, target, source.read(target.v_row, source.v_col)[:, columns])
    return None


def _order(values: Array) -> Array:
    """Places from the largest value down; equal ones in order, NaN last."""
    wide = values.astype(np.float64)
    return np.lexsort((np.arange(len(wide)), -np.where(np.isnan(wide), 0, wide), np.isnan(wide)))


def _pairs(values: Array, numbers: Array) -> Array:
    """Pairs of 8 bytes as elements of the values' type."""
    made = np.zeros((len(values), 8), np.uint8)
    made[:, : values.itemsize] = values.view(np.uint8).reshape(len(values), values.itemsize)
    made[:, 4:] = np.ascontiguousarray(numbers).view(np.uint8).reshape(len(values), 4)
    return made.reshape(-1).view(values.dtype)


def _sort(frame: Frame, op: Op) -> Results:
    source: Tile = frame.one(op, "src")
    values = source.read(source.v_row, source.v_col)
    numbers = frame.one(op, "idx").read(source.v_row, source.v_col)
    target: Tile = frame.one(op, "dst")
    rows = []
    for value, number in zip(values, numbers, strict=True):
        parts = [slice(first, first + _RUN) for first in range(0, len(value), _RUN)]
        orders = [part.start + _order(value[part]) for part in parts]
        order = np.concatenate(orders) if orders else np.zeros(0, np.int64)
        rows.append(_pairs(np.ascontiguousarray(value[order]), number[order]))
    settle(frame, op, target, np.array(rows).reshape(len(rows), -1).astype(values.dtype, copy=False))
    return None


def _merged(runs: Sequence[Array], slots: int) -> Array:
    """One sorted list of the pairs of several."""
    pairs = np.concatenate(runs).reshape(-1, slots)
    return pairs[_order(pairs[:, 0])].reshape(-1)


def _merge(frame: Frame, op: Op) -> Results:
    lists: list[Array] = [
        frame.values[value].read(1, frame.values[value].v_col)[0] for value in op.group("srcs")
    ]
    slots = 8 // lists[0].itemsize
    length = frame.one(op, "blockLen")
    if length is None:
        made = _merged(lists, slots)
    else:
        step = max(int(length), slots)
        whole = lists[0]
        groups = [whole[first : first + 4 * step] for first in range(0, len(whole), 4 * step)]
        made = np.concatenate([_merged([group], slots) for group in groups])
    settle(frame, op, frame.one(op, "dst"), made[None, :])
    return None


SORTS: Mapping[type, Handler] = MappingProxyType({Pick: _pick, SortRuns: _sort, Merge: _merge})
