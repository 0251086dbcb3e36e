"""Functions, control flow and scalar ops, carried over from the tile level with the loop level's types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pptc.ir.analysis import function_of
from pptc.ir.attrs import Attr, IntAttr, SymbolAttr, TypeAttr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.pairs import PAIR
from pptc.ir.types import I64, FunctionType, MemRefType, ScalarType, Type
from pptc.passes.lower_tiles.frame import Frame, loop_type
from pptc.passes.lower_tiles.lanes import storage_type

LowerBlock = Callable[[Frame, Block], None]


def carry_over(frame: Frame, op: Op, lower_block: LowerBlock) -> None:
    """Copy an op whose operands and results are scalars or pointers, and lower its regions."""
    callee = op.attributes.get("callee")
    if isinstance(callee, SymbolAttr) and callee.name in frame.entries:
        raise frame.unsupported(f"@{callee.name} is a kernel, which no function of the module may call")
    types = [_type(frame, value) for value in op.results]
    operands = [_operand(frame, value) for value in op.operands]
    attributes = {name: _signless(value) for name, value in op.attributes.items()}
    regions = [Region() for _ in op.regions]
    made = frame.code.create(op.name, operands, types, attributes, regions)
    made.segments = op.segments
    for old, new in zip(op.regions, regions, strict=True):
        for block in old.blocks:
            _carry_block(frame, block, new, lower_block)
    for result, value in zip(op.results, made.results, strict=True):
        frame.define(result, value)


def _carry_block(frame: Frame, block: Block, region: Region, lower_block: LowerBlock) -> None:
    inner = region.add(Block([_type(frame, value) for value in block.args]))
    for old, new in zip(block.args, inner.args, strict=True):
        frame.define(old, new)
    with frame.code.inside(inner):
        lower_block(frame, block)


def _type(frame: Frame, value: Value) -> Type:
    type = loop_type(value.type)
    if type is None:
        raise frame.unsupported("tiles and views are not passed through loops, branches and calls yet")
    return type


def _operand(frame: Frame, value: Value) -> Value:
    _type(frame, value)
    return frame.value(value)


def _signless(attribute: Attr) -> Attr:
    """A constant's attribute in the loop level's type."""
    if isinstance(attribute, IntAttr) and attribute.type is not None:
        return replace(attribute, type=storage_type(attribute.type))
    return attribute


def carry_constant(frame: Frame, op: Op) -> None:
    """A constant joins the pool at the top of the function."""
    type = op.result.type
    stored = storage_type(type) if isinstance(type, ScalarType) else type
    frame.define(op.result, frame.code.pooled(stored, _signless(op.attributes["value"])))


def place_of_subblock(frame: Frame, op: Op) -> None:
    """The number of a vector core; a block that runs as one has number 0 of 1."""
    if op.name == "pto.get_subblock_idx" and PAIR in function_of(op).attributes:
        frame.define(op.result, frame.code.value(op.name, (), I64))
        return
    frame.define(op.result, frame.code.constant(I64, int(op.name == "pto.get_subblock_num")))


def function_type(old: Op, scratch: MemRefType | None) -> TypeAttr:
    """The type of the lowered function: the same arguments, then the scratch."""
    inputs = [loop_type(value.type) for value in old.body.args]
    attribute = old.attributes["function_type"]
    assert isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType)
    results = [loop_type(type) for type in attribute.type.results]
    known = [*inputs, *([scratch] if scratch else [])]
    return TypeAttr(FunctionType(_all(known), _all(results)))


def _all(types: list[Type | None]) -> tuple[Type, ...]:
    assert None not in types
    return tuple(type for type in types if type is not None)
