"""The syntax tree to a module, through the rows. Nothing here knows an op: names are in `scope.py`, types in
`type_table.py`, and what a statement says is read by the format of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pptc.diag import Sink, Source, Span
from pptc.ir.attrs import Attr
from pptc.ir.core import Block, Op, Region
from pptc.ir.forms import Draft, Form, compile_format
from pptc.ir.forms.contract import Arguments
from pptc.ir.forms.read import end_regions, make_op, read_form, read_generic
from pptc.ir.opdef import OpDef
from pptc.ir.ops.builtin import FAULTY
from pptc.ir.spell_attrs import parse_attribute, parse_string
from pptc.ir.syntax import Cursor, Node, SyntaxFault
from pptc.ir.types import POISON, Type
from pptc.parser.locations import read_location
from pptc.parser.scope import Scope, bound_names
from pptc.parser.type_table import TypeTable
from pptc.parser.unknown import LONG_NAMES, unknown_op


class ModuleBuilder:
    """The Reader of forms: what is in sight while a module is built."""

    def __init__(
        self,
        source: Source,
        sink: Sink,
        rows: Mapping[str, OpDef],
        aliases: Mapping[str, Node],
        arch: str | None = None,
    ) -> None:
        self.source = source
        self.sink = sink
        self.rows = rows
        self.aliases = aliases
        self.forms: dict[str, Form] = {}
        self.types = TypeTable(source, aliases, arch)
        self.scope = Scope(source, sink)
        self.value = self.scope.value

    # -- Reader

    def type(self, node: Node) -> Type:
        """The type that a TYPE token spells; a poisoned one, reported, when it spells none."""
        known = self.types.known.get(node.text)
        if known is not None:
            return known
        try:
            return self.types.read(node)
        except SyntaxFault as fault:
            if node.text not in self.types.known:
                raise
            self._fault(fault)
            return POISON

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
        self._error(code, message, node.start, node.end, hint)

    def _error(self, code: str, message: str, start: int, end: int, hint: str | None) -> None:
        self.sink.error(code, message, self._spot(start, end), hint=hint, location=self.scope.user_line)

    def _spot(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def successor(self, node: Node) -> Block:
        """The block that a `^label` names."""
        block = self.scope.blocks.get(node.text)
        if block is None:
            raise SyntaxFault("P0101", f"unknown block `{node.text}`", node.start, node.end)
        return block

    def region(self, node: Node, arguments: Arguments = (), isolated: bool = False) -> Region:
        """The region of a node; `arguments` belong to its first block. `isolated` hides the values outside."""
        region = Region()
        made = [region.add(Block()) for _ in node.children]
        labelled = len(made) > 1 or node.children[0].children[0].text
        with self.scope.region(isolated, self._labels(node.children, made) if labelled else None):
            for name, type in arguments:
                self._argument(made[0], name, type)
            for block, child in zip(made, node.children, strict=True):
                self._fill(block, child)
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

    def _argument(self, block: Block, name: Node, type: Type) -> None:
        self.scope.define(name.text, block.add_argument(type, name.text[1:]), name.start)

    def _fill(self, block: Block, node: Node) -> None:
        header, *statements = node.children
        for name, type in zip(header.children[::2], header.children[1::2], strict=True):
            self._argument(block, name, self.type(type))
        op: Op | None = None
        for statement in statements:
            op = self.op(statement)
            if op is not None:
                block.append(op)
        if op is None and statements:  # a terminator may have stood here
            block.append(Op(FAULTY, span=self._spot(node.start, node.start)))

    # -- ops

    def op(self, node: Node) -> Op | None:
        """The op of a statement, or None, reported, when it is at fault."""
        outer = self.scope.user_line
        try:
            return self._op(node)
        finally:
            self.scope.user_line = outer

    def _op(self, node: Node) -> Op | None:
        head, *items = node.children
        location = items.pop() if items and items[-1].type == "loc" else None
        cursor = Cursor(items, 0, location.start if location else node.end)
        left = self.types.left
        try:
            place = read_location(location, self.aliases) if location is not None else None
            self.scope.user_line = place if place is not None and place.line else None
            row = self._row(head)
            if "symbols" in row.traits:
                self._enter_architecture(items)
            op = self._read(row, node, cursor)
            op.span = self._spot(head.start, _end_of_header(head, items))
            op.loc = place
        except SyntaxFault as fault:
            self._fault(fault)
            self._spoil(node, cursor)
            return None
        if op.regions:
            end_regions(op, self.rows)
            self.types.set_left(left)
        return op

    def _row(self, head: Node) -> OpDef:
        name = parse_string(head.text) if head.type == "GENERIC" else LONG_NAMES.get(head.text, head.text)
        row = self.rows.get(name)
        if row is None:
            raise unknown_op(name, head, self.rows)
        return row

    def _read(self, row: OpDef, node: Node, cursor: Cursor) -> Op:
        """The op of a statement whose row is known, with its results named."""
        names = node.text.count(",") + 1 if node.text else 0
        if ":" in node.text:
            names = sum(1 if count is None else count for _, count in bound_names(node.text))
        draft = Draft(row, node, names)
        if node.children[0].type == "GENERIC":
            read_generic(self, cursor, draft)
        else:
            read_form(self._form(row), self, cursor, draft)
        op = make_op(draft)
        if node.text:
            self.scope.bind(node.text, node.start, op)
        return op

    def _form(self, row: OpDef) -> Form:
        form = self.forms.get(row.name)
        if form is None:
            form = self.forms[row.name] = compile_format(row)
        return form

    # -- faults

    def _fault(self, fault: SyntaxFault) -> None:
        if fault.code:
            self._error(fault.code, fault.message, fault.start, fault.end, fault.hint)

    def _spoil(self, node: Node, cursor: Cursor) -> None:
        """Names of a faulty statement become poisoned; its regions are still read for their own faults."""
        for name, _ in bound_names(node.text):
            self.scope.poison(name)
        unread = [item for item in cursor.items[cursor.at :] if item.type == "region"]
        if unread:
            names = self.scope.names
            unknown = {i.text: i for i in cursor.items if i.type == "SSA" and i.text not in names}
            for item in unread:
                self.region(item, [(name, POISON) for name in unknown.values()])

    def _enter_architecture(self, items: Sequence[Node]) -> None:
        """What pto.target_arch says about `left` tiles holds for the types inside."""
        for item in items:
            for entry in item.children if item.type == "attrs" else ():
                if entry.text.strip('"') == "pto.target_arch" and entry.children:
                    self.types.enter(entry.children[0].text.strip('"'))


def _end_of_header(head: Node, items: Sequence[Node]) -> int:
    """Where an op's text ends, or its first region begins."""
    end = head.end
    for item in items:
        if item.type == "region":
            break
        end = item.end
    return end
