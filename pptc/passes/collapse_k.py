"""collapse-k: a loop over slices of k becomes one product over all of k.

The body loads slices of `left` and `right` tiles and multiplies them into one acc tile: `tmatmul` in the first trip and
`tmatmul.acc` after it (an scf.if on the induction variable), or `tmatmul.acc` in all trips. The slices must follow each
other without a gap, in a number of trips that is known. A product just before on the same acc whose slice ends where
the other starts (a peeled first trip, an unrolled loop) is joined with it. Private tiles obey no capacity of a chip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import Use, root_tile, uses
from pptc.ir.builder import Builder
from pptc.ir.core import Op, Value, functions
from pptc.ir.opdef import Contract
from pptc.ir.ranges import Ranges
from pptc.passes.base import Pass, PassContext, Remark
from pptc.passes.invariants import hoist_pure
from pptc.passes.k_slices import Slice, joined, over_trips, slice_of
from pptc.passes.tile_facts import discard_unread
from pptc.passes.tile_values import first_trip_tests


@dataclass(frozen=True)
class CollapseK(Pass):
    """See the module."""

    name: ClassVar[str] = "collapse-k"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function, inner loops first."""
        changed = False
        for function in functions(module):
            for loop in [op for op in function.walk() if op.name == "scf.for"][::-1]:
                changed |= self._loop(loop, context)
            for op in list(function.walk()):
                if op.block is not None and _start(op) is not None:
                    changed |= _join_with_previous(op)
        return changed

    def _loop(self, loop: Op, context: PassContext) -> bool:
        if loop.results or not any(_start(op) is not None for op in _nearest(loop)):
            return False
        changed = hoist_pure(loop)
        found = _Collapse(loop)
        if found.obstacle is not None:
            text = f"the loop over k is not collapsed: {found.obstacle}"
            context.remarks.append(Remark(self.name, text, loop.span))
            return changed
        found.rewrite()
        return True


def _nearest(loop: Op) -> Iterator[Op]:
    """The ops of a loop's body and of the branches in it, but not of loops in it."""
    for op in loop.body:
        yield op
        if op.name == "scf.if":
            yield from (inner for region in op.regions for block in region.blocks for inner in block)


def _is_product(op: Op) -> bool:
    return isinstance(op.definition.meaning, Contract)


def _start(op: Op) -> Value | None:
    """The accumulator that a product starts from."""
    meaning = op.definition.meaning
    return op.operand(meaning.start) if isinstance(meaning, Contract) and meaning.start else None


@dataclass(frozen=True, slots=True)
class _Product:
    """One product of the body: `plain` stands for its op without a start, where the first trip has one."""

    place: Op
    product: Op
    plain: Op | None


class _Collapse:
    """The match of one loop; `obstacle` says why it fails."""

    def __init__(self, loop: Op) -> None:
        self.loop = loop
        self.trips = Ranges().trips(loop)
        self.products: list[_Product] = []
        self.loads: list[Op] = []
        self.slices: dict[Value, Slice] = {}
        self.obstacle = self._match()

    def _match(self) -> str | None:
        if not self.trips:
            return "the number of its trips is not known"
        tests = first_trip_tests(self.loop)
        for op in self.loop.body:
            if op.definition.terminator or op.definition.pure or op.name == "pto.alloc_tile":
                continue
            if op.name in ("pto.tload", "pto.textract"):
                self.loads.append(op)
                continue
            product = _first_trip(op, tests) if op.name == "scf.if" else _every_trip(op)
            if product is None:
                return f"{op.name} stands in it"
            self.products.append(product)
        return self._match_slices() if self.products else "it has no product"

    def _match_slices(self) -> str | None:
        used: dict[Value, None] = {}
        for found in self.products:
            for name, axis in (("lhs", 1), ("rhs", 0)):
                tile = root_tile(found.product.operand(name))
                used[tile] = None
                if tile not in self.slices:
                    loop_slice = over_trips(
                        slice_of(found.product.operand(name), axis), self.loop, self.trips or 0
                    )
                    if loop_slice is None:
                        return f"its {name} operands are not slices that follow each other"
                    self.slices[tile] = loop_slice
            if not _same_inner_extent(self.slices, found.product):
                return "its operands have different extents along k"
        if any(root_tile(op.operand("dst")) not in used for op in self.loads):
            return "it loads a tile that is no operand of a product"
        return None

    def rewrite(self) -> None:
        """Put one product per product of the body in the loop's place."""
        builder = Builder.before(self.loop)
        whole = {tile: found.build(builder) for tile, found in self.slices.items()}
        for found in self.products:
            product = found.plain or found.product
            _rebuild(builder, product, whole)
        self.loop.erase()


def _same_inner_extent(slices: dict[Value, Slice], product: Op) -> bool:
    lhs, rhs = (slices[root_tile(product.operand(name))] for name in ("lhs", "rhs"))
    return lhs.size == rhs.size


def _rebuild(builder: Builder, product: Op, whole: dict[Value, Value]) -> Op:
    """The same product on whole tiles."""
    operands = [whole.get(root_tile(value), value) for value in product.operands]
    made = builder.create(product.name, operands)
    made.span, made.loc = product.span, product.loc
    return made


def _every_trip(op: Op) -> _Product | None:
    start = _start(op)
    if start is None or root_tile(start) is not root_tile(op.operand("dst")):
        return None
    return _Product(op, op, None)


def _first_trip(branch: Op, tests: dict[Value, bool]) -> _Product | None:
    """scf.if k == lower { tmatmul } else { tmatmul.acc } of the same operands."""
    outcome = tests.get(branch.operand("condition"))
    if outcome is None or branch.results or not all(region.blocks for region in branch.regions):
        return None
    arms = [[op for op in region.block if not op.definition.terminator] for region in branch.regions]
    first, later = arms if outcome else arms[::-1]
    if len(first) != 1 or len(later) != 1:
        return None
    plain, product = first[0], _every_trip(later[0])
    if product is None or f"{plain.name}.acc" != later[0].name:
        return None
    same = all(plain.operand(name) is later[0].operand(name) for name in ("lhs", "rhs", "dst"))
    return _Product(branch, later[0], plain) if same else None


# ---------------------------------------------------------------- neighbours


def _join_with_previous(product: Op) -> bool:
    """X = L0 R0; X += L1 R1   ==>   X = [L0 L1] [R0 R1] where the slices follow each other."""
    if _every_trip(product) is None:
        return False
    before = _previous_touch(product)
    if before is None or not _is_product(before) or before.operand("dst") is not product.operand("dst"):
        return False
    if before.name not in (product.name, product.name.removesuffix(".acc")):
        return False
    made = []
    for name, axis in (("lhs", 1), ("rhs", 0)):
        slices = [slice_of(op.operand(name), axis) for op in (before, product)]
        made.append(joined(slices[0], slices[1], product))
    left, right = made
    if left is None or right is None or left.size != right.size:
        return False
    builder = Builder.before(product)
    factors = {"lhs": left.build(builder), "rhs": right.build(builder)}
    groups = {operand.name: before.group(operand.name) for operand in before.definition.operands}
    result = builder.create(before.name, {**groups, **factors})
    result.span, result.loc = before.span, before.loc
    old = [op.operand(name) for op in (before, product) for name in ("lhs", "rhs")]
    for op in (before, product):
        op.erase()
    for tile in old:
        if root_tile(tile).op is not None and root_tile(tile).op.block is not None:  # type: ignore[union-attr]
            discard_unread(tile)
    return True


def _previous_touch(product: Op) -> Op | None:
    """The nearest op before that touches the accumulator; None when it is hidden in a region."""
    acc = root_tile(product.operand("dst"))
    op = product.prev
    while op is not None:
        touching = [use for inner in op.walk() for use in uses(inner) if _names(use, acc)]
        if touching:
            return op if not op.regions else None
        op = op.prev
    return None


def _names(use: Use, tile: Value) -> bool:
    return (use.reads or use.writes) and root_tile(use.value) is tile
