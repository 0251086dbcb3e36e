"""Canonical text of a module, at every level: `parse(print_module(m))` is `m` again.

Value names come from their hints and are made unique among the names in sight; values without one are numbered.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from pptc.diag import UserLocation
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.forms import Form, compile_format
from pptc.ir.forms.contract import Piece
from pptc.ir.spell import print_type
from pptc.ir.spell_attrs import print_string
from pptc.ir.types import Type

_INDENT = "  "
_NO_BLANK_BEFORE = frozenset({",", ")", "]", ">"})
_NO_BLANK_AFTER = frozenset({"(", "[", "<"})
_SHORT_NAMES = MappingProxyType({"builtin.module": "module", "func.return": "return"})


def print_module(op: Op) -> str:
    """The text of a module, or of any op by itself."""
    printer = Printer()
    printer.op(op)
    return printer.finish()


class Printer:
    """The Writer of forms. `line` holds the pieces of the statement at hand."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line: list[str] = []
        self.depth = 0
        self.last: Piece | None = None  # the kind of the last piece
        self.last_text = ""
        self.blank: bool | None = None  # what a format says about the next blank
        self.forms: dict[str, Form] = {}
        self.types: dict[Type, str] = {}
        self.names = _Names()
        self.labels: dict[Block, str] = {}

    def finish(self) -> str:
        """The text so far."""
        return "\n".join(self.lines) + "\n"

    # -- Writer

    def put(self, text: str, piece: Piece = "text") -> None:
        """Write a piece, with a blank before it where the canonical text has one."""
        blank = self._blank_before(text, piece) if self.blank is None else self.blank
        self.line.append(f" {text}" if blank and self.line else text)
        self.last, self.last_text, self.blank = piece, text, None

    def _blank_before(self, text: str, piece: Piece) -> bool:
        if self.last == "mark" and self.last_text in _NO_BLANK_AFTER:
            return False
        if piece == "mark":
            if text in _NO_BLANK_BEFORE:
                return False
            if text == "(":
                return self.last not in ("word", "name")
            if text == "[":
                return self.last not in ("value", "name")
            if text == "<":
                return self.last != "word"
        return True

    def glue(self, blank: bool) -> None:
        """Say whether a blank stands before the next piece."""
        self.blank = blank

    def value(self, value: Value) -> None:
        """Write an SSA name."""
        self.put(self.names.of(value), "value")

    def name(self, value: Value) -> str:
        """The SSA name of a value, with `%`."""
        return self.names.of(value)

    def label(self, block: Block) -> str:
        """The label of a block, with `^`."""
        return self.labels.get(block, "^unknown")

    def type(self, type: Type) -> None:
        """Write a type."""
        text = self.types.get(type)
        if text is None:
            text = self.types[type] = print_type(type)
        self.put(text)

    def region(self, region: Region, hidden: Op | None = None, labelled: bool = False) -> None:
        """Write `{ .. }` without the terminator `hidden`; `labelled` spells the first block's arguments."""
        self.put("{")
        self._end_line()
        self.names.enter()
        self._name_blocks(region)
        self.depth += 1
        for index, block in enumerate(region.blocks):
            if index or labelled:
                self._block_header(block)
            for op in block:
                if op is not hidden:
                    self.op(op)
        self.depth -= 1
        self.names.leave()
        self.put("}")

    # -- lines

    def op(self, op: Op) -> None:
        """Write one op, its regions included, as lines of its own."""
        if op.results:
            self.put(", ".join(self.names.new(result) for result in op.results))
            self.put("=", "mark")
        self.put(_SHORT_NAMES.get(op.name, op.name), "name")
        isolated = "isolated" in op.definition.traits
        self.names.enter(isolated)  # for the arguments that the op's own text names
        for element in self._form(op).elements:
            element.print(self, op)
        self.names.leave(isolated)
        if op.loc is not None:
            self.put(f"loc({_location(op.loc)})")
        self._end_line()

    def _form(self, op: Op) -> Form:
        form = self.forms.get(op.name)
        if form is None:
            form = self.forms[op.name] = compile_format(op.definition)
        return form

    def _end_line(self) -> None:
        self.lines.append(_INDENT * self.depth + "".join(self.line))
        self.line = []
        self.last, self.last_text, self.blank = None, "", None

    def _block_header(self, block: Block) -> None:
        self.depth -= 1
        arguments = ", ".join(f"{self.names.of(value)}: {print_type(value.type)}" for value in block.args)
        self.put(f"{self.labels[block]}({arguments}):" if arguments else f"{self.labels[block]}:")
        self._end_line()
        self.depth += 1

    def _name_blocks(self, region: Region) -> None:
        """Labels of all blocks, and names of all arguments, before the first use."""
        for index, block in enumerate(region.blocks):
            self.labels[block] = f"^bb{index}"
            for value in block.args:
                self.names.new(value)
            if len(region.blocks) > 1:
                self._name_results(block)

    def _name_results(self, block: Block) -> None:
        """Blocks may use values of blocks that stand below."""
        for op in block:
            for value in op.results:
                self.names.new(value)


def _location(location: UserLocation) -> str:
    name = print_string(location.file)
    return f"{name}:{location.line}:{location.column}" if location.line else name


_FOREIGN = re.compile(r"[^\w$.\-]", re.ASCII)


def _clean(hint: str) -> str:
    """A hint as an SSA name: other characters become `_`, and only numbers begin with a digit."""
    name = _FOREIGN.sub("_", hint)
    return f"_{name}" if name[0].isdigit() and not name.isdigit() else name


class _Names:
    """Names in sight, as nested scopes; a name is free again behind the region that made it."""

    def __init__(self) -> None:
        self.texts: dict[Value, str] = {}
        self.used: set[str] = set()
        self.scopes: list[list[str]] = [[]]
        self.hidden: list[set[str]] = []
        self.number = 0

    def enter(self, isolated: bool = False) -> None:
        """Open a scope; an isolated one sees no names from outside."""
        self.scopes.append([])
        if isolated:
            self.hidden.append(self.used)
            self.used = set()
            self.number = 0

    def leave(self, isolated: bool = False) -> None:
        """Close the scope."""
        left = self.scopes.pop()
        if isolated:
            self.used = self.hidden.pop()
        else:
            self.used.difference_update(left)

    def of(self, value: Value) -> str:
        """The name of a value; one that was never defined gets a name too, so that faulty IR prints."""
        return self.texts.get(value) or self.new(value)

    def new(self, value: Value) -> str:
        """A name for a value that is being defined."""
        known = self.texts.get(value)
        if known is not None:
            return known
        name = self._free(_clean(value.name)) if value.name else self._next_number()
        self.used.add(name)
        self.scopes[-1].append(name)
        text = self.texts[value] = f"%{name}"
        return text

    def _free(self, hint: str) -> str:
        if hint not in self.used:
            return hint
        if hint.isdigit():
            return self._next_number()
        count = 0
        while f"{hint}_{count}" in self.used:
            count += 1
        return f"{hint}_{count}"

    def _next_number(self) -> str:
        while str(self.number) in self.used:
            self.number += 1
        return str(self.number)
