"""The command pptc-run, on the interpreter and on compiled kernels."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.cli.conftest import Call, Result

ARGUMENTS = ("-i", "x=50xf32=random:1", "-i", "y=50xf32=random:2", "-i", "z=50xf32=zeros", "-i", "n=50")

GRID = """\
module attributes {pto.target_arch = "a2a3"} {
  func.func @mark(%z: !pto.ptr<f32>, %__pypto_spmd_block_idx: i32, %__pypto_spmd_block_num: i32) {
    %c1 = arith.constant 1 : index
    %i = arith.index_cast %__pypto_spmd_block_idx : i32 to index
    %n = arith.index_cast %__pypto_spmd_block_num : i32 to index
    %v = arith.sitofp %__pypto_spmd_block_idx : i32 to f32
    %view = pto.make_tensor_view %z, shape = [%c1, %n], strides = [%n, %c1] : !pto.tensor_view<?x?xf32>
    %c0 = arith.constant 0 : index
    %part = pto.partition_view %view, offsets = [%c0, %i], sizes = [%c1, %c1] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x1xf32>
    %t = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32, valid=1x1>
    pto.texpands ins(%v : f32) outs(%t : !pto.tile_buf<vec, 1x8xf32, valid=1x1>)
    pto.tstore ins(%t : !pto.tile_buf<vec, 1x8xf32, valid=1x1>) outs(%part : !pto.partition_tensor_view<1x1xf32>)
    return
  }
}
"""

FLAGS = """\
module {
  func.func @twice(%x: !pto.ptr<f32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %v = pto.make_tensor_view %x, shape = [%c8, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
    %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c8, %c8] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x8xf32>
    %a = arith.constant 0 : i64
    %t = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 8x8xf32>
    pto.tload ins(%p : !pto.partition_tensor_view<8x8xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32>)
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.tadd ins(%t, %t : !pto.tile_buf<vec, 8x8xf32>, !pto.tile_buf<vec, 8x8xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32>)
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.tstore ins(%t : !pto.tile_buf<vec, 8x8xf32>) outs(%p : !pto.partition_tensor_view<8x8xf32>)
    return
  }
}
"""


@pytest.fixture(params=["ref", "avx2", "image"])
def run(request: pytest.FixtureRequest, call: Call):  # type: ignore[no-untyped-def]
    """Runs k.pto interpreted, compiled on the fly, and from a shared object."""
    if request.param == "image":
        assert call("pptc", "k.pto").status == 0
        return lambda *words: call("pptc-run", "k.so", *words)
    return lambda *words: call("pptc-run", "-t", request.param, "k.pto", *words)


def test_arrays_go_in_and_come_out(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    result = run(*ARGUMENTS, "-o", "z=z.npy", "-o", "x=x.npy", "-o", "y=y.npy")
    assert result.status == 0, result.err
    x, y, z = (np.load(folder / f"{name}.npy") for name in "xyz")
    assert (z == x + y).all() and x.any()
    again = run("-i", "x=x.npy", "-i", "y=y.npy", "-i", "z=z.npy", "-i", "n=50", "--expect", "z=z.npy")
    assert again.status == 0 and "largest difference 0" in again.out


def test_a_comparison_that_fails_names_the_element(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    run(*ARGUMENTS, "-o", "z=z.npy")
    wanted = np.load(folder / "z.npy")
    wanted[7] += 1
    np.save(folder / "z.npy", wanted)
    result = run(*ARGUMENTS, "--expect", "z=z.npy")
    assert result.status == 6 and "z[7] is " in result.err and "[P0601]" in result.err
    assert run(*ARGUMENTS, "--expect", "z=z.npy", "--atol=1.1").status == 0


def test_report(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    result = run(*ARGUMENTS, "--json", "--repeat=3", "--report=report.json", "-o", "z=z.npy")
    report = json.loads(result.out)
    assert report == json.loads((folder / "report.json").read_text())
    assert {"section", "target", "device", "seconds", "outputs", "degradations"} <= set(report)
    assert len(report["seconds"]) == 3 and report["outputs"]["z"]["shape"] == [50]
    assert list(report["outputs"]) == ["z"]


@pytest.mark.parametrize("target", ["ref", "avx2"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_blocks_of_a_grid(call: Call, folder: Path, target: str, threads: str) -> None:
    (folder / "g.pto").write_text(GRID)
    result = call(
        "pptc-run",
        "-t",
        target,
        "g.pto",
        "--grid=5",
        f"--threads={threads}",
        "-i",
        "z=5xf32=-1",
        "-o",
        "z=z.npy",
    )
    assert result.status == 0, result.err
    assert np.load(folder / "z.npy").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        ([], 2, "P0301"),
        (["k.pto", "k.pto"], 2, "P0301"),
        (["k.pto"], 2, "P0306"),
        (["k.pto", "-i", "q=1"], 2, "P0306"),
        (["k.pto", *ARGUMENTS, "-i", "x=1xf32=zeros"], 2, "P0301"),
        (["k.pto", *ARGUMENTS[:-1], "n=99999999999"], 2, "P0306"),
        (["k.pto", "-i", "x"], 2, "P0301"),
        (["k.pto", *ARGUMENTS, "-o", "n=n.npy"], 2, "P0306"),
        (["k.pto", *ARGUMENTS, "--expect", "z=none.npy"], 3, "P0302"),
        (["k.pto", *ARGUMENTS, "-o", "z=none/z.npy"], 3, "P0303"),
        (["k.pto", *ARGUMENTS, "--grid=0"], 2, "P0301"),
        (["k.pto", *ARGUMENTS, "--rtol=x"], 2, "P0301"),
        (["k.pto", *ARGUMENTS, "--entry=none"], 1, "P0103"),
        (["none.pto", *ARGUMENTS], 3, "P0302"),
        (["none.so", *ARGUMENTS], 3, "P0302"),
        (["broken.so", *ARGUMENTS], 3, "P0304"),
        (["text.so", *ARGUMENTS], 3, "P0304"),
        (["k.so", "-O2", *ARGUMENTS], 2, "P0301"),
        (["k.so", "--check-sync", *ARGUMENTS], 2, "P0301"),
        (["k.pto", "--check-sync", *ARGUMENTS], 2, "P0301"),
        (["k.so", "-t", "avx512", *ARGUMENTS], 4, "P0404"),
        (["k.so", "--cpu-features=-avx2", *ARGUMENTS], 4, "P0404"),
    ],
)  # fmt: skip
def test_faults(call: Call, folder: Path, words: list[str], status: int, code: str) -> None:
    call("pptc", "-t", "avx2", "k.pto")
    image = (folder / "k.so").read_bytes()
    (folder / "broken.so").write_bytes(image[: len(image) // 2])
    (folder / "text.so").write_text("not an image")
    result = call("pptc-run", *words)
    assert (result.status, result.out) == (status, "")
    assert f"[{code}]" in result.err and "Traceback" not in result.err


def check_flags(call: Call, text: str, *words: str) -> Result:
    Path("f.pto").write_text(text)
    return call("pptc-run", "-t", "ref", "--check-sync", "f.pto", "-i", "x=8x8xf32=1", *words)


def test_flags_that_are_right(call: Call, folder: Path) -> None:
    result = check_flags(call, FLAGS, "-o", "x=x.npy")
    assert (result.status, result.err) == (0, "") and "flags: checked, 0 findings" in result.out
    assert (np.load(folder / "x.npy") == 2).all()
    assert json.loads(check_flags(call, FLAGS, "--json").out)["sync"] == "checked, 0 findings"
    assert "sync" not in json.loads(call("pptc-run", "-t", "ref", "f.pto", "-i", "x=8x8xf32=1", "--json").out)


def test_a_missing_wait_names_both_lines(call: Call, folder: Path) -> None:
    lines = FLAGS.splitlines(keepends=True)
    result = check_flags(
        call, "".join(line for line in lines if "wait_flag[<PIPE_MTE2>" not in line), "--repeat=2"
    )
    assert result.status == 1 and "checked, 2 findings" in result.out
    error, note = (
        "f.pto:12:5: error: pto.tadd on PIPE_V reads",
        "f.pto:10:5: note: written here, on PIPE_MTE2\n",
    )
    assert result.err.count(error) == 1 and note + f"  {lines[9]}" in result.err
    assert "f.pto:11:5: error: pto.set_flag: nothing waits for" in result.err and "[P0604]" in result.err


def test_a_wait_that_nothing_raised_does_not_end_the_check(call: Call, folder: Path) -> None:
    left = [line for line in FLAGS.splitlines(keepends=True) if "set_flag[<PIPE_V>" not in line]
    result = check_flags(call, "".join(left).replace("    return\n", "    pto.trap\n    return\n"))
    assert result.status == 1 and "nothing raises PIPE_V -> PIPE_MTE3, EVENT_ID0" in result.err
    assert result.err.index("[P0604]") < result.err.index("the kernel trapped [P0602]")


def test_flags_that_are_left_to_the_assembler(call: Call, folder: Path) -> None:
    result = call("pptc-run", "-t", "ref", "--check-sync", "k.pto", *ARGUMENTS)
    assert result.status == 0 and "flags: nothing to check: the assembler places the tiles" in result.out


PRINTS = """module {
  func.func private @show(%x: !pto.ptr<f32>, %block: i64) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %own = pto.get_block_num
    %same = arith.addi %own, %block : i64
    %row = arith.index_cast %same : i64 to index
    %v = pto.make_tensor_view %x, shape = [%c3, %c3], strides = [%c3, %c1] : !pto.tensor_view<?x?xf32>
    %p = pto.partition_view %v, offsets = [%row, %c0], sizes = [%c1, %c3] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x3xf32>
    pto.tprint ins(%p : !pto.partition_tensor_view<1x3xf32>) {printFormat = #pto<print_format width10_precision6>}
    return
  }
  func.func @k(%x: !pto.ptr<f32>, %n: !pto.ptr<i16>, %r: index) attributes {pto.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0 : i64
    %v = pto.make_tensor_view %x, shape = [%c3, %c3], strides = [%c3, %c1] : !pto.tensor_view<?x?xf32>
    %w = pto.make_tensor_view %n, shape = [%c1, %c3], strides = [%c3, %c1] : !pto.tensor_view<?x?xi16>
    %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%r, %c3] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x3xf32>
    %q = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c1, %c3] : !pto.tensor_view<?x?xi16> -> !pto.partition_tensor_view<1x3xi16>
    %t = pto.alloc_tile valid_row = %r : !pto.tile_buf<vec, 8x8xf32, valid=?x3>
    %u = pto.alloc_tile : !pto.tile_buf<vec, 1x16xi16, valid=1x3>
    %h = pto.alloc_tile valid_row = %r : !pto.tile_buf<vec, 8x16xbf16, valid=?x3>
    pto.tload ins(%p : !pto.partition_tensor_view<?x3xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32, valid=?x3>)
    pto.tload ins(%q : !pto.partition_tensor_view<1x3xi16>) outs(%u : !pto.tile_buf<vec, 1x16xi16, valid=1x3>)
    pto.tprint ins(%u : !pto.tile_buf<vec, 1x16xi16, valid=1x3>)
    pto.tcvt ins(%t {rmode = #pto<round_mode RINT>, satmode = #pto<saturation_mode OFF>} : !pto.tile_buf<vec, 8x8xf32, valid=?x3>) outs(%h : !pto.tile_buf<vec, 8x16xbf16, valid=?x3>)
    pto.tprint ins(%h : !pto.tile_buf<vec, 8x16xbf16, valid=?x3>) {printFormat = #pto<print_format width8_precision2>}
    func.call @show(%x, %zero) : (!pto.ptr<f32>, i64) -> ()
    return
  }
}
"""


@pytest.mark.parametrize("road", ["ref", "O0", "O2"])
def test_what_a_kernel_prints(call: Call, folder: Path, road: str) -> None:
    """Numbers, and what is none; in a function that the kernel calls too, which asks for the grid."""
    (folder / "p.pto").write_text(PRINTS)
    x = np.array([[1.005, -np.inf, np.nan], [-0.0, 2.5e5, 1 / 3], [7, 8, 9]], np.float32)
    n = np.array([[-32768, 0, 7]], np.int16)
    np.save("x.npy", x)
    np.save("n.npy", n)
    words = ("-i", "x=x.npy", "-i", "n=n.npy", "-i", "r=2")
    if road == "ref":
        result = call("pptc-run", "-t", "ref", "p.pto", *words)
    else:
        assert call("pptc", "-t", "avx2", f"-{road}", "p.pto", "-o", "p.so").status == 0
        result = call("pptc-run", "p.so", *words)
    assert result.status == 0 and result.out.startswith("k on ")
    rounded = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    lines = [
        "".join(f"{value:8d} " for value in n[0]),
        *("".join(f"{value:8.2f} " for value in row) for row in rounded[:2]),
        "".join(f"{value:10.6f} " for value in x[1]),
    ]
    assert result.err.splitlines() == lines


def test_help_and_version(call: Call) -> None:
    assert call("pptc-run", "--version").out.startswith("pptc-run ")
    assert "--expect" in call("pptc-run", "--help").out
