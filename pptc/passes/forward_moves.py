"""forward-moves: takes the stops out of the way of data.

A load to mat that a tmov or textract passes on to left or right becomes a load of that window straight into the
operand. A tmov from vec to vec becomes a second name of its source. Both tiles are private and written once, so a name
is a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import Pointers, defining_block, root_pointer, root_tile, stored_pointers
from pptc.ir.builder import Builder
from pptc.ir.core import Op, Value, functions
from pptc.ir.ranges import Ranges
from pptc.passes.base import Pass, PassContext, Remark
from pptc.passes.handles import Extent, equal, extents_of, same_layout, tile_type, with_valid
from pptc.passes.tile_facts import (
    discard_unread,
    is_direct,
    is_plain,
    matrix_part,
    only_writer,
    stays_unchanged,
)
from pptc.passes.windows import shifted_part


@dataclass(frozen=True)
class ForwardMoves(Pass):
    """See the module."""

    name: ClassVar[str] = "forward-moves"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function."""
        changed = False
        for function in functions(module):
            stored = stored_pointers(function)
            for op in list(function.walk()):
                if op.name in ("pto.tmov", "pto.textract") and op.block is not None and is_plain(op):
                    changed |= _rename(op) or self._load(op, stored, context)
        return changed

    def _load(self, move: Op, stored: Pointers, context: PassContext) -> bool:
        """tload P -> M; tmov M -> L   ==>   tload P' -> L."""
        load = _source_load(move)
        if load is None or tile_type(move.operand("dst")).space not in ("left", "right"):
            return False
        if _is_written(root_pointer(load.operand("src")), stored, load, move):
            context.remarks.append(
                Remark(
                    self.name, "the load is not forwarded: the kernel stores through its pointer", move.span
                )
            )
            return False
        target = extents_of(move.operand("dst"))
        offsets = _offsets(move)
        if target is None or not _covers(load, offsets, target):
            return False
        builder = Builder.before(move)
        part = shifted_part(builder, load.operand("src"), offsets, target)
        builder.create("pto.tload", {"src": part, "dst": move.operand("dst")}, (), dict(load.attributes))
        source = root_tile(move.operand("src"))
        move.erase()
        discard_unread(source)
        return True


def _source_load(move: Op) -> Op | None:
    """The plain tload that fills the source of a move, when nothing else touches that tile."""
    source = move.operand("src")
    load = only_writer(source)
    if load is None or load.name != "pto.tload" or not is_plain(load) or not is_direct(source):
        return None
    return load if matrix_part(load.operand("src")) is not None else None


def _offsets(move: Op) -> tuple[Extent, Extent]:
    return (move.operand("row"), move.operand("column")) if move.name == "pto.textract" else (0, 0)


def _covers(load: Op, offsets: tuple[Extent, Extent], target: tuple[Extent, Extent]) -> bool:
    """True when the window lies inside of what the load has filled."""
    filled = extents_of(load.operand("dst"))
    part = matrix_part(load.operand("src"))
    if filled is None or part is None:
        return False
    return all(
        _fits(offset, extent, limit) and _fits(offset, extent, size)
        for offset, extent, limit, size in zip(offsets, target, filled, part.sizes, strict=True)
    )


def _fits(offset: Extent, extent: Extent, limit: Extent) -> bool:
    """offset + extent <= limit."""
    ranges = Ranges()

    def bounds(value: Extent) -> tuple[int, int]:
        if isinstance(value, int):
            return value, value
        known = ranges.of(value)
        return known.low, known.high

    if bounds(offset)[1] == 0 and equal(extent, limit):
        return bounds(offset)[0] == 0
    return bounds(offset)[0] >= 0 and bounds(offset)[1] + bounds(extent)[1] <= bounds(limit)[0]


def _is_written(pointer: Value, stored: Pointers, load: Op, move: Op) -> bool:
    """Whether the kernel stores through a pointer, or lets another core do so between the load and the move."""
    return pointer in stored.found or (stored.everything and not stays_unchanged(pointer, load, [move]))


def _rename(move: Op) -> bool:
    """tmov A -> B in vec: B becomes a name of A."""
    source, target = move.operand("src"), move.operand("dst")
    if move.name != "pto.tmov" or tile_type(source).space != "vec" or tile_type(target).space != "vec":
        return False
    a, b = root_tile(source), root_tile(target)
    if not (same_layout(tile_type(a), tile_type(b)) and is_direct(source) and is_direct(target)):
        return False
    writer = only_writer(source)
    extents = extents_of(b)
    if writer is None or extents is None or only_writer(target) is not move:
        return False
    if defining_block(a) is not writer.block or defining_block(b) is not move.block:
        return False
    alias = with_valid(Builder.before(move), a, extents)
    maker = b.op
    assert maker is not None
    move.erase()
    b.replace_all_uses(alias)
    maker.erase()
    return True
