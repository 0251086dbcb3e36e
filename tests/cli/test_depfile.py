"""Make rules; GNU make itself says what the quoting means."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pptc.cli.depfile import COLUMNS, default_path, quote, rule


def test_one_line() -> None:
    assert rule(["k.o"], ["k.pto", "a.pto"]) == "k.o: k.pto a.pto\n"


def test_phony_rules_for_all_but_the_input() -> None:
    assert rule(["k.o"], ["k.pto", "a.pto"], phony=True) == "k.o: k.pto a.pto\n\na.pto:\n"


def test_long_lines_are_broken() -> None:
    files = [f"include/file{i}.pto" for i in range(20)]
    lines = rule(["k.o"], files).splitlines()
    assert all(len(line) <= COLUMNS + 2 for line in lines) and all(
        line.endswith(" \\") for line in lines[:-1]
    )
    assert " ".join(line.removesuffix(" \\") for line in lines).split() == ["k.o:", *files]


@pytest.mark.parametrize("name", ["plain.pto", "with space.pto", "dollar$.pto", "hash#.pto", "tab\t.pto"])
def test_make_reads_the_names_back(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "Makefile").write_text(f"all: out\n{rule(['out'], [name])}\t@touch out\n")
    for expected in (True, False):
        done = subprocess.run(["make", "-q", "out"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode == 1) is expected, done.stderr
        subprocess.run(["make", "-s"], cwd=tmp_path, check=True)


def test_quoting_of_targets() -> None:
    assert quote("a b$.o") == "a\\ b$$.o"


def test_where_the_rule_goes() -> None:
    assert default_path("out/k.so", "src/k.pto") == "out/k.d"
    assert default_path("-", "src/k.pto") == "k.d"
