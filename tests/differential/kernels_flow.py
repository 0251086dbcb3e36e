"""Kernels whose tiles live through loops and branches, and whose loads and stores must keep their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Runs, kernel
from tests.differential.writer import Writer

Array = Any


@kernel(x="*f32", y="*f32", n="i32")
def running_maximum(k: Writer) -> Runs:
    """One tile carried around a loop of any number of trips."""
    count = k.cast("%n")
    best = k.op("texpands", k.number("-1.0", "f32"), k.tile("4x16xf32"))
    x = k.view("x", count, 4, 16)
    with k.loop(count) as at:
        tile = k.load(k.part(x, (at, 0, 0), (1, 4, 16)), k.tile("4x16xf32"))
        k.op("tmax", [best, tile], best)
    k.store(best, k.whole("y", 4, 16))
    return Runs(
        {"x": (5, 4, 16), "y": (4, 16)},
        lambda x, y, n: {"y": x[:n].max(0, initial=-1)},
        [{"n": n} for n in (0, 1, 5)],
    )


@kernel(x="*f32", y="*f32", n="i32", ulps=8)
def two_carried_and_swapped(k: Writer) -> Runs:
    """Fibonacci of tiles: two tiles exchange their roles by way of a third."""
    count = k.cast("%n")
    old = k.load(k.whole("x", 8, 8), k.tile("8x8xf32"))
    new = k.op("texpands", k.number("1.0", "f32"), k.tile("8x8xf32"))
    with k.loop(count):
        total = k.op("tadd", [old, new], k.tile("8x8xf32"))
        k.op("tmov", new, old)
        k.op("tmov", total, new)
    k.store(k.op("tsub", [new, old], old), k.whole("y", 8, 8))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        old, new = x.copy(), np.ones_like(x)
        for _ in range(n):
            old, new = new, old + new
        return {"y": new - old}

    return Runs({"x": (8, 8), "y": (8, 8)}, want, [{"n": n} for n in (0, 1, 2, 9)])


@kernel(x="*f32", y="*f32", n="i32", ulps=64, absolute=1e-6)
def online_softmax(k: Writer) -> Runs:
    """Columns come in blocks; maximum and sum are corrected as they grow."""
    count = k.cast("%n")
    x, y = k.view("x", 8, count), k.view("y", 8, count)
    column = "8x1xf32"
    top = k.op("texpands", k.number("-3.0e+38", "f32"), k.tile(column, column=True))
    total = k.op("texpands", k.number("0.0", "f32"), k.tile(column, column=True))
    with k.loop(count, 16) as at:
        width = k.arith("minsi", k.arith("subi", count, at), 16)
        tile = k.load(k.part(x, (0, at), (8, width)), k.tile("8x16xf32", (8, width)))
        here = k.op("trowmax", tile, k.tile(column, column=True))
        higher = k.op("tmax", [top, here], k.tile(column, column=True))
        shrink = k.op("texp", k.op("tsub", [top, higher], here), here)
        k.op("tmul", [total, shrink], total)
        k.op("texp", k.op("trowexpandsub", [tile, higher], tile), tile)
        part = k.op("trowsum", tile, k.tile(column, column=True))
        k.op("tadd", [total, part], total)
        k.op("tmov", higher, top)
    with k.loop(count, 16) as at:
        width = k.arith("minsi", k.arith("subi", count, at), 16)
        tile = k.load(k.part(x, (0, at), (8, width)), k.tile("8x16xf32", (8, width)))
        k.op("texp", k.op("trowexpandsub", [tile, top], tile), tile)
        k.store(k.op("trowexpanddiv", [tile, total], tile), k.part(y, (0, at), (8, width)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        used = x.reshape(-1)[: 8 * n].reshape(8, n).astype(float)
        e = np.exp(used - used.max(1, keepdims=True, initial=-np.inf))
        y.reshape(-1)[: 8 * n] = (e / e.sum(1, keepdims=True)).reshape(-1)
        return {"y": y}

    return Runs({"x": (8, 100), "y": (8, 100)}, want, [{"n": n} for n in (0, 1, 16, 40, 100)])


@kernel(x="*f32", y="*f32", way="i32")
def both_branches(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 3, 17), k.tile("8x32xf32", (3, 17)))
    out = k.tile("8x32xf32", (3, 17))
    with k.nested(f"scf.if {k.arith('cmpi sgt,', '%way', 0)}"):
        k.op("tadd", [tile, tile], out)
        k.otherwise()
        k.op("tneg", tile, out)
    k.store(k.op("tmul", [out, tile], out), k.whole("y", 3, 17))
    return Runs(
        {"x": (3, 17), "y": (3, 17)},
        lambda x, y, way: {"y": (2 * x if way > 0 else -x) * x},
        [{"way": 1}, {"way": 0}],
    )


@kernel(x="*f32", y="*f32", way="i32")
def one_branch(k: Writer) -> Runs:
    """A write in one branch only: the other keeps what was there."""
    tile = k.load(k.whole("x", 4, 24), k.tile("4x24xf32"))
    some, many = (k.arith("cmpi sgt,", "%way", bound) for bound in (0, 1))
    with k.nested(f"scf.if {some}"), k.nested(f"scf.if {many}"):
        k.op("tabs", tile, tile)
        k.otherwise()
        k.op("tmuls", [tile, k.number("3.0", "f32")], tile)
    k.store(tile, k.whole("y", 4, 24))
    return Runs(
        {"x": (4, 24), "y": (4, 24)},
        lambda x, y, way: {"y": {0: x, 1: 3 * x, 2: np.abs(x)}[way]},
        [{"way": way} for way in (0, 1, 2)],
    )


@kernel(x="*f32", y="*f32", n="i32")
def first_trip_differs(k: Writer) -> Runs:
    """A branch on the first trip starts a sum that the loop carries."""
    count = k.cast("%n")
    total = k.tile("2x40xf32")
    x = k.view("x", 6, 2, 40)
    with k.loop(count) as at:
        tile = k.load(k.part(x, (at, 0, 0), (1, 2, 40)), k.tile("2x40xf32"))
        with k.nested(f"scf.if {k.arith('cmpi eq,', at, 0)}"):
            k.op("tmov", tile, total)
            k.otherwise()
            k.op("tadd", [total, tile], total)
        k.store(total, k.part(k.view("y", 6, 2, 40), (at, 0, 0), (1, 2, 40)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:n] = np.cumsum(x[:n], 0, dtype=np.float32)
        return {"y": y}

    return Runs({"x": (6, 2, 40), "y": (6, 2, 40)}, want, [{"n": n} for n in (0, 1, 6)])


@kernel(x="*f32", y="*f32", n="i32")
def nested_loops(k: Writer) -> Runs:
    """A tile that the outer loop resets and the inner one adds to; bounds depend on the outer counter."""
    count = k.cast("%n")
    x, y = k.view("x", 6, 16), k.view("y", 6, 16)
    with k.loop(count) as row:
        total = k.op("texpands", k.number("0.0", "f32"), k.tile("1x16xf32"))
        with k.loop(k.arith("addi", row, 1)) as other:
            tile = k.load(k.part(x, (other, 0), (1, 16)), k.tile("1x16xf32"))
            k.op("tadd", [total, tile], total)
        k.store(total, k.part(y, (row, 0), (1, 16)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:n] = np.cumsum(x[:n], 0, dtype=np.float32)
        return {"y": y}

    return Runs({"x": (6, 16), "y": (6, 16)}, want, [{"n": n} for n in (0, 1, 6)])


@kernel(x="*f32", y="*f32")
def while_it_is_small(k: Writer) -> Runs:
    """scf.while doubles a tile until its first element is large enough."""
    k.load(k.whole("x", 2, 16), tile := k.tile("2x16xf32"))
    k.op("tadds", [k.op("tabs", tile, tile), k.number("0.25", "f32")], tile)
    zero = k.index(0)
    limit = k.number("16.0", "f32")
    two = k.number("2.0", "f32")
    type = k.types[tile]
    k.line("%trips = scf.while (%t = " + zero + ") : (index) -> index {")
    k.line(f"  %first = pto.tgetval ins({tile}, {zero} : {type}, index) outs : f32")
    k.line(f"  %low = arith.cmpf olt, %first, {limit} : f32")
    k.line("  scf.condition(%low) %t : index")
    k.line("} do {")
    k.line("^bb0(%u: index):")
    k.line(f"  pto.tmuls ins({tile}, {two} : {type}, f32) outs({tile} : {type})")
    k.line(f"  %next = arith.addi %u, {k.number(1)} : index")
    k.line("  scf.yield %next : index")
    k.line("}")
    k.store(tile, k.whole("y", 2, 16))

    def want(x: Array, y: Array) -> dict[str, Array]:
        found = np.abs(x) + np.float32(0.25)
        while found[0, 0] < 16:
            found *= 2
        return {"y": found}

    return Runs({"x": (2, 16), "y": (2, 16)}, want, [{}, {}, {}])


@kernel(x="*f32")
def load_after_store(k: Writer) -> Runs:
    """What was stored is loaded again, twice, at another place."""
    view = k.view("x", 9, 64)
    upper, lower = k.part(view, (0, 0), (8, 64)), k.part(view, (1, 0), (8, 64))
    a = k.load(upper, k.tile("8x64xf32"))
    a = k.op("tadd", [a, a], a)
    k.store(a, lower)
    b = k.load(upper, k.tile("8x64xf32"))
    b = k.op("tmul", [b, a], b)
    k.store(b, lower)

    def want(x: Array) -> dict[str, Array]:
        a = x[:8] * 2
        x[1:] = a
        x[1:] = x[:8] * a
        return {"x": x}

    return Runs({"x": (9, 64)}, want)


@kernel(x="*f32")
def down_the_rows(k: Writer) -> Runs:
    """Every row is the row above plus itself: the loads see the stores of the trip before."""
    view = k.view("x", 9, 48)
    with k.loop(8) as row:
        above = k.load(k.part(view, (row, 0), (1, 48)), k.tile("1x48xf32"))
        below = k.part(view, (k.arith("addi", row, 1), 0), (1, 48))
        here = k.load(below, k.tile("1x48xf32"))
        k.store(k.op("tadd", [above, here], here), below)
    return Runs({"x": (9, 48)}, lambda x: {"x": np.cumsum(x, 0, dtype=np.float32)})


@kernel(x="*f32", y="*f32")
def shifted_in_place(k: Writer) -> Runs:
    """The whole array is loaded before a shifted part of it is stored: a view must not be read too late."""
    a = k.load(k.whole("x", 8, 32), k.tile("8x32xf32"))
    k.store(a, k.part(k.view("x", 9, 32), (1, 0), (8, 32)))
    k.store(k.op("tneg", a, k.tile("8x32xf32")), k.whole("y", 8, 32))
    return Runs({"x": (9, 32), "y": (8, 32)}, lambda x, y: {"x": np.concatenate([x[:1], x[:8]]), "y": -x[:8]})


@kernel(x="*f32", y="*f32")
def transposed_in_place(k: Writer) -> Runs:
    """A square array is replaced by its transpose plus itself: no row may be written before all are read."""
    a = k.load(k.whole("x", 16, 16), k.tile("16x16xf32"))
    by_columns = k.part(k.view("x", 16, 16, strides=(1, 16), layout="dn"), (0, 0), (16, 16))
    b = k.load(by_columns, k.tile("16x16xf32"))
    k.store(k.op("tadd", [a, b], a), k.whole("x", 16, 16))
    k.store(b, k.whole("y", 16, 16))
    return Runs({"x": (16, 16), "y": (16, 16)}, lambda x, y: {"x": x + x.T, "y": x.T})


@kernel(x="*f32", y="*f32", absolute=1e-6)
def rows_in_place(k: Writer) -> Runs:
    """The output is the input, row by row, and the row is needed again after a reduction."""
    part = k.whole("x", 7, 33)
    a = k.load(part, k.tile("8x40xf32", (7, 33)))
    top = k.op("trowmax", a, k.tile("8x1xf32", (7, 1), column=True))
    b = k.op("trowexpandsub", [a, top], k.tile("8x40xf32", (7, 33)))
    k.store(b, part)
    k.store(k.op("tadd", [a, b], a), k.whole("y", 7, 33))

    def want(x: Array, y: Array) -> dict[str, Array]:
        b = x - x.max(1, keepdims=True)
        return {"x": b, "y": x + b}

    return Runs({"x": (7, 33), "y": (7, 33)}, want)


@kernel(x="*f32", y="*f32")
def several_stores(k: Writer) -> Runs:
    """Overlapping stores to one array: the last one wins."""
    y = k.view("y", 12, 16)
    a = k.load(k.whole("x", 8, 16), k.tile("8x16xf32"))
    k.store(a, k.part(y, (0, 0), (8, 16)))
    k.store(k.op("tneg", a, k.tile("8x16xf32")), k.part(y, (4, 0), (8, 16)))
    k.store(k.op("tadd", [a, a], a), k.part(y, (2, 0), (8, 16)))

    def want(x: Array, y: Array) -> dict[str, Array]:
        y[:8], y[4:], y[2:10] = x, -x, 2 * x
        return {"y": y}

    return Runs({"x": (8, 16), "y": (12, 16)}, want)


@kernel(x="*f32", w="*f32", y="*f32", z="*f32")
def stored_before_the_next_load(k: Writer) -> Runs:
    """A row is stored, then another one is loaded that has to be kept somewhere: not in the row that is stored."""
    a = k.load(k.whole("x", 9, 16), k.tile("16x16xf32", (9, 16)))
    k.store(k.op("tneg", a, k.tile("16x16xf32", (9, 16))), k.whole("y", 9, 16))
    by_columns = k.part(k.view("w", 9, 16, strides=(1, 9), layout="dn"), (0, 0), (9, 16))
    b = k.load(by_columns, k.tile("16x16xf32", (9, 16)))
    k.store(k.op("tadd", [a, b], b), k.part(k.view("z", 12, 16), (3, 0), (9, 16)))
    return Runs(
        {"x": (9, 16), "w": (16, 9), "y": (9, 16), "z": (12, 16)},
        lambda x, w, y, z: {"y": -x, "z": np.concatenate([z[:3], x + w.T])},
    )


@kernel(x="*f32", y="*f32", n="i32")
def sums_of_everything_before(k: Writer) -> Runs:
    """An output row that is read back in the next trip through another view of the same array."""
    count = k.cast("%n")
    x, y = k.view("x", 8, 24), k.view("y", 8, 24)
    with k.loop(count) as row:
        tile = k.load(k.part(x, (row, 0), (1, 24)), k.tile("1x24xf32"))
        with k.nested(f"scf.if {k.arith('cmpi sgt,', row, 0)}"):
            back = k.part(y, (k.arith("subi", row, 1), 0), (1, 24))
            k.op("tadd", [tile, k.load(back, k.tile("1x24xf32"))], tile)
        k.store(tile, k.part(y, (row, 0), (1, 24)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:n] = np.cumsum(x[:n], 0, dtype=np.float32)
        return {"y": y}

    return Runs({"x": (8, 24), "y": (8, 24)}, want, [{"n": n} for n in (0, 1, 8)])


@kernel(x="*f32", y="*f32", n="i32", __pypto_spmd_block_idx="i32", __pypto_spmd_block_num="i32")
def strided_blocks(k: Writer) -> Runs:
    """Rows dealt to the blocks of a grid, one after another."""
    block, blocks = k.cast("%__pypto_spmd_block_idx"), k.cast("%__pypto_spmd_block_num")
    x, y = k.view("x", 20, 40), k.view("y", 20, 40)
    with k.loop(k.cast("%n"), blocks, block) as row:
        tile = k.load(k.part(x, (row, 0), (1, 40)), k.tile("1x40xf32"))
        k.store(k.op("tabs", tile, tile), k.part(y, (row, 0), (1, 40)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:n] = np.abs(x[:n])
        return {"y": y}

    return Runs({"x": (20, 40), "y": (20, 40)}, want, [{"n": n} for n in (0, 1, 20)], grid=(1, 3, 7))


@kernel(x="*f32", y="*f32", __pypto_spmd_block_idx="i32", __pypto_spmd_block_num="i32")
def blocks_of_a_plane(k: Writer) -> Runs:
    """A block number split in two; blocks beyond the plane have nothing to do."""
    block, blocks = k.cast("%__pypto_spmd_block_idx"), k.cast("%__pypto_spmd_block_num")
    x, y = k.view("x", 24, 48), k.view("y", 24, 48)
    with k.loop(9, blocks, block) as at:
        row = k.arith("muli", k.arith("divsi", at, 3), 8)
        column = k.arith("muli", k.arith("remsi", at, 3), 16)
        tile = k.load(k.part(x, (row, column), (8, 16)), k.tile("8x16xf32"))
        k.op("tmins", [tile, k.number("0.5", "f32")], tile)
        k.store(tile, k.part(y, (row, column), (8, 16)))
    return Runs(
        {"x": (24, 48), "y": (24, 48)}, lambda x, y: {"y": np.minimum(x, np.float32(0.5))}, grid=(1, 3, 7, 11)
    )


CASES = (
    running_maximum, two_carried_and_swapped, online_softmax, both_branches, one_branch, first_trip_differs,
    nested_loops, while_it_is_small, load_after_store, down_the_rows, shifted_in_place, transposed_in_place,
    rows_in_place, several_stores, stored_before_the_next_load, sums_of_everything_before, strided_blocks, blocks_of_a_plane,
)  # fmt: skip
