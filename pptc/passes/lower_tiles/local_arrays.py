"""Arrays of scalars that belong to one run of a kernel: a piece of scratch each, with indices held in range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.core import Op, Value
from pptc.ir.types import LocalArrayType
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import storage_type


def _type(op: Op) -> LocalArrayType:
    type = (op.result if op.name == "pto.declare_local_array" else op.operand("array")).type
    assert isinstance(type, LocalArrayType)
    return type


def _declare(frame: Frame, op: Op) -> None:
    type = _type(op)
    size = type.elem.bytes
    for extent in type.dims:
        size *= extent
    frame.define(op.result, frame.memory(frame.allocate(size), type.elem))


def _place(frame: Frame, op: Op) -> tuple[Value, Value]:
    """The memory of the array and the number of the element: of the nearest one that is in range."""
    code = frame.code
    number: Index = 0
    for index, extent in zip(op.group("indices"), _type(op).dims, strict=True):
        held = code.max(0, code.min(frame.index(index), extent - 1))
        number = code.add(code.mul(number, extent), held)
    return frame.value(op.operand("array")), code.index(number)


def _get(frame: Frame, op: Op) -> None:
    type = storage_type(_type(op).elem)
    frame.define(op.result, frame.code.value("memref.load", _place(frame, op), type))


def _set(frame: Frame, op: Op) -> None:
    frame.code.create("memref.store", (frame.value(op.operand("value")), *_place(frame, op)))


LOCAL_OPS: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        "pto.declare_local_array": _declare,
        "pto.local_array_get": _get,
        "pto.local_array_set": _set,
    }
)
