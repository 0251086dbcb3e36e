"""The command pptc-opt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import KERNEL, Call

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_without_passes_the_module_comes_back(call: Call) -> None:
    text = call("pptc", "-E", "k.pto").out
    assert call("pptc-opt", "k.pto").out == text
    assert call("pptc-opt", stdin=KERNEL).out == text
    assert call("pptc-opt", "-", stdin=KERNEL).out == text


def test_passes_run_in_order(call: Call, folder: Path) -> None:
    result = call(
        "pptc-opt", "-t", "avx2", "--verify-each", "--pass-pipeline=canonicalize,promote-tiles", "k.pto"
    )
    assert result.status == 0 and "tile.private" in result.out
    assert call("pptc-opt", "-o", "out.pto", "k.pto").out == ""
    assert (folder / "out.pto").exists()


def test_the_last_tile_level_dump_gives_the_bytes_of_the_whole_run(call: Call, folder: Path) -> None:
    assert call("pptc", "-t", "avx2", "-c", "k.pto", "-o", "whole.o").status == 0
    assert call("pptc", "-t", "avx2", "--compile-to=tiled", "k.pto", "-o", "tiled.pto").status == 0
    pipeline = call("pptc", "-t", "avx2", "--print-pipeline", "k.pto").out.removeprefix("avx2: ").strip()
    rest = pipeline[pipeline.index("lower-tiles") :]
    lowered = call("pptc-opt", "-t", "avx2", f"--pass-pipeline={rest}", "tiled.pto").out
    assert lowered == call("pptc", "-t", "avx2", "--compile-to=lowered", "k.pto").out
    assert call("pptc", "-t", "avx2", "-c", "tiled.pto", "-o", "again.o").status == 0
    assert (folder / "again.o").read_bytes() == (folder / "whole.o").read_bytes()


def test_dumps_and_remarks_go_to_standard_error(call: Call) -> None:
    result = call("pptc-opt", "-t", "avx2", "--dump-ir", "--pass-pipeline=promote-tiles", "k.pto")
    assert "// ----- after promote-tiles (avx2)" in result.err and "// -----" not in result.out


def test_faults(call: Call, folder: Path) -> None:
    bad = KERNEL.replace("pto.tadd ins(%a, %b", "pto.tadd ins(%a, %x")
    (folder / "bad.pto").write_text(bad)
    for words, status in (
        (["bad.pto"], 1),
        (["none.pto"], 3),
        (["k.pto", "k.pto"], 2),
        (["--pass-pipeline=nothing", "k.pto"], 2),
        (["--pass-pipeline=canonicalize{x=1}", "k.pto"], 2),
        (["-t", "nowhere", "k.pto"], 2),
        (["--pas-pipeline=x", "k.pto"], 2),
    ):
        result = call("pptc-opt", *words)
        assert (result.status, result.out) == (status, ""), words
        assert "Traceback" not in result.err


def test_an_invalid_module_can_be_printed(call: Call, folder: Path) -> None:
    (folder / "empty.pto").write_text("module {\n  func.func @f() {\n  }\n}\n")
    assert call("pptc-opt", "empty.pto").status == 1
    assert call("pptc-opt", "--no-verify", "empty.pto").status == 0


def test_help_and_version(call: Call) -> None:
    assert call("pptc-opt", "--version").out.startswith("pptc-opt ")
    assert "--pass-pipeline" in call("pptc-opt", "--help").out


@pytest.mark.parametrize("example", ["matmul_silu", "rmsnorm", "softmax"])
def test_every_dump_gives_the_code_of_the_whole_run(call: Call, folder: Path, example: str) -> None:
    source = str(EXAMPLES / example / f"{example}.pto")
    assert call("pptc", "-t", "avx2", "--dump-dir", "dumps", source).status == 0
    whole = call("pptc", "-t", "avx2", "-S", source, "-o", "-")
    dumps = sorted((folder / "dumps").iterdir())
    assert {"lower-tiles", "expand-math"} <= {dump.name.split(".")[0][3:] for dump in dumps}
    for dump in dumps:
        again = call("pptc", "-t", "avx2", "-S", str(dump), "-o", "-")
        assert (again.status, again.out) == (0, whole.out), dump.name
