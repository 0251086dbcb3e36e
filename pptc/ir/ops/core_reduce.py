"""Rows of the core level that reduce axes, and the softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pptc.ir import core_reference as ref
from pptc.ir import numeric
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    FLOAT_TENSOR,
    INDEX_TENSOR,
    NUMBER_TENSOR,
    core_row,
    flag,
    integer,
    integers,
    result_tensor,
    tensor,
)
from pptc.ir.core_shapes import (
    Refusal,
    axes_in,
    axis_in,
    reduced,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import EXACT, Attribute, OpDef, Operand, Result, Tolerance, table
from pptc.ir.types import TensorType, Type

ACCUMULATED = Tolerance(
    relative=1e-5, absolute=1e-6, ulps=1, reason="the order of an f32 sum is the target's"
)

_AXES = (
    Attribute("axes", "ints", doc="the axes that go; absent: `axis`, or all"),
    Attribute("axis", "int", doc="one axis"),
    Attribute("keepdims", "unit", doc="an extent of 1 stays in place of each"),
)


def _named_axes(op: Op, rank: int) -> list[int]:
    axes, axis = integers(op, "axes"), integer(op, "axis")
    if axes is not None and axis is not None:
        raise Refusal("P0207", "either axes or axis stands, not both")
    if axes is None:
        axes = list(range(rank)) if axis is None else [axis]
    return axes_in(rank, axes)


def _reduced(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    axes = _named_axes(op, len(x.dims))
    if op.name != "core.reduce_sum" and any(x.dims[axis] == 0 for axis in axes):
        raise Refusal("P0205", f"{op.name} of nothing has no value", "x")
    return (TensorType(reduced(x.dims, axes, flag(op, "keepdims")), x.elem),)


def reduction(name: str, doc: str, function: Callable[..., Any], tolerance: Tolerance) -> OpDef:
    """A row that combines the elements of some axes; `function` gets the axes and whether they stay."""

    def reference(op: Op, symbols: Mapping[str, int], x: Any) -> Any:
        axes = tuple(_named_axes(op, x.ndim))
        return ref.rounded(function(ref.wide(x), axes, flag(op, "keepdims")), ref.result_type(op).elem)

    return core_row(
        name,
        doc,
        (Operand("x", NUMBER_TENSOR),),
        _reduced,
        results=(Result("result", NUMBER_TENSOR),),
        attributes=_AXES,
        reference=reference,
        tolerance=tolerance,
    )


def _mean(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    total = np.sum(x, axes, keepdims=keep)
    count = np.prod([x.shape[axis] for axis in axes], dtype=np.int64)
    return numeric.truncated_quotient(total, count) if total.dtype.kind in "iu" else total / count


_REDUCTIONS = (
    reduction(
        "reduce_sum",
        "The sum over some axes; over nothing it is 0. Floats accumulate in f32 or wider, with one rounding.",
        lambda x, axes, keep: np.sum(x, axes, keepdims=keep),
        ACCUMULATED,
    ),
    reduction(
        "reduce_mean", "The mean over some axes; of integers truncated toward zero.", _mean, ACCUMULATED
    ),
    reduction(
        "reduce_max",
        "The largest element over some axes; a NaN wins.",
        lambda x, axes, keep: np.max(x, axes, keepdims=keep),
        EXACT,
    ),
)


def _position(op: Op) -> tuple[Type, ...]:
    x, result = tensor(op, "x"), result_tensor(op)
    axis = axis_in(len(x.dims), -1 if (given := integer(op, "axis")) is None else given)
    if x.dims[axis] == 0:
        raise Refusal("P0205", "core.argmax of nothing has no value", "x")
    return (TensorType(reduced(x.dims, [axis], flag(op, "keepdims")), result.elem),)


_ARGMAX = core_row(
    "argmax",
    "Where the largest element stands on an axis: the first one of equals. The result is i32 or i64.",
    (Operand("x", NUMBER_TENSOR),),
    _position,
    results=(Result("result", INDEX_TENSOR),),
    attributes=(
        Attribute("axis", "int", default=IntAttr(-1), doc="the axis that goes"),
        Attribute("keepdims", "unit", doc="an extent of 1 stays in place of the axis"),
    ),
    derived=False,
    reference=lambda op, symbols, x: np.argmax(x, integer(op, "axis"), keepdims=flag(op, "keepdims")).astype(
        numeric.dtype_of(ref.result_type(op).elem)
    ),
)


def _normalised(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    axis_in(len(x.dims), integer(op, "axis") or 0)
    return (x,)


def _softmax(op: Op, symbols: Mapping[str, int], x: Any) -> Any:
    axis, values = integer(op, "axis"), ref.wide(x)
    if values.shape[axis or 0] == 0:
        return x
    power = np.exp(values - np.max(values, axis, keepdims=True))
    return ref.rounded(power / np.sum(power, axis, keepdims=True), ref.result_type(op).elem)


_SOFTMAX = core_row(
    "softmax",
    "e^(x - max) / sum e^(x - max) over an axis, in f32.",
    (Operand("x", FLOAT_TENSOR),),
    _normalised,
    attributes=(Attribute("axis", "int", default=IntAttr(-1), doc="the axis whose elements sum to 1"),),
    reference=_softmax,
    tolerance=ACCUMULATED,
)

ROWS = table(_REDUCTIONS, _ARGMAX, _SOFTMAX)
