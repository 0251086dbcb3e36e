"""Roundings and integer arithmetic of the reference against bit arithmetic and exact rationals."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pptc.ir import numeric
from pptc.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, I8, I16, SCALARS, UI8


def bf16_bits(bits: int) -> int:
    """The nearest-even bf16 of f32 bits, by the usual integer trick."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_bf16_is_nearest_even(patterns: list[int]) -> None:
    values = np.array(patterns, np.uint32).view(np.float32)
    found = numeric.narrow(values, BF16).view(np.uint16)
    for pattern, got in zip(patterns, found.tolist(), strict=True):
        want = bf16_bits(pattern)
        assert got & 0x7FFF == want & 0x7FFF if want & 0x7FFF == 0x7FC0 else got == want


def test_results_are_rounded_to_the_compute_type_first() -> None:
    """1 + 2^-11 + 2^-40 is above the tie of f16, but not once it is an f32."""
    exact = np.array([1 + 2.0**-11 + 2.0**-40])
    assert numeric.narrow(exact, F16)[0] == 1
    assert numeric.narrow(exact, F32)[0] == np.float32(1 + 2.0**-11)


def test_eight_bit_floats() -> None:
    values = np.array([448, 1e6, -1e6, np.nan, 0.0019], np.float32)
    assert numeric.convert(values, F8E4M3FN).astype(float).tolist()[:3] == [448, 448, -448]
    assert np.isnan(numeric.convert(values, F8E4M3FN, "RINT", False).astype(float)[1:4]).all()
    assert numeric.convert(values, F8E5M2, "RINT", False).astype(float).tolist()[1:3] == [np.inf, -np.inf]
    assert float(numeric.convert(values, F8E4M3FN)[4]) == 2.0**-9


@given(st.lists(st.tuples(st.integers(-128, 127), st.integers(-128, 127)), min_size=1, max_size=50))
def test_integer_division(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column, np.int8) for column in zip(*pairs, strict=True))
    for (x, y), found in zip(pairs, numeric.truncated_quotient(a, b).tolist(), strict=True):
        exact = 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        assert found == (exact + 128) % 256 - 128


def test_extrema_of_zeros_and_nans() -> None:
    a = np.array([0.0, -0.0, np.nan, 1.0, -np.inf], np.float32)
    b = np.array([-0.0, 0.0, 2.0, np.nan, np.inf], np.float32)
    assert not np.signbit(numeric.maximum(a, b)[:2]).any()
    assert np.signbit(numeric.minimum(a, b)[:2]).all()
    assert np.isnan(numeric.maximum(a, b)[2:4]).all() and np.isnan(numeric.minimum(a, b)[2:4]).all()
    assert (numeric.maximum(a, b)[4], numeric.minimum(a, b)[4]) == (np.inf, -np.inf)


def test_types_and_dtypes_name_each_other() -> None:
    for elem in SCALARS.values():
        if numeric.has_array_type(elem) and elem.kind != "index" and not elem.name.startswith("si"):
            assert numeric.scalar_type(numeric.dtype_of(elem)) == elem
    assert numeric.integer_range(I16) == (-32768, 32767)
    assert numeric.integer_range(UI8) == (0, 255)
    assert numeric.convert(np.array([300, -5], np.int32), I8).tolist() == [127, -5]
