"""Facts about private tiles and the windows of global memory that they are loaded from, shared by the tile passes."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.analysis import (
    Use,
    ancestor_in,
    comes_before,
    constant_of,
    handle_source,
    readers,
    root_tile,
    stored_pointers,
    tile_uses,
    uses,
    uses_of,
    writers,
)
from pptc.ir.core import Op, Value
from pptc.ir.ops.handles import view_layout
from pptc.ir.rewrite import move_before
from pptc.passes.handles import Extent, equal, extents_of
from pptc.passes.homes import is_private
from pptc.passes.tile_values import is_whole_window


def is_private_tile(handle: Value) -> bool:
    """True when a handle's root is a private tile."""
    maker = root_tile(handle).op
    return maker is not None and maker.name == "pto.alloc_tile" and is_private(maker)


def only_writer(handle: Value) -> Op | None:
    """The op that writes the private tile behind a handle, when there is one only."""
    if not is_private_tile(handle):
        return None
    found = list(dict.fromkeys(writers(root_tile(handle))))
    return found[0] if len(found) == 1 else None


def is_direct(handle: Value) -> bool:
    """True when a handle names all of its root in the root's layout: at most its valid region differs."""
    while (op := handle.op) is not None and (source := handle_source(op)) is not None:
        if op.name != "pto.subview" or not is_whole_window(op):
            return False
        handle = source
    return True


def is_plain(op: Op) -> bool:
    """True for a move that only copies: no declared attribute says more than its default, but hints."""
    for key, value in op.attributes.items():
        declared = op.definition.attribute(key)
        if declared is not None and value != declared.default and key not in ("layout", "stPhase"):
            return False
    return True


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """A partition_view as a matrix: its last two dimensions, all others being of size 1."""

    op: Op
    offsets: tuple[Value, Value]
    sizes: tuple[Extent, Extent]
    strides: tuple[Extent, Extent]


def matrix_part(part: Value) -> MatrixPart | None:
    """The matrix that a part of global memory is; None when its rows lie in more than one dimension."""
    op = part.op
    if op is None or op.name != "pto.partition_view" or view_layout(part) == "nz":
        return None
    sizes, offsets = op.group("sizes"), op.group("offsets")
    strides = _strides(op)
    if len(sizes) < 2 or strides is None or any(constant_of(size) != 1 for size in sizes[:-2]):
        return None
    return MatrixPart(
        op, (offsets[-2], offsets[-1]), (_number(sizes[-2]), _number(sizes[-1])), (strides[-2], strides[-1])
    )


def _strides(op: Op) -> tuple[Extent, ...] | None:
    """The strides of the view that a partition is cut from."""
    source = op.operands[0]
    while source.op is not None and source.op.name == "pto.partition_view":
        source = source.op.operands[0]
    if source.op is None or source.op.name != "pto.make_tensor_view":
        return None
    return tuple(map(_number, source.op.group("strides")))


def _number(value: Value) -> Extent:
    known = constant_of(value)
    return value if known is None else known


def view_shape(part: Value) -> tuple[Extent, ...] | None:
    """The shape of the view that a partition is cut from."""
    source = part
    while source.op is not None and source.op.name == "pto.partition_view":
        source = source.op.operands[0]
    if source.op is None or source.op.name != "pto.make_tensor_view":
        return None
    return tuple(map(_number, source.op.group("shape")))


def discard_unread(tile: Value) -> None:
    """Erase a private tile, its handles and its writers when nobody reads it."""
    maker = root_tile(tile).op
    if maker is None or not is_private_tile(tile) or readers(maker.result):
        return
    if any(not (use.reads or use.writes) for use in tile_uses(maker.result)):
        return
    for op in dict.fromkeys(writers(maker.result)):
        if len(_targets(op)) > 1 or op.results or op.regions:
            return
        op.erase()
    drop_handles(maker.result)
    maker.erase()


def _targets(op: Op) -> list[Use]:
    return [use for use in uses(op) if use.writes]


def drop_handles(tile: Value) -> None:
    """Erase the ops that make further handles from an unused one."""
    for use in uses_of(tile):
        for result in use.op.results:
            drop_handles(result)
        use.op.erase()


def span(start: Op, ends: list[Op]) -> list[Op] | None:
    """The ops of the block of `start` from it to the last that is or holds one of `ends`; None if one is elsewhere."""
    assert start.block is not None
    last = start
    for end in ends:
        place = ancestor_in(end, start.block)
        if place is None:
            return None
        if place is not last and comes_before(last, place):
            last = place
    found = [start]
    while found[-1] is not last and found[-1].next is not None:
        found.append(found[-1].next)
    return found


def stays_unchanged(pointer: Value, start: Op, ends: list[Op]) -> bool:
    """True when nothing is stored through `pointer` from `start` to the last of `ends`, all inside of its block."""
    ops = span(start, ends)
    return ops is not None and not any(pointer in stored_pointers(op) for op in ops)


def is_covered(tile: Value, writer: Op) -> bool:
    """True when no reader of a tile looks at more columns than its writer fills, nor at more rows or at its bytes."""
    written = next(extents_of(use.value) for use in uses(writer) if use.writes)
    for use in tile_uses(tile):
        if not use.reads:
            continue
        read = extents_of(use.value)
        if (
            use.op.name == "pto.tgetval"
            or written is None
            or read is None
            or not (equal(read[1], written[1]) and _fits_rows(use, read[0], written[0]))
        ):
            return False
    return True


def _fits_rows(use: Use, read: Extent, written: Extent) -> bool:
    return equal(read, written) or (read == 1 and not is_direct(use.value))


def late_readers(tile: Value) -> list[Op]:
    """The readers of a tile, and of tiles that only copy it: they may end up reading it in place."""
    found: dict[Op, None] = {}
    pending = [tile]
    while pending:
        for op in readers(pending.pop()):
            found[op] = None
            if op.name in ("pto.tmov", "pto.textract") and only_writer(op.operand("dst")) is op:
                pending.append(root_tile(op.operand("dst")))
    return list(found)


def is_readable_in_place(writer: Op) -> bool:
    """True when the source of a tload or textract can be read in vectors from where it is."""
    if not is_plain(writer):
        return False
    if writer.name != "pto.tload":
        return True
    part = matrix_part(writer.operand("src"))
    return part is not None and part.strides[1] == 1


def expose(part: Value, anchor: Op) -> bool:
    """Move the pure ops that make a part in front of `anchor`, as far as they stand after it in its block."""
    assert anchor.block is not None
    chain: list[Op] = []
    pending = [part]
    while pending:
        op = pending.pop().op
        if op is None or op.block is not anchor.block or op in chain or not comes_before(anchor, op):
            continue
        if not op.definition.pure:
            return False
        chain.append(op)
        pending += op.operands
    for op in anchor.block:
        if op in chain:
            move_before(op, anchor)
    return True
