"""Format strings to elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from pptc.ir.forms.attributes import Dictionary, Mixed, Valued
from pptc.ir.forms.contract import Element
from pptc.ir.forms.custom import CUSTOM
from pptc.ir.forms.elements import Literal, Optional, RegionElement, Space
from pptc.ir.forms.operands import Keyed, One, Values
from pptc.ir.forms.type_lists import FunctionalType, OneType, ResultTypes, Types
from pptc.ir.opdef import OpDef, Operand

_TOKEN = re.compile(
    r"\s*(?:`(?P<literal>[^`]*)`|\$(?P<name>\w+)|(?P<call>list|type|mixed|keyed)\((?P<args>[^()]*)\)"
    r"|custom<(?P<custom>\w+)>|(?P<word>[a-z-]+)|(?P<open>\()|(?P<close>\)\?)|(?P<anchor>\^))"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A compiled format."""

    row: OpDef
    elements: tuple[Element, ...]


def compile_format(row: OpDef) -> Form:
    """The elements of a row's format; ValueError when the format is not one."""
    compiler = _Compiler(row)
    elements = compiler.run()
    return Form(row, elements)


class _Compiler:
    """One pass over a format string; `stack` holds the open optional parts."""

    def __init__(self, row: OpDef) -> None:
        self.row = row
        self.operands = {operand.name: operand for operand in row.operands}
        self.results = [result.name for result in row.results]
        self.stack: list[list[Element]] = [[]]
        self.anchors: list[Element | None] = [None]
        self.regions = 0

    def run(self) -> tuple[Element, ...]:
        """Compile the whole string."""
        at = 0
        text = self.row.format.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{self.row.name}: format not understood at `{text[at:]}`")
            self._token(match)
            at = match.end()
        if len(self.stack) != 1:
            raise ValueError(f"{self.row.name}: an optional part is not closed")
        return self._with_dictionaries(self.stack[0])

    def _token(self, match: re.Match[str]) -> None:
        if match["open"]:
            self.stack.append([])
            self.anchors.append(None)
        elif match["close"]:
            parts, anchor = self.stack.pop(), self.anchors.pop()
            if anchor is None or not self.stack:
                raise ValueError(f"{self.row.name}: an optional part without ^")
            self.stack[-1].append(Optional(tuple(parts), anchor))
        elif match["anchor"]:
            self.anchors[-1] = self.stack[-1][-1]
        else:
            self.stack[-1].append(self._element(match))

    def _element(self, match: re.Match[str]) -> Element:
        if match["literal"] is not None:
            blank = match["literal"].strip() == ""
            return Space(match["literal"] == " ") if blank else Literal(match["literal"])
        if match["name"]:
            return self._named(match["name"])
        if match["call"]:
            return self._call(
                match["call"], [name.strip().removeprefix("$") for name in match["args"].split(",")]
            )
        if match["custom"]:
            return CUSTOM[match["custom"]](self.row)
        return self._word(match["word"])

    def _named(self, name: str) -> Element:
        operand = self.operands.get(name)
        if operand is not None:
            return One(name) if operand.arity == "one" else Values((operand,))
        attribute = self.row.attribute(name)
        if attribute is None:
            raise ValueError(f"{self.row.name}: `${name}` is neither an operand nor an attribute")
        return Valued(attribute)

    def _groups(self, names: list[str]) -> tuple[Operand, ...]:
        return tuple(self.operands[name] for name in names)

    def _call(self, call: str, names: list[str]) -> Element:
        if call == "list":
            return Values(self._groups(names))
        if call == "keyed":
            return Keyed(self._groups(names))
        if call == "mixed":
            return Mixed(names[0], names[1], "()" if names[2:] == ["parentheses"] else "[]")
        if names == ["results"] and "results" not in self.operands and "results" not in self.results:
            return ResultTypes()
        if names == ["all"]:
            return OneType(self.row)
        return Types(self.row, tuple(self.operands) if names == ["operands"] else tuple(names))

    def _word(self, word: str) -> Element:
        if word == "operands":
            return Values(self.row.operands)
        if word == "region":
            self.regions += 1
            return RegionElement(self.regions - 1)
        if word in ("types", "functional-type"):
            return FunctionalType(self.row, short=word == "types")
        if word in ("attr-dict", "attr-dict-with-keyword"):
            return Dictionary(self.row, frozenset(), "attributes" if word.endswith("keyword") else None)
        if word == "older-attr-dict":
            return Dictionary(self.row, frozenset(), silent=True)
        raise ValueError(f"{self.row.name}: unknown directive `{word}`")

    def _with_dictionaries(self, elements: list[Element]) -> tuple[Element, ...]:
        """Dictionaries leave out what the other elements spell; the first one that may writes what is left."""
        spelled = frozenset(name for element in elements for name in element.spells)
        written = (
            element for element in _flat(elements) if isinstance(element, Dictionary) and not element.silent
        )
        first = next(written, None)

        def settled(element: Element) -> Element:
            if isinstance(element, Optional):
                return replace(
                    element, parts=tuple(map(settled, element.parts)), anchor=settled(element.anchor)
                )
            if isinstance(element, Dictionary):
                return replace(element, elsewhere=spelled, silent=element is not first)
            return element

        return tuple(map(settled, _close_types(elements)))


def _flat(elements: Sequence[Element]) -> Iterator[Element]:
    """The elements, with the parts of optional ones."""
    for element in elements:
        yield from _flat(element.parts) if isinstance(element, Optional) else (element,)


def _close_types(elements: Sequence[Element]) -> Iterator[Element]:
    """Type lists that no comma follows refuse one."""
    comma = Literal(",")
    for element, after in zip_longest(elements, elements[1:]):
        if isinstance(element, Types):
            follows = after == comma or (isinstance(after, Optional) and after.parts[0] == comma)
            yield replace(element, closed=not follows)
        elif isinstance(element, Optional):
            yield replace(element, parts=tuple(_close_types(element.parts)))
        else:
            yield element
