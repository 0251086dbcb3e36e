"""The one wheel: what is in it, and that what is in it works on its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
    ]
    options = [f"--config-settings=build-dir={folder}/build", str(ROOT)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("pptc-*.whl")
    return path


def test_wheel_holds_code_configs_library_headers_and_pages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folder = f"pptc-{wheel.name.split('-')[1]}.data/data/share/man"
    assert "-py3-none-" in wheel.name
    assert {
        "pptc/cli/pptc.py",
        "pptc/parser/pto.lark",
        "pptc/configs/targets/avx2.yaml",
        "pptc/configs/pipelines/cpu.yaml",
        "pptc/lib/libpptrt.so",
        "pptc/include/pptrt.h",
        "pptc/include/pptc_kernel.h",
        f"{folder}/man1/pptc.1",
        f"{folder}/man7/pptc-ops.7",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "runtime_c/"))]


def test_unpacked_wheel_compiles_and_runs(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import pptc, numpy as np\n"
        f"pptc.compile({str(ROOT / 'examples' / 'vadd' / 'vadd.pto')!r}, 'vadd.so')\n"
        "x = np.ones((3, 64), np.float32); z = np.zeros_like(x)\n"
        "pptc.load('vadd.so')['vadd'](x, x, z, 3)\n"
        "print(pptc.__file__, (z == 2).all())\n"
    )
    # -S leaves out the editable install; the packages that pptc needs are named by hand.
    site = Path(next(path for path in sys.path if path.endswith("site-packages")))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'site'}:{site}"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'site' / 'pptc' / '__init__.py'} True\n"
