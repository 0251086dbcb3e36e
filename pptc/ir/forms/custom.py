"""Spellings that no directive says: symbols' names, functions, loops, branches. `custom<Name>` is looked up in CUSTOM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.anonymous import fill_all, name_anonymous
from pptc.ir.attrs import ArrayAttr, Attr, DenseAttr, DictAttr, ListAttr, TypeAttr
from pptc.ir.core import Op, Region, Value
from pptc.ir.forms.contract import Draft, Element, Reader, Writer
from pptc.ir.forms.elements import (
    One,
    Plain,
    check_type,
    hidden_terminator,
    print_result_types,
    print_types,
    print_values,
    read_results,
    read_types,
    read_values,
    take_region,
)
from pptc.ir.opdef import OpDef
from pptc.ir.spell_attrs import (
    parse_dense,
    parse_dictionary,
    parse_symbol,
    print_dense,
    print_dictionary,
    print_symbol,
)
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import I64, INDEX, FunctionType, Type

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


# ---------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True)
class Function(Plain):
    """func.func from its visibility to its body."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a function's header says."""
        return ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")

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
        results = fill_all(results, _yielded(draft.regions[0]))
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


# ---------------------------------------------------------------- structured control flow


def _read_bindings(reader: Reader, cursor: Cursor) -> tuple[list[Node], list[Value], list[Node]]:
    """`(%a = %x, ..)`: names of block arguments, and the values that they start with."""
    names: list[Node] = []
    values: list[Value] = []
    spots: list[Node] = []
    cursor.expect("(")
    while cursor.peek().text != ")":
        if names:
            cursor.expect(",")
        names.append(cursor.expect_type("SSA", "an argument's name"))
        cursor.expect("=")
        spot = cursor.expect_type("SSA", "the value that it starts with")
        values.append(reader.value(spot))
        spots.append(spot)
    cursor.expect(")")
    return names, values, spots


def _print_bindings(writer: Writer, arguments: Sequence[Value], values: Sequence[Value]) -> None:
    writer.put("(", "mark")
    for position, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if position:
            writer.put(",", "mark")
        writer.put(writer.name(argument))
        writer.put("=", "mark")
        writer.value(value)
    writer.put(")", "mark")


def _check_starts(
    reader: Reader, types: list[Type], values: list[Value], spots: list[Node], at: Node
) -> list[Type]:
    """The types of carried values as spelled, with what the first values know."""
    if len(types) != len(values):
        raise SyntaxFault(
            "P0202", f"{len(values)} values are carried but {len(types)} types stand here", at.start, at.end
        )
    for type, value, spot in zip(types, values, spots, strict=True):
        check_type(reader, spot, type, value)
    return fill_all(types, [value.type for value in values])


def _yielded(region: Region) -> list[Type]:
    """The types of what the last op of a region passes on."""
    last = region.blocks[-1].last if region.blocks else None
    return [value.type for value in last.operands] if last is not None else []


@dataclass(frozen=True, slots=True)
class For(Plain):
    """scf.for: `%i = %a to %b step %c [iter_args(%x = %y) -> (T)] [: T] { .. }`."""

    row: OpDef

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read bounds, carried values and body."""
        counter = cursor.expect_type("SSA", "the loop's counter")
        for group, word in (("lower", "="), ("upper", "to"), ("step", "step")):
            cursor.expect(word)
            One(group).parse(reader, cursor, draft)
        names: list[Node] = []
        types: list[Type] = []
        if cursor.accept("iter_args"):
            names, draft.groups["init"], draft.spots["init"] = _read_bindings(reader, cursor)
            arrow = cursor.expect("->")
            types = read_results(reader, cursor)
            types = _check_starts(reader, types, draft.groups["init"], draft.spots["init"], arrow)
        draft.result_types = types
        type: Type = INDEX
        if cursor.accept(":"):
            type = reader.type(cursor.expect_type("TYPE", "the counter's type"))
        for group in ("lower", "upper", "step"):
            check_type(reader, draft.spots[group][0], type, draft.groups[group][0])
        arguments = [(counter, type), *zip(names, types, strict=True)]
        draft.regions.append(reader.region(take_region(cursor), arguments))

    def print(self, writer: Writer, op: Op) -> None:
        """Write bounds, carried values and body."""
        counter, *carried = op.body.args
        writer.put(writer.name(counter))
        for group, word in (("lower", "="), ("upper", "to"), ("step", "step")):
            writer.put(word, "word")
            writer.value(op.operand(group))
        if carried:
            writer.put("iter_args", "word")
            _print_bindings(writer, carried, op.group("init"))
            writer.put("->", "mark")
            print_result_types(writer, [value.type for value in op.results], always=True)
        if counter.type != INDEX:
            writer.put(":", "mark")
            writer.type(counter.type)
        writer.region(op.regions[0], hidden_terminator(op, op.regions[0]))


@dataclass(frozen=True, slots=True)
class If(Plain):
    """scf.if: `%c [-> (T)] { .. } [else { .. }]`; a missing else is a region without blocks."""

    row: OpDef

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read condition and regions."""
        One("condition").parse(reader, cursor, draft)
        results = read_results(reader, cursor) if cursor.accept("->") else []
        draft.regions.append(reader.region(take_region(cursor)))
        draft.regions.append(reader.region(take_region(cursor)) if cursor.accept("else") else Region())
        draft.result_types = fill_all(results, _yielded(draft.regions[0]))

    def print(self, writer: Writer, op: Op) -> None:
        """Write condition and regions."""
        writer.value(op.operand("condition"))
        if op.results:
            writer.put("->", "mark")
            print_result_types(writer, [value.type for value in op.results], always=True)
        then, otherwise = op.regions
        writer.region(then, hidden_terminator(op, then))
        if otherwise.blocks:
            writer.put("else", "word")
            writer.region(otherwise, hidden_terminator(op, otherwise))


@dataclass(frozen=True, slots=True)
class While(Plain):
    """scf.while: `(%a = %x) : (T) -> R { .. } do { ^bb0(%y: R): .. }`."""

    row: OpDef

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read carried values, types and both regions."""
        names: list[Node] = []
        values: list[Value] = []
        spots: list[Node] = []
        if cursor.peek().text == "(":
            names, values, spots = _read_bindings(reader, cursor)
        draft.groups["init"], draft.spots["init"] = values, spots
        colon = cursor.expect(":")
        inputs = read_results(reader, cursor)
        inputs = _check_starts(reader, inputs, values, spots, colon)
        cursor.expect("->")
        draft.result_types = read_results(reader, cursor)
        draft.regions.append(reader.region(take_region(cursor), list(zip(names, inputs, strict=True))))
        cursor.expect("do")
        draft.regions.append(reader.region(take_region(cursor)))

    def print(self, writer: Writer, op: Op) -> None:
        """Write carried values, types and both regions."""
        before, after = op.regions
        inits = op.group("init")
        if inits:
            writer.glue(True)
            _print_bindings(writer, before.block.args, inits)
        writer.put(":", "mark")
        print_result_types(writer, [value.type for value in inits], always=True)
        writer.put("->", "mark")
        print_result_types(writer, [value.type for value in op.results])
        writer.region(before)
        writer.put("do", "word")
        writer.region(after, hidden_terminator(op, after), labelled=bool(after.block.args))


@dataclass(frozen=True, slots=True)
class Switch(Plain):
    """scf.index_switch: `%i [-> T] case 0 { .. } default { .. }`; region 0 is the default's."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The numbers of the cases."""
        return ("cases",)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the cases."""
        One("index").parse(reader, cursor, draft)
        draft.result_types = read_results(reader, cursor) if cursor.accept("->") else []
        cases: list[int] = []
        while cursor.accept("case"):
            cases.append(int(cursor.expect_type("INT", "the number of the case").text, 0))
            draft.regions.append(reader.region(take_region(cursor)))
        cursor.expect("default")
        draft.regions.insert(0, reader.region(take_region(cursor)))
        draft.attributes["cases"] = ArrayAttr(I64, tuple(cases))

    def print(self, writer: Writer, op: Op) -> None:
        """Write the cases."""
        writer.value(op.operand("index"))
        if op.results:
            writer.put("->", "mark")
            print_result_types(writer, [value.type for value in op.results])
        cases = op.attributes["cases"]
        assert isinstance(cases, ArrayAttr)
        default, *regions = op.regions
        for case, region in zip(cases.values, regions, strict=True):
            writer.put("case", "word")
            writer.put(str(case))
            writer.region(region, hidden_terminator(op, region))
        writer.put("default", "word")
        writer.region(default, hidden_terminator(op, default))


# ---------------------------------------------------------------- values of parameters


@dataclass(frozen=True, slots=True)
class DenseOfType(Plain):
    """`dense<..>`: the attribute `value`, without its type, which the attribute `type` says."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The value."""
        return ("value",)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the values."""
        node = cursor.expect_type("DENSE", "`dense<..>`")
        type = draft.attributes.get("type")
        assert isinstance(type, TypeAttr), "the format spells the type first"
        draft.attributes["value"] = parse_dense(node, type.type)

    def present(self, op: Op) -> bool:
        """The op has a value."""
        return "value" in op.attributes

    def print(self, writer: Writer, op: Op) -> None:
        """Write the values."""
        value = op.attributes["value"]
        assert isinstance(value, DenseAttr)
        writer.put(print_dense(value))


# ---------------------------------------------------------------- branches


@dataclass(frozen=True, slots=True)
class Successors(Plain):
    """`^a(%x, %y : T, U), ^b`: one operand group of the row per block, in order."""

    row: OpDef

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read as many blocks as there are groups of many operands."""
        groups = [operand.name for operand in self.row.operands if operand.arity == "many"]
        for position, group in enumerate(groups):
            if position:
                cursor.expect(",")
            draft.successors.append(reader.successor(cursor.expect_type("BLOCK", "a block `^..`")))
            draft.groups[group], draft.spots[group] = [], []
            if cursor.accept("("):
                draft.groups[group], draft.spots[group] = read_values(reader, cursor)
                cursor.expect(":")
                read_types(reader, cursor, draft.groups[group], draft.spots[group])
                cursor.expect(")")

    def print(self, writer: Writer, op: Op) -> None:
        """Write blocks and operands."""
        groups = [operand.name for operand in self.row.operands if operand.arity == "many"]
        for position, (group, block) in enumerate(zip(groups, op.successors, strict=True)):
            if position:
                writer.put(",", "mark")
            writer.put(writer.label(block))
            values = op.group(group)
            if values:
                writer.glue(False)
                writer.put("(", "mark")
                print_values(writer, values)
                writer.put(":", "mark")
                print_types(writer, [value.type for value in values])
                writer.put(")", "mark")


CUSTOM: Mapping[str, Callable[[OpDef], Element]] = MappingProxyType(
    {
        "SymbolName": SymbolName,
        "Function": Function,
        "DenseOfType": DenseOfType,
        "For": For,
        "If": If,
        "While": While,
        "Switch": Switch,
        "Successors": Successors,
    }
)
