"""Edits of ops in place: replace, clone, inline, move. Clones keep the span and `loc` of their original."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pptc.ir.attrs import Attr
from pptc.ir.builder import Builder
from pptc.ir.constants import value_attribute
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.types import INDEX, Type

Mapping = dict[Value, Value]


def replace(op: Op, values: Sequence[Value]) -> None:
    """Make the users of `op` take `values` instead, and erase it."""
    for old, new in zip(op.results, values, strict=True):
        if new.name is None:
            new.name = old.name
        old.replace_all_uses(new)
    op.erase()


def constant(builder: Builder, value: int | float | bool, type: Type = INDEX) -> Value:
    """A new `arith.constant`."""
    return builder.value("arith.constant", (), type, {"value": value_attribute(value, type)})


def clone(op: Op, builder: Builder, mapping: Mapping) -> Op:
    """A copy of `op` and all inside, inserted by `builder`.

    Operands found in `mapping` are replaced; the results and block arguments of the copies are entered there.
    """
    copy = _copy(op, mapping)
    builder.block.insert_before(copy, builder.anchor)
    return copy


def clone_block(block: Block, mapping: Mapping) -> Block:
    """A copy of a block that is in no region; its arguments are entered in `mapping`."""
    copy = Block([arg.type for arg in block.args], block.label)
    for old, new in zip(block.args, copy.args, strict=True):
        new.name = old.name
        mapping[old] = new
    for op in block:
        copy.append(_copy(op, mapping))
    return copy


def _copy(op: Op, mapping: Mapping) -> Op:
    assert not op.successors, "branches between blocks are not cloned"
    copy = Op(
        op.definition,
        [mapping.get(value, value) for value in op.operands],
        [result.type for result in op.results],
        op.attributes,
        [Region(clone_block(block, mapping) for block in region.blocks) for region in op.regions],
        segments=op.segments,
        span=op.span,
        loc=op.loc,
    )
    for old, new in zip(op.results, copy.results, strict=True):
        new.name = old.name
        mapping[old] = new
    return copy


def inline_block(block: Block, anchor: Op, arguments: Iterable[Value] = ()) -> tuple[Value, ...]:
    """Move the ops of `block` in front of `anchor` and drop its terminator; returns the terminator's operands."""
    for old, new in zip(block.args, arguments, strict=True):
        old.replace_all_uses(new)
    terminator = block.terminator
    yielded = terminator.operands if terminator else ()
    if terminator:
        terminator.erase()
    for op in block:
        move_before(op, anchor)
    return yielded


def move_before(op: Op, anchor: Op) -> None:
    """Take the op out of its block and put it in front of `anchor`."""
    assert anchor.block is not None
    op.remove()
    anchor.block.insert_before(op, anchor)


def without(attributes: dict[str, Attr], *keys: str) -> dict[str, Attr]:
    """A copy of an attribute dictionary that lacks some keys."""
    return {key: value for key, value in attributes.items() if key not in keys}
