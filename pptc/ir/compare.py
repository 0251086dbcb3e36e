"""Equality of modules: same ops, types, attributes and structure; names of values and spans do not count."""

from __future__ import annotations

from pptc.ir.attrs import Attr
from pptc.ir.core import Block, Op, Region, Value


def equal(a: Op, b: Op) -> bool:
    """True when two ops, regions included, say the same."""
    return difference(a, b) is None


def difference(a: Op, b: Op) -> str | None:
    """Where two ops first differ, in words; None when they say the same."""
    return _Comparison().op(a, b)


def _said(op: Op) -> dict[str, Attr]:
    """The attributes that say something: one with its default value is as good as absent."""
    defaults = {declared.name: declared.default for declared in op.definition.attributes}
    return {name: value for name, value in op.attributes.items() if value != defaults.get(name)}


class _Comparison:
    """One walk over two ops; `twins` maps values and blocks of the first to those of the second."""

    def __init__(self) -> None:
        self.twins: dict[Value | Block, Value | Block] = {}

    def op(self, a: Op, b: Op) -> str | None:
        """The first difference of two ops."""
        if a.definition is not b.definition:
            return f"{a.name} against {b.name}"
        for what, left, right in (
            ("attributes", _said(a), _said(b)),
            ("operand groups", a.segments, b.segments),
            ("location", a.loc, b.loc),
            ("result types", [v.type for v in a.results], [v.type for v in b.results]),
            ("regions", len(a.regions), len(b.regions)),
        ):
            if left != right:
                return f"{a.name}: {what}: {left} against {right}"
        if [self.twins.get(v, v) for v in a.operands] != list(b.operands):
            return f"{a.name}: operands are other values"
        if [self.twins.get(block) for block in a.successors] != list(b.successors):
            return f"{a.name}: successors are other blocks"
        self.twins.update(zip(a.results, b.results, strict=True))
        return next(filter(None, map(self.region, a.regions, b.regions)), None)

    def region(self, a: Region, b: Region) -> str | None:
        """The first difference of two regions."""
        if len(a.blocks) != len(b.blocks):
            return f"{len(a.blocks)} blocks against {len(b.blocks)}"
        self._pair_definitions(a, b)
        return next(filter(None, map(self.block, a.blocks, b.blocks)), None)

    def _pair_definitions(self, a: Region, b: Region) -> None:
        """Blocks may use values of blocks that stand below: all of a region are paired first."""
        for left, right in zip(a.blocks, b.blocks, strict=True):
            self.twins[left] = right
            self.twins.update(zip(left.args, right.args, strict=False))
            for first, second in zip(left, right, strict=False):
                self.twins.update(zip(first.results, second.results, strict=False))

    def block(self, a: Block, b: Block) -> str | None:
        """The first difference of two blocks."""
        if [v.type for v in a.args] != [v.type for v in b.args]:
            return "a block's arguments have other types"
        left, right = list(a), list(b)
        if len(left) != len(right):
            return f"{len(left)} ops against {len(right)} in a block"
        return next(filter(None, map(self.op, left, right)), None)
