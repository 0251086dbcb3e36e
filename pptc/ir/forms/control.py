"""The spelling of structured control flow and of branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pptc.ir.anonymous import fill_all
from pptc.ir.attrs import ArrayAttr
from pptc.ir.core import Op, Region, Value
from pptc.ir.forms.contract import Draft, Reader, Writer
from pptc.ir.forms.elements import (
    hidden_terminator,
    passed_on,
    take_region,
)
from pptc.ir.forms.operands import One, print_values, read_values
from pptc.ir.forms.plain import Plain
from pptc.ir.forms.type_lists import (
    check_type,
    print_result_types,
    print_types,
    read_results,
    read_types,
)
from pptc.ir.literals import plain_integer
from pptc.ir.opdef import OpDef
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import I64, INDEX, Type


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
        draft.result_types = fill_all(results, passed_on(draft.regions[0]))

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
            case = cursor.expect_type("INT", "the number of the case")
            cases.append(plain_integer(case.text, case.start))
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
