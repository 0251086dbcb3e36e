"""Loads a compiled kernel with the C library's Python face and calls it on NumPy arrays, in place, without copies.

pptc softmax.pto -o softmax.so
python host.py softmax.so
"""

from __future__ import annotations

import sys

import numpy as np

import pptc


def main(path: str) -> int:
    """Softmax of a [32, 1000] array; returns 1 when NumPy disagrees."""
    softmax = pptc.load(path)["softmax"]
    x = np.random.default_rng(0).standard_normal((32, 1000), dtype=np.float32)
    y = np.zeros_like(x)
    softmax(x, y, 32)
    grown = np.exp(x.astype(np.float64))
    error = np.abs(y - grown / grown.sum(axis=1, keepdims=True)).max()
    print(f"softmax: largest error {error:.1e}")
    return int(not error < 1e-6)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
