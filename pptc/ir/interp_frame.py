"""The state of a running block: its place in the grid, its memory spaces, and the values of the running function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pptc.diag import CompileError, Sink
from pptc.ir.core import Op, Value
from pptc.ir.storage import Arena


@dataclass(frozen=True)
class Grid:
    """The place of the running block."""

    block: int
    blocks: int

    def role(self, role: str) -> int:
        """The value of an SPMD argument; a block runs as one vector core."""
        return {"block_idx": self.block, "block_num": self.blocks}.get(role, 0)


@dataclass
class Frame:
    """The state of a running block: its memory spaces, the events raised and not yet waited for, and the values."""

    module: Op
    grid: Grid
    poison: bool
    output: Callable[[str], None] | None
    depth: int = 0
    arenas: dict[str, Arena] = field(default_factory=dict)
    events: dict[tuple[str, ...], int] = field(default_factory=dict)
    values: dict[Value, Any] = field(default_factory=dict)

    def call(self) -> Frame:
        """A frame for a called function: the same memory, other values."""
        return Frame(
            self.module, self.grid, self.poison, self.output, self.depth + 1, self.arenas, self.events
        )

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
