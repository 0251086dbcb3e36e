"""Where element (row, column) of a tile lies, in elements from the tile's first byte.

One place for the formulas. They use + * // % only, so they run on integers, NumPy arrays and symbolic values alike.
"""

from __future__ import annotations

from typing import Any

from pptc.ir.kinds import box
from pptc.ir.types import TileType


def element_offset(type: TileType, row: Any, column: Any) -> Any:
    """The element offset of (row, column) in the physical tile, in layout ND, DN, NZ, Zn, Zz or Nn."""
    if not type.is_boxed:
        return row * type.cols + column if type.blayout == "row_major" else column * type.rows + row
    box_rows, box_columns = box(type)
    outer_row, inner_row = row // box_rows, row % box_rows
    outer_column, inner_column = column // box_columns, column % box_columns
    if type.blayout == "row_major":
        boxed = outer_row * _boxes(type.cols, box_columns) + outer_column
    else:
        boxed = outer_column * _boxes(type.rows, box_rows) + outer_row
    if type.slayout == "row_major":
        inner = inner_row * box_columns + inner_column
    else:
        inner = inner_column * box_rows + inner_row
    return boxed * (box_rows * box_columns) + inner


def _boxes(extent: int, box_extent: int) -> int:
    return -(-extent // box_extent)


def element_count(type: TileType) -> int:
    """How many elements the layout spans: rows x cols, rounded up to whole boxes."""
    box_rows, box_columns = box(type)
    return _boxes(type.rows, box_rows) * _boxes(type.cols, box_columns) * box_rows * box_columns


def byte_offset(type: TileType, row: Any, column: Any) -> Any:
    """The byte offset of element (row, column)."""
    return element_offset(type, row, column) * type.elem.bytes
