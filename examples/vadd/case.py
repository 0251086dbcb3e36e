"""z = x + y: one IEEE addition, so every target agrees bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.case import Case, Example


def make(rows: int, random: np.random.Generator) -> Case:
    """Random x and y of [rows, 64]."""
    x, y = (random.standard_normal((rows, 64), dtype=np.float32) for _ in range(2))
    return Case(
        {"x": x, "y": y, "z": np.zeros_like(x), "rows": rows},
        {"z": (x + y).astype(np.float64)},
        0.0,
        0.0,
        "one correctly rounded addition",
    )


EXAMPLE = Example(Path(__file__).with_name("vadd.pto"), "vadd", make)
