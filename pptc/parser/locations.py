"""`loc(..)` to the one place that a user can open: a file's line where there is one, else a name with line 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pptc.diag import UserLocation
from pptc.ir.literals import plain_integer
from pptc.ir.spell_attrs import parse_string
from pptc.ir.syntax import Node


def read_location(node: Node, aliases: Mapping[str, Node]) -> UserLocation | None:
    """The first file position inside, else the first name; None when there is neither."""
    found = list(_places(node, aliases, frozenset()))
    return next((place for place in found if place.line), found[0] if found else None)


def _places(node: Node, aliases: Mapping[str, Node], seen: frozenset[str]) -> Iterator[UserLocation]:
    if node.type == "file":
        name, line, column = node.children
        yield UserLocation(
            parse_string(name.text), *(plain_integer(part.text, part.start) for part in (line, column))
        )
    elif node.type == "ATTR":
        target = aliases.get(node.text)
        if target is not None and node.text not in seen:
            yield from _places(target, aliases, seen | {node.text})
    else:
        for child in node.children:
            yield from _places(child, aliases, seen)
        if node.type == "named":
            yield UserLocation(parse_string(node.text), 0, 0)
