"""The row-wise form of an op: how many rows it has, how wide they are, and what each tile operand is to a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pptc.ir.analysis import handle_source, root_tile, uses, uses_of
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Map, RowReduce, Spread
from pptc.ir.types import TileType
from pptc.passes.handles import Extent, equal, extents_of, tile_type
from pptc.passes.tile_facts import is_direct, is_plain, is_private_tile, matrix_part

Role = Literal["row", "standing", "lying", "spread", "boxed"]
"""A row of the tile; its one value per row, where the tile is N x 1 or 1 x N; a one-row tile that all rows read; a row
of a boxed tile."""

VECTOR: tuple[Role, ...] = ("standing", "lying")


@dataclass(frozen=True, slots=True)
class Form:
    """`roles` are those of the tile operands, by operand index."""

    rows: Extent
    width: Extent
    roles: Mapping[int, Role]


def form_of(op: Op, rows: Extent | None, vectors: Mapping[Value, None]) -> Form | None:
    """The form of an op, or None when it is not row-wise.

    `rows` is the run's number of rows and `vectors` are the tiles that hold one value for each: only by them is a
    vector that lies told from a row.
    """
    if not all(_is_usable(use.value, use.declared.access) for use in uses(op)):
        return None
    run = _Run(rows, vectors)
    match op.name, op.definition.meaning:
        case "pto.tload" | "pto.tstore", _:
            return run.transfer(op)
        case _, Map():
            return run.map(op)
        case _, RowReduce():
            return run.reduction(op)
        case _:
            return None


def _is_usable(value: Value, access: str) -> bool:
    """True for all but tiles that are shared, scratch, or named by a handle that cuts rows up."""
    if not isinstance(value.type, TileType):
        return True
    if access in ("scratch", "update") or not is_private_tile(value):
        return False
    return is_direct(value) or _is_turned_vector(value)


def _is_turned_vector(handle: Value) -> bool:
    """True when a handle makes a standing vector lie, or a lying one stand."""
    elem = tile_type(handle).elem
    while (op := handle.op) is not None and (source := handle_source(op)) is not None:
        here, above = tile_type(handle), tile_type(source)
        if not (is_vector(here) and is_vector(above)) or (above.elem, above.size_bytes) != (
            elem,
            here.size_bytes,
        ):
            return False
        handle = source
    return True


def is_vector(type: TileType) -> bool:
    """True for N x 1 and 1 x N tiles."""
    return not type.is_boxed and 1 in (type.rows, type.cols)


@dataclass(frozen=True, slots=True)
class _Run:
    rows: Extent | None
    vectors: Mapping[Value, None]

    def transfer(self, op: Op) -> Form | None:
        """A plain tload or tstore of a matrix."""
        use = next(use for use in uses(op) if isinstance(use.value.type, TileType))
        part = matrix_part(op.operand("src" if op.name == "pto.tload" else "dst"))
        extents = extents_of(use.value)
        if part is None or extents is None or not is_plain(op) or tile_type(use.value).space != "vec":
            return None
        if not all(equal(a, b) for a, b in zip(part.sizes, extents, strict=True)):
            return None
        if self._lies(use.value):
            return Form(extents[1], 1, {use.index: "lying"})
        role = _standing_role(use.value)
        return Form(*extents, {use.index: role}) if role in ("row", "standing") else None

    def map(self, op: Op) -> Form | None:
        """An element-wise op."""
        meaning = op.definition.meaning
        assert isinstance(meaning, Map)
        if op.name == "pto.tmov" and not is_plain(op):
            return None
        spreads = {
            name: spread
            for name, spread in meaning.sources.items()
            if any(isinstance(value.type, TileType) for value in op.group(name))
        }
        target = op.operand(meaning.destination)
        full = [op.operand(name) for name, spread in spreads.items() if spread is Spread.FULL]
        if any(self._lies(tile) for tile in (target, *full)):
            return self._lying_map(op, target, spreads)
        return _standing_map(op, target, spreads)

    def _lying_map(self, op: Op, target: Value, spreads: Mapping[str, Spread]) -> Form | None:
        """An op on vectors that lie: all of them do."""
        extents = extents_of(target)
        roles: dict[int, Role] = {}
        for use in uses(op):
            if not isinstance(use.value.type, TileType):
                continue
            found, spread = extents_of(use.value), spreads.get(use.declared.name, Spread.FULL)
            if (
                spread is not Spread.FULL
                or tile_type(use.value).rows != 1
                or found is None
                or extents is None
            ):
                return None
            if not equal(found[1], extents[1]):
                return None
            roles[use.index] = "lying"
        return None if extents is None else Form(extents[1], 1, roles)

    def reduction(self, op: Op) -> Form | None:
        """A row reduction: a row in, one value out."""
        meaning = op.definition.meaning
        assert isinstance(meaning, RowReduce)
        extents = extents_of(op.operand(meaning.source))
        roles = {use.index: _standing_role(use.value) for use in uses(op)}
        if extents is None or not all(role in ("row", "standing") for role in roles.values()):
            return None
        return Form(*extents, {index: role for index, role in roles.items() if role is not None})

    def _lies(self, tile: Value) -> bool:
        """True for a 1 x N handle of one value for each of the run's rows."""
        extents, type, root = extents_of(tile), tile_type(tile), root_tile(tile)
        if self.rows in (None, 1) or extents is None or type.rows != 1 or extents[0] != 1 or type.is_boxed:
            return False
        assert self.rows is not None
        return equal(extents[1], self.rows) and (root in self.vectors or _stands_somewhere(root))


def _stands_somewhere(root: Value) -> bool:
    """True when some handle on a tile is N x 1."""
    if tile_type(root).cols == 1:
        return True
    return any(
        handle_source(use.op) is use.value and _stands_somewhere(use.op.result) for use in uses_of(root)
    )


def _standing_role(tile: Value) -> Role | None:
    """What a tile whose rows are the run's rows is to them; None when they are scattered, or may hold no value."""
    type = tile_type(tile)
    if type.is_boxed:
        return "boxed"
    if type.cols == 1:
        extents = extents_of(tile)
        return "standing" if extents is not None and extents[1] == 1 else None
    return "row" if type.blayout == "row_major" and is_direct(tile) else None


def _standing_map(op: Op, target: Value, spreads: Mapping[str, Spread]) -> Form | None:
    extents = extents_of(target)
    roles: dict[int, Role] = {}
    for use in uses(op):
        if not isinstance(use.value.type, TileType):
            continue
        spread = spreads.get(use.declared.name, Spread.FULL)
        role = "spread" if spread is Spread.COLUMN else _standing_role(use.value)
        if role is None or (role == "boxed" and not _is_row_move(op)):
            return None
        roles[use.index] = role
    return None if extents is None else Form(*extents, roles)


def _is_row_move(op: Op) -> bool:
    """True for a tmov between vec and a boxed tile of one dtype: textract and tinsert do it row by row."""
    if op.name != "pto.tmov":
        return False
    spaces = tuple(tile_type(op.operand(name)).space for name in ("src", "dst"))
    return spaces in (("acc", "vec"), ("vec", "mat"))
