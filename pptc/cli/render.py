"""Diagnostics as text or JSON: place, severity, message, code, source line with a caret, hint, and the totals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pptc.diag import CODES, Diagnostic, Note, Span

WIDTH = 120
"""Columns of a source line that are shown; longer lines are cut around the caret."""

_STYLES: Mapping[str, str] = MappingProxyType(
    {
        "error": "bold red",
        "warning": "bold magenta",
        "note": "bold cyan",
        "hint": "bold green",
        "remark": "bold blue",
        "place": "bold",
    }
)
"""Roles of a text in rich's words."""

Paint = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of warnings, by the -W flags."""

    off: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    silent: bool = False
    all_errors: bool = False

    def apply(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings to show, with warnings dropped or made errors."""
        out = []
        for found in diagnostics:
            if found.severity == "warning":
                if self.silent or found.group in self.off:
                    continue
                if self.all_errors or found.group in self.errors:
                    found = replace(found, severity="error")
            out.append(found)
        return out


def warning_groups() -> tuple[str, ...]:
    """The names that -W takes."""
    return tuple(dict.fromkeys(row.group for row in CODES.values() if row.group))


def painter(color: bool) -> Paint:
    """A function that gives text the style of its role, or leaves it alone."""
    if not color:
        return lambda _role, text: text
    from rich.color import ColorSystem
    from rich.style import Style

    return lambda role, text: Style.parse(_STYLES[role]).render(text, color_system=ColorSystem.STANDARD)


def as_text(diagnostics: list[Diagnostic], paint: Paint, limit: int = 20) -> str:
    """All findings and the totals line; at most `limit` errors (0: all)."""
    out: list[str] = []
    errors = 0
    for found in diagnostics:
        if found.severity == "error" and limit and errors == limit:
            out.append(f"only the first {limit} errors are shown (-ferror-limit=0 shows all)")
            break
        errors += found.severity == "error"
        out += _one(found, paint)
    total = totals(diagnostics)
    return "\n".join([*out, *([total] if total else [])]) + ("\n" if out else "")


def totals(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    severities = [found.severity for found in diagnostics]
    counts = ((severities.count(word), word) for word in ("error", "warning"))
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts if count)


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """One array of objects."""
    return json.dumps([_object(found) for found in diagnostics], indent=1) + "\n"


def explain(code: str) -> str:
    """The long text of a code."""
    row = CODES[code]
    leads = "a warning" if row.group else f"exit status {row.exit}"
    group = f", switched off by -Wno-{row.group}" if row.group else ""
    return f"{code}: {row.title} ({leads}{group})\n\n{row.explanation}\n"


def _one(found: Diagnostic, paint: Paint) -> Iterator[str]:
    severity = paint(found.severity, f"{found.severity}:")
    yield f"{paint('place', _place(found) + ':')} {severity} {found.message} [{found.code}]"
    if found.location and found.span:
        yield _note_head(Note("the line of the .pto file", found.span), paint)
    if found.span:
        yield from _excerpt(found.span, paint, found.severity)
    for note in found.notes:
        yield _note_head(note, paint)
        if note.span:
            yield from _excerpt(note.span, paint, "note")
    if found.hint:
        yield f"  {paint('hint', 'hint:')} {found.hint}"


def _place(found: Diagnostic) -> str:
    if found.location:
        return f"{found.location.file}:{found.location.line}:{found.location.column}"
    return _span_place(found.span) if found.span else "pptc"


def _span_place(span: Span) -> str:
    line, column = span.position
    return f"{span.source.name}:{line}:{column}"


def _note_head(note: Note, paint: Paint) -> str:
    place = f"{paint('place', _span_place(note.span) + ':')} " if note.span else "  "
    return f"{place}{paint('note', 'note:')} {note.message}"


def _excerpt(span: Span, paint: Paint, role: str) -> Iterator[str]:
    number, column = span.position
    line = span.source.line(number).rstrip("\r")
    if not line.strip():
        return
    start = min(column - 1, len(line))
    length = max(1, min(span.end - span.start, len(line) - start))
    if len(line) > WIDTH:
        left = max(0, start - WIDTH // 3)
        line, start = line[left : left + WIDTH], start - left
        length = min(length, max(1, WIDTH - start))
    yield f"  {line}"
    yield f"  {_blank(line[:start])}{paint(role, '^' + '~' * (max(1, _columns(line[start : start + length])) - 1))}"


def _blank(text: str) -> str:
    return "".join("\t" if char == "\t" else " " * _columns(char) for char in text)


def _columns(text: str) -> int:
    """Terminal columns of a text; wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _object(found: Diagnostic) -> dict[str, object]:
    return {
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
        "group": found.group,
        "hint": found.hint,
        "place": _place_object(found.span),
        "location": None
        if found.location is None
        else {"file": found.location.file, "line": found.location.line, "column": found.location.column},
        "notes": [{"message": note.message, "place": _place_object(note.span)} for note in found.notes],
    }


def _place_object(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    line, column = span.position
    return {"file": span.source.name, "line": line, "column": column, "length": span.end - span.start}
