"""Kernels of odd shapes and views: single rows and columns, tails, empty regions, transposed and strided arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Runs, kernel
from tests.differential.writer import Writer

Array = Any


@kernel(x="*f32", y="*f32")
def one_row(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 1, 8), k.tile("1x8xf32"))
    k.store(k.op("texp", tile, k.tile("1x8xf32")), k.whole("y", 1, 8))
    return Runs({"x": (8,), "y": (8,)}, lambda x, y: {"y": np.exp(x.astype(float))})


@kernel(x="*f32", y="*f32")
def one_column(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 8, 1), k.tile("8x1xf32", column=True))
    k.store(k.op("tneg", tile, k.tile("8x1xf32", column=True)), k.whole("y", 8, 1))
    return Runs({"x": (8,), "y": (8,)}, lambda x, y: {"y": -x})


@kernel(x="*f32", y="*f32", absolute=1e-6)
def column_of_a_wide_tile(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 8, 5), k.tile("8x8xf32", (8, 5)))
    total = k.op("trowsum", tile, k.tile("8x8xf32", (8, 1)))
    k.store(k.op("trowexpandadd", [tile, total], k.tile("8x8xf32", (8, 5))), k.whole("y", 8, 5))
    return Runs({"x": (8, 5), "y": (8, 5)}, lambda x, y: {"y": x + x.astype(float).sum(1, keepdims=True)})


@kernel(x="*f32", y="*f32", ulps=16, absolute=1e-6)
def small_region(k: Writer) -> Runs:
    """3 x 17 of a 16 x 32 tile: what lies outside is neither read nor summed."""
    tile = k.load(k.whole("x", 3, 17), k.tile("16x32xf32", (3, 17)))
    top = k.op("trowmax", tile, k.tile("16x1xf32", (3, 1), column=True))
    low = k.op("tcolmin", tile, k.tile("1x32xf32", (1, 17)))
    over = k.op("trowexpandsub", [tile, top], k.tile("16x32xf32", (3, 17)))
    k.store(k.op("tcolexpandmul", [over, low], over), k.whole("y", 3, 17))
    return Runs(
        {"x": (3, 17), "y": (3, 17)},
        lambda x, y: {"y": (x - x.max(1, keepdims=True)) * x.min(0).astype(float)},
    )


@kernel(x="*f32", y="*f32", z="*f32", r="i32", c="i32", ulps=64, absolute=1e-5)
def any_region(k: Writer) -> Runs:
    """Zero, one or all rows and columns; sums of nothing are 0."""
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", rows, columns), k.tile("16x48xf32", (rows, columns)))
    total = k.op("trowsum", tile, k.tile("16x1xf32", (rows, 1), column=True))
    across = k.op("tcolsum", tile, k.tile("1x48xf32", (1, columns)))
    k.store(total, k.whole("y", rows, 1))
    k.store(across, k.whole("z", 1, columns))

    def want(x: Array, y: Array, z: Array, r: int, c: int) -> dict[str, Array]:
        used = x.reshape(-1)[: r * c].reshape(r, c).astype(float)
        return {"y": np.concatenate([used.sum(1), y[r:]]), "z": np.concatenate([used.sum(0), z[c:]])}

    scalars = [{"r": r, "c": c} for r in (0, 1, 5, 16) for c in (0, 1, 17, 48)]
    return Runs({"x": (16, 48), "y": (16,), "z": (48,)}, want, scalars)


@kernel(x="*f32", y="*f32", r="i32", c="i32")
def one_column_or_none(k: Writer) -> Runs:
    """A tile of one column whose valid columns are known at run time only: none is possible."""
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", rows, columns), k.tile("8x1xf32", (rows, columns)))
    total = k.op("trowsum", tile, k.tile("8x1xf32", (rows, 1), column=True))
    k.store(k.op("tsubs", [total, k.number("1.0", "f32")], total), k.whole("y", rows, 1))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        y[:r] = x[:r] * c - np.float32(1)
        return {"y": y}

    scalars = [{"r": r, "c": c} for r in (0, 3, 8) for c in (0, 1)]
    return Runs({"x": (8,), "y": (8,)}, want, scalars)


@kernel(x="*f32", y="*f32")
def transposed_in(k: Writer) -> Runs:
    source = k.part(k.view("x", 5, 7, strides=(1, 5), layout="dn"), (0, 0), (5, 7))
    tile = k.load(source, k.tile("8x8xf32", (5, 7)))
    k.store(k.op("tabs", tile, tile), k.whole("y", 5, 7))
    return Runs({"x": (7, 5), "y": (5, 7)}, lambda x, y: {"y": np.abs(x.T)})


@kernel(x="*f32", y="*f32", ulps=8)
def transposed_out(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 19, 7), k.tile("24x8xf32", (19, 7)))
    total = k.op("trowsum", tile, k.tile("24x1xf32", (19, 1), column=True))
    tile = k.op("trowexpanddiv", [tile, total], k.tile("24x8xf32", (19, 7)))
    k.store(tile, k.part(k.view("y", 19, 7, strides=(1, 19), layout="dn"), (0, 0), (19, 7)))
    return Runs(
        {"x": (19, 7), "y": (7, 19)}, lambda x, y: {"y": (x / x.astype(float).sum(1, keepdims=True)).T}
    )


@kernel(x="*f32", y="*f32")
def column_order_tile(k: Writer) -> Runs:
    """Tiles that lie by columns, loaded from rows and stored to rows."""
    tile = k.load(k.whole("x", 8, 5), k.tile("8x5xf32", column=True))
    other = k.op("tadd", [tile, tile], k.tile("8x5xf32", column=True))
    k.store(other, k.whole("y", 8, 5))
    return Runs({"x": (8, 5), "y": (8, 5)}, lambda x, y: {"y": 2 * x})


@kernel(x="*f32", y="*f32")
def every_second(k: Writer) -> Runs:
    """Strides of 2 down and 3 across on the way in, 7 down on the way out."""
    source = k.part(k.view("x", 6, 5, strides=(32, 3)), (1, 1), (4, 3))
    tile = k.load(source, k.tile("8x8xf32", (4, 3)))
    tile = k.op("tadds", [tile, k.number("1.5", "f32")], tile)
    k.store(tile, k.part(k.view("y", 6, 5, strides=(7, 1)), (2, 1), (4, 3)))

    def want(x: Array, y: Array) -> dict[str, Array]:
        y[2:6, 1:4] = x[1:5, 3:12:3] + np.float32(1.5)
        return {"y": y}

    return Runs({"x": (6, 32), "y": (6, 7)}, want)


@kernel(x="*f32", y="*f32")
def rank_one(k: Writer) -> Runs:
    tile = k.load(k.part(k.view("x", 40), (3,), (33,)), k.tile("1x40xf32", (1, 33)))
    k.store(k.op("tsqrt", k.op("tabs", tile, tile), tile), k.part(k.view("y", 40), (7,), (33,)))

    def want(x: Array, y: Array) -> dict[str, Array]:
        y[7:] = np.sqrt(np.abs(x[3:36]))
        return {"y": y}

    return Runs({"x": (40,), "y": (40,)}, want)


@kernel(x="*f32", y="*f32")
def rank_five(k: Writer) -> Runs:
    """Rows come from the four leading dimensions, one of them not dense."""
    source = k.part(k.view("x", 2, 1, 3, 4, 8), (0, 0, 1, 1, 2), (2, 1, 2, 3, 5))
    tile = k.load(source, k.tile("12x8xf32", (12, 5)))
    top = k.op("trowmin", tile, k.tile("16x1xf32", (12, 1), column=True))
    k.store(k.op("trowexpandmax", [tile, top], tile), k.part(k.view("y", 12, 5), (0, 0), (12, 5)))
    return Runs({"x": (2, 1, 3, 4, 8), "y": (12, 5)}, lambda x, y: {"y": x[:, :, 1:, 1:, 2:7].reshape(12, 5)})


@kernel(x="*f32", y="*f32", n="i32")
def rank_three_rows(k: Writer) -> Runs:
    """A dynamic middle dimension; the rows of the tile run over two of them."""
    count = k.cast("%n")
    view = k.view("x", 3, 4, 16)
    rows = k.arith("muli", count, 2)
    tile = k.load(k.part(view, (1, 0, 0), (2, count, 16)), k.tile("8x16xf32", (rows, 16)))
    k.store(k.op("tneg", tile, tile), k.part(k.view("y", 3, 4, 16), (0, 0, 0), (2, count, 16)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:2, :n] = -x[1:, :n]
        return {"y": y}

    return Runs({"x": (3, 4, 16), "y": (3, 4, 16)}, want, [{"n": n} for n in (0, 1, 3, 4)])


@kernel(x="*f32", y="*f32")
def same_row_every_time(k: Writer) -> Runs:
    """A stride of 0 repeats one row."""
    source = k.part(k.view("x", 8, 16, strides=(0, 1)), (0, 0), (8, 16))
    tile = k.load(source, k.tile("8x16xf32"))
    other = k.load(k.whole("y", 8, 16), k.tile("8x16xf32"))
    k.store(k.op("tmul", [tile, other], other), k.whole("y", 8, 16))
    return Runs({"x": (16,), "y": (8, 16)}, lambda x, y: {"y": x * y})


@kernel(x="*f32", y="*f32", n="i32", ulps=16, absolute=1e-6)
def tails_of_rows_and_columns(k: Writer) -> Runs:
    """Blocks of 16 x 32 over a 37 x n array whose last blocks are partial both ways."""
    count = k.cast("%n")
    x, y = k.view("x", 37, count), k.view("y", 37, count)
    with k.loop(37, 16) as row, k.loop(count, 32) as column:
        height = k.arith("minsi", k.arith("subi", k.number(37), row), 16)
        width = k.arith("minsi", k.arith("subi", count, column), 32)
        tile = k.load(k.part(x, (row, column), (height, width)), k.tile("16x32xf32", (height, width)))
        tile = k.op("texp", tile, tile)
        tile = k.op("tsubs", [tile, k.number("1.0", "f32")], tile)
        k.store(tile, k.part(y, (row, column), (height, width)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        used = 37 * n
        y.reshape(-1)[:used] = np.exp(x.reshape(-1)[:used].astype(float)) - 1
        return {"y": y}

    return Runs({"x": (37, 100), "y": (37, 100)}, want, [{"n": n} for n in (0, 1, 32, 45, 100)])


CASES = (
    one_row, one_column, column_of_a_wide_tile, small_region, any_region, one_column_or_none, transposed_in, transposed_out,
    column_order_tile, every_second, rank_one, rank_five, rank_three_rows, same_row_every_time,
    tails_of_rows_and_columns,
)  # fmt: skip
