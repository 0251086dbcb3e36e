"""From the items of a statement to an op, by the row's form or by the generic one."""

from __future__ import annotations

from collections.abc import Mapping

from pptc.ir.anonymous import fill_all, is_open
from pptc.ir.attrs import ArrayAttr
from pptc.ir.core import Op, Value
from pptc.ir.forms.attributes import merge_dictionary
from pptc.ir.forms.compile import Form
from pptc.ir.forms.contract import Draft, Reader
from pptc.ir.forms.elements import implied_terminator, take_region
from pptc.ir.forms.operands import read_values
from pptc.ir.forms.plain import plural
from pptc.ir.forms.type_lists import read_results, read_types
from pptc.ir.opdef import OpDef
from pptc.ir.syntax import Cursor, Node, SyntaxFault, unexpected
from pptc.ir.types import Type


def read_form(form: Form, reader: Reader, cursor: Cursor, draft: Draft) -> None:
    """Read the items by the elements of a form; nothing may be left."""
    for element in form.elements:
        element.parse(reader, cursor, draft)
    node = cursor.items[cursor.at]
    if node.type != "END":
        raise unexpected(node, "the end of the statement", _leftover_hint(node))


def _leftover_hint(node: Node) -> str | None:
    if node.type == "SSA":
        return "a new statement that defines values begins with `%name =` and an op"
    return "the dictionary does not stand here" if node.type == "attrs" else None


def read_generic(reader: Reader, cursor: Cursor, draft: Draft) -> None:
    """`(%a, ..) [^b] <{..}> ({..}) {..} : (T) -> R` behind the quoted name."""
    cursor.expect("(")
    values, spots = read_values(reader, cursor)
    cursor.expect(")")
    if cursor.accept("["):
        while not cursor.accept("]"):
            draft.successors.append(reader.successor(cursor.expect_type("BLOCK", "a block `^..`")))
            cursor.accept(",")
    if cursor.peek().type == "attrs" and cursor.peek().text == "<{":
        merge_dictionary(reader, cursor.take(), draft)
    if cursor.accept("("):
        draft.regions.append(reader.region(take_region(cursor)))
        while cursor.accept(","):
            draft.regions.append(reader.region(take_region(cursor)))
        cursor.expect(")")
    if cursor.peek().type == "attrs":
        merge_dictionary(reader, cursor.take(), draft)
    cursor.expect(":")
    cursor.expect("(")
    read_types(reader, cursor, values, spots)
    cursor.expect(")")
    cursor.expect("->")
    draft.result_types = read_results(reader, cursor)
    node = cursor.peek()
    if node.type != "END":
        raise unexpected(node, "the end of the statement")
    _share(draft, values, spots)


def _share(draft: Draft, values: list[Value], spots: list[Node]) -> None:
    """Put a flat operand list into the row's groups."""
    row, given = draft.row, draft.attributes.pop("operandSegmentSizes", None)
    segments = given.values if isinstance(given, ArrayAttr) else row.segments(len(values))
    if len(segments) != len(row.operands) or sum(segments) != len(values):
        raise SyntaxFault(
            "P0202", f"{plural(len(values), 'operand')} do not fit {row.name}", *_extent(draft, spots)
        )
    at = 0
    for operand, count in zip(row.operands, segments, strict=True):
        draft.groups[operand.name] = values[at : at + count]
        draft.spots[operand.name] = spots[at : at + count]
        at += count


def _extent(draft: Draft, spots: list[Node]) -> tuple[int, int]:
    return (spots[0].start, spots[-1].end) if spots else (draft.node.start, draft.node.end)


def make_op(draft: Draft) -> Op:
    """The op that a draft describes, with its results; the caller sets span and location."""
    row = draft.row
    operands: list[Value] = []
    segments = []
    for operand in row.operands:
        values = draft.groups.get(operand.name, ())
        operands += values
        segments.append(len(values))
    op = Op(
        row,
        operands,
        (),
        draft.attributes,
        draft.regions,
        segments=tuple(segments),
        successors=draft.successors,
    )
    op.results = [Value(type, op, index) for index, type in enumerate(_result_types(draft, op))]
    _fill_results(op)
    return op


def _result_types(draft: Draft, op: Op) -> list[Type]:
    if draft.result_types is not None:
        return draft.result_types
    if not draft.row.results:
        return []
    types: list[Type] = []
    for result in draft.row.results:
        spelled = draft.types.get(result.name)
        if spelled is None:
            return _inferred(draft, op)
        types += spelled
    return types


def _inferred(draft: Draft, op: Op) -> list[Type]:
    types = list(draft.row.infer(op)) if draft.row.infer else []
    if len(types) < sum(result.arity == "one" for result in draft.row.results):
        raise SyntaxFault(
            "P0007", "the text does not say the type of the result", draft.node.start, draft.node.end
        )
    return types


def _fill_results(op: Op) -> None:
    """Put what the type rule says in place of `?`."""
    if op.definition.infer is not None and any(is_open(result.type) for result in op.results):
        written = [result.type for result in op.results]
        for result, type in zip(op.results, fill_all(written, op.definition.infer(op)), strict=True):
            result.type = type


def end_regions(op: Op, rows: Mapping[str, OpDef]) -> None:
    """Put the implied terminator where the text leaves it out."""
    implied = implied_terminator(op.definition)
    if implied is None:
        return
    for region in op.regions:
        if region.blocks and region.blocks[-1].terminator is None:
            region.blocks[-1].append(Op(rows[implied], span=op.span, loc=op.loc))
