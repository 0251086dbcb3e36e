"""Text to tokens: one regular expression made of the grammar's terminals, and faults for what it does not cover."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from types import MappingProxyType

from lark.lexer import TerminalDef

from pptc.diag import Sink, Source, Span
from pptc.ir.syntax import Node

_SKIPPED = r"(?P<COMMENT>//[^\n]*)"
_FAULTY = (
    r"(?P<OPEN_STRING>\"[^\n]*)",
    r"(?P<BAD_NUMBER>[+-]?\.?\d[\w.]*)",
    r"(?P<BAD>[^\w\s%@#!\"(){}\[\]<>:,=+*?|/^-]+|\S)",
)
_BAD_WORDS = MappingProxyType(
    {
        "OPEN_STRING": ("P0002", "the string is not closed on its line", 'a string ends with `"`'),
        "BAD_NUMBER": (
            "P0009",
            "malformed number",
            "integers: 12, -3, 0xFF; floats: 1.0, 2.5e-01 (digits before the point)",
        ),
        "BAD": ("P0002", "unreadable character", None),
    }
)


def master_expression(terminals: Collection[TerminalDef]) -> re.Pattern[str]:
    """All terminals of a grammar as alternatives, the highest priority first."""
    written = [terminal for terminal in terminals if terminal.name != "ERROR"]  # declared: no text makes it
    ordered = sorted(written, key=lambda terminal: -terminal.priority)
    named = [f"(?P<{terminal.name}>{terminal.pattern.to_regexp()})" for terminal in ordered]
    return re.compile(r"\s*(?:" + "|".join([_SKIPPED, *named, *_FAULTY]) + ")", re.ASCII)


def tokens(expression: re.Pattern[str], source: Source, sink: Sink) -> Iterator[Node]:
    """The tokens of a text. What is none is reported; a number or string that is broken becomes an ERROR token."""
    bad_end = -1
    for match in expression.finditer(source.text):
        kind = match.lastgroup
        assert kind is not None
        if kind == "COMMENT":
            continue
        text = match[kind]
        end = match.end()
        start = end - len(text)
        if kind in _BAD_WORDS:
            if start != bad_end or kind != "BAD":
                code, message, hint = _BAD_WORDS[kind]
                sink.error(code, f"{message} `{text}`", Span(source, start, end), hint=hint)
            bad_end = end
            if kind == "BAD":
                continue
            kind = "ERROR"
        yield Node(kind, text, start, end)
