"""A run of row-wise ops written as a strip loop."""

from __future__ import annotations

from dataclasses import replace

from pptc.ir.analysis import Use, root_tile, tile_uses, uses
from pptc.ir.attrs import UNIT
from pptc.ir.builder import Builder
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.rewrite import constant
from pptc.ir.types import INDEX, TileType
from pptc.passes.handles import (
    Extent,
    as_value,
    extents_of,
    new_tile,
    reinterpreted,
    tile_type,
    window,
    with_valid,
)
from pptc.passes.homes import PRIVATE, STRIP
from pptc.passes.row_groups import Group
from pptc.passes.row_shapes import VECTOR, Role
from pptc.passes.tile_facts import drop_handles, matrix_part
from pptc.passes.windows import plus, window_part


def emit(group: Group) -> None:
    """Replace the members of a group by a strip loop in the place of the last one."""
    _Emitter(group).run()


class _Emitter:
    def __init__(self, group: Group) -> None:
        self.group = group
        last = group.members[-1]
        before = Builder.before(last)
        self.zero, self.one = constant(before, 0), constant(before, 1)
        rows = as_value(before, group.rows)
        self.block = Block((INDEX,))
        self.row = self.block.args[0]
        self.row.name = "row"
        bounds = (self.zero, rows, self.one)
        before.create("scf.for", bounds, (), {STRIP: UNIT}, (Region((self.block,)),))
        self.builder = Builder.inside(self.block, last)
        self.tiles: dict[Value, Value] = {}  # root tile -> its handle in the loop

    def run(self) -> None:
        for op in self.group.members:
            self.builder.origin = op
            self._member(op)
        self.builder.create("scf.yield")
        roots = [root_tile(use.value) for op in self.group.members for use in uses(op) if _is_tile(use)]
        for op in self.group.members:
            op.erase()
        for root in dict.fromkeys(roots):
            if root.op is not None and root.op.block is not None and not any(tile_uses(root)):
                drop_handles(root)
                root.op.erase()

    def _member(self, op: Op) -> None:
        """One op on one row."""
        roles = self.group.forms[op].roles
        if "boxed" in roles.values():
            self._boxed_move(op)
            return
        operands = []
        for use in uses(op):
            if _is_tile(use):
                operands.append(self._handle(use, roles[use.index]))
            elif use.reads or use.writes:
                operands.append(self._part(use.value, "lying" in roles.values()))
            else:
                operands.append(use.value)
        self.builder.create(op.name, operands, (), dict(op.attributes))

    def _boxed_move(self, op: Op) -> None:
        """tmov of one row: acc -> vec is a textract, vec -> mat a tinsert."""
        source, target = (
            next(use for use in uses(op) if use.declared.name == name) for name in ("src", "dst")
        )
        place = {"row": self.row, "column": self.zero}
        if tile_type(source.value).is_boxed:
            operands = {"src": source.value, **place, "dst": self._handle(target, "row")}
            self.builder.create("pto.textract", operands)
        else:
            operands = {"src": self._handle(source, "row"), **place, "dst": target.value}
            self.builder.create("pto.tinsert", operands)

    def _part(self, part: Value, lies: bool) -> Value:
        """Row `row` of a window of global memory; its element for a vector that lies."""
        found = matrix_part(part)
        assert found is not None
        rows, columns = found.offsets
        if lies:
            return window_part(self.builder, part, (rows, plus(self.builder, columns, self.row)), (1, 1))
        return window_part(
            self.builder, part, (plus(self.builder, rows, self.row), columns), (1, found.sizes[1])
        )

    def _handle(self, use: Use, role: Role) -> Value:
        if role == "spread":
            return use.value
        root = root_tile(use.value)
        if root not in self.tiles:
            self.tiles[root] = (
                self._local(root, use, role) if self.group.is_local(root) else self._row_of(root, role)
            )
        base, extents = self.tiles[root], extents_of(use.value)
        assert extents is not None
        if role in VECTOR:
            return reinterpreted(self.builder, base, _one_value(tile_type(use.value)), (1, 1))
        return with_valid(self.builder, base, (1, extents[1]))

    def _local(self, root: Value, use: Use, role: Role) -> Value:
        """A one-row private tile in the loop."""
        extents = extents_of(use.value)
        assert extents is not None
        type = tile_type(root)
        valid: tuple[Extent, Extent] = (1, 1) if role in VECTOR else (1, extents[1])
        shape = _one_value(type) if role in VECTOR else replace(type, rows=1)
        return new_tile(self.builder, shape, valid, {PRIVATE: UNIT}, root.name)

    def _row_of(self, root: Value, role: Role) -> Value:
        """A subview of row `row` of a tile that others touch too."""
        type, extents = tile_type(root), extents_of(root)
        assert extents is not None
        if role not in VECTOR:
            handle = window(self.builder, root, (self.row, self.zero), (1, type.cols), (1, extents[1]))
        else:
            offsets = (self.row, self.zero) if type.cols == 1 else (self.zero, self.row)
            handle = window(self.builder, root, offsets, (1, 1), (1, 1))
        handle.name = root.name
        return handle


def _is_tile(use: Use) -> bool:
    return isinstance(use.value.type, TileType)


def _one_value(type: TileType) -> TileType:
    return replace(type, rows=1, cols=1)
