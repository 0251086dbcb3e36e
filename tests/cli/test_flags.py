"""The reading of a command line: words in the manner of gcc, click behind them, and `--help`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pptc.cli import pptc_flags, pptc_opt, pptc_run
from pptc.cli.flags import Command, Flag, Parsed, parse
from pptc.cli.words import Style
from pptc.diag import CompileError

COMMANDS = {command.name: command for command in (pptc_flags.COMMAND, pptc_run.COMMAND, pptc_opt.COMMAND)}


def read(*words: str) -> Parsed:
    return parse(pptc_flags.COMMAND, words)


def faults(*words: str) -> list[tuple[str, str | None]]:
    with pytest.raises(CompileError) as caught:
        read(*words)
    assert caught.value.exit_status == 2
    return [(found.message, found.hint) for found in caught.value.sink]


def test_a_line_in_the_manner_of_gcc() -> None:
    line = "-O3 -Idir -I other -DN=4 -MD -MF f -arch=avx2 -Wno-chip -### -j2 -oout.so a.pto -- -b.pto"
    parsed = read(*line.split())
    assert parsed.inputs == ("a.pto", "-b.pto")
    assert parsed.values("include_dir") == ("dir", "other")
    assert parsed.value("define") == "N=4"
    assert parsed.value("deps_file") == "f"
    assert parsed.value("target") == "avx2"
    assert parsed.value("warn") == "no-chip"
    assert parsed.value("output") == "out.so"
    assert parsed.value("level") == "3" and parsed.value("jobs") == "2"
    assert parsed.on("dry_run") and parsed.on("deps_too") and not parsed.on("deps")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--target", "avx2"], "target", "avx2"),
        (["--target=avx2"], "target", "avx2"),
        (["-t", "avx2", "-t=avx512"], "target", "avx512"),
        (["-O"], "level", "1"),
        (["--dump-ir"], "dump", "after-change"),
        (["--dump-ir=final"], "dump", "final"),
        (["-o", "-"], "output", "-"),
        (["-o", "--"], "output", "--"),
        (["-MFd"], "deps_file", "d"),
        (["-MF", "-c"], "deps_file", "-c"),
        (["-Dx=-1"], "define", "x=-1"),
        (["--dump-ir", "k.pto"], "dump", "after-change"),
        (["-O", "k.pto"], "level", "1"),
        (["--list-ops"], "list_ops", ""),
        (["--list-ops=pto."], "list_ops", "pto."),
        (["--save-temps="], "save_temps", ""),
        (["-fdiagnostics-color"], "color", "always"),
    ],
)  # fmt: skip
def test_values(words: list[str], key: str, value: str) -> None:
    assert read(*words).value(key) == value


def test_standard_input_is_an_input() -> None:
    assert read("-x", "pto", "-").inputs == ("-",)


def test_every_fault_is_reported() -> None:
    """Those of the words first, then those of the values."""
    assert faults("--targt=x", "--emit=foo", "--emit=bar", "-c=3", "-j0", "-Q", "-o") == [
        ("unknown flag '--targt'", "did you mean '--target'?"),
        ("'-c' takes no value", None),
        ("unknown flag '-Q'", "did you mean '-MQ'?"),
        ("'-o' needs a value", "-o FILE: write to FILE; its suffix chooses the kind; - is standard output"),
        ("'--emit' does not take 'foo'", "one of pto, llvm-ir, bc, asm, obj, so, fatbin, c-header"),
        ("'--emit' does not take 'bar'", "one of pto, llvm-ir, bc, asm, obj, so, fatbin, c-header"),
        ("'-j' takes a whole number from 1, not '0'", None),
    ]


def test_response_files(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-t avx2 # a comment\n")
    outer.write_text(f"'a b.pto' @{inner}\n-O0")
    parsed = read(f"@{outer}", "-c")
    assert parsed.inputs == ("a b.pto",)
    assert (parsed.value("target"), parsed.value("level"), parsed.on("object")) == ("avx2", "0", True)


def test_response_files_that_fail(tmp_path: Path) -> None:
    loop, open_quote = tmp_path / "loop", tmp_path / "quote"
    loop.write_text(f"@{loop}")
    open_quote.write_text("'never closed")
    for name, code in ((tmp_path / "none", "P0302"), (loop, "P0301"), (open_quote, "P0302")):
        with pytest.raises(CompileError) as caught:
            read(f"@{name}")
        assert [found.code for found in caught.value.sink] == [code]


@pytest.mark.parametrize("command", COMMANDS)
def test_names_and_keys_are_unique(command: str) -> None:
    names = [name for flag in COMMANDS[command].flags for name in flag.opts]
    keys = [flag.key for flag in COMMANDS[command].flags]
    assert len(set(names)) == len(names) and len(set(keys)) == len(keys)


def test_help_fits_a_screen() -> None:
    lines = pptc_flags.COMMAND.help_text().splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 110


def test_a_flag_without_help_stands_on_the_line_before() -> None:
    flags = (Flag("a", ("-a",), "G", "both"), Flag("b", ("-b",), "G", style=Style.SHORT, metavar="N"))
    assert "-a, -b N" in Command("x", "", "y", flags).help_text()
