"""tcvt through lower-tiles against the interpreter, bit for bit: all pairs of types, all roundings, with edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.diag import CompileError
from pptc.ir.interp import run_kernel
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, lowered, module, parsed

TYPES = ("f32", "f16", "bf16", "i8", "i32", "i64", "ui16", "ui64", "f8E4M3FN", "f8E5M2")
PAIRS = tuple((a, b) for a in TYPES for b in TYPES if a != b)
MODES = ("RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD")
PIPELINE = "plan-memory,lower-tiles,legalize-floats,expand-math"


def _kernel(source: str, target: str, mode: str, saturate: str) -> Text:
    name = f"c_{source}_{target}_{saturate}".replace("!pto.", "")
    text = Text(name, 16, 64, x=f"*{source}", y=f"*{target}")
    wide, narrow = text.tile(source), text.tile(target)
    text.load(text.part("x"), wide)
    words = f" {{rmode = #pto<round_mode {mode}>, satmode = #pto<saturation_mode {saturate}>}}"
    text.op("pto.tcvt", [wide], narrow, words)
    text.store(narrow, text.part("y"))
    return text


def _numbers(elem: str, count: int, random: np.random.Generator) -> Any:
    """Random bits, halves, powers of two, and the ends of the range."""
    kind = NUMPY[elem]
    if np.dtype(kind).kind in "iu":
        info = np.iinfo(kind)
        drawn = random.integers(info.min, info.max, count, dtype=kind, endpoint=True)
        shift = random.integers(0, info.bits, count // 2).astype(kind)
        drawn[: count // 2] >>= shift
        drawn[:6] = [0, 1, info.max, info.max - 1, info.min, info.min + 1]
        return drawn
    width = np.dtype(kind).itemsize
    bits = random.integers(0, 1 << (8 * width), count, dtype=np.uint64).astype(f"u{width}").view(kind)
    halves = random.integers(-300, 300, count // 4) + 0.5
    scaled = random.standard_normal(count // 4) * np.exp2(random.integers(-4, 66, count // 4))
    with np.errstate(over="ignore"):
        bits[: count // 4], bits[count // 4 : count // 2] = halves.astype(kind), scaled.astype(kind)
    return bits


@pytest.mark.parametrize(("number", "mode"), list(enumerate(MODES)))
def test_conversions(number: int, mode: str) -> None:
    target = MACHINES[number % len(MACHINES)]
    cases = [(a, b, ("ON", "OFF")[(i + number // 3) % 2]) for i, (a, b) in enumerate(PAIRS)]
    text = module([_kernel(a, b, mode, saturate) for a, b, saturate in cases])
    reference, library = parsed(text), Library(parsed(text), target, parse_pipeline(PIPELINE, PASSES))
    random = np.random.default_rng(number)
    for a, b, saturate in cases:
        x = _numbers(a, 16 * 61, random).reshape(16, 61)
        got, want = np.zeros((16, 61), NUMPY[b]), np.zeros((16, 61), NUMPY[b])
        run_kernel(reference, f"c_{a}_{b}_{saturate}", {"x": x, "y": want, "rows": 16, "columns": 61})
        library.call(f"c_{a}_{b}_{saturate}", x, got, 16, 61)
        bits = f"u{got.dtype.itemsize}"
        differs = got.view(bits) != want.view(bits)
        if got.dtype.kind not in "iu":
            differs &= ~(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
        assert not differs.any(), (a, b, mode, saturate, x[differs][:3], got[differs][:3], want[differs][:3])


@pytest.mark.parametrize(("source", "target"), [("!pto.hif8", "f32"), ("f32", "!pto.hif8")])
@pytest.mark.parametrize("pipeline", [PIPELINE, PIPELINE.replace("lower-tiles", "lower-tiles{vectors=off}")])
def test_floats_of_no_known_format_are_only_moved(source: str, target: str, pipeline: str) -> None:
    moved = Text("moved", 16, 64, x=f"*{source}", y=f"*{source}")
    tile, other = moved.tile(source), moved.tile(source)
    moved.load(moved.part("x"), tile)
    moved.op("pto.tmov", [tile], other)
    moved.store(other, moved.part("y"))
    lowered(module([moved]), "avx2", pipeline)
    with pytest.raises(CompileError, match=r"hif8 is moved on avx2|converted to !pto.hif8") as caught:
        lowered(module([_kernel(source, target, "RINT", "ON")]), "avx2", pipeline)
    (found,) = caught.value.sink
    assert found.code == "P0402" and found.span is not None
