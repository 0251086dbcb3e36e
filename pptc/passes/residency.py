"""residency: decides where every tile lives and says so with `tile.home` on its `pto.alloc_tile`.

What the lowering may rely on. A tile with `tile.private` (unit) is reached through its own handle only (and
handles made from it by treshape, bitcast, subview); a tile without it lives at `addr` in its space, in
PTO's exact layout, and has no `tile.home`. Homes of private tiles:

* `"arena"`, or no `tile.home`: bytes at `tile.offset` of the scratch (written by plan-memory). Unboxed
  tiles are exactly ND or DN (pitch = cols or rows); boxed ones are plain row-major with the pitch of
  `homes.row_pitch`.
* `"view"`: no bytes. The only writer is a plain `tload`, `tmov` or `textract`, which emits nothing; reads
  go to the writer's source: global memory with unit column stride, or another tile that is not written
  while this one lives.
* `"register"`: no bytes; only inside a strip loop (`scf.for` with unit attribute `tile.strip`). The value
  is evaluated where a later op of the same row needs it, once per phase that uses it, and rounded to the
  tile's element type each time.
* `"strip"`: only inside a strip loop. One row of bytes at `tile.offset`, or with `tile.row = N : i64` in
  the destination row of the `tstore` of the same loop that carries the same `tile.row = N`; that tstore's
  partition_view stands before the strip's writer.
* `"panel"`: a `right` operand, packed as `panels.Panel` at `tile.offset` when its only writer (`tload`, or
  `tmov` and `textract` from a tile) runs.
* `"accumulator"`: no bytes. An acc tile with one `tmatmul` as its only writer and one plain `tstore`, later
  in the same block, as its only reader: the micro-kernel stores straight into that view.

A strip loop runs one row per trip; its ops work on one-row tiles (1xC) and, for values of which a row has
one, on 1x1 tiles. They fall into phases (`phases.py`): an op belongs to the phase after the last row
reduction that it depends on. In a phase all sinks (tstores, row reductions, writes to strips and to
subviews of whole tiles) of a column block are evaluated before any of them is stored. Residency makes sure
that no view is read in a later phase than a store that may change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.core import Op, functions
from pptc.passes.base import Pass, PassContext, Remark
from pptc.passes.homes import HOME, STRIP, is_private
from pptc.passes.row_homes import Rows
from pptc.passes.whole_homes import home_of_whole_tile


@dataclass(frozen=True)
class Residency(Pass):
    """`views`: read loaded tiles in place where that is safe. `dear`: from which cost on, in additions, a value that
    a later phase of its row needs again is kept instead of computed twice.
    """

    name: ClassVar[str] = "residency"
    views: bool = True
    dear: int = 6

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function."""
        changed = False
        for function in functions(module):
            number = 0
            for loop in [op for op in function.walk() if STRIP in op.attributes]:
                number = Rows(loop, self.views, self.dear).assign(number)
            for alloc in _whole_tiles(function):
                home, reason = home_of_whole_tile(alloc, context.machine, self.views)
                if home == "arena":
                    context.remarks.append(
                        Remark(self.name, f"{_named(alloc)} stays in memory: {reason}", alloc.span)
                    )
                else:
                    alloc.attributes[HOME] = home
            changed |= any(HOME in op.attributes for op in function.walk())
        return changed


def _whole_tiles(function: Op) -> list[Op]:
    """The private tiles that are not rows of a strip loop."""
    return [
        op
        for op in function.walk()
        if op.name == "pto.alloc_tile" and is_private(op) and not _is_row(op) and HOME not in op.attributes
    ]


def _is_row(alloc: Op) -> bool:
    return alloc.parent is not None and STRIP in alloc.parent.attributes


def _named(alloc: Op) -> str:
    return f"tile %{alloc.result.name}" if alloc.result.name else "this tile"
