"""What the automaton did not expect, in words: a diagnostic with what could stand there and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pptc.diag import Diagnostic, Note, Source, Span
from pptc.ir.syntax import Node

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "ALIAS": "an alias", "ARRAY": "`array<..>`", "ARROW": "`->`", "ATTR": "an attribute `#..`", "BIND": "`%name =`",
        "BLOCK": "a block `^..`", "COLON": "`:`", "COMMA": "`,`", "DENSE": "`dense<..>`", "EQ": "`=`",
        "FLOAT": "a float", "GENERIC": "an op in quotes", "GT": "`>`", "INT": "an integer", "KEYWORD": "`module`",
        "LABEL": "a block label", "LBRACE": "`{`", "LDICT": "`{`", "LPAR": "`(`", "LPROP": "`<{`", "LSQB": "`[`",
        "LT": "`<`", "NAME": "an op", "RBRACE": "`}`", "RPAR": "`)`", "RSQB": "`]`", "SSA": "a value `%..`",
        "STRING": "a string", "SYMBOL": "a symbol `@..`", "TYPE": "a type", "WORD": "a word",
    }
)  # fmt: skip
_BRACES = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}]')
_VALUES = frozenset({"INT", "FLOAT", "STRING", "SYMBOL", "TYPE", "ATTR"})


def syntax_diagnostic(
    source: Source, token: Node, expected: Sequence[str], opener: Node | None
) -> Diagnostic:
    """The diagnostic of a token that the grammar does not take where it stands."""
    span = Span(source, token.start, token.end)
    if token.type == "RBRACE" and opener is None:
        return Diagnostic(
            "P0001", "`}` closes nothing", span, "remove it, or look for a `{` that is missing above"
        )
    message = f"expected {_listed(expected)}, found `{token.text}`"
    return Diagnostic("P0001", message, span, _hint(source, token, expected, opener), _notes(source, opener))


def unclosed_diagnostic(source: Source, end: Node) -> Diagnostic:
    """The diagnostic of a text that ends too early, with the brace that is most likely not closed."""
    span = Span(source, end.start, end.end)
    opener = _suspicious_brace(source)
    notes = (Note("this `{` is not closed", Span(source, opener, opener + 1)),) if opener is not None else ()
    return Diagnostic("P0001", "expected `}`, found the end of the file", span, None, notes)


def _suspicious_brace(source: Source) -> int | None:
    """The first `{` whose `}` stands further left than the line that opens it, else the innermost open one."""
    open_braces: list[int] = []
    for match in _BRACES.finditer(source.text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            opener = open_braces.pop()
            if _indent(source, match.start()) < _indent(source, opener):
                return opener
    return open_braces[-1] if open_braces else None


def _indent(source: Source, offset: int) -> int:
    line = source.line(source.position(offset)[0])
    return len(line) - len(line.lstrip())


def _notes(source: Source, opener: Node | None) -> tuple[Note, ...]:
    if opener is None:
        return ()
    return (Note("this `{` is open", Span(source, opener.start, opener.end)),)


def _listed(expected: Sequence[str]) -> str:
    names = set(expected)
    if names >= _VALUES:
        words = ["a value of an attribute"]
    elif "NAME" in names and "BIND" in names:
        words = ["a statement", *(["`}`"] if "RBRACE" in names else [])]
    else:
        words = list(dict.fromkeys(_WORDS[name] for name in expected if name in _WORDS))
    return " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} or {words[-1]}"


def _hint(source: Source, token: Node, expected: Sequence[str], opener: Node | None) -> str | None:
    entries = "entries of a dictionary are `key = value`, separated by commas"
    if "NAME" in expected and "BIND" in expected:
        if opener is not None and "\n" not in source.text[opener.start : token.start]:
            return entries
        if token.type == "SSA":
            return "a statement that defines values begins with `%name =` and an op"
        if token.type == "WORD":
            return "ops are written with their dialect, as in `pto.tadd` or `arith.addi`"
        return "a file holds `module { .. }` with functions inside"
    return entries if opener is not None and opener.type == "LDICT" and "COMMA" in expected else None
