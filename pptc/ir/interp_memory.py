"""How the interpreter executes the ops on pointers, views, tile handles and single elements."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.attrs import Attr, EnumAttr, IntAttr
from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.kinds import attribute, plain
from pptc.ir.lazy import np
from pptc.ir.ops.scalar import print_layout
from pptc.ir.storage import Arena, MemoryFault, Pointer, Tile, View
from pptc.ir.types import ScalarType, TileType, element_type


def _many(frame: Frame, op: Op, name: str) -> tuple[int, ...]:
    return tuple(frame.get(op.group(name)))


def _cast_pointer(frame: Frame, op: Op) -> Results:
    elem = element_type(op.result.type)
    assert elem is not None
    return (frame.one(op, "input").cast(elem),)


def _add_pointer(frame: Frame, op: Op) -> Results:
    pointer: Pointer = frame.one(op, "ptr")
    return (pointer.moved(frame.one(op, "offset")),)


def _make_view(frame: Frame, op: Op) -> Results:
    layout = op.attributes.get("layout")
    word = layout.value if isinstance(layout, EnumAttr) else None
    return (View(frame.one(op, "ptr"), _many(frame, op, "shape"), _many(frame, op, "strides"), word),)


def _partition(frame: Frame, op: Op) -> Results:
    view: View = frame.one(op, "source")
    return (view.window(_many(frame, op, "offsets"), _many(frame, op, "sizes")),)


def _of_dimension(field_name: str) -> Handler:
    def handler(frame: Frame, op: Op) -> Results:
        values: tuple[int, ...] = getattr(frame.one(op, "view"), field_name)
        dimension = frame.one(op, "dim")
        if not 0 <= dimension < len(values):
            raise MemoryFault(f"the view has no dimension {dimension}")
        return (values[dimension],)

    return handler


def _load(frame: Frame, op: Op) -> Results:
    view, tile = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = (min(a, b) for a, b in zip(view.extents, (tile.v_row, tile.v_col), strict=True))
    values = view.base.array[view.places(rows, columns)]
    if frame.poison:
        tile.leave_unspecified(outside=False)
    tile.write(values)
    return None


def _store(frame: Frame, op: Op) -> Results:
    tile, view = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = (min(a, b) for a, b in zip(view.extents, (tile.v_row, tile.v_col), strict=True))
    values = numeric.widen(tile.read(rows, columns), tile.type.elem)
    if plain(attribute(op, "atomicType")) == "atomic_add":
        values = values + numeric.widen(view.base.array[view.places(rows, columns)], view.base.elem)
    view.base.array[view.places(rows, columns)] = numeric.narrow(values, view.base.elem)
    return None


def _scalar(value: Any, elem: ScalarType) -> Any:
    """An array's element as the interpreter holds scalars."""
    if elem.is_float:
        return value
    return bool(value) if elem.bits == 1 else int(value)


def _load_scalar(frame: Frame, op: Op) -> Results:
    pointer: Pointer = frame.one(op, "ptr")
    return (_scalar(pointer.load(frame.one(op, "offset")), pointer.elem),)


def _store_scalar(frame: Frame, op: Op) -> Results:
    frame.one(op, "ptr").store(frame.one(op, "offset"), frame.one(op, "value"))
    return None


# ---------------------------------------------------------------- tile handles


def _extent(static: int | None, given: int | None, default: int, limit: int) -> int:
    found = static if static is not None else default if given is None else given
    if not 0 <= found <= limit:
        raise MemoryFault(f"a valid extent of {found} does not fit 0..{limit}")
    return found


def _valid(frame: Frame, op: Op, type: TileType) -> tuple[int, int]:
    """The valid region of a fresh handle: from the type, the operands, or the physical shape."""
    return (
        _extent(type.v_row, frame.one(op, "valid_row"), type.rows, type.rows),
        _extent(type.v_col, frame.one(op, "valid_col"), type.cols, type.cols),
    )


def _tile_type(op: Op) -> TileType:
    assert isinstance(op.result.type, TileType)
    return op.result.type


def _number(value: Attr | None) -> int | None:
    return value.value if isinstance(value, IntAttr) else None


def _allocate(frame: Frame, op: Op) -> Results:
    type = _tile_type(op)
    address, offset = frame.one(op, "addr"), _number(op.attributes.get("tile.offset"))
    if address is not None:
        arena, start = frame.arena(type.space), address
    elif offset is not None:
        arena, start = frame.arena("scratch"), offset
    else:
        arena, start = Arena(frame.poison), 0
    arena.bytes(start, type.size_bytes)
    return (Tile(type, arena, start, *_valid(frame, op, type), type),)


def _subview(frame: Frame, op: Op) -> Results:
    whole: Tile = frame.one(op, "source")
    type = _tile_type(op)
    row, column = _many(frame, op, "offsets")
    return (whole.subview(type, row, column, *_valid(frame, op, type)),)


def _reinterpret(frame: Frame, op: Op) -> Results:
    """The valid region is the type's; where that says `?`, the source's, swapped for the transposed shape, else all."""
    whole: Tile = frame.one(op, "src")
    type = _tile_type(op)
    rows, columns = _carried_valid(whole, type)
    return (
        whole.reinterpreted(
            type, _extent(type.v_row, rows, rows, type.rows), _extent(type.v_col, columns, columns, type.cols)
        ),
    )


def _carried_valid(whole: Tile, type: TileType) -> tuple[int, int]:
    if (type.rows, type.cols) == (whole.type.rows, whole.type.cols):
        return whole.v_row, whole.v_col
    if (type.cols, type.rows) == (whole.type.rows, whole.type.cols):
        return whole.v_col, whole.v_row
    return type.rows, type.cols


def _set_valid(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "source")
    tile.v_row = _extent(None, frame.one(op, "valid_row"), 0, tile.type.rows)
    tile.v_col = _extent(None, frame.one(op, "valid_col"), 0, tile.type.cols)
    return None


def _get_valid(*names: str) -> Handler:
    return lambda frame, op: [getattr(frame.values[op.operands[0]], name) for name in names]


def _get_element(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "src")
    return (_scalar(tile.elements[tile.place(frame.one(op, "offset"))], tile.type.elem),)


def _set_element(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "dst")
    tile.elements[tile.place(frame.one(op, "offset"))] = frame.one(op, "val")
    return None


def _print(frame: Frame, op: Op) -> Results:
    if frame.output is not None:
        value = frame.values[op.operands[0]]
        if isinstance(value, Tile):
            shown = value.read(value.v_row, value.v_col)
        else:
            shown = value.base.array[value.places(*value.extents)]
        width, digits = print_layout(op)
        digits = digits if shown.dtype.kind not in "iub" else 0
        for row in shown.astype(np.float64):
            frame.output("".join(f"{x:{width}.{digits}f} " for x in row) + "\n")
    return None


MEMORY_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "pto.addptr": _add_pointer,
        "pto.castptr": _cast_pointer,
        "pto.make_tensor_view": _make_view,
        "pto.partition_view": _partition,
        "pto.get_tensor_view_dim": _of_dimension("dims"),
        "pto.get_tensor_view_stride": _of_dimension("strides"),
        "pto.tload": _load,
        "pto.tstore": _store,
        "pto.load_scalar": _load_scalar,
        "pto.store_scalar": _store_scalar,
        "pto.alloc_tile": _allocate,
        "pto.subview": _subview,
        "pto.treshape": _reinterpret,
        "pto.bitcast": _reinterpret,
        "pto.set_validshape": _set_valid,
        "pto.get_validshape": _get_valid("v_row", "v_col"),
        "pto.tile_valid_rows": _get_valid("v_row"),
        "pto.tile_valid_cols": _get_valid("v_col"),
        "pto.tgetval": _get_element,
        "pto.tsetval": _set_element,
        "pto.tprint": _print,
    }
)
