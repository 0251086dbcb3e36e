"""The containers of all levels: Value, Op, Block, Region. Data and navigation only; meaning is in the rows.

A module is the op `builtin.module`, a function the op `func.func`. Ops of a block form a doubly linked list; values
know their uses. Everything is edited in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pptc.diag import Span, UserLocation
from pptc.ir.attrs import Attr
from pptc.ir.types import Type

if TYPE_CHECKING:
    from pptc.ir.opdef import OpDef


class Value:
    """An SSA value: result `index` of an op, or argument `index` of a block."""

    __slots__ = ("index", "name", "owner", "type", "uses")

    def __init__(self, type: Type, owner: Op | Block, index: int, name: str | None = None) -> None:
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name  # a hint without `%`; the printer makes names unique
        self.uses: dict[tuple[Op, int], None] = {}

    @property
    def op(self) -> Op | None:
        """The op that makes it, or None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    def users(self) -> Iterator[Op]:
        """The ops that use it, each once, in the order the uses were made."""
        return iter(dict.fromkeys(op for op, _ in self.uses))

    def replace_all_uses(self, new: Value) -> None:
        """Make every user take `new` instead."""
        for op, index in list(self.uses):
            op.set_operand(index, new)


class Op:
    """One operation. `segments` counts the operands of each group of the row's operand list."""

    __slots__ = (
        "_operands", "attributes", "block", "definition", "loc", "next", "prev", "regions", "results", "segments",
        "span", "successors",
    )  # fmt: skip

    def __init__(
        self,
        definition: OpDef,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: Mapping[str, Attr] | None = None,
        regions: Sequence[Region] = (),
        *,
        segments: tuple[int, ...] | None = None,
        span: Span | None = None,
        loc: UserLocation | None = None,
        successors: Sequence[Block] = (),
    ) -> None:
        self.definition = definition
        self._operands: list[Value] = []
        self.segments = definition.segments(len(operands)) if segments is None else segments
        self.results = [Value(type, self, i) for i, type in enumerate(result_types)]
        self.attributes: dict[str, Attr] = dict(attributes or {})
        self.regions = list(regions)
        for region in self.regions:
            region.op = self
        self.span = span
        self.loc = loc
        self.block: Block | None = None
        self.prev: Op | None = None
        self.next: Op | None = None
        self.successors = list(successors)
        for value in operands:
            self._append_operand(value)

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    @property
    def name(self) -> str:
        """The op's full name, such as `pto.tadd`."""
        return self.definition.name

    # -- operands

    def _append_operand(self, value: Value) -> None:
        value.uses[self, len(self._operands)] = None
        self._operands.append(value)

    @property
    def operands(self) -> tuple[Value, ...]:
        """All operands in the order of the row."""
        return tuple(self._operands)

    def set_operand(self, index: int, value: Value) -> None:
        """Replace one operand."""
        del self._operands[index].uses[self, index]
        self._operands[index] = value
        value.uses[self, index] = None

    def set_operands(self, operands: Iterable[Value], segments: tuple[int, ...] | None = None) -> None:
        """Replace all operands."""
        for index, value in enumerate(self._operands):
            del value.uses[self, index]
        self._operands = []
        for value in operands:
            self._append_operand(value)
        self.segments = self.definition.segments(len(self._operands)) if segments is None else segments

    def group(self, name: str) -> tuple[Value, ...]:
        """The operands of one named group: one, none or many."""
        position = self.definition.operand_index(name)
        start = sum(self.segments[:position])
        return tuple(self._operands[start : start + self.segments[position]])

    def operand(self, name: str) -> Value:
        """The one operand of a named group."""
        (value,) = self.group(name)
        return value

    def optional(self, name: str) -> Value | None:
        """The operand of an optional group, or None."""
        found = self.group(name)
        return found[0] if found else None

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    # -- position

    @property
    def parent(self) -> Op | None:
        """The op whose region holds this one."""
        return self.block.region.op if self.block and self.block.region else None

    def ancestors(self) -> Iterator[Op]:
        """The enclosing ops, innermost first."""
        op = self.parent
        while op is not None:
            yield op
            op = op.parent

    def walk(self) -> Iterator[Op]:
        """This op and all ops inside, in text order. The op last yielded may be erased."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block:
                    yield from op.walk()

    def remove(self) -> None:
        """Take the op out of its block; it keeps its operands."""
        assert self.block is not None, "not in a block"
        self.block._unlink(self)

    def erase(self) -> None:
        """Remove the op for good, and all inside it; its results must be unused."""
        for result in self.results:
            assert not result.uses, f"{self.name}: erased while a result is used"
        if self.block is not None:
            self.remove()
        self.drop_operands()

    def drop_operands(self) -> None:
        """Let go of the operands of this op and of all ops inside."""
        for op in self.walk():
            for index, value in enumerate(op._operands):
                value.uses.pop((op, index), None)
            op._operands = []

    @property
    def body(self) -> Block:
        """The only block of the only region."""
        (region,) = self.regions
        return region.block


class Block:
    """A list of ops with arguments."""

    __slots__ = ("args", "first", "label", "last", "region")

    def __init__(self, arg_types: Sequence[Type] = (), label: str | None = None) -> None:
        self.args = [Value(type, self, i) for i, type in enumerate(arg_types)]
        self.label = label
        self.region: Region | None = None
        self.first: Op | None = None
        self.last: Op | None = None

    def __iter__(self) -> Iterator[Op]:
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def __reversed__(self) -> Iterator[Op]:
        op = self.last
        while op is not None:
            before = op.prev
            yield op
            op = before

    @property
    def terminator(self) -> Op | None:
        """The last op if its row is a terminator."""
        return self.last if self.last is not None and self.last.definition.terminator else None

    def add_argument(self, type: Type, name: str | None = None) -> Value:
        """A new last argument."""
        value = Value(type, self, len(self.args), name)
        self.args.append(value)
        return value

    def append(self, op: Op) -> Op:
        """Put the op last."""
        return self.insert_before(op, None)

    def insert_before(self, op: Op, anchor: Op | None) -> Op:
        """Put the op before `anchor`, or last."""
        assert op.block is None, "already in a block"
        op.block, op.next, op.prev = self, anchor, anchor.prev if anchor else self.last
        if op.prev:
            op.prev.next = op
        else:
            self.first = op
        if anchor:
            anchor.prev = op
        else:
            self.last = op
        return op

    def _unlink(self, op: Op) -> None:
        if op.prev:
            op.prev.next = op.next
        else:
            self.first = op.next
        if op.next:
            op.next.prev = op.prev
        else:
            self.last = op.prev
        op.block = op.prev = op.next = None


class Region:
    """Blocks of an op; `block` is the first."""

    __slots__ = ("blocks", "op")

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.op: Op | None = None
        self.blocks: list[Block] = []
        for block in blocks:
            self.add(block)

    def add(self, block: Block) -> Block:
        """Put the block last."""
        block.region = self
        self.blocks.append(block)
        return block

    @property
    def block(self) -> Block:
        """The first block."""
        return self.blocks[0]


def functions(module: Op) -> Iterator[Op]:
    """The `func.func` ops of a module, nested modules included, in text order."""
    for op in module.body:
        if op.name == "func.func":
            yield op
        elif op.name == "builtin.module":
            yield from functions(op)


def with_called(function: Op) -> tuple[Op, ...]:
    """A function and all that it calls, directly or not, as far as its module defines them."""
    around = function.parent
    named = {} if around is None else {symbol_name(op): op for op in around.body if op.name == "func.func"}
    found = {function: None}
    pending = [function]
    while pending:
        for op in pending.pop().walk():
            callee = op.attributes.get("callee") if op.name == "func.call" else None
            called = named.get(str(getattr(callee, "name", "")))
            if called is not None and called not in found:
                found[called] = None
                pending.append(called)
    return tuple(found)


def symbol_name(op: Op) -> str:
    """The name of a function, parameter or module (without `@`); empty for an unnamed module."""
    name = op.attributes.get("sym_name", "")
    assert isinstance(name, str)
    return name
