"""The elements of formats: literals, operands, types, regions and optional parts. Attributes are in `attributes.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from pptc.ir.anonymous import fill
from pptc.ir.core import Op, Region, Value
from pptc.ir.forms.contract import Draft, Element, Reader, Writer
from pptc.ir.opdef import OpDef, Operand
from pptc.ir.spell import print_type
from pptc.ir.syntax import Cursor, Node, SyntaxFault, unexpected
from pptc.ir.types import POISON, Type


class Plain:
    """What most elements share: they spell no attribute and cannot head or anchor an optional part."""

    spells: tuple[str, ...] = ()

    def starts(self, cursor: Cursor) -> bool:
        """Not a head, unless the element says how it begins."""
        return False

    def present(self, op: Op) -> bool:
        """Always there, unless the element says otherwise."""
        return True


def plural(count: int, noun: str) -> str:
    """`1 operand`, `2 operands`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


# ---------------------------------------------------------------- literals


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


# ---------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class One(Plain):
    """`%a` of a group of one."""

    group: str

    def starts(self, cursor: Cursor) -> bool:
        """A value is here."""
        return cursor.items[cursor.at].type == "SSA"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read one value."""
        node = cursor.items[cursor.at]
        if node.type != "SSA":
            raise unexpected(node, f"the operand `{self.group}`")
        cursor.at += 1
        draft.groups[self.group] = [reader.value(node)]
        draft.spots[self.group] = [node]

    def present(self, op: Op) -> bool:
        """The group is not empty."""
        return bool(op.group(self.group))

    def print(self, writer: Writer, op: Op) -> None:
        """Write the value."""
        for value in op.group(self.group):
            writer.value(value)


def read_values(reader: Reader, cursor: Cursor) -> tuple[list[Value], list[Node]]:
    """`%a, %b, ..`, or nothing."""
    values: list[Value] = []
    nodes: list[Node] = []
    while cursor.items[cursor.at].type == "SSA":
        node = cursor.items[cursor.at]
        values.append(reader.value(node))
        nodes.append(node)
        cursor.at += 1
        following = cursor.items[cursor.at]
        if following.text != "," or cursor.items[cursor.at + 1].type != "SSA":
            break
        cursor.at += 1
    return values, nodes


def print_values(writer: Writer, values: Sequence[Value]) -> None:
    """`%a, %b`."""
    for position, value in enumerate(values):
        if position:
            writer.put(",", "mark")
        writer.value(value)


@dataclass(frozen=True, slots=True)
class Values(Plain):
    """`%a, %b, ..` over the groups `operands` of the row."""

    operands: tuple[Operand, ...]

    def starts(self, cursor: Cursor) -> bool:
        """A value is here."""
        return cursor.items[cursor.at].type == "SSA"

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the list and share it out."""
        begin = cursor.peek()
        values, nodes = read_values(reader, cursor)
        at = 0
        for operand, count in zip(self.operands, self._shares(values, begin, cursor), strict=True):
            draft.groups[operand.name] = values[at : at + count]
            draft.spots[operand.name] = nodes[at : at + count]
            at += count

    def _shares(self, values: list[Value], begin: Node, cursor: Cursor) -> Sequence[int]:
        """How many values each group gets."""
        if all(operand.arity == "one" for operand in self.operands) and len(values) == len(self.operands):
            return [1] * len(values)
        splits = list(_splits(self.operands, len(values)))
        if not splits:
            raise self._wrong_count(len(values), begin, cursor)
        return next((split for split in splits if _fits(self.operands, split, values)), splits[0])

    def _wrong_count(self, count: int, begin: Node, cursor: Cursor) -> SyntaxFault:
        least = sum(operand.arity == "one" for operand in self.operands)
        most = len(self.operands)
        open_ended = any(operand.arity == "many" for operand in self.operands)
        words = f"at least {least}" if open_ended else str(least) if least == most else f"{least} to {most}"
        names = ", ".join(operand.name for operand in self.operands)
        end = cursor.items[cursor.at - 1].end if count else begin.end
        message = f"expected {words} operand{'' if words == '1' else 's'} here ({names}), found {count}"
        return SyntaxFault("P0202", message, begin.start, end)

    def present(self, op: Op) -> bool:
        """Some group is not empty."""
        return any(op.group(operand.name) for operand in self.operands)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the list."""
        print_values(writer, [value for operand in self.operands for value in op.group(operand.name)])


def _splits(operands: tuple[Operand, ...], count: int) -> Iterator[tuple[int, ...]]:
    """All ways to share `count` values out, greedy ones first."""
    spare = count - sum(operand.arity == "one" for operand in operands)
    if spare < 0:
        return
    most = {"one": 1, "optional": min(1, spare), "many": spare}
    ranges = [range(most[o.arity], 0 if o.arity == "one" else -1, -1) for o in operands]
    yield from (split for split in product(*ranges) if sum(split) == count)


def _fits(operands: tuple[Operand, ...], split: Sequence[int], values: list[Value]) -> bool:
    kinds = [operand.kind for operand, count in zip(operands, split, strict=True) for _ in range(count)]
    return all(
        value.type is POISON or kind.accepts(value.type) for kind, value in zip(kinds, values, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Keyed(Plain):
    """`a = %x : T, b = %y : U`: the groups that are there, in any order."""

    operands: tuple[Operand, ...]

    def starts(self, cursor: Cursor) -> bool:
        """A key of a group is here."""
        return any(cursor.peek().text == operand.name for operand in self.operands)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the clauses."""
        names = [operand.name for operand in self.operands]
        while True:
            key = cursor.peek()
            if key.text not in names or key.text in draft.groups:
                raise unexpected(key, "one of " + ", ".join(f"`{name}`" for name in names))
            cursor.at += 1
            cursor.expect("=")
            One(key.text).parse(reader, cursor, draft)
            cursor.expect(":")
            read_types(reader, cursor, draft.groups[key.text], draft.spots[key.text])
            if not cursor.accept(","):
                break

    def present(self, op: Op) -> bool:
        """Some group is there."""
        return any(op.group(operand.name) for operand in self.operands)

    def print(self, writer: Writer, op: Op) -> None:
        """Write the clauses."""
        there = [operand.name for operand in self.operands if op.group(operand.name)]
        for position, name in enumerate(there):
            if position:
                writer.put(",", "mark")
            writer.put(name, "word")
            writer.put("=", "mark")
            writer.value(op.operand(name))
            writer.put(":", "mark")
            writer.type(op.operand(name).type)


# ---------------------------------------------------------------- types


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


# ---------------------------------------------------------------- regions and optional parts


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
    if node.type == "attrs" and node.text == "{" and all(not entry.children for entry in node.children):
        if len(node.children) <= 1:
            cursor.at += 1
            ops = [Node("op", "", entry.start, entry.end, [entry]) for entry in node.children]
            header = Node("label", "", node.start, node.start)
            return Node(
                "region", "{", node.start, node.end, [Node("block", "", node.start, node.end, [header, *ops])]
            )
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
        """The first part is here."""
        return self.parts[0].starts(cursor)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the parts if the first one is here."""
        if self.parts[0].starts(cursor):
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
