"""Handles instead of changes: `pto.set_validshape` becomes a subview of the whole tile that the ops after it use."""

from __future__ import annotations

from pptc.ir.analysis import Use, ancestor_in, comes_before, handle_source, uses_of
from pptc.ir.builder import Builder
from pptc.ir.core import Op, Value
from pptc.passes.handles import with_valid


def split_handles(function: Op) -> bool:
    """Replace every set_validshape whose reach is plain: all uses are before it, or after it in its own block."""
    changed = False
    for op in list(function.walk()):
        if op.name == "pto.set_validshape" and (later := _later_uses(op)) is not None:
            source = op.operand("source")
            builder = Builder.before(op)
            handle = with_valid(builder, source, (op.operand("valid_row"), op.operand("valid_col")))
            for use in later:
                use.op.set_operand(use.index, handle)
            op.erase()
            changed = True
    return changed


def _later_uses(change: Op) -> list[Use] | None:
    """The uses that see the new region; None when some see it in one trip and not in another."""
    source = change.operand("source")
    maker = source.op
    if maker is None or handle_source(maker) is not None:
        return None
    assert change.block is not None
    later = []
    for use in uses_of(source):
        if use.op is change:
            continue
        place = ancestor_in(use.op, change.block)
        if place is not None and comes_before(change, place):
            later.append(use)
        elif not _is_plainly_before(use, source, change):
            return None
    return later


def _is_plainly_before(use: Use, source: Value, change: Op) -> bool:
    """True when the use comes before the change whenever both run: the handle is made anew between them."""
    assert source.op is not None
    return source.op.block is change.block
