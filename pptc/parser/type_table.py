"""Types by their text, so that each spelling is read once, and what aliases stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pptc.diag import Source
from pptc.ir.spell import LEFT_LAYOUTS, parse_type
from pptc.ir.syntax import Node, SyntaxFault
from pptc.ir.types import POISON, Major, Type

_ALIAS = re.compile(r"![\w$]+")


class TypeTable:
    """`arch` beats what modules say about the layout of `left` tiles."""

    def __init__(self, source: Source, aliases: Mapping[str, Node], arch: str | None) -> None:
        self.known: dict[str, Type] = {}
        self._source = source
        self._aliases = aliases
        self._forced = LEFT_LAYOUTS.get(arch) if arch else None
        self.left = self._forced

    def enter(self, arch: str) -> None:
        """Read what follows for an architecture."""
        if self._forced is None:
            self.set_left(LEFT_LAYOUTS.get(arch))

    def set_left(self, left: Major | None) -> None:
        """Read what follows with a layout of `left` tiles."""
        if left != self.left:
            self.left = left
            self.known.clear()

    def read(self, node: Node) -> Type:
        """The type of a text that is not known yet. After a SyntaxFault the text stands for a poisoned type, or is
        still unknown when it is no more than the head of one whose `<` is not closed."""
        text = node.text
        self.known[text] = POISON  # ends cycles of aliases, too
        try:
            alias = _ALIAS.fullmatch(text)
            type = self.known[text] = self._aliased(node) if alias else parse_type(text, self.left)
        except SyntaxFault as fault:
            if self._source.text[node.end : node.end + 1] == "<":
                del self.known[text]
                raise SyntaxFault(
                    "P0005", f"the `<` of {text} is not closed", node.end, node.end + 1
                ) from None
            raise fault.moved(node.start) from None
        return type

    def _aliased(self, node: Node) -> Type:
        target = self._aliases.get(node.text)
        if target is None:
            raise SyntaxFault("P0109", f"unknown alias `{node.text}`", 0, len(node.text))
        if target.type != "TYPE":
            raise SyntaxFault("P0109", f"`{node.text}` is not a type", 0, len(node.text))
        return self.known.get(target.text) or self.read(target)
