"""Comparisons into masks of bits and choices by them: every mode, element type and tail, NaN, ties, aliasing."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any

MODES = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _mode(name: str) -> str:
    return f"cmpMode = #pto<cmp {name}>"


def _modes(elem: str) -> Case:
    """Every mode of one element type: tile against tile, tile against scalar."""

    def write(k: Writer) -> Runs:
        rows, columns = k.cast("%r"), k.cast("%c")
        valid = (rows, columns)
        x, y = (k.load(k.whole(name, rows, columns), k.tile(f"8x64x{elem}", valid)) for name in "xy")
        for number, mode in enumerate(MODES):
            mask = k.op("tcmp", [x, y], k.tile("8x64xi8", valid), _mode(mode))
            out = k.op("tsel", [mask, x, y, k.tile(f"8x64x{elem}", valid)], k.tile(f"8x64x{elem}", valid))
            mask = k.op("tcmps", [x, "%s"], k.tile("8x64xui8", valid), _mode(mode))
            out = k.op("tsels", [mask, out, k.tile(f"8x64x{elem}", valid), "%s"], out)
            whole = k.view("z", 6, rows, columns)
            k.store(out, k.part(whole, (number, 0, 0), (1, rows, columns)))

        def want(x: Array, y: Array, z: Array, s: float, r: int, c: int) -> dict[str, Array]:
            made = z.copy().reshape(-1)
            flat = [a.reshape(-1)[: r * c] for a in (x, y)]
            limit = np.asarray(s, x.dtype)
            for number, mode in enumerate(MODES.values()):
                picked = np.where(mode(flat[0], flat[1]), *flat)
                picked = np.where(mode(flat[0], limit), picked, limit)
                made[number * r * c : (number + 1) * r * c] = picked
            return {"z": made.reshape(z.shape)}

        scalars = [
            {"s": s, "r": r, "c": c} for s, r, c in ((1, 8, 64), (0, 3, 33), (2, 1, 7), (1, 8, 1), (1, 0, 5))
        ]
        return Runs({"x": (8, 64), "y": (8, 64), "z": (6, 8, 64)}, want, scalars, special="f" in elem)

    write.__name__ = f"every_mode_{elem}"
    types = {"x": f"*{elem}", "y": f"*{elem}", "z": f"*{elem}", "s": elem, "r": "i32", "c": "i32"}
    return kernel(ulps=0, **types)(write)  # type: ignore[arg-type]


EVERY_MODE = tuple(map(_modes, ("f32", "f16", "bf16", "i8", "i16", "i32")))


@kernel(ulps=0, x="*f32", m="*i8")
def bits_of_a_mask(k: Writer) -> Runs:
    """The lowest bit comes first; those beyond the last column are 0."""
    x = k.load(k.whole("x", 5, 37), k.tile("8x64xf32", (5, 37)))
    mask = k.op("tcmps", [x, k.number("0.0", "f32")], k.tile("8x64xi8", (5, 37)), _mode("lt"))
    k.store(k.window(mask, 0, 0, "8x32xi8", (5, 5)), k.whole("m", 5, 5))

    def want(x: Array, m: Array) -> dict[str, Array]:
        return {"m": np.packbits(x < 0, axis=1, bitorder="little").view(np.int8)}

    return Runs({"x": (5, 37), "m": (5, 5)}, want)


@kernel(ulps=0, x="*f32", y="*f32")
def mask_over_its_source(k: Writer) -> Runs:
    """The mask takes the place of what was compared; the choice takes the place of its second source."""
    x = k.load(k.whole("x", 8, 24), k.tile("8x32xf32", (8, 24), addr=0))
    kept = k.op("tmov", x, k.tile("8x32xf32", (8, 24), addr=4096))
    mask = k.op("tcmps", [x, k.number("0.5", "f32")], k.tile("8x32xi8", (8, 24), addr=0), _mode("ge"))
    low = k.op("tneg", kept, k.tile("8x32xf32", (8, 24), addr=2048))
    k.store(k.op("tsel", [mask, kept, low], low), k.whole("y", 8, 24))
    return Runs({"x": (8, 24), "y": (8, 24)}, lambda x, y: {"y": np.where(x >= 0.5, x, -x)})


@kernel(ulps=0, x="*f32", y="*f32")
def one_mask_for_two(k: Writer) -> Runs:
    """A mask is used twice, in a loop, after other tiles took the compared one's place."""
    with k.loop(12, 4) as row:
        x = k.load(k.part(k.view("x", 12, 48), (row, 0), (4, 48)), k.tile("4x64xf32", (4, 48), addr=0))
        mask = k.op(
            "tcmp",
            [x, k.op("tabs", x, k.tile("4x64xf32", (4, 48), addr=1024))],
            k.tile("4x64xi8", (4, 48), addr=8192),
        )
        up = k.op("tadds", [x, k.number("1.0", "f32")], k.tile("4x64xf32", (4, 48), addr=1024))
        down = k.op("tmuls", [x, k.number("2.0", "f32")], k.tile("4x64xf32", (4, 48), addr=2048))
        first = k.op("tsel", [mask, up, down], k.tile("4x64xf32", (4, 48), addr=3072))
        second = k.op("tsels", [mask, first, k.number("7.0", "f32")], k.tile("4x64xf32", (4, 48), addr=0))
        k.store(k.op("tadd", [first, second], first), k.part(k.view("y", 12, 48), (row, 0), (4, 48)))

    def want(x: Array, y: Array) -> dict[str, Array]:
        one, two = np.float32(1), np.float32(2)
        return {"y": np.where(x == np.abs(x), two * (x + one), x * two + np.float32(7))}

    return Runs({"x": (12, 48), "y": (12, 48)}, want)


CASES = (*EVERY_MODE, bits_of_a_mask, mask_over_its_source, one_mask_for_two)
