"""Attention as a cube and a vector function: scores there, weights back, values there, for one block of rows each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.differential.kernels_pairs import PipeOps
from tests.differential.writer import tile_type
from tests.model.front import GRID, Front, Model

Array = Any

ROWS, KEYS, WIDTH, BLOCK = 42, 160, 64, 64
"""Queries and keys are no multiples of the 16 rows of a grid's block and the 64 keys of a step."""

ARGUMENTS = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "o": "*f32"}
SLOT = 16 * BLOCK * 4


class FrontSide(PipeOps, Front):
    """One function of the pair in the front end's form."""


def _rows(k: FrontSide) -> tuple[str, str]:
    return k.rows_of_block(k.number(ROWS), 16)


def _keys(k: FrontSide, at: str) -> str:
    return k.arith("minsi", k.arith("subi", k.number(KEYS), at), BLOCK)


def _write_cube(k: FrontSide) -> None:
    """Scores of a block of keys, then the product of the weights that come back with the values."""
    k.open(3, SLOT, own="mat")
    k.open(1, SLOT, id=1)
    first, rows = _rows(k)
    queries = k.tile(f"16x{WIDTH}xbf16", (rows, WIDTH), space="left", addr=0)
    k.load(k.part(k.view("q", ROWS, WIDTH), (first, 0), (rows, WIDTH)), queries)
    turned = k.view("k", WIDTH, KEYS, strides=(1, WIDTH), layout="dn")
    with k.loop(KEYS, BLOCK) as at:
        count = _keys(k, at)
        right = k.tile(f"{WIDTH}x{BLOCK}xbf16", (WIDTH, count), space="right", addr=0)
        k.load(k.part(turned, (0, at), (WIDTH, count)), right)
        scores = k.tile(f"16x{BLOCK}xf32", (rows, count), space="acc", addr=0)
        k.push(k.product(queries, right, scores), split=1)
        weights = k.pop(
            tile_type(f"16x{BLOCK}xbf16", ("%n", "%n"), space="mat"), split=1, valid=(rows, count)
        )
        left = k.op("tmov", weights, k.tile(f"16x{BLOCK}xbf16", (rows, count), space="left", addr=4096))
        k.free(split=1)
        values = k.tile(f"{BLOCK}x{WIDTH}xbf16", (count, WIDTH), space="right", addr=16384)
        k.load(k.part(k.view("v", KEYS, WIDTH), (at, 0), (count, WIDTH)), values)
        part = k.tile(f"16x{WIDTH}xf32", (rows, WIDTH), space="acc", addr=8192)
        k.push(k.product(left, values, part), split=1, id=1)


def _column(k: FrontSide, rows: str, addr: int) -> str:
    return k.tile("8x1xf32", (rows, 1), addr=addr, column=True)


def _write_vector(k: FrontSide) -> None:
    """Online softmax over the blocks of keys; this core's 8 rows of the 16."""
    k.open(3, SLOT, own="vec", base=0)
    k.open(1, SLOT, id=1, own="vec", base=4 * SLOT)
    first, whole = _rows(k)
    lane = k.lane()
    start = k.arith("muli", lane, 8)
    rows = k.arith("minsi", k.arith("maxsi", k.arith("subi", whole, start), 0), 8)
    base = 16 * SLOT
    top, total = _column(k, rows, base), _column(k, rows, base + 64)
    out = k.tile(f"8x{WIDTH}xf32", (rows, WIDTH), addr=base + 4096)
    for tile, value in ((top, "-1.0e30"), (total, "0.0"), (out, "0.0")):
        k.line(f"pto.texpands ins({k.number(value, 'f32')} : f32) outs({tile} : {k.types[tile]})")
    with k.loop(KEYS, BLOCK) as at:
        _step(k, rows, _keys(k, at), (top, total, out), base)
    k.op("trowexpanddiv", (out, total), out)
    k.store(out, k.part(k.view("o", ROWS, WIDTH), (k.arith("addi", first, start), 0), (rows, WIDTH)))


def _step(k: FrontSide, rows: str, count: str, state: tuple[str, str, str], base: int) -> None:
    """One block of keys: new maximum, rescaled sums, and what the weights make of the values."""
    top, total, out = state
    scores = k.pop(tile_type(f"8x{BLOCK}xf32", ("%n", "%n")), split=1, valid=(rows, count))
    scaled = k.tile(f"8x{BLOCK}xf32", (rows, count), addr=base + 8192)
    k.op("tmuls", (scores, k.number("0.125", "f32")), scaled)
    k.free(split=1)
    spare = k.tile(f"8x{BLOCK}xf32", (rows, count), addr=base + 12288)
    best, grown, sums = (_column(k, rows, base + offset) for offset in (128, 192, 256))
    k.op("trowmax", (scaled, spare), best)
    k.op("tmax", (best, top), best)
    k.op("tsub", (top, best), grown)
    k.op("texp", grown, grown)
    k.op("trowexpandsub", (scaled, best), scaled)
    k.op("texp", scaled, scaled)
    k.op("trowsum", (scaled, spare), sums)
    k.op("tmul", (total, grown), total)
    k.op("tadd", (total, sums), total)
    k.op("tmov", best, top)
    narrow = k.tile(f"8x{BLOCK}xbf16", (rows, count), addr=base + 16384)
    k.push(k.op("tcvt", scaled, narrow, "rmode = #pto<round_mode ROUND>"), split=1)
    k.op("trowexpandmul", (out, grown), out)
    part = k.pop(tile_type(f"8x{WIDTH}xf32", ("%n", WIDTH)), split=1, id=1, valid=(rows,))
    k.op("tadd", (out, part), out)
    k.free(split=1, id=1)


def _attention(q: Array, k: Array, v: Array, o: Array) -> Mapping[str, Array]:
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"o": weights / weights.sum(axis=1, keepdims=True) @ v}


def _model() -> Model:
    cube = FrontSide("attention_cube", "cube", ARGUMENTS)
    vector = FrontSide("attention_vector", "vector", ARGUMENTS)
    _write_cube(cube)
    _write_vector(vector)
    return Model(
        "attention",
        {**ARGUMENTS, **dict.fromkeys(GRID, "i32")},
        f"{cube}{vector}",
        {"q": (ROWS, WIDTH), "k": (KEYS, WIDTH), "v": (KEYS, WIDTH), "o": (ROWS, WIDTH)},
        _attention,
        {},
        -(-ROWS // 16),
        2e-2,  # weights are rounded to bf16 before the second product
        2e-2,
    )


ATTENTION = _model()
