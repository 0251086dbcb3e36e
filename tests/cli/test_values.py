"""Values of pptc-run: texts, .npy files, comparison."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pptc.cli import values
from pptc.diag import CompileError
from pptc.ir.types import BF16, F8E4M3FN, F32, I8, I32, UI8


def code_of(caught: pytest.ExceptionInfo[CompileError]) -> str:
    return next(iter(caught.value.sink)).code


def test_arrays_from_texts() -> None:
    zeros = values.array_value("x", "4x8xf32=zeros", F32)
    assert zeros.shape == (4, 8) and zeros.dtype == np.float32 and not zeros.any()
    listed = values.array_value("x", "2x2xi32=1,-2,0x10,4", I32)
    assert listed.tolist() == [[1, -2], [16, 4]]
    filled = values.array_value("x", "3xbf16=1.5", BF16)
    assert filled.dtype == ml_dtypes.bfloat16 and filled.tolist() == [1.5, 1.5, 1.5]
    assert values.array_value("x", "f32=2", F32).shape == ()
    assert values.array_value("x", "0x4xf32=zeros", F32).shape == (0, 4)


def test_random_arrays_depend_on_the_seed_only() -> None:
    one, same, other = (values.array_value("x", f"100xf32=random:{seed}", F32) for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any() and abs(float(one.mean())) < 0.5
    small = values.array_value("x", "1000xui8=random:3", UI8)
    assert small.min() == 0 and small.max() < 10
    assert values.array_value("x", "1000xi8=random:3", I8).min() < 0


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "4xf64=zeros",
        "2xf32=1,2,3",
        "4xf32=maybe",
        "2xf32=1,x",
        "4xf32",
        "x4xf32=zeros",
        "2xf32=random:x",
    ],
)
def test_texts_that_do_not_fit(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        values.array_value("x", text, F32)
    assert code_of(caught) == "P0306"


def test_scalars() -> None:
    assert values.scalar_value("n", "100", I32) == 100
    assert values.scalar_value("n", "i32=-7", I32) == -7
    assert values.scalar_value("n", "1.5", F32) == 1.5
    for text, dtype in (("256", I8), ("-1", UI8), ("1.5", I32), ("many", F32)):
        with pytest.raises(CompileError) as caught:
            values.scalar_value("n", text, dtype)
        assert code_of(caught) == "P0306"


@pytest.mark.parametrize(("dtype", "kind"), [(BF16, ml_dtypes.bfloat16), (F8E4M3FN, ml_dtypes.float8_e4m3fn)])
def test_small_floats_are_raw_bits_in_files(tmp_path: Path, dtype: values.ScalarType, kind: type) -> None:
    array = np.array([[1.0, -2.5], [0.0, 0.5]]).astype(kind)
    path = str(tmp_path / "x.npy")
    values.write_array(path, array, dtype)
    assert np.load(path).dtype == np.dtype(f"uint{dtype.bits}")
    assert (values.read_array("x", path, dtype) == array).all()
    np.save(path, array.view(f"V{dtype.bytes}"))
    assert (values.read_array("x", path, dtype) == array).all()
    np.save(path, array.astype(np.float32))
    assert (values.read_array("x", path, dtype) == array).all()


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    wrong, text = tmp_path / "wrong.npy", tmp_path / "text.npy"
    np.save(wrong, np.zeros(3, np.int16))
    text.write_text("no array")
    for path, code in ((wrong, "P0306"), (text, "P0302"), (tmp_path / "none.npy", "P0302")):
        with pytest.raises(CompileError) as caught:
            values.read_array("x", str(path), F32)
        assert code_of(caught) == code
    with pytest.raises(CompileError) as caught:
        values.write_array(str(tmp_path / "no" / "x.npy"), np.zeros(1, np.float32), F32)
    assert code_of(caught) == "P0303"


def test_comparison_names_the_first_bad_element() -> None:
    wanted = np.zeros((2, 3), np.float32)
    got = wanted.copy()
    got[1, 0], got[1, 2] = 0.5, np.nan
    found = values.compare(got, wanted, 1e-5, 1e-8)
    assert (found.bad, found.first, found.got, found.wanted) == (2, (1, 0), 0.5, 0.0)


def test_comparison_of_special_values() -> None:
    both = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert values.compare(both, both, 0, 0).bad == 0
    assert values.compare(both, np.array([np.nan, -np.inf, -np.inf, 1.0], np.float32), 1e9, 1e9).bad == 1
    assert values.compare(np.zeros(0), np.zeros(0), 0, 0).bad == 0


def test_integers_do_not_wrap_in_comparison() -> None:
    found = values.compare(np.array([255], np.uint8), np.array([0], np.uint8), 0, 0)
    assert found.max_abs == 255 and found.bad == 1
    big = np.array([2**62 + 1], np.int64)
    assert values.compare(big, np.array([2**62], np.int64), 0, 0).bad == 1


def test_tolerances_add() -> None:
    got, wanted = np.array([101.0]), np.array([100.0])
    assert values.compare(got, wanted, 0.005, 0.5).bad == 0
    assert values.compare(got, wanted, 0.005, 0.4).bad == 1
