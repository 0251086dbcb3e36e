"""How the interpreter compares elements into masks of bits, and chooses by them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op, Value
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.interp_rearrange import settle
from pptc.ir.kinds import attribute, plain
from pptc.ir.lazy import np
from pptc.ir.opdef import Compare, Select
from pptc.ir.storage import Tile
from pptc.ir.types import element_type

Array = Any

_COMPARISONS = MappingProxyType(
    {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }
)


def _elements(frame: Frame, value: Value, rows: int, columns: int) -> Array:
    """The elements of a tile, or a scalar in the precision of its type."""
    elem = element_type(value.type)
    assert elem is not None
    found = frame.values[value]
    raw = found.read(rows, columns) if isinstance(found, Tile) else np.asarray(found, numeric.dtype_of(elem))
    return numeric.widen(raw, elem)


def _compare(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Compare)
    rows, columns = frame.one(op, meaning.lhs).v_row, frame.one(op, meaning.lhs).v_col
    a, b = (_elements(frame, op.operand(name), rows, columns) for name in (meaning.lhs, meaning.rhs))
    mode = plain(attribute(op, "cmpMode"))
    found = getattr(np, _COMPARISONS[mode])(a, b)
    target: Tile = frame.one(op, "dst")
    packed = np.packbits(found.reshape(rows, columns), axis=1, bitorder="little")
    settle(frame, op, target, packed.view(numeric.dtype_of(target.type.elem)))
    return None


def _select(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Select)
    target: Tile = frame.one(op, "dst")
    rows, columns = target.v_row, target.v_col
    packed = frame.one(op, "mask").read(rows, -(-columns // 8)).view(np.uint8)
    chosen = np.unpackbits(packed, axis=1, count=columns, bitorder="little").astype(bool)
    a, b = (_elements(frame, op.operand(name), rows, columns) for name in (meaning.yes, meaning.no))
    settle(frame, op, target, numeric.narrow(np.where(chosen, a, b), target.type.elem))
    return None


MASKS: Mapping[type, Handler] = MappingProxyType({Compare: _compare, Select: _select})
