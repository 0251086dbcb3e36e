"""Tokens to the syntax tree, through lark's LALR automaton. Goes on behind a fault: at the next statement or brace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lark
from lark.grammar import Rule

from pptc.diag import Sink, Source
from pptc.ir.syntax import Node
from pptc.parser.hints import syntax_diagnostic, unclosed_diagnostic
from pptc.parser.lexer import master_expression, tokens

_OPENERS = frozenset({"LBRACE", "LDICT", "LPROP"})
_STARTERS = frozenset({"BIND", "NAME", "KEYWORD", "GENERIC", "ALIAS", "LABEL"})


class _Nodes:
    """What the automaton makes of each rule."""

    def start(self, children: list[Node]) -> Node:
        return Node("start", "", 0, 0, children)

    def op(self, children: list[Node]) -> Node:
        first = children[0]
        if first.type == "BIND":
            return Node("op", first.text, first.start, children[-1].end, children[1:])
        return Node("op", "", first.start, children[-1].end, children)

    def alias(self, children: list[Node]) -> Node:
        return Node("alias", children[0].text, children[0].start, children[0].end, children[2:])

    def region(self, children: list[Node]) -> Node:
        brace, *inside, end = children
        entry = [child for child in inside if child.type == "op"]
        blocks = [child for child in inside if child.type == "block"]
        if entry or not blocks:
            header = Node("label", "", brace.end, brace.end)
            blocks.insert(0, Node("block", "", brace.end, end.start, [header, *entry]))
        return Node("region", "{", brace.start, end.end, blocks)

    def block(self, children: list[Node]) -> Node:
        return Node("block", "", children[0].start, children[-1].end, children)

    def label(self, children: list[Node]) -> Node:
        arguments = [part for child in children if child.type == "argument" for part in child.children]
        return Node("label", children[0].text, children[0].start, children[-1].end, arguments)

    def argument(self, children: list[Node]) -> Node:
        return Node("argument", "", children[0].start, children[-1].end, (children[0], children[2]))

    def attrs(self, children: list[Node]) -> Node:
        return Node("attrs", "{", children[0].start, children[-1].end, _only("entry", children))

    def properties(self, children: list[Node]) -> Node:
        return Node("attrs", "<{", children[0].start, children[-1].end, _only("entry", children))

    def entry(self, children: list[Node]) -> Node:
        return Node("entry", children[0].text, children[0].start, children[-1].end, children[2:])

    def typed(self, children: list[Node]) -> Node:
        return Node("typed", "", children[0].start, children[-1].end, (children[0], children[2]))

    def dense(self, children: list[Node]) -> Node:
        return Node("dense", "", children[0].start, children[-1].end, (children[0], children[2]))

    def sequence(self, children: Sequence[Node]) -> Node:
        items = [child for child in children[1:-1] if child.type != "COMMA"]
        return Node("list", "", children[0].start, children[-1].end, items)

    def inputs(self, children: Sequence[Node]) -> Node:
        return Node("inputs", "", children[0].start, children[-1].end, _only("TYPE", children))

    def function(self, children: Sequence[Node]) -> Node:
        inputs, _, results = children
        types = results.children if results.type == "inputs" else (results,)
        count = str(len(inputs.children))
        return Node("function", count, inputs.start, results.end, (*inputs.children, *types))

    def loc(self, children: Sequence[Node]) -> Node:
        return Node("loc", "", children[0].start, children[-1].end, (children[2],))

    def file(self, children: Sequence[Node]) -> Node:
        return Node("file", "", children[0].start, children[-1].end, (children[0], children[2], children[4]))

    def named(self, children: Sequence[Node]) -> Node:
        child = children[2:3]
        return Node("named", children[0].text, children[0].start, children[-1].end, child)

    def fused(self, children: Sequence[Node]) -> Node:
        places = [child for child in children[1:] if child.type in _PLACES]
        return Node("fused", children[0].text, children[0].start, children[-1].end, places)

    def callsite(self, children: Sequence[Node]) -> Node:
        return Node(
            "callsite", children[0].text, children[0].start, children[-1].end, (children[2], children[4])
        )


_PLACES = frozenset({"file", "named", "fused", "callsite", "WORD", "ATTR"})


def _only(type: str, children: Sequence[Node]) -> list[Node]:
    return [child for child in children if child.type == type]


@dataclass(frozen=True)
class _Grammar:
    automaton: lark.Lark
    expression: re.Pattern[str]


@cache
def _grammar() -> _Grammar:
    """The grammar, compiled on first use."""
    text = (Path(__file__).parent / "pto.lark").read_text(encoding="utf-8")
    automaton = lark.Lark(text, parser="lalr", lexer="basic", maybe_placeholders=False, transformer=_Nodes())
    return _Grammar(automaton, master_expression(automaton.terminals))


def parse_tree(source: Source, sink: Sink) -> Sequence[Node]:
    """The aliases and ops of a text; faults go to the sink, and what they spoil holds an ERROR node or is left out."""
    grammar = _grammar()
    run = _Run(source, sink, grammar.automaton)
    for token in tokens(grammar.expression, source, sink):
        run.feed(token)
    return run.finish()


class _Run:
    """One pass over the tokens; while `skipping`, they are dropped until the text makes sense again."""

    def __init__(self, source: Source, sink: Sink, automaton: lark.Lark) -> None:
        self.source = source
        self.sink = sink
        self.state = automaton.parse_interactive("").parser_state
        self.skipping = False
        self.open = 0  # braces that the dropped text has opened

    def feed(self, token: Node) -> None:
        """Give one token to the automaton."""
        if self.skipping and not self._resumes(token):
            return
        try:
            self.state.feed_token(token)  # type: ignore[arg-type]  # it looks at `type` only
        except lark.UnexpectedToken:
            self.sink.report(syntax_diagnostic(self.source, token, self._expected(), self._opener()))
            self._recover(token)

    def finish(self) -> Sequence[Node]:
        """The tree, after the last token."""
        end = len(self.source.text)
        token = Node("$END", "", end, end)
        for _ in range(len(self.state.state_stack) + 1):
            try:
                root: Node = self.state.feed_token(token, is_end=True)  # type: ignore[arg-type]
            except lark.UnexpectedToken:
                self._close(token)
            else:
                return root.children
        return ()

    def _close(self, token: Node) -> None:
        """Close what is open at the end of the text."""
        if not self.skipping:
            self.sink.report(unclosed_diagnostic(self.source, token))
            self.skipping = True
        self._unwind(token)
        brace = Node("RBRACE", "}", token.start, token.start)
        if self._accepts("RBRACE"):
            self.state.feed_token(brace)  # type: ignore[arg-type]

    def _resumes(self, token: Node) -> bool:
        """True when a dropped stretch ends before this token."""
        if token.type in _OPENERS:
            self.open += 1
        elif token.type == "RBRACE":
            if self.open:
                self.open -= 1
                self.skipping = self.open > 0
                return False
            self.skipping = not self._accepts("RBRACE")
        elif token.type in _STARTERS and self._begins_line(token):
            self.skipping = not self._accepts(token.type)
        return not self.skipping

    def _begins_line(self, token: Node) -> bool:
        text, at = self.source.text, token.start - 1
        while at >= 0 and text[at] in " \t\r":
            at -= 1
        return at < 0 or text[at] == "\n"

    def _accepts(self, terminal: str) -> bool:
        """True when the automaton would shift the terminal here, after the reductions that it asks for."""
        table, stack = self.state.parse_conf.states, list(self.state.state_stack)
        while terminal in table[stack[-1]]:
            rule = table[stack[-1]][terminal][1]
            if not isinstance(rule, Rule):
                return True
            del stack[len(stack) - len(rule.expansion) :]
            stack.append(table[stack[-1]][rule.origin.name][1])
        return False

    def _expected(self) -> list[str]:
        return sorted(
            name for name in self.state.parse_conf.states[self.state.state_stack[-1]] if name.isupper()
        )

    def _opener(self) -> Node | None:
        """The innermost brace that is open."""
        return next(
            (n for n in reversed(self.state.value_stack) if isinstance(n, Node) and n.type in _OPENERS), None
        )

    def _recover(self, token: Node) -> None:
        """Go back to the statement at hand, mark it as spoilt, and drop what follows."""
        self.open = self._unwind(token)
        self.skipping = True
        if token.type in _STARTERS or token.type == "RBRACE":
            if self._resumes(token):
                self.feed(token)
        elif token.type in _OPENERS:
            self.open += 1

    def _is_dictionary(self, value: object, token: Node) -> bool:
        """A brace with the faulty token right behind it on its line was meant to open a dictionary."""
        opens = isinstance(value, Node) and value.type == "LBRACE"
        return opens and "\n" not in self.source.text[value.start : token.start]  # type: ignore[attr-defined]

    def _unwind(self, token: Node) -> int:
        """Back to a place between or within statements; how many braces were open in what is given up."""
        states, values = self.state.state_stack, self.state.value_stack
        given_up = 0
        if values and self._is_dictionary(values[-1], token):
            states.pop()
            values.pop()
            given_up += 1
        while not self._accepts("BIND") and len(states) > 1:
            states.pop()
            value = values.pop()
            given_up += isinstance(value, Node) and value.type in _OPENERS
        if self._accepts("ERROR"):
            self.state.feed_token(Node("ERROR", token.text, token.start, token.end))  # type: ignore[arg-type]
        return given_up
