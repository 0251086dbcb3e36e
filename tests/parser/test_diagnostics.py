"""Every malformed input of tests/files/diag gives exactly the findings that its comments name, line and column included.

`// expected-error@+N:COLUMN [CODE] {{part of the message}}` speaks of the Nth line below (`@-N`: above). A line
`// -----` ends one input and begins the next.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pptc.diag import Diagnostic, Sink, Source
from pptc.ir.verify import verify
from pptc.parser import decode, parse

FOLDER = Path(__file__).parent.parent / "files" / "diag"
EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning)(?:@(?P<offset>[+-]\d+))?:(?P<column>\d+) \[(?P<code>[PW]\d+)\] \{\{(?P<part>.*)\}\}"
)
INPUTS = {
    f"{path.stem}-{number}": text
    for path in sorted(FOLDER.glob("*.pto"))
    for number, text in enumerate(
        re.split(r"^// -----$\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
}


def findings(text: str) -> list[Diagnostic]:
    """What the parser and the verifier say, in the order of the text."""
    sink = Sink()
    module = parse(Source("input.pto", text), sink)
    if module is not None:
        verify(module, sink)
    return sorted(sink, key=lambda found: found.span.start if found.span else -1)


@pytest.mark.parametrize("name", INPUTS)
def test_findings(name: str) -> None:
    text = INPUTS[name]
    wanted = []
    for number, line in enumerate(text.split("\n"), 1):
        if match := EXPECTED.search(line):
            place = (number + int(match["offset"] or 0), int(match["column"]))
            wanted.append((place, match["severity"], match["code"], match["part"]))
    found = findings(text)
    places = [(f.span.position if f.span else None, f.severity, f.code) for f in found]
    assert places == [entry[:3] for entry in sorted(wanted)], "\n".join(f"{f.message}" for f in found)
    for place, _, code, part in wanted:
        assert any(
            part in f.message for f in found if f.span and (f.span.position, f.code) == (place, code)
        ), part


def test_there_are_many_inputs() -> None:
    codes = {match["code"] for text in INPUTS.values() for match in EXPECTED.finditer(text)}
    assert len(INPUTS) >= 20
    assert len(codes) >= 20


@pytest.mark.parametrize(
    ("data", "code", "position"),
    [
        (b"PTOBC\0\1\2\3", "P0004", (1, 1)),
        (b"ML\xefR\x06MLIR", "P0004", (1, 1)),
        (b"module {\n  // \xff\n}", "P0008", (2, 6)),
    ],
)
def test_bytes_that_are_no_text(data: bytes, code: str, position: tuple[int, int]) -> None:
    sink = Sink()
    assert decode("k.pto", data, sink) is None
    (found,) = sink
    assert found.code == code and found.span is not None
    assert found.span.position == position


def test_deep_nesting_is_told_not_thrown() -> None:
    deep = "module {\n" * 3000 + "}\n" * 3000
    assert [found.code for found in findings(deep)] == ["P0001"]


def test_hints_say_what_to_do() -> None:
    text = "module {\n  func.func @f(%left: index) {\n    %a = arith.addi %lef, %left : index\n    return\n  }\n}\n"
    (found,) = findings(text)
    assert found.hint == "did you mean `%left`?"


def test_the_brace_that_is_missing_is_found_by_indentation() -> None:
    text = """module {
  func.func @f(%n: index) {
    scf.for %i = %n to %n step %n {
      %a = arith.addi %i, %n : index
    return
  }
  func.func @g() {
    return
  }
}
"""
    last = findings(text)[-1]
    assert last.code == "P0001" and last.span is not None
    assert last.notes[0].span is not None and last.notes[0].span.position == (3, 35)


@pytest.mark.parametrize(
    "text",
    [
        "module { func.func @f() { %x:99999999999 = arith.constant 1 : i32 return } }",
        "module { func.func @f() { %x:0 = arith.constant 1 : i32 return } }",
        "module { func.func @f() { %x = arith.constant " + "9" * 5000 + " : i32 return } }",
        'module { func.func @f() { %x = arith.constant 1 : i32 loc("k":' + "9" * 5000 + ":1) return } }",
        "module { func.func @f(%t: !pto.tile_buf<vec, " + "9" * 5000 + "x8xf32>) { return } }",
        "module attributes {a = " + "[" * 5000 + "]" * 5000 + "} { }",
        "\0\1\2" * 100,
        "{" * 2000,
        "%a, " * 4000,
        "^a(" * 20000,
        "!a<" * 20000,
        '"' * 20001,
        "module { " + "func.func @f() { %x = garbage " * 300,
    ],
)
def test_strange_texts_end_in_findings(text: str) -> None:
    assert findings(text)
