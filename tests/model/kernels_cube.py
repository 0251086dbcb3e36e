"""The matrix kernels of a decoder layer: projections, scores, values; k split in the forms that front ends print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.model.front import Front, Model, model

Array = Any
Spec = tuple[dict[str, tuple[int, ...]], dict[str, Any], int, Any]
Index = int | str

M, N, K, STEP = 32, 64, 128, 32
SUMS: dict[str, float] = {"relative": 1e-4, "absolute": 1e-4}
"""Sums of 128 products in f32, in another order than NumPy's."""


def _product(x: Array, w: Array) -> Array:
    return x.astype(np.float64) @ w.astype(np.float64)


def _stage(k: Front, part: str, rows: int, columns: int, valid: Sequence[Index], addr: int) -> str:
    return k.load(part, k.tile(f"{rows}x{columns}xbf16", valid, space="mat", addr=addr))


def _multiply(k: Front, left: str, right: str, total: str, start: str) -> None:
    """tmatmul in the first trip, tmatmul.acc in the others: by an scf.if."""
    with k.nested(f"scf.if {start}"):
        k.product(left, right, total)
        k.otherwise()
        k.product(left, right, total, start=total)


def _by_extracts(k: Front, a: str, b: str, total: str, rows: Index, k_: int, columns: int) -> str:
    """Whole operands in mat, slices of k extracted one by one."""
    left_stage = _stage(k, a, M, k_, (rows, k_), 0)
    right_stage = _stage(k, b, k_, columns, (k_, columns), 65536)
    with k.loop(k_, STEP) as at:
        left = k.op(
            "textract",
            [left_stage, k.index(0), at],
            k.tile(f"{M}x{STEP}xbf16", (rows, STEP), space="left", addr=0),
        )
        right = k.op(
            "textract", [right_stage, at, k.index(0)], k.tile(f"{STEP}x{columns}xbf16", space="right", addr=0)
        )
        _multiply(k, left, right, total, k.arith("cmpi eq,", at, 0))
    return total


def _by_loads(k: Front, a: Callable[[str], str], b: Callable[[str], str], total: str, rows: Index) -> str:
    """Each slice is loaded in its turn, and double-buffered by address."""
    with k.loop(K, STEP) as at:
        left = k.op(
            "tmov",
            _stage(k, a(at), M, STEP, (rows, STEP), 0),
            k.tile(f"{M}x{STEP}xbf16", (rows, STEP), space="left", addr=0),
        )
        right = k.op(
            "tmov",
            _stage(k, b(at), STEP, N, (STEP, N), 4096),
            k.tile(f"{STEP}x{N}xbf16", space="right", addr=0),
        )
        _multiply(k, left, right, total, k.arith("cmpi eq,", at, 0))
    return total


@model("cube", x="*bf16", w="*bf16", y="*f32", **SUMS)  # type: ignore[arg-type]
def q_projection(k: Front) -> Spec:
    """A block per 64 columns."""
    column = k.arith("muli", k.block, N)
    total = k.tile(f"{M}x{N}xf32", space="acc", addr=0)
    weights = k.part(k.view("w", K, 2 * N), (0, column), (K, N))
    _by_extracts(k, k.whole("x", M, K), weights, total, M, K, N)
    k.store(total, k.part(k.view("y", M, 2 * N), (0, column), (M, N)))
    return {"x": (M, K), "w": (K, 2 * N), "y": (M, 2 * N)}, {}, 2, lambda x, w, y: {"y": _product(x, w)}


def _rows_by_block(name: str) -> Model:
    def write(k: Front) -> Spec:
        """A block per 32 rows, the last of which are not all there."""
        count = k.cast("%n")
        first, rows = k.rows_of_block(count, M)
        total = k.tile(f"{M}x{N}xf32", (rows, N), space="acc", addr=0)
        x, w = k.view("x", count, K), k.view("w", K, N)
        _by_loads(
            k,
            lambda at: k.part(x, (first, at), (rows, STEP)),
            lambda at: k.part(w, (at, 0), (STEP, N)),
            total,
            rows,
        )
        k.store(total, k.part(k.view("y", count, N), (first, 0), (rows, N)))
        return (
            {"x": (45, K), "w": (K, N), "y": (45, N)},
            {"n": 45},
            2,
            lambda x, w, y, n: {"y": _product(x, w)},
        )

    write.__name__ = name
    return model("cube", x="*bf16", w="*bf16", y="*f32", n="i32", **SUMS)(write)  # type: ignore[arg-type]


gate_projection, up_projection = map(_rows_by_block, ("gate_projection", "up_projection"))


@model("cube", q="*bf16", kv="*bf16", s="*f32", length="i32", **SUMS)  # type: ignore[arg-type]
def scores(k: Front) -> Spec:
    """q k^T: the keys are loaded through a view that turns them; only as many as there are."""
    length = k.cast("%length")
    keys = k.part(k.view("kv", 64, 96, strides=(1, 64), layout="dn"), (0, 0), (64, length))
    query = k.op(
        "tmov",
        _stage(k, k.whole("q", M, 64), M, 64, (M, 64), 0),
        k.tile(f"{M}x64xbf16", space="left", addr=0),
    )
    stage = _stage(k, keys, 64, 96, (64, length), 8192)
    right = k.op("tmov", stage, k.tile("64x96xbf16", (64, length), space="right", addr=0))
    total = k.product(query, right, k.tile(f"{M}x96xf32", (M, length), space="acc", addr=0))
    k.store(total, k.part(k.view("s", M, 96), (0, 0), (M, length)))

    def want(q: Array, kv: Array, s: Array, length: int) -> dict[str, Array]:
        made = s.astype(np.float64)
        made[:, :length] = _product(q, kv[:length].T)
        return {"s": made}

    return {"q": (M, 64), "kv": (96, 64), "s": (M, 96)}, {"length": 77}, 1, want


@model("cube", p="*bf16", v="*bf16", o="*f32", length="i32", **SUMS)  # type: ignore[arg-type]
def values(k: Front) -> Spec:
    """p v over as many positions as there are: k is a number of the run."""
    length = k.cast("%length")
    left = _stage(k, k.part(k.view("p", M, 96), (0, 0), (M, length)), M, 96, (M, length), 0)
    right = _stage(k, k.part(k.view("v", 96, 64), (0, 0), (length, 64)), 96, 64, (length, 64), 8192)
    left = k.op("tmov", left, k.tile(f"{M}x96xbf16", (M, length), space="left", addr=0))
    right = k.op("tmov", right, k.tile("96x64xbf16", (length, 64), space="right", addr=0))
    total = k.product(left, right, k.tile(f"{M}x64xf32", space="acc", addr=0))
    k.store(total, k.whole("o", M, 64))
    return (
        {"p": (M, 96), "v": (96, 64), "o": (M, 64)}, {"length": 77}, 1,
        lambda p, v, o, length: {"o": _product(p[:, :length], v[:length])},
    )  # fmt: skip


@model("cube", x="*bf16", w="*bf16", r="*f32", **SUMS)  # type: ignore[arg-type]
def output_projection(k: Front) -> Spec:
    """The product goes to vector memory, where the residual is added."""
    total = k.tile(f"{M}x{N}xf32", space="acc", addr=0)
    _by_extracts(k, k.whole("x", M, K), k.whole("w", K, N), total, M, K, N)
    out = k.op("tmov", total, k.tile(f"{M}x{N}xf32", addr=0))
    residual = k.load(k.whole("r", M, N), k.tile(f"{M}x{N}xf32", addr=16384))
    k.store(k.op("tadd", [out, residual], out), k.whole("r", M, N))
    return {"x": (M, K), "w": (K, N), "r": (M, N)}, {}, 1, lambda x, w, r: {"r": _product(x, w) + r}


@model("cube", x="*bf16", w="*bf16", y="*f32", **SUMS)  # type: ignore[arg-type]
def down_projection(k: Front) -> Spec:
    """The first slice of k stands in front of the loop over the others."""
    total = k.tile(f"{M}x{N}xf32", space="acc", addr=0)
    x, w = k.view("x", M, K), k.view("w", K, N)

    def operands(at: Index) -> tuple[str, str]:
        left = _stage(k, k.part(x, (0, at), (M, STEP)), M, STEP, (M, STEP), 0)
        right = _stage(k, k.part(w, (at, 0), (STEP, N)), STEP, N, (STEP, N), 4096)
        return (
            k.op("tmov", left, k.tile(f"{M}x{STEP}xbf16", space="left", addr=0)),
            k.op("tmov", right, k.tile(f"{STEP}x{N}xbf16", space="right", addr=0)),
        )

    k.product(*operands(0), total)
    with k.loop(K, STEP, STEP) as at:
        k.product(*operands(at), total, start=total)
    k.store(total, k.whole("y", M, N))
    return {"x": (M, K), "w": (K, N), "y": (M, N)}, {}, 1, lambda x, w, y: {"y": _product(x, w)}


MODELS = (
    q_projection, gate_projection, up_projection, scores, values, output_projection, down_projection,
)  # fmt: skip
