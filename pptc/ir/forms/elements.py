"""The elements of formats that are neither operands, types nor attributes: literals, regions, optional parts."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.core import Op, Region
from pptc.ir.forms.contract import Draft, Element, Reader, Writer
from pptc.ir.forms.plain import Plain
from pptc.ir.opdef import OpDef
from pptc.ir.syntax import Cursor, Node, unexpected
from pptc.ir.types import Type


@dataclass(frozen=True, slots=True)
class Literal(Plain):
    """A token that stands for itself."""

    text: str

    def starts(self, cursor: Cursor) -> bool:
        """The token is here."""
        return cursor.items[cursor.at].text == self.text

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Step over it."""
        node = cursor.items[cursor.at]
        if node.text != self.text:
            raise unexpected(node, f"`{self.text}`")
        cursor.at += 1

    def print(self, writer: Writer, op: Op) -> None:
        """Write it."""
        writer.put(self.text, "word" if self.text[0].isalpha() else "mark")


@dataclass(frozen=True, slots=True)
class Space(Plain):
    """A blank, or none, before what follows; nothing to read."""

    blank: bool

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Blanks mean nothing."""

    def print(self, writer: Writer, op: Op) -> None:
        """Tell the writer."""
        writer.glue(self.blank)


def hidden_terminator(op: Op, region: Region) -> Op | None:
    """The terminator that the text leaves out: the row's implied one, where it carries nothing."""
    implied = implied_terminator(op.definition)
    if implied is None or op.results or not region.blocks:
        return None
    last = region.blocks[-1].last
    bare = last is not None and last.name == implied and not last.operands and not last.attributes
    return last if bare else None


def implied_terminator(row: OpDef) -> str | None:
    """NAME of the trait "yields:NAME"."""
    return next(
        (trait.removeprefix("yields:") for trait in sorted(row.traits) if trait.startswith("yields:")), None
    )


def passed_on(region: Region) -> list[Type]:
    """The types of what the last op of a region passes on."""
    last = region.blocks[-1].last if region.blocks else None
    return [value.type for value in last.operands] if last is not None else []


@dataclass(frozen=True, slots=True)
class RegionElement(Plain):
    """`{ .. }`: region `index` of the op."""

    index: int

    def starts(self, cursor: Cursor) -> bool:
        """A brace is here."""
        return cursor.peek().type in ("region", "attrs")

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the region."""
        draft.regions.append(reader.region(take_region(cursor)))

    def present(self, op: Op) -> bool:
        """The region has blocks."""
        return bool(op.regions[self.index].blocks)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the region."""
        region = op.regions[self.index]
        writer.region(region, hidden_terminator(op, region))


def take_region(cursor: Cursor) -> Node:
    """The region node here. What looks like a dictionary may be a region: `{}`, or `{ pto.trap }`."""
    node = cursor.peek()
    entries = node.children
    if (
        node.type == "attrs"
        and node.text == "{"
        and len(entries) <= 1
        and not any(e.children for e in entries)
    ):
        cursor.at += 1
        ops = [Node("op", "", entry.start, entry.end, [entry]) for entry in entries]
        header = Node("label", "", node.start, node.start)
        block = Node("block", "", node.start, node.end, [header, *ops])
        return Node("region", "{", node.start, node.end, [block])
    return cursor.expect_type("region", "a region `{ .. }`")


@dataclass(frozen=True, slots=True)
class Optional(Plain):
    """`( .. ^ .. )?`."""

    parts: tuple[Element, ...]
    anchor: Element

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the parts spell."""
        return tuple(name for part in self.parts for name in part.spells)

    def starts(self, cursor: Cursor) -> bool:
        """The first part that is text is here."""
        return next(part for part in self.parts if not isinstance(part, Space)).starts(cursor)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the parts if the first one is here."""
        if self.starts(cursor):
            for part in self.parts:
                part.parse(reader, cursor, draft)

    def present(self, op: Op) -> bool:
        """The anchor is there."""
        return self.anchor.present(op)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the parts if the anchor is there."""
        if self.anchor.present(op):
            for part in self.parts:
                part.print(writer, op)
