"""The pass `lower-tiles`: tile level -> loop level, the only change of level, shared by all targets with an emitter.

Every tile function becomes a function of the same arguments, pointers as memrefs, with the scratch memory last. Where a
tile lives has been decided before (`residency.py`): the lowering turns each home into places and each op into loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from pptc.ir.attrs import IntAttr
from pptc.ir.core import Block, Op, Region, functions, symbol_name
from pptc.ir.opdef import (
    ArgPartial,
    ArgReduce,
    ColumnReduce,
    Compare,
    Concatenate,
    Contract,
    Generate,
    Handle,
    MemoryGather,
    MemoryScatter,
    Merge,
    Pad,
    Partial,
    Pick,
    Scatter,
    Select,
    SortRuns,
    Transpose,
)
from pptc.ir.signature import kernels
from pptc.ir.types import I8, I64, MemRefType
from pptc.passes.base import Pass, PassContext
from pptc.passes.homes import SCRATCH_BYTES, SPACE_OFFSETS, STRIP
from pptc.passes.lower_tiles import elements, matrix, packing, rows
from pptc.passes.lower_tiles.arguments import lower_argument
from pptc.passes.lower_tiles.code import Code
from pptc.passes.lower_tiles.column_reductions import lower_column_reduction
from pptc.passes.lower_tiles.contraction import operands_of
from pptc.passes.lower_tiles.control import carry_constant, carry_over, function_type, place_of_subblock
from pptc.passes.lower_tiles.frame import Frame, Options, loop_type
from pptc.passes.lower_tiles.gathers import lower_pick
from pptc.passes.lower_tiles.generation import lower_generation
from pptc.passes.lower_tiles.handles import lower_handle
from pptc.passes.lower_tiles.indexed import lower_memory_gather, lower_memory_scatter, lower_scatter
from pptc.passes.lower_tiles.local_arrays import LOCAL_OPS
from pptc.passes.lower_tiles.masks import lower_mask
from pptc.passes.lower_tiles.overlap import lower_apart
from pptc.passes.lower_tiles.partials import lower_partial
from pptc.passes.lower_tiles.places import memref
from pptc.passes.lower_tiles.prints import PRINT_OPS
from pptc.passes.lower_tiles.rearrangement import lower_rearrangement
from pptc.passes.lower_tiles.signals import SIGNAL_OPS
from pptc.passes.lower_tiles.single_elements import SINGLE_ELEMENTS
from pptc.passes.lower_tiles.slots import SLOT_OPS
from pptc.passes.lower_tiles.sorts import lower_merge, lower_sort
from pptc.passes.lower_tiles.steps import Step, step_of
from pptc.passes.lower_tiles.tiles import Tile
from pptc.passes.phases import phases_of

_CARRIED = frozenset({"arith", "math", "scf", "func"})
_CARRIED_OPS = frozenset({"pto.trap", "pto.get_block_idx", "pto.get_block_num"})
_IDLE_OPS = frozenset(
    {
        "pto.set_flag",
        "pto.wait_flag",
        "pto.record_event",
        "pto.wait_event",
        "pto.barrier",
        "pto.cmo.cacheinvalid",
        "pto.fence.barrier_all",
        "pto.tprefetch",
    }
)
"""Ops that program order satisfies, or that need a service that the body does not have."""

_WHOLE_OPS: Mapping[type, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        Handle: lower_handle,
        Generate: lower_generation,
        Transpose: lower_rearrangement,
        Concatenate: lower_rearrangement,
        Pad: lower_rearrangement,
        Partial: lower_partial,
        ArgPartial: lower_partial,
        ArgReduce: lower_argument,
        Compare: lower_mask,
        Select: lower_mask,
        Pick: lower_pick,
        MemoryGather: lower_memory_gather,
        MemoryScatter: lower_memory_scatter,
        Scatter: lower_scatter,
        SortRuns: lower_sort,
        Merge: lower_merge,
    }
)
"""Ops that are lowered on their own, by what they mean."""

_SCALAR_OPS = MappingProxyType({**SINGLE_ELEMENTS, **LOCAL_OPS, **SLOT_OPS, **SIGNAL_OPS, **PRINT_OPS})


@dataclass(frozen=True)
class LowerTiles(Pass):
    """Tiles become loops over memory.

    `vectors`: use vectors, fused rows and the matrix micro-kernel; off gives plain scalar loops. `unroll`: vectors
    per trip of a column loop. `reciprocal`: divide by a value of the row by multiplying with its reciprocal.
    `prefetch`: fetch the next row of a strip while this one is computed.
    """

    name: ClassVar[str] = "lower-tiles"
    vectors: bool = True
    unroll: int = 4
    reciprocal: bool = True
    prefetch: bool = True

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass."""
        options = Options(self.vectors, max(1, self.unroll), self.reciprocal, self.prefetch)
        entries = tuple(symbol_name(kernel) for kernel in kernels(module))
        changed = False
        for function in list(functions(module)):
            if function.regions and function.regions[0].blocks and not _is_lowered(function):
                _lower_function(function, entries, context, options)
                changed = True
        return changed


def _is_lowered(function: Op) -> bool:
    return any(isinstance(value.type, MemRefType) for value in function.body.args)


def _lower_function(old: Op, entries: tuple[str, ...], context: PassContext, options: Options) -> None:
    """Put the lowered function in the place of the old one."""
    scratch = memref(I8) if symbol_name(old) in entries else None
    entry = Block([type for value in old.body.args if (type := loop_type(value.type))])
    memory = entry.add_argument(scratch, "scratch") if scratch else None
    frame = Frame(old, Code(entry, old), context.machine, options, memory, entries)
    for argument, value in zip(old.body.args, entry.args, strict=False):
        frame.define(argument, value)
    _lower_block(frame, old.body)
    attributes = {key: value for key, value in old.attributes.items() if key != SPACE_OFFSETS}
    attributes["function_type"] = function_type(old, scratch)
    if scratch:
        attributes[SCRATCH_BYTES] = IntAttr(frame.scratch_bytes, I64)
    made = Op(old.definition, (), (), attributes, [Region([entry])], span=old.span, loc=old.loc)
    assert old.block is not None
    old.block.insert_before(made, old)
    old.erase()


def _lower_block(frame: Frame, block: Block) -> None:
    for op in block:
        frame.code.origin = op
        step = _lower_op(frame, op)
        if step is not None:
            _lower_alone(frame, step)


def _lower_op(frame: Frame, op: Op) -> Step | None:
    """Lower an op; a step is given back instead, to be lowered alone or together with others of its row."""
    whole = _WHOLE_OPS.get(type(op.definition.meaning))
    if whole is not None:
        whole(frame, op)
        return None
    match op.definition.meaning:
        case Contract() as meaning:
            _lower_contraction(frame, op, meaning)
        case ColumnReduce() as meaning:
            return lower_column_reduction(frame, op, meaning)
        case _ if (step := step_of(frame, op)) is not None:
            return _placed(frame, step)
        case _:
            _lower_other(frame, op)
    return None


def _placed(frame: Frame, step: Step) -> Step | None:
    """A step that only says where its tile's elements are has no code of its own, one that packs has its own form."""
    target = step.destination
    home = target.home if isinstance(target, Tile) else "arena"
    if home == "view":
        assert isinstance(target, Tile)
        place = step.sources[0].place(frame)
        target.root.locate = target.locate = lambda: place
        return None
    if home == "panel":
        packing.pack(frame, step)
        return None
    return matrix.store_product(frame, step)


def _lower_alone(frame: Frame, step: Step) -> None:
    lower_apart(frame, step, rows.lower_step if frame.options.vectors else elements.lower_step)


def _lower_contraction(frame: Frame, op: Op, meaning: Contract) -> None:
    operands = operands_of(frame, op, meaning)
    if frame.options.vectors:
        matrix.lower_contraction(frame, operands)
    else:
        elements.lower_contraction(frame, operands)


def _lower_other(frame: Frame, op: Op) -> None:
    if op.name in _IDLE_OPS:
        return
    if op.name in _SCALAR_OPS:
        _SCALAR_OPS[op.name](frame, op)
    elif op.name == "arith.constant":
        carry_constant(frame, op)
    elif op.name in ("pto.get_subblock_idx", "pto.get_subblock_num"):
        place_of_subblock(frame, op)
    elif STRIP in op.attributes:
        carry_over(frame, op, _lower_strip)
    elif op.name == "func.return" and frame.streams:
        frame.code.create("memref.fence")
        carry_over(frame, op, _lower_block)
    elif op.definition.dialect in _CARRIED or op.name in _CARRIED_OPS:
        carry_over(frame, op, _lower_block)
    else:
        raise frame.unsupported(f"{op.name} has no lowering to loops")


def _lower_strip(frame: Frame, block: Block) -> None:
    """The body of a strip loop: all its steps as one row."""
    assert block.region is not None and block.region.op is not None
    phases = phases_of(block.region.op).of
    steps: list[Step] = []
    for op in block:
        frame.code.origin = op
        if op.definition.terminator:
            frame.code.origin = block.region.op
            rows.lower_row(frame, 0, steps, phases)
        step = _lower_op(frame, op)
        if step is not None:
            steps.append(step)
