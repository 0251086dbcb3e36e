"""The syntax tree between the grammar and the rows: nodes, a cursor over the items of a statement, and its fault.

Composite nodes:

    op         text: the names `%a, %b:2` in front of `=`, or nothing; children: the name, then the items
    region     blocks
    block      a `label` node (text: `^name` or nothing; children: argument names and types in turn), then ops
    attrs      entries (text: how it opens)
    entry      text: the key; the value, or nothing
    list       items
    typed      value, type
    dense      values, type
    function   input types, then result types (text: the number of inputs)
    loc        see the parser
    alias      text: the name; the value
    ERROR      a part of the statement that the grammar refused; the fault is told already

Every other node is a token, its type the terminal's name.
"""

from __future__ import annotations

from collections.abc import Sequence


class Node:
    """A token or a composite; `start` and `end` are character offsets of the source."""

    __slots__ = ("children", "end", "start", "text", "type")

    def __init__(self, type: str, text: str, start: int, end: int, children: Sequence[Node] = ()) -> None:
        self.type = type
        self.text = text
        self.start = start
        self.end = end
        self.children = children

    def __repr__(self) -> str:
        return f"<{self.type} {self.text!r} {self.start}:{self.end}>"


MUTE = ""
"""The code of a fault that follows from one reported already."""


class SyntaxFault(Exception):
    """A statement, type or attribute that does not stand as it should; `start` and `end` delimit the caret."""

    def __init__(
        self, code: str, message: str, start: int = 0, end: int = 0, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint

    def moved(self, by: int) -> SyntaxFault:
        """The same fault, `by` characters further on."""
        return SyntaxFault(self.code, self.message, self.start + by, self.end + by, self.hint)


class Cursor:
    """A place among the items of a statement; behind the last one stands a node of the type END."""

    __slots__ = ("at", "items")

    def __init__(self, items: Sequence[Node], at: int, end: int) -> None:
        self.items = [*items, Node("END", "", end, end)]
        self.at = at

    def peek(self) -> Node:
        """The node at this place."""
        return self.items[self.at]

    def take(self) -> Node:
        """The node at this place; the cursor steps over it."""
        node = self.items[self.at]
        if node.type != "END":
            self.at += 1
        return node

    def accept(self, text: str) -> bool:
        """Step over the token `text`, if it stands here."""
        if self.items[self.at].text == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Node:
        """Step over the token `text`, which must stand here."""
        node = self.items[self.at]
        if node.text != text:
            raise unexpected(node, f"`{text}`")
        self.at += 1
        return node

    def expect_type(self, type: str, words: str) -> Node:
        """Step over a node of a type, which must stand here."""
        node = self.items[self.at]
        if node.type != type:
            raise unexpected(node, words)
        self.at += 1
        return node


def unexpected(node: Node, wanted: str, hint: str | None = None) -> SyntaxFault:
    """The fault of a node that stands where `wanted` should; mute for an ERROR node, which has been reported."""
    if node.type == "ERROR":
        return SyntaxFault(MUTE, "")
    return SyntaxFault("P0007", f"expected {wanted}, found {describe(node)}", node.start, node.end, hint)


def describe(node: Node) -> str:
    """The words for a node in a message."""
    if node.type == "END":
        return "the end of the statement"
    if node.type in ("attrs", "region"):
        return "a dictionary" if node.type == "attrs" else "a region"
    text = node.text or node.type
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
