"""expand-transfers: copies from memory to memory become loads to and stores from their staging tile, piece by piece.

What is added to memory is stored by `tile.tstore_add`, which the tile passes know nothing about: its tile keeps its
bytes, and nothing moves past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pptc.diag import fail
from pptc.ir.builder import Builder, Operand
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.kinds import attribute, plain
from pptc.ir.rewrite import constant, without
from pptc.ir.types import INDEX, PartType, TileType
from pptc.passes.base import Pass, PassContext

_TRANSFERS = ("pto.comm.tput", "pto.comm.tget")


@dataclass(frozen=True)
class ExpandTransfers(Pass):
    """See the module."""

    name: ClassVar[str] = "expand-transfers"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every function."""
        transfers = [op for op in module.walk() if op.name in _TRANSFERS]
        for op in transfers:
            _expand(op)
        added = [op for op in module.walk() if op.name == "pto.tstore" and _adds(op)]
        for op in added:
            attributes = without(op.attributes, "atomicType", "stPhase", "layout")
            Builder.before(op).create("tile.tstore_add", op.operands, (), attributes)
            op.erase()
        return bool(transfers or added)


def _adds(op: Op) -> bool:
    declared = op.definition.attribute("atomicType")
    return declared is not None and plain(attribute(op, "atomicType")) == "atomic_add"


def _expand(op: Op) -> None:
    """All at once where the staging tile holds it, else in windows of the tile's shape."""
    stage, part = op.operand("ping").type, op.operand("dst").type
    assert isinstance(stage, TileType) and isinstance(part, PartType)
    *outer, columns = part.dims
    known = None not in part.dims
    rows = 1
    for extent in outer:
        rows *= extent or 0
    b = Builder.before(op)
    if known and rows <= (stage.v_row or 0) and (columns or 0) <= (stage.v_col or 0):
        _copy(b, op, op.operand("src"), op.operand("dst"))
    elif len(part.dims) > 2:
        raise fail(
            "P0402", f"{op.name} of more dimensions than two needs a staging tile for all of it", op.span
        )
    else:
        _copy_windows(b, op, stage)
    op.erase()


def _copy(builder: Builder, op: Op, source: Value, target: Value) -> None:
    stage = op.operand("ping")
    builder.create("pto.tload", {"src": source, "dst": stage})
    name = "tile.tstore_add" if _adds(op) else "pto.tstore"
    builder.create(name, {"src": stage, "dst": target})


def _copy_windows(builder: Builder, op: Op, stage: TileType) -> None:
    """Loops over both dimensions; a view of one is a row."""
    target = op.operand("dst")
    if stage.v_row is None or stage.v_col is None:
        raise fail(
            "P0402", f"{op.name} in pieces needs a staging tile whose valid region its type says", op.span
        )
    shape = (stage.v_row, stage.v_col)
    assert isinstance(target.type, PartType)
    rank = len(target.type.dims)
    extents = [_extent(builder, target, number) for number in range(rank)]
    b, offsets, sizes = builder, [], []
    for extent, step in zip(extents, shape[2 - rank :], strict=True):
        b, offset = _loop(b, op, extent, step)
        left = b.value("arith.subi", (extent, offset), INDEX)
        offsets.append(offset)
        sizes.append(b.value("arith.minsi", (left, constant(b, step)), INDEX))
    _copy(b, op, *(_window(b, op.operand(name), offsets, sizes) for name in ("src", "dst")))


def _extent(builder: Builder, part: Value, dimension: int) -> Value:
    return builder.value("pto.get_tensor_view_dim", (part, constant(builder, dimension)), INDEX)


def _loop(builder: Builder, op: Op, extent: Value, step: int) -> tuple[Builder, Value]:
    """A loop over an extent; gives a builder in front of its end, and the counter."""
    body = Block([INDEX])
    bounds = (constant(builder, 0), extent, constant(builder, step))
    builder.create("scf.for", bounds, (), {}, (Region((body,)),))
    end = Builder.inside(body, op).create("scf.yield")
    return Builder(body, end, op), body.args[0]


def _window(builder: Builder, part: Value, offsets: Sequence[Value], sizes: Sequence[Value]) -> Value:
    assert isinstance(part.type, PartType)
    type = PartType((None,) * len(sizes), part.type.elem)
    operands: dict[str, Operand] = {"source": part, "offsets": tuple(offsets), "sizes": tuple(sizes)}
    return builder.value("pto.partition_view", operands, type)
