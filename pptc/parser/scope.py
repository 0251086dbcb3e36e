"""SSA names in sight, as nested scopes; what is unknown is reported once and poisoned from then on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pptc.diag import Note, Sink, Source, Span, UserLocation
from pptc.ir.core import Block, Op, Value
from pptc.ir.suggest import did_you_mean
from pptc.ir.syntax import Node, SyntaxFault
from pptc.ir.types import POISON

_BOUND = re.compile(r"(%[\w$.\-]+)(?::(\d+))?")
_HINTED_FAULTS = 100
"""How many faults get a hint that needs a search."""


def bound_names(text: str) -> list[tuple[str, int | None]]:
    """`%a, %b:2 =` as names and how many results each stands for; None where the text does not say."""
    return [(name, int(count[:6]) if count else None) for name, count in _BOUND.findall(text)]


class Scope:
    """Values by name (with `%`), and blocks by label. `ahead` holds uses that stand before their definition, which
    blocks of one region may do. `user_line` is the `loc` of the statement at hand."""

    def __init__(self, source: Source, sink: Sink) -> None:
        self.source = source
        self.sink = sink
        self.user_line: UserLocation | None = None
        self.names: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self._made: list[tuple[str, Value | None]] = []
        self._ahead: dict[str, tuple[Value, Node, UserLocation | None]] | None = None
        self._nowhere = Block()  # owns the poisoned values

    @contextmanager
    def region(self, isolated: bool, labels: dict[str, Block] | None) -> Iterator[None]:
        """A scope for a region; an isolated one sees no names from outside. `labels` are given for several blocks."""
        outside = self.names, self.blocks, self._made, self._ahead
        self._made = []
        if isolated:
            self.names = {}
        if labels is not None:
            self.blocks, self._ahead = labels, {}
        yield
        if labels is not None:
            self._resolve_ahead()
        if not isolated:
            self._forget()
        self.names, self.blocks, self._made, self._ahead = outside

    def _forget(self) -> None:
        for name, before in reversed(self._made):
            if before is None:
                del self.names[name]
            else:
                self.names[name] = before

    # -- definitions

    def define(self, name: str, value: Value, start: int) -> None:
        """Give a value its name, which stands at `start`; a name that is taken is reported."""
        before = self.names.get(name)
        if before is not None and before.type is not POISON:
            notes = (Note("first defined here", before.op.span),) if before.op and before.op.span else ()
            span = Span(self.source, start, start + len(name))
            message = f"`{name}` is defined twice"
            self.sink.error("P0102", message, span, notes=notes, location=self.user_line)
            return
        self._made.append((name, before))
        self.names[name] = value

    def bind(self, text: str, start: int, op: Op) -> None:
        """Give the results of an op the names in front of its `=`."""
        results = op.results
        if len(results) == 1 and "," not in text and ":" not in text:
            name = text[:-1].rstrip()
            results[0].name = name[1:]
            self.define(name, results[0], start)
            return
        bound = bound_names(text)
        total = sum(1 if count is None else count for _, count in bound)
        if total != len(results) or any(count == 0 for _, count in bound):
            message = f"{op.name} makes {len(results)} value{'' if len(results) == 1 else 's'}, {total} named"
            raise SyntaxFault("P0202", message, start, start + len(text[:-1].rstrip()))
        left = iter(results)
        for name, count in bound:
            place = start + text.index(name)
            for index in range(count or 1):
                result = next(left)
                result.name = name[1:]
                if index == 0:
                    self.define(name, result, place)
                if count is not None:
                    self.define(f"{name}#{index}", result, place)

    def poison(self, name: str) -> Value:
        """Let a name stand for a value about which nothing more is said."""
        value = Value(POISON, self._nowhere, 0, name[1:])
        if name not in self.names:
            self._made.append((name, None))
            self.names[name] = value
        return value

    # -- uses

    def value(self, node: Node) -> Value:
        """The value that an SSA token names; a poisoned one, reported, when there is none."""
        value = self.names.get(node.text)
        return self._unknown(node) if value is None else value

    def _unknown(self, node: Node) -> Value:
        whole = self.names.get(node.text.split("#")[0])
        if whole is not None and whole.type is POISON:
            return whole
        if self._ahead is None:
            self._report(node, self.user_line)
            return self.poison(node.text)
        if node.text not in self._ahead:
            value = Value(POISON, self._nowhere, 0, node.text[1:])
            self._ahead[node.text] = (value, node, self.user_line)
        return self._ahead[node.text][0]

    def _resolve_ahead(self) -> None:
        """Give uses that stood before their definition the value; what was never defined is reported."""
        for name, (placeholder, node, line) in (self._ahead or {}).items():
            value = self.names.get(name)
            if value is None:
                self._report(node, line)
            else:
                placeholder.replace_all_uses(value)

    def _report(self, node: Node, line: UserLocation | None) -> None:
        span = Span(self.source, node.start, node.end)
        self.sink.error("P0101", f"unknown value `{node.text}`", span, hint=self._hint(node), location=line)

    def _hint(self, node: Node) -> str | None:
        if len(self.sink) > _HINTED_FAULTS:
            return None
        later = re.compile(re.escape(node.text) + r"\s*=(?!=)").search(self.source.text, node.end)
        if later:
            line = self.source.position(later.start())[0]
            return f"a value of this name is defined on line {line}, which is not in sight here"
        return did_you_mean(node.text, self.names, 0.75)
