"""Ops that read or write one element behind a pointer or of a tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.core import Op, Value
from pptc.ir.types import ScalarType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import storage_type


def _load(frame: Frame, op: Op) -> None:
    _read(frame, op, frame.value(op.operand("ptr")), frame.index(op.operand("offset")))


def _store(frame: Frame, op: Op) -> None:
    _write(frame, op.operand("value"), frame.value(op.operand("ptr")), frame.index(op.operand("offset")))


def _get(frame: Frame, op: Op) -> None:
    _read(frame, op, *_element(frame, op.operand("src"), frame.index(op.operand("offset"))))


def _set(frame: Frame, op: Op) -> None:
    _write(frame, op.operand("val"), *_element(frame, op.operand("dst"), frame.index(op.operand("offset"))))


def _element(frame: Frame, handle: Value, offset: Index) -> tuple[Value, Index]:
    """Element `offset` of a tile, counted in memory order from the handle's first."""
    tile = frame.tiles[handle]
    if tile.start is None:
        raise frame.unsupported("single elements are read and written in tiles that have bytes")
    return frame.memory(tile.start, tile.elem), frame.code.add(tile.first_element(frame.code), offset)


def _read(frame: Frame, op: Op, memory: Value, index: Index) -> None:
    assert isinstance(op.result.type, ScalarType)
    type = storage_type(op.result.type)
    frame.define(op.result, frame.code.value("memref.load", (memory, frame.code.index(index)), type))


def _write(frame: Frame, value: Value, memory: Value, index: Index) -> None:
    frame.code.create("memref.store", (frame.value(value), memory, frame.code.index(index)))


SINGLE_ELEMENTS: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        "pto.load_scalar": _load,
        "pto.store_scalar": _store,
        "pto.tgetval": _get,
        "pto.tsetval": _set,
    }
)
