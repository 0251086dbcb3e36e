"""Number literals against NumPy and ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pptc.ir.attrs import FloatAttr
from pptc.ir.literals import (
    float_value,
    is_number,
    parse_float,
    parse_integer,
    print_float,
    print_shortest,
    round_float,
)
from pptc.ir.syntax import SyntaxFault
from pptc.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I32, SCALARS, UI8, ScalarType

DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip
FLOATS = [F16, BF16, F32, F64, F8E4M3FN, F8E5M2]


def numpy_bits(value: float, type: ScalarType) -> int:
    with np.errstate(over="ignore"):
        return int(np.array(value, np.float64).astype(DTYPES[type.name]).view(f"uint{type.bits}"))


@settings(max_examples=400)
@given(st.floats(), st.sampled_from(FLOATS))
def test_rounding(value: float, type: ScalarType) -> None:
    if math.isnan(value):
        assert math.isnan(float_value(FloatAttr(round_float(value, type), type)))
    else:
        assert round_float(value, type) == numpy_bits(value, type)


@pytest.mark.parametrize("type", FLOATS, ids=lambda type: type.name)
def test_every_value_of_small_types(type: ScalarType) -> None:
    step = max(1, (1 << type.bits) // 4096) | 1
    for bits in range(0, 1 << type.bits, step):
        value = float(np.array(bits, f"uint{type.bits}").view(DTYPES[type.name]))
        mine = float_value(FloatAttr(bits, type))
        assert mine == value or (math.isnan(mine) and math.isnan(value))


@settings(max_examples=400)
@given(
    st.sampled_from(FLOATS).flatmap(
        lambda type: st.tuples(st.just(type), st.integers(0, (1 << type.bits) - 1))
    )
)
def test_print_and_read(pair: tuple[ScalarType, int]) -> None:
    type, bits = pair
    for text in (print_float(FloatAttr(bits, type)), print_shortest(FloatAttr(bits, type))):
        assert parse_float(text, type).bits == bits
        assert is_number(text)


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [(1.0, F32, "1.000000e+00"), (0.1, F32, "1.000000e-01"), (-0.0, F16, "-0.000000e+00"), (1 / 3, F64, "0.3333333333333333"),
     (math.inf, F32, "0x7F800000"), (-math.inf, BF16, "0xFF80"), (1e-7, F64, "1.000000e-07"), (12345678.0, F32, "12345678.0")],
)  # fmt: skip
def test_canonical_floats(value: float, type: ScalarType, text: str) -> None:
    assert print_float(FloatAttr(round_float(value, type), type)) == text


def test_integers_take_both_ranges() -> None:
    assert [parse_integer(text, I8) for text in ("127", "128", "255", "-128", "0x80")] == [
        127,
        -128,
        -1,
        -128,
        -128,
    ]
    assert parse_integer("255", UI8) == 255
    assert parse_integer(str(1 << 80), None) == 1 << 80
    for text, type in (("256", I8), ("-129", I8), ("-1", UI8), (str(1 << 32), I32)):
        with pytest.raises(SyntaxFault, match="does not fit"):
            parse_integer(text, type)


def test_types_without_decimals_are_written_in_hex() -> None:
    exotic = SCALARS["!pto.f8E8M0"]
    assert print_float(parse_float("0x7F", exotic)) == "0x7F"
    with pytest.raises(SyntaxFault, match="no decimal literals"):
        parse_float("1.0", exotic)
