"""Windows of global memory: new partition_views made from old ones."""

from __future__ import annotations

from dataclasses import replace

from pptc.ir.builder import Builder, Operand
from pptc.ir.core import Value
from pptc.ir.ranges import difference, same_value
from pptc.ir.types import PartType, element_type
from pptc.passes.handles import Extent, as_value
from pptc.passes.tile_facts import MatrixPart, matrix_part, view_shape


def plus(builder: Builder, base: Value, offset: Extent) -> Value:
    """base + offset; `base` itself for the number 0."""
    if offset == 0:
        return base
    return builder.value("arith.addi", (base, as_value(builder, offset)), base.type)


def shifted_part(
    builder: Builder, part: Value, offsets: tuple[Extent, Extent], sizes: tuple[Extent, Extent]
) -> Value:
    """The window of `sizes` at `offsets` inside of a part that is a matrix."""
    assert part.op is not None
    old = part.op.group("offsets")[-2:]
    rows, columns = (plus(builder, base, offset) for base, offset in zip(old, offsets, strict=True))
    return window_part(builder, part, (rows, columns), sizes)


def window_part(
    builder: Builder, part: Value, offsets: tuple[Value, Value], sizes: tuple[Extent, Extent]
) -> Value:
    """The window of `sizes` at `offsets` of the view that a part, which is a matrix, is cut from."""
    op, type = part.op, part.type
    assert op is not None and isinstance(type, PartType)
    lengths = [as_value(builder, size) for size in sizes]
    dims = [size if isinstance(size, int) else None for size in sizes]
    operands: dict[str, Operand] = {
        "source": op.operand("source"),
        "offsets": (*op.group("offsets")[:-2], *offsets),
        "sizes": (*op.group("sizes")[:-2], *lengths),
    }
    type = replace(type, dims=(*type.dims[:-2], *dims))
    result = builder.value("pto.partition_view", operands, type, dict(op.attributes))
    result.name = part.name
    return result


def same_window(a: Value, b: Value) -> bool:
    """True when two parts are known to be the same elements of one view."""
    if a is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or x.name != y.name or x.operands[0] is not y.operands[0]:
        return False
    pairs = zip(
        (*x.group("offsets"), *x.group("sizes")), (*y.group("offsets"), *y.group("sizes")), strict=True
    )
    return all(same_value(here, there) for here, there in pairs)


def are_disjoint(a: Value, b: Value) -> bool:
    """True when two parts of one view whose rows do not overlap are known to have no element in common."""
    x, y = matrix_part(a), matrix_part(b)
    if x is None or y is None or x.op.operands[0] is not y.op.operands[0] or not rows_are_apart(x):
        return False
    return any(_are_apart(x, y, axis) for axis in (0, 1))


def rows_are_apart(part: MatrixPart) -> bool:
    """True when a row of the whole view ends before the next one starts."""
    shape = view_shape(part.op.result)
    if shape is None or part.strides[1] != 1:
        return False
    width, stride = shape[-1], part.strides[0]
    return width == stride or (isinstance(width, int) and isinstance(stride, int) and width <= stride)


def _are_apart(x: MatrixPart, y: MatrixPart, axis: int) -> bool:
    apart = difference(y.offsets[axis], x.offsets[axis])
    if apart is None:
        return False
    first = x if apart >= 0 else y
    size = first.sizes[axis]
    return isinstance(size, int) and abs(apart) >= size


def may_be_in_place(a: Value, b: Value) -> bool:
    """True when two parts may be windows of one array that a caller passes twice: one element type and shape."""
    if element_type(a.type) != element_type(b.type):
        return False
    here, there = view_shape(a), view_shape(b)
    if here is None or there is None or len(here) != len(there):
        return True
    return not any(_differ(x, y) for x, y in zip(here, there, strict=True))


def _differ(x: Extent, y: Extent) -> bool:
    """True for different numbers, and for one row against a number of rows that only the caller knows."""
    numbers = [extent for extent in (x, y) if isinstance(extent, int)]
    return x != y if len(numbers) == 2 else numbers == [1]
