"""The state of a running block: its place in the grid, its memory spaces, and the values of the running function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pptc.diag import CompileError, Sink
from pptc.ir.core import Op, Value
from pptc.ir.interp_team import Member
from pptc.ir.storage import Arena, MemoryFault


@dataclass(frozen=True)
class Grid:
    """The place of the running block, and of the vector core in it."""

    block: int
    blocks: int
    subblock: int = 0
    subblocks: int = 1

    def role(self, role: str) -> int:
        """The value of an SPMD argument."""
        return {"block_idx": self.block, "block_num": self.blocks, "subblock_idx": self.subblock}[role]


@dataclass
class Meetings:
    """Where the cores of all blocks meet: how many there are of each kind, who has come, how often all had."""

    blocks: int = 1
    vectors: int = 0
    cubes: int = 0
    arrived: dict[str, int] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)

    def cores(self, kind: str) -> int:
        """How many cores of a kind there are in all; a kernel that is no pair is of every kind."""
        of = {"aiv_only": self.vectors, "aic_only": self.cubes}.get(kind, self.vectors + self.cubes)
        return self.blocks * (of if self.vectors and self.cubes else 1)

    def arrive(self, kind: str, count: int) -> int:
        """Come to a meeting; gives the number of meetings of this kind before it."""
        round = self.round(kind)
        self.arrived[kind] = self.arrived.get(kind, 0) + 1
        if self.arrived[kind] == count:
            self.arrived[kind] = 0
            self.rounds[kind] = round + 1
        return round

    def round(self, kind: str) -> int:
        """How many meetings of a kind there have been."""
        return self.rounds.get(kind, 0)


@dataclass
class Frame:
    """The state of a running core: its memory spaces, the events raised and not yet waited for, and the values.

    `queues` are those between the cores of its block, `buffers` where this one keeps what it takes from them. `step`
    executes an op in place of the interpreter, and may look at what it does.
    """

    module: Op
    grid: Grid
    poison: bool
    output: Callable[[str], None] | None
    member: Member | None = None
    step: Handler | None = None
    meetings: Meetings = field(default_factory=Meetings)
    queues: dict[tuple[int, str], Any] = field(default_factory=dict)
    depth: int = 0
    buffers: dict[tuple[int, str], tuple[int | None, int]] = field(default_factory=dict)
    arenas: dict[str, Arena] = field(default_factory=dict)
    events: dict[tuple[str, ...], int] = field(default_factory=dict)
    values: dict[Value, Any] = field(default_factory=dict)

    def call(self) -> Frame:
        """A frame for a called function: the same memory, other values."""
        return replace(self, depth=self.depth + 1, values={})

    def wait(self, ready: Callable[[], bool]) -> None:
        """Let the other cores run until `ready` says so. Raises MemoryFault when it never will."""
        if self.member is not None:
            self.member.wait(ready)
        elif not ready():
            raise MemoryFault("it waits for what no other core will do")

    def arena(self, name: str) -> Arena:
        """The bytes of a memory space."""
        return self.arenas.setdefault(name, Arena(self.poison))

    def get(self, values: Sequence[Value]) -> list[Any]:
        """The values of operands."""
        return [self.values[value] for value in values]

    def one(self, op: Op, name: str) -> Any:
        """The value of the operand group `name`; None when it is absent."""
        value = op.optional(name)
        return None if value is None else self.values[value]

    def set(self, values: Sequence[Value], given: Sequence[Any]) -> None:
        """Define results or block arguments."""
        self.values.update(zip(values, given, strict=True))


Results = Sequence[Any] | None
Handler = Callable[[Frame, Op], Results]


def fault(op: Op, code: str, message: str) -> CompileError:
    """A CompileError at the op, with the user's own location."""
    sink = Sink()
    sink.error(code, message, op.span, location=op.loc)
    return CompileError(sink)
