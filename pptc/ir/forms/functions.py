"""The spelling of functions and of the names of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.anonymous import fill_all, name_anonymous
from pptc.ir.attrs import Attr, DictAttr, ListAttr, TypeAttr
from pptc.ir.core import Op, Region
from pptc.ir.forms.contract import Draft, Reader, Writer
from pptc.ir.forms.elements import (
    passed_on,
    take_region,
)
from pptc.ir.forms.plain import Plain
from pptc.ir.forms.type_lists import (
    print_result_types,
    read_results,
)
from pptc.ir.opdef import OpDef
from pptc.ir.spell_attrs import (
    parse_dictionary,
    parse_symbol,
    print_dictionary,
    print_symbol,
)
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import FunctionType, Type

VISIBILITIES = ("private", "public", "nested")


SPMD_ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {f"%__pypto_spmd_{word}": word for word in ("block_idx", "block_num", "subblock_idx")}
)
"""Names that the usual front end gives to the trailing arguments of an SPMD kernel."""


@dataclass(frozen=True, slots=True)
class SymbolName(Plain):
    """`@name`: the attribute sym_name, a string."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """sym_name."""
        return ("sym_name",)

    def starts(self, cursor: Cursor) -> bool:
        """A symbol is here."""
        return cursor.peek().type == "SYMBOL"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the name."""
        draft.attributes["sym_name"] = parse_symbol(cursor.expect_type("SYMBOL", "a name `@..`").text)

    def present(self, op: Op) -> bool:
        """The op has a name."""
        return "sym_name" in op.attributes

    def print(self, writer: Writer, op: Op) -> None:
        """Write the name."""
        name = op.attributes["sym_name"]
        assert isinstance(name, str)
        writer.put(print_symbol(name))


@dataclass(frozen=True, slots=True)
class Function(Plain):
    """func.func from its visibility to its body."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a function's header says."""
        return ("sym_name", "sym_visibility", "function_type", "arg_attrs")

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read header, attributes and body."""
        attributes = draft.attributes
        if cursor.peek().text in VISIBILITIES:
            attributes["sym_visibility"] = cursor.take().text
        SymbolName(self.row).parse(reader, cursor, draft)
        names, types, dictionaries = _read_arguments(reader, cursor)
        types = name_anonymous(types)
        results = read_results(reader, cursor) if cursor.accept("->") else []
        if any(dictionaries):
            attributes["arg_attrs"] = ListAttr(
                tuple(DictAttr(tuple(entries.items())) for entries in dictionaries)
            )
        if cursor.accept("attributes"):
            node = cursor.expect_type("attrs", "a dictionary `{ .. }`")
            attributes.update(_new_entries(reader, node, attributes))
        draft.regions.append(self._body(reader, cursor, names, types))
        results = fill_all(results, passed_on(draft.regions[0]))
        attributes["function_type"] = TypeAttr(FunctionType(tuple(types), tuple(results)))

    def _body(self, reader: Reader, cursor: Cursor, names: list[Node | None], types: list[Type]) -> Region:
        if cursor.peek().type == "END":
            return Region()
        node = take_region(cursor)
        named = [(name, type) for name, type in zip(names, types, strict=True) if name is not None]
        if len(named) != len(types):
            raise SyntaxFault(
                "P0007", "an argument without a name", node.start, node.end, "write `%name: type`"
            )
        return reader.region(node, named, isolated=True)

    def print(self, writer: Writer, op: Op) -> None:
        """Write header, attributes and body."""
        attributes = op.attributes
        visibility = attributes.get("sym_visibility")
        if isinstance(visibility, str):
            writer.put(visibility, "word")
        SymbolName(self.row).print(writer, op)
        type = function_type(op)
        writer.glue(False)
        writer.put("(", "mark")
        _print_arguments(writer, op, type)
        writer.put(")", "mark")
        if type.results:
            writer.put("->", "mark")
            print_result_types(writer, type.results)
        left = {key: value for key, value in attributes.items() if key not in self.spells}
        if left:
            writer.put("attributes", "word")
            writer.put(print_dictionary(left))
        if op.regions[0].blocks:
            writer.region(op.regions[0])


def function_type(op: Op) -> FunctionType:
    """The type that a func.func states."""
    attribute = op.attributes.get("function_type")
    assert isinstance(attribute, TypeAttr) and isinstance(attribute.type, FunctionType), (
        "func.func without its type"
    )
    return attribute.type


def _new_entries(reader: Reader, node: Node, given: Mapping[str, Attr]) -> dict[str, Attr]:
    entries = parse_dictionary(node, reader)
    for entry in node.children:
        if entry.text in given:
            raise SyntaxFault("P0006", f"`{entry.text}` is given twice", entry.start, entry.end)
    return entries


def _read_arguments(
    reader: Reader, cursor: Cursor
) -> tuple[list[Node | None], list[Type], list[dict[str, Attr]]]:
    """`(%a: T {..}, U)`: names, types, attributes; SPMD names become attributes."""
    names: list[Node | None] = []
    types: list[Type] = []
    dictionaries: list[dict[str, Attr]] = []
    cursor.expect("(")
    while cursor.peek().text != ")":
        if types:
            cursor.expect(",")
        name = cursor.take() if cursor.peek().type == "SSA" else None
        if name is not None:
            cursor.expect(":")
        names.append(name)
        types.append(reader.type(cursor.expect_type("TYPE", "an argument's type")))
        entries = parse_dictionary(cursor.take(), reader) if cursor.peek().type == "attrs" else {}
        if name is not None and name.text in SPMD_ARGUMENTS:
            entries.setdefault("pto.spmd", SPMD_ARGUMENTS[name.text])
        dictionaries.append(entries)
        if cursor.peek().type == "loc":
            cursor.at += 1
    cursor.expect(")")
    return names, types, dictionaries


def _print_arguments(writer: Writer, op: Op, type: FunctionType) -> None:
    dictionaries = op.attributes.get("arg_attrs")
    entries = dictionaries.items if isinstance(dictionaries, ListAttr) else ()
    body = op.regions[0].blocks
    for position, input in enumerate(type.inputs):
        if position:
            writer.put(",", "mark")
        if body:
            writer.put(f"{writer.name(body[0].args[position])}:")
        writer.type(input)
        given = entries[position] if position < len(entries) else None
        if isinstance(given, DictAttr) and given.entries:
            writer.put(print_dictionary(dict(given.entries)))
