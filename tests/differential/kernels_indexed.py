"""Rows and elements reached by numbers, in and out of range, equal ones, nothing at all to reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any


def _held(numbers: Array, count: int, mode: str) -> tuple[Array, Array]:
    """Numbers in range and which of them count, one by one."""
    held, some = np.zeros(numbers.shape, np.int64), np.zeros(numbers.shape, bool)
    for place, number in np.ndenumerate(numbers.astype(np.int64)):
        inside = 0 <= number < count
        some[place] = count > 0 and (inside or mode in ("clamp", "wrap", "undefined"))
        held[place] = (
            number
            if inside
            else number % count
            if mode == "wrap" and count
            else 0
            if number < 0
            else max(count - 1, 0)
        )
    return held, some


def _move(k: Writer, name: str, ins: list[str], out: str, words: str) -> None:
    types = ", ".join(k.types[value] for value in ins)
    k.line(f"pto.{name} ins({', '.join(ins)} : {types}) outs({out} : {k.types[out]}) {{{words}}}")


def _numbers(k: Writer, tile: str) -> str:
    """x % 60 - 20 of the random numbers in a tile."""
    k.op("tfmods", [tile, k.number(60, "i32")], tile)
    return k.op("tsubs", [tile, k.number(20, "i32")], tile)


def _remainder(numbers: Array) -> Array:
    return np.fmod(numbers, 60) - 20


def _gather(mode: str, by: str) -> Case:
    def write(k: Writer) -> Runs:
        rows = k.cast("%r")
        mem = k.part(k.view("m", rows, 9, strides=(11, 1)), (0, 0), (rows, 9))
        shape, valid = ("1x8xi32", (1, 5)) if by == "row" else ("8x16xi32", (5, 9))
        numbers = _numbers(k, k.load(k.whole("n", *valid), k.tile(shape, valid)))
        out = k.tile("8x16xf32", (5, 9))
        _move(
            k,
            "mgather",
            [mem, numbers],
            out,
            f"coalesce = #pto<coalesce {by}>, gatherOob = #pto<gather_oob {mode}>",
        )
        k.store(out, k.whole("y", 5, 9))

        def want(m: Array, n: Array, y: Array, r: int) -> dict[str, Array]:
            memory = m[:r, :9]
            if by == "row":
                held, some = _held(_remainder(n)[0], r, mode)
                found = memory[held] if r else np.zeros((5, 9))
                return {"y": np.where(some[:, None], found, 0)}
            held, some = _held(_remainder(n), r * 9, mode)
            found = memory.reshape(-1)[held] if r else np.zeros((5, 9))
            return {"y": np.where(some, found, 0)}

        return Runs(
            {"m": (20, 11), "n": (1, 5) if by == "row" else (5, 9), "y": (5, 9)},
            want,
            [{"r": r} for r in (20, 3, 0)],
        )

    write.__name__ = f"gather_{by}_{mode}"
    return kernel(ulps=0, m="*f32", n="*i32", y="*f32", r="i32")(write)


def _scatter(mode: str, by: str) -> Case:
    def write(k: Writer) -> Runs:
        rows = k.cast("%r")
        mem = k.part(k.view("m", rows, 9, strides=(11, 1)), (0, 0), (rows, 9))
        shape, valid = ("8x1xi32", (5, 1)) if by == "row" else ("8x16xi32", (5, 9))
        numbers = _numbers(k, k.load(k.whole("n", *valid), k.tile(shape, valid, column=by == "row")))
        x = k.load(k.whole("x", 5, 9), k.tile("8x16xbf16", (5, 9)))
        _move(
            k,
            "mscatter",
            [x, numbers],
            mem,
            f"coalesce = #pto<coalesce {by}>, scatterOob = #pto<scatter_oob {mode}>",
        )

        def want(m: Array, n: Array, x: Array, r: int) -> dict[str, Array]:
            made = m.copy()
            numbers = _remainder(n)[:, 0] if by == "row" else _remainder(n)
            held, some = _held(numbers, r if by == "row" else r * 9, mode)
            for row in range(5):
                if by == "row" and some[row]:
                    made[held[row], :9] = x[row]
                for column in range(9) if by == "elem" else ():
                    if some[row, column]:
                        made[divmod(held[row, column], 9)] = x[row, column]
            return {"m": made}

        return Runs({"m": (20, 11), "n": valid, "x": (5, 9)}, want, [{"r": r} for r in (20, 3, 0)])

    write.__name__ = f"scatter_{by}_{mode}"
    return kernel(ulps=0, m="*bf16", n="*i32", x="*bf16", r="i32")(write)


def _scatter_into(kind: str, elem: str) -> Case:
    """Numbers meet and some are out of range; one block works in the order of the elements, as NumPy does here."""

    def write(k: Writer) -> Runs:
        numbers = k.load(k.whole("n", 5, 9), k.tile("8x16xi32", (5, 9)))
        k.op("trems", [numbers, k.number(40, "i32")], numbers)
        x = k.load(k.whole("x", 5, 9), k.tile("8x16xf32", (5, 9)))
        small = k.op("tcvt", x, k.tile(f"8x16x{elem}", (5, 9)), "rmode = #pto<round_mode RINT>")
        words = f"coalesce = #pto<coalesce elem>, scatterAtomicOp = #pto<scatter_atomic_op {kind}>"
        _move(
            k,
            "mscatter",
            [small, numbers],
            k.whole("m", 4, 8),
            f"{words}, scatterOob = #pto<scatter_oob skip>",
        )

        def want(m: Array, n: Array, x: Array) -> dict[str, Array]:
            made = m.reshape(-1).copy()
            small = np.rint(x).astype(m.dtype) if elem == "i32" else x.astype(m.dtype)
            for number, value in zip(n.reshape(-1) % 40, small.reshape(-1), strict=True):
                if number < 32:
                    made[number] = {"add": np.add, "max": np.maximum, "min": np.minimum}[kind](
                        made[number], value
                    )
            return {"m": made.reshape(m.shape)}

        return Runs({"m": (4, 8), "n": (5, 9), "x": (5, 9)}, want, special=kind != "add" and elem == "f32")

    write.__name__ = f"scatter_{kind}_{elem}"
    return kernel(m=f"*{elem}", n="*i32", x="*f32")(write)


GATHERS = tuple(
    _gather(mode, by) for mode in ("undefined", "clamp", "wrap", "zero") for by in ("row", "elem")
)
SCATTERS = tuple(_scatter(mode, by) for mode in ("skip", "clamp", "wrap") for by in ("row", "elem"))
UPDATES = tuple(
    _scatter_into(kind, elem)
    for kind, elem in (
        ("add", "f32"),
        ("add", "bf16"),
        ("add", "f16"),
        ("add", "i32"),
        ("max", "f32"),
        ("min", "i32"),
        ("min", "f32"),
    )
)


@kernel(ulps=0, x="*f32", n="*i32", y="*f32")
def scattered_rows(k: Writer) -> Runs:
    """Elements go down their columns; what nothing goes to stays."""
    x = k.load(k.whole("x", 6, 10), k.tile("8x16xf32", (6, 10)))
    numbers = _numbers(k, k.load(k.whole("n", 6, 10), k.tile("8x16xi32", (6, 10))))
    out = k.load(k.whole("y", 8, 16), k.tile("8x16xf32"))
    k.store(k.op("tscatter", [x, numbers], out), k.whole("y", 8, 16))

    def want(x: Array, n: Array, y: Array) -> dict[str, Array]:
        made = y.copy()
        for (row, column), number in np.ndenumerate(_remainder(n)):
            if 0 <= number < 8:
                made[number, column] = x[row, column]
        return {"y": made}

    return Runs({"x": (6, 10), "n": (6, 10), "y": (8, 16)}, want, [{}, {}])


@kernel(ulps=0, x="*bf16", n="*i32", y="*bf16")
def by_bytes(k: Writer) -> Runs:
    x = k.load(k.whole("x", 2, 16), k.tile("2x16xbf16"))
    offsets = _numbers(k, k.load(k.whole("n", 3, 8), k.tile("3x8xi32")))
    k.store(k.op("tgatherb", [x, offsets], k.tile("3x16xbf16", (3, 8))), k.whole("y", 3, 8))
    return Runs(
        {"x": (2, 16), "n": (3, 8), "y": (3, 8)},
        lambda x, n, y: {"y": x.reshape(-1)[np.clip(_remainder(n) // 2, 0, 31)]},
    )


CASES = (*GATHERS, *SCATTERS, *UPDATES, scattered_rows, by_bytes)
