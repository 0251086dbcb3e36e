"""Rows of the tile dialect that move elements between global memory and tiles, and between tiles."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from types import MappingProxyType
from typing import Any

from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    PART,
    TILE,
    agree,
    choice,
    in_spaces,
    not_yet,
    same_elements,
    same_valid,
    source,
    target,
    tile,
    typed_tiles,
    valid_text,
)
from pptc.ir.opdef import (
    Attribute,
    Map,
    OpDef,
    Problem,
    Spread,
    Window,
    dps,
    table,
)
from pptc.ir.ops.handles import LAYOUT, index, view_layout
from pptc.ir.types import F32, PartType, element_type


def transfer_extents(op: Op) -> Iterator[Problem]:
    """The partition's last dimension is the tile's valid columns, the product of the others its valid rows."""
    part_name, tile_name = ("src", "dst") if op.name == "pto.tload" else ("dst", "src")
    part = op.operand(part_name).type
    tiles = dict(typed_tiles(op, (tile_name,)))
    if not isinstance(part, PartType) or not tiles or view_layout(op.operand(part_name)) == "nz":
        return
    type, leading = tiles[tile_name], part.dims[:-1]
    rows = None if None in leading else prod(extent for extent in leading if extent is not None)
    if not (agree(rows, type.v_row) and agree(part.dims[-1], type.v_col)):
        dims = "x".join("?" if extent is None else str(extent) for extent in part.dims)
        yield Problem(
            "P0205", f"partition {dims} does not fit the valid region {valid_text(type)}", part_name
        )


def _moved_elements(op: Op) -> Iterator[Problem]:
    """Moves keep the element type; out of acc, f32 may be rounded to a narrower float."""
    types = [element_type(op.operand(name).type) for name in ("src", "dst")]
    space = getattr(op.operand("src").type, "space", None)
    rounded = space == "acc" and types[0] == F32 and types[1] in FLOATS
    if None not in types and types[0] != types[1] and not rounded:
        message = f"src has elements of {types[0].name}, dst of {types[1].name}"  # type: ignore[union-attr]
        yield Problem("P0204", message, "src")


_PAIRS = MappingProxyType(
    {
        "vec": ("vec", "mat"),
        "mat": ("left", "right", "bias", "scaling", "mat"),
        "acc": ("vec", "mat"),
    }
)


def _space_pair(op: Op) -> Iterator[Problem]:
    types = dict(typed_tiles(op, ("src", "dst")))
    if len(types) == 2 and types["dst"].space not in _PAIRS.get(types["src"].space, ()):
        message = f"nothing moves from {types['src'].space} to {types['dst'].space}"
        yield Problem("P0209", message, "dst")


def _fits(inner: str, outer: str) -> Any:
    """The tile `inner` is not larger than the tile `outer` that it is a window of."""

    def check(op: Op) -> Iterator[Problem]:
        types = dict(typed_tiles(op, (inner, outer)))
        small, large = types.get(inner), types.get(outer)
        if small and large and ((small.v_row or 0) > large.rows or (small.v_col or 0) > large.cols):
            message = f"the window {valid_text(small)} is larger than {large.rows}x{large.cols} of {outer}"
            yield Problem("P0218", message, inner)

    return check


_RELU = choice(
    "reluPreMode", "relu_pre_mode", "no_relu", "normal_relu", "scalar_relu", "vector_relu", "pwl",
    default="no_relu", doc="the larger one of each element and 0, on the way",
)  # fmt: skip
_ACC_TO_VEC = Attribute(
    "accToVecMode", "enum", "acc_to_vec_mode",
    values=("single_mode_vec0", "single_mode_vec1", "dual_mode_split_m", "dual_mode_split_n"),
    doc="which vector core gets what",
)  # fmt: skip
_MOVE_RULES = (
    in_spaces,
    _space_pair,
    _moved_elements,
    not_yet("reluPreMode", "no_relu"),
    not_yet("accToVecMode"),
)
_COPIED = "what both the partition and the tile's valid region hold"

MOVES = (
    OpDef(
        name="pto.tload",
        doc=f"Global memory to a tile, in the tile's layout: {_COPIED}.",
        operands=(source("src", PART), target(kind=tile("vec", "mat", "left", "right"))),
        attributes=(LAYOUT,),
        format=dps(("src",)),
        rules=(in_spaces, same_elements("src", "dst"), transfer_extents),
    ),
    OpDef(
        name="pto.tstore",
        doc=f"A tile to global memory: {_COPIED}. An acc tile of f32 is rounded to the view's float type.",
        operands=(source("src", tile("vec", "acc", "mat")), target(kind=PART)),
        attributes=(
            choice("stPhase", "st_phase", "unspecified", "partial", "final", default="unspecified",
                   doc="where the store stands in a sum over k; a hint to the chip"),
            choice("atomicType", "atomic_type", "atomic_none", "atomic_add", default="atomic_none",
                   doc="add to what is there"),
            _RELU,
            LAYOUT,
        ),
        format=dps(("src",)),
        rules=(
            in_spaces, _moved_elements, transfer_extents,
            not_yet("reluPreMode", "no_relu"),
        ),
    ),
    OpDef(
        name="pto.tmov",
        doc="A tile to another space or layout, element by element.",
        operands=(source("src", TILE), target(kind=TILE)),
        attributes=(_ACC_TO_VEC, _RELU),
        format=dps(("src",)),
        rules=(*_MOVE_RULES, same_valid("src", "dst")),
        reference=lambda x: x,
        meaning=Map(lambda b, x: x, MappingProxyType({"src": Spread.FULL})),
    ),
    OpDef(
        name="pto.textract",
        doc="dst[r, c] = src[row + r, column + c].",
        operands=(source("src", TILE), index("row"), index("column"), target(kind=TILE)),
        attributes=(_ACC_TO_VEC, _RELU),
        format=dps(("src", "row", "column")),
        rules=(*_MOVE_RULES, _fits("dst", "src")),
        meaning=Window(),
    ),
    OpDef(
        name="pto.tinsert",
        doc="dst[row + r, column + c] = src[r, c], over the source's valid region.",
        operands=(source("src", TILE), index("row"), index("column"), target(kind=TILE, access="update")),
        attributes=(
            _ACC_TO_VEC,
            _RELU,
            Attribute("tinsertMode", "enum", "tinsert_mode", values=("split2", "split4"), doc="A5 only"),
        ),
        format=dps(("src", "row", "column")),
        rules=(*_MOVE_RULES, not_yet("tinsertMode"), _fits("src", "dst")),
        meaning=Window(into=True),
    ),
)  # fmt: skip

ROWS = table(MOVES)
