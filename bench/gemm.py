"""f32 1024 x 1024 x 1024, one thread: the kernel gemm.pto against OpenBLAS (through NumPy).

python -m bench.gemm [target]
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from bench.harness import aligned, compare, compile_kernel, restart_with

SIZE = 1024


def main(target: str) -> None:
    """Check the result against f64, then print the ratio and the rate."""
    restart_with(1)
    import numpy as np

    random = np.random.default_rng(1)
    a, b, c, d = (aligned((SIZE, SIZE), np.float32) for _ in range(4))
    for operand in (a, b):
        random.standard_normal(out=operand, dtype=np.float32)
    library = ctypes.CDLL(str(compile_kernel(Path(__file__).with_name("gemm.pto"), target)))
    library.gemm_scratch_bytes.restype = ctypes.c_size_t
    scratch = aligned((library.gemm_scratch_bytes(),), np.uint8)
    arguments = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c, scratch)]

    def ours() -> None:
        library.gemm_ws(*arguments)

    ours()
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(c - exact).max() / np.abs(exact).max()
    assert error < 1e-5, f"wrong result: {error}"
    print(f"gemm f32 {SIZE}^3 on {target}, one thread; largest error {error:.1e} of the largest element")
    for ratio in compare(ours, {"OpenBLAS": lambda: np.matmul(a, b, out=d)}):
        print(f"  {ratio}; {2 * SIZE**3 / ratio.ours_seconds / 1e9:.1f} GFLOP/s")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "avx512")
