"""Kernels that read the same bytes through several tiles: reinterpretations, windows, regions that change, addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Runs, kernel
from tests.differential.writer import Writer

Array = Any


@kernel(x="*f32", y="*f32", n="i32", ulps=16)
def column_read_as_row(k: Writer) -> Runs:
    """Sums of rows are scaled as a lying vector and spread over the rows as a standing one."""
    rows = k.cast("%n")
    tile = k.load(k.whole("x", rows, 16), k.tile("8x16xf32", (rows, 16)))
    square = k.op("tmul", [tile, tile], k.tile("8x16xf32", (rows, 16)))
    total = k.op("trowsum", square, k.tile("8x1xf32", (rows, 1), column=True))
    lying = k.reshape(total, "1x8xf32", (1, rows))
    k.op("trsqrt", k.op("tadds", [lying, k.number("0.5", "f32")], lying), lying)
    k.store(k.op("trowexpandmul", [tile, total], tile), k.whole("y", rows, 16))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        used = x[:n].astype(float)
        y[:n] = used / np.sqrt((used**2).sum(1, keepdims=True) + 0.5)
        return {"y": y}

    return Runs({"x": (8, 16), "y": (8, 16)}, want, [{"n": n} for n in (0, 1, 7, 8)])


@kernel(x="*f32", y="*f32")
def row_read_as_column(k: Writer) -> Runs:
    row = k.load(k.whole("x", 1, 8), k.tile("1x8xf32"))
    column = k.reshape(row, "8x1xf32", column=True)
    wide = k.op("trowexpand", column, k.tile("8x24xf32"))
    k.op("tcolexpandsub", [k.reshape(wide, "24x8xf32"), row], other := k.tile("24x8xf32"))
    k.store(other, k.whole("y", 24, 8))
    return Runs({"x": (8,), "y": (24, 8)}, lambda x, y: {"y": np.repeat(x, 24).reshape(24, 8) - x})


@kernel(x="*f32", y="*i32")
def bits_of_floats(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 8, 24), k.tile("8x24xf32"))
    bits = k.reshape(tile, "8x24xi32")
    sign = k.op("tshrs", [bits, k.number(31, "i32")], k.tile("8x24xi32"))
    k.op("txors", [sign, k.number(-1, "i32")], sign)
    k.store(k.op("tand", [bits, sign], sign), k.whole("y", 8, 24))
    return Runs(
        {"x": (8, 24), "y": (8, 24)},
        lambda x, y: {"y": x.view(np.int32) & ~(x.view(np.int32) >> 31)},
        special=True,
    )


@kernel(x="*f32", y="*f32")
def floats_made_of_bits(k: Writer) -> Runs:
    """2 ** round(x) from an exponent field that is written as integers and read as floats."""
    tile = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    bits = k.op("tcvt", tile, k.tile("4x16xi32"), "rmode = #pto<round_mode RINT>")
    k.op("tadds", [bits, k.number(127, "i32")], bits)
    k.op("tshls", [bits, k.number(23, "i32")], bits)
    power = k.reshape(bits, "4x16xf32")
    k.store(k.op("tmul", [power, tile], tile), k.whole("y", 4, 16))
    return Runs({"x": (4, 16), "y": (4, 16)}, lambda x, y: {"y": x * np.exp2(np.rint(x))})


@kernel(x="*f32", y="*i16")
def halves_of_floats(k: Writer) -> Runs:
    """A 4 x 16 tile of f32 is 8 x 16 of i16: rows 2i and 2i + 1 hold row i."""
    tile = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    halves = k.reshape(k.op("tneg", tile, tile), "8x16xi16")
    k.store(k.op("tnot", halves, halves), k.whole("y", 8, 16))
    return Runs({"x": (4, 16), "y": (8, 16)}, lambda x, y: {"y": ~(-x).view(np.int16).reshape(8, 16)})


@kernel(x="*f32", y="*f32")
def written_as_another_shape(k: Writer) -> Runs:
    """Half of the bytes are written anew through another shape."""
    tile = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    flat = k.reshape(tile, "1x64xf32")
    k.op("texpands", k.number("7.0", "f32"), k.window(flat, 0, 24, "1x32xf32"))
    k.store(tile, k.whole("y", 4, 16))

    def want(x: Array, y: Array) -> dict[str, Array]:
        x.reshape(-1)[24:56] = 7
        return {"y": x}

    return Runs({"x": (4, 16), "y": (4, 16)}, want)


@kernel(x="*f32", y="*f32")
def windows(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 16, 32), k.tile("16x32xf32"))
    lower, upper = k.window(tile, 8, 16, "8x16xf32"), k.window(tile, 0, 0, "8x16xf32")
    k.op("tadd", [lower, upper], lower)
    k.store(tile, k.whole("y", 16, 32))

    def want(x: Array, y: Array) -> dict[str, Array]:
        x[8:, 16:] += x[:8, :16]
        return {"y": x}

    return Runs({"x": (16, 32), "y": (16, 32)}, want)


@kernel(x="*f32", y="*f32", at="i32", n="i32")
def moving_window(k: Writer) -> Runs:
    """A window at a run-time row, with a run-time region."""
    at, rows = k.cast("%at"), k.cast("%n")
    tile = k.load(k.whole("x", 16, 32), k.tile("16x32xf32"))
    part = k.window(tile, at, 8, "4x16xf32", (rows, 11))
    k.op("tmuls", [part, k.number("-2.0", "f32")], part)
    k.store(tile, k.whole("y", 16, 32))

    def want(x: Array, y: Array, at: int, n: int) -> dict[str, Array]:
        x[at : at + n, 8:19] *= -2
        return {"y": x}

    return Runs(
        {"x": (16, 32), "y": (16, 32)}, want, [{"at": at, "n": n} for at in (0, 5, 12) for n in (0, 1, 4)]
    )


@kernel(x="*f32", y="*f32")
def overlapping_windows(k: Writer) -> Runs:
    """A tile moved one row down within itself: all of the source is read before the destination is written."""
    tile = k.load(k.whole("x", 8, 16), k.tile("8x16xf32"))
    k.op(
        "tadds", [k.window(tile, 0, 0, "7x16xf32"), k.number("1.0", "f32")], k.window(tile, 1, 0, "7x16xf32")
    )
    k.store(tile, k.whole("y", 8, 16))
    return Runs(
        {"x": (8, 16), "y": (8, 16)}, lambda x, y: {"y": np.concatenate([x[:1], x[:7] + np.float32(1)])}
    )


@kernel(x="*f32", y="*f32", n="i32", absolute=1e-5)
def windows_of_a_loop(k: Writer) -> Runs:
    """Windows written in a loop, read as a whole after it."""
    tile = k.op("texpands", k.number("0.5", "f32"), k.tile("8x16xf32"))
    with k.loop(k.cast("%n"), 2) as at:
        k.load(k.part(k.view("x", 8, 16), (at, 0), (2, 16)), k.window(tile, at, 0, "2x16xf32"))
    total = k.op("tcolsum", tile, k.tile("1x16xf32"))
    k.store(k.op("tcolexpandmul", [tile, total], tile), k.whole("y", 8, 16))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        x[n:] = 0.5
        return {"y": x * x.astype(float).sum(0)}

    return Runs({"x": (8, 16), "y": (8, 16)}, want, [{"n": n} for n in (0, 2, 8)])


@kernel(x="*f32", y="*f32", n="i32", absolute=1e-5)
def shrinking_region(k: Writer) -> Runs:
    """set_validshape between ops: the sum sees fewer rows and columns than the load wrote."""
    rows = k.cast("%n")
    tile = k.load(k.whole("x", 16, 32), k.tile("16x32xf32", (k.index(16), k.index(32))))
    top = k.op("tcolmax", tile, k.tile("1x32xf32"))
    k.line(f"pto.set_validshape {tile}, {rows}, {k.index(17)} : {k.types[tile]}")
    total = k.op("tcolsum", tile, k.tile("1x32xf32", (1, 17)))
    k.op("tadd", [tile, tile], tile)
    k.store(tile, k.part(k.view("y", 18, 32), (0, 0), (rows, 17)))
    k.store(total, k.part(k.view("y", 18, 32), (16, 0), (1, 17)))
    k.store(top, k.part(k.view("y", 18, 32), (17, 0), (1, 32)))

    def want(x: Array, y: Array, n: int) -> dict[str, Array]:
        y[:n, :17] = 2 * x[:n, :17]
        y[16, :17] = x[:n, :17].astype(float).sum(0)
        y[17] = x.max(0)
        return {"y": y}

    return Runs({"x": (16, 32), "y": (18, 32)}, want, [{"n": n} for n in (0, 5, 16)])


@kernel(x="*f32", y="*f32")
def single_elements(k: Writer) -> Runs:
    """tgetval and tsetval between ops on the whole tile."""
    tile = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    type = k.types[tile]
    with k.loop(4) as row:
        here = k.arith("muli", row, 17)
        value = k.value(f"pto.tgetval ins({tile}, {here} : {type}, index) outs : f32", "f32")
        twice = k.arith("addf", value, value)
        k.line(f"pto.tsetval ins({k.arith('muli', row, 16)}, {twice} : index, f32) outs({tile} : {type})")
    k.store(k.op("tabs", tile, tile), k.whole("y", 4, 16))

    def want(x: Array, y: Array) -> dict[str, Array]:
        flat = x.reshape(-1)
        for row in range(4):
            flat[16 * row] = 2 * flat[17 * row]
        return {"y": np.abs(x)}

    return Runs({"x": (4, 16), "y": (4, 16)}, want)


@kernel(x="*f32", y="*f32")
def an_element_of_what_was_loaded(k: Writer) -> Runs:
    """tgetval counts in the memory order of the tile, also beyond the valid columns of a row."""
    tile = k.load(k.whole("x", 4, 11), k.tile("4x16xf32", (4, 11)))
    here = f"{tile}, {k.index(2 * 16 + 7)} : {k.types[tile]}, index"
    value = k.value(f"pto.tgetval ins({here}) outs : f32", "f32")
    k.store(k.op("tmuls", [tile, value], k.tile("4x16xf32", (4, 11))), k.whole("y", 4, 11))
    return Runs({"x": (4, 11), "y": (4, 11)}, lambda x, y: {"y": x * x[2, 7]})


@kernel(x="*f32", y="*f32")
def one_address_many_tiles(k: Writer) -> Runs:
    """Level 3: a buffer is reused in other shapes while a part of its old content is still needed."""
    a = k.load(k.whole("x", 8, 16), k.tile("8x16xf32", addr=0))
    top = k.op("tcolmax", a, k.tile("1x16xf32", addr=512))
    shifted = k.op("tcolexpandsub", [a, top], k.tile("8x16xf32", addr=0))
    total = k.op("trowsum", shifted, k.tile("8x1xf32", addr=544, column=True))
    half = k.tile("4x16xf32", addr=256)
    k.op("tmuls", [half, k.number("2.0", "f32")], half)
    k.op("trowexpandadd", [shifted, total], shifted)
    k.store(k.tile("8x16xf32", addr=0), k.whole("y", 8, 16))

    def want(x: Array, y: Array) -> dict[str, Array]:
        shifted = (x - x.max(0)).astype(float)
        total = shifted.sum(1, keepdims=True)
        # The column at byte 544 overlaps the second half of the maxima, which nothing reads any more.
        shifted[4:] *= 2
        return {"y": shifted + total}

    return Runs({"x": (8, 16), "y": (8, 16)}, want)


@kernel(x="*f32", y="*f32")
def overlapping_addresses(k: Writer) -> Runs:
    """Level 3: destination and source overlap by half a tile, in both directions."""
    a = k.load(k.whole("x", 8, 16), k.tile("8x16xf32", addr=1024))
    k.op("tneg", a, k.tile("8x16xf32", addr=1280))
    b = k.tile("8x16xf32", addr=1152)
    k.op("tadds", [b, k.number("1.0", "f32")], k.tile("8x16xf32", addr=1088))
    k.store(k.tile("12x16xf32", addr=1024), k.whole("y", 12, 16))

    def want(x: Array, y: Array) -> dict[str, Array]:
        memory = np.concatenate([x, np.zeros((4, 16), np.float32)])
        memory[4:12] = -memory[0:8].copy()
        memory[1:9] = memory[2:10].copy() + 1
        return {"y": memory}

    return Runs({"x": (8, 16), "y": (12, 16)}, want)


@kernel(x="*f32", y="*f32", z="*f32")
def two_pitches_from_one_byte(k: Writer) -> Runs:
    """Level 3: a column and a wider tile begin at one byte; only their first elements are the same."""
    wide, column = k.tile("16x8xf32", (16, 1), addr=0), k.tile("16x1xf32", addr=0, column=True)
    k.load(k.whole("x", 16, 8), k.tile("16x8xf32", addr=0))
    out = k.op("trowexpandsub", [wide, column], k.tile("16x8xf32", (16, 1), addr=1024))
    k.store(out, k.whole("y", 16, 1))
    k.store(k.op("trowmax", wide, column), k.whole("z", 16, 1))
    return Runs(
        {"x": (16, 8), "y": (16,), "z": (16,)},
        lambda x, y, z: {"y": x[:, 0] - x.reshape(-1)[:16], "z": x[:, 0]},
    )


@kernel(x="*f32", y="*f32", at="i32")
def run_time_address(k: Writer) -> Runs:
    """Level 3: an address that is known at run time only may be any tile's."""
    for row in range(4):
        k.load(k.part(k.view("x", 32, 16), (8 * row, 0), (8, 16)), k.tile("8x16xf32", addr=512 * row))
    where = k.arith("muli", k.cast(k.cast("%at"), "i64"), 512)
    type = "!pto.tile_buf<vec, 8x16xf32>"
    some = k.value(f"pto.alloc_tile addr = {where} : {type}", type)
    k.op("tneg", some, some)
    with k.loop(4) as row:
        here = k.arith("muli", k.cast(row, "i64"), 512)
        tile = k.value(f"pto.alloc_tile addr = {here} : {type}", type)
        k.store(tile, k.part(k.view("y", 32, 16), (k.arith("muli", row, 8), 0), (8, 16)))

    def want(x: Array, y: Array, at: int) -> dict[str, Array]:
        x[8 * at : 8 * at + 8] *= -1
        return {"y": x}

    return Runs({"x": (32, 16), "y": (32, 16)}, want, [{"at": at} for at in (0, 2, 3)])


@kernel(x="*f32", y="*f32", r="i32", c="i32")
def extracted(k: Writer) -> Runs:
    """textract and tinsert at run-time places."""
    row, column = k.cast("%r"), k.cast("%c")
    tile = k.load(k.whole("x", 16, 32), k.tile("16x32xf32"))
    part = k.op("textract", [tile, row, column], k.tile("4x8xf32", (3, 5)))
    k.op("tadd", [part, part], part)
    k.op("tinsert", [part, column, row], tile)
    k.store(tile, k.whole("y", 16, 32))

    def want(x: Array, y: Array, r: int, c: int) -> dict[str, Array]:
        part = 2 * x[r : r + 3, c : c + 5]
        x[c : c + 3, r : r + 5] = part
        return {"y": x}

    return Runs(
        {"x": (16, 32), "y": (16, 32)}, want, [{"r": r, "c": c} for r, c in ((0, 0), (3, 2), (12, 11))]
    )


@kernel(x="*f32", y="*i32", z="*bf16")
def memory_of_another_type(k: Writer) -> Runs:
    """The halves of floats, from the third on; and words that are written as bytes between two reads."""
    halves, words = "!pto.ptr<i16>", "!pto.ptr<i8>"
    moved = k.value(f"pto.addptr %x, {k.number(3)} : !pto.ptr<f32> -> !pto.ptr<f32>", "!pto.ptr<f32>")
    k.value(f"pto.castptr {moved} : !pto.ptr<f32> -> {halves}", halves, "%halves")
    x = k.load(k.part(k.view("halves", 8, 16), (0, 0), (8, 16)), k.tile("8x16xi16"))
    k.value(f"pto.castptr %z : !pto.ptr<bf16> -> {halves}", halves, "%bits")
    k.store(x, k.whole("bits", 8, 16))
    before = k.load(k.whole("y", 1, 16), k.tile("1x16xi32"))
    k.value(f"pto.castptr %y : !pto.ptr<i32> -> {words}", words, "%bytes")
    k.line(f"pto.store_scalar {k.number(77, 'i8')}, %bytes[{k.number(6)}] : {words}, i8")
    after = k.load(k.whole("y", 1, 16), k.tile("1x16xi32"))
    k.op("txor", [before, after, k.tile("1x16xi32")], before)
    k.line(
        f"pto.tprint ins({before} : {k.types[before]})"
    )  # a program that calls the kernel itself sees nothing
    k.store(before, k.part(k.view("y", 2, 16), (1, 0), (1, 16)))

    def want(x: Array, y: Array, z: Array) -> dict[str, Array]:
        old = y[:16].copy()
        y.view(np.int8)[6] = 77
        y[16:] = old ^ y[:16]
        return {"y": y, "z": x.view(np.int16)[6 : 6 + 128].view(z.dtype).reshape(8, 16)}

    return Runs({"x": (80,), "y": (32,), "z": (8, 16)}, want)


CASES = (
    memory_of_another_type, column_read_as_row, row_read_as_column, bits_of_floats, floats_made_of_bits, halves_of_floats,
    written_as_another_shape, windows, moving_window, overlapping_windows, windows_of_a_loop, shrinking_region,
    single_elements, an_element_of_what_was_loaded, one_address_many_tiles, overlapping_addresses, two_pitches_from_one_byte,
    run_time_address, extracted,
)  # fmt: skip
