"""The vector kernels of a decoder layer, with the sizes of a small one: 20 rows, 128 wide, heads of 64."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.model.front import Front, model

Array = Any
Spec = tuple[dict[str, tuple[int, ...]], dict[str, Any], int, Any]

ROWS, WIDE, HEAD, STEP = 20, 128, 64, 8
EXACT = "rmode = #pto<round_mode ROUND>"
TO_BF16 = "rmode = #pto<round_mode RINT>, satmode = #pto<saturation_mode ON>"
BF16 = 2.0**-7
"""Two roundings to bf16, of eight bits each."""


def _inverse_norm(k: Front, squares: str, rows: str, address: int) -> str:
    """1 / sqrt(mean + eps) of each row: the sums are computed with as one row of numbers."""
    total = k.op(
        "trowsum",
        [squares, k.tile("8x128xf32", (rows, WIDE), addr=32768)],
        k.tile("8x1xf32", (rows, 1), addr=address, column=True),
    )
    line = k.lying(total, STEP)
    k.op("tmuls", [line, k.number(f"{1 / WIDE}", "f32")], line)
    k.op("tadds", [line, k.number("1.0e-06", "f32")], line)
    k.op("tsqrt", line, line)
    k.op("trecip", line, line)
    return k.standing(line, STEP, (rows, 1))


def _normal(x: Array, w: Array) -> Array:
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w.astype(np.float64)


@model(x="*bf16", w="*bf16", y="*bf16", n="i32", relative=BF16)
def rms_norm(k: Front) -> Spec:
    first, rows = k.rows_of_block(k.cast("%n"), STEP)
    valid = (rows, WIDE)
    weights = k.op(
        "tcvt",
        k.load(k.whole("w", 1, WIDE), k.tile("1x128xbf16", addr=0)),
        k.tile("1x128xf32", addr=512),
        EXACT,
    )
    narrow = k.load(
        k.part(k.view("x", k.cast("%n"), WIDE), (first, 0), valid), k.tile("8x128xbf16", valid, addr=1024)
    )
    x = k.op("tcvt", narrow, k.tile("8x128xf32", valid, addr=4096), EXACT)
    squares = k.op("tmul", [x, x], k.tile("8x128xf32", valid, addr=8192))
    scale = _inverse_norm(k, squares, rows, 12288)
    k.op("trowexpandmul", [x, scale], x)
    k.op("tcolexpandmul", [x, weights], x)
    out = k.op("tcvt", x, k.tile("8x128xbf16", valid, addr=1024), TO_BF16)
    k.store(out, k.part(k.view("y", k.cast("%n"), WIDE), (first, 0), valid))
    return (
        {"x": (ROWS, WIDE), "w": (1, WIDE), "y": (ROWS, WIDE)}, {"n": ROWS}, 3,
        lambda x, w, y, n: {"y": _normal(x, w)},
    )  # fmt: skip


@model(x="*f32", r="*bf16", w="*bf16", y="*bf16", n="i32", relative=BF16)
def post_norm(k: Front) -> Spec:
    """The residual is added in place, then normalised."""
    first, rows = k.rows_of_block(k.cast("%n"), STEP)
    valid = (rows, WIDE)
    weights = k.op(
        "tcvt",
        k.load(k.whole("w", 1, WIDE), k.tile("1x128xbf16", addr=0)),
        k.tile("1x128xf32", addr=512),
        EXACT,
    )
    window = k.part(k.view("x", k.cast("%n"), WIDE), (first, 0), valid)
    x = k.load(window, k.tile("8x128xf32", valid, addr=4096))
    residual = k.load(
        k.part(k.view("r", k.cast("%n"), WIDE), (first, 0), valid), k.tile("8x128xbf16", valid, addr=1024)
    )
    k.op("tadd", [x, k.op("tcvt", residual, k.tile("8x128xf32", valid, addr=8192), EXACT)], x)
    k.store(x, window)
    squares = k.op("tmul", [x, x], k.tile("8x128xf32", valid, addr=8192))
    k.op("trowexpandmul", [x, _inverse_norm(k, squares, rows, 12288)], x)
    k.op("tcolexpandmul", [x, weights], x)
    out = k.op("tcvt", x, k.tile("8x128xbf16", valid, addr=1024), TO_BF16)
    k.store(out, k.part(k.view("y", k.cast("%n"), WIDE), (first, 0), valid))

    def want(x: Array, r: Array, w: Array, y: Array, n: int) -> dict[str, Array]:
        total = x + r.astype(np.float32)
        return {"x": total, "y": _normal(total, w)}

    shapes = {"x": (ROWS, WIDE), "r": (ROWS, WIDE), "w": (1, WIDE), "y": (ROWS, WIDE)}
    return shapes, {"n": ROWS}, 3, want


@model(x="*f32", cos="*f32", sin="*f32", y="*f32", n="i32")
def rope(k: Front) -> Spec:
    """The halves of a head turn into each other."""
    first, rows = k.rows_of_block(k.cast("%n"), STEP)
    half = HEAD // 2
    valid = (rows, half)
    x, y = (k.view(name, k.cast("%n"), HEAD) for name in "xy")
    low, high = (
        k.load(k.part(x, (first, at), valid), k.tile("8x32xf32", valid, addr=32 * at)) for at in (0, half)
    )
    angles = [
        k.load(
            k.part(k.view(name, k.cast("%n"), half), (first, 0), valid),
            k.tile("8x32xf32", valid, addr=address),
        )
        for name, address in (("cos", 2048), ("sin", 3072))
    ]
    made = [k.tile("8x32xf32", valid, addr=4096 + 1024 * number) for number in range(2)]
    for op, (a, b), at in (("tsub", (low, high), 0), ("tadd", (high, low), half)):
        k.op("tmul", [a, angles[0]], made[0])
        k.op("tmul", [b, angles[1]], made[1])
        k.store(k.op(op, made, made[0]), k.part(y, (first, at), valid))

    def want(x: Array, cos: Array, sin: Array, y: Array, n: int) -> dict[str, Array]:
        low, high = x[:, :half], x[:, half:]
        return {"y": np.concatenate([low * cos - high * sin, high * cos + low * sin], 1)}

    return (
        {"x": (ROWS, HEAD), "cos": (ROWS, half), "sin": (ROWS, half), "y": (ROWS, HEAD)},
        {"n": ROWS},
        3,
        want,
    )


@model(s="*f32", p="*bf16", n="i32", length="i32", scale="f32", relative=BF16, absolute=1e-6)
def attention_softmax(k: Front) -> Spec:
    """Scores of as many positions as there are, of 96 at most; the sums are made of what was rounded."""
    first, rows = k.rows_of_block(k.cast("%n"), STEP)
    length = k.cast("%length")
    valid = (rows, length)
    s = k.load(k.part(k.view("s", k.cast("%n"), 96), (first, 0), valid), k.tile("8x96xf32", valid, addr=0))
    spare = k.tile("8x96xf32", valid, addr=8192)
    k.op("tmuls", [s, "%scale"], s)
    top = k.op("trowmax", [s, spare], k.tile("8x1xf32", (rows, 1), addr=4096, column=True))
    k.op("trowexpandsub", [s, top], s)
    k.op("texp", s, s)
    total = k.op("trowsum", [s, spare], k.tile("8x1xf32", (rows, 1), addr=4128, column=True))
    k.op("trowexpanddiv", [s, total], s)
    out = k.op("tcvt", s, k.tile("8x96xbf16", valid, addr=8192), TO_BF16)
    k.store(out, k.part(k.view("p", k.cast("%n"), 96), (first, 0), valid))

    def want(s: Array, p: Array, n: int, length: int, scale: float) -> dict[str, Array]:
        x = s[:, :length].astype(np.float64) * scale
        grown = np.exp(x - x.max(1, keepdims=True))
        made = p.astype(np.float64)
        made[:, :length] = grown / grown.sum(1, keepdims=True)
        return {"p": made}

    return {"s": (ROWS, 96), "p": (ROWS, 96)}, {"n": ROWS, "length": 77, "scale": 0.125}, 3, want


@model(s="*f32", pv="*f32", m="*f32", l="*f32", o="*f32", p="*f32", relative=2e-5)
def online_softmax(k: Front) -> Spec:
    """One step of attention over blocks: running maxima, sums and outputs, updated in place."""
    row = k.arith("muli", k.block, STEP)
    s = k.load(k.part(k.view("s", 16, 32), (row, 0), (STEP, 32)), k.tile("8x32xf32", addr=0))
    spare = k.tile("8x32xf32", addr=8192)
    lines = {name: k.part(k.view(name, 1, 16), (0, row), (1, STEP)) for name in "ml"}
    old = k.load(lines["m"], k.tile("1x8xf32", addr=1024))
    top = k.op("trowmax", [s, spare], k.tile("8x1xf32", addr=1056, column=True))
    top = k.op("tmax", [k.lying(top, STEP), old], k.tile("1x8xf32", addr=1056))
    k.op("trowexpandsub", [s, k.standing(top, STEP, (STEP, 1))], s)
    k.op("texp", s, s)
    k.op("tsub", [old, top], old)
    shrink = k.op("texp", old, old)
    total = k.lying(k.op("trowsum", [s, spare], k.tile("8x1xf32", addr=1088, column=True)), STEP)
    sums = k.load(lines["l"], k.tile("1x8xf32", addr=1120))
    k.op("tmul", [sums, shrink], sums)
    k.op("tadd", [sums, total], sums)
    k.store(top, lines["m"])
    k.store(sums, lines["l"])
    k.store(s, k.part(k.view("p", 16, 32), (row, 0), (STEP, 32)))
    outputs = k.part(k.view("o", 16, HEAD), (row, 0), (STEP, HEAD))
    o = k.load(outputs, k.tile("8x64xf32", addr=2048))
    k.op("trowexpandmul", [o, k.standing(shrink, STEP, (STEP, 1))], o)
    product = k.load(k.part(k.view("pv", 16, HEAD), (row, 0), (STEP, HEAD)), k.tile("8x64xf32", addr=4096))
    k.store(k.op("tadd", [o, product], o), outputs)

    def want(s: Array, pv: Array, m: Array, l: Array, o: Array, p: Array) -> dict[str, Array]:  # noqa: E741
        x, old = s.astype(np.float64), m.T.astype(np.float64)
        top = np.maximum(x.max(1, keepdims=True), old)
        grown, shrink = np.exp(x - top), np.exp(old - top)
        return {
            "m": top.T, "p": grown, "l": (l.T * shrink + grown.sum(1, keepdims=True)).T, "o": o * shrink + pv,
        }  # fmt: skip

    shapes = {"s": (16, 32), "pv": (16, HEAD), "m": (1, 16), "l": (1, 16), "o": (16, HEAD), "p": (16, 32)}
    return shapes, {}, 2, want


@model(g="*f32", u="*f32", y="*bf16", n="i32", relative=BF16, absolute=1e-6)
def silu_gate(k: Front) -> Spec:
    """g * sigmoid(g) * u by the ops that the front end breaks it into."""
    first, rows = k.rows_of_block(k.cast("%n"), STEP)
    valid = (rows, WIDE)
    g, u = (
        k.load(
            k.part(k.view(name, k.cast("%n"), WIDE), (first, 0), valid),
            k.tile("8x128xf32", valid, addr=address),
        )
        for name, address in (("g", 0), ("u", 4096))
    )
    gate = k.op("tneg", g, k.tile("8x128xf32", valid, addr=8192))
    k.op("texp", gate, gate)
    k.op("tadds", [gate, k.number("1.0", "f32")], gate)
    k.op("trecip", gate, gate)
    k.op("tmul", [g, gate], g)
    k.op("tmul", [g, u], g)
    out = k.op("tcvt", g, k.tile("8x128xbf16", valid, addr=8192), TO_BF16)
    k.store(out, k.part(k.view("y", k.cast("%n"), WIDE), (first, 0), valid))

    def want(g: Array, u: Array, y: Array, n: int) -> dict[str, Array]:
        wide = g.astype(np.float64)
        return {"y": wide / (1 + np.exp(-wide)) * u}

    return {"g": (ROWS, WIDE), "u": (ROWS, WIDE), "y": (ROWS, WIDE)}, {"n": ROWS}, 3, want


def _take_apart(k: Front, pairs: str, pattern: str) -> str:
    out = k.tile("1x32xf32", addr=8192 if pattern == "P0101" else 8320)
    types = k.types[pairs], k.types[out]
    k.line(
        f"pto.tgather ins({pairs}, {{maskPattern = #pto.mask_pattern<{pattern}>}} : {types[0]}) outs({out} : {types[1]})"
    )
    return out


@model(x="*f32", v="*f32", i="*i32", relative=0, absolute=0)
def top_k(k: Front) -> Spec:
    """The 32 largest of 256 per block: sorted by 32, merged by four and by two, then values and numbers apart."""
    keys = k.load(k.part(k.view("x", 3, 256), (k.block, 0), (1, 256)), k.tile("1x256xf32", addr=0))
    numbers = k.op("tci", [k.number(0, "ui32")], k.tile("1x256xui32", addr=1024))
    pairs = k.op("tsort32", [keys, numbers], k.tile("1x512xf32", addr=2048))
    merged = k.op("tmrgsort", [pairs, k.number(64, "i32")], k.tile("1x512xf32", addr=4096))
    halves = [k.window(merged, 0, at, "1x256xf32") for at in (0, 256)]
    counts = k.value("arith.constant dense<0> : vector<4xi16>", "vector<4xi16>")
    result, spare = k.tile("1x512xf32", addr=6144), k.tile("1x512xf32", addr=2048)
    names, types = ", ".join([*halves, spare]), ", ".join(k.types[tile] for tile in (*halves, spare))
    k.line(
        f"pto.tmrgsort ins({names} {{exhausted = false}} : {types}) "
        f"outs({result}, {counts} : {k.types[result]}, vector<4xi16>)"
    )
    top = k.window(result, 0, 0, "1x64xf32")
    k.store(_take_apart(k, top, "P0101"), k.part(k.view("v", 3, 32), (k.block, 0), (1, 32)))
    found, whole = _take_apart(k, top, "P1010"), "!pto.tile_buf<vec, 1x32xi32>"
    numbers = k.value(f"pto.bitcast {found} : {k.types[found]} -> {whole}", whole)
    k.store(numbers, k.part(k.view("i", 3, 32), (k.block, 0), (1, 32)))

    def want(x: Array, v: Array, i: Array) -> dict[str, Array]:
        order = np.argsort(-x, axis=1, kind="stable")[:, :32]
        return {"v": np.take_along_axis(x, order, 1), "i": order}

    return {"x": (3, 256), "v": (3, 32), "i": (3, 32)}, {}, 3, want


MODELS = (rms_norm, post_norm, rope, attention_softmax, online_softmax, silu_gate, top_k)
