"""Tile handles: their valid extents as values, and new handles with another type or valid region on the same bytes."""

from __future__ import annotations

from dataclasses import replace

from pptc.ir.analysis import constant_of
from pptc.ir.attrs import Attr, IntAttr, ListAttr
from pptc.ir.builder import Builder, Operand
from pptc.ir.core import Op, Value
from pptc.ir.ranges import same_value
from pptc.ir.rewrite import constant
from pptc.ir.types import TileType

Extent = int | Value
"""A valid extent: a number, or the value that holds it."""


def tile_type(value: Value) -> TileType:
    """The type of a tile handle."""
    assert isinstance(value.type, TileType)
    return value.type


def extents_of(handle: Value) -> tuple[Extent, Extent] | None:
    """Valid rows and columns of a handle; None when an op hides them."""
    type, op = tile_type(handle), handle.op
    rows: Extent | None = type.v_row
    columns: Extent | None = type.v_col
    if op is not None and op.name in ("pto.alloc_tile", "pto.subview"):
        rows = op.optional("valid_row") if rows is None else rows
        columns = op.optional("valid_col") if columns is None else columns
    elif op is not None and op.name in ("pto.treshape", "pto.bitcast") and None in (rows, columns):
        carried = carried_extents(op.operands[0], type)
        rows = carried[0] if rows is None and carried else rows
        columns = carried[1] if columns is None and carried else columns
    if rows is None or columns is None:
        return None
    return _number(rows), _number(columns)


def carried_extents(source: Value, type: TileType) -> tuple[Extent, Extent] | None:
    """What treshape makes of `?`: the source's extents, swapped for the transposed shape, else the whole tile."""
    extents, shape = extents_of(source), (tile_type(source).rows, tile_type(source).cols)
    if extents is None or shape == (type.rows, type.cols):
        return extents
    return extents[::-1] if shape == (type.cols, type.rows) else (type.rows, type.cols)


def _number(extent: Extent) -> Extent:
    known = constant_of(extent) if isinstance(extent, Value) else None
    return extent if known is None else known


def equal(a: Extent, b: Extent) -> bool:
    """True when two extents are known to be the same."""
    if isinstance(a, Value) and isinstance(b, Value):
        return same_value(a, b)
    return a == b


def same_layout(a: TileType, b: TileType) -> bool:
    """True when two types differ in their valid regions at most."""
    return a.with_valid(None, None) == b.with_valid(None, None)


def may_reshape(a: TileType, b: TileType) -> bool:
    """True when treshape may turn one into the other."""
    return a.space == b.space and a.size_bytes == b.size_bytes and not (a.is_boxed or b.is_boxed)


def window(
    builder: Builder,
    source: Value,
    offsets: tuple[Value, Value],
    shape: tuple[int, int],
    valid: tuple[Extent, Extent],
) -> Value:
    """A subview of `source`. Where a valid extent is a value, both are given as operands."""
    rows, columns = valid
    type = with_extents(replace(tile_type(source), rows=shape[0], cols=shape[1]), valid)
    dynamic = not (isinstance(rows, int) and isinstance(columns, int))
    operands: dict[str, Operand] = {
        "source": source,
        "offsets": offsets,
        "valid_row": as_value(builder, rows) if dynamic else None,
        "valid_col": as_value(builder, columns) if dynamic else None,
    }
    return builder.value("pto.subview", operands, type, {"sizes": sizes_attribute(shape)})


def sizes_attribute(shape: tuple[int, int]) -> Attr:
    """The `sizes` of a subview."""
    return ListAttr(tuple(map(IntAttr, shape)))


def as_value(builder: Builder, extent: Extent) -> Value:
    """An extent as an index value."""
    return constant(builder, extent) if isinstance(extent, int) else extent


def with_valid(builder: Builder, source: Value, valid: tuple[Extent, Extent]) -> Value:
    """A handle on all of `source` with another valid region; `source` itself when it has that one."""
    if extents_of(source) == valid:
        return source
    zero = constant(builder, 0)
    type = tile_type(source)
    return window(builder, source, (zero, zero), (type.rows, type.cols), valid)


def reinterpreted(builder: Builder, source: Value, type: TileType, valid: tuple[Extent, Extent]) -> Value:
    """A handle on the bytes of `source` of the layout of `type` and with the valid region given."""
    if same_layout(tile_type(source), type):
        return with_valid(builder, source, valid)
    carried = carried_extents(source, type)
    if carried is not None and all(isinstance(v, int) or v == c for v, c in zip(valid, carried, strict=True)):
        return builder.value("pto.treshape", (source,), with_extents(type, valid))
    whole = builder.value("pto.treshape", (source,), type.with_valid(type.rows, type.cols))
    return with_valid(builder, whole, valid)


def with_extents(type: TileType, valid: tuple[Extent, Extent]) -> TileType:
    """The type with the extents that are numbers, and `?` for the others."""
    rows, columns = valid
    return type.with_valid(
        rows if isinstance(rows, int) else None, columns if isinstance(columns, int) else None
    )


def new_tile(
    builder: Builder,
    type: TileType,
    valid: tuple[Extent, Extent],
    attributes: dict[str, Attr],
    name: str | None,
) -> Value:
    """An alloc_tile without address."""
    rows, columns = valid
    operands = {
        "addr": None,
        "valid_row": None if isinstance(rows, int) else rows,
        "valid_col": None if isinstance(columns, int) else columns,
    }
    result = builder.value("pto.alloc_tile", operands, with_extents(type, valid), attributes)
    result.name = name
    return result


def is_alloc(op: Op | None) -> bool:
    """True for pto.alloc_tile."""
    return op is not None and op.name == "pto.alloc_tile"
