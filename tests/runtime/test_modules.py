"""The Python face on compiled files: numbers, selection, and every refusal as a sentence."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pptc
from pptc.emit.section import KernelCode, Section
from pptc.emit.worker import run_jobs, value_of
from pptc.ir.machine import Machine
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.types import BF16, F32, I1, I32, INDEX, SCALARS, UI8
from pptc.link.image import fat_file, host_object, shared_object
from pptc.runtime import Context, PptError, Status
from pptc.runtime.arguments import numpy_dtype
from pptc.runtime.library import find_library
from tests.link.c_objects import INCLUDE, KERNELS, MACHINE, MADE, compile_c, kernel_section


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kernels.so and kernels.pptf with vadd and blocks."""
    path = tmp_path_factory.mktemp("kernels")
    section = kernel_section(path)
    (path / "kernels.so").write_bytes(shared_object([section], KERNELS, MADE))
    (path / "kernels.pptf").write_bytes(fat_file([section], KERNELS, MADE))
    (path / "kernels.o").write_bytes(host_object([section], KERNELS, MADE))
    return path


@pytest.fixture(params=["kernels.so", "kernels.pptf"])
def module(folder: Path, request: pytest.FixtureRequest) -> pptc.runtime.Module:
    return pptc.load(folder / request.param)


def vectors(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    return random.random(n, np.float32), random.random(n, np.float32), np.zeros(n, np.float32)


# ---------------------------------------------------------------- calls


def test_kernels_and_their_arguments(module: pptc.runtime.Module) -> None:
    assert module.kernels == ("vadd", "blocks") and list(module) == ["vadd", "blocks"] and len(module) == 2
    assert module.target == "x86-64" and "x86-64 (rank 10): fits" in module.report
    vadd = module["vadd"]
    assert [(a.name, a.kind, a.dtype.name, a.reads, a.writes) for a in vadd.arguments] == [
        ("x", "pointer", "f32", True, False),
        ("y", "pointer", "f32", True, False),
        ("z", "pointer", "f32", False, True),
        ("n", "scalar", "i64", False, False),
    ]
    assert repr(vadd) == "<kernel vadd(x: *f32, y: *f32, z: *f32, n: i64)>"
    assert not vadd.uses_grid and module["blocks"].uses_grid and module["blocks"].scratch_bytes == 4096


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_vadd(module: pptc.runtime.Module, n: int) -> None:
    x, y, z = vectors(n)
    module["vadd"](x, y, z, n)
    assert np.array_equal(z, x + y)
    module["vadd"](z, y, z, n=np.int32(n))  # in place, as the signature allows
    assert np.array_equal(z, x + y + y)


def test_blocks_run_on_threads(folder: Path) -> None:
    blocks = pptc.load(folder / "kernels.so", Context(threads=3))["blocks"]
    out = np.zeros(1000, np.float32)
    blocks(out, grid=1000)
    assert np.array_equal(out, (np.arange(1000) % 4 + 1) * np.float32(1000))
    out[:] = 0
    blocks.launch_blocks(5, 7, 10, out=out)
    assert np.array_equal(np.flatnonzero(out), [5, 6]) and out[5] == 20


def test_a_child_leaves_the_threads_of_its_parent_alone(folder: Path) -> None:
    """What the compiler's children find dropped, they must not wait for: the threads of a context stay behind."""
    loaded = [pptc.load(folder / "kernels.so", Context(threads=3))]
    loaded[0]["blocks"](np.zeros(1000, np.float32), grid=1000)

    def drops() -> bool:
        with pytest.raises(PptError, match="make a context here"):
            loaded[0]["blocks"](np.zeros(1000, np.float32), grid=1000)
        loaded.clear()
        gc.collect()
        return gc.isenabled()

    assert value_of(run_jobs([drops])[0]) is False
    loaded[0]["blocks"](np.zeros(1000, np.float32), grid=1000)


@pytest.mark.parametrize("writer", [shared_object, fat_file])
@pytest.mark.parametrize("threads", [1, 3])
def test_work_that_may_be_divided_takes_all_threads(folder: Path, threads: int, writer: Any) -> None:
    """One block becomes as many as there are threads; a grid is still refused."""
    section = kernel_section(folder)
    codes = tuple(replace(code, divisible=code.name == "blocks") for code in section.kernels)
    one_block = tuple(replace(kernel, uses_grid=False) for kernel in KERNELS)
    data = writer([replace(section, kernels=codes)], one_block, MADE)
    blocks = pptc.load(data, Context(threads=threads))["blocks"]
    out = np.zeros(8, np.float32)
    blocks(out)
    assert np.array_equal(np.flatnonzero(out), range(threads)) and out[0] == threads
    with pytest.raises(PptError, match="grid of 1"):
        blocks(out, grid=2)


def test_many_python_threads(folder: Path) -> None:
    module = pptc.load(folder / "kernels.so", Context(threads=2))
    wrong: list[int] = []

    def work(seed: int) -> None:
        out = np.zeros(64, np.float32)
        for _ in range(50):
            out[:] = 0
            module["blocks"](out, grid=64)
            x, y, z = vectors(seed + 100)
            module["vadd"](x, y, z, seed + 100)
            if not np.array_equal(z, x + y) or out[3] != 256:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_kernel_keeps_its_module(folder: Path) -> None:
    vadd = pptc.load(folder / "kernels.so")["vadd"]
    gc.collect()
    x, y, z = vectors(9)
    vadd(x, y, z, 9)
    assert np.array_equal(z, x + y)


class Exchanged:
    """An object that speaks DLPack only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self) -> object:
        return self.array.__dlpack__()


def test_dlpack(module: pptc.runtime.Module) -> None:
    x, y, z = vectors(12)
    module["vadd"](Exchanged(x), y, Exchanged(z), 12)
    assert np.array_equal(z, x + y)
    with pytest.raises(PptError, match="argument y must be dense"):
        module["vadd"](x, Exchanged(np.zeros((12, 2), np.float32)[:, 0]), z, 12)
    with pytest.raises(PptError, match="y, has elements of float32, not float64"):
        module["vadd"](x, Exchanged(np.zeros(12)), z, 12)


@pytest.mark.parametrize("name", ["kernels.so", "kernels.pptf"])
def test_bytes_of_a_file(folder: Path, name: str) -> None:
    x, y, z = vectors(12)
    pptc.load((folder / name).read_bytes())["vadd"](x, y, z, 12)
    assert np.array_equal(z, x + y)


def test_a_file_opened_from_another_folder(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        assert pptc.load("kernels.so").kernels == ("vadd", "blocks")
    finally:
        os.chdir(here)


# ---------------------------------------------------------------- every element type


def bits_kernel(folder: Path, name: str) -> pptc.runtime.Function:
    """store(out, value): writes the bits of its scalar argument into a u64."""
    body = "*(uint64_t *)args->pointers[0] = args->scalars[0];"
    source = f"""#include "pptc_kernel.h"
    __attribute__((visibility("hidden"))) void k(const ppt_args *args, const ppt_group *group) __asm__("store.kernel");
    void k(const ppt_args *args, const ppt_group *group) {{ (void)group; {body} }}"""
    arguments = (
        Argument("out", "pointer", SCALARS["ui64"], writes=True),
        Argument("value", "scalar", SCALARS[name]),
    )
    section = Section(MACHINE, compile_c(source, folder), (KernelCode("store", "store.kernel", 0, ()),))
    path = folder / f"store_{name}.so"
    path.write_bytes(shared_object([section], (KernelSignature("store", arguments),), MADE))
    return pptc.load(path)["store"]


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [
        ("i1", True, 1), ("i8", -1, 0xFF), ("i8", 255, 0xFF), ("ui8", 200, 200), ("i16", -2, 0xFFFE),
        ("i32", -(1 << 31), 1 << 31), ("i64", -1, (1 << 64) - 1), ("ui64", (1 << 64) - 1, (1 << 64) - 1),
        ("index", 5, 5), ("f16", 1.5, 0x3E00), ("bf16", 1.5, 0x3FC0), ("f32", 1, 0x3F800000), ("f32", 1e300, 0x7F800000),
        ("f64", 2.0, 1 << 62), ("f8E4M3FN", 1.0, 0x38), ("f8E5M2", 1.0, 0x3C), ("f16", -1e9, 0xFC00),
    ],
)  # fmt: skip
def test_scalars(tmp_path: Path, name: str, value: float, bits: int) -> None:
    out = np.zeros(1, np.uint64)
    bits_kernel(tmp_path, name)(out, value)
    assert int(out[0]) == bits


def test_scalars_that_do_not_fit(tmp_path: Path) -> None:
    out = np.zeros(1, np.uint64)
    for name, value, words in (
        ("i8", 256, "integer of type i8; 256 does not fit"),
        ("i8", -129, "integer of type i8; -129 does not fit"),
        ("ui8", -1, "integer of type ui8; -1 does not fit"),
        ("i32", 1.5, "integer of type i32; 1.5 does not fit"),
        ("f32", "1", "number of type f32, not str"),
        ("f32", np.zeros(1), "number of type f32, not numpy.ndarray"),
    ):
        with pytest.raises(PptError, match=words) as error:
            bits_kernel(tmp_path, name)(out, value)
        assert error.value.status == Status.E_TYPE


def test_numpy_dtypes_have_the_right_size() -> None:
    for name, dtype in SCALARS.items():
        assert numpy_dtype(dtype).itemsize == dtype.bytes, name
    assert numpy_dtype(BF16) == ml_dtypes.bfloat16 and numpy_dtype(I1) == np.bool_
    assert [numpy_dtype(t) for t in (F32, I32, UI8, INDEX)] == [np.float32, np.int32, np.uint8, np.int64]


# ---------------------------------------------------------------- refusals


def test_wrong_arrays(module: pptc.runtime.Module) -> None:
    x, y, z = vectors(8)
    frozen = np.zeros(8, np.float32)
    frozen.flags.writeable = False
    for values, status, words in (
        ((x, y, z.astype(np.float64), 8), Status.E_TYPE, "argument z is an array of f32, not of float64"),
        ((x, y, [1.0], 8), Status.E_TYPE, "argument z is an array of f32, not list"),
        ((x, y, np.zeros((8, 2), np.float32)[:, 0], 8), Status.E_TYPE, "argument z must be dense"),
        ((x, y, frozen, 8), Status.E_TYPE, "written by the kernel, but the array is read-only"),
        ((x, y, x[1:], 8), Status.E_OVERLAP, "it writes z, which overlaps x; pass memory of its own"),
        ((x, y, z), Status.E_INVALID_ARGUMENT, r"takes \(x, y, z, n\), not 3 values"),
        ((x, y, z, 8, 9), Status.E_INVALID_ARGUMENT, r"takes \(x, y, z, n\), not 5 values"),
        ((x, y, z, 8.5), Status.E_TYPE, "8.5 does not fit"),
    ):
        with pytest.raises(PptError, match=words) as error:
            module["vadd"](*values)
        assert error.value.status == status
    with pytest.raises(PptError, match="and m"):
        module["vadd"](x, y, z, m=8)
    with pytest.raises(PptError, match="grid of 1"):
        module["vadd"](x, y, z, 8, grid=2)
    with pytest.raises(KeyError, match="the module has: vadd, blocks"):
        module["vsub"]


def test_raw_words_stand_for_small_floats(folder: Path, tmp_path: Path) -> None:
    source = """#include "pptc_kernel.h"
    __attribute__((visibility("hidden"))) void k(const ppt_args *args, const ppt_group *group) __asm__("flip.kernel");
    void k(const ppt_args *args, const ppt_group *group) { (void)group; *(uint16_t *)args->pointers[0] ^= 0x8000; }"""
    signature = KernelSignature("flip", (Argument("x", "pointer", BF16, reads=True, writes=True),))
    section = Section(MACHINE, compile_c(source, tmp_path), (KernelCode("flip", "flip.kernel", 0, ()),))
    (tmp_path / "flip.so").write_bytes(shared_object([section], (signature,), MADE))
    flip = pptc.load(tmp_path / "flip.so")["flip"]
    proper, raw = np.ones(1, ml_dtypes.bfloat16), np.array([0x3F80], np.uint16)
    flip(proper)
    flip(raw)
    assert proper[0] == -1 and raw[0] == 0xBF80
    with pytest.raises(PptError, match="array of bf16, not of float16"):
        flip(np.ones(1, np.float16))


def test_files_that_are_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    whole = (folder / "kernels.pptf").read_bytes()
    (tmp_path / "short.pptf").write_bytes(whole[:-1])
    (tmp_path / "flipped.pptf").write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    for name, status, words in (
        ("text", Status.E_CORRUPT, "not a fat file"),
        ("absent", Status.E_IO, "cannot open"),
        ("short.pptf", Status.E_CORRUPT, "shorter than it says"),
        ("flipped.pptf", Status.E_CORRUPT, "does not match its hash"),
    ):
        with pytest.raises(PptError, match=words) as error:
            pptc.load(tmp_path / name)
        assert error.value.status == status
    with pytest.raises(PptError, match="no section pptfat") as error:
        pptc.load(find_library())
    assert error.value.status == Status.E_NO_IMAGE


def test_every_part_of_a_damaged_image_is_refused_or_harmless(folder: Path, tmp_path: Path) -> None:
    """The description inside of a .so: a flipped bit is refused before anything is loaded."""
    whole = (folder / "kernels.so").read_bytes()
    start = whole.index(b"PPTF\r\n\x1a\0")
    size = int.from_bytes(whole[start + 16 : start + 24], "little")
    for at in range(start, start + size - 64, 29):
        (tmp_path / "damaged.so").write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(PptError) as error:
            pptc.load(tmp_path / "damaged.so")
        assert error.value.status in (Status.E_CORRUPT, Status.E_VERSION)


# ---------------------------------------------------------------- the machine


def test_selection(folder: Path, tmp_path: Path) -> None:
    best = Machine("fancy", "x86", "", requires=("sse3",), rank=99)
    never = Machine("amx", "x86", "", requires=("amx-fp16", "avx512fp16"), rank=200)
    sections = [kernel_section(tmp_path, m) for m in (MACHINE, best, never)]
    path = tmp_path / "three.pptf"
    path.write_bytes(fat_file(sections, KERNELS, MADE))
    masked = "-amx-fp16,-avx512fp16"
    module = pptc.load(path, Context(cpu_features=masked))
    assert module.target == "fancy" and "amx (rank 200): needs avx512fp16, amx-fp16" in module.report
    assert pptc.load(path, Context(cpu_features=masked + ",-sse3")).target == "x86-64"
    assert pptc.load(path, Context(target="x86-64")).target == "x86-64"
    with pytest.raises(PptError, match="no section of the file fits this machine") as error:
        pptc.load(path, Context(target="amx", cpu_features=masked))
    assert error.value.status == Status.E_NO_IMAGE and "-t x86-64" in str(error.value)


def test_environment_is_read_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PPT_CPU_FEATURES", "-nonsense")
    with pytest.raises(PptError, match="-nonsense"):
        Context()
    assert Context(environment=False).device


CPUINFO_NAMES = {
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "sahf": "lahf_lm", "bmi": "bmi1", "lzcnt": "abm",
    "avx512bf16": "avx512_bf16", "avx512vnni": "avx512_vnni", "avx512fp16": "avx512_fp16", "avx512vbmi2": "avx512_vbmi2",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "avxvnni": "avx_vnni", "avxifma": "avx_ifma",
    "avxvnniint8": "avx_vnni_int8", "avxneconvert": "avx_ne_convert", "pclmul": "pclmulqdq", "sha": "sha_ni",
    "amx-tile": "amx_tile", "amx-int8": "amx_int8", "amx-bf16": "amx_bf16", "amx-fp16": "amx_fp16",
}  # fmt: skip


def test_features_are_those_that_linux_sees() -> None:
    from pptc.link.format import FEATURES, MachineNumber

    text = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    assert text is not None
    flags = text[1].split()
    found = Context(environment=False).device.split()
    for name in FEATURES[MachineNumber.X86_64]:
        assert (f"+{name}" in found) == (CPUINFO_NAMES.get(name, name) in flags), name


# ---------------------------------------------------------------- C and Python agree


def test_status_words_are_those_of_the_header() -> None:
    rows = re.findall(r'X\((\w+), (\d+), "', (INCLUDE / "pptrt.h").read_text())
    assert {name: int(value) for name, value in rows} == {status.name: int(status) for status in Status}


def test_a_program_finds_its_own_section(folder: Path, tmp_path: Path) -> None:
    """The kernels of `pptc -c` linked into a program, found through the section's own symbols."""
    (tmp_path / "host.c").write_text(
        """#include <pptrt.h>
        #include <stdio.h>
        extern const char __start_pptfat[], __stop_pptfat[];
        int main(void) {
          float x[4] = {1, 2, 3, 4}, z[4];
          int64_t n = 4;
          ppt_context *context = NULL;
          ppt_module *module = NULL;
          const ppt_function *vadd;
          ppt_status status = ppt_context_create(NULL, &context);
          if (!status) status = ppt_module_open_section(context, __start_pptfat, __stop_pptfat, NULL, &module);
          if (!status) status = ppt_module_function(module, "vadd", &vadd);
          ppt_tensor args[] = {ppt_array(x, PPT_F32, 1, &n), ppt_array(x, PPT_F32, 1, &n), ppt_array(z, PPT_F32, 1, &n),
                               ppt_scalar(&n, PPT_I64)};
          if (!status) status = ppt_launch(vadd, args, 4, 1, NULL);
          if (status) fprintf(stderr, "%s\\n", ppt_last_error());
          ppt_module_close(module);
          ppt_context_destroy(context);
          return status ? 1 : (int)(z[0] + z[3]);
        }"""
    )
    library = find_library()
    command = ["gcc", "-Wall", "-Werror", f"-I{INCLUDE}", tmp_path / "host.c", folder / "kernels.o", library]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}", "-o", tmp_path / "host"], check=True)
    done = subprocess.run([tmp_path / "host"], capture_output=True, text=True)
    assert done.returncode == 10, done.stderr


def test_the_introduction_of_the_header_compiles(tmp_path: Path) -> None:
    lines = (INCLUDE / "pptrt.h").read_text().splitlines()
    program = [line.removeprefix(" *   ") for line in lines if line.startswith(" *   ")]
    end = next(i for i, line in enumerate(program) if line == "}")
    (tmp_path / "introduction.c").write_text("\n".join(program[: end + 1]) + "\n")
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run(["gcc", *strict, f"-I{INCLUDE}", tmp_path / "introduction.c"], check=True)
