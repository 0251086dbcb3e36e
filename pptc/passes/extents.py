"""Known extents in types: a `?` whose operand is a constant becomes the number."""

from __future__ import annotations

from dataclasses import replace

from pptc.ir.analysis import constant_of, uses_of
from pptc.ir.core import Op, Value
from pptc.ir.types import PartType, TileType


def with_known_extents(op: Op) -> bool:
    """Make the valid region of an alloc_tile or subview, or the sizes of a partition_view, static where known."""
    match op.name:
        case "pto.alloc_tile" | "pto.subview":
            return _tile(op)
        case "pto.partition_view":
            return _part(op)
        case _:
            return False


def _tile(op: Op) -> bool:
    type = op.result.type
    if not isinstance(type, TileType) or not _may_change(op.result):
        return False
    rows, columns = op.optional("valid_row"), op.optional("valid_col")
    v_row = type.v_row if type.v_row is not None or rows is None else constant_of(rows)
    v_col = type.v_col if type.v_col is not None or columns is None else constant_of(columns)
    if (v_row, v_col) == (type.v_row, type.v_col) or not (
        0 <= (v_row or 0) <= type.rows and 0 <= (v_col or 0) <= type.cols
    ):
        return False
    op.result.type = type.with_valid(v_row, v_col)
    if op.name == "pto.alloc_tile":
        _keep_dynamic(op, v_row, v_col)
    return True


def _keep_dynamic(op: Op, v_row: int | None, v_col: int | None) -> None:
    """An alloc_tile has a valid operand exactly where its type says `?`."""
    groups = {
        "addr": op.group("addr"),
        "valid_row": op.group("valid_row") if v_row is None else (),
        "valid_col": op.group("valid_col") if v_col is None else (),
    }
    order = [groups[operand.name] for operand in op.definition.operands]
    op.set_operands([value for group in order for value in group], tuple(map(len, order)))


def _part(op: Op) -> bool:
    type = op.result.type
    if not isinstance(type, PartType) or not _may_change(op.result):
        return False
    sizes = zip(type.dims, op.group("sizes"), strict=True)
    dims = tuple(constant_of(size) if dim is None else dim for dim, size in sizes)
    if dims == type.dims:
        return False
    op.result.type = replace(type, dims=dims)
    return True


def _may_change(value: Value) -> bool:
    """A type may change when no user repeats it: calls, yields and set_validshape do."""
    return all(
        use.op.definition.dialect in ("pto", "tile")
        and use.op.name != "pto.set_validshape"
        and not use.op.regions
        for use in uses_of(value)
    )
