"""The elements of formats that read and write types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pptc.ir.anonymous import fill
from pptc.ir.core import Op, Value
from pptc.ir.forms.contract import Draft, Reader, Writer
from pptc.ir.forms.plain import Plain, plural
from pptc.ir.opdef import OpDef
from pptc.ir.spell import print_type
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import POISON, Type


def check_type(reader: Reader, node: Node, type: Type, value: Value) -> None:
    """Report a spelled type that is not the value's."""
    if type is value.type or POISON in (type, value.type):
        return
    if fill(type, value.type) != value.type:
        name = f"%{value.name}" if value.name else "the value"
        reader.report(
            "P0201", f"{name} was defined as {print_type(value.type)}, not as {print_type(type)}", node
        )


def read_types(reader: Reader, cursor: Cursor, values: Sequence[Value], spots: Sequence[Node]) -> None:
    """One type per value, comma separated, each compared with the value's."""
    for position, value in enumerate(values):
        if position:
            comma = cursor.items[cursor.at]
            if comma.text != ",":
                message = f"{plural(len(values), 'operand')} but {plural(position, 'type')}"
                raise SyntaxFault("P0202", message, comma.start, comma.end)
            cursor.at += 1
        node = cursor.expect_type("TYPE", f"the type of {spots[position].text}")
        type = reader.type(node)
        if type is not value.type:
            check_type(reader, node, type, value)


def read_type_list(reader: Reader, cursor: Cursor) -> list[Type]:
    """`T, U, ..`, at least one."""
    types = [reader.type(cursor.expect_type("TYPE", "a type"))]
    while cursor.items[cursor.at].text == "," and cursor.items[cursor.at + 1].type == "TYPE":
        cursor.at += 1
        types.append(reader.type(cursor.take()))
    return types


def read_results(reader: Reader, cursor: Cursor) -> list[Type]:
    """`T`, `(T, U)` or `()`."""
    if not cursor.accept("("):
        return [reader.type(cursor.expect_type("TYPE", "a type or `(`"))]
    types = read_type_list(reader, cursor) if cursor.peek().text != ")" else []
    cursor.expect(")")
    return types


def print_types(writer: Writer, types: Sequence[Type]) -> None:
    """`T, U`."""
    for position, type in enumerate(types):
        if position:
            writer.put(",", "mark")
        writer.type(type)


def print_result_types(writer: Writer, types: Sequence[Type], always: bool = False) -> None:
    """`T` when there is one (and not `always` parentheses), else `(T, U)`."""
    if len(types) == 1 and not always:
        writer.type(types[0])
        return
    writer.put("(", "mark")
    print_types(writer, types)
    writer.put(")", "mark")


@dataclass(frozen=True, slots=True)
class Types(Plain):
    """The types of operand groups and results, by name."""

    row: OpDef
    names: tuple[str, ...]
    closed: bool = False  # no comma follows in the format: one in the text means a type too many

    def starts(self, cursor: Cursor) -> bool:
        """A type is here."""
        return cursor.peek().type == "TYPE"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the types: those of operands are compared, those of results kept."""
        groups, spots = draft.groups, draft.spots
        if all(name in groups for name in self.names):
            values = [value for name in self.names for value in groups[name]]
            read_types(reader, cursor, values, [spot for name in self.names for spot in spots[name]])
            if self.closed:
                self._refuse_more(cursor, len(values))
            return
        for position, name in enumerate(self.names):
            if position:
                cursor.expect(",")
            if name in groups:
                read_types(reader, cursor, groups[name], spots[name])
            else:
                draft.types[name] = self._results(reader, cursor, name)

    def _refuse_more(self, cursor: Cursor, count: int) -> None:
        """A type list that goes on behind the last operand."""
        if cursor.items[cursor.at].text == "," and cursor.items[cursor.at + 1].type == "TYPE":
            node = cursor.items[cursor.at + 1]
            raise SyntaxFault("P0202", f"more types than operands ({count})", node.start, node.end)

    def _results(self, reader: Reader, cursor: Cursor, name: str) -> list[Type]:
        arity = next(result.arity for result in self.row.results if result.name == name)
        if arity == "one":
            return [reader.type(cursor.expect_type("TYPE", "the type of the result"))]
        return read_type_list(reader, cursor)

    def present(self, op: Op) -> bool:
        """Some value of the groups is there."""
        return bool(self._types(op))

    def _types(self, op: Op) -> list[Type]:
        groups = {operand.name for operand in self.row.operands}
        types: list[Type] = []
        for name in self.names:
            values = op.group(name) if name in groups else result_group(op, name)
            types += [value.type for value in values]
        return types

    def print(self, writer: Writer, op: Op) -> None:
        """Write the types."""
        print_types(writer, self._types(op))


def result_group(op: Op, name: str) -> Sequence[Value]:
    """The results of a named group; at most one group of a row has an unknown size."""
    results = op.definition.results
    spare = len(op.results) - sum(result.arity == "one" for result in results)
    at = 0
    for result in results:
        count = 1 if result.arity == "one" else spare
        if result.name == name:
            return op.results[at : at + count]
        at += count
    raise KeyError(f"{op.name} has no result {name}")


@dataclass(frozen=True, slots=True)
class ResultTypes(Plain):
    """type(results)."""

    def starts(self, cursor: Cursor) -> bool:
        """A type or a parenthesis is here."""
        return cursor.peek().type == "TYPE" or cursor.peek().text == "("

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read all result types."""
        draft.result_types = read_results(reader, cursor)

    def present(self, op: Op) -> bool:
        """There are results."""
        return bool(op.results)

    def print(self, writer: Writer, op: Op) -> None:
        """Write all result types."""
        print_result_types(writer, [value.type for value in op.results])


@dataclass(frozen=True, slots=True)
class OneType(Plain):
    """type(all): one type that all operands and results have."""

    row: OpDef

    def starts(self, cursor: Cursor) -> bool:
        """A type is here."""
        return cursor.peek().type == "TYPE"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the type and compare."""
        node = cursor.expect_type("TYPE", "a type")
        type = reader.type(node)
        for value, spot in draft.operands():
            check_type(reader, spot, type, value)
        draft.result_types = [type] * _result_count(self.row, draft)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the type."""
        writer.type(next(value.type for value in (*op.results, *op.operands)))


def _result_count(row: OpDef, draft: Draft) -> int:
    fixed = all(result.arity == "one" for result in row.results)
    return len(row.results) if fixed else draft.names


@dataclass(frozen=True, slots=True)
class FunctionalType(Plain):
    """`(A, B) -> R`; with `short`, `A -> R` and a lone `T` for all are read and written too."""

    row: OpDef
    short: bool = False

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read operand and result types."""
        operands = draft.operands()
        values, spots = [value for value, _ in operands], [spot for _, spot in operands]
        if self.short and cursor.peek().type == "TYPE":
            if cursor.items[cursor.at + 1].text != "->":
                OneType(self.row).parse(reader, cursor, draft)
                if self._derived():
                    draft.result_types = None
                return
            node = cursor.peek()
            if len(values) != 1:
                raise SyntaxFault(
                    "P0202", f"{plural(len(values), 'operand')} but 1 type", node.start, node.end
                )
            read_types(reader, cursor, values, spots)
        else:
            cursor.expect("(")
            read_types(reader, cursor, values, spots)
            if cursor.peek().text == ",":
                node = cursor.items[cursor.at + 1]
                raise SyntaxFault("P0202", f"more types than operands ({len(values)})", node.start, node.end)
            cursor.expect(")")
            if self._derived() and cursor.peek().type == "END":
                return
        cursor.expect("->")
        draft.result_types = read_results(reader, cursor)

    def _derived(self) -> bool:
        """Result types may be left out."""
        return self.short and "derived-results" in self.row.traits

    def print(self, writer: Writer, op: Op) -> None:
        """Write the shortest of the forms."""
        operands = [value.type for value in op.operands]
        results = [value.type for value in op.results]
        same = self.short and operands and results and all(type == operands[0] for type in operands + results)
        if same:
            writer.type(operands[0])
            return
        print_result_types(writer, operands, always=not self.short)
        writer.put("->", "mark")
        print_result_types(writer, results)
