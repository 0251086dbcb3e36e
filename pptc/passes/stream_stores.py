"""stream-stores: lets strip loops that write more than the caches hold write past them.

An ordinary store first reads its cache line. One that passes the caches does not, which is worth it when the kernel
writes so much that nobody would find the lines in a cache again. How much it writes is often known at run time only:
then the loop is written twice, in the branches of an scf.if. A tstore that passes the caches has `tile.streamed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import function_of, is_read, root_pointer
from pptc.ir.attrs import UNIT
from pptc.ir.builder import Builder
from pptc.ir.core import Block, Op, Region, Value, functions
from pptc.ir.rewrite import clone, constant
from pptc.ir.spmd import spmd_role
from pptc.ir.types import I1, INDEX
from pptc.passes.base import Pass, PassContext
from pptc.passes.handles import tile_type
from pptc.passes.homes import STREAMED, STRIP
from pptc.passes.invariants import hoist_pure
from pptc.passes.tile_facts import is_plain, matrix_part


@dataclass(frozen=True)
class StreamStores(Pass):
    """`bytes`: how much a kernel has to write; 0 takes the machine's `nontemporal_bytes`. `row_bytes`: how long rows
    have to be; shorter ones are mostly edges, which take ordinary stores.
    """

    name: ClassVar[str] = "stream-stores"
    bytes: int = 0
    row_bytes: int = 1024

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every strip loop, on machines that say from where on it pays."""
        limit = self.bytes or context.machine.facts.get("nontemporal_bytes")
        if limit is None:
            return False
        changed = False
        for function in functions(module):
            for loop in [op for op in function.walk() if STRIP in op.attributes and not _has_both_forms(op)]:
                if stores := _candidates(loop, self.row_bytes):
                    _version(loop, stores, limit)
                    changed = True
        return changed


def _has_both_forms(loop: Op) -> bool:
    return loop.parent is not None and STREAMED in loop.parent.attributes


def _candidates(loop: Op, least: int) -> list[Op]:
    """The stores of rows of at least so many bytes to arrays that the kernel does not read."""
    stores = [op for op in loop.body if op.name == "pto.tstore" and _is_dense(op) and _row_bytes(op) >= least]
    return [op for op in stores if not is_read(root_pointer(op.operand("dst")))]


def _is_dense(store: Op) -> bool:
    part = matrix_part(store.operand("dst"))
    return is_plain(store) and part is not None and part.strides[1] == 1


def _row_bytes(store: Op) -> int:
    type = tile_type(store.operand("src"))
    return type.cols * type.elem.bytes


def _version(loop: Op, stores: list[Op], limit: int) -> None:
    """Run a copy of the loop with streamed stores where the kernel writes at least `limit` bytes."""
    builder = Builder.before(loop)
    rows = -(-limit // sum(map(_row_bytes, stores)))
    many = builder.value(
        "arith.cmpi", (_rows_written(builder, loop), constant(builder, rows)), I1, {"predicate": "sge"}
    )
    then, otherwise = Block(), Block()
    builder.create("scf.if", (many,), (), {STREAMED: UNIT}, (Region((then,)), Region((otherwise,))))
    for store in stores:
        store.attributes[STREAMED] = UNIT
    clone(loop, Builder.inside(then, loop), {})
    for store in stores:
        del store.attributes[STREAMED]
    loop.remove()
    otherwise.append(loop)
    for block in (then, otherwise):
        Builder.inside(block, loop).create("scf.yield")
    for around in loop.ancestors():
        if around.name == "scf.for":
            hoist_pure(around)


def _rows_written(builder: Builder, loop: Op) -> Value:
    """How many rows the whole grid writes here: those of one run of the loop times the trips around it and blocks."""
    count = loop.operand("upper")
    for around in loop.ancestors():
        if around.name == "scf.for":
            count = builder.value("arith.muli", (count, _trips(builder, around)), INDEX)
    function = function_of(loop)
    for number, argument in enumerate(function.body.args):
        if spmd_role(function, number) == "block_num":
            blocks = builder.value("arith.index_cast", (argument,), INDEX)
            count = builder.value("arith.muli", (count, blocks), INDEX)
    return count


def _trips(builder: Builder, loop: Op) -> Value:
    lower, upper, step = (loop.operand(name) for name in ("lower", "upper", "step"))
    length = builder.value("arith.subi", (upper, lower), INDEX)
    return builder.value("arith.ceildivsi", (length, step), INDEX)
