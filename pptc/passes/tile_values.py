"""Which writes reach which reads of tile memory: the analysis behind promote-tiles.

Each space is cut into cells at all ends of the tiles of constant address (a tile without address is a space of its
own). A walk over the structured control flow keeps, per cell, the write that its bytes come from. Loop heads and joins
make `Merge` nodes instead of sets, so every body is walked once (twice where an scf.if asks for the first trip). Writes
that meet in one read form a `Web`: the unit that gets a private tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pptc.ir.analysis import Use, constant_of, handle_source, is_handle_op, root_tile, uses
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Contract
from pptc.ir.ranges import Ranges, same_value
from pptc.ir.types import TileType

_INLINE_REGIONS = ("scf.execute_region", "pto.section.cube", "pto.section.vector", "pto.fusion_region")
_FOLLOWED = ("func.func", "scf.for", "scf.if", *_INLINE_REGIONS)


@dataclass(eq=False, slots=True)
class Write:
    """The content that one operand's write gives to its cells."""

    use: Use


@dataclass(eq=False, slots=True)
class Merge:
    """What a cell holds where control flow meets; `loop` is the scf.for whose head it is."""

    loop: Op | None
    inputs: list[Node] = field(default_factory=list)


Node = Write | Merge | None
"""None is content that the program leaves undefined."""

State = dict[int, Node]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tile lies: `space` is a memory space or the alloc_tile of a tile without address."""

    space: object
    start: int
    end: int


@dataclass(eq=False)
class Web:
    """Writes and reads that must share one storage."""

    writes: list[Use] = field(default_factory=list)
    reads: list[Use] = field(default_factory=list)
    loops: dict[Op, None] = field(default_factory=dict)  # that carry a value around
    pinned: str | None = None  # why it stays where it is


@dataclass
class TileValues:
    """The analysis of one function."""

    function: Op
    ranges: Ranges
    places: dict[Value, Place] = field(default_factory=dict)  # by alloc_tile result

    def __post_init__(self) -> None:
        self._cells: dict[Place, range] = {}
        self._pins: dict[int, str] = {}
        self.writes: dict[tuple[Op, int], Write] = {}
        self.reads: dict[tuple[Op, int], tuple[Use, dict[Node, None]]] = {}
        self.joined: list[tuple[Node, Node]] = []
        self._written: dict[Op, dict[int, None]] = {}
        self._find_places()
        self._cut()
        self._find_pins()

    # -- the memory

    def _find_places(self) -> None:
        for op in self.function.walk():
            if op.name == "pto.alloc_tile":
                place = _place(op)
                if place is not None:
                    self.places[op.result] = place

    def _cut(self) -> None:
        by_space: dict[object, list[Place]] = {}
        for place in dict.fromkeys(self.places.values()):
            by_space.setdefault(place.space, []).append(place)
        first = 0
        for places in by_space.values():
            ends = sorted({end for place in places for end in (place.start, place.end)})
            index = {end: first + i for i, end in enumerate(ends)}
            for place in places:
                self._cells[place] = range(index[place.start], index[place.end])
            first += len(ends)

    def _find_pins(self) -> None:
        """Cells that ops outside of this analysis may touch at any time."""
        unknown: dict[object, None] = {}
        for op in self.function.walk():
            if op.name == "pto.alloc_tile" and op.result not in self.places:
                assert isinstance(op.result.type, TileType)
                unknown[op.result.type.space] = None
            for use in _tile_operands(op):
                if not _is_understood(use):
                    self._pin(root_tile(use.value), f"{op.name} takes the handle")
            if op.regions and op.name not in _FOLLOWED:
                for use in (use for inner in op.walk() for use in _tile_operands(inner)):
                    self._pin(root_tile(use.value), f"{op.name} around it is not followed")
        for root, place in self.places.items():
            if place.space in unknown:
                self._pin(root, "a tile of its space has no constant address")

    def _pin(self, root: Value, why: str) -> None:
        for cell in self.cells(root):
            self._pins.setdefault(cell, why)

    def cells(self, root: Value) -> range:
        """The cells of an alloc_tile; none when its place is unknown."""
        place = self.places.get(root)
        return self._cells[place] if place else range(0)

    def pin_of(self, web: Web) -> str | None:
        """Why a web must stay in its space, as far as the analysis can tell."""
        for use in (*web.writes, *web.reads):
            root = root_tile(use.value)
            if root not in self.places:
                return "its address is not a constant"
            for cell in self.cells(root):
                if cell in self._pins:
                    return self._pins[cell]
        return None

    # -- the walk

    def webs(self) -> list[Web]:
        """All webs, in the order of their first write in the text."""
        self._walk_block(self.function, 0, {}, {})
        return _webs(self)

    def _walk_block(self, op: Op, region: int, state: State, known: dict[Value, bool]) -> None:
        """Run the ops of a region over `state`. `known` holds i1 values whose outcome is assumed."""
        if region >= len(op.regions) or not op.regions[region].blocks:
            return
        for inner in op.regions[region].block:
            match inner.name:
                case "scf.for":
                    self._loop(inner, state, known)
                case "scf.if":
                    self._branch(inner, state, known)
                case name if name in _INLINE_REGIONS:
                    self._walk_block(inner, 0, state, known)
                case _:
                    self._step(inner, state)

    def _step(self, op: Op, state: State) -> None:
        touching = [
            use for use in uses(op) if (use.reads or use.writes) and isinstance(use.value.type, TileType)
        ]
        before: dict[int, dict[Node, None]] = {}
        for use in touching:
            if use.reads or is_partial(use.value):
                before[use.index] = self._read(use, state)
        for use in touching:
            if use.writes:
                self._write(use, state, before)

    def _read(self, use: Use, state: State) -> dict[Node, None]:
        found = dict.fromkeys(state.get(cell) for cell in self.cells(root_tile(use.value)))
        _, nodes = self.reads.setdefault((use.op, use.index), (use, {}))
        nodes.update(found)
        return found

    def _write(self, use: Use, state: State, before: dict[int, dict[Node, None]]) -> None:
        root = root_tile(use.value)
        node = self.writes.setdefault((use.op, use.index), Write(use))
        kept = list(before.get(use.index, ()))
        if (start := _start_of(use)) is not None and root_tile(start.value) is root:
            kept += before[start.index]
        self.joined += [(node, old) for old in kept]
        for cell in self.cells(root):
            state[cell] = None if use.declared.access == "scratch" else node

    def _branch(self, op: Op, state: State, known: dict[Value, bool]) -> None:
        outcome = known.get(op.operand("condition"))
        if outcome is not None:
            self._walk_block(op, 0 if outcome else 1, state, known)
            return
        other = dict(state)
        self._walk_block(op, 0, state, known)
        self._walk_block(op, 1, other, known)
        _join(state, other, None)

    def _loop(self, loop: Op, state: State, known: dict[Value, bool]) -> None:
        first_trip = first_trip_tests(loop)
        entry = dict(state)
        if first_trip:
            self._walk_block(loop, 0, state, known | first_trip)
        after_first = dict(state)
        heads = {}
        for cell in self._cells_written(loop):
            state[cell] = heads[cell] = Merge(loop, [after_first.get(cell)])
        later = {test: not outcome for test, outcome in first_trip.items()}
        self._walk_block(loop, 0, state, known | later)
        for cell, head in heads.items():
            head.inputs.append(state.get(cell))
        if first_trip:
            _join(state, after_first, None)
        if not self.ranges.runs(loop):
            _join(state, entry, None)

    def _cells_written(self, op: Op) -> dict[int, None]:
        if op not in self._written:
            found: dict[int, None] = {}
            for inner in op.walk():
                for use in uses(inner):
                    if use.writes and isinstance(use.value.type, TileType):
                        found.update(dict.fromkeys(self.cells(root_tile(use.value))))
            self._written[op] = found
        return self._written[op]


class _Groups:
    """Union-find over nodes; a merge joins its inputs only when something reads it."""

    def __init__(self) -> None:
        self._leader: dict[Node, Node] = {}
        self.live: dict[Merge, None] = {}

    def find(self, node: Node) -> Node:
        """The representative of a node's group."""
        while (above := self._leader.get(node, node)) is not node:
            self._leader[node] = self._leader.get(above, above)
            node = above
        return node

    def join(self, a: Node, b: Node) -> None:
        """Put two nodes, and all that reaches them, into one group."""
        if a is None or b is None:
            return
        self._leader[self.find(b)] = self.find(a)
        self._reach(b)

    def _reach(self, node: Node) -> None:
        pending = [node]
        while pending:
            here = pending.pop()
            if not isinstance(here, Merge) or here in self.live:
                continue
            self.live[here] = None
            for source in here.inputs:
                if source is not None:
                    self._leader[self.find(source)] = self.find(here)
                    pending.append(source)


def _webs(values: TileValues) -> list[Web]:
    groups = _Groups()
    for node, old in values.joined:
        groups.join(node, old)
    meetings: list[tuple[Use, Node]] = []
    for use, nodes in values.reads.values():
        known = [node for node in nodes if node is not None]
        for node in known:
            groups.join(known[0], node)
        meetings.append((use, known[0] if known else None))
    webs, orphans = _collected(values, groups, meetings)
    for merge in groups.live:
        web = webs.get(groups.find(merge))
        if web is not None and merge.loop is not None:
            web.loops[merge.loop] = None
    for web in webs.values():
        web.pinned = values.pin_of(web)
    return [*webs.values(), *orphans]


def _collected(
    values: TileValues, groups: _Groups, meetings: list[tuple[Use, Node]]
) -> tuple[dict[Node, Web], list[Web]]:
    """The webs by their group's representative, and those that only read."""
    webs: dict[Node, Web] = {}
    orphans = []
    for write in values.writes.values():
        webs.setdefault(groups.find(write), Web()).writes.append(write.use)
    for use, node in meetings:
        if node is None:
            orphans.append(Web(reads=[use], pinned="it is read before anything is written to it"))
        else:
            webs[groups.find(node)].reads.append(use)
    return webs, orphans


def is_partial(handle: Value) -> bool:
    """True when a handle names a part of its root tile."""
    while (op := handle.op) is not None and (source := handle_source(op)) is not None:
        if op.name == "pto.subview" and not is_whole_window(op):
            return True
        handle = source
    return False


def is_whole_window(subview: Op) -> bool:
    """True for a subview of all elements at offset 0: another valid region, nothing else."""
    source, result = subview.operands[0].type, subview.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    same_shape = (source.rows, source.cols) == (result.rows, result.cols)
    return same_shape and all(constant_of(offset) == 0 for offset in subview.group("offsets"))


def first_trip_tests(loop: Op) -> dict[Value, bool]:
    """The conditions of scf.ifs in a loop that compare the induction variable with the lower bound, and what they give
    in the first trip."""
    induction, lower = loop.body.args[0], loop.operand("lower")
    found = {}
    for op in loop.walk():
        if op.name == "scf.if":
            test = op.operand("condition")
            if (maker := test.op) is None or maker.name != "arith.cmpi":
                continue
            if induction in maker.operands and any(same_value(value, lower) for value in maker.operands):
                predicate = maker.attributes["predicate"]
                if predicate in ("eq", "ne"):
                    found[test] = predicate == "eq"
    return found


def _place(alloc: Op) -> Place | None:
    type = alloc.result.type
    assert isinstance(type, TileType)
    address = alloc.optional("addr")
    if address is None:
        return Place(alloc, 0, type.size_bytes)
    start = constant_of(address)
    return None if start is None else Place(type.space, start, start + type.size_bytes)


def _tile_operands(op: Op) -> Iterator[Use]:
    return (use for use in uses(op) if isinstance(use.value.type, TileType))


def _is_understood(use: Use) -> bool:
    """True when the row says all that the op does with the tile."""
    return use.reads or use.writes or (is_handle_op(use.op) and bool(use.op.results))


def _start_of(write: Use) -> Use | None:
    """The operand that a product starts from, when `write` is its destination."""
    meaning = write.op.definition.meaning
    if (
        not isinstance(meaning, Contract)
        or meaning.start is None
        or write.declared.name != meaning.destination
    ):
        return None
    return next(use for use in uses(write.op) if use.declared.name == meaning.start)


def _join(state: State, other: State, loop: Op | None) -> None:
    """Merge the cells of `other` into `state`."""
    for cell in dict.fromkeys([*state, *other]):
        a, b = state.get(cell), other.get(cell)
        if a is not b:
            state[cell] = Merge(loop, [a, b])
