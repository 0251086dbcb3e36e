"""Sums of three, remainders and powers in kernels, against formulas written here."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pptc.ir.interp import run_kernel
from tests.ir.kernels import Kernel


@pytest.mark.parametrize(("name", "narrow"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_axpy_adds_narrow_elements_to_a_wide_tile(name: str, narrow: type) -> None:
    k = Kernel(x=f"*{name}", y="*f32", s=name)
    x, y = k.tile(f"2x16x{name}"), k.tile("2x16xf32")
    k.load(k.view("%x", [2, 16]), x)
    k.load(k.view("%y", [2, 16]), y)
    k.op("pto.taxpy", [x, "%s"], y)
    k.store(y, k.view("%y", [2, 16]))
    given = np.linspace(-3, 3, 32).astype(narrow).reshape(2, 16)
    total = np.linspace(1, 2, 32).astype(np.float32).reshape(2, 16)
    product = given.astype(np.float32) * np.float32(narrow(1.7))
    want = total + product
    run_kernel(k.module(), "k", {"x": given, "y": total, "s": 1.7}, poison=True)
    np.testing.assert_array_equal(total, want)


def one_row(op: str, x: float, y: float, elem: str = "f32", dtype: type = np.float32) -> float:
    """The op of a tile and a scalar on one element."""
    k = Kernel(x=f"*{elem}", z=f"*{elem}", s=elem)
    tile = k.tile(f"1x8x{elem}", valid="1x1")
    k.load(k.view("%x", [1, 1]), tile)
    k.op(op, [tile, "%s"], tile)
    k.store(tile, k.view("%z", [1, 1]))
    out = np.zeros((1, 1), dtype)
    run_kernel(k.module(), "k", {"x": np.array([[x]], dtype), "z": out, "s": y}, poison=True)
    return float(out[0, 0])


INFINITY, NAN = math.inf, math.nan
POWERS = [
    (2.0, 10.0, 1024.0), (-2.0, 3.0, -8.0), (-2.0, 4.0, 16.0), (-8.0, 1 / 3, NAN), (NAN, 0.0, 1.0), (1.0, NAN, 1.0),
    (0.0, -1.0, INFINITY), (-0.0, -1.0, -INFINITY), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-1.0, INFINITY, 1.0),
    (-INFINITY, 3.0, -INFINITY), (-INFINITY, 2.0, INFINITY), (-INFINITY, 0.5, INFINITY), (0.5, INFINITY, 0.0),
    (0.5, -INFINITY, INFINITY), (-3.0, 2.0**25, INFINITY), (NAN, 2.0, NAN), (-1.0, NAN, NAN),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y", "want"), POWERS)
def test_powers_of_edge_values(x: float, y: float, want: float) -> None:
    found = one_row("pto.tpows", x, y)
    assert found == want or (math.isnan(found) and math.isnan(want))
    assert math.isnan(want) or math.copysign(1, found) == math.copysign(1, want)


@pytest.mark.parametrize(
    ("op", "x", "y", "want"),
    [
        ("pto.tfmods", -7, 3, -1), ("pto.trems", -7, 3, 2), ("pto.trems", 7, -3, -2), ("pto.tfmods", 7, -3, 1),
        ("pto.trems", 5, 0, 5), ("pto.tfmods", -(2**31), -1, 0), ("pto.tpows", 3, 5, 243), ("pto.tpows", 2, -1, 0),
        ("pto.tpows", -1, -3, -1), ("pto.tpows", 7, 20, (7**20 + 2**31) % 2**32 - 2**31), ("pto.tpows", 0, 0, 1),
    ],
)  # fmt: skip
def test_integer_remainders_and_powers(op: str, x: int, y: int, want: int) -> None:
    assert one_row(op, x, y, "i32", np.int32) == want


def test_remainders_are_exact_for_huge_quotients() -> None:
    x, y = np.float32(3e38), np.float32(11 * 2.0**-149)
    exact = math.fmod(float(x), float(y))
    assert exact
    assert one_row("pto.tfmods", float(x), float(y)) == exact
    assert one_row("pto.trems", float(-x), float(y)) == float(y) - exact
