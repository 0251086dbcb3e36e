"""hoist-loads: takes loads out of loops in which neither their window nor their array changes.

So a `right` operand that a whole row of blocks shares is packed once. A loop that may not run at all gets an scf.if
around it and the load, for `right` operands only: nobody may read memory that the kernel would not have read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import (
    Pointers,
    defining_block,
    is_inside,
    root_pointer,
    root_tile,
    stored_pointers,
    tile_uses,
)
from pptc.ir.builder import Builder
from pptc.ir.core import Block, Op, Region, Value, functions
from pptc.ir.opdef import WAITS
from pptc.ir.ranges import Ranges
from pptc.ir.rewrite import move_before
from pptc.ir.types import I1
from pptc.passes.base import Pass, PassContext
from pptc.passes.handles import tile_type
from pptc.passes.homes import STRIP
from pptc.passes.invariants import hoist_pure
from pptc.passes.tile_facts import only_writer


@dataclass(frozen=True)
class HoistLoads(Pass):
    """See the module."""

    name: ClassVar[str] = "hoist-loads"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every loop with loads, inner ones first, so that a load leaves as many as it can."""
        changed = False
        for function in functions(module):
            for loop in [op for op in function.walk() if op.name == "scf.for"][::-1]:
                if STRIP not in loop.attributes and any(op.name == "pto.tload" for op in loop.walk()):
                    changed |= hoist_pure(loop) | _hoist(loop)
        return changed


def _hoist(loop: Op) -> bool:
    if any(WAITS in op.definition.traits for op in loop.walk()):
        return False
    stored = stored_pointers(loop)
    loads = [op for op in loop.body if op.name == "pto.tload" and _is_fixed(op, loop, stored)]
    anchor = loop
    if not Ranges().runs(loop):
        loads = (
            [op for op in loads if tile_type(op.operand("dst")).space == "right"] if not loop.results else []
        )
        if loads:
            _guard(loop)
    for load in loads:
        for op in _handle_ops(load.operand("dst")):
            move_before(op, anchor)
        move_before(load, anchor)
    return bool(loads)


def _is_fixed(load: Op, loop: Op, stored: Pointers) -> bool:
    """True when every trip loads the same into a private tile that nothing else writes."""
    source, target = load.operand("src"), load.operand("dst")
    root = root_tile(target)
    if is_inside(source, loop) or root_pointer(source) in stored or only_writer(target) is not load:
        return False
    if defining_block(root) is not loop.body or not all(
        is_inside_op(use.op, loop) for use in tile_uses(root)
    ):
        return False
    chain = _handle_ops(target)
    made = [op.result for op in chain]
    return not any(is_inside(value, loop) for op in chain for value in op.operands if value not in made)


def is_inside_op(op: Op, loop: Op) -> bool:
    """True when an op stands in a region of `loop`."""
    return any(parent is loop for parent in op.ancestors())


def _handle_ops(handle: Value) -> list[Op]:
    """The ops that make a handle, from its alloc_tile on."""
    root, chain = root_tile(handle), []
    while handle is not root:
        assert handle.op is not None
        chain.append(handle.op)
        handle = handle.op.operands[0]
    assert root.op is not None
    return [root.op, *reversed(chain)]


def _guard(loop: Op) -> None:
    """Put `scf.if lower < upper` around a loop."""
    builder = Builder.before(loop)
    bounds = (loop.operand("lower"), loop.operand("upper"))
    runs = builder.create("arith.cmpi", bounds, (I1,), {"predicate": "slt"}).result
    block = Block()
    builder.create("scf.if", (runs,), (), {}, (Region([block]), Region()))
    loop.remove()
    block.append(loop)
    Builder.inside(block, loop).create("scf.yield")
