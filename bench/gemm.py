"""1024 x 1024 x 1024: f32 against OpenBLAS (through NumPy), bf16 and int8 against oneDNN (through torch).

python -m bench.gemm [--target T] [--threads N] [--elements f32|bf16|i8] [--tiles MxNxK]

Without --tiles f32 is gemm.pto. The targets with dot instructions are avx512+bf16 and avx512+vnni. A peer keeps to AVX2
with ONEDNN_MAX_CPU_ISA=AVX2.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.gemm_text import SIZE, gemm_text
from bench.harness import Call, aligned, compare, kernel, options

Array = Any


def _source(elements: str, tiles: str) -> Path:
    if elements == "f32" and not tiles:
        return Path(__file__).with_name("gemm.pto")
    out = "i32" if elements == "i8" else "f32"
    m, n, k = map(int, (tiles or "128x256x64").split("x"))
    path = Path(tempfile.mkdtemp(prefix="pptc-bench-")) / "gemm.pto"
    path.write_text(gemm_text(elements, out, m, n, k))
    return path


def _f32(random: Any, threads: int) -> tuple[Array, Array, Array, dict[str, Call]]:
    import numpy as np

    a, b, c, d = (aligned((SIZE, SIZE), np.float32) for _ in range(4))
    for operand in (a, b):
        random.standard_normal(out=operand, dtype=np.float32)
    return a, b, c, {"OpenBLAS": lambda: np.matmul(a, b, out=d)}


def _bf16(random: Any, threads: int) -> tuple[Array, Array, Array, dict[str, Call]]:
    import ml_dtypes
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    a, b = (aligned((SIZE, SIZE), ml_dtypes.bfloat16) for _ in range(2))
    for operand in (a, b):
        operand[:] = random.standard_normal((SIZE, SIZE))
    tensors = [torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) for x in (a, b)]
    out = torch.empty(SIZE, SIZE, dtype=torch.bfloat16)
    return a, b, aligned((SIZE, SIZE), np.float32), {"oneDNN": lambda: torch.matmul(*tensors, out=out)}


def _i8(random: Any, threads: int) -> tuple[Array, Array, Array, dict[str, Call]]:
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    a, b = (aligned((SIZE, SIZE), np.int8) for _ in range(2))
    for operand in (a, b):
        operand[:] = random.integers(-128, 127, operand.shape, endpoint=True)
    tensors = [torch.from_numpy(x) for x in (a, b)]
    return a, b, aligned((SIZE, SIZE), np.int32), {"oneDNN": lambda: torch._int_mm(*tensors)}


OPERANDS: dict[str, Callable[[Any, int], tuple[Array, Array, Array, dict[str, Call]]]] = {
    "f32": _f32, "bf16": _bf16, "i8": _i8,
}  # fmt: skip


def main() -> None:
    """Check the result against f64, then print the ratio and the rate."""
    more = (("--elements", "f32", "f32, bf16 or i8"), ("--tiles", "", "MxNxK of the kernel's tiles"))
    given = options(__doc__ or "", *more)
    import numpy as np

    a, b, c, peers = OPERANDS[given.elements](np.random.default_rng(1), given.threads)
    gemm = kernel(_source(given.elements, given.tiles), given.target, given.threads)
    gemm(a, b, c)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(c - exact).max() / np.abs(exact).max()
    assert error < (1e-5 if c.dtype == np.float32 else 1e-15), f"wrong result: {error}"
    what = f"{given.elements} {SIZE}^3 {given.tiles}".strip()
    print(
        f"gemm {what} on {given.target}, threads: {given.threads}; largest error {error:.1e} of the largest element"
    )
    for ratio in compare(lambda: gemm(a, b, c), peers):
        print(f"  {ratio}; {2 * SIZE**3 / ratio.ours_seconds / 1e9:.1f} GFLOP/s")


if __name__ == "__main__":
    main()
