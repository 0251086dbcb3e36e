"""Where private tiles of more than one row live: in place, packed, in the accumulators, or as bytes."""

from __future__ import annotations

from pptc.ir.analysis import (
    ancestor_in,
    comes_before,
    handle_source,
    is_read,
    readers,
    root_pointer,
    root_tile,
    stored_pointers,
    tile_uses,
    uses,
    writers,
)
from pptc.ir.core import Op, Value
from pptc.ir.machine import Machine
from pptc.ir.opdef import Contract
from pptc.ir.types import PartType, element_type
from pptc.passes.handles import tile_type
from pptc.passes.homes import STRIP, Home, tile_of
from pptc.passes.panels import panel_of
from pptc.passes.tile_facts import (
    expose,
    is_covered,
    is_direct,
    is_plain,
    is_readable_in_place,
    late_readers,
    matrix_part,
    only_writer,
    span,
)
from pptc.passes.windows import may_be_in_place

_COPIES = ("pto.tload", "pto.tmov", "pto.textract")
_FEW_ROWS = 4
"""Packing a right operand costs about as much as multiplying so few rows with it."""


def home_of_whole_tile(alloc: Op, machine: Machine, views: bool) -> tuple[Home, str]:
    """The home of a private tile that is no row of a strip loop, and why it is no better one than bytes."""
    type, tile = tile_of(alloc), alloc.result
    writer = only_writer(tile)
    if writer is None:
        return "arena", "several ops write it" if writers(tile) else "nothing writes it"
    if type.space == "acc":
        reason = "it is no product that goes straight to one store"
        return ("accumulator", "") if _goes_straight_to_memory(tile, writer) else ("arena", reason)
    if type.space == "right":
        if views and _is_used_briefly(tile, machine) and _why_no_view(alloc, writer) is None:
            return "view", ""
        reason = "it is no plain copy that only products read"
        return ("panel", "") if _is_packable(tile, writer, machine) else ("arena", reason)
    obstacle = _why_no_view(alloc, writer) if views else "views are off"
    return ("view", "") if obstacle is None else ("arena", obstacle)


def _is_packable(tile: Value, writer: Op, machine: Machine) -> bool:
    """True when all readers are products of the micro-kernel and the writer only copies."""
    if writer.name not in _COPIES or not is_plain(writer) or panel_of(machine, tile_type(tile).elem) is None:
        return False
    if not is_direct(next(use.value for use in uses(writer) if use.writes)):
        return False
    for use in tile_uses(tile):
        if use.op is writer:
            continue
        meaning = use.op.definition.meaning
        if not isinstance(meaning, Contract) or use.declared.name != meaning.rhs or not is_direct(use.value):
            return False
    return True


def _is_used_briefly(tile: Value, machine: Machine) -> bool:
    """True when one product takes a right operand once, for a few rows, and needs no groups of k side by side."""
    found = readers(tile)
    panel = panel_of(machine, tile_type(tile).elem)
    if len(found) != 1 or panel is None or panel.group > 1:
        return False
    meaning = found[0].definition.meaning
    if not isinstance(meaning, Contract):
        return False
    rows = tile_type(found[0].operand(meaning.lhs)).v_row
    return rows is not None and rows <= _FEW_ROWS


def _why_no_view(alloc: Op, writer: Op) -> str | None:
    """Why the tile may not be read where its only writer reads; None where nothing changes that while it lives."""
    tile = alloc.result
    if writer.name not in _COPIES:
        return f"{writer.name} makes it, and not in a row loop with all that read it"
    if writer.block is not alloc.block:
        return f"{writer.name} makes it in another block"
    if (
        not is_readable_in_place(writer)
        or not is_direct(writer.operand("dst"))
        or not is_covered(tile, writer)
    ):
        return "its elements do not lie in its source as a tile needs them"
    if not all(_is_cut(use.value) for use in tile_uses(tile)):
        return "it is read in another shape or element type"
    stays = _memory_stays if writer.name == "pto.tload" else _source_tile_stays
    return None if stays(writer, late_readers(tile)) else "its source may change while it is read"


def _is_cut(handle: Value) -> bool:
    """True when a handle is its root or a window of it."""
    while (op := handle.op) is not None and (source := handle_source(op)) is not None:
        if op.name != "pto.subview":
            return False
        handle = source
    return True


def _source_tile_stays(writer: Op, ends: list[Op]) -> bool:
    """True when the source is a private tile that nothing writes again while its copy lives."""
    source, target = writer.operand("src"), writer.operand("dst")
    made, root = only_writer(source), root_tile(source).op
    if made is None or root is None or root.block is None or not is_direct(source):
        return False
    if tile_type(source).elem != tile_type(target).elem or span(writer, ends) is None:
        return False
    if root.block is made.block:
        return True
    place = ancestor_in(made, root.block)
    return root.block is writer.block and place is not None and comes_before(place, writer)


def _memory_stays(load: Op, ends: list[Op]) -> bool:
    """True when no store from the load to the last reader may reach the loaded window.

    Other pointers never overlap, but an output may be the very array that is read where ops go row by row.
    """
    source = load.operand("src")
    ops = span(load, ends)
    if ops is None:
        return False
    for op in ops:
        if root_pointer(source) in stored_pointers(op):
            return False
        for loop in (inner for inner in op.walk() if STRIP in inner.attributes):
            if any(may_be_in_place(part, source) for part in _stored_parts(loop)):
                return False
    return True


def _stored_parts(loop: Op) -> list[Value]:
    return [
        use.value
        for op in loop.body
        for use in uses(op)
        if use.writes and isinstance(use.value.type, PartType)
    ]


def _goes_straight_to_memory(tile: Value, product: Op) -> bool:
    """True for an acc tile that one tmatmul makes and one plain tstore takes to an array that is only written."""
    meaning = product.definition.meaning
    if not isinstance(meaning, Contract) or meaning.start or meaning.bias:
        return False
    found = readers(tile)
    if len(found) != 1 or found[0].name != "pto.tstore" or len(writers(tile)) != 1:
        return False
    store = found[0]
    part = matrix_part(store.operand("dst"))
    if (
        part is None
        or part.strides[1] != 1
        or store.block is not product.block
        or not comes_before(product, store)
    ):
        return False
    if element_type(store.operand("dst").type) != tile_type(tile).elem or not is_plain(store):
        return False
    if not (is_direct(store.operand("src")) and is_covered(tile, product)):
        return False
    return _is_only_written(store, product) and expose(store.operand("dst"), product)


def _is_only_written(store: Op, product: Op) -> bool:
    """True when the kernel reads nothing from the stored array, and writes nothing else to it before the store."""
    pointer = root_pointer(store.operand("dst"))
    if is_read(pointer):
        return False
    between = product.next
    while between is not None and between is not store:
        if pointer in stored_pointers(between):
            return False
        between = between.next
    return True
