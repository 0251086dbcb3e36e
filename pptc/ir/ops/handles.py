"""Rows of the tile dialect that make pointers, views of global memory, and tile handles; none touches an element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pptc.ir.attrs import EnumAttr
from pptc.ir.core import Op, Value
from pptc.ir.kinds import (
    INDEX_VALUE,
    LONG,
    PART,
    PTR,
    PTR_OR_INT,
    TILE,
    VIEW,
    VIEW_OR_PART,
    box,
    integers,
    valid_text,
    whole_boxes,
)
from pptc.ir.opdef import (
    Attribute,
    Handle,
    OpDef,
    Operand,
    Problem,
    Result,
    table,
)
from pptc.ir.types import INDEX, PartType, PtrType, TileType, Type, ViewType, element_type

INDICES = "one index per dimension"


def _indices(name: str, doc: str = INDICES) -> Operand:
    return Operand(name, INDEX_VALUE, arity="many", doc=doc)


def index(name: str, doc: str = "") -> Operand:
    """An operand of type index."""
    return Operand(name, INDEX_VALUE, doc=doc)


def _maybe_index(name: str, doc: str = "") -> Operand:
    return Operand(name, INDEX_VALUE, arity="optional", doc=doc)


def _like(name: str) -> Any:
    return lambda op: (op.operand(name).type,)


# ---------------------------------------------------------------- pointers and views


def view_layout(value: Value) -> str | None:
    """The layout word on the make_tensor_view that a view or partition comes from; None when it is not known."""
    maker = value.op
    while maker is not None and maker.name == "pto.partition_view":
        maker = maker.operand("source").op
    layout = maker.attributes.get("layout") if maker is not None else None
    return layout.value if isinstance(layout, EnumAttr) else None


def _rank(op: Op, type: Type, *groups: str) -> Iterator[Problem]:
    dims = getattr(type, "dims", ())
    if not 1 <= len(dims) <= 5:
        yield Problem("P0205", f"a view has 1 to 5 dimensions, not {len(dims)}")
    for name in groups:
        if len(op.group(name)) != len(dims):
            yield Problem("P0202", f"{len(op.group(name))} {name} for {len(dims)} dimensions", name)


def _view_rank(op: Op) -> Iterator[Problem]:
    yield from _rank(op, op.result.type, "shape", "strides")


def _same_pointee(op: Op) -> Iterator[Problem]:
    name = op.definition.operands[0].name
    here, there = element_type(op.operand(name).type), element_type(op.result.type)
    if here and there and here != there:
        yield Problem("P0204", f"{name} has elements of {here.name}, the result of {there.name}", name)


def _between_pointers(op: Op) -> Iterator[Problem]:
    """Both are pointers into one space: an integer names no memory on machines whose programs do not own it all."""
    here, there = op.operand("input").type, op.result.type
    if not (isinstance(here, PtrType) and isinstance(there, PtrType)):
        yield Problem(
            "P0106", "castptr between an integer and a pointer is not supported", "input", "use pto.addptr"
        )
    elif here.space != there.space:
        yield Problem("P0209", f"input is in {here.space}, the result in {there.space}", "input")


def _part_rank(op: Op) -> Iterator[Problem]:
    yield from _rank(op, op.result.type, "offsets", "sizes")
    whole, part = op.operand("source").type, op.result.type
    if (
        isinstance(whole, ViewType | PartType)
        and isinstance(part, PartType)
        and len(whole.dims) != len(part.dims)
    ):
        yield Problem("P0205", f"a partition keeps its source's {len(whole.dims)} dimensions", "source")


LAYOUT = Attribute(
    "layout", "enum", "layout", values=("nd", "dn", "nz", "mx_a_zz", "mx_b_nn"),
    doc="how the global memory is laid out; nd and dn only restate the strides",
)  # fmt: skip

VIEWS = (
    OpDef(
        name="pto.addptr",
        doc="The pointer moved by `offset` elements.",
        operands=(Operand("ptr", PTR), index("offset", "in elements")),
        results=(Result("result", PTR),),
        format="$ptr `,` $offset attr-dict `:` type($ptr) `->` type($result)",
        pure=True,
        rules=(_same_pointee,),
        infer=_like("ptr"),
        meaning=Handle(),
    ),
    OpDef(
        name="pto.castptr",
        doc="The same address as a pointer to elements of another type.",
        operands=(Operand("input", PTR_OR_INT),),
        results=(Result("result", PTR_OR_INT),),
        format="$input attr-dict `:` type($input) `->` type($result)",
        since="0.57",
        pure=True,
        rules=(_between_pointers,),
        meaning=Handle(),
    ),
    OpDef(
        name="pto.make_tensor_view",
        doc="A view of global memory: `shape` elements per dimension, `strides` elements apart.",
        operands=(Operand("ptr", PTR), _indices("shape"), _indices("strides")),
        results=(Result("result", VIEW),),
        attributes=(LAYOUT,),
        format="$ptr `,` `shape` `=` `[` $shape `]` `,` `strides` `=` `[` $strides `]` attr-dict `:` type($result)",
        pure=True,
        rules=(_view_rank, _same_pointee),
        meaning=Handle(),
    ),
    OpDef(
        name="pto.partition_view",
        doc="The window of a view that starts at `offsets` and holds `sizes` elements per dimension.",
        operands=(Operand("source", VIEW_OR_PART), _indices("offsets"), _indices("sizes")),
        results=(Result("result", PART),),
        format=(
            "$source `,` `offsets` `=` `[` $offsets `]` `,` `sizes` `=` `[` $sizes `]` attr-dict "
            "`:` type($source) `->` type($result)"
        ),
        pure=True,
        rules=(_part_rank, _same_pointee),
        meaning=Handle(),
    ),
    *(
        OpDef(
            name=f"pto.get_tensor_view_{word}",
            doc=f"The {doc} of dimension `dim` of a view.",
            operands=(Operand("view", VIEW_OR_PART), index("dim")),
            results=(Result("result", INDEX_VALUE),),
            format="$view `,` $dim attr-dict `:` type($view) `->` type($result)",
            pure=True,
            infer=lambda op: (INDEX,),
            meaning=Handle(),
        )
        for word, doc in (("dim", "extent"), ("stride", "stride in elements"))
    ),
)


# ---------------------------------------------------------------- tile handles


def _valid_operands(op: Op) -> Iterator[Problem]:
    """valid_row and valid_col stand exactly where the type says `?`."""
    type = op.result.type
    if not isinstance(type, TileType):
        return
    for name, extent in (("valid_row", type.v_row), ("valid_col", type.v_col)):
        given = op.optional(name) is not None
        if extent is None and not given:
            yield Problem("P0213", f"{name} is needed: the tile's type says v_{name[6:]}=?")
        if extent is not None and given:
            yield Problem("P0213", f"{name} is given, but the tile's type says v_{name[6:]}={extent}", name)


def _window(op: Op) -> Iterator[Problem]:
    """A subview keeps element type, space and layout; its type has the shape that `sizes` says."""
    whole, part = op.operand("source").type, op.result.type
    if not (isinstance(whole, TileType) and isinstance(part, TileType)):
        return
    if len(op.group("offsets")) != 2:
        yield Problem("P0202", f"a tile has 2 offsets, not {len(op.group('offsets'))}", "offsets")
    if integers(op.attributes.get("sizes")) != (part.rows, part.cols):
        yield Problem("P0205", f"sizes are not the {part.rows}x{part.cols} of the result's type")
    if (whole.elem, whole.space) != (part.elem, part.space):
        yield Problem("P0201", "a subview has the element type and space of its source", "source")
    if part.rows > whole.rows or part.cols > whole.cols:
        yield Problem("P0218", f"{part.rows}x{part.cols} is larger than {whole.rows}x{whole.cols}", "source")
    if (whole.blayout, whole.slayout, whole.fractal) != (part.blayout, part.slayout, part.fractal):
        yield Problem("P0210", "a subview has the layout of its source", "source")
    if any(extent % unit for extent, unit in zip((part.rows, part.cols), box(whole), strict=True)):
        yield Problem("P0210", f"a window of a boxed tile holds whole boxes of {box(whole)}", "source")


def _same_bytes(op: Op) -> Iterator[Problem]:
    """Source and result have one space, one size in bytes, and are both boxed or both not."""
    whole, other = op.operand("src").type, op.result.type
    if not (isinstance(whole, TileType) and isinstance(other, TileType)):
        return
    if whole.space != other.space:
        yield Problem("P0209", f"src is in {whole.space}, the result in {other.space}", "src")
    if whole.size_bytes != other.size_bytes:
        yield Problem("P0205", f"src has {whole.size_bytes} bytes, the result {other.size_bytes}", "src")
    if whole.is_boxed != other.is_boxed:
        yield Problem("P0210", "boxed and unboxed layouts are not reinterpreted as each other", "src")


def _dynamic_valid(op: Op) -> Iterator[Problem]:
    type = op.operand("source").type
    if isinstance(type, TileType) and None not in (type.v_row, type.v_col):
        yield Problem(
            "P0213", f"the type fixes the valid region to {valid_text(type)}", "source", "valid=?x?"
        )


def _reinterpret(name: str, doc: str) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=(Operand("src", TILE),),
        results=(Result("result", TILE),),
        format="$src attr-dict `:` type($src) `->` type($result)",
        pure=True,
        rules=(_same_bytes,),
        meaning=Handle(),
    )


def _valid_extent(name: str, doc: str) -> OpDef:
    return OpDef(
        name=name,
        since="0.57",
        doc=doc,
        operands=(Operand("src", TILE),),
        results=(Result("result", INDEX_VALUE),),
        format="$src attr-dict `:` type($src) `->` type($result)",
        infer=lambda op: (INDEX,),
        meaning=Handle(),
    )


_CARRIED = (
    "The valid region is the type's; where that says `?` it is the source's, with rows and columns swapped for the "
    "transposed shape, and all of any other shape."
)

HANDLES = (
    OpDef(
        name="pto.alloc_tile",
        doc="A tile: at byte `addr` of its space (level 3), or where the compiler puts it (level 2). Its content is "
        "unspecified.",
        operands=(
            Operand("addr", LONG, arity="optional", doc="byte address in the tile's space"),
            _maybe_index("valid_row", "valid rows, where the type says ?"),
            _maybe_index("valid_col", "valid columns, where the type says ?"),
        ),
        results=(Result("result", TILE),),
        format=(
            "(`addr` `=` $addr^)? (`valid_row` `=` $valid_row^)? (`valid_col` `=` $valid_col^)? "
            "attr-dict `:` type($result)"
        ),
        rules=(_valid_operands, whole_boxes),
        meaning=Handle(),
    ),
    OpDef(
        name="pto.subview",
        since="0.57",
        doc="The window of a tile at `offsets`; it shares the tile's memory and has a valid region of its own.",
        operands=(
            Operand("source", TILE),
            _indices("offsets", "row and column"),
            _maybe_index("valid_row"),
            _maybe_index("valid_col"),
        ),
        results=(Result("result", TILE),),
        attributes=(Attribute("sizes", "ints", required=True, doc="rows and columns of the window"),),
        format=(
            "$source `[` $offsets `]` `sizes` $sizes (`valid` `[` list($valid_row, $valid_col)^ `]`)? attr-dict "
            "`:` type($source) `->` type($result)"
        ),
        pure=True,
        rules=(_window,),
        meaning=Handle(),
    ),
    _reinterpret("pto.treshape", f"The same bytes as a tile of another shape or layout. {_CARRIED}"),
    _reinterpret("pto.bitcast", f"The same bytes as a tile of another element type. {_CARRIED}"),
    OpDef(
        name="pto.set_validshape",
        doc="Changes the valid region of a tile handle from here on.",
        operands=(Operand("source", TILE), index("valid_row"), index("valid_col")),
        format="$source `,` $valid_row `,` $valid_col attr-dict `:` type($source)",
        rules=(_dynamic_valid,),
        meaning=Handle(),
    ),
    OpDef(
        name="pto.get_validshape",
        since="0.57",
        doc="The valid rows and columns of a tile.",
        operands=(Operand("source", TILE),),
        results=(Result("rows", INDEX_VALUE), Result("columns", INDEX_VALUE)),
        format="$source attr-dict `:` type($source)",
        infer=lambda op: (INDEX, INDEX),
        meaning=Handle(),
    ),
    _valid_extent("pto.tile_valid_rows", "The valid rows of a tile."),
    _valid_extent("pto.tile_valid_cols", "The valid columns of a tile."),
)

ROWS = table(VIEWS, HANDLES)
