"""Softmax over rows of 1000 columns against NumPy in f64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.case import Case, Example


def make(rows: int, random: np.random.Generator) -> Case:
    """Scores of [rows, 1000] with a standard deviation of 4."""
    x = 4 * random.standard_normal((rows, 1000), dtype=np.float32)
    wide = x.astype(np.float64)
    grown = np.exp(wide - wide.max(axis=1, keepdims=True))
    return Case(
        {"x": x, "y": np.zeros_like(x), "rows": rows},
        {"y": grown / grown.sum(axis=1, keepdims=True)},
        1e-5,
        1e-12,
        "exp <= 2 ulp, the rounding of x - max (|x| <= 40: 2e-6 relative in exp), 1000 terms summed one by one at -O0",
    )


EXAMPLE = Example(Path(__file__).with_name("softmax.pto"), "softmax", make)
