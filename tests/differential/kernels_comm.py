"""Transfers between chips as one chip runs them, signals, sums that blocks add to, and blocks that wait for each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Runs, kernel
from tests.differential.writer import Writer

Array = Any
GRID = {"__pypto_spmd_block_idx": "i32", "__pypto_spmd_block_num": "i32"}


def _place(k: Writer) -> tuple[str, str]:
    """This block's number, and how many there are."""
    return k.cast("%__pypto_spmd_block_idx"), k.cast("%__pypto_spmd_block_num")


def _transfer(k: Writer, op: str, target: str, source: str, *stages: str, inside: str = "") -> None:
    listed = ", ".join(stages)
    types = ", ".join(k.types[name] for name in (target, source, *stages))
    k.line(f"pto.comm.{op}({target}, {source}, buf({listed}) : {types}){inside}")


def _signal(k: Writer, op: str, signal: str, value: str, inside: str) -> None:
    k.line(f"pto.comm.{op}({signal}, {value} : {k.types[signal]}, {k.types[value]}) {{{inside}}}")


def _notify(k: Writer, signal: str, value: str, how: str = "set") -> None:
    _signal(k, "tnotify", signal, value, f"notifyOp = #pto<notify_op {how}>")


def _wait(k: Writer, signal: str, value: str, how: str = "ge") -> None:
    _signal(k, "twait", signal, value, f"cmp = #pto<wait_cmp {how}>")


def _add(k: Writer, tile: str, target: str, columns: int) -> None:
    part = k.part(k.view(target, 1, columns), (0, 0), (1, columns))
    k.line(
        f"pto.tstore ins({tile} : {k.types[tile]}) outs({part} : {k.types[part]}) "
        "{atomicType = #pto<atomic_type atomic_add>}"
    )


@kernel(x="*f32", y="*f32", z="*f32", rows="i32", columns="i32")
def copies_in_pieces(k: Writer) -> Runs:
    """Run-time extents, longer and shorter than the staging tile; then a row of them into another array."""
    rows, columns = k.cast("%rows"), k.cast("%columns")
    whole = [k.part(k.view(name, rows, columns), (0, 0), (rows, columns)) for name in ("y", "x")]
    _transfer(k, "tput", *whole, k.tile("8x16xf32"), k.tile("8x16xf32"))
    line = [k.part(k.view(name, columns), (0,), (columns,)) for name in ("z", "x")]
    _transfer(k, "tget", *line, k.tile("1x16xf32"))

    def want(x: Array, y: Array, z: Array, rows: int, columns: int) -> dict[str, Array]:
        count = rows * columns
        first = columns
        return {
            "y": np.concatenate([x[:count], y[count:]]),
            "z": np.concatenate([x[:first], z[first:]]),
        }

    sizes = ((13, 37), (8, 16), (1, 1), (0, 5), (3, 0), (16, 32))
    return Runs(
        {"x": (600,), "y": (600,), "z": (600,)},
        want,
        [{"rows": rows, "columns": columns} for rows, columns in sizes],
        special=True,
    )


@kernel(x="*i32", y="*i32")
def copies_that_add(k: Writer) -> Runs:
    """A static shape that fits its staging tile; sums wrap."""
    parts = [k.whole(name, 7, 24) for name in ("y", "x")]
    _transfer(k, "tput", *parts, k.tile("8x32xi32"), inside=" {atomicType = #pto<atomic_type atomic_add>}")
    return Runs({"x": (7, 24), "y": (7, 24)}, lambda x, y: {"y": x + y})


@kernel(s="*i32", y="*i32")
def signals_of_one_core(k: Writer) -> Runs:
    """Set, add, wait for what is so already, and test."""
    signal = k.part(k.view("s", 4), (1,), (2,))
    five, two, minus = k.number(5, "i32"), k.number(2, "i32"), k.number(-9, "i64")
    _notify(k, signal, five)
    _notify(k, signal, two, "atomic_add")
    for how, value in (("eq", 7), ("ne", 6), ("gt", 6), ("ge", 7), ("lt", 8), ("le", 7)):
        _wait(k, signal, k.number(value, "i32"), how)
    out = k.tile("1x8xi32", (1, 8))
    k.line(f"pto.texpands ins({k.number(0, 'i32')} : i32) outs({out} : {k.types[out]})")
    for place, (how, value) in enumerate((("eq", five), ("gt", minus), ("ne", two), ("lt", two))):
        known = k.value(
            f"pto.comm.ttest({signal}, {value} : {k.types[signal]}, {k.types[value]}) {{cmp = #pto<wait_cmp {how}>}} -> i1",
            "i1",
        )
        word = k.value(f"arith.extui {known} : i1 to i32", "i32")
        offset = k.index(place)
        k.line(f"pto.tsetval ins({offset}, {word} : index, i32) outs({out} : {k.types[out]})")
    k.store(out, k.part(k.view("y", 1, 8), (0, 0), (1, 8)))

    def want(s: Array, y: Array) -> dict[str, Array]:
        return {"s": np.array([s[0], 7, 7, s[3]]), "y": np.array([0, 1, 1, 0, 0, 0, 0, 0])}

    return Runs({"s": (4,), "y": (8,)}, want)


@kernel(absolute=1e-5, x="*f32", y="*f32", n="*i32", m="*i32", **GRID)
def sums_of_all_blocks(k: Writer) -> Runs:
    """Every block adds its rows to one row, as floats and as integers."""
    block, _ = _place(k)
    for source, target, elem in (("x", "y", "f32"), ("n", "m", "i32")):
        tile = k.load(k.part(k.view(source, 8, 40), (block, 0), (1, 40)), k.tile(f"1x40x{elem}"))
        _add(k, tile, target, 40)

    def want(x: Array, y: Array, n: Array, m: Array, **_: int) -> dict[str, Array]:
        total = n.astype(np.int64).sum(axis=0) + m
        return {"y": x.astype(np.float64).sum(axis=0) + y, "m": total.astype(np.int32)}

    return Runs({"x": (8, 40), "y": (40,), "n": (8, 40), "m": (40,)}, want, grid=(8,))


@kernel(x="*f16", y="*bf16", i="*i8", j="*i16", **GRID)
def counts_of_all_blocks(k: Writer) -> Runs:
    """Elements narrower than the words that processors add to; the same number from all, so no order shows."""
    ones = {"f16": "1.500000e+00 : f16", "bf16": "1.500000e+00 : bf16", "i8": "77 : i8", "i16": "30000 : i16"}
    for target, elem in (("x", "f16"), ("y", "bf16"), ("i", "i8"), ("j", "i16")):
        tile = k.tile(f"1x40x{elem}")
        one = k.value(f"arith.constant {ones[elem]}", elem)
        k.op("pto.texpands", [one], tile)
        _add(k, tile, target, 40)

    def want(x: Array, y: Array, i: Array, j: Array, **_: int) -> dict[str, Array]:
        for _block in range(8):
            x, y = x + x.dtype.type(1.5), y + y.dtype.type(1.5)
        return {
            "x": x,
            "y": y,
            "i": i + np.int8(8 * 77 % 256 - 256),
            "j": j + np.int16(8 * 30000 % 65536 - 65536),
        }

    return Runs({"x": (40,), "y": (40,), "i": (40,), "j": (40,)}, want, grid=(8,))


_DONE = 424242
"""No signal has this value at the start of a run."""


@kernel(absolute=1e-5, y="*f32", s="*i32", **GRID)
def one_after_another(k: Writer) -> Runs:
    """Each block waits for the one behind it; the last one begins. The result shows the order."""
    block, count = _place(k)
    signals = k.view("s", 16)
    after, done = k.arith("addi", block, 1), k.number(_DONE, "i32")
    with k.nested(f"scf.if {k.arith('cmpi slt,', after, count)}"):
        _wait(k, k.part(signals, (after,), (1,)), done, "eq")
    line = k.whole("y", 1, 40)
    tile = k.load(line, k.tile("1x40xf32"))
    k.op("tmuls", (tile, k.number("0.5", "f32")), tile)
    number = k.value("arith.sitofp %__pypto_spmd_block_idx : i32 to f32", "f32")
    k.op("tadds", (tile, number), tile)
    k.store(tile, line)
    _notify(k, k.part(signals, (block,), (1,)), done)

    def want(y: Array, s: Array, **_: int) -> dict[str, Array]:
        found = y.astype(np.float64)
        for number in reversed(range(8)):
            found = 0.5 * found + number
        return {"y": found, "s": np.concatenate([np.full(8, _DONE), s[8:]])}

    return Runs({"y": (40,), "s": (16,)}, want, grid=(8,))


@kernel(x="*f32", y="*f32", z="*f32", w="*i32", **GRID)
def all_blocks_meet(k: Writer) -> Runs:
    """Rows that other blocks wrote are read behind a meeting, twice, by both of its forms."""
    block, count = _place(k)
    after = k.arith("remsi", k.arith("addi", block, 1), count)
    tile = k.tile("1x64xf32")
    views = {name: k.view(name, 6, 64) for name in "xyz"}
    steps = (("x", block, "z", block), ("z", after, "y", block), ("y", after, "z", block))
    for source, row, target, place in steps:
        k.load(k.part(views[source], (row, 0), (1, 64)), tile)
        k.store(tile, k.part(views[target], (place, 0), (1, 64)))
        if target == "z":
            k.line("pto.syncall() mode = #pto.sync_all_mode<hard>, core_type = #pto.sync_core_type<mix>")
        else:
            k.line(
                "pto.syncall(%w : !pto.ptr<i32>) mode = #pto.sync_all_mode<soft>, "
                "core_type = #pto.sync_core_type<aiv_only>"
            )
    return Runs(
        {"x": (6, 64), "y": (6, 64), "z": (6, 64), "w": (16,)},
        lambda x, y, z, w, **_: {"y": np.roll(x, -1, axis=0), "z": np.roll(x, -2, axis=0)},
        grid=(6,),
    )


CASES = (
    copies_in_pieces,
    copies_that_add,
    signals_of_one_core,
    sums_of_all_blocks,
    one_after_another,
    all_blocks_meet,
)
