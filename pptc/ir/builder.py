"""Typed construction of ops for passes and tests. Every op made inherits its span from an origin op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pptc.ir.attrs import Attr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.ops import OPS
from pptc.ir.types import Type

Operand = Value | Sequence[Value] | None
Operands = Sequence[Value] | Mapping[str, Operand]


class Builder:
    """Makes ops at a place: before `anchor` of `block`, or at its end.

    `origin` is the op that the new ones come from; diagnostics about them point at its span and `loc`.
    """

    def __init__(self, block: Block, anchor: Op | None = None, origin: Op | None = None) -> None:
        self.block = block
        self.anchor = anchor
        self.origin = origin

    @classmethod
    def before(cls, op: Op) -> Builder:
        """A builder in front of `op`, with `op` as origin."""
        assert op.block is not None
        return cls(op.block, op, op)

    @classmethod
    def after(cls, op: Op) -> Builder:
        """A builder behind `op`, with `op` as origin."""
        assert op.block is not None
        return cls(op.block, op.next, op)

    @classmethod
    def inside(cls, block: Block, origin: Op | None) -> Builder:
        """A builder at the end of `block`."""
        return cls(block, None, origin)

    def create(
        self,
        name: str,
        operands: Operands = (),
        types: Sequence[Type] = (),
        attributes: Mapping[str, Attr] | None = None,
        regions: Sequence[Region] = (),
    ) -> Op:
        """Make and insert the op `name`. Operands are a flat list, or a value (or list, or None) per group."""
        row = OPS[name]
        segments = None
        if isinstance(operands, Mapping):
            operands, segments = _flat(row.name, [o.name for o in row.operands], operands)
        op = Op(
            row,
            operands,
            types,
            attributes,
            regions,
            segments=segments,
            span=self.origin.span if self.origin else None,
            loc=self.origin.loc if self.origin else None,
        )
        self.block.insert_before(op, self.anchor)
        return op

    def value(
        self, name: str, operands: Operands, type: Type, attributes: Mapping[str, Attr] | None = None
    ) -> Value:
        """Like `create` for an op with one result; returns the result."""
        return self.create(name, operands, (type,), attributes).result


def _flat(
    op: str, names: Sequence[str], given: Mapping[str, Value | Sequence[Value] | None]
) -> tuple[list[Value], tuple[int, ...]]:
    unknown = set(given) - set(names)
    assert not unknown, f"{op} has no operand {', '.join(sorted(unknown))}"
    flat: list[Value] = []
    segments = []
    for name in names:
        value = given.get(name)
        here = [value] if isinstance(value, Value) else list(value or ())
        flat += here
        segments.append(len(here))
    return flat, tuple(segments)
