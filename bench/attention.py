"""Attention of one head, 1024 positions of 128 in f32, by running maxima and sums, against torch.

python -m bench.attention [--target T] [--threads N]
"""

from __future__ import annotations

from pathlib import Path

from bench.harness import aligned, compare, kernel, options

POSITIONS, HEAD = 1024, 128


def main() -> None:
    """Check the result against f64, then print the ratio."""
    given = options(__doc__ or "")
    import numpy as np
    import torch

    torch.set_num_threads(given.threads)
    random = np.random.default_rng(1)
    q, k, v, o = (aligned((POSITIONS, HEAD), np.float32) for _ in range(4))
    for array in (q, k, v):
        random.standard_normal(out=array, dtype=np.float32)
    attention = kernel(Path(__file__).with_name("attention.pto"), given.target, given.threads)
    attention(q, k, v, o)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) / HEAD**0.5
    grown = np.exp(scores - scores.max(1, keepdims=True))
    error = np.abs(o - grown / grown.sum(1, keepdims=True) @ v).max()
    assert error < 1e-5, f"wrong result: {error}"
    tensors = [torch.from_numpy(array)[None, None] for array in (q, k, v)]
    peers = {"torch": lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)}
    print(
        f"attention f32 {POSITIONS}x{HEAD} on {given.target}, threads: {given.threads}; largest error {error:.1e}"
    )
    for ratio in compare(lambda: attention(q, k, v, o), peers):
        print(f"  {ratio}")


if __name__ == "__main__":
    main()
