"""Runs of row-wise ops: which ops of a block may be done row by row together, in one loop over the rows.

An op is row-wise when row r of what it writes needs row r only of what it reads, apart from one-row tiles spread over
all rows. Other ops end a run, unless they may as well run before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pptc.ir.analysis import Use, defining_block, root_pointer, root_tile, tile_uses, uses
from pptc.ir.core import Block, Op, Value
from pptc.ir.types import TileType
from pptc.passes.handles import Extent, equal
from pptc.passes.row_shapes import VECTOR, Form, Role, form_of
from pptc.passes.tile_facts import is_private_tile
from pptc.passes.windows import are_disjoint, same_window

_FREE = ("pto.barrier", "pto.set_flag", "pto.wait_flag", "pto.record_event", "pto.wait_event")
"""Ops that order the chip's pipes: program order satisfies them wherever they stand."""


@dataclass(eq=False)
class Group:
    """Ops of one block that become one strip loop in the place of the last one."""

    rows: Extent
    forms: dict[Op, Form] = field(default_factory=dict)

    @property
    def members(self) -> list[Op]:
        """The ops in text order."""
        return list(self.forms)

    def is_local(self, root: Value) -> bool:
        """True for a tile that nobody but the members touches, and that they write first."""
        first = next(_uses_in_order(self.members, root))
        if first.reads or defining_block(root) is not self.members[0].block:
            return False
        return all(use.op in self.forms for use in tile_uses(root))


def _uses_in_order(members: list[Op], root: Value) -> Iterator[Use]:
    """The uses of a tile by some ops, an op's reads before its writes."""
    for op in members:
        here = [use for use in touching(op) if _is_tile(use) and root_tile(use.value) is root]
        yield from sorted(here, key=lambda use: not use.reads)


def touching(op: Op) -> list[Use]:
    """The operands whose memory an op reads or writes."""
    return [use for use in uses(op) if use.reads or use.writes]


def _is_tile(use: Use) -> bool:
    return isinstance(use.value.type, TileType)


def groups_of(block: Block) -> list[Group]:
    """The runs of a block that are worth a loop."""
    found: list[Group] = []
    run: _Run | None = None
    for op in block:
        if op.definition.pure or op.name == "pto.alloc_tile" or op.name in _FREE:
            continue
        if run is not None and (run.take(op) or run.may_pass(op)):
            continue
        if run is not None:
            found.append(run.group)
        run = _Run.start(op)
    if run is not None:
        found.append(run.group)
    return [group for group in found if _is_worth_a_loop(group)]


def _is_worth_a_loop(group: Group) -> bool:
    """Two ops or more, one of which works on more than one value per row."""
    return len(group.forms) > 1 and any(form.width != 1 for form in group.forms.values())


class _Run:
    """A group under construction."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.roles: dict[Value, Role] = {}  # of the root tiles that members touch
        self.vectors: dict[Value, None] = {}
        self.written: dict[Value, None] = {}
        self.loads: list[Value] = []
        self.stores: list[Value] = []
        self.width: Extent | None = None

    @classmethod
    def start(cls, op: Op) -> _Run | None:
        """A run that begins with an op, when that is row-wise."""
        form = form_of(op, None, {})
        if form is None:
            return None
        run = cls(Group(form.rows))
        run._add(op, form)
        return run

    def take(self, op: Op) -> bool:
        """Make the op a member if it fits."""
        form = form_of(op, self.group.rows, self.vectors)
        if form is None or not equal(form.rows, self.group.rows) or self._has_hazard(op, form):
            return False
        if form.width != 1 and self.width is not None and not equal(form.width, self.width):
            return False
        self._add(op, form)
        return True

    def _add(self, op: Op, form: Form) -> None:
        self.group.forms[op] = form
        if form.width != 1:
            self.width = form.width
        for use in touching(op):
            if not _is_tile(use):
                (self.stores if use.writes else self.loads).append(use.value)
                continue
            root, role = root_tile(use.value), form.roles[use.index]
            self.roles[root] = role
            if role in VECTOR:
                self.vectors[root] = None
            if use.writes:
                self.written[root] = None

    def _has_hazard(self, op: Op, form: Form) -> bool:
        """True when doing the op row by row with the others would change what some op sees."""
        return any(
            self._tile_hazard(use, form.roles[use.index]) if _is_tile(use) else self._memory_hazard(use)
            for use in touching(op)
        )

    def _tile_hazard(self, use: Use, role: Role) -> bool:
        """A tile is the same to all members: rows, values, or a row that all read and none writes."""
        root = root_tile(use.value)
        known = self.roles.get(root)
        if known is None or (known in VECTOR and role in VECTOR):
            return False
        if known != role:
            return True
        return role == "spread" and (use.writes or root in self.written)

    def _memory_hazard(self, use: Use) -> bool:
        """A store may meet the loads of its own window before it, and no store before it."""
        if any(_may_overlap(use.value, other) for other in self.stores):
            return True
        return use.writes and any(
            _may_overlap(use.value, other) and not same_window(use.value, other) for other in self.loads
        )

    def may_pass(self, op: Op) -> bool:
        """True when an op that is no member may run before all members instead of after them.

        A run of one row, such as the load of a weight, lets no run of many rows pass: it would end up in pieces.
        """
        if op.regions or op.definition.terminator or not touching(op):
            return False
        if self.group.rows == 1 and form_of(op, None, {}) is not None:
            return False
        return all(self._may_pass(use) for use in touching(op))

    def _may_pass(self, use: Use) -> bool:
        if not _is_tile(use):
            others = [*self.stores, *(self.loads if use.writes else ())]
            return all(root_pointer(use.value) is not root_pointer(other) for other in others)
        root = root_tile(use.value)
        if not is_private_tile(root) or root in self.written:
            return False
        return not (use.writes and root in self.roles)


def _may_overlap(a: Value, b: Value) -> bool:
    """True unless two parts lie behind different pointers, or apart in one view."""
    return root_pointer(a) is root_pointer(b) and not are_disjoint(a, b)
