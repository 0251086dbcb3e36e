"""Rows of the core level that make tensors out of nothing or of scalars, and scalars out of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pptc.ir import core_reference as ref
from pptc.ir import numeric
from pptc.ir.attrs import DenseAttr, IntAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    INDEX_TENSOR,
    SCALAR,
    TENSOR,
    check_dense,
    core_row,
    integer,
    result_tensor,
    tensor,
)
from pptc.ir.core_shapes import Refusal, axis_in, equal_shapes
from pptc.ir.lazy import np
from pptc.ir.opdef import Attribute, Operand, Result, table
from pptc.ir.symbols import bounds
from pptc.ir.types import Type


def _iota(op: Op) -> tuple[Type, ...]:
    result = result_tensor(op)
    axis = axis_in(len(result.dims), integer(op, "axis") or 0)
    start, step = integer(op, "start") or 0, integer(op, "step")
    step = 1 if step is None else step
    _, longest = bounds(result.dims[axis])
    last = start + step * max((longest or 1) - 1, 0)
    if not all(-(2 ** (result.elem.bits - 1)) <= end < 2 ** (result.elem.bits - 1) for end in (start, last)):
        raise Refusal("P0207", f"the values {start} to {last} do not fit {result.elem.name}")
    return (result,)


def _iota_values(op: Op, symbols: Mapping[str, int]) -> Any:
    type = ref.result_type(op)
    shape = ref.concrete_shape(type, symbols)
    axis = axis_in(len(shape), integer(op, "axis") or 0)
    places = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    values = (integer(op, "start") or 0) + places * integer(op, "step")
    return np.broadcast_to(values, shape).astype(numeric.dtype_of(type.elem))


_IOTA = core_row(
    "iota",
    "start + step * coordinate along an axis.",
    (),
    _iota,
    results=(Result("result", INDEX_TENSOR),),
    format="attr-dict `:` type($result)",
    attributes=(
        Attribute("axis", "int", default=IntAttr(0), doc="the axis along which it counts"),
        Attribute("start", "int", default=IntAttr(0), doc="the first value"),
        Attribute("step", "int", default=IntAttr(1), doc="the difference of neighbours"),
    ),
    derived=False,
    reference=_iota_values,
)


def _constant(op: Op) -> tuple[Type, ...]:
    value = op.attributes.get("value")
    if not isinstance(value, DenseAttr):
        raise Refusal("P0207", "a constant is `dense<..> : tensor<..>`")
    check_dense(value)
    return (value.type,)


_CONSTANT = core_row(
    "constant",
    "The values written; one value fills the shape, which may be symbolic then.",
    (),
    _constant,
    attributes=(Attribute("value", "any", required=True, doc="`dense<..> : tensor<..>`"),),
    format="$value attr-dict",
    reference=lambda op, symbols: ref.dense(op.attributes["value"], symbols),
)


def _splat(op: Op) -> tuple[Type, ...]:
    result, value = result_tensor(op), op.operand("value").type
    if value != result.elem:
        raise Refusal("P0204", f"a tensor of {result.elem.name} is filled by a scalar of that type", "value")
    return (result,)


def _item(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    equal_shapes(x.dims, (), "one element is a tensor of rank 0", "x")
    return (x.elem,)


_SCALARS = (
    core_row(
        "splat",
        "A scalar of the plan as a tensor whose elements all are it.",
        (Operand("value", SCALAR),),
        _splat,
        derived=False,
        reference=lambda op, symbols, value: np.full(
            ref.concrete_shape(ref.result_type(op), symbols),
            value,
            numeric.dtype_of(ref.result_type(op).elem),
        ),
    ),
    core_row(
        "item",
        "The element of a tensor of rank 0 as a scalar of the plan, which waits for it.",
        (Operand("x", TENSOR),),
        _item,
        results=(Result("result", SCALAR),),
        reference=lambda op, symbols, x: x[()],
    ),
)

ROWS = table(_IOTA, _CONSTANT, _SCALARS)
