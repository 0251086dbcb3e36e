"""The command pptc: outputs by flag and suffix, exit codes, and what is left alone when something is wrong."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pptc as compiler
from pptc.options import host_target
from pptc.runtime import PptError
from tests.cli.conftest import KERNEL, Call

BAD = KERNEL.replace("pto.tadd ins(%a, %b", "pto.tadd ins(%a, %bb")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def add_with(path: Path) -> None:
    """Load an image and check that its kernel adds."""
    x, y = (np.random.default_rng(seed).standard_normal(50, np.float32) for seed in (1, 2))
    z = np.zeros_like(x)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, z)]
    ctypes.CDLL(str(path))["add"](*pointers, ctypes.c_int32(50))
    assert (z == x + y).all()


# ---------------------------------------------------------------- outputs


def test_without_a_flag_a_shared_object_for_this_machine(call: Call, folder: Path) -> None:
    assert call("pptc", "k.pto") == type(call("pptc", "--version"))(0, "", "")
    assert names(folder) == ["k.pto", "k.so"]
    add_with(folder / "k.so")


@pytest.mark.parametrize("target", ["x86-64", "avx2", "avx512"])
@pytest.mark.parametrize("level", ["0", "1", "2", "3"])
def test_every_level_makes_an_image(call: Call, folder: Path, target: str, level: str) -> None:
    assert call("pptc", "-t", target, f"-O{level}", "--verify-each", "k.pto").status == 0
    add_with(folder / "k.so")


@pytest.mark.parametrize(
    ("words", "name", "begin"),
    [
        (["-c"], "k.o", "\x7fELF"),
        (["-S"], "k.s", "\t"),
        (["--emit=llvm-ir"], "k.ll", "; ModuleID"),
        (["--emit=bc"], "k.bc", "BC"),
        (["--emit=c-header"], "k.h", "/* k.h"),
        (["--emit=fatbin"], "k.pptf", "PPTF"),
        (["--compile-to=llvm"], "k.ll", "; ModuleID"),
        (["-o", "out.h"], "out.h", "/* out.h"),
        (["-o", "out.o"], "out.o", "\x7fELF"),
        (["-o", "out.ll"], "out.ll", "; ModuleID"),
        (["-o", "out.pto"], "out.pto", "module"),
        (["-o", "out"], "out", "\x7fELF"),
    ],
)  # fmt: skip
def test_kinds_of_output(call: Call, folder: Path, words: list[str], name: str, begin: str) -> None:
    assert call("pptc", *words, "k.pto").status == 0
    assert names(folder) == sorted(["k.pto", name])
    assert (folder / name).read_bytes().startswith(begin.encode())


@pytest.mark.parametrize(
    "words", [["-E"], ["--emit=pto"], ["--compile-to=canonical"], ["--compile-to=tiled"]]
)
def test_module_text_goes_to_standard_output_and_is_an_input(
    call: Call, folder: Path, words: list[str]
) -> None:
    text = call("pptc", *words, "k.pto").out
    assert "func.func @add" in text and "pto.tadd" in text
    assert names(folder) == ["k.pto"]
    assert call("pptc", "-", "-o", "again.so", stdin=text).status == 0
    add_with(folder / "again.so")


def test_standard_input_and_output(call: Call, folder: Path) -> None:
    assert call("pptc", "-E", "-", stdin=KERNEL).out == call("pptc", "-E", "k.pto").out
    assert call("pptc", "-c", "-", "-o", "-", stdin=KERNEL).out.startswith("\x7fELF")
    assert names(folder) == ["k.pto"]


def test_several_inputs_make_objects_or_one_image(call: Call, folder: Path) -> None:
    (folder / "m.pto").write_text(KERNEL.replace("@add", "@plus"))
    assert call("pptc", "-c", "k.pto", "m.pto").status == 0
    assert call("pptc", "k.pto", "m.pto", "-o", "both.so").status == 0
    assert names(folder) == ["both.so", "k.o", "k.pto", "m.o", "m.pto"]
    library = ctypes.CDLL(str(folder / "both.so"))
    assert library.add and library.plus


def test_several_targets_of_a_text(call: Call, folder: Path) -> None:
    assert call("pptc", "-S", "-t", "avx2,x86-64", "k.pto").status == 0
    assert names(folder) == ["k.avx2.s", "k.pto", "k.x86-64.s"]


def test_objects_link_with_a_system_linker(call: Call, folder: Path) -> None:
    assert call("pptc", "-c", "--emit=obj", "-t", "x86-64", "k.pto").status == 0
    assert call("pptc", "--emit=c-header", "k.pto").status == 0
    (folder / "main.c").write_text(
        '#include "k.h"\n#include "k.h"\nint main(void) { float x = 1, y = 2, z = 0; add(&x, &y, &z, 1); return z != 3; }\n'
    )
    subprocess.run(["gcc", "-Wall", "-Werror", "main.c", "k.o", "-o", "main"], cwd=folder, check=True)
    subprocess.run([folder / "main"], check=True)


def test_symbol_prefix(call: Call, folder: Path) -> None:
    assert call("pptc", "--symbol-prefix=my_", "k.pto").status == 0
    library = ctypes.CDLL(str(folder / "k.so"))
    assert library.my_add
    with pytest.raises(AttributeError):
        _ = library.add
    call("pptc", "--symbol-prefix=my_", "--emit=c-header", "k.pto")
    assert "void my_add(" in (folder / "k.h").read_text()


# ---------------------------------------------------------------- files


def test_an_equal_output_is_not_touched(call: Call, folder: Path) -> None:
    assert call("pptc", "k.pto").status == 0
    os.utime(folder / "k.pto", ns=(0, 0))
    os.utime(folder / "k.so", ns=(0, 0))
    assert call("pptc", "k.pto").status == 0
    assert (folder / "k.so").stat().st_mtime_ns == 0
    assert call("pptc", "-O0", "k.pto").status == 0
    assert (folder / "k.so").stat().st_mtime_ns != 0


def test_an_equal_output_older_than_an_input_gets_a_new_date(call: Call, folder: Path) -> None:
    assert call("pptc", "k.pto").status == 0
    os.utime(folder / "k.so", ns=(0, 0))
    assert call("pptc", "k.pto").status == 0
    assert (folder / "k.so").stat().st_mtime_ns >= (folder / "k.pto").stat().st_mtime_ns


def test_permissions(call: Call, folder: Path) -> None:
    old = os.umask(0o027)
    try:
        call("pptc", "k.pto")
        call("pptc", "-c", "k.pto")
    finally:
        os.umask(old)
    assert stat.S_IMODE((folder / "k.so").stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "k.o").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "words", "status", "code"),
    [
        (BAD, [], 1, "P0101"),
        ("", [], 1, "P0003"),
        ("module {", [], 1, "P0001"),
        (KERNEL, ["-t", "nowhere"], 2, "P0401"),
        (KERNEL, ["--pass-pipeline=nothing"], 2, "P0305"),
        (KERNEL, ["-t", "ref"], 4, "P0402"),
        (KERNEL, ["-t", "avx2,avx512"], 2, "P0403"),
        (KERNEL, ["-include", "none.pto"], 3, "P0302"),
        (KERNEL, ["-D", "none=1"], 2, "P0301"),
        (KERNEL, ["-D", "c64=x"], 2, "P0301"),
        (KERNEL, ["--pto-level=level3"], 1, "P0211"),
        (KERNEL, ["none.pto"], 3, "P0302"),
    ],
)  # fmt: skip
def test_a_failed_compile_touches_nothing(
    call: Call, folder: Path, text: str, words: list[str], status: int, code: str
) -> None:
    (folder / "k.pto").write_text(text)
    (folder / "out.so").write_text("old")
    result = call("pptc", *words, "k.pto", "-o", "out.so", "-MD")
    assert (result.status, result.out) == (status, "")
    assert f"[{code}]" in result.err and "Traceback" not in result.err
    assert names(folder) == ["k.pto", "out.so"] and (folder / "out.so").read_text() == "old"


def test_faults_of_all_inputs_are_shown(call: Call, folder: Path) -> None:
    (folder / "bad.pto").write_text(BAD)
    (folder / "empty.pto").write_text("")
    result = call("pptc", "-c", "bad.pto", "empty.pto", "k.pto")
    assert result.status == 1 and names(folder) == ["bad.pto", "empty.pto", "k.pto"]
    assert "bad.pto:" in result.err and "empty.pto:1:1" in result.err and result.err.endswith("2 errors\n")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["k.pto", "-o", "k.pto"],
        ["k.pto", "m.pto", "-c", "-o", "x.o"],
        ["k.pto", "m.pto"],
        ["-c", "k.pto", "dir/k.pto"],
        ["-c", "-S", "k.pto"],
        ["-c", "--emit=so", "k.pto"],
        ["k.pto", "-o", "k.ptx"],
        ["-"],
        ["-j0", "k.pto"],
        ["-ferror-limit=x", "k.pto"],
        ["-Wnothing", "k.pto"],
        ["--dump-ir=sometimes", "k.pto"],
        ["--dump-ir", "--dump-func=(", "k.pto"],
        ["-D", "x", "k.pto"],
        ["--explain=P1"],
        ["--list-ops=nothing."],
        ["--print-target-info=nothing"],
        ["-S", "-t", "avx2,x86-64", "k.pto", "-o", "k.s"],
    ],
)  # fmt: skip
def test_wrong_command_lines(call: Call, folder: Path, words: list[str]) -> None:
    result = call("pptc", *words)
    assert (result.status, result.out) == (2, "")
    assert "Traceback" not in result.err and " error: " in result.err
    assert names(folder) == ["k.pto"]


@pytest.mark.parametrize("output", ["none/k.so", "/proc/k.so"])
def test_an_output_that_cannot_be_written(call: Call, folder: Path, output: str) -> None:
    result = call("pptc", "k.pto", "-o", output)
    assert result.status == 3 and "[P0303]" in result.err
    assert names(folder) == ["k.pto"]


# ---------------------------------------------------------------- what is shown


def test_dumps_are_inputs_and_write_no_file(call: Call, folder: Path) -> None:
    result = call("pptc", "-t", "avx2", "--dump-ir", "k.pto")
    assert result.status == 0 and names(folder) == ["k.pto"]
    parts = result.out.split("// ----- after ")[1:]
    passes = [part.split(" (", 1)[0] for part in parts]
    assert "lower-tiles" in [name.split("{")[0] for name in passes]
    assert any("pto.tadd" in part for part in parts) and any("vector." in part for part in parts)
    for part in parts:
        text = "// ----- after " + part
        assert call("pptc", "-E", "-", stdin=text).status == 0


def test_dumps_into_a_folder(call: Call, folder: Path) -> None:
    assert call("pptc", "-t", "avx2", "--dump-dir=dumps", "--dump-ir=after-all", "k.pto").out == ""
    pipeline = call("pptc", "-t", "avx2", "--print-pipeline", "k.pto").out.removeprefix("avx2: ").strip()
    numbered = [f"{i:02d}-{name.split('{')[0]}.avx2.pto" for i, name in enumerate(pipeline.split(","), 1)]
    assert names(folder / "dumps") == numbered


def test_dumps_of_chosen_passes_and_functions(call: Call, folder: Path) -> None:
    last = call("pptc", "-t", "avx2", "--print-pipeline", "k.pto").out.strip().rsplit(",", 1)[-1]
    for when, title in (
        ("before:plan-memory", "after residency"),
        ("after:lower-tiles", "after lower-tiles"),
        ("final", f"after {last}"),
    ):
        out = call("pptc", "-t", "avx2", f"--dump-ir={when}", "k.pto").out
        assert out.count("// ----- ") == 1 and out.startswith(f"// ----- {title}")
    out = call("pptc", "-t", "avx2", "--dump-ir=final", "--dump-func=nothing", "k.pto").out
    assert "func.func" not in out


def test_timing_and_steps_go_to_standard_error(call: Call) -> None:
    timed = call("pptc", "-t", "avx2", "--pass-timing=json", "k.pto", "-o", "k.so")
    seconds = json.loads(timed.err)
    assert {"parse k.pto", "verify", "avx2: lower-tiles", "link k.pto"} <= set(seconds)
    assert "avx2: lower-tiles" in call("pptc", "-t", "avx2", "--pass-timing", "k.pto").err
    assert "pptc: parse k.pto\n" in call("pptc", "-v", "k.pto").err


def test_a_dry_run_prints_a_line_that_does_the_same(call: Call, folder: Path) -> None:
    call("pptc", "-D", "c1=1", "k.pto", "-o", "a b.so")
    first = (folder / "a b.so").read_bytes()
    (folder / "a b.so").unlink()
    result = call("pptc", "-###", "-D", "c1=1", "k.pto", "-o", "a b.so")
    assert result.status == 0 and names(folder) == ["k.pto"]
    assert result.err.startswith("#$ pptc -t ") and host_target() in result.err
    import shlex

    assert call(*shlex.split(result.err.removeprefix("#$ "))).status == 0
    assert (folder / "a b.so").read_bytes() == first


def test_temporaries(call: Call, folder: Path) -> None:
    assert call("pptc", "-t", "avx2", "--save-temps", "k.pto", "-o", "k.so").status == 0
    made = [f"k.avx2{suffix}" for suffix in (".ll", ".o", ".pto", ".s")]
    assert names(folder) == [*made, "k.pto", "k.so"]
    (folder / "temps").mkdir()
    assert call("pptc", "-t", "avx2", "--save-temps=temps", "k.pto").status == 0
    assert names(folder / "temps") == made


def test_lists(call: Call) -> None:
    assert "avx512" in call("pptc", "--print-supported-targets").out
    assert "avx2" in [
        t["name"] for t in json.loads(call("pptc", "--print-supported-targets=json").out)["targets"]
    ]
    assert "vector_bits: 256" in call("pptc", "--print-target-info=avx2").out
    assert "lower-tiles" in call("pptc", "--list-passes").out
    assert call("pptc", "--list-ops=pto.tadd").out.startswith("pto.tadd ")
    assert call("pptc", "--explain", "P0101").out.startswith("P0101: unknown value (exit status 1)")
    assert call("pptc", "--help").out.startswith("usage: pptc ")


def test_json_diagnostics(call: Call, folder: Path) -> None:
    (folder / "k.pto").write_text(BAD)
    (found,) = json.loads(call("pptc", "-fdiagnostics-format=json", "k.pto").err)
    assert found["code"] == "P0101" and found["place"]["file"] == "k.pto"


def test_colors(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "k.pto").write_text(BAD)
    assert "\033[" not in call("pptc", "k.pto").err
    assert "\033[" in call("pptc", "-fdiagnostics-color=always", "k.pto").err
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\033[" in call("pptc", "k.pto").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in call("pptc", "k.pto").err


def test_error_limit(call: Call, folder: Path) -> None:
    (folder / "k.pto").write_text(KERNEL.replace("ins(%px", "ins(%qx").replace("ins(%py", "ins(%qy"))
    err = call("pptc", "-ferror-limit=1", "k.pto").err
    assert err.count(": error: ") == 1 and err.endswith("2 errors\n")


# ---------------------------------------------------------------- includes and depfiles

HELPER = """\
module {
  func.func private @rows() -> index {
    %one = arith.constant 1 : index
    return %one : index
  }
}
"""


def test_included_functions_can_be_called(call: Call, folder: Path) -> None:
    (folder / "include").mkdir()
    (folder / "include" / "help.pto").write_text(HELPER)
    text = KERNEL.replace("%c1 = arith.constant 1 : index", "%c1 = func.call @rows() : () -> index")
    (folder / "k.pto").write_text(text)
    assert call("pptc", "k.pto").status == 1
    result = call("pptc", "-I", "include", "-include", "help.pto", "-MD", "-MP", "k.pto", "-o", "k.so")
    assert result.status == 0, result.err
    add_with(folder / "k.so")
    assert (folder / "k.d").read_text() == "k.so: k.pto include/help.pto\n\ninclude/help.pto:\n"


def test_dependencies_without_compiling(call: Call, folder: Path) -> None:
    assert call("pptc", "-M", "k.pto").out == "k.o: k.pto\n"
    assert call("pptc", "-MM", "k.pto", "-o", "x.so").out == "x.so: k.pto\n"
    assert (
        call("pptc", "-M", "-MF", "k.d", "k.pto").out == "" and (folder / "k.d").read_text() == "k.o: k.pto\n"
    )
    assert names(folder) == ["k.d", "k.pto"]
    assert call("pptc", "-M", "-MT", "$(X)", "-MQ", "a b", "k.pto").out == "$(X) a\\ b: k.pto\n"
    assert call("pptc", "-M", "-include", "none.pto", "k.pto").status == 3
    assert call("pptc", "-M", "-MG", "-include", "none.pto", "k.pto").out == "k.o: k.pto none.pto\n"


def test_a_constant_by_name(call: Call) -> None:
    assert "%c64 = arith.constant 32 : index" in call("pptc", "-E", "-D", "c64=32", "k.pto").out


# ---------------------------------------------------------------- the whole program


def program(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "pptc.cli.pptc", *words]
    return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)


def test_bytes_depend_on_neither_hash_seed_nor_jobs(folder: Path) -> None:
    (folder / "m.pto").write_text(KERNEL.replace("@add", "@plus"))
    outputs = set()
    for seed, jobs in (("1", "1"), ("2", "2")):
        for kind in ("-c", "-S"):
            done = program(kind, f"-j{jobs}", "k.pto", "m.pto", PYTHONHASHSEED=seed, PYTHONPATH=str(ROOT))
            assert done.returncode == 0, done.stderr
        outputs.add(tuple((folder / name).read_bytes() for name in ("k.o", "m.o", "k.s", "m.s")))
    assert len(outputs) == 1


def test_a_fault_of_the_compiler_itself(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall_over(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("pptc.driver.machines", fall_over)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    result = call("pptc", "k.pto")
    assert result.status == 70 and "ZeroDivisionError: on purpose [P9999]" in result.err
    (reproducer,) = folder.glob("*.pptrepro.pto")
    assert str(reproducer) in result.err and "Traceback" not in result.err
    text = reproducer.read_text()
    assert "// command: pptc k.pto" in text and "Traceback" in text and KERNEL in text


def test_interrupted(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pptc.driver.link", interrupt)
    assert call("pptc", "k.pto", "-o", "k.so").status == 130
    assert names(folder) == ["k.pto"]


ROOT = Path(__file__).resolve().parents[2]


def test_no_heavy_module_for_the_version() -> None:
    code = "import sys, pptc.cli.pptc as p; p.main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = done.stdout.split()
    assert not {"numpy", "llvmlite", "lark", "yaml", "ml_dtypes", "rich"} & set(loaded)


def test_no_numpy_in_a_plain_compile(folder: Path) -> None:
    code = "import sys, pptc.cli.pptc as p; s = p.main(['k.pto']); print(s, *sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    status, *loaded = done.stdout.split()
    assert status == "0" and not {"numpy", "ml_dtypes", "rich"} & set(loaded)


def test_arguments_that_overlap(call: Call, folder: Path) -> None:
    """z is x moved by one element: all of x is read before any of z is written, if and only if that was asked for."""
    assert call("pptc", "-t", "avx2", "--may-alias", "k.pto").status == 0
    assert call("pptc", "-t", "avx2", "k.pto", "-o", "strict.so").status == 0
    y = np.arange(50, dtype=np.float32)
    memory = np.random.default_rng(1).standard_normal(51, np.float32)
    x, z = memory[:50], memory[1:]
    wanted = x + y
    compiler.load("k.so")["add"](x, y, z, 50)
    assert (z == wanted).all()
    with pytest.raises(PptError, match="overlaps"):
        compiler.load("strict.so")["add"](x, y, z, 50)
    assert "Arguments may overlap." in call("pptc", "--may-alias", "--emit=c-header", "k.pto", "-o", "-").out


@pytest.mark.parametrize(
    ("line", "code"),
    [("%b = arith.addi %a, %zz : index", "P0101"), ("%b = arith.nope %a : index", "P0105"), ("%b = arith.addi %a : index", "P0007")],
)  # fmt: skip
def test_the_users_own_line_is_named_first(call: Call, folder: Path, line: str, code: str) -> None:
    text = f'module {{ func.func @f() {{\n%a = arith.constant 1 : index\n{line} loc("kernel.py":13:4)\nreturn }} }}\n'
    (folder / "k.pto").write_text(text)
    err = call("pptc", "k.pto").err.splitlines()
    assert err[0].startswith("kernel.py:13:4: error: ") and err[0].endswith(f"[{code}]")
    assert err[1].startswith("k.pto:3:") and err[1].endswith("note: the line of the .pto file")


CONVERSION = """\
module {
  func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<i32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %vx = pto.make_tensor_view %x, shape = [%c1, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
    %vy = pto.make_tensor_view %y, shape = [%c1, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xi32>
    %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c1, %c8] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x8xf32>
    %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c1, %c8] : !pto.tensor_view<?x?xi32> -> !pto.partition_tensor_view<1x8xi32>
    %a = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32>
    %b = pto.alloc_tile : !pto.tile_buf<vec, 1x8xi32>
    pto.tload ins(%px : !pto.partition_tensor_view<1x8xf32>) outs(%a : !pto.tile_buf<vec, 1x8xf32>)
    pto.tcvt ins(%a {rmode = #pto<round_mode TRUNC>} : !pto.tile_buf<vec, 1x8xf32>) outs(%b : !pto.tile_buf<vec, 1x8xi32>)
    pto.tstore ins(%b : !pto.tile_buf<vec, 1x8xi32>) outs(%py : !pto.partition_tensor_view<1x8xi32>)
    return
  }
}
"""


@pytest.mark.parametrize(
    ("words", "status", "code", "last"),
    [
        ([], 0, "W0004", 2**31 - 1),
        (["-Wno-saturation"], 0, "", 2**31 - 1),
        (["--tcvt-default-sat=on"], 0, "", 2**31 - 1),
        (["--tcvt-default-sat=off"], 0, "", 1410065408),
        (["--tcvt-default-sat=error"], 1, "P0206", None),
    ],
)
def test_the_default_of_saturation(
    call: Call, folder: Path, words: list[str], status: int, code: str, last: int | None
) -> None:
    """1e10 is clamped to the largest integer, or keeps its low 32 bits."""
    (folder / "c.pto").write_text(CONVERSION)
    result = call("pptc", *words, "c.pto", "-o", "c.so")
    assert result.status == status
    assert code in result.err if code else not result.err
    if last is not None:
        x, y = np.array([*range(7), 1e10], np.float32), np.zeros(8, np.int32)
        ctypes.CDLL(str(folder / "c.so")).k(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        assert y.tolist() == [*range(7), last]


def test_ops_of_a_later_version_are_refused(call: Call, folder: Path) -> None:
    text = CONVERSION.replace(
        "pto.tcvt",
        "%v0, %v1 = pto.get_validshape %a : !pto.tile_buf<vec, 1x8xf32>\n    pto.tcvt",
    )
    (folder / "c.pto").write_text(text)
    for version, status in (("0.27", 1), ("0.57", 0), ("0.60", 0)):
        result = call("pptc", f"--pto-version={version}", "--tcvt-default-sat=on", "c.pto", "-o", "c.so")
        assert result.status == status, result.err
        assert ("needs dialect 0.57 or later, this is 0.27" in result.err) == (status == 1)
    assert call("pptc", "--pto-version=new", "c.pto", "-o", "c.so").status == 2
