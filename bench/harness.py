"""Alternating rounds: ours, peer, ours, peer; the median of each round, and the ratio of the two round by round.

Absolute times only describe the machine; the ratio in one run is the figure. Outputs are allocated and touched before
the first call on both sides. A pause after each peer lets its idle worker threads go to sleep.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Call = Callable[[], object]

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PEER_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def options(doc: str, *more: tuple[str, str, str]) -> argparse.Namespace:
    """The command line of a benchmark: --target, --threads, and `more` as (flag, default, help)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="avx512", help="what pptc compiles for; default avx512")
    parser.add_argument("--threads", type=int, default=1, help="of every side; default 1")
    for flag, default, text in more:
        parser.add_argument(flag, default=default, help=f"{text}; default {default}")
    given = parser.parse_args()
    restart_with(given.threads)
    return given


def restart_with(threads: int) -> None:
    """Start this program again with the peers' thread counts set and nothing that forces a slower kernel on them."""
    wanted = dict.fromkeys(THREAD_VARIABLES, str(threads))
    if all(os.environ.get(k) == v for k, v in wanted.items()) and not any(
        k in os.environ for k in PEER_OVERRIDES
    ):
        return
    environment = {k: v for k, v in os.environ.items() if k not in PEER_OVERRIDES} | wanted
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def aligned(shape: tuple[int, ...], dtype: object) -> np.ndarray:  # noqa: F821
    """A zeroed array at a multiple of 64 bytes, as every tensor library allocates: no side pays for split lines."""
    import numpy as np

    wanted = np.dtype(dtype)  # type: ignore[call-overload]
    size = int(np.prod(shape)) * wanted.itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(wanted).reshape(shape)


def compile_kernel(path: Path, target: str, *options: str) -> Path:
    """Compile a .pto file to a shared object in a temporary folder that lives as long as the process."""
    library = Path(tempfile.mkdtemp(prefix="pptc-bench-")) / f"{path.stem}-{target}.so"
    compiler = Path(sys.executable).with_name("pptc")
    subprocess.run([compiler, "-t", target, *options, path, "-o", library], check=True)
    return library


def kernel(path: Path, target: str, threads: int, *flags: str) -> Callable[..., None]:
    """The one kernel of a .pto file, compiled and loaded; it is called with arrays and numbers."""
    import pptc
    from pptc.runtime import Context

    (found,) = pptc.load(compile_kernel(path, target, *flags), Context(threads=threads)).values()
    return found


@dataclass(frozen=True)
class Ratio:
    """How much faster ours is than a peer: one ratio per round."""

    peer: str
    ours_seconds: float
    peer_seconds: float
    ratios: tuple[float, ...]

    def __str__(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        return (
            f"{statistics.median(self.ratios):5.2f}x of {self.peer:24} (rounds {low:.2f}-{high:.2f}); "
            f"ours {self.ours_seconds * 1e3:.3f} ms, peer {self.peer_seconds * 1e3:.3f} ms"
        )


def median_seconds(call: Call, samples: int) -> float:
    """The median time of some calls."""
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(ours: Call, peers: dict[str, Call], rounds: int = 12, samples: int = 9) -> list[Ratio]:
    """Ratios of ours against every peer, over alternating rounds."""
    calls = {"": ours, **peers}
    for call in calls.values():
        for _ in range(3):
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name].append(median_seconds(call, samples))
            if name:
                time.sleep(0.05)
    if len(peers) > 1:
        best = "the best in each round"
        seconds[best] = [min(times) for times in zip(*(seconds[name] for name in peers), strict=True)]
    mine = seconds.pop("")
    return [
        Ratio(
            name,
            statistics.median(mine),
            statistics.median(seconds[name]),
            tuple(peer / own for own, peer in zip(mine, seconds[name], strict=True)),
        )
        for name in seconds
    ]
