"""The elements of formats that read and write attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.attrs import UNIT, Attr, DimAttr, EnumAttr, FloatAttr, IntAttr, ListAttr, SymbolAttr
from pptc.ir.core import Op
from pptc.ir.forms.contract import Draft, Reader, Writer
from pptc.ir.forms.plain import Plain
from pptc.ir.literals import parse_number
from pptc.ir.opdef import Attribute, OpDef
from pptc.ir.spell_attrs import (
    parse_attribute,
    parse_dictionary,
    parse_string,
    parse_symbol,
    print_attribute,
    print_dictionary,
    print_number,
    print_symbol,
)
from pptc.ir.symbols import DimSyntaxError, parse_dim, print_expression
from pptc.ir.syntax import Cursor, Node, SyntaxFault, unexpected

_HEADS = MappingProxyType(
    {
        "int": ("INT",), "float": ("FLOAT", "INT"), "bool": ("WORD",), "string": ("STRING",), "type": ("TYPE",),
        "symbol": ("SYMBOL",), "any": ("INT", "FLOAT", "WORD", "STRING", "TYPE", "SYMBOL", "ATTR", "DENSE", "ARRAY"),
    }
)  # fmt: skip
"""Terminals that may begin a value of a kind; the other kinds look at the text."""


@dataclass(frozen=True, slots=True)
class Valued(Plain):
    """$name of an attribute: its value without the key."""

    attribute: Attribute

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The attribute itself."""
        return (self.attribute.name,)

    def starts(self, cursor: Cursor) -> bool:
        """A value of the kind may begin here."""
        node, kind = cursor.peek(), self.attribute.kind
        if kind in _HEADS:
            return node.type in _HEADS[kind]
        if kind == "unit":
            return node.text == self.attribute.name
        if kind == "ints":
            return node.text == "["
        return node.text == "<" or node.text in self.attribute.values or node.type in ("ATTR", "STRING")

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the value."""
        name = self.attribute.name
        if name in draft.attributes:
            raise unexpected(cursor.peek(), f"no second value of `{name}`")
        draft.attributes[name] = _READ[self.attribute.kind](self.attribute, reader, cursor)

    def present(self, op: Op) -> bool:
        """The op has it, and not as what its absence means."""
        value = op.attributes.get(self.attribute.name)
        return value is not None and value != self.attribute.default

    def print(self, writer: Writer, op: Op) -> None:
        """Write the value."""
        value = op.attributes.get(self.attribute.name, self.attribute.default)
        if value is None:
            return
        if self.attribute.kind == "ints" and isinstance(value, ListAttr):
            print_items(writer, value, ())
        elif isinstance(value, EnumAttr) and self.attribute.enum:
            writer.put("<", "mark")
            writer.put(value.value)
            writer.put(">", "mark")
        elif self.attribute.kind == "symbol" and isinstance(value, str):
            writer.put(print_symbol(value))
        elif self.attribute.kind == "enum" and isinstance(value, str):
            writer.put(value)
        elif value == UNIT:
            writer.put(self.attribute.name, "word")
        else:
            bare = isinstance(value, IntAttr | FloatAttr) and self.attribute.kind in ("int", "float")
            writer.put(print_number(value) if bare else print_attribute(value))  # type: ignore[arg-type]


def _read_number(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    node = cursor.peek()
    if node.type not in ("INT", "FLOAT"):
        raise unexpected(node, f"the number `{attribute.name}`")
    cursor.at += 1
    return parse_number(node.text, None, node.start)  # a `:` behind it begins the types of the statement


def _read_bool(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    node = cursor.peek()
    if node.text not in ("true", "false"):
        raise unexpected(node, f"true or false for `{attribute.name}`")
    cursor.at += 1
    return node.text == "true"


def _read_string(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    return parse_string(cursor.expect_type("STRING", f"the string `{attribute.name}`").text)


def _read_symbol(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    return SymbolAttr(parse_symbol(cursor.expect_type("SYMBOL", f"`@{attribute.name}`").text))


def _read_typed(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    return parse_attribute(cursor.expect_type("TYPE", f"the type `{attribute.name}`"), reader)


def _read_unit(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    cursor.expect(attribute.name)
    return UNIT


def _read_ints(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    items, _ = read_items(reader, cursor, operands=False)
    return ListAttr(tuple(items))


def _read_enum(attribute: Attribute, reader: Reader, cursor: Cursor) -> Attr:
    node = cursor.peek()
    if attribute.enum and node.type == "ATTR":
        return parse_attribute(cursor.take(), reader)
    if attribute.enum and node.type == "STRING":
        word, spot = parse_string(node.text), cursor.take()
    elif attribute.enum and node.text == "<":
        cursor.at += 1
        spot = cursor.take()
        word = spot.text
        cursor.expect(">")
    else:
        spot = cursor.take()
        word = _joined_words(attribute, spot, cursor)
    if word not in attribute.values:
        raise SyntaxFault(
            "P0007", f"unknown {attribute.name} `{word}`", spot.start, spot.end, _one_of(attribute.values)
        )
    return EnumAttr(attribute.enum, word, attribute.spaced) if attribute.enum else word


def _joined_words(attribute: Attribute, first: Node, cursor: Cursor) -> str:
    """A bare word, or the `nsw, nuw` of a row that lists such a pair."""
    text = first.text
    while cursor.peek().text == "," and f"{text}, {cursor.items[cursor.at + 1].text}" in attribute.values:
        text += f", {cursor.items[cursor.at + 1].text}"
        cursor.at += 2
    return text


def _one_of(words: tuple[str, ...]) -> str:
    return f"one of {', '.join(words)}"


def read_any(reader: Reader, cursor: Cursor) -> Attr:
    """An attribute among the items of a statement, with its type where it has one."""
    node = cursor.take()
    if node.text == "[":
        cursor.at -= 1
        items, _ = read_items(reader, cursor, operands=False)
        return ListAttr(tuple(items))
    if node.type in ("INT", "FLOAT") and cursor.peek().text == ":":
        cursor.at += 1
        type_node = cursor.expect_type("TYPE", "the type of the number")
        return parse_number(node.text, reader.type(type_node), node.start)
    if node.type == "DENSE":
        cursor.expect(":")
        type_node = cursor.expect_type("TYPE", "the type of the values")
        return parse_attribute(Node("dense", "", node.start, type_node.end, [node, type_node]), reader)
    if node.type == "END":
        raise unexpected(node, "a value")
    return parse_attribute(node, reader)


_READ: Mapping[str, Callable[[Attribute, Reader, Cursor], Attr]] = MappingProxyType(
    {
        "int": _read_number,
        "float": _read_number,
        "bool": _read_bool,
        "string": _read_string,
        "symbol": _read_symbol,
        "type": _read_typed,
        "unit": _read_unit,
        "ints": _read_ints,
        "enum": _read_enum,
        "any": lambda attribute, reader, cursor: read_any(reader, cursor),
    }
)


# ---------------------------------------------------------------- lists of constants and operands


def read_items(
    reader: Reader, cursor: Cursor, operands: bool, brackets: str = "[]"
) -> tuple[list[Attr], list[Node]]:
    """`[1, (B), %i]`: the constants, UNIT where an operand stands, and the operands' tokens."""
    cursor.expect(brackets[0])
    items: list[Attr] = []
    nodes: list[Node] = []
    while cursor.peek().text != brackets[1]:
        if items:
            cursor.expect(",")
        node = cursor.peek()
        if operands and node.type == "SSA":
            cursor.at += 1
            nodes.append(node)
            items.append(UNIT)
        elif node.text == "(":
            items.append(_read_dim(reader, cursor))
        elif node.type in ("INT", "FLOAT", "STRING", "SYMBOL", "ATTR", "TYPE") or node.text in (
            "true",
            "false",
        ):
            items.append(read_any(reader, cursor))
        else:
            raise unexpected(node, "a constant or a value" if operands else "a constant")
    cursor.expect(brackets[1])
    return items, nodes


def _read_dim(reader: Reader, cursor: Cursor) -> Attr:
    """`(P+T)`: a constant becomes an integer."""
    begin = cursor.expect("(")
    depth = 1
    while depth:
        node = cursor.take()
        if node.type == "END":
            raise unexpected(node, "`)`")
        depth += (node.text == "(") - (node.text == ")")
    try:
        dim = parse_dim(reader.text(begin.start, node.end))
    except DimSyntaxError as error:
        at = begin.start + error.offset
        raise SyntaxFault("P0007", str(error), at, at + 1) from None
    return IntAttr(dim) if isinstance(dim, int) else DimAttr(dim)


def print_items(writer: Writer, items: ListAttr, names: tuple[str, ...], brackets: str = "[]") -> None:
    """`[1, (B), %i]`; `names` stand where UNIT does."""
    left = list(names)
    words = []
    for item in items.items:
        if item == UNIT and left:
            words.append(left.pop(0))
        elif isinstance(item, DimAttr):
            words.append(f"({print_expression(item.dim)})")
        else:
            words.append(print_attribute(item))
    writer.put(brackets[0], "mark")
    if words:
        writer.put(", ".join(words))
    writer.put(brackets[1], "mark")


@dataclass(frozen=True, slots=True)
class Mixed(Plain):
    """mixed($group, attribute): operands and constants in one list."""

    group: str
    attribute: str
    brackets: str = "[]"

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The attribute with the constants."""
        return (self.attribute,)

    def starts(self, cursor: Cursor) -> bool:
        """A bracket is here."""
        return cursor.peek().text == self.brackets[0]

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the list."""
        items, nodes = read_items(reader, cursor, operands=True, brackets=self.brackets)
        draft.attributes[self.attribute] = ListAttr(tuple(items))
        draft.groups[self.group] = [reader.value(node) for node in nodes]
        draft.spots[self.group] = nodes

    def present(self, op: Op) -> bool:
        """The op has the list."""
        return self.attribute in op.attributes

    def print(self, writer: Writer, op: Op) -> None:
        """Write the list."""
        items = op.attributes.get(self.attribute, ListAttr(()))
        assert isinstance(items, ListAttr)
        print_items(writer, items, tuple(writer.name(value) for value in op.group(self.group)), self.brackets)


# ---------------------------------------------------------------- dictionaries


@dataclass(frozen=True, slots=True)
class Dictionary(Plain):
    """attr-dict, or with `keyword` attr-dict-with-keyword; `elsewhere` are the attributes that other elements spell.

    A `silent` one, the second of a format, is read but never written.
    """

    row: OpDef
    elsewhere: frozenset[str]
    keyword: str | None = None
    silent: bool = False

    def starts(self, cursor: Cursor) -> bool:
        """A dictionary, or the keyword, is here."""
        return cursor.peek().text == self.keyword if self.keyword else cursor.peek().type == "attrs"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the dictionary if there is one; older keys get their present names."""
        if self.keyword and not cursor.accept(self.keyword):
            return
        node = cursor.peek()
        if node.type != "attrs":
            if self.keyword:
                raise unexpected(node, "a dictionary `{ .. }`")
            return
        cursor.at += 1
        merge_dictionary(reader, node, draft)

    def present(self, op: Op) -> bool:
        """Something is left to be written."""
        return not self.silent and bool(self._left(op))

    def _left(self, op: Op) -> dict[str, Attr]:
        return {
            key: value
            for key, value in op.attributes.items()
            if key not in self.elsewhere and not self._usual(key, value)
        }

    def _usual(self, key: str, value: Attr) -> bool:
        declared = self.row.attribute(key)
        return declared is not None and declared.default is not None and declared.default == value

    def print(self, writer: Writer, op: Op) -> None:
        """Write what is left."""
        left = self._left(op) if op.attributes and not self.silent else {}
        if left:
            if self.keyword:
                writer.put(self.keyword, "word")
            writer.put(print_dictionary(left))


def merge_dictionary(reader: Reader, node: Node, draft: Draft) -> None:
    """Put the entries of a dictionary among the op's attributes."""
    for key, value in parse_dictionary(node, reader).items():
        declared = draft.row.attribute(key)
        name = declared.name if declared else key
        if name in draft.attributes:
            entry = next(child for child in node.children if child.text.strip('"') == key)
            raise SyntaxFault("P0006", f"`{name}` is given twice", entry.start, entry.end)
        draft.attributes[name] = normal_value(value, declared)


def normal_value(value: Attr, declared: Attribute | None) -> Attr:
    """The one representation of a declared attribute's value: the number of a bare-word enum becomes its word."""
    if declared is not None and declared.kind == "enum" and not declared.enum and isinstance(value, IntAttr):
        return declared.values[value.value] if 0 <= value.value < len(declared.values) else value
    return value
