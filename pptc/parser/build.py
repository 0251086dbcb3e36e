"""The syntax tree to a module, through the rows. Names, types and aliases are resolved here; nothing knows an op."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pptc.diag import Note, Sink, Source, Span
from pptc.ir.attrs import Attr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.forms import Draft, Form, compile_format
from pptc.ir.forms.contract import Arguments
from pptc.ir.forms.read import end_regions, make_op, read_form, read_generic
from pptc.ir.opdef import OpDef
from pptc.ir.ops.builtin import FAULTY
from pptc.ir.spell import LEFT_LAYOUTS, parse_type
from pptc.ir.spell_attrs import parse_attribute, parse_string
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import POISON, Major, Type
from pptc.parser.locations import read_location
from pptc.parser.unknown import LONG_NAMES, unknown_op

_BOUND = re.compile(r"(%[\w$.\-]+)(?::(\d+))?")
_ALIAS = re.compile(r"[!#][\w$]+")
_NOWHERE = Block()


class ModuleBuilder:
    """The Reader of forms: what is in sight while a module is built."""

    def __init__(self, source: Source, sink: Sink, rows: Mapping[str, OpDef], arch: str | None) -> None:
        self.source = source
        self.sink = sink
        self.rows = rows
        self.forced = LEFT_LAYOUTS.get(arch) if arch else None  # beats what modules say
        self.left = self.forced
        self.forms: dict[str, Form] = {}
        self.types: dict[str, Type] = {}
        self.aliases: dict[str, Node] = {}
        self.names: dict[str, Value] = {}
        self.undo: list[tuple[str, Value | None]] = []
        self.blocks: dict[str, Block] = {}
        self.ahead: dict[str, tuple[Value, Node]] | None = None  # uses before definitions, between blocks

    # -- Reader

    def value(self, node: Node) -> Value:
        """The value that an SSA token names; a poisoned one, reported, when there is none."""
        value = self.names.get(node.text)
        return self._unknown_value(node) if value is None else value

    def type(self, node: Node) -> Type:
        """The type that a TYPE token spells; a poisoned one, reported, when it spells none."""
        type = self.types.get(node.text)
        return self._new_type(node) if type is None else type

    def alias(self, node: Node) -> Attr:
        """The attribute that an alias stands for."""
        target = self.aliases.get(node.text)
        if target is None or target.type in ("loc", "TYPE"):
            raise SyntaxFault("P0109", f"unknown alias `{node.text}`", node.start, node.end)
        return parse_attribute(target, self)

    def text(self, start: int, end: int) -> str:
        """Characters of the source."""
        return self.source.text[start:end]

    def report(self, code: str, message: str, node: Node, hint: str | None = None) -> None:
        """Collect a fault that does not keep the op from being read."""
        self.sink.error(code, message, self._spot(node.start, node.end), hint=hint)

    def _spot(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def successor(self, node: Node) -> Block:
        """The block that a `^label` names."""
        block = self.blocks.get(node.text)
        if block is None:
            raise SyntaxFault("P0101", f"unknown block `{node.text}`", node.start, node.end)
        return block

    def region(self, node: Node, arguments: Arguments = (), isolated: bool = False) -> Region:
        """The region of a node; `arguments` belong to its first block. `isolated` hides the values outside."""
        names, undo, blocks, ahead = self.names, self.undo, self.blocks, self.ahead
        self.undo = []
        if isolated:
            self.names = {}
        region = Region()
        made = [region.add(Block()) for _ in node.children]
        if len(made) > 1 or node.children[0].children[0].text:
            self.blocks = self._labels(node.children, made)
            self.ahead = {}
        for name, type in arguments:
            self._define(name, name.text, made[0].add_argument(type, name.text[1:]))
        for block, child in zip(made, node.children, strict=True):
            self._fill(block, child)
        if self.ahead:
            self._resolve_ahead()
        if not isolated:
            for name_text, value in reversed(self.undo):
                if value is None:
                    del names[name_text]
                else:
                    names[name_text] = value
        self.names, self.undo, self.blocks, self.ahead = names, undo, blocks, ahead
        return region

    # -- blocks

    def _labels(self, nodes: Sequence[Node], blocks: Sequence[Block]) -> dict[str, Block]:
        labels: dict[str, Block] = {}
        for node, block in zip(nodes, blocks, strict=True):
            header = node.children[0]
            if header.text in labels:
                self.report("P0102", f"the block `{header.text}` stands twice", header)
            labels[header.text] = block
        return labels

    def _fill(self, block: Block, node: Node) -> None:
        header = node.children[0]
        for name, type in zip(header.children[::2], header.children[1::2], strict=True):
            self._define(name, name.text, block.add_argument(self.type(type), name.text[1:]))
        op: Op | None = None
        for child in node.children[1:]:
            op = self.op(child)
            if op is not None:
                block.append(op)
        if op is None and len(node.children) > 1:
            block.append(
                Op(FAULTY, span=Span(self.source, node.start, node.start))
            )  # in place of a terminator that may have stood here

    def _resolve_ahead(self) -> None:
        """Give uses that stood before their definition the value; what was never defined is reported."""
        assert self.ahead is not None
        for text, (placeholder, node) in self.ahead.items():
            value = self.names.get(text)
            if value is None or value is placeholder:
                self._report_unknown(node)
            else:
                placeholder.replace_all_uses(value)

    # -- ops

    def op(self, node: Node) -> Op | None:
        """The op of a statement, or None, reported, when it is at fault."""
        children = node.children
        head = children[0]
        name = head.text
        generic = head.type == "GENERIC"
        if generic:
            name = parse_string(name)
        elif head.type == "KEYWORD":
            name = LONG_NAMES[name]
        row = self.rows.get(name)
        location = children[-1] if children[-1].type == "loc" else None
        cursor = Cursor(children[:-1] if location else children, 1, node.end)
        if row is None:
            self._fault(unknown_op(name, head, self.rows))
            self._spoil(node, cursor)
            return None
        left = self.left
        if "symbols" in row.traits:
            self._enter_architecture(cursor.items)
        draft = Draft(row, node, self._count_names(node.text))
        try:
            if generic:
                read_generic(self, cursor, draft)
            else:
                read_form(self._form(row), self, cursor, draft)
            op = make_op(draft)
            self._bind(node, op)
        except SyntaxFault as fault:
            self._fault(fault)
            self._spoil(node, cursor)
            return None
        op.span = self._span(head, cursor.items)
        if location is not None:
            op.loc = read_location(location, self.aliases)
        if op.regions:
            end_regions(op, self.rows)
            self._set_left(left)
        return op

    def _form(self, row: OpDef) -> Form:
        form = self.forms.get(row.name)
        if form is None:
            form = self.forms[row.name] = compile_format(row)
        return form

    def _span(self, head: Node, items: Sequence[Node]) -> Span:
        """From the op's name to its first region, or to its end."""
        end = items[-1].end
        for position, item in enumerate(items):
            if item.type == "region":
                end = items[position - 1].end
                break
        return Span(self.source, head.start, end)

    def _count_names(self, text: str) -> int:
        if not text:
            return 0
        if "," not in text and ":" not in text:
            return 1
        return sum(int(count or 1) for _, count in _BOUND.findall(text))

    def _bind(self, node: Node, op: Op) -> None:
        """Give the op's results the names in front of `=`."""
        text, results = node.text, op.results
        if not text:
            return
        if "," not in text and ":" not in text and len(results) == 1:
            name = text[:-1].rstrip()
            results[0].name = name[1:]
            self._define(node, name, results[0])
            return
        bound = [(match[1], int(match[2] or 1)) for match in _BOUND.finditer(text)]
        total = sum(count for _, count in bound)
        if total != len(results):
            message = f"{op.name} makes {len(results)} value{'' if len(results) == 1 else 's'}, {total} named"
            raise SyntaxFault("P0202", message, node.start, node.start + len(text.rstrip("= \n\t\r")))
        at = 0
        for name, count in bound:
            for index, result in enumerate(results[at : at + count]):
                result.name = name[1:]
                if count > 1:
                    self._define(node, f"{name}#{index}", result)
            self._define(node, name, results[at])
            at += count

    def _define(self, node: Node, text: str, value: Value) -> None:
        names = self.names
        before = names.get(text)
        if before is not None and before.type is not POISON:
            start = (
                node.start if node.type != "op" else node.start + max(node.text.find(text.split("#")[0]), 0)
            )
            first = before.op.span if before.op else None
            notes = (Note("first defined here", first),) if first else ()
            span = Span(self.source, start, start + len(text))
            self.sink.error("P0102", f"`{text}` is defined twice", span, notes=notes)
            return
        self.undo.append((text, before))
        names[text] = value

    # -- faults

    def _fault(self, fault: SyntaxFault) -> None:
        if fault.code:
            self.sink.error(fault.code, fault.message, self._spot(fault.start, fault.end), hint=fault.hint)

    def _spoil(self, node: Node, cursor: Cursor) -> None:
        """Names of a faulty statement become poisoned; its regions are still read for their own faults."""
        for match in _BOUND.finditer(node.text):
            for text in (match[1], *(f"{match[1]}#{i}" for i in range(int(match[2] or 0)))):
                self._poison(text)
        unread = cursor.items[cursor.at :]
        if any(item.type == "region" for item in unread):
            unknown = {
                item.text: item for item in cursor.items if item.type == "SSA" and item.text not in self.names
            }
            arguments = [(item, POISON) for item in unknown.values()]
            for item in unread:
                if item.type == "region":
                    self.region(item, arguments)

    def _poison(self, text: str) -> Value:
        value = Value(POISON, _NOWHERE, 0, text[1:])
        if text not in self.names:
            self.undo.append((text, None))
            self.names[text] = value
        return value

    def _unknown_value(self, node: Node) -> Value:
        if self.ahead is not None:
            if node.text not in self.ahead:
                self.ahead[node.text] = (Value(POISON, _NOWHERE, 0, node.text[1:]), node)
            return self.ahead[node.text][0]
        self._report_unknown(node)
        return self._poison(node.text)

    def _report_unknown(self, node: Node) -> None:
        self.report("P0101", f"unknown value `{node.text}`", node, self._value_hint(node))

    def _value_hint(self, node: Node) -> str | None:
        later = re.compile(re.escape(node.text) + r"\s*=(?!=)").search(self.source.text, node.end)
        if later:
            line = self.source.position(later.start())[0]
            return f"a value of this name is defined on line {line}, which is not in sight here"
        import difflib

        close = difflib.get_close_matches(node.text, self.names, 1, 0.75)
        return f"did you mean `{close[0]}`?" if close else None

    # -- types

    def _new_type(self, node: Node) -> Type:
        text = node.text
        self.types[text] = POISON  # ends cycles of aliases
        alias = text[0] == "!" and _ALIAS.fullmatch(text)
        try:
            type = self._aliased(node) if alias else parse_type(text, self.left)
        except SyntaxFault as fault:
            if self.source.text[node.end : node.end + 1] == "<":
                del self.types[text]
                raise SyntaxFault(
                    "P0005", f"the `<` of {text} is not closed", node.end, node.end + 1
                ) from None
            type = POISON
            self._fault(fault.moved(node.start))
        self.types[text] = type
        return type

    def _aliased(self, node: Node) -> Type:
        target = self.aliases.get(node.text)
        if target is None:
            raise SyntaxFault("P0109", f"unknown alias `{node.text}`", 0, len(node.text))
        if target.type != "TYPE":
            raise SyntaxFault("P0109", f"`{node.text}` is not a type", 0, len(node.text))
        return self.type(target)

    def _enter_architecture(self, items: Sequence[Node]) -> None:
        """What pto.target_arch says about `left` tiles holds for the types inside."""
        for item in items:
            if item.type == "attrs":
                for entry in item.children:
                    if entry.text.strip('"') == "pto.target_arch" and entry.children and self.forced is None:
                        self._set_left(LEFT_LAYOUTS.get(entry.children[0].text.strip('"')))

    def _set_left(self, left: Major | None) -> None:
        if left != self.left:
            self.left = left
            self.types = {}
