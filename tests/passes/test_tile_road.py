"""The tile-level passes one after another: every kernel keeps its numbers, and ends in the form that lowers well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pptc.passes.homes import home_of, is_private
from tests.passes import kernels
from tests.passes.harness import TILE_LEVEL, check_same, transformed

ROOT = Path(__file__).parents[2]
RANDOM = np.random.default_rng(7)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def homes(module: Any) -> dict[str, str]:
    """Home by name of the private tiles; `address` for all others."""
    return {
        op.result.name: home_of(op) if is_private(op) else "address"
        for op in module.walk()
        if op.name == "pto.alloc_tile"
    }


def names(module: Any) -> list[str]:
    return [
        op.name for op in module.walk() if op.definition.dialect in ("pto", "scf") and not op.definition.pure
    ]


@pytest.mark.parametrize("rows", [0, 1, 7, 16, 40])
def test_scale_bias(rows: int) -> None:
    arguments = {
        "x": normal(rows, 128),
        "b": normal(128),
        "y": np.zeros((rows, 128), np.float32),
        "n": rows,
        "s": 1.5,
    }
    module = check_same(kernels.SCALE_BIAS, TILE_LEVEL, "scale_bias", arguments)
    assert homes(module) == {"bias": "view", "x_tile": "register", "y_tile": "register"} | {
        "x_tile": "register"
    }


@pytest.mark.parametrize("rows", [0, 1, 8, 21])
def test_rms_norm(rows: int) -> None:
    arguments = {"x": normal(rows, 64), "y": np.zeros((rows, 64), np.float32), "n": rows}
    module = check_same(kernels.RMS_NORM, TILE_LEVEL, "rms_norm", arguments, relative=1e-6)
    assert "address" not in homes(module).values()
    assert "pto.treshape" in [op.name for op in module.walk()]


def test_online_softmax_carries_its_tiles() -> None:
    arguments = {"x": normal(8, 256), "top": np.zeros(8, np.float32), "total": np.zeros(8, np.float32)}
    module = check_same(kernels.ONLINE_MAX, TILE_LEVEL, "online", arguments, relative=1e-6)
    assert "address" not in homes(module).values()


@pytest.mark.parametrize("first", ["if", "peeled"])
@pytest.mark.parametrize("whole_k", [False, True])
@pytest.mark.parametrize(("k", "step"), [(256, 64), (64, 64), (200, 64)])
def test_products(first: str, whole_k: bool, k: int, step: int) -> None:
    if k % step and (whole_k or first == "peeled"):
        return
    text = kernels.product(k, step, first, whole_k=whole_k)
    arguments = {"a": normal(64, k), "b": normal(k, 128), "c": np.zeros((64, 128), np.float32)}
    module = check_same(text, TILE_LEVEL, "product", arguments, relative=1e-5)
    found = names(module)
    assert found.count("pto.tmatmul") == 1
    assert "pto.tmatmul.acc" not in found and "scf.for" not in found
    assert sorted(homes(module).values()) == ["accumulator", "panel", "view"]


def test_bf16_product() -> None:
    text = kernels.product(128, 32, "if", dtype="bf16")
    arguments = {
        "a": normal(64, 128, dtype=ml_dtypes.bfloat16),
        "b": normal(128, 128, dtype=ml_dtypes.bfloat16),
        "c": np.zeros((64, 128), np.float32),
    }
    check_same(text, TILE_LEVEL, "product", arguments, relative=1e-5)


EXAMPLES = ["softmax", "rmsnorm", "vadd", "matmul_silu"]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("rows", [0, 1, 7, 70])
def test_examples(name: str, rows: int) -> None:
    example = __import__(f"examples.{name}.case", fromlist=["EXAMPLE"]).EXAMPLE
    case = example.make(rows, np.random.default_rng(rows))
    check_same(example.path.read_text(), TILE_LEVEL, example.kernel, case.arguments, relative=1e-4)


def test_the_same_text_every_time() -> None:
    first, second = (transformed(kernels.RMS_NORM, TILE_LEVEL) for _ in range(2))
    assert [op.name for op in first.walk()] == [op.name for op in second.walk()]
