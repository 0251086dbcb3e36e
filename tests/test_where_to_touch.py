"""What pptc-internals(7) promises about new things: an element op is one row in one file, a machine is one YAML file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import KERNEL

ROOT = Path(__file__).resolve().parent.parent
KERNEL_TWICE = KERNEL.replace("pto.tadd ins(%a, %b : ", "tile.ttwice ins(%a : ").replace(
    "valid=1x?>, !pto.tile_buf<vec, 1x64xf32, valid=1x?>) outs(%c", "valid=1x?>) outs(%c"
)
ARGUMENTS = ("-i", "x=x.npy", "-i", "y=50xf32=zeros", "-i", "z=50xf32=zeros", "-i", "n=50", "-o", "z=z.npy")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the product's sources only."""
    for name in ("pptc", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "k.pto").write_text(KERNEL_TWICE)
    return tmp_path


def run(folder: Path, command: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the sources in `folder`: -S leaves out the editable install, its packages are named by hand."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{site}"}
    line = [sys.executable, "-S", "-m", f"pptc.cli.{command}", *words]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def documented_row() -> str:
    """The row that the man page shows, without roff's escapes."""
    page = (ROOT / "man" / "pptc-internals.7").read_text()
    (line,) = re.findall(r"^  (unary\(.*\)),$", page, re.M)
    return line.replace("\\-", "-")


def test_an_element_op_is_one_row(copy: Path) -> None:
    assert run(copy, "pptc", "-E", "k.pto").returncode == 1
    rows = copy / "pptc" / "ir" / "ops" / "elementwise.py"
    text = rows.read_text()
    assert text.count("ROWS = table(") == 1
    rows.write_text(text.replace("ROWS = table(", f"ROWS = table({documented_row()}, "))
    assert run(copy, "pptc", "--list-ops=tile.ttwice").stdout.startswith("tile.ttwice ")
    x = np.random.default_rng(1).standard_normal(50, np.float32)
    np.save(copy / "x.npy", x)
    done = run(copy, "pptc_run", "-t", "ref", "k.pto", *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert (np.load(copy / "z.npy") == 2 * x).all()
    for target in ("x86-64", "avx2", "avx512"):
        done = run(copy, "pptc", "-t", target, "--verify-each", "k.pto", "-o", f"{target}.so")
        assert done.returncode == 0, done.stderr
        (copy / "z.npy").unlink()
        subprocess.run(
            [Path(sys.executable).with_name("pptc-run"), f"{target}.so", *ARGUMENTS], cwd=copy, check=True
        )
        assert (np.load(copy / "z.npy") == 2 * x).all()


def test_a_machine_is_one_yaml_file(copy: Path) -> None:
    (copy / "k.pto").write_text(KERNEL)
    assert run(copy, "pptc", "-t", "mine", "k.pto").returncode == 2
    text = (copy / "configs" / "targets" / "avx2.yaml").read_text()
    text = re.sub(r"^name: .*", "name: mine", text, flags=re.M)
    text = re.sub(r"^aliases: .*\n", "", text, flags=re.M)
    text = re.sub(r"^vector_bits: .*", "vector_bits: 128", text, flags=re.M)
    (copy / "configs" / "targets" / "mine.yaml").write_text(text)
    assert "mine" in run(copy, "pptc", "--print-supported-targets").stdout
    done = run(copy, "pptc", "-t", "mine", "--compile-to=lowered", "k.pto")
    assert done.returncode == 0, done.stderr
    assert "vector<4xf32>" in done.stdout and "vector<8xf32>" not in done.stdout
    assert run(copy, "pptc", "-t", "mine", "k.pto").returncode == 0
