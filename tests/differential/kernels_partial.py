"""Numbers of extrema, and ops on the parts that two tiles have in common: ties, NaN, regions in each other, aliasing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any

_COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _arguments(elem: str) -> Case:
    """All four, with run-time extents; NumPy's argmax takes the first NaN too."""

    def write(k: Writer) -> Runs:
        rows, columns = k.cast("%r"), k.cast("%c")
        valid = (rows, columns)
        x = k.load(k.whole("x", rows, columns), k.tile(f"16x32x{elem}", valid))
        for place, kind in enumerate(("max", "min")):
            tmp = k.tile(f"16x32x{elem}", valid)
            of_rows = k.op(f"trowarg{kind}", [x, tmp], k.tile("16x1xi32", (rows, 1), column=True))
            k.store(of_rows, k.part(k.view("y", 16, 2), (0, place), (rows, 1)))
            of_columns = k.op(f"tcolarg{kind}", [x, tmp], k.tile("1x32xui32", (1, columns)))
            k.store(of_columns, k.part(k.view("z", 2, 32), (place, 0), (1, columns)))

        def want(x: Array, y: Array, z: Array, r: int, c: int) -> dict[str, Array]:
            values = x.reshape(-1)[: r * c].reshape(r, c).astype(np.float64)
            y, z = y.copy(), z.copy()
            if values.size:
                for place, find in enumerate((np.argmax, np.argmin)):
                    y[:r, place], z[place, :c] = find(values, 1), find(values, 0)
            return {"y": y, "z": z}

        scalars = [{"r": r, "c": c} for r, c in ((16, 32), (1, 1), (7, 3), (3, 31))]
        return Runs({"x": (16, 32), "y": (16, 2), "z": (2, 32)}, want, scalars, special="f" in elem)

    write.__name__ = f"arguments_{elem}"
    return kernel(x=f"*{elem}", y="*i32", z="*ui32", r="i32", c="i32")(write)


def _parts(word: str, elem: str, first: tuple[int, int], second: tuple[int, int]) -> Case:
    """One region is dst's, the other one lies in it."""

    def write(k: Writer) -> Runs:
        whole = (max(first[0], second[0]), max(first[1], second[1]))
        a = k.load(k.whole("a", *first), k.tile(f"8x64x{elem}", first))
        b = k.load(k.whole("b", *second), k.tile(f"8x64x{elem}", second))
        k.store(k.op(f"tpart{word}", [a, b], k.tile(f"8x64x{elem}", whole)), k.whole("y", *whole))

        def want(a: Array, b: Array, y: Array) -> dict[str, Array]:
            y = y.copy()
            for part in (a, b):
                y[: part.shape[0], : part.shape[1]] = part
            rows, columns = min(first[0], second[0]), min(first[1], second[1])
            y[:rows, :columns] = _COMBINE[word](a[:rows, :columns], b[:rows, :columns])
            return {"y": y}

        return Runs({"a": first, "b": second, "y": whole}, want)

    write.__name__ = f"part_{word}_{elem}_{first[0]}_{second[0]}"
    return kernel(ulps=1, a=f"*{elem}", b=f"*{elem}", y=f"*{elem}")(write)


PARTS = tuple(
    _parts(word, elem, *regions)
    for word, elem, regions in (
        ("add", "f32", ((8, 50), (5, 50))), ("mul", "i32", ((3, 17), (8, 64))), ("max", "f16", ((8, 33), (8, 20))),
        ("min", "i16", ((7, 64), (7, 64))), ("add", "bf16", ((1, 5), (8, 64))), ("max", "i8", ((8, 64), (2, 33))),
    )
)  # fmt: skip


@kernel(ulps=0, a="*f32", b="*f32", y="*f32", r="i32")
def part_in_place(k: Writer) -> Runs:
    """The destination is the larger source; the smaller region has no rows at all in one run."""
    rows = k.cast("%r")
    a = k.load(k.whole("a", 8, 24), k.tile("8x32xf32", (8, 24), addr=0))
    b = k.load(k.whole("b", rows, 24), k.tile("8x32xf32", (rows, 24), addr=1024))
    k.store(k.op("tpartmax", [b, a], a), k.whole("y", 8, 24))

    def want(a: Array, b: Array, y: Array, r: int) -> dict[str, Array]:
        made = a.copy()
        made[:r] = np.maximum(a[:r], b[:r])
        return {"y": made}

    return Runs({"a": (8, 24), "b": (8, 24), "y": (8, 24)}, want, [{"r": r} for r in (0, 3, 8)])


def _numbered(kind: str, elem: str, index: str, first: tuple[int, int], second: tuple[int, int]) -> Case:
    """Values with their numbers: NaN, ties, and in the last case both results in place."""

    def write(k: Writer) -> Runs:
        whole = (max(first[0], second[0]), max(first[1], second[1]))
        pairs = [
            (name, shape, f"8x64x{e}")
            for e, names in ((elem, "ab"), (index, "ij"))
            for name, shape in zip(names, (first, second), strict=True)
        ]
        a, b, i, j = (k.load(k.whole(name, *shape), k.tile(type, shape)) for name, shape, type in pairs)
        outs = (b, j) if kind == "max" else (k.tile(f"8x64x{elem}", whole), k.tile(f"8x64x{index}", whole))
        ins = ", ".join((a, b, i, j))
        types = ", ".join(k.types[name] for name in (a, b, i, j))
        k.line(
            f"pto.tpartarg{kind} ins({ins} : {types}) outs({', '.join(outs)} : {k.types[outs[0]]}, {k.types[outs[1]]})"
        )
        k.store(outs[0], k.whole("y", *whole))
        k.store(outs[1], k.whole("z", *whole))

        def want(a: Array, b: Array, i: Array, j: Array, y: Array, z: Array) -> dict[str, Array]:
            y, z = y.copy(), z.copy()
            for value, number in ((a, i), (b, j)):
                y[: value.shape[0], : value.shape[1]], z[: value.shape[0], : value.shape[1]] = value, number
            rows, columns = min(first[0], second[0]), min(first[1], second[1])
            for r in range(rows):
                for c in range(columns):
                    x, other = float(a[r, c]), float(b[r, c])
                    better = x > other if kind == "max" else x < other
                    won = better or (x != x and other == other)
                    y[r, c], z[r, c] = (a[r, c], i[r, c]) if won else (b[r, c], j[r, c])
            return {"y": y, "z": z}

        return Runs(
            {"a": first, "b": second, "i": first, "j": second, "y": whole, "z": whole},
            want,
            special="f" in elem,
        )

    write.__name__ = f"numbered_{kind}_{elem}_{index}"
    return kernel(a=f"*{elem}", b=f"*{elem}", i=f"*{index}", j=f"*{index}", y=f"*{elem}", z=f"*{index}")(
        write
    )


NUMBERED = tuple(
    _numbered(kind, elem, index, *regions)
    for kind, elem, index, regions in (
        ("max", "f32", "i32", ((5, 50), (8, 64))), ("min", "f16", "ui32", ((8, 33), (3, 33))),
        ("min", "i16", "i32", ((7, 64), (7, 64))), ("max", "bf16", "ui32", ((1, 5), (8, 64))),
        ("min", "i8", "i32", ((8, 64), (2, 33))),
    )
)  # fmt: skip

CASES = (*map(_arguments, ("f32", "f16", "i32", "i16")), *PARTS, part_in_place, *NUMBERED)
