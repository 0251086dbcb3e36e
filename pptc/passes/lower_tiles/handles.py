"""Ops that make pointers, views and tile handles: they touch no element and become places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from pptc.ir.analysis import uses_of
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Handle
from pptc.ir.ops.handles import view_layout
from pptc.ir.types import INDEX, TileType, element_type
from pptc.passes.homes import OFFSET, ROW, STRIP, home_of, integer, is_private
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.places import Place, Strided, memref, moved
from pptc.passes.lower_tiles.tiles import Tile, View, buffer_place

Extents = Callable[[], tuple[Index, Index]]


# ---------------------------------------------------------------- pointers and views


def _add_pointer(frame: Frame, op: Op) -> None:
    memory = frame.value(op.operand("ptr"))
    frame.define(op.result, moved(frame.code, memory, frame.index(op.operand("offset"))))


def _cast_pointer(frame: Frame, op: Op) -> None:
    elem = element_type(op.result.type)
    assert elem is not None
    memory = frame.value(op.operand("input"))
    frame.define(op.result, frame.code.value("memref.view", (memory, frame.code.index(0)), memref(elem)))


def _indices(frame: Frame, op: Op, name: str) -> tuple[Index, ...]:
    return tuple(frame.index(value) for value in op.group(name))


def _make_view(frame: Frame, op: Op) -> None:
    pointer = op.operand("ptr")
    elem = getattr(pointer.type, "elem")  # noqa: B009
    shape, strides = _indices(frame, op, "shape"), _indices(frame, op, "strides")
    frame.views[op.result] = View(frame.value(pointer), elem, shape, strides, view_layout(op.result))


def _partition(frame: Frame, op: Op) -> None:
    whole = frame.views[op.operand("source")]
    sizes = _known(getattr(op.result.type, "dims", ()), _indices(frame, op, "sizes"))
    part = whole.part(frame.code, _indices(frame, op, "offsets"), sizes)
    frame.views[op.result] = replace(part, ahead=part.strides[-2]) if _moves_by_rows(op) else part


def _moves_by_rows(op: Op) -> bool:
    """Whether the next trip of a strip loop works on the next row of the view that this row is a part of."""
    loop, offsets = op.parent, op.group("offsets")
    if loop is None or STRIP not in loop.attributes or len(offsets) < 2:
        return False
    row, induction = offsets[-2], loop.body.args[0]
    maker = row.op
    return row is induction or (
        maker is not None and maker.name == "arith.addi" and induction in maker.operands
    )


def _known(dims: tuple[int | None, ...], sizes: tuple[Index, ...]) -> tuple[Index, ...]:
    return tuple(size if dim is None else dim for dim, size in zip(dims, sizes, strict=True))


def _of_dimension(frame: Frame, op: Op) -> None:
    view = frame.views[op.operand("view")]
    values = view.extents if op.name == "pto.get_tensor_view_dim" else view.strides
    number = frame.index(op.operand("dim"))
    if not isinstance(number, int) or not 0 <= number < len(values):
        raise frame.unsupported("the number of the dimension must be a constant that the view has")
    frame.define(op.result, frame.code.index(values[number]))


# ---------------------------------------------------------------- tile handles


def _allocate(frame: Frame, op: Op) -> None:
    type = op.result.type
    assert isinstance(type, TileType)
    tile = Tile(type, type, home_of(op), _extents(frame, op, type), _nowhere, is_private(op))
    frame.tiles[op.result] = tile
    if tile.home == "strip" and ROW in op.attributes:
        tile.locate = _destination_row(frame, op)
        return
    tile.start = _start(frame, op, type)
    if tile.start is not None:
        tile.locate = _buffer(frame, tile.start, type, tile.private)


def _nowhere() -> Place:
    raise AssertionError("a tile that has no bytes is read before its writer ran")


def _start(frame: Frame, op: Op, type: TileType) -> Index | None:
    """The tile's first byte in the scratch."""
    if op.optional("addr") is not None:
        return frame.code.add(frame.space_offsets.get(type.space, 0), frame.index(op.operand("addr")))
    return integer(op, OFFSET)


def _buffer(frame: Frame, start: Index, type: TileType, private: bool) -> Callable[[], Place]:
    return lambda: buffer_place(type, frame.memory(start, type.elem), private)


def _destination_row(frame: Frame, op: Op) -> Callable[[], Place]:
    """The place of a strip in the destination row of the tstore with the same number."""
    number = integer(op, ROW)
    assert op.block is not None
    store = next(other for other in op.block if other.name == "pto.tstore" and integer(other, ROW) == number)
    return lambda: frame.views[store.operand("dst")].place


def _extents(frame: Frame, op: Op, type: TileType, inherited: Extents | None = None) -> Extents:
    """The valid region: from the type, the operands, or what the handle comes from; in memory when it may change."""
    given = [op.optional(name) if _has(op, name) else None for name in ("valid_row", "valid_col")]
    whole = inherited() if inherited else (type.rows, type.cols)
    found = tuple(
        static if static is not None else frame.index(value) if value is not None else default
        for static, value, default in zip((type.v_row, type.v_col), given, whole, strict=True)
    )
    if any(use.op.name == "pto.set_validshape" for use in uses_of(op.result)):
        return _changing_extents(frame, op.result, found)
    return lambda: (found[0], found[1])


def _has(op: Op, name: str) -> bool:
    return any(operand.name == name for operand in op.definition.operands)


def _changing_extents(frame: Frame, handle: Value, start: tuple[Index, ...]) -> Extents:
    frame.cells[handle] = frame.allocate(2 * INDEX.bytes)
    _set_cell(frame, handle, start)

    def current() -> tuple[Index, Index]:
        memory, code = frame.memory(frame.cells[handle], INDEX), frame.code
        rows, columns = (code.value("memref.load", (memory, code.index(i)), INDEX) for i in (0, 1))
        return rows, columns

    return current


def _set_cell(frame: Frame, handle: Value, values: tuple[Index, ...]) -> None:
    code, memory = frame.code, frame.memory(frame.cells[handle], INDEX)
    for position, value in enumerate(values):
        code.create("memref.store", (code.index(value), memory, code.index(position)))


def _subview(frame: Frame, op: Op) -> None:
    whole, type = frame.tiles[op.operand("source")], op.result.type
    assert isinstance(type, TileType)
    row, column = _indices(frame, op, "offsets")
    frame.tiles[op.result] = replace(
        whole,
        type=type,
        extents=_extents(frame, op, type),
        locate=lambda: whole.locate().window(frame.code, row, column),
        shift=(frame.code.add(whole.shift[0], row), frame.code.add(whole.shift[1], column)),
        origin=whole,
    )


def _reinterpret(frame: Frame, op: Op) -> None:
    whole, type = frame.tiles[op.operand("src")], op.result.type
    assert isinstance(type, TileType)
    extents = _extents(frame, op, type, lambda: _carried(whole, type))
    made = replace(whole, type=type, physical=type, extents=extents, shift=(0, 0), origin=whole)
    made.start = whole.first_byte(frame.code)
    made.locate = lambda: _reinterpreted(frame, whole, made)
    frame.tiles[op.result] = made


def _carried(whole: Tile, type: TileType) -> tuple[Index, Index]:
    """The valid region that a reinterpreted tile takes over: swapped for the transposed shape."""
    rows, columns = whole.extents()
    if (type.rows, type.cols) == (whole.type.rows, whole.type.cols):
        return rows, columns
    if (type.cols, type.rows) == (whole.type.rows, whole.type.cols):
        return columns, rows
    return type.rows, type.cols


def _reinterpreted(frame: Frame, whole: Tile, made: Tile) -> Place:
    type = made.type
    if made.start is not None:
        return buffer_place(type, frame.memory(made.start, type.elem), made.private)
    place = whole.locate()
    if type.elem == whole.elem and isinstance(place, Strided):
        if (type.rows, type.cols) == (whole.type.rows, whole.type.cols):
            return place
        if (type.cols, type.rows) == (whole.type.rows, whole.type.cols) and 1 in (type.rows, type.cols):
            return place.transposed()
    raise frame.unsupported("the window of a tile is not reinterpreted as another shape or element type")


def _set_valid(frame: Frame, op: Op) -> None:
    source = op.operand("source")
    values = frame.index(op.operand("valid_row")), frame.index(op.operand("valid_col"))
    _set_cell(frame, source, values)


def _get_valid(frame: Frame, op: Op) -> None:
    rows, columns = frame.tiles[op.operands[0]].extents()
    wanted = {"pto.tile_valid_rows": (rows,), "pto.tile_valid_cols": (columns,)}.get(op.name, (rows, columns))
    for result, extent in zip(op.results, wanted, strict=True):
        frame.define(result, frame.code.index(extent))


_HANDLES: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        "pto.addptr": _add_pointer,
        "pto.castptr": _cast_pointer,
        "pto.make_tensor_view": _make_view,
        "pto.partition_view": _partition,
        "pto.get_tensor_view_dim": _of_dimension,
        "pto.get_tensor_view_stride": _of_dimension,
        "pto.alloc_tile": _allocate,
        "pto.subview": _subview,
        "pto.treshape": _reinterpret,
        "pto.bitcast": _reinterpret,
        "pto.set_validshape": _set_valid,
        "pto.get_validshape": _get_valid,
        "pto.tile_valid_rows": _get_valid,
        "pto.tile_valid_cols": _get_valid,
    }
)


def lower_handle(frame: Frame, op: Op) -> None:
    """Lower an op whose meaning is `Handle`."""
    assert isinstance(op.definition.meaning, Handle)
    lower = _HANDLES.get(op.name)
    if lower is None:
        raise frame.unsupported(f"{op.name} has no lowering to loops")
    lower(frame, op)
