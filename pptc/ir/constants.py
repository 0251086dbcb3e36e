"""Constants as attributes: their types, their Python values, and back."""

from __future__ import annotations

from typing import Any

from pptc.ir import integers
from pptc.ir.attrs import ArrayAttr, Attr, DenseAttr, FloatAttr, IntAttr, ListAttr
from pptc.ir.floats import from_bits, to_bits
from pptc.ir.types import I1, ScalarType, Type


def integer_list(value: Attr | None) -> tuple[int, ...]:
    """The integers of `[1, 2]` or `array<i64: 1, 2>`; empty for anything else."""
    if isinstance(value, ArrayAttr):
        return value.values
    items = value.items if isinstance(value, ListAttr) else ()
    return tuple(item.value for item in items if isinstance(item, IntAttr))


def attribute_type(value: Attr) -> Type | None:
    """The type of a constant's attribute; None when it says none."""
    if isinstance(value, bool):
        return I1
    return value.type if isinstance(value, IntAttr | FloatAttr | DenseAttr) else None


def attribute_value(value: Attr) -> Any:
    """The Python or NumPy value of a scalar constant's attribute."""
    if isinstance(value, bool):
        return value
    if isinstance(value, IntAttr):
        return integers.wrap(value.value, value.type) if value.type else value.value
    assert isinstance(value, FloatAttr)
    return from_bits(value.bits, value.type)


def value_attribute(value: Any, type: Type) -> Attr:
    """The constant attribute of a scalar value: what folding puts back."""
    assert isinstance(type, ScalarType)
    if type == I1:
        return bool(value)
    if type.is_float:
        return FloatAttr(to_bits(value, type), type)
    return IntAttr(integers.wrap(int(value), type), type)
