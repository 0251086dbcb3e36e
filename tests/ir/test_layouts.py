"""The index formulas against a walk over the boxes in memory order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from pptc.ir.layouts import byte_offset, element_count, element_offset
from pptc.ir.types import BF16, F16, F32, I8, Box, Major, ScalarType, TileType


def tile(
    rows: int,
    cols: int,
    elem: ScalarType = F32,
    blayout: Major = "row_major",
    slayout: Box = "none_box",
    fractal: int = 512,
) -> TileType:
    return TileType("vec", elem, rows, cols, rows, cols, blayout, slayout, fractal)


def places(type: TileType) -> Iterator[tuple[int, int]]:
    """(row, column) of element 0, 1, 2, .. of memory: boxes in the outer order, elements of a box in the inner one."""
    if type.slayout == "none_box":
        box = (type.rows, type.cols)
        inner = type.blayout
    else:
        short = 32 // type.elem.bytes
        box = {512: (16, short), 1024: (16, 16), 32: (16, 2)}[type.fractal]
        box = box if type.slayout == "row_major" else box[::-1]
        inner = type.slayout
    corners = [range(0, type.rows, box[0]), range(0, type.cols, box[1])]
    outer = product(*corners) if type.blayout == "row_major" else ((r, c) for c, r in product(*corners[::-1]))
    for row, column in outer:
        within = [range(box[0]), range(box[1])]
        order = product(*within) if inner == "row_major" else ((r, c) for c, r in product(*within[::-1]))
        yield from ((row + r, column + c) for r, c in order)


LAYOUTS = {
    "ND": ("row_major", "none_box", 512),
    "DN": ("col_major", "none_box", 512),
    "NZ": ("col_major", "row_major", 512),
    "NZ acc": ("col_major", "row_major", 1024),
    "Zn": ("row_major", "col_major", 512),
    "Zz": ("row_major", "row_major", 512),
    "Nn": ("col_major", "col_major", 512),
    "MX": ("row_major", "row_major", 32),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("elem", [F32, BF16, I8], ids=lambda e: e.name)
def test_offsets_are_the_walk(name: str, elem: ScalarType) -> None:
    type = tile(64, 32 * (4 if elem == I8 else 1), elem, *LAYOUTS[name])  # type: ignore[arg-type]
    walk = list(places(type))
    assert len(walk) == element_count(type) == type.rows * type.cols
    for number, (row, column) in enumerate(walk):
        assert element_offset(type, row, column) == number
        assert byte_offset(type, row, column) == number * elem.bytes


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_and_numbers_agree(name: str) -> None:
    type = tile(32, 64, F16, *LAYOUTS[name])  # type: ignore[arg-type]
    rows, columns = np.arange(32)[:, None], np.arange(64)[None, :]
    matrix = element_offset(type, rows, columns)
    assert matrix.shape == (32, 64)
    assert all(matrix[r, c] == element_offset(type, r, c) for r in (0, 7, 31) for c in (0, 15, 16, 63))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 64), (64, 1), (5, 40), (17, 33)])
def test_elements_never_share_a_place(name: str, shape: tuple[int, int]) -> None:
    """Tiles smaller than a box, or that end within one, keep their elements apart."""
    type = tile(*shape, F32, *LAYOUTS[name])  # type: ignore[arg-type]
    found = element_offset(type, np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]).reshape(-1)
    assert len(set(found.tolist())) == shape[0] * shape[1]
    assert found.max() < element_count(type)


def test_one_row_of_boxes_is_dense() -> None:
    assert element_count(tile(1, 64, F16, "row_major", "row_major")) == 64
    assert element_count(tile(1, 32, F32, "col_major", "row_major", 1024)) == 32
