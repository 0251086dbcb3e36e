"""Moving what does not change in a loop in front of it."""

from __future__ import annotations

from pptc.ir.analysis import is_inside
from pptc.ir.core import Op
from pptc.ir.rewrite import move_before


def hoist_pure(loop: Op) -> bool:
    """Move the pure ops of a loop's body, whose operands are all made outside, in front of the loop."""
    changed = False
    for op in loop.body:
        if op.definition.pure and op.results and not any(is_inside(value, loop) for value in op.operands):
            move_before(op, loop)
            changed = True
    return changed
