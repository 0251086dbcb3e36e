"""Every well-formed file of tests/files and of the examples is read without a finding and survives its own print."""

from __future__ import annotations

from pathlib import Path

import pytest

from pptc.diag import Sink, Source
from pptc.ir.compare import difference
from pptc.ir.core import Op
from pptc.ir.printer import print_module
from pptc.ir.verify import verify
from pptc.parser import parse

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [
    *sorted((ROOT / "tests" / "files" / "tile").glob("*.pto")),
    *sorted((ROOT / "tests" / "files" / "odd").glob("*.pto")),
    *sorted((ROOT / "tests" / "files" / "core").glob("*.pto")),
    *sorted((ROOT / "examples").glob("*/*.pto")),
]


def read(name: str, text: str) -> tuple[Op, Sink]:
    sink = Sink()
    module = parse(Source(name, text), sink)
    assert module is not None
    return module, sink


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_text_and_module_say_the_same(path: Path) -> None:
    module, sink = read(path.name, path.read_text(encoding="utf-8"))
    assert not list(sink)
    text = print_module(module)
    again, sink = read("printed.pto", text)
    assert not list(sink)
    assert difference(module, again) is None
    assert print_module(again) == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_are_verified(path: Path) -> None:
    if path.parent.name == "make_project":
        return  # calls helpers of an included file
    module, sink = read(path.name, path.read_text(encoding="utf-8"))
    verify(module, sink)
    assert [(f.code, f.message) for f in sink] == []


def test_every_op_has_a_span() -> None:
    for path in FILES:
        module, _ = read(path.name, path.read_text(encoding="utf-8"))
        assert all(op.span is not None for op in module.walk())
