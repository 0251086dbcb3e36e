"""Rows of the core level that move elements without changing them: reshapes, windows, joins, look-ups by index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pptc.ir import core_reference as ref
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    INDEX_SCALAR,
    INDEX_TENSOR,
    TENSOR,
    core_row,
    extents,
    integer,
    integers,
    result_tensor,
    static_extents,
    tensor,
    tensors,
)
from pptc.ir.core_shapes import (
    Refusal,
    axis_in,
    broadcasts_to,
    concatenated,
    equal_dims,
    gathered,
    transposed,
    window,
    with_count,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import Attribute, OpDef, Operand, Result, table
from pptc.ir.symbols import Dim, add, evaluate, floordiv, mul
from pptc.ir.types import TensorType, Type

X = (Operand("x", TENSOR),)


def _like_x(op: Op) -> tuple[Type, ...]:
    return (tensor(op, "x"),)


def _same_elem(op: Op) -> tuple[TensorType, TensorType]:
    """Operand and result of an op whose result type says the shape."""
    x, result = tensor(op, "x"), result_tensor(op)
    if x.elem != result.elem:
        raise Refusal("P0204", f"elements stay {x.elem.name}, not {result.elem.name}", "x", "use core.cast")
    return x, result


# ---------------------------------------------------------------- one shape to another


def _reshaped(op: Op) -> tuple[Type, ...]:
    x, result = _same_elem(op)
    return (TensorType(with_count(x.dims, result.dims), x.elem),)


def _viewed(op: Op) -> tuple[Type, ...]:
    if integer(op, "offset") != 0:
        raise Refusal("P0207", "a view starts at offset 0")
    return _reshaped(op)


def _to_result_shape(op: Op, symbols: Mapping[str, int], x: Any) -> Any:
    return x.reshape(ref.concrete_shape(ref.result_type(op), symbols))


def _stretched(op: Op) -> tuple[Type, ...]:
    x, result = _same_elem(op)
    return (TensorType(broadcasts_to(x.dims, result.dims, "x"), x.elem),)


def _permutation(op: Op, rank: int) -> list[int]:
    order = integers(op, "permutation")
    first, second = integer(op, "dim0"), integer(op, "dim1")
    if order is not None and first is None and second is None:
        return [axis_in(rank, axis, "permutation") for axis in order]
    if order is None and first is not None and second is not None:
        order = list(range(rank))
        first, second = axis_in(rank, first, "dim0"), axis_in(rank, second, "dim1")
        order[first], order[second] = second, first
        return order
    raise Refusal("P0206", "core.transpose needs permutation, or dim0 and dim1")


def _transposed(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    return (TensorType(transposed(x.dims, _permutation(op, len(x.dims))), x.elem),)


_SHAPES = (
    core_row(
        "reshape",
        "The elements in row-major order under another shape of as many elements.",
        X,
        _reshaped,
        derived=False,
        reference=_to_result_shape,
    ),
    core_row(
        "view",
        "A reshape that asks for no copy; the layout policy says what happens when one is needed.",
        X,
        _viewed,
        attributes=(Attribute("offset", "int", default=IntAttr(0), doc="0, in elements"),),
        derived=False,
        reference=_to_result_shape,
    ),
    core_row("contiguous", "x in row-major order.", X, _like_x, reference=lambda op, symbols, x: x),
    core_row("identity", "x.", X, _like_x, reference=lambda op, symbols, x: x),
    core_row("copy", "x; another name of identity.", X, _like_x, reference=lambda op, symbols, x: x),
    core_row(
        "broadcast",
        "x stretched to the shape of the result: trailing axes aligned, extents of 1 repeated.",
        X,
        _stretched,
        derived=False,
        reference=lambda op, symbols, x: np.broadcast_to(x, ref.concrete_shape(ref.result_type(op), symbols)),
    ),
    core_row(
        "transpose",
        "Axis i of the result is axis permutation[i] of x; dim0 and dim1 swap two axes.",
        X,
        _transposed,
        attributes=(
            Attribute("permutation", "ints", doc="the axis of x for each axis of the result"),
            Attribute("dim0", "int", doc="one of two axes to swap"),
            Attribute("dim1", "int", doc="the other"),
        ),
        reference=lambda op, symbols, x: np.transpose(x, _permutation(op, x.ndim)),
    ),
)


# ---------------------------------------------------------------- windows


def _sliced(op: Op) -> tuple[Type, ...]:
    x, sizes = tensor(op, "x"), static_extents(op, "sizes")
    window(x.dims, extents(op, "offsets", "indices"), sizes, integers(op, "strides") or [])
    return (TensorType(sizes, x.elem),)


def _cut(op: Op, symbols: Mapping[str, int], x: Any, *indices: int) -> Any:
    """Offsets beyond the source are moved back to where the window fits."""
    left, places = list(indices), []
    sizes = ref.concrete_shape(ref.result_type(op), symbols)
    strides = integers(op, "strides") or []
    offsets = extents(op, "offsets", "indices")
    for offset, size, stride, extent in zip(offsets, sizes, strides, x.shape, strict=True):
        start = left.pop(0) if offset is None else evaluate(offset, symbols)
        start = max(0, min(start, extent - 1 - (size - 1) * stride))
        places.append(slice(start, start + size * stride, stride))
    return x[tuple(places)]


_SLICE = core_row(
    "slice",
    "The window of x that starts at the offsets; offsets may be scalars, sizes may be symbolic, strides are positive.",
    (*X, Operand("indices", INDEX_SCALAR, arity="many")),
    _sliced,
    attributes=(
        Attribute("offsets", "any", required=True, doc="one per axis: a number, a dim or an index"),
        Attribute("sizes", "ints", required=True, doc="the shape of the result"),
        Attribute("strides", "ints", required=True, doc="one step per axis, in elements"),
    ),
    reference=_cut,
    format="$x ` ` mixed($indices, offsets) $sizes $strides attr-dict `:` type($x) `->` type($result)",
)


# ---------------------------------------------------------------- joins and splits


def _joined(op: Op) -> tuple[Type, ...]:
    parts = tensors(op, "parts")
    if not 1 <= len(parts) <= 64:
        raise Refusal("P0202", f"1 to 64 tensors are joined, not {len(parts)}")
    for part in parts:
        if part.elem != parts[0].elem:
            raise Refusal("P0204", f"parts of {parts[0].elem.name} and {part.elem.name} do not join", "parts")
    axis = axis_in(len(parts[0].dims), integer(op, "axis") or 0)
    return (TensorType(concatenated([part.dims for part in parts], axis), parts[0].elem),)


_CONCAT = core_row(
    "concat",
    "The parts one behind the other on an axis.",
    (Operand("parts", TENSOR, arity="many"),),
    _joined,
    attributes=(Attribute("axis", "int", default=IntAttr(0), aliases=("dim",), doc="the axis that grows"),),
    reference=lambda op, symbols, *parts: np.concatenate(parts, integer(op, "axis")),
)


def _split_sizes(op: Op, extent: Dim) -> list[Dim]:
    sizes, count = integers(op, "sizes"), integer(op, "num_splits")
    if (sizes is None) == (count is None):
        raise Refusal("P0206", "core.split needs either sizes or num_splits")
    if sizes is None:
        if count is None or count < 1:
            raise Refusal("P0207", "num_splits is 1 at least")
        part = floordiv(extent, count)
        equal_dims(mul(part, count), extent, f"the axis does not split into {count} equal parts", "x")
        return [part] * count
    if not sizes or min(sizes) < 1:
        raise Refusal("P0207", "every part has 1 element at least on the axis")
    equal_dims(add(*sizes), extent, "the sizes do not cover the axis", "x")
    return list(sizes)


def _split(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    axis = axis_in(len(x.dims), integer(op, "axis") or 0)
    sizes = _split_sizes(op, x.dims[axis])
    return tuple(TensorType((*x.dims[:axis], size, *x.dims[axis + 1 :]), x.elem) for size in sizes)


def _split_arrays(op: Op, symbols: Mapping[str, int], x: Any) -> Any:
    axis = axis_in(x.ndim, integer(op, "axis") or 0)
    sizes = _split_sizes(op, x.shape[axis])
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


_SPLIT = core_row(
    "split",
    "Neighbouring parts of x on an axis, by their sizes or in equal parts.",
    X,
    _split,
    results=(Result("parts", TENSOR, "many"),),
    attributes=(
        Attribute("axis", "int", default=IntAttr(0), aliases=("dim",), doc="the axis that is cut"),
        Attribute("sizes", "ints", aliases=("split_sizes", "sections"), doc="the extents of the parts"),
        Attribute("num_splits", "int", doc="the number of equal parts"),
    ),
    reference=_split_arrays,
)


# ---------------------------------------------------------------- look-ups


def _gathered(op: Op) -> tuple[Type, ...]:
    data = tensor(op, "data")
    axis = axis_in(len(data.dims), integer(op, "axis") or 0)
    return (TensorType(gathered(data.dims, tensor(op, "index").dims, axis), data.elem),)


def _embedded(op: Op) -> tuple[Type, ...]:
    weight = tensor(op, "weight")
    if len(weight.dims) != 2:
        raise Refusal("P0205", f"a table of rows has rank 2, not {len(weight.dims)}", "weight")
    return (TensorType(gathered(weight.dims, tensor(op, "ids").dims, 0), weight.elem),)


def _taken(op: Op, data: Any, index: Any, axis: int) -> Any:
    return np.take(data, np.clip(index, 0, max(data.shape[axis] - 1, 0)), axis)


def look_up(name: str, doc: str, operands: tuple[str, str], derive: Any, axis: bool) -> OpDef:
    """A row that takes slices by index; an index out of range is a fault of the value, or clamped."""
    data, index = operands
    return core_row(
        name,
        doc,
        (Operand(data, TENSOR), Operand(index, INDEX_TENSOR)),
        derive,
        attributes=(Attribute("axis", "int", default=IntAttr(0), doc="the axis looked up"),) if axis else (),
        reference=lambda op, symbols, x, i: _taken(op, x, i, axis_in(x.ndim, integer(op, "axis") or 0)),
    )


_LOOKUPS = (
    look_up(
        "gather",
        "Slices of data on an axis, one per index; the shape of the indices takes the place of the axis.",
        ("data", "index"),
        _gathered,
        axis=True,
    ),
    look_up("embedding", "Rows of a table of rank 2, one per id.", ("weight", "ids"), _embedded, axis=False),
)

ROWS = table(_SHAPES, _SLICE, _CONCAT, _SPLIT, _LOOKUPS)
