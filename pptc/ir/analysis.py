"""Facts read off the IR: constants, what an op does to which operand, where a view or a tile handle comes from.

Nothing is stored; every answer is computed from the ops as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pptc.ir.attrs import IntAttr
from pptc.ir.constants import attribute_value
from pptc.ir.core import Block, Op, Value
from pptc.ir.opdef import SIGNALS, Access, Handle, Operand
from pptc.ir.types import MemRefType, PartType, PtrType, ScalarType, TileType, ViewType

READS: frozenset[Access] = frozenset(("read", "update"))
WRITES: frozenset[Access] = frozenset(("write", "update", "scratch"))


def constant_of(value: Value) -> int | None:
    """The value of an integer or index constant, else None."""
    op = value.op
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, bool | IntAttr):
        return int(attribute_value(attribute))
    return None


@dataclass(frozen=True, slots=True)
class Use:
    """One operand of an op, with its declaration in the row."""

    op: Op
    index: int
    declared: Operand
    value: Value

    @property
    def reads(self) -> bool:
        """True when the op reads the memory behind the operand; a number has none, whatever else could stand there."""
        return self.declared.access in READS and not isinstance(self.value.type, ScalarType)

    @property
    def writes(self) -> bool:
        """True when the op changes the memory behind the operand, or leaves it undefined."""
        return self.declared.access in WRITES


def uses(op: Op) -> Iterator[Use]:
    """All operands of an op in order."""
    index = 0
    for declared, count in zip(op.definition.operands, op.segments, strict=True):
        for _ in range(count):
            yield Use(op, index, declared, op.operands[index])
            index += 1


def uses_of(value: Value) -> Iterator[Use]:
    """All places where a value is an operand, in the order the uses were made."""
    for op, index in list(value.uses):
        yield Use(op, index, _declared(op, index), value)


def _declared(op: Op, index: int) -> Operand:
    """The declared operand that an operand belongs to."""
    for declared, count in zip(op.definition.operands, op.segments, strict=True):
        index -= count
        if index < 0:
            return declared
    raise AssertionError("an operand has a declaration")


def is_handle_op(op: Op) -> bool:
    """True for ops that make a handle or view from another one and touch no element (treshape, subview, ...)."""
    return isinstance(op.definition.meaning, Handle)


def handle_source(op: Op) -> Value | None:
    """The tile that a handle op takes its bytes from; None for an op that makes new ones."""
    if not is_handle_op(op) or not op.results or not isinstance(op.results[0].type, TileType):
        return None
    return next((value for value in op.operands if isinstance(value.type, TileType)), None)


def root_tile(value: Value) -> Value:
    """The tile handle whose bytes `value` names, seen through treshape, bitcast and subview."""
    while (op := value.op) is not None and (source := handle_source(op)) is not None:
        value = source
    return value


_OUTSIDE = (PtrType, ViewType, PartType, MemRefType)

VIEW_MAKERS = ("pto.partition_view", "pto.make_tensor_view", "pto.addptr", "pto.castptr")


def root_pointer(value: Value) -> Value:
    """The pointer that a view or a part of it lies behind: a function argument, or what an unknown op made."""
    while (op := value.op) is not None and op.name in VIEW_MAKERS:
        value = op.operands[0]
    return value


@dataclass(frozen=True, slots=True)
class Pointers:
    """Some pointers, or `everything`."""

    found: Mapping[Value, None]
    everything: bool = False

    def __contains__(self, pointer: Value) -> bool:
        return self.everything or pointer in self.found


def stored_pointers(op: Op) -> Pointers:
    """The pointers behind all outside of tiles that `op` or an op inside may write; a call may write its own.

    A signal lets other cores write anything.
    """
    found: dict[Value, None] = {}
    signals = False
    for inner in op.walk():
        signals |= SIGNALS in inner.definition.traits
        for use in uses(inner):
            if (use.writes or inner.name == "func.call") and isinstance(use.value.type, _OUTSIDE):
                found[root_pointer(use.value)] = None
    return Pointers(found, signals)


def is_read(pointer: Value) -> bool:
    """Whether any op may read what lies behind a pointer or view."""
    for use in uses_of(pointer):
        if use.op.name in VIEW_MAKERS:
            if is_read(use.op.result):
                return True
        elif use.reads or use.op.name == "func.call" or use.op.regions:
            return True
    return False


def writers(tile: Value) -> list[Op]:
    """The ops that write a tile through this handle or one made from it, in the order the uses were made."""
    return [use.op for use in tile_uses(tile) if use.writes]


def readers(tile: Value) -> list[Op]:
    """The ops that read a tile through this handle or one made from it, each once."""
    return list(dict.fromkeys(use.op for use in tile_uses(tile) if use.reads))


def tile_uses(tile: Value) -> Iterator[Use]:
    """The uses of a tile by ops that are not handle ops, through every handle made from it."""
    for use in uses_of(tile):
        if handle_source(use.op) is use.value:
            yield from tile_uses(use.op.result)
        else:
            yield use


def function_of(op: Op) -> Op:
    """The enclosing func.func."""
    return next(parent for parent in op.ancestors() if parent.name == "func.func")


def defining_block(value: Value) -> Block:
    """The block in which a value is defined."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner
    assert owner.block is not None
    return owner.block


def is_inside(value: Value, op: Op) -> bool:
    """True when the value is defined within a region of `op`."""
    block: Block | None = defining_block(value)
    while block is not None and block.region is not None and block.region.op is not None:
        if block.region.op is op:
            return True
        block = block.region.op.block
    return False


def ancestor_in(op: Op, block: Block) -> Op | None:
    """The op of `block` that is `op` or holds it; None when there is none."""
    here: Op | None = op
    while here is not None and here.block is not block:
        here = here.parent
    return here


def comes_before(first: Op, second: Op) -> bool:
    """True when `first` stands before `second` in the same block."""
    ahead = first.next
    behind = second.next
    while ahead is not None or behind is not None:  # both ways at once: the cost is the distance
        if ahead is second:
            return True
        if behind is first:
            return False
        ahead = ahead.next if ahead else None
        behind = behind.next if behind else None
    return False


def dominates(value: Value, op: Op) -> bool:
    """True when a value may be used by `op` (structured control flow only)."""
    block = defining_block(value)
    place = ancestor_in(op, block)
    if place is None:
        return False
    return value.op is None or (value.op is not place and comes_before(value.op, place))
