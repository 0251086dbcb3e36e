"""Compiles and runs every example on every target that this machine has, and prints the largest error against NumPy."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import pptc
from examples.case import Example
from examples.matmul_silu.case import EXAMPLE as MATMUL_SILU
from examples.rmsnorm.case import EXAMPLE as RMSNORM
from examples.softmax.case import EXAMPLE as SOFTMAX
from examples.vadd.case import EXAMPLE as VADD
from pptc.options import host_features, load_machine
from pptc.options.host import CPUINFO

EXAMPLES: tuple[Example, ...] = (VADD, SOFTMAX, RMSNORM, MATMUL_SILU)
TARGETS = ("x86-64", "avx2", "avx512")
ROWS = (0, 1, 7, 64, 1000)
HERE = Path(__file__).parent


def runs_here(target: str) -> bool:
    """Whether this machine has all that the target's code needs."""
    return host_features(CPUINFO.read_text()).issuperset(load_machine(target).requires)


def pptc_command(*arguments: str | Path) -> None:
    """Run the compiler as a user would; raises CalledProcessError when it fails."""
    subprocess.run([Path(sys.executable).with_name("pptc"), *arguments], check=True)


def largest_error(example: Example, target: str, folder: Path) -> float:
    """Compile one example for one target, run all sizes, check them; the largest error of all."""
    library = folder / f"{example.kernel}-{target}.so"
    pptc_command("-t", target, example.path, "-o", library)
    kernel = pptc.load(library)[example.kernel]
    random = np.random.default_rng(19)
    errors = []
    for rows in ROWS:
        case = example.make(rows, random)
        kernel(*case.arguments.values())
        case.check()
        errors += [case.error(name) for name in case.expected]
    return max(errors)


def hosts(folder: Path) -> Iterator[tuple[str, str]]:
    """Build and run the C host, the Python host and the Makefile project; yields their names and last lines."""
    library = folder / "vadd.so"
    pptc_command("-t", "host", VADD.path, "-o", library)
    host = folder / "host"
    subprocess.run(["gcc", "-O2", HERE / "vadd" / "host.c", library, "-o", host], check=True)
    yield "C host of vadd.so", _last_line([host])
    softmax = folder / "softmax.so"
    pptc_command("-t", "host", SOFTMAX.path, "-o", softmax)
    yield "Python host of softmax.so", _last_line([sys.executable, HERE / "python_host" / "host.py", softmax])
    project = shutil.copytree(HERE / "make_project", folder / "make_project")
    compiler = Path(sys.executable).with_name("pptc")
    subprocess.run(["make", "-s", "-C", project, f"PPTC={compiler}"], check=True)
    yield "Makefile project", _last_line([project / "program"])


def _last_line(command: list[str | Path]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Run everything; ends with an exception where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ",".join(filter(runs_here, TARGETS))
    parser.add_argument("--targets", default=default, help="comma-separated targets (default: %(default)s)")
    targets = parser.parse_args().targets.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for example in EXAMPLES:
            for target in targets:
                error = largest_error(example, target, folder)
                print(f"{example.kernel:12}  {target:8}  largest error {error:.1e}", flush=True)
        for what, line in hosts(folder):
            print(f"{what}: {line}", flush=True)


if __name__ == "__main__":
    main()
