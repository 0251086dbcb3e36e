"""C headers: they compile as C and C++, fit the symbols, and name what every argument is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pptc.emit.section import KernelCode
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.types import BF16, F16, F32, I1, I32, INDEX, SCALARS, UI8
from pptc.link.header import c_header, c_type
from pptc.link.image import shared_object
from tests.link.c_objects import KERNELS, MADE, kernel_section

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
ODD = KernelSignature(
    "odd",
    (
        Argument("int", "pointer", BF16, reads=True),
        Argument("0", "pointer", F16, writes=True),
        Argument("a.b", "pointer", F32, reads=True, writes=True),
        Argument("a-b", "scalar", I32),
        Argument("n", "scalar", INDEX),
        Argument("flag", "scalar", I1),
        Argument("unused", "pointer", UI8),
        Argument("__pypto_spmd_block_idx", "scalar", I32, role="block_idx"),
        Argument("__pypto_spmd_block_num", "scalar", I32, role="block_num"),
    ),
    uses_grid=True,
)


def code(name: str, scratch: int = 0, plain: bool = True) -> KernelCode:
    exports = (*((name,) if plain else ()), f"{name}_ws", f"{name}_scratch_bytes")
    return KernelCode(name, f"{name}.kernel", scratch, exports)


def check(text: str, folder: Path, *more: str) -> None:
    (folder / "kernels.h").write_text(text)
    for compiler, suffix, standards in (("gcc", "c", ("c99", "c11")), ("g++", "cpp", ("c++11", "c++20"))):
        source = folder / f"use.{suffix}"
        source.write_text('#include "kernels.h"\n#include "kernels.h"\n' + "\n".join(more) + "\nint used;\n")
        for standard in standards:
            subprocess.run([compiler, f"-std={standard}", *STRICT, source], check=True)


def test_compiles_as_c_and_cpp(tmp_path: Path) -> None:
    check(c_header([ODD], [code("odd", 128)], "kernels.h", "pptc 0.1.0"), tmp_path)


def test_parameters_are_readable(tmp_path: Path) -> None:
    text = c_header([ODD], [code("odd", 128)], "my-kernels.h", "pptc 0.1.0")
    assert text.startswith("/* my-kernels.h: kernels compiled by pptc 0.1.0.")
    assert "#ifndef MY_KERNELS_H_INCLUDED" in text
    assert (
        "void odd(const ppt_bf16 *arg_int, ppt_f16 *arg0, float *a_b, int32_t a_b_, int64_t n, uint8_t flag, "
        "const uint8_t *unused, int32_t block_idx, int32_t block_num);" in text
    )
    assert "size_t odd_scratch_bytes(void);" in text and "#define odd_SCRATCH_BYTES 128" in text
    assert " *   a_b: f32 array, read and written\n" in text
    assert "128 bytes, on the stack of odd" in text


def test_large_scratch_has_no_plain_symbol() -> None:
    text = c_header(KERNELS[:1], [code("vadd", 1 << 20, plain=False)], "k.h", "pptc")
    assert not re.search(r"^void vadd\(", text, re.MULTILINE)
    assert re.search(r"^void vadd_ws\(.*void \*scratch\);", text, re.MULTILINE)
    assert "too many for the stack" in text


def test_names_that_c_lacks() -> None:
    kernels = [KernelSignature("a.b", ()), KernelSignature("double", ()), KernelSignature("fine", ())]
    text = c_header(kernels, [code(k.name) for k in kernels], "k.h", "pptc")
    assert "/* a.b has no name in C" in text and "/* double has no name in C" in text
    assert "void fine(void);" in text and "void fine_ws(void *scratch);" in text


@pytest.mark.parametrize("name", SCALARS)
def test_every_type_has_its_size(name: str, tmp_path: Path) -> None:
    dtype = SCALARS[name]
    kernel = KernelSignature("k", (Argument("x", "pointer", dtype, reads=True),))
    text = c_header([kernel], [code("k")], "kernels.h", "pptc")
    (tmp_path / "kernels.h").write_text(
        text + f'_Static_assert(sizeof({c_type(dtype)}) == {dtype.bytes}, "");\n'
    )
    subprocess.run(["gcc", "-std=c11", "-fsyntax-only", tmp_path / "kernels.h"], check=True)


def test_a_program_calls_the_kernel(tmp_path: Path) -> None:
    section = kernel_section(tmp_path)
    (tmp_path / "vadd.so").write_bytes(shared_object([section], KERNELS, MADE))
    (tmp_path / "vadd.h").write_text(c_header(KERNELS, section.kernels, "vadd.h", "pptc"))
    (tmp_path / "host.c").write_text(
        '#include "vadd.h"\nint main(void) {\n  const float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};\n  float z[3];\n'
        "  vadd(x, y, z, 3);\n  vadd_ws(z, y, z, 3, 0);\n"
        "  return (int)(z[0] + z[1] + z[2]) + (int)vadd_scratch_bytes();\n}\n"
    )
    subprocess.run(["gcc", "host.c", "./vadd.so", "-o", "host"], cwd=tmp_path, check=True)
    assert subprocess.run(["./host"], cwd=tmp_path).returncode == 126
