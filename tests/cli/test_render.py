"""How diagnostics look."""

from __future__ import annotations

import json

from pptc.cli import render
from pptc.diag import CODES, Diagnostic, Note, Source, Span, UserLocation

PLAIN = render.painter(False)
TEXT = "module {\n  %a = pto.thing %b\n\t%日本 = pto.x %c\n}\n"
SOURCE = Source("k.pto", TEXT)


def span(text: str) -> Span:
    start = TEXT.index(text)
    return Span(SOURCE, start, start + len(text))


def shown(*found: Diagnostic, limit: int = 20) -> list[str]:
    return render.as_text(list(found), PLAIN, limit).splitlines()


def test_place_line_caret_hint_and_totals() -> None:
    error = Diagnostic("P0101", "unknown value %b", span("%b"), hint="did you mean %a?")
    assert shown(error) == [
        "k.pto:2:18: error: unknown value %b [P0101]",
        "    %a = pto.thing %b",
        "                   ^~",
        "  hint: did you mean %a?",
        "1 error",
    ]


def test_the_callers_own_line_wins() -> None:
    error = Diagnostic("P0101", "bad", span("%b"), location=UserLocation("kernel.py", 12, 8))
    assert shown(error)[:3] == [
        "kernel.py:12:8: error: bad [P0101]",
        "k.pto:2:18: note: the line of the .pto file",
        "    %a = pto.thing %b",
    ]


def test_wide_characters_and_tabs_keep_the_caret_in_place() -> None:
    lines = shown(Diagnostic("P0101", "bad", span("%c")))
    assert lines[1] == "  \t%日本 = pto.x %c"
    assert lines[2] == "  \t" + " " * len("%JJJJ = pto.x ") + "^~"


def test_long_lines_are_cut_around_the_caret() -> None:
    text = "a" * 500 + "HERE" + "b" * 500
    lines = shown(Diagnostic("P0001", "bad", Span(Source("k", text), 500, 504)))
    caret = lines[2].index("^")
    assert len(lines[1]) <= render.WIDTH + 2 and lines[1][caret : caret + 4] == "HERE"


def test_a_span_over_lines_marks_its_first_line_only() -> None:
    lines = shown(Diagnostic("P0001", "bad", Span(SOURCE, 0, len(TEXT))))
    assert lines[1:3] == ["  module {", "  ^~~~~~~~"]


def test_notes_have_their_own_place() -> None:
    error = Diagnostic("P0102", "twice", span("%b"), notes=(Note("first here", span("%a")), Note("no place")))
    assert shown(error)[3:] == [
        "k.pto:2:3: note: first here",
        "    %a = pto.thing %b",
        "    ^~",
        "  note: no place",
        "1 error",
    ]


def test_the_limit_counts_errors_only() -> None:
    warning = Diagnostic("W0003", "unused", severity="warning", group="chip")
    errors = [Diagnostic("P0101", f"e{i}") for i in range(3)]
    lines = shown(errors[0], warning, *errors[1:], limit=1)
    assert lines == [
        "pptc: error: e0 [P0101]",
        "pptc: warning: unused [W0003]",
        "only the first 1 errors are shown (-ferror-limit=0 shows all)",
        "3 errors, 1 warning",
    ]
    assert len(shown(*errors, limit=0)) == 4


def test_colors_wrap_the_severity() -> None:
    text = render.as_text([Diagnostic("P0101", "bad")], render.painter(True))
    assert "\033[1;31merror:\033[0m" in text


def test_json_holds_everything() -> None:
    error = Diagnostic("P0101", "bad", span("%b"), "do", (Note("n", span("%a")),), UserLocation("k.py", 1, 2))
    (entry,) = json.loads(render.as_json([error]))
    assert entry["place"] == {"file": "k.pto", "line": 2, "column": 18, "length": 2}
    assert entry["location"] == {"file": "k.py", "line": 1, "column": 2}
    assert (entry["code"], entry["severity"], entry["hint"]) == ("P0101", "error", "do")
    assert entry["notes"][0]["place"]["column"] == 3


def test_warnings_by_group() -> None:
    warning = Diagnostic("W0003", "unused", severity="warning", group="chip")
    assert render.Policy(off=frozenset({"chip"})).apply([warning]) == []
    assert render.Policy(silent=True).apply([warning]) == []
    for policy in (render.Policy(all_errors=True), render.Policy(errors=frozenset({"chip"}))):
        assert [found.severity for found in policy.apply([warning])] == ["error"]
    assert render.Policy().apply([warning]) == [warning]


def test_every_code_can_be_explained() -> None:
    for code, row in CODES.items():
        assert row.explanation in render.explain(code)
    assert "exit status 3" in render.explain("P0302") and "-Wno-chip" in render.explain("W0003")


def test_an_empty_line_is_not_shown() -> None:
    assert shown(Diagnostic("P0003", "no module", Span(Source("k.pto", "\n"), 0, 0))) == [
        "k.pto:1:1: error: no module [P0003]",
        "1 error",
    ]
