"""Where the one-row tiles of a strip loop live: read in place, computed where needed, or kept for a later phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pptc.ir.analysis import Use, comes_before, readers, root_pointer, root_tile, uses, writers
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op, Value
from pptc.ir.types import I64, TileType, element_type
from pptc.passes.cost import cost_of
from pptc.passes.handles import equal, extents_of, tile_type
from pptc.passes.homes import HOME, ROW, STREAMED, Home
from pptc.passes.phases import phases_of
from pptc.passes.tile_facts import expose, is_covered, is_plain, is_readable_in_place, matrix_part
from pptc.passes.windows import may_be_in_place

_LONGEST_CHAIN = 64
"""A value this many steps away from bytes gets some: nobody needs to nest deeper to compute it."""


@dataclass
class Rows:
    """The decisions for one strip loop. `dear` is the cost from which on a value is kept, not computed again."""

    loop: Op
    views: bool
    dear: int
    homes: dict[Value, Home] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.phases = phases_of(self.loop).of
        self.tiles = [op.result for op in self.loop.body if op.name == "pto.alloc_tile"]
        self.writes = [use for op in self.phases for use in uses(op) if use.writes]
        self._last: dict[Value, int] = {}
        self._depth: dict[Value, int] = {}

    def assign(self, first_number: int) -> int:
        """Write `tile.home` on all tiles; gives the next number for a destination row.

        Values are decided from the last to the first: what a value is needed for depends on where those live that are
        computed from it.
        """
        for tile in reversed(self.tiles):
            self._last[tile] = self._last_use(tile)
            self.homes[tile] = self._home(tile)
        number, taken = first_number, list[Op]()
        for tile in self.tiles:
            assert tile.op is not None
            tile.op.attributes[HOME] = self.homes[tile]
            store = self._destination(tile, taken) if self.homes[tile] == "strip" else None
            if store is not None:
                taken.append(store)
                tile.op.attributes[ROW] = store.attributes[ROW] = IntAttr(number, I64)
                number += 1
        return number

    # -- one tile

    def _home(self, tile: Value) -> Home:
        found = list(dict.fromkeys(writers(tile)))
        if len(found) != 1 or not is_covered(tile, found[0]):
            return "strip"
        (writer,) = found
        if tile_type(tile).cols == 1:
            return "register"
        first, last = self.phases[writer], self._last[tile]
        sources = self._upstream(writer) if last > first else []
        if not self._is_safe([read for op in sources for read in self._outer_reads(op)], first, last):
            return "strip"
        if writer.name in ("pto.tload", "pto.textract"):
            return "view" if self.views and is_readable_in_place(writer) else "strip"
        if sum(map(cost_of, sources)) > self.dear:
            return "strip"
        self._depth[tile] = 1 + max(
            (self._depth.get(target, 0) for target in self._made_from(tile)), default=0
        )
        return "register" if self._depth[tile] % _LONGEST_CHAIN else "strip"

    def _made_from(self, tile: Value) -> Iterator[Value]:
        """The wide values without bytes that are computed from a value."""
        for reader in readers(tile):
            for target in _wide_targets(reader):
                if self.homes.get(target) == "register":
                    yield target

    def _last_use(self, tile: Value) -> int:
        """The last phase in which the value is asked for, by ops or through values without bytes."""
        last = max((self.phases[writer] for writer in writers(tile)), default=0)
        for reader in readers(tile):
            last = max(last, self.phases[reader])
        return max([last, *(self._last[target] for target in self._made_from(tile))])

    def _upstream(self, writer: Op) -> list[Op]:
        """The ops that run again when the value of `writer` is computed from memory, each once."""
        found = {writer: None}
        pending = [writer]
        while pending:
            for use in uses(pending.pop()):
                made = _row_tile(use, self.loop) if use.reads else None
                if made is None or tile_type(made).cols == 1:  # a value that a row has once is kept
                    continue
                fresh = [op for op in writers(made) if op not in found]
                found.update(dict.fromkeys(fresh))
                pending += fresh
        return list(found)

    def _outer_reads(self, op: Op) -> Iterator[Use]:
        """What an op reads of memory and of tiles from outside of the loop."""
        return (use for use in uses(op) if use.reads and _row_tile(use, self.loop) is None)

    def _is_safe(self, reads: list[Use], first: int, last: int) -> bool:
        """True when nothing that is written in phases [first, last) changes what a read in `last` would see."""
        return not any(
            first <= self.phases[write.op] < last and _may_change(write.value, read.value)
            for write in self.writes
            for read in reads
        )

    # -- strips in the destination row

    def _destination(self, tile: Value, taken: list[Op]) -> Op | None:
        """The tstore whose destination row may hold a strip until the result takes its place."""
        (writer, *others) = dict.fromkeys(writers(tile))
        if others:
            return None
        for store in self.loop.body:
            if store.name != "pto.tstore" or STREAMED in store.attributes or store in taken:
                continue
            if not self._fits(tile, store):
                continue
            first = self.phases[writer]
            if first == self.phases[store] and not comes_before(writer, store):
                continue  # the strip would be written over the result
            if self._row_is_free(store, first) and expose(store.operand("dst"), writer):
                return store
        return None

    def _fits(self, tile: Value, store: Op) -> bool:
        """True when strip and stored row have one shape and element type, and the strip is read no later."""
        part = matrix_part(store.operand("dst"))
        stored, kept = extents_of(store.operand("src")), extents_of(tile)
        if part is None or part.strides[1] != 1 or stored is None or kept is None or not is_plain(store):
            return False
        elements = [element_type(value.type) for value in (*store.operands, tile)]
        if any(elem != elements[0] for elem in elements) or not equal(stored[1], kept[1]):
            return False
        return self._last[tile] <= self.phases[store]

    def _row_is_free(self, store: Op, first: int) -> bool:
        """True when from phase `first` to the store nobody else writes the row, or reads it after the strip."""
        part, last = store.operand("dst"), self.phases[store]
        for write in self.writes:
            if write.op is not store and self.phases[write.op] <= last and _may_change(write.value, part):
                return False
        for load in self.loop.body:
            if load.name != "pto.tload":
                continue
            tile = root_tile(load.operand("dst"))
            late = self.homes.get(tile) != "strip" and self._last.get(tile, last) > first
            if late and _may_change(part, load.operand("src")):
                return False
        return True


def _row_tile(use: Use, loop: Op) -> Value | None:
    """The one-row tile of the loop behind an operand; None for memory and tiles from outside."""
    if not isinstance(use.value.type, TileType):
        return None
    root = root_tile(use.value)
    return root if root.op is not None and root.op.block is loop.body else None


def _wide_targets(op: Op) -> Iterator[Value]:
    for use in uses(op):
        if use.writes and isinstance(use.value.type, TileType):
            root = root_tile(use.value)
            if tile_type(root).cols != 1:
                yield root


def _may_change(written: Value, read: Value) -> bool:
    """True when a write through one operand may change what the other one reads."""
    tiles = [isinstance(value.type, TileType) for value in (written, read)]
    if all(tiles):
        return root_tile(written) is root_tile(read)
    if any(tiles):
        return False
    return root_pointer(written) is root_pointer(read) or may_be_in_place(written, read)
