"""How the interpreter reaches elements by numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.interp_rearrange import settle
from pptc.ir.kinds import attribute, by_rows, plain
from pptc.ir.lazy import np
from pptc.ir.opdef import MemoryGather, MemoryScatter, Scatter
from pptc.ir.storage import Tile, View

Array = Any


_COMBINE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"add": lambda x, y: x + y, "max": numeric.maximum, "min": numeric.minimum}
)


def _held(numbers: Array, count: int, mode: str) -> tuple[Array, Array]:
    """Numbers held in range, and which of them stand for something."""
    numbers = numbers.astype(np.int64)
    valid = np.full(numbers.shape, count > 0)
    if mode == "wrap":
        return numbers % max(count, 1), valid
    if mode in ("zero", "skip"):
        valid &= (numbers >= 0) & (numbers < count)
    return np.clip(numbers, 0, max(count - 1, 0)), valid


def _places(op: Op, numbers: Tile, rows: int, columns: int, view: View, mode: str) -> tuple[Array, Array]:
    """For each of rows x columns elements: its place among the view's, and whether it has one."""
    height, width = view.extents
    if by_rows(op):
        flat = numbers.read(numbers.v_row, numbers.v_col).reshape(-1)[:rows]
        row, valid = _held(flat, height, mode)
        places = row[:, None] * width + np.arange(columns)
        return places, np.broadcast_to(valid[:, None], places.shape)
    return _held(numbers.read(rows, columns), height * width, mode)


def _gather(frame: Frame, op: Op) -> Results:
    view: View = frame.one(op, "mem")
    target: Tile = frame.one(op, "dst")
    mode = str(plain(attribute(op, "gatherOob")))
    places, valid = _places(op, frame.one(op, "idx"), target.v_row, target.v_col, view, mode)
    elements = view.base.array[view.places(*view.extents)].reshape(-1)
    made = np.zeros(places.shape, elements.dtype)
    made[valid] = elements[places[valid]]
    settle(frame, op, target, made)
    return None


def _scatter(frame: Frame, op: Op) -> Results:
    view: View = frame.one(op, "mem")
    source: Tile = frame.one(op, "src")
    mode = str(plain(attribute(op, "scatterOob")))
    mode = "skip" if mode == "undefined" else mode
    rows, columns = source.v_row, source.v_col
    places, valid = _places(op, frame.one(op, "idx"), rows, columns, view, mode)
    cells = view.places(*view.extents).reshape(-1)
    values = source.read(rows, columns)
    combine = _COMBINE.get(str(plain(attribute(op, "scatterAtomicOp"))))
    elem = source.type.elem
    for place, value in zip(places[valid], values[valid], strict=True):
        if combine is not None:
            both = (numeric.widen(each, elem) for each in (view.base.array[cells[place]], value))
            value = numeric.narrow(combine(*both), elem)
        view.base.array[cells[place]] = value
    return None


def _scatter_rows(frame: Frame, op: Op) -> Results:
    source, target = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = source.v_row, source.v_col
    numbers = frame.one(op, "indexes").read(rows, columns).astype(np.int64)
    values, made = source.read(rows, columns), target.read(target.v_row, target.v_col)
    for row in range(rows):
        for column in range(columns):
            if 0 <= numbers[row, column] < target.v_row:
                made[numbers[row, column], column] = values[row, column]
    target.write(made)
    return None


INDEXED: Mapping[type, Handler] = MappingProxyType(
    {MemoryGather: _gather, MemoryScatter: _scatter, Scatter: _scatter_rows}
)
