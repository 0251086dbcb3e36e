"""promote-tiles: gives every value that passes through tile memory a tile of its own, mem2reg for tiles.

Buffers of a planned program are reused and reinterpreted. Where all writes that a read can see go through one place of
one layout (or one that treshape reaches), they and their reads move to a fresh `alloc_tile {tile.private}`. What cannot
be proven stays at its address, and a remark says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import Use, ancestor_in, constant_of, dominates, handle_source, is_handle_op, root_tile
from pptc.ir.attrs import UNIT, Attr
from pptc.ir.builder import Builder
from pptc.ir.core import Block, Op, Value, functions
from pptc.ir.in_place import remember_in_place
from pptc.ir.ranges import Ranges
from pptc.ir.rewrite import clone
from pptc.ir.types import TileType
from pptc.passes.base import Pass, PassContext, Remark
from pptc.passes.handles import (
    Extent,
    extents_of,
    may_reshape,
    new_tile,
    reinterpreted,
    same_layout,
    tile_type,
)
from pptc.passes.homes import PRIVATE, is_private
from pptc.passes.tile_values import TileValues, Web
from pptc.passes.valid_shapes import split_handles


@dataclass(frozen=True)
class PromoteTiles(Pass):
    """See the module."""

    name: ClassVar[str] = "promote-tiles"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function."""
        changed = False
        for function in functions(module):
            if function.regions[0].blocks:
                changed |= self._function(function, context)
        return changed

    def _function(self, function: Op, context: PassContext) -> bool:
        if (obstacle := _obstacle(function)) is not None:
            context.remarks.append(
                Remark(self.name, f"tiles stay at their addresses: {obstacle}", function.span)
            )
            return False
        changed = remember_in_place(function) | split_handles(function)
        webs = [web for web in TileValues(function, Ranges()).webs() if not _is_single_owner(web)]
        unread = [web for web in webs if web.pinned is None and _is_optional_scratch(web)]
        for web in webs:
            if web not in unread:
                changed |= self._web(web, context)
        for web in unread:  # last: operands move up
            _drop_operand(web.writes[0])
        if changed or unread:
            _sweep(function)
        return changed or bool(unread)

    def _web(self, web: Web, context: PassContext) -> bool:
        reason = web.pinned or _clash(web)
        if reason is not None:
            first = (web.writes or web.reads)[0]
            context.remarks.append(Remark(self.name, f"a tile stays at its address: {reason}", first.op.span))
            return False
        _Home(web).move()
        return True


def _obstacle(function: Op) -> str | None:
    """Why nothing of a function can be promoted."""
    if any(isinstance(value.type, TileType) for value in function.body.args):
        return "the function takes tiles from its caller"
    for op in function.walk():
        if any(len(region.blocks) > 1 for region in op.regions):
            return "the function branches between blocks"
    return None


def _members(web: Web) -> Iterator[Use]:
    yield from web.writes
    yield from web.reads


def _is_single_owner(web: Web) -> bool:
    """True for a web that has a private tile already, with nothing else in it."""
    roots = dict.fromkeys(root_tile(use.value) for use in _members(web))
    if len(roots) != 1:
        return False
    (root,) = roots
    return root.op is not None and root.op.name == "pto.alloc_tile" and is_private(root.op)


def _clash(web: Web) -> str | None:
    """Why the members of a web can't share one tile."""
    roots = list(dict.fromkeys(root_tile(use.value) for use in _members(web)))
    first = roots[0]
    for other in roots[1:]:
        a, b = tile_type(first), tile_type(other)
        if _address(first) != _address(other):
            return "tiles of other addresses overlap it while it is in use"
        if not same_layout(a, b) and not may_reshape(a, b):
            return "it is read in another layout than it was written"
    return None


def _address(root: Value) -> object:
    """What identifies the first byte of a tile: its constant address, or the alloc_tile itself."""
    assert root.op is not None
    address = root.op.optional("addr")
    return root if address is None else constant_of(address)


def _is_optional_scratch(web: Web) -> bool:
    """True for an operand that is scratch and may be left out: nothing is ever read from it."""
    if web.reads or len(web.writes) != 1:
        return False
    declared = web.writes[0].declared
    return declared.access == "scratch" and declared.arity == "optional"


def _drop_operand(use: Use) -> None:
    op = use.op
    groups = [() if o.name == use.declared.name else op.group(o.name) for o in op.definition.operands]
    op.set_operands([value for group in groups for value in group], tuple(map(len, groups)))


class _Home:
    """The private tile of one web: where it is allocated, and the handles that the members get."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.members = list(_members(web))
        self.first = (web.writes or web.reads)[0]
        self.origin = root_tile(self.first.value)
        self.block, self.anchor = _place(web, self.members)

    def move(self) -> None:
        """Allocate the tile and turn the members to it."""
        type = tile_type(self.origin)
        builder = Builder(self.block, self.anchor, self.first.op)
        tile = new_tile(builder, type, self._extents(), self._attributes(), self.origin.name)
        for use in self.members:
            use.op.set_operand(use.index, self._handle(tile, use))

    def _extents(self) -> tuple[Extent, Extent]:
        """The first writer's valid region where it is known at the allocation, else the whole tile."""
        type, extents = tile_type(self.origin), extents_of(self.origin)
        assert extents is not None
        if all(isinstance(extent, int) or dominates(extent, self.anchor) for extent in extents):
            return extents
        return type.rows, type.cols

    def _attributes(self) -> dict[str, Attr]:
        assert self.origin.op is not None
        return {**self.origin.op.attributes, PRIVATE: UNIT}

    def _handle(self, tile: Value, use: Use) -> Value:
        """The handle by which a member names the tile: its own chain of handle ops, on the new root."""
        builder = Builder.before(use.op)
        chain, root = [], use.value
        while root.op is not None and (source := handle_source(root.op)) is not None:
            chain.append(root.op)
            root = source
        extents = extents_of(root)
        assert extents is not None
        handle = reinterpreted(builder, tile, tile_type(root), extents)
        mapping = {root: handle}
        for op in reversed(chain):
            handle = clone(op, builder, mapping).result
        return handle


def _place(web: Web, members: list[Use]) -> tuple[Block, Op]:
    """The block and the op before which the tile is allocated.

    It encloses all members and stands outside of the loops that carry the value around.
    """
    blocks = [_block(use.op) for use in members] + [_block(loop) for loop in web.loops]
    block = blocks[0]
    for other in blocks[1:]:
        block = _common(block, other)
    while any(ancestor_in(loop, block) is None for loop in web.loops):
        block = _above(block)
    places = [ancestor_in(use.op, block) for use in members]
    inside = {place for place in places if place is not None}
    anchor = next(op for op in block if op in inside)
    return block, anchor


def _block(op: Op) -> Block:
    assert op.block is not None
    return op.block


def _above(block: Block) -> Block:
    assert block.region is not None and block.region.op is not None
    return _block(block.region.op)


def _common(a: Block, b: Block) -> Block:
    """The innermost block that encloses both."""
    chain: dict[Block, None] = {}
    here: Block | None = a
    while here is not None:
        chain[here] = None
        parent = here.region.op if here.region else None
        here = parent.block if parent else None
    while b not in chain:
        b = _above(b)
    return b


def _sweep(function: Op) -> None:
    """Drop the handles that nobody uses any more."""
    for op in reversed(list(function.walk())):
        if is_handle_op(op) and op.results and not any(result.uses for result in op.results):
            op.erase()
