"""Elements picked by number and by pattern, sorting with numbers, merging: ties, NaN, tails, aliasing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any


def _order(values: Array) -> list[int]:
    """Places from the largest value down, NaN last, equal ones as they come."""
    return sorted(
        range(len(values)), key=lambda i: (bool(np.isnan(values[i])), -np.nan_to_num(float(values[i])), i)
    )


@kernel(ulps=0, x="*f32", n="*i32", y="*f32")
def by_number(k: Writer) -> Runs:
    """Numbers out of range take the nearest element."""
    x = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    numbers = k.load(k.whole("n", 3, 21), k.tile("3x24xi32", (3, 21)))
    out = k.op("tgather", [x, numbers, k.tile("3x24xi32", (3, 21))], k.tile("3x24xf32", (3, 21)))
    k.store(out, k.whole("y", 3, 21))

    def want(x: Array, n: Array, y: Array) -> dict[str, Array]:
        return {"y": x.reshape(-1)[np.clip(n.astype(np.int64), 0, 63)]}

    return Runs({"x": (4, 16), "n": (3, 21), "y": (3, 21)}, want)


@kernel(ulps=0, x="*bf16", y="*bf16", s="i32")
def by_small_numbers(k: Writer) -> Runs:
    """Numbers that the kernel counts itself, in the place of the source."""
    x = k.load(k.whole("x", 1, 32), k.tile("1x32xbf16", addr=0))
    numbers = k.op("tci", ["%s"], k.tile("1x32xi32", addr=64), "descending = true")
    k.store(k.op("tgather", [x, numbers], x), k.whole("y", 1, 32))
    return Runs(
        {"x": (1, 32), "y": (1, 32)},
        lambda x, y, s: {"y": x[:, np.clip(s - np.arange(32), 0, 31)]},
        [{"s": 31}, {"s": 5}],
    )


def _pattern(word: str) -> Case:
    def write(k: Writer) -> Runs:
        places = [place for place, digit in enumerate(reversed(word[1:])) if digit == "1"]
        picked = [column for column in range(42) if column % 4 in places]
        x = k.load(k.whole("x", 3, 42), k.tile("3x48xf32", (3, 42)))
        valid = (3, len(picked))
        out = k.tile("3x48xf32", valid)
        types = k.types[x], k.types[out]
        k.line(
            f"pto.tgather ins({x}, {{maskPattern = #pto.mask_pattern<{word}>}} : {types[0]}) outs({out} : {types[1]})"
        )
        k.store(out, k.part(k.view("y", 3, 48), (0, 0), valid))

        def want(x: Array, y: Array) -> dict[str, Array]:
            made = y.copy()
            made[:, : len(picked)] = x[:, picked]
            return {"y": made}

        return Runs({"x": (3, 42), "y": (3, 48)}, want)

    write.__name__ = f"pattern_{word.lower()}"
    return kernel(ulps=0, x="*f32", y="*f32")(write)


PATTERNS = tuple(map(_pattern, ("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111")))


def _sorted_pairs(values: Array, numbers: Array) -> tuple[Array, Array]:
    """Values and numbers of every 32 columns, sorted."""
    order = [
        first + place for first in range(0, len(values), 32) for place in _order(values[first : first + 32])
    ]
    return values[order], numbers[order]


def _sort(elem: str) -> Case:
    slots = 2 if elem == "f32" else 4

    def write(k: Writer) -> Runs:
        columns = k.cast("%c")
        valid = (3, columns)
        x = k.load(k.whole("x", 3, columns), k.tile(f"3x96x{elem}", valid))
        numbers = k.load(k.whole("n", 3, columns), k.tile("3x96xui32", valid))
        wide = k.arith("muli", columns, slots)
        pairs = k.op(
            "tsort32",
            [x, numbers, k.tile(f"3x96x{elem}", valid)],
            k.tile(f"3x{96 * slots}x{elem}", (3, wide)),
        )
        k.store(pairs, k.whole("y", 3, wide))

        def want(x: Array, n: Array, y: Array, c: int) -> dict[str, Array]:
            made = y.reshape(-1).copy()
            rows = []
            for row in range(3):
                part = slice(row * c, (row + 1) * c)
                values, numbers = _sorted_pairs(x.reshape(-1)[part], n.reshape(-1)[part])
                pairs = np.zeros((c, 8), np.uint8)
                pairs[:, : values.itemsize] = (
                    np.ascontiguousarray(values).view(np.uint8).reshape(c, values.itemsize)
                )
                pairs[:, 4:] = np.ascontiguousarray(numbers).view(np.uint8).reshape(c, 4)
                rows.append(pairs.reshape(-1).view(x.dtype))
            made[: 3 * c * slots] = np.concatenate(rows)
            return {"y": made.reshape(y.shape)}

        scalars = [{"c": c} for c in (96, 70, 32, 5, 0)]
        return Runs({"x": (3, 96), "n": (3, 96), "y": (3, 96 * slots)}, want, scalars, special=True)

    write.__name__ = f"sort_{elem}"
    return kernel(ulps=0, x=f"*{elem}", n="*ui32", y=f"*{elem}", c="i32")(write)


@kernel(ulps=0, x="*f32", v="*f32", i="*ui32")
def largest_of_a_row(k: Writer) -> Runs:
    """Top-k as front ends write it: sort by 32, merge blocks, then whole halves, then take values and numbers apart."""
    keys = k.load(k.whole("x", 1, 256), k.tile("1x256xf32"))
    lanes = k.op("tci", [k.number(0, "ui32")], k.tile("1x256xui32"))
    pairs = k.op("tsort32", [keys, lanes], k.tile("1x512xf32"))
    merged = k.op("tmrgsort", [pairs, k.number(64, "i32")], k.tile("1x512xf32"))
    halves = [k.window(merged, 0, at, "1x256xf32") for at in (0, 256)]
    counts = k.value("arith.constant dense<0> : vector<4xi16>", "vector<4xi16>")
    result, spare = k.tile("1x512xf32"), k.tile("1x512xf32")
    names, types = ", ".join([*halves, spare]), ", ".join(k.types[t] for t in (*halves, spare))
    k.line(
        f"pto.tmrgsort ins({names} {{exhausted = false}} : {types}) outs({result}, {counts} : {k.types[result]}, vector<4xi16>)"
    )
    top = k.window(result, 0, 0, "1x64xf32")
    values = k.tile("1x32xf32")
    k.line(
        f"pto.tgather ins({top}, {{maskPattern = #pto.mask_pattern<P0101>}} : {k.types[top]}) outs({values} : {k.types[values]})"
    )
    k.store(values, k.whole("v", 1, 32))
    found = k.tile("1x32xf32")
    k.line(
        f"pto.tgather ins({top}, {{maskPattern = #pto.mask_pattern<P1010>}} : {k.types[top]}) outs({found} : {k.types[found]})"
    )
    numbers = "!pto.tile_buf<vec, 1x32xui32>"
    k.store(k.value(f"pto.bitcast {found} : {k.types[found]} -> {numbers}", numbers), k.whole("i", 1, 32))

    def want(x: Array, v: Array, i: Array) -> dict[str, Array]:
        order = _order(x[0])[:32]
        return {"v": x[:, order], "i": np.array([order], np.uint32)}

    return Runs({"x": (1, 256), "v": (1, 32), "i": (1, 32)}, want, [{}, {}], special=False)


@kernel(ulps=0, a="*f16", b="*f16", c="*f16", y="*f16")
def three_lists(k: Writer) -> Runs:
    """Lists of different lengths, one of them a single pair; f16 pairs take four columns. Equal values stay in order."""
    tiles = []
    for name, count in (("a", 5), ("b", 1), ("c", 8)):
        values = k.load(k.whole(name, 1, count), k.tile("1x16xf16", (1, count)))
        numbers = k.op("tci", [k.number(100 * len(tiles), "ui32")], k.tile("1x16xui32", (1, count)))
        tiles.append(k.op("tsort32", [values, numbers], k.tile("1x64xf16", (1, 4 * count))))
    out, spare = k.tile("1x64xf16", (1, 56)), k.tile("1x64xf16", (1, 56))
    counts = k.value("arith.constant dense<0> : vector<4xi16>", "vector<4xi16>")
    names, types = ", ".join([*tiles, spare]), ", ".join(k.types[t] for t in (*tiles, spare))
    k.line(
        f"pto.tmrgsort ins({names} {{exhausted = false}} : {types}) outs({out}, {counts} : {k.types[out]}, vector<4xi16>)"
    )
    k.store(out, k.whole("y", 1, 56))

    def want(a: Array, b: Array, c: Array, y: Array) -> dict[str, Array]:
        lists = [(value, 100 * n + i) for n, row in enumerate((a, b, c)) for i, value in enumerate(row[0])]
        values = np.array([value for value, _ in lists], np.float16)
        pairs = np.zeros((14, 8), np.uint8)
        for place, which in enumerate(_order(values)):
            pairs[place, :2] = values[which : which + 1].view(np.uint8)
            pairs[place, 4:] = np.array([lists[which][1]], np.uint32).view(np.uint8)
        return {"y": pairs.reshape(-1).view(np.float16)[None]}

    return Runs({"a": (1, 5), "b": (1, 1), "c": (1, 8), "y": (1, 56)}, want, [{}, {}, {}], special=True)


CASES = (by_number, by_small_numbers, *PATTERNS, _sort("f32"), _sort("f16"), largest_of_a_row, three_lists)
