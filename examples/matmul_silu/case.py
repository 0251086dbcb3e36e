"""silu(a b) against NumPy in f64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.case import Case, Example


def make(rows: int, random: np.random.Generator) -> Case:
    """a of [rows, 256] and b of [256, 384], scaled so that the product is of size 1."""
    a = random.standard_normal((rows, 256), dtype=np.float32)
    b = random.standard_normal((256, 384), dtype=np.float32) / 16
    product = a.astype(np.float64) @ b.astype(np.float64)
    return Case(
        {"a": a, "b": b, "c": np.zeros((rows, 384), np.float32), "rows": rows},
        {"c": product / (1 + np.exp(-product))},
        2e-6,
        4e-6,
        "a sum of 256 products in f32 (256 * 2^-24 of the largest partial sum at worst), then exp and a division",
    )


EXAMPLE = Example(Path(__file__).with_name("matmul_silu.pto"), "matmul_silu", make)
