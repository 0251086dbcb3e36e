"""What pptc may cost: processor seconds and memory of its commands beside their budgets.

python -m bench.budgets
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from bench.large_kernel import large_kernel
from pptc.diag import Sink, Source
from pptc.parser import parse

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = str(Path(sys.executable).with_name("pptc"))
SILENT = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
KERNELS = ("vadd", "softmax", "rmsnorm", "matmul_silu")


def cost(folder: Path, *words: str) -> tuple[float, int]:
    """Processor seconds and peak bytes of the cheapest of some runs of pptc, workers included, with bytecode at hand.

    Other load shares caches and makes a run dearer, never cheaper.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    runs = []
    for _ in range(4):
        child = os.posix_spawn(PROGRAM, [PROGRAM, *words], environment, file_actions=[SILENT])
        _, status, used = os.wait4(child, 0)
        assert status == 0
        runs.append((used.ru_utime + used.ru_stime, used.ru_maxrss * 1024))
    return min(runs)


def megabyte() -> str:
    """One module of 1 MB: the softmax example again and again."""
    kernel = (ROOT / "examples" / "softmax" / "softmax.pto").read_text()
    body = kernel[kernel.index("  func.func") : kernel.rindex("}")]
    count = (1 << 20) // len(body) + 1
    functions = "".join(body.replace("@softmax", f"@softmax_{i}") for i in range(count))
    return f'module attributes {{pto.target_arch = "a2a3"}} {{\n{functions}}}\n'


def parse_seconds(text: str) -> float:
    """Processor seconds from text to Module, without verification."""
    sink = Sink()
    start = time.process_time()
    module = parse(Source("large.pto", text), sink)
    seconds = time.process_time() - start
    assert module is not None and not sink.error_count
    return seconds


def report(what: str, used: float, budget: float, unit: str) -> None:
    """One line of the table."""
    print(f"{what:32} {used:7.2f} {unit:2}  of {budget:g}  {'' if used <= budget else 'OVER'}".rstrip())


def main() -> None:
    """Print every budget and what was used of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, _ = cost(folder, "--version")
        report("pptc --version", seconds, 0.15, "s")
        for kernel in KERNELS:
            source = ROOT / "examples" / kernel / f"{kernel}.pto"
            seconds, memory = cost(folder, "-t", "avx512", str(source), "-o", str(folder / "k.so"))
            report(f"{kernel} to a .so", seconds, 0.6, "s")
            report(f"{kernel} to a .so, peak", memory / 2**20, 600, "MB")
        large = folder / "large.pto"
        large.write_text(large_kernel(5000))
        seconds, memory = cost(folder, "-t", "avx512", str(large), "-c", "-o", str(folder / "large.o"))
        report("5,000 lines to an object", seconds, 10, "s")
        report("5,000 lines to an object, peak", memory / 2**20, 600, "MB")
    report("1 MB of text to a module", parse_seconds(megabyte()), 2.0, "s")


if __name__ == "__main__":
    main()
