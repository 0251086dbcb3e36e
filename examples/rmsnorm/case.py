"""RMSNorm over rows of 1024 bf16 values against NumPy in f64."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np

from examples.case import Case, Example


def make(rows: int, random: np.random.Generator) -> Case:
    """x of [rows, 1024] and weights around 1, both bf16."""
    x = random.standard_normal((rows, 1024)).astype(ml_dtypes.bfloat16)
    w = (1 + 0.1 * random.standard_normal(1024)).astype(ml_dtypes.bfloat16)
    wide = x.astype(np.float64)
    scale = 1 / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6)
    return Case(
        {"x": x, "w": w, "y": np.zeros_like(x), "rows": rows},
        {"y": wide * scale * w.astype(np.float64)},
        2.0**-8,
        1e-30,
        "one rounding to bf16 (half a unit of 2^-8) and f32 arithmetic before it",
    )


EXAMPLE = Example(Path(__file__).with_name("rmsnorm.pto"), "rmsnorm", make)
