"""What elements of a format talk to: the reader that knows names, the writer that knows layout, the op being read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from pptc.ir.attrs import Attr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.opdef import OpDef
from pptc.ir.spell_attrs import Names
from pptc.ir.syntax import Cursor, Node
from pptc.ir.types import Type

Piece = Literal["word", "name", "value", "mark", "text"]
"""How the writer spaces a piece: a literal word, the op's name, an SSA name, punctuation, anything else."""

Arguments = Sequence[tuple[Node, Type]]
"""Names and types of block arguments."""


class Reader(Names, Protocol):
    """The state of reading a module: names in scope, types by text, where faults go."""

    rows: Mapping[str, OpDef]

    def value(self, node: Node) -> Value:
        """The value that an SSA token names; a poisoned one, reported, when there is none."""

    def region(self, node: Node, arguments: Arguments = (), isolated: bool = False) -> Region:
        """The region of a node; `arguments` belong to its first block. `isolated` hides the values outside."""

    def successor(self, node: Node) -> Block:
        """The block that a `^label` names."""

    def text(self, start: int, end: int) -> str:
        """Characters of the source."""

    def report(self, code: str, message: str, node: Node, hint: str | None = None) -> None:
        """Collect a fault that does not keep the op from being read."""


class Writer(Protocol):
    """The text being written."""

    def put(self, text: str, piece: Piece = "text") -> None:
        """Write a piece, with a blank before it where the canonical text has one."""

    def glue(self, blank: bool) -> None:
        """Say whether a blank stands before the next piece."""

    def value(self, value: Value) -> None:
        """Write an SSA name."""

    def type(self, type: Type) -> None:
        """Write a type."""

    def name(self, value: Value) -> str:
        """The SSA name of a value, with `%`."""

    def label(self, block: Block) -> str:
        """The label of a block, with `^`."""

    def region(self, region: Region, hidden: Op | None = None, labelled: bool = False) -> None:
        """Write `{ .. }` without the terminator `hidden`; `labelled` spells the first block's arguments."""


class Draft:
    """An op while it is read."""

    __slots__ = (
        "attributes",
        "groups",
        "names",
        "node",
        "regions",
        "result_types",
        "row",
        "spots",
        "successors",
        "types",
    )

    def __init__(self, row: OpDef, node: Node, names: int) -> None:
        self.row = row
        self.node = node
        self.names = names  # how many results the text names
        self.groups: dict[str, list[Value]] = {}
        self.spots: dict[str, list[Node]] = {}
        self.types: dict[str, list[Type]] = {}  # of result groups
        self.result_types: list[Type] | None = None  # of all results, where spelled at once
        self.attributes: dict[str, Attr] = {}
        self.regions: list[Region] = []
        self.successors: list[Block] = []

    def operands(self) -> list[tuple[Value, Node]]:
        """All operands read so far, in the row's order, with their tokens."""
        return [
            pair
            for operand in self.row.operands
            for pair in zip(self.groups.get(operand.name, ()), self.spots.get(operand.name, ()), strict=True)
        ]


class Element(Protocol):
    """One compiled directive."""

    @property
    def spells(self) -> tuple[str, ...]:
        """Attributes that this element writes, so that attr-dict does not."""

    def starts(self, cursor: Cursor) -> bool:
        """True when the cursor stands at this element; asked at the head of an optional part."""

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read it; SyntaxFault when it does not stand there."""

    def present(self, op: Op) -> bool:
        """True when the op has it; asked of the anchor of an optional part."""

    def print(self, writer: Writer, op: Op) -> None:
        """Write it."""
