"""Every row has two meanings, a recipe and a NumPy reference, written apart: here they meet on edge values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.ir.opdef import ColumnReduce, Contract, Map, OpDef, RowReduce, Spread
from pptc.ir.ops import OPS, quantize
from pptc.ir.types import BF16, F16, F32, I8, I16, I32, I64, UI8, UI16, UI32, UI64, ScalarType
from tests.ir.numpy_scalars import NumpyScalars, dtype

ALL = (F16, BF16, F32, I8, I16, I32, I64, UI8, UI16, UI32, UI64)
CONVERSIONS = ("pto.tcvt", *quantize.ROWS)
"""Rows between two element types, which have tests of their own."""
MAPS = [row for row in OPS.values() if isinstance(row.meaning, Map) and row.name not in CONVERSIONS]
REDUCTIONS = [row for row in OPS.values() if isinstance(row.meaning, RowReduce | ColumnReduce)]
B = NumpyScalars()


def cases(rows: list[OpDef]) -> list[Any]:
    return [pytest.param(row, t, id=f"{row.name}-{t.name}") for row in rows for t in row.dtypes or ALL]


def edges(elem: ScalarType) -> Any:
    """Values of the compute type that elements of `elem` may have: the special ones and some ordinary ones."""
    random = np.random.default_rng(7)
    if not elem.is_float:
        info = np.iinfo(dtype(elem))
        special = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
        drawn = random.integers(info.min, info.max, 14, dtype=dtype(elem), endpoint=True)
        return np.concatenate([np.array(special, dtype(elem)), drawn])
    tiny, large = (
        np.array(x).astype(dtype(elem)).astype(np.float32) for x in ({"f16": 6e-8}.get(elem.name, 1e-40), 6e4)
    )
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        np.inf,
        -np.inf,
        np.nan,
        tiny,
        -tiny,
        large,
        -large,
        88.5,
        -103.0,
        3.0,
    ]
    values = np.concatenate([np.array(special, np.float32), random.normal(0, 10, 15).astype(np.float32)])
    return values.astype(dtype(elem)).astype(np.float32)


def smallest(elem: ScalarType) -> float:
    """The smallest positive value of a float type."""
    return {"f16": 2.0**-24, "bf16": 2.0**-133}.get(elem.name, 2.0**-149)


def rounded(values: Any, elem: ScalarType) -> Any:
    """To the compute type and then to the element type, as a tile write does."""
    values = np.asarray(values)
    return (values.astype(np.float32) if elem.is_float else values).astype(dtype(elem))


def assert_close(row: OpDef, found: Any, expected: Any, elem: ScalarType) -> None:
    if not elem.is_float:
        np.testing.assert_array_equal(found, expected)
        return
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        unit = {"f16": 2.0**-10, "bf16": 2.0**-7}.get(elem.name, 2.0**-23)
        spacing = np.maximum(np.exp2(np.floor(np.log2(np.abs(expected)))) * unit, smallest(elem))
        allowed = (
            row.tolerance.ulps * spacing + row.tolerance.relative * np.abs(expected) + row.tolerance.absolute
        )
        close = np.abs(found - expected) <= allowed
    same = (found == expected) & ((expected != 0) | (np.signbit(found) == np.signbit(expected)))
    good = same | (np.isnan(found) & np.isnan(expected)) | (close & (allowed > 0) & np.isfinite(expected))
    assert good.all(), (found[~good], expected[~good])


@pytest.mark.parametrize(("row", "elem"), cases(MAPS))
def test_recipe_is_reference(row: OpDef, elem: ScalarType) -> None:
    assert isinstance(row.meaning, Map) and row.reference
    values = edges(elem)
    grids = np.meshgrid(*[values] * len(row.meaning.sources), indexing="ij")
    inputs = [
        grid if spread is not Spread.SCALAR or grid.ndim == 1 else grid[..., :1]
        for grid, spread in zip(grids, row.meaning.sources.values(), strict=True)
    ]
    with np.errstate(all="ignore"):
        found = rounded(row.meaning.recipe(B, *np.broadcast_arrays(*inputs)), elem)
        expected = rounded(np.broadcast_to(row.reference(*inputs), found.shape), elem)
    assert_close(row, found, expected, elem)


@pytest.mark.parametrize(("row", "elem"), cases(REDUCTIONS))
def test_folded_recipe_is_reference(row: OpDef, elem: ScalarType) -> None:
    assert isinstance(row.meaning, RowReduce | ColumnReduce) and row.reference
    axis = 1 if isinstance(row.meaning, RowReduce) else 0
    values = np.stack([edges(elem), np.roll(edges(elem), 3), np.sort(edges(elem))])
    if elem.is_float:  # the edge lines end in inf or NaN; these do not
        values = np.concatenate([values, np.random.default_rng(3).normal(1, 0.1, (9, 30)).astype(np.float32)])
    if axis == 0:
        values = values.T
    with np.errstate(all="ignore"):
        lines = np.moveaxis(values, axis, 0)
        total = np.full(
            lines.shape[1:], np.asarray(row.meaning.identity(elem)).astype(values.dtype), values.dtype
        )
        for line in lines:
            total = row.meaning.combine(B, total, line)
        found = rounded(np.expand_dims(total, axis), elem)
        expected = rounded(row.reference(values), elem)
    assert expected.shape == found.shape
    assert_close(row, found, expected, elem)


@pytest.mark.parametrize("row", REDUCTIONS, ids=lambda row: row.name)
def test_reduction_of_nothing_is_its_identity(row: OpDef) -> None:
    assert isinstance(row.meaning, RowReduce | ColumnReduce) and row.reference
    empty = np.zeros((4, 0) if isinstance(row.meaning, RowReduce) else (0, 4), np.float32)
    assert (row.reference(empty) == row.meaning.identity(F32)).all()
    assert row.reference(empty).size == 4


MODES = ("NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD", "CAST_RINT")
PAIRS = [
    (source, to)
    for source in (F16, BF16, F32, I8, I16, I32, I64, UI8, UI32)
    for to in (F16, BF16, F32, I8, I16, I32, I64, UI8, UI16, UI32)
]


def conversion_inputs(source: ScalarType, to: ScalarType) -> Any:
    """Edge values, halves, and the neighbourhood of the destination's limits."""
    values = edges(source)
    if source.is_float:
        limits = [] if to.is_float else [float(np.iinfo(dtype(to)).max), float(np.iinfo(dtype(to)).min)]
        halves = [
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            0.49999997,
            3.7,
            -3.7,
            65519.0,
            65520.0,
            3.4e38,
            5e-8,
            1e-41,
            1.0009766,
            1.0014648,
        ]
        near = [x + d for x in limits for d in (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 300.0)]
        with np.errstate(all="ignore"):
            more = np.array(halves + near, np.float32).astype(dtype(source)).astype(np.float32)
        values = np.concatenate([values, more])
    else:
        info = np.iinfo(dtype(source))
        wanted = [2**k + d for k in (8, 11, 12, 16, 24, 25, 33, 53, 55, 62) for d in (-1, 0, 1, 2, 3)]
        values = np.concatenate([values, np.array([v for v in wanted if v <= info.max], dtype(source))])
    return values


@pytest.mark.parametrize(("source", "to"), PAIRS, ids=lambda t: t.name)
def test_conversions_are_exact_and_rounded_once(source: ScalarType, to: ScalarType) -> None:
    row = OPS["pto.tcvt"]
    assert isinstance(row.meaning, Map) and row.reference
    values = conversion_inputs(source, to)
    for rmode in MODES:
        for satmode in ("ON", "OFF"):
            words = {"to": to, "rmode": rmode, "satmode": satmode}
            with np.errstate(all="ignore"):
                found = row.meaning.recipe(B, values, **words).astype(dtype(to))
                expected = row.reference(values, **words)
            assert expected.dtype == dtype(to)
            np.testing.assert_array_equal(
                found.astype(np.float64) if to.is_float else found,
                expected.astype(np.float64) if to.is_float else expected,
                err_msg=f"{rmode} {satmode} of {values}",
            )


def test_products() -> None:
    random = np.random.default_rng(1)
    left, right = random.normal(size=(5, 9)).astype(np.float32), random.normal(size=(9, 4)).astype(np.float32)
    start, bias = random.normal(size=(5, 4)).astype(np.float32), random.normal(size=(1, 4)).astype(np.float32)
    expected = np.einsum("mk,kn->mn", left, right)
    for name, more in (("", {}), (".acc", {"start": start}), (".bias", {"bias": bias})):
        row = OPS[f"pto.tmatmul{name}"]
        assert isinstance(row.meaning, Contract) and row.reference
        np.testing.assert_allclose(
            row.reference(left, right, **more), expected + sum(more.values()), rtol=1e-5
        )
    big = np.full((1, 70000), -128, np.int8)
    exact = OPS["pto.tmatmul"].reference(big, big.T)  # type: ignore[misc]
    assert exact.dtype == np.int32 and exact[0, 0] == 70000 * 128 * 128
    assert (OPS["pto.tmatmul"].reference(left[:, :0], right[:0]) == 0).all()  # type: ignore[misc]
