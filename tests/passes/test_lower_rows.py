"""Fused rows: whole row programs through the pipelines, against NumPy formulas, at all kinds of tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pptc.ir.attrs import UnitAttr
from pptc.ir.core import Op
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, lowered, module, parsed

SIZES = ((0, 9), (1, 1), (7, 3), (16, 17), (5, 100), (16, 128))
COLUMN: dict[str, Any] = {"rows": 16, "columns": 1, "valid": ("%r", "%c1"), "layout": ", blayout=col_major"}
LINE: dict[str, Any] = {"rows": 1, "columns": 128, "valid": ("%c1", "%c")}
EXACT = " {rmode = #pto<round_mode RINT>, satmode = #pto<saturation_mode ON>}"


def _softmax() -> Text:
    text = Text("softmax", 16, 128, x="*f32", y="*f32")
    x, shifted, grown, y = (text.tile("f32") for _ in range(4))
    top, total = text.tile("f32", **COLUMN), text.tile("f32", **COLUMN)
    text.load(text.part("x"), x)
    text.op("pto.trowmax", [x, text.tile("f32")], top)
    text.op("pto.trowexpandsub", [x, top], shifted)
    text.op("pto.texp", [shifted], grown)
    text.op("pto.trowsum", [grown, text.tile("f32")], total)
    text.op("pto.trowexpanddiv", [grown, total], y)
    text.store(y, text.part("y"))
    return text


def _softmax_expected(x: Any) -> Any:
    grown = np.exp(x - x.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def _rms_norm() -> Text:
    """bf16 in and out, f32 between; the weights are one row, the scale of a row takes several scalar ops."""
    text = Text("rms_norm", 16, 128, x="*bf16", w="*bf16", y="*bf16", mean="f32", eps="f32")
    x, w, y = text.tile("bf16"), text.tile("bf16", **LINE), text.tile("bf16")
    wide, squares, scaled, product = (text.tile("f32") for _ in range(4))
    weights = text.tile("f32", **LINE)
    total, mean, shifted, scale = (text.tile("f32", **COLUMN) for _ in range(4))
    text.load(text.part("w", "%c1", "%c"), w)
    text.load(text.part("x"), x)
    text.op("pto.tcvt", [w], weights, EXACT)
    text.op("pto.tcvt", [x], wide, EXACT)
    text.op("pto.tmul", [wide, wide], squares)
    text.op("pto.trowsum", [squares, text.tile("f32")], total)
    text.op("pto.tmuls", [total, ("%mean", "f32")], mean)
    text.op("pto.tadds", [mean, ("%eps", "f32")], shifted)
    text.op("pto.trsqrt", [shifted], scale)
    text.op("pto.trowexpandmul", [wide, scale], scaled)
    text.op("pto.tcolexpandmul", [scaled, weights], product)
    text.op("pto.tcvt", [product], y, EXACT)
    text.store(y, text.part("y"))
    return text


def _rms_norm_expected(x: Any, w: Any, mean: float, eps: float) -> Any:
    return x / np.sqrt((x * x).sum(1, keepdims=True) * mean + eps) * w


def _spread() -> Text:
    """Three phases: the distance from the mean, divided by the largest of these; and the mean itself."""
    text = Text("spread", 16, 128, x="*f32", y="*f32", m="*f32", mean="f32")
    x, apart, size, y = (text.tile("f32") for _ in range(4))
    total, middle, top = (text.tile("f32", **COLUMN) for _ in range(3))
    text.load(text.part("x"), x)
    text.op("pto.trowsum", [x, text.tile("f32")], total)
    text.op("pto.tmuls", [total, ("%mean", "f32")], middle)
    text.op("pto.trowexpandsub", [x, middle], apart)
    text.op("pto.tabs", [apart], size)
    text.op("pto.trowmax", [size, text.tile("f32")], top)
    text.op("pto.trowexpanddiv", [apart, top], y)
    text.store(y, text.part("y"))
    text.store(middle, text.part("m", "%r", "%c1"))
    return text


def _clipped() -> Text:
    """i32 elements, in place: y = min(max(x, low), high) with a product that wraps."""
    text = Text("clipped", 16, 128, y="*i32", low="i32", high="i32")
    y, product = text.tile("i32"), text.tile("i32")
    text.load(text.part("y"), y)
    text.op("pto.tmaxs", [y, ("%low", "i32")], y)
    text.op("pto.tmins", [y, ("%high", "i32")], y)
    text.op("pto.tmul", [y, y], product)
    text.store(product, text.part("y"))
    return text


TEXT = module([_softmax(), _rms_norm(), _spread(), _clipped()])


def _wide(array: Any) -> Any:
    return array.astype(np.float64)


def _check(library: Library, rows: int, columns: int, random: np.random.Generator) -> None:
    def array(elem: str, *shape: int) -> Any:
        return random.normal(0, 2, shape).astype(NUMPY[elem])

    x, y = array("f32", rows, columns), np.zeros((rows, columns), np.float32)
    library.call("softmax", x, y, rows, columns)
    np.testing.assert_allclose(y, _softmax_expected(_wide(x)), rtol=2e-5, atol=1e-7)

    low, w = array("bf16", rows, columns), array("bf16", 1, columns)
    narrow = np.zeros_like(low)
    library.call("rms_norm", low, w, narrow, 1 / columns, 1e-6, rows, columns)
    expected = _rms_norm_expected(_wide(low), _wide(w), 1 / columns, 1e-6)
    np.testing.assert_allclose(_wide(narrow), expected, rtol=2.0**-7, atol=1e-6)

    middle = np.zeros((rows, 1), np.float32)
    library.call("spread", x, y, middle, 1 / columns, rows, columns)
    apart = _wide(x) - _wide(middle)
    np.testing.assert_allclose(middle, _wide(x).mean(1, keepdims=True), rtol=1e-5, atol=1e-6)
    with np.errstate(invalid="ignore"):
        expected = apart / np.abs(apart).max(1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)

    whole = random.integers(-(2**31), 2**31, (rows, columns)).astype(np.int32)
    before = whole.copy()
    library.call("clipped", whole, -70000, 90000, rows, columns)
    np.testing.assert_array_equal(whole, np.clip(before, -70000, 90000) ** 2)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("level", [0, 2])
def test_programs(target: str, level: int) -> None:
    pipeline = parse_pipeline(load_machine(target).pipelines[f"O{level}"], PASSES)
    library = Library(parsed(TEXT), target, pipeline, opt_level=level)
    for rows, columns in SIZES:
        _check(library, rows, columns, np.random.default_rng(rows * 1000 + columns))


# ---------------------------------------------------------------- the form of the code


def _count(module: Op, accepts: Callable[[Op], bool]) -> int:
    return sum(map(accepts, module.walk()))


def _softmax_rows(target: str, more: str = "") -> Op:
    level = (
        load_machine(target)
        .pipelines["O2"]
        .replace("lower-tiles", f"lower-tiles{more}")
        .split(",canonicalize,leg")[0]
    )
    return lowered(module([_softmax()]), target, level)


def test_a_row_is_three_loops_of_vectors() -> None:
    made = _softmax_rows("avx512")
    rows = [op for op in made.walk() if isinstance(op.attributes.get("tile.strip"), UnitAttr)]
    assert len(rows) == 1
    loops = [op for op in rows[0].body if op.name == "scf.for"]
    assert len(loops) == 6  # per phase: four vectors per trip, then masked single ones
    assert _count(rows[0], lambda op: op.name == "arith.divf") == 1  # the reciprocal, once per row
    assert _count(rows[0], lambda op: op.name == "vector.reduction" and op.attributes["kind"] == "add") == 2


def test_division_stays_division_when_the_policy_says_so() -> None:
    made = _softmax_rows("avx512", "{reciprocal=off}")
    assert _count(made, lambda op: op.name == "arith.divf") == 5


def test_the_next_row_is_fetched_in_the_phase_that_computes_most() -> None:
    loops = [op for op in _softmax_rows("avx512").walk() if op.name == "scf.for"]
    fetching = [loop for loop in loops if any(op.name == "memref.prefetch" for op in loop.body)]
    assert len(fetching) == 2  # four vectors per trip, single ones
    assert all(any(op.name == "math.exp" for op in loop.body) for loop in fetching)
    assert not _count(_softmax_rows("avx512", "{prefetch=off}"), lambda op: op.name == "memref.prefetch")


def test_machines_without_masks_end_rows_element_by_element() -> None:
    assert not _count(_softmax_rows("x86-64"), lambda op: op.name.startswith("vector.masked"))
    assert _count(_softmax_rows("avx2"), lambda op: op.name == "vector.maskedload")
