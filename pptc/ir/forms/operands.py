"""The elements of formats that read and write SSA operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from pptc.ir.core import Op, Value
from pptc.ir.forms.contract import Draft, Reader, Writer
from pptc.ir.forms.plain import Plain
from pptc.ir.forms.type_lists import (
    read_types,
)
from pptc.ir.opdef import Operand
from pptc.ir.syntax import Cursor, Node, SyntaxFault, unexpected
from pptc.ir.types import POISON


@dataclass(frozen=True, slots=True)
class One(Plain):
    """`%a` of a group of one."""

    group: str

    def starts(self, cursor: Cursor) -> bool:
        """A value is here."""
        return cursor.items[cursor.at].type == "SSA"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read one value."""
        node = cursor.items[cursor.at]
        if node.type != "SSA":
            raise unexpected(node, f"the operand `{self.group}`")
        cursor.at += 1
        draft.groups[self.group] = [reader.value(node)]
        draft.spots[self.group] = [node]

    def present(self, op: Op) -> bool:
        """The group is not empty."""
        return bool(op.group(self.group))

    def print(self, writer: Writer, op: Op) -> None:
        """Write the value."""
        for value in op.group(self.group):
            writer.value(value)


def read_values(reader: Reader, cursor: Cursor) -> tuple[list[Value], list[Node]]:
    """`%a, %b, ..`, or nothing."""
    values: list[Value] = []
    nodes: list[Node] = []
    while cursor.items[cursor.at].type == "SSA":
        node = cursor.items[cursor.at]
        values.append(reader.value(node))
        nodes.append(node)
        cursor.at += 1
        following = cursor.items[cursor.at]
        if following.text != "," or cursor.items[cursor.at + 1].type != "SSA":
            break
        cursor.at += 1
    return values, nodes


def print_values(writer: Writer, values: Sequence[Value]) -> None:
    """`%a, %b`."""
    for position, value in enumerate(values):
        if position:
            writer.put(",", "mark")
        writer.value(value)


@dataclass(frozen=True, slots=True)
class Values(Plain):
    """`%a, %b, ..` over the groups `operands` of the row."""

    operands: tuple[Operand, ...]

    def starts(self, cursor: Cursor) -> bool:
        """A value is here."""
        return cursor.items[cursor.at].type == "SSA"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the list and share it out."""
        begin = cursor.peek()
        values, nodes = read_values(reader, cursor)
        at = 0
        for operand, count in zip(self.operands, self._shares(values, begin, cursor), strict=True):
            draft.groups[operand.name] = values[at : at + count]
            draft.spots[operand.name] = nodes[at : at + count]
            at += count

    def _shares(self, values: list[Value], begin: Node, cursor: Cursor) -> Sequence[int]:
        """How many values each group gets."""
        if all(operand.arity == "one" for operand in self.operands) and len(values) == len(self.operands):
            return [1] * len(values)
        splits = list(_splits(self.operands, len(values)))
        if not splits:
            raise self._wrong_count(len(values), begin, cursor)
        return next((split for split in splits if _fits(self.operands, split, values)), splits[0])

    def _wrong_count(self, count: int, begin: Node, cursor: Cursor) -> SyntaxFault:
        following = cursor.peek()
        if following.type in ("SSA", "ERROR") and count:
            return unexpected(following, "`,`")
        least = sum(operand.arity == "one" for operand in self.operands)
        most = len(self.operands)
        open_ended = any(operand.arity == "many" for operand in self.operands)
        words = f"at least {least}" if open_ended else str(least) if least == most else f"{least} to {most}"
        names = ", ".join(operand.name for operand in self.operands)
        end = cursor.items[cursor.at - 1].end if count else begin.end
        noun = "operand" if words.endswith(" 1") or words == "1" else "operands"
        message = f"expected {words} {noun} here ({names}), found {count}"
        return SyntaxFault("P0202", message, begin.start, end)

    def present(self, op: Op) -> bool:
        """Some group is not empty."""
        return any(op.group(operand.name) for operand in self.operands)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the list."""
        print_values(writer, [value for operand in self.operands for value in op.group(operand.name)])


def _splits(operands: tuple[Operand, ...], count: int) -> Iterator[tuple[int, ...]]:
    """All ways to share `count` values out, greedy ones first; scratch comes before a list that may be longer."""
    spare = count - sum(operand.arity == "one" for operand in operands)
    if spare < 0:
        return
    most = {"one": 1, "optional": min(1, spare), "many": spare}
    ranges = [range(most[o.arity], 0 if o.arity == "one" else -1, -1) for o in operands]
    found = [split for split in product(*ranges) if sum(split) == count]
    if any(operand.arity == "many" for operand in operands):
        found.sort(key=lambda split: _reluctance(operands, split))
    yield from found


def _reluctance(operands: tuple[Operand, ...], split: Sequence[int]) -> tuple[int, int]:
    """Smaller for splits that leave no list empty, then for those with scratch."""
    counts = list(zip(operands, split, strict=True))
    empty = sum(operand.arity == "many" and not count for operand, count in counts)
    return empty, -sum(count for operand, count in counts if operand.access == "scratch")


def _fits(operands: tuple[Operand, ...], split: Sequence[int], values: list[Value]) -> bool:
    kinds = [operand.kind for operand, count in zip(operands, split, strict=True) for _ in range(count)]
    return all(
        value.type is POISON or kind.accepts(value.type) for kind, value in zip(kinds, values, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Keyed(Plain):
    """`a = %x : T, b = %y : U`: the groups that are there, in any order."""

    operands: tuple[Operand, ...]

    def starts(self, cursor: Cursor) -> bool:
        """A key of a group is here."""
        return any(cursor.peek().text == operand.name for operand in self.operands)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the clauses."""
        names = [operand.name for operand in self.operands]
        while True:
            key = cursor.peek()
            if key.text not in names or key.text in draft.groups:
                raise unexpected(key, "one of " + ", ".join(f"`{name}`" for name in names))
            cursor.at += 1
            cursor.expect("=")
            One(key.text).parse(reader, cursor, draft)
            cursor.expect(":")
            read_types(reader, cursor, draft.groups[key.text], draft.spots[key.text])
            if not cursor.accept(","):
                break

    def present(self, op: Op) -> bool:
        """Some group is there."""
        return any(op.group(operand.name) for operand in self.operands)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the clauses."""
        there = [operand.name for operand in self.operands if op.group(operand.name)]
        for position, name in enumerate(there):
            if position:
                writer.put(",", "mark")
            writer.put(name, "word")
            writer.put("=", "mark")
            writer.value(op.operand(name))
            writer.put(":", "mark")
            writer.type(op.operand(name).type)
