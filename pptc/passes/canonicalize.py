"""canonicalize: folds and simplifies scalar arithmetic, shares equal ops, makes known extents static, drops dead code.

Runs at the tile and at the loop level, to a fixpoint: a worklist of ops between sweeps that share equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from pptc.ir.analysis import constant_of, handle_source, is_handle_op, readers, tile_uses, uses, writers
from pptc.ir.core import Block, Op, Value, functions
from pptc.ir.ranges import Ranges
from pptc.ir.rewrite import inline_block, replace
from pptc.ir.types import Type
from pptc.passes.base import Pass, PassContext
from pptc.passes.extents import with_known_extents
from pptc.passes.homes import STRIP
from pptc.passes.simplify import Constants, Facts, simplified

_SWEEPS = 8


@dataclass(frozen=True)
class Canonicalize(Pass):
    """See the module."""

    name: ClassVar[str] = "canonicalize"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function."""
        changed = False
        for function in functions(module):
            if function.regions[0].blocks:
                changed |= _Function(function).run()
        return changed


@dataclass
class _Function:
    """The work on one function."""

    function: Op
    changed: bool = False
    _queue: dict[Op, None] = field(default_factory=dict)
    _gone: dict[Op, None] = field(default_factory=dict)

    def run(self) -> bool:
        constants = Constants(self.function)
        for _ in range(_SWEEPS):
            self.facts = Facts(constants, Ranges())
            self._add(self.function.walk())
            moved = constants.adopt()
            drained = self._drain()
            shared = _share(self.function)
            if not (moved or drained or shared):
                break
            self.changed = True
        return self.changed

    def _add(self, ops: Iterable[Op]) -> None:
        for op in ops:
            if op is not self.function:
                self._queue[op] = None

    def _drain(self) -> bool:
        changed = False
        while self._queue:
            batch, self._queue = self._queue, {}
            for op in batch:
                if op not in self._gone and self._visit(op):
                    changed = True
        return changed

    def _visit(self, op: Op) -> bool:
        if is_dead(op):
            self._erase(op)
            return True
        if op.name == "pto.alloc_tile" and self._drop_unread(op):
            return True
        if op.name in ("scf.for", "scf.if") and self._flatten(op):
            return True
        if op.definition.pure and len(op.results) == 1:
            value = simplified(op, self.facts)
            if value is not None and value is not op.result:
                self._replace(op, [value])
                return True
        if with_known_extents(op):
            self._add(user for result in op.results for user in result.users())
            return True
        return False

    def _replace(self, op: Op, values: list[Value]) -> None:
        for result in op.results:
            self._add(result.users())
        self._add(value.op for value in values if value.op)
        self._forget(op)
        replace(op, values)

    def _erase(self, op: Op) -> None:
        self._forget(op)
        parent = op.parent
        op.erase()
        if parent is not None:
            self._add([parent])

    def _forget(self, op: Op) -> None:
        """Note that an op goes, with all inside; what made its operands may be dead then."""
        for inner in op.walk():
            self._gone[inner] = None
            self._add(value.op for value in inner.operands if value.op)

    def _drop_unread(self, alloc: Op) -> bool:
        """Erase the ops that only write a tile of its own that nobody reads."""
        if alloc.group("addr"):
            return False
        tile = alloc.result
        touching = writers(tile)
        if not touching or any(op not in touching for op in readers(tile)):
            return False
        if any(not (use.reads or use.writes) for use in tile_uses(tile)):
            return False
        if any(not only_writes(op, tile) for op in touching):
            return False
        for op in dict.fromkeys(touching):
            self._erase(op)
        self._add([alloc])
        return True

    def _flatten(self, op: Op) -> bool:
        """Put the block of a decided scf.if or of a loop of one trip in its place; drop a loop of none."""
        if op.name == "scf.if":
            known = constant_of(op.operand("condition"))
            if known is None:
                return False
            blocks = op.regions[0 if known else 1].blocks
            self._dissolve(op, blocks[0] if blocks else None, ())
            return True
        trips = self.facts.ranges.trips(op)
        if trips == 0:
            self._replace(op, list(op.group("init")))
            return True
        if trips != 1 or STRIP in op.attributes:
            return False
        self._dissolve(op, op.body, (op.operand("lower"), *op.group("init")))
        return True

    def _dissolve(self, op: Op, block: Block | None, arguments: tuple[Value, ...]) -> None:
        inner = [] if block is None else list(block)
        values = inline_block(block, op, arguments) if block else ()
        self._add(inner)
        self._replace(op, list(values))


def is_dead(op: Op) -> bool:
    """True for an op without effect whose results nobody uses, and for structured ops without a body."""
    if any(result.uses for result in op.results):
        return False
    if op.definition.pure or is_handle_op(op):
        return bool(op.results)  # set_validshape has none
    if op.name in ("scf.for", "scf.if"):
        blocks = [block for region in op.regions for block in region.blocks]
        return all(block.first is None or block.first is block.terminator for block in blocks)
    return False


def only_writes(op: Op, tile: Value) -> bool:
    """True when all that the op does is to write `tile`."""
    if op.regions or op.results:
        return False
    targets = [use for use in uses(op) if use.writes]
    return all(_root(use.value) is tile for use in targets)


def _root(value: Value) -> Value:
    while value.op is not None and (source := handle_source(value.op)) is not None:
        value = source
    return value


# ---------------------------------------------------------------- sharing of equal ops

_Key = tuple[object, ...]


def _share(function: Op) -> bool:
    """Replace pure ops by equal ones that dominate them."""
    return _share_blocks(function, {}, _has_changing_handles(function))


def _share_blocks(op: Op, known: dict[_Key, Op], handles_change: bool) -> bool:
    changed = False
    for region in op.regions:
        for block in region.blocks:
            added: list[_Key] = []
            for inner in block:
                changed |= _share_blocks(inner, known, handles_change)
                if not _is_shareable(inner, handles_change):
                    continue
                key = _key(inner)
                if key in known:
                    replace(inner, known[key].results)
                    changed = True
                else:
                    known[key] = inner
                    added.append(key)
            for key in added:
                del known[key]
    return changed


def _key(op: Op) -> _Key:
    types: tuple[Type, ...] = tuple(result.type for result in op.results)
    operands = op.operands
    if op.definition.commutative and len(operands) == 2 and id(operands[1]) < id(operands[0]):
        operands = operands[::-1]
    return (
        op.name,
        operands,
        op.segments,
        types,
        tuple(sorted(op.attributes.items(), key=lambda item: item[0])),
    )


def _is_shareable(op: Op, handles_change: bool) -> bool:
    if op.regions or not op.results:
        return False
    return op.definition.pure and not (handles_change and handle_source(op) is not None)


def _has_changing_handles(function: Op) -> bool:
    """True when set_validshape gives a handle another valid region half-way."""
    return any(op.name == "pto.set_validshape" for op in function.walk())
