"""What the machine code of each target may not hold, read with objdump; and that objects need nothing from outside."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

from tests.emit.harness import compiled, each, grouped, kernel, load_machine, widths
from tests.emit.test_vector import LANES, masked

FORBIDDEN = {
    "x86-64": r"%ymm|%zmm|%k[0-7]|\bvf|\bv[a-z]+ps\b|\bround[ps]s|\bpmulld|\bblendv",
    "avx2": r"%zmm|%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01])",
    "avx512": r"vdpbf16ps|vpdpbusd|vcvtneps2bf16|vpermb\b",
}
EXPECTED = {"x86-64": r"mulps .*%xmm", "avx2": r"vfmadd.*%ymm", "avx512": r"vfmadd.*%zmm"}

OPS = ("exp", "log", "tanh", "rsqrt", "floor", "ceil", "trunc", "roundeven", "round", "sqrt")


@lru_cache
def code(target: str, tmp: str) -> str:
    """The disassembly of all math, conversions, masks and moves on a target."""
    cases = list(each(OPS, "%r = math.NAME %a : <f32>", ("f32",), "f32"))
    for narrow in ("bf16", "f16", "f8E5M2", "f8E4M3FN"):
        cases += each((f"{narrow}_wide",), f"%r = arith.extf %a : <{narrow}> to <f32>", (narrow,), "f32")
        cases += each((f"{narrow}_narrow",), f"%r = arith.truncf %a : <f32> to <{narrow}>", ("f32",), narrow)
        if narrow[:2] != "f8":
            body = f"%s = arith.addf %a, %b : <{narrow}>\n%r = arith.maxnumf %s, %a : <{narrow}>"
            cases += each((f"{narrow}_sum",), body, (narrow, narrow), narrow)
    groups = grouped(cases).values()
    kernels = "".join(kernel(f"k{i}_{n}", group, n) for i, group in enumerate(groups) for n in widths(target))
    masks = "".join(masked(elem, n) for elem in ("i8", "bf16", "f16", "f32") for n in (8, 16))
    section = compiled("module {" + kernels + masks + LANES + "}", load_machine(target))
    path = Path(tmp) / f"{target}.o"
    path.write_bytes(section.payload)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("gates"))


@pytest.mark.parametrize("target", FORBIDDEN)
def test_instructions(target, folder):
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", code(target, folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in text.stdout.splitlines() if re.search(FORBIDDEN[target], line)]
    assert not lines, lines[:5]
    assert re.search(EXPECTED[target], text.stdout)


@pytest.mark.parametrize("target", FORBIDDEN)
def test_no_symbol_is_undefined(target, folder):
    text = subprocess.run(["objdump", "-t", code(target, folder)], capture_output=True, text=True, check=True)
    undefined = [line.split()[-1] for line in text.stdout.splitlines() if "*UND*" in line]
    assert undefined == []


@pytest.mark.parametrize("target", FORBIDDEN)
def test_only_kernel_entries_are_global(target, folder):
    text = subprocess.run(["objdump", "-t", code(target, folder)], capture_output=True, text=True, check=True)
    rows = [line for line in text.stdout.splitlines() if " g " in line]
    assert rows
    for row in rows:
        name = row.split()[-1]
        assert (".hidden" in row) == name.endswith(".kernel"), row
