"""Kernels of ops that make or move elements by their place: counters, triangles, transposes, concatenation, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Index, Writer

Array = Any
_ANY = [{"r": r, "c": c} for r in (0, 1, 7, 16) for c in (0, 1, 17, 32)]


def padded(k: Writer, shape: str, valid: Sequence[Index], pad: int, addr: int | None = None) -> str:
    """A tile with a pad value."""
    region = "x".join(str(extent) if isinstance(extent, int) else "?" for extent in valid)
    clauses = "" if addr is None else f" addr = {k.number(addr, 'i64')}"
    for word, extent in zip(("valid_row", "valid_col"), valid, strict=True):
        clauses += f" {word} = {extent}" if isinstance(extent, str) else ""
    type = f"!pto.tile_buf<vec, {shape}, valid={region}, pad={pad}>"
    return k.value(f"pto.alloc_tile{clauses} : {type}", type)


# ---------------------------------------------------------------- counters and triangles


@kernel(y="*i32", s="i32", r="i32", c="i32")
def counted(k: Writer) -> Runs:
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.op("tci", "%s", k.tile("16x32xi32", (rows, columns)))
    k.store(tile, k.whole("y", rows, columns))

    def want(y: Array, s: int, r: int, c: int) -> dict[str, Array]:
        y[: r * c] = s + np.arange(r * c)
        return {"y": y}

    return Runs({"y": (512,)}, want, [scalars | {"s": -5} for scalars in _ANY])


@kernel(y="*i16", s="i16")
def counted_down(k: Writer) -> Runs:
    """Inside the dictionary of the older form; the numbers wrap."""
    tile = k.op("tci", "%s", k.tile("4x32xi16", (3, 17)), inside="descending = true")
    k.store(tile, k.whole("y", 3, 17))
    return Runs(
        {"y": (3, 17)},
        lambda y, s: {"y": (s - np.arange(51)).reshape(3, 17).astype(np.int16)},
        [{"s": 9}, {"s": -32760}],
    )


@kernel(y="*f32", z="*i16", w="*f16", q="i32")
def triangles(k: Writer) -> Runs:
    low = k.op("ttri", "%q", k.tile("16x32xf32", (9, 17)))
    high = k.op("ttri", "%q", k.tile("16x32xi16", (9, 17)), inside="upperOrLower = 1 : i32")
    half = k.op("ttri", "%q", k.tile("16x32xf16", (9, 17)), inside="upperOrLower = 0 : i32")
    for tile, pointer in ((low, "y"), (high, "z"), (half, "w")):
        k.store(tile, k.whole(pointer, 9, 17))

    def want(y: Array, z: Array, w: Array, q: int) -> dict[str, Array]:
        ones, near = np.ones((9, 17)), max(-20, min(20, q))
        return {"y": np.tril(ones, near), "z": np.triu(ones, near), "w": np.tril(ones, near)}

    shapes = dict.fromkeys("yzw", (9, 17))
    return Runs(shapes, want, [{"q": q} for q in (0, 3, -4, 2**31 - 1, -(2**31))])


# ---------------------------------------------------------------- transposes


@kernel(x="*f32", y="*f32", r="i32", c="i32")
def turned(k: Writer) -> Runs:
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", rows, columns), k.tile("16x32xf32", (rows, columns)))
    k.store(k.op("ttrans", tile, k.tile("32x16xf32", (columns, rows))), k.whole("y", columns, rows))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        y[: r * c] = x[: r * c].reshape(r, c).T.reshape(-1)
        return {"y": y}

    return Runs({"x": (512,), "y": (512,)}, want, _ANY, special=True)


def _turn(elem: str) -> Case:
    def turned_(k: Writer) -> Runs:
        tile = k.load(k.whole("x", 43, 37), k.tile(f"64x64x{elem}", (43, 37)))
        spare = k.tile(f"64x64x{elem}")
        k.store(k.op("ttrans", [tile, spare], k.tile(f"64x64x{elem}", (37, 43))), k.whole("y", 37, 43))
        return Runs({"x": (43, 37), "y": (37, 43)}, lambda x, y: {"y": x.T})

    turned_.__name__ = f"turned_{elem}"
    return kernel(x=f"*{elem}", y=f"*{elem}")(turned_)


TURNS = tuple(map(_turn, ("i8", "i16", "i32", "bf16", "f32")))


@kernel(x="*f32", y="*f32")
def turned_in_place(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 16, 13), k.tile("16x16xf32", (16, 13), addr=0))
    k.store(k.op("ttrans", tile, k.tile("16x16xf32", (13, 16), addr=0)), k.whole("y", 13, 16))
    return Runs({"x": (16, 13), "y": (13, 16)}, lambda x, y: {"y": x.T})


@kernel(x="*f32", y="*f32")
def turned_sums(k: Writer) -> Runs:
    """Between element work that could be fused."""
    tile = k.load(k.whole("x", 16, 32), k.tile("16x32xf32"))
    twice = k.op("tadd", [tile, tile], k.tile("16x32xf32"))
    flat = k.op("ttrans", twice, k.tile("32x16xf32"))
    k.store(k.op("tneg", flat, k.tile("32x16xf32")), k.whole("y", 32, 16))
    return Runs({"x": (16, 32), "y": (32, 16)}, lambda x, y: {"y": -(x + x).T})


# ---------------------------------------------------------------- concatenation


@kernel(x="*f32", y="*f32", r="i32", c="i32")
def joined(k: Writer) -> Runs:
    rows, columns = k.cast("%r"), k.cast("%c")
    left = k.load(k.part(k.view("x", 16, 32), (0, 0), (rows, columns)), k.tile("16x32xf32", (rows, columns)))
    right = k.load(k.part(k.view("x", 16, 32), (0, 0), (rows, 13)), k.tile("16x16xf32", (rows, 13)))
    total = k.arith("addi", columns, 13)
    out = k.op("tconcat", [left, right], k.tile("16x48xf32", (rows, total)))
    k.store(out, k.part(k.view("y", 16, 48), (0, 0), (rows, total)))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        y[:r, :c], y[:r, c : c + 13] = x[:r, :c], x[:r, :13]
        return {"y": y}

    return Runs({"x": (16, 32), "y": (16, 48)}, want, _ANY, special=True)


@kernel(x="*i16", z="*i16", y="*i16")
def joined_over_a_source(k: Writer) -> Runs:
    """The destination takes the bytes of the second source."""
    left = k.load(k.whole("x", 8, 16), k.tile("8x16xi16", addr=2048))
    right = k.load(k.whole("z", 8, 16), k.tile("8x16xi16", addr=0))
    k.store(k.op("tconcat", [left, right], k.tile("8x32xi16", addr=0)), k.whole("y", 8, 32))
    return Runs(
        {"x": (8, 16), "z": (8, 16), "y": (8, 32)}, lambda x, z, y: {"y": np.concatenate([x, z], axis=1)}
    )


@kernel(x="*bf16", z="*bf16", n="*i32", y="*bf16", w="*bf16")
def joined_by_numbers(k: Writer) -> Runs:
    """Numbers that differ from row to row, and numbers beyond what is valid, which take all."""
    left = k.load(k.whole("x", 8, 16), k.tile("8x16xbf16"))
    right = k.load(k.whole("z", 8, 16), k.tile("8x16xbf16"))
    count = k.load(k.whole("n", 8, 8), k.tile("8x8xi32"))
    first = k.op("tands", [count, k.number(15, "i32")], k.tile("8x8xi32"))
    turned = k.op("tmuls", [first, k.number(-1, "i32")], k.tile("8x8xi32"))
    second = k.op("tadds", [turned, k.number(16, "i32")], k.tile("8x8xi32"))
    k.store(k.op("tconcatidx", [left, right, first, second], k.tile("8x16xbf16")), k.whole("y", 8, 16))
    many = k.op("tmaxs", [count, k.number(99, "i32")], k.tile("8x8xi32"))
    k.store(k.op("tconcatidx", [left, right, many, many], k.tile("8x48xbf16", (8, 32))), k.whole("w", 8, 32))

    def want(x: Array, z: Array, n: Array, y: Array, w: Array) -> dict[str, Array]:
        for row in range(8):
            taken = n[row, 0] & 15
            y[row] = np.concatenate([x[row, :taken], z[row, : 16 - taken]])
        return {"y": y, "w": np.concatenate([x, z], axis=1)}

    shapes = {"x": (8, 16), "z": (8, 16), "n": (8, 8), "y": (8, 16), "w": (8, 32)}
    return Runs(shapes, want)


# ---------------------------------------------------------------- padding


@kernel(x="*f32", y="*f32", r="i32", c="i32")
def framed(k: Writer) -> Runs:
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", rows, columns), k.tile("16x32xf32", (rows, columns)))
    k.store(k.op("tfillpad", tile, padded(k, "16x32xf32", (16, 32), 3)), k.whole("y", 16, 32))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        y[:] = -np.inf
        y[:r, :c] = x[: r * c].reshape(r, c)
        return {"y": y}

    return Runs({"x": (512,), "y": (16, 32)}, want, _ANY, special=True)


@kernel(x="*i16", y="*i16", z="*i16")
def framed_larger(k: Writer) -> Runs:
    """The older word; a valid region of one column in the destination; the filled tile named again."""
    tile = k.load(k.whole("x", 7, 16), k.tile("8x16xi16", (7, 16)))
    large = k.op("tfillpad_expand", tile, padded(k, "16x48xi16", (16, 48), 2))
    k.store(large, k.whole("y", 16, 48))
    small = k.op("tfillpad", tile, padded(k, "8x16xi16", (8, 1), 1))
    k.store(k.window(small, 0, 0, "8x16xi16", (8, 16)), k.whole("z", 8, 16))

    def want(x: Array, y: Array, z: Array) -> dict[str, Array]:
        y[:], z[:] = 32767, 0
        y[:7, :16] = z[:7] = x
        return {"y": y, "z": z}

    return Runs({"x": (7, 16), "y": (16, 48), "z": (8, 16)}, want)


@kernel(x="*f16", y="*f16", r="i32", c="i32")
def framed_in_place(k: Writer) -> Runs:
    rows, columns = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", rows, columns), padded(k, "16x32xf16", (rows, columns), 1, addr=0))
    k.store(k.op("tfillpad_inplace", tile, padded(k, "16x32xf16", (16, 32), 1, addr=0)), k.whole("y", 16, 32))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        y[:] = 0
        y[:r, :c] = x[: r * c].reshape(r, c)
        return {"y": y}

    return Runs({"x": (512,), "y": (16, 32)}, want, _ANY)


@kernel(x="*f32", y="*f32")
def framed_sum(k: Writer) -> Runs:
    """What a reduction reads after padding is defined."""
    tile = k.load(k.whole("x", 5, 17), k.tile("8x32xf32", (5, 17)))
    top = k.op(
        "trowmax", k.op("tfillpad", tile, padded(k, "8x32xf32", (8, 32), 1)), k.tile("8x1xf32", column=True)
    )
    k.store(top, k.whole("y", 8, 1))
    return Runs(
        {"x": (5, 17), "y": (8,)},
        lambda x, y: {"y": np.concatenate([x.max(1).clip(0), np.zeros(3, np.float32)])},
    )


@kernel(x="*f16", z="*f16", y="*f32", absolute=1e-2)
def framed_factor(k: Writer) -> Runs:
    """A boxed tile: what a product reads beyond the valid rows and columns is zero."""
    tile = k.load(k.whole("x", 7, 17), k.tile("16x32xf16", (7, 17), space="mat"))
    type = "!pto.tile_buf<mat, 16x32xf16, blayout=col_major, slayout=row_major, pad=1>"
    zeros = k.op("tfillpad", tile, k.value(f"pto.alloc_tile : {type}", type))
    left = k.op("tmov", zeros, k.tile("16x32xf16", space="left"))
    right = k.load(k.whole("z", 32, 16), k.tile("32x16xf16", space="mat"))
    right = k.op("tmov", right, k.tile("32x16xf16", space="right"))
    k.store(k.product(left, right, k.tile("16x16xf32", space="acc")), k.whole("y", 16, 16))

    def want(x: Array, z: Array, y: Array) -> dict[str, Array]:
        factor = np.zeros((16, 32))
        factor[:7, :17] = x
        return {"y": factor @ z.astype(float)}

    return Runs({"x": (7, 17), "z": (32, 16), "y": (16, 16)}, want)


@kernel(x="*f32", y="*f32")
def fetched_early(k: Writer) -> Runs:
    part = k.whole("x", 8, 8)
    tile = k.tile("8x8xf32")
    k.op("tprefetch", part, tile)
    k.store(k.load(part, tile), k.whole("y", 8, 8))
    return Runs({"x": (8, 8), "y": (8, 8)}, lambda x, y: {"y": x})


CASES = (
    counted, counted_down, triangles, turned, *TURNS, turned_in_place, turned_sums, joined, joined_over_a_source,
    joined_by_numbers, framed, framed_larger, framed_in_place, framed_sum, framed_factor,
    fetched_early,
)  # fmt: skip
