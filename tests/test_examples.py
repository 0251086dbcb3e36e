"""Every example, on every target and on the plainest lowering, for sizes from none to many; and the host programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pptc
from examples.case import Example
from examples.run_all import EXAMPLES, HERE, ROWS, TARGETS, hosts, runs_here
from pptc import driver
from pptc.cli.pptc import main
from pptc.diag import Sink
from pptc.ir.interp import run_kernel
from pptc.ir.printer import print_module
from pptc.options import CompileOptions

LEGS = (
    "ref",
    "x86-64 -O0",
    *(leg for leg in ("avx2 -O0", *TARGETS, "avx512+bf16+vnni") if runs_here(leg.split()[0])),
)
IDS = [example.kernel for example in EXAMPLES]


def unit_of(example: Example) -> driver.Unit:
    return driver.load((str(example.path),), (), CompileOptions(), driver.Journal())


def runner(example: Example, name: str, folder: Path):  # type: ignore[no-untyped-def]
    """A function of a case's arguments that runs the kernel on one leg."""
    if name == "ref":
        module = unit_of(example).module
        return lambda arguments: run_kernel(module, example.kernel, arguments)
    target, *flags = name.split()
    library = folder / "kernel.so"
    assert main(["-t", target, *flags, "--verify-each", str(example.path), "-o", str(library)]) == 0
    kernel = pptc.load(library)[example.kernel]
    return lambda arguments: kernel(*arguments.values())


@pytest.mark.parametrize("name", LEGS)
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_example_agrees_with_numpy(example: Example, name: str, tmp_path: Path) -> None:
    run = runner(example, name, tmp_path)
    random = np.random.default_rng(7)
    for rows in ROWS:
        case = example.make(rows, random)
        run(case.arguments)
        case.check()


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_example_prints_and_parses_again(example: Example) -> None:
    from pptc.diag import Source
    from pptc.parser import parse

    text = print_module(unit_of(example).module)
    sink = Sink()
    again = parse(Source("again", text), sink)
    sink.check()
    assert again is not None and print_module(again) == text


def test_host_programs(tmp_path: Path) -> None:
    lines = dict(hosts(tmp_path))
    assert len(lines) == 3 and all(lines.values())


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_tile_level_dump_gives_the_bytes_of_the_whole_run(example: Example, tmp_path: Path) -> None:
    whole, tiled, again = (str(tmp_path / name) for name in ("whole.o", "tiled.pto", "again.o"))
    assert main(["-t", "avx512", "-c", str(example.path), "-o", whole]) == 0
    assert main(["-t", "avx512", "--compile-to=tiled", str(example.path), "-o", tiled]) == 0
    assert main(["-t", "avx512", "-c", tiled, "-o", again]) == 0
    assert Path(again).read_bytes() == Path(whole).read_bytes()


def test_touching_an_included_file_rebuilds_one_object(tmp_path: Path) -> None:
    project = shutil.copytree(HERE / "make_project", tmp_path / "project")
    command = ["make", "-C", str(project), f"PPTC={Path(sys.executable).with_name('pptc')}"]
    subprocess.run(command, check=True, capture_output=True)
    helpers = project / "include" / "helpers.pto"
    later = helpers.stat().st_mtime_ns + 10**9
    for made in project.iterdir():
        os.utime(made, ns=(later, later))
    os.utime(helpers, ns=(later + 10**9, later + 10**9))
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [word for word in ("scale.o", "shift.o") if f"-o {word}" in again] == ["scale.o"]
    assert "up to date" in subprocess.run(command, check=True, capture_output=True, text=True).stdout
