"""strip-rows: a run of row-wise ops becomes a loop over rows in which every tile is one row.

The loop is `scf.for %row = 0 to rows step 1 {tile.strip}`. Tiles that only the run uses become one-row private tiles in
its body, or 1x1 ones where a row has one value; tiles that others touch too are reached through one-row subviews
(boxed ones through textract and tinsert). Loads and stores move one row of their window. See `residency.py` for what
the lowering makes of it, and `row_groups.py` for what a run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.core import Block, Op, functions
from pptc.passes.base import Pass, PassContext
from pptc.passes.homes import STRIP
from pptc.passes.row_groups import groups_of
from pptc.passes.row_loops import emit


@dataclass(frozen=True)
class StripRows(Pass):
    """`rows` is how many rows a trip takes; more than one is for machines whose strips are wider."""

    name: ClassVar[str] = "strip-rows"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every block."""
        changed = False
        for function in functions(module):
            for block in _blocks(function):
                for group in groups_of(block):
                    emit(group)
                    changed = True
        return changed


def _blocks(function: Op) -> list[Block]:
    """All blocks but those of strip loops."""
    return [
        block
        for op in function.walk()
        if STRIP not in op.attributes
        for region in op.regions
        for block in region.blocks
    ]
