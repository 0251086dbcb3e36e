"""Matrix products through lower-tiles: every pair of element types, start and bias, both orders of right, all edges."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, lowered, module, parsed, runnable, values

ACCUMULATOR = {"f32": "f32", "bf16": "f32", "f16": "f32", "i8": "i32"}
SHAPES = ((1, 1, 1), (7, 17, 5), (32, 64, 64), (3, 40, 33), (1, 64, 64), (20, 5, 0), (0, 4, 4), (9, 33, 2))
"""M, N, K."""

NZ, ZZ, ZN = ", blayout=col_major, slayout=row_major", ", slayout=row_major", ", slayout=col_major"
FORMS = ("plain", "acc", "bias")


def _kernel(elem: str, form: str, by_columns: bool, shape: tuple[int, int, int] = (32, 64, 64)) -> Text:
    """c = a b, twice that with `acc`, or with a row of d added; %r x %c is m x n here."""
    m, n, k = shape
    acc = ACCUMULATOR[elem]
    name = f"{elem}_{form}_{'columns' if by_columns else 'rows'}"
    text = Text(name, m, n, a=f"*{elem}", b=f"*{elem}", d=f"*{acc}", out=f"*{acc}", depth="i32")
    text.lines.append("%k = arith.index_cast %depth : i32 to index")
    left, right = ("%r", "%k"), ("%k", "%c")
    a_mat = text.tile(elem, m, k, left, "mat", NZ)
    b_mat = text.tile(elem, k, n, right, "mat", ZN if by_columns else NZ)
    a, b = text.tile(elem, m, k, left, "left", ZZ), text.tile(elem, k, n, right, "right", ZN)
    total = text.tile(acc, m, n, space="acc", layout=f"{NZ}, fractal=1024")
    text.load(text.part("a", *left), a_mat)
    text.load(text.part("b", *right, by_columns=by_columns), b_mat)
    text.op("pto.tmov", [a_mat], a)
    text.op("pto.tmov", [b_mat], b)
    if form == "bias":
        d_mat = text.tile(acc, 16, n, ("%c1", "%c"), "mat", NZ)
        bias = text.tile(acc, 1, n, ("%c1", "%c"), "bias")
        text.load(text.part("d", "%c1", "%c"), d_mat)
        text.op("pto.tmov", [d_mat], bias)
        text.op("pto.tmatmul.bias", [a, b, bias], total)
    else:
        text.op("pto.tmatmul", [a, b], total)
        if form == "acc":
            text.op("pto.tmatmul.acc", [total, a, b], total)
    text.store(total, text.part("out"))
    return text


CASES = tuple(product(ACCUMULATOR, FORMS, (False, True)))


def _expected(form: str, a: Any, b: Any, d: Any) -> Any:
    wide = np.int64 if a.dtype.kind == "i" else np.float64
    once = a.astype(wide) @ b.astype(wide)
    return once * (2 if form == "acc" else 1) + (d.astype(wide) if form == "bias" else 0)


def _factors(elem: str, shape: tuple[int, int], seed: int) -> Any:
    """Bytes take all their values: kernels that treat them as unsigned must get -128 right too."""
    if elem != "i8":
        return values(elem, shape, seed)
    return np.random.default_rng(seed).integers(-128, 127, shape, np.int8, endpoint=True)


@pytest.mark.parametrize(
    ("target", "level"),
    [
        (MACHINES[0], 1),
        (MACHINES[1], 2),
        (MACHINES[2], 1),
        (MACHINES[2], 2),
        (MACHINES[2], 0),
        *runnable("avx512+bf16", 2),
        *runnable("avx512+vnni", 1),
        *runnable("avx512+vnni", 2),
    ],
)
def test_products(target: str, level: int) -> None:
    cases = [case for i, case in enumerate(CASES) if level == 0 or i % 2 == (level + len(target)) % 2]
    text = module([_kernel(*case) for case in cases])
    pipeline = parse_pipeline(load_machine(target).pipelines[f"O{level}"], PASSES)
    library = Library(parsed(text), target, pipeline)
    reference = parsed(text)
    for (elem, form, by_columns), (m, n, k) in product(cases, SHAPES):
        a, b, d = _factors(elem, (m, k), 1), _factors(elem, (k, n), 2), values(ACCUMULATOR[elem], (1, n), 3)
        stored = np.ascontiguousarray(b.T) if by_columns else b
        got, interpreted = (np.zeros((m, n), NUMPY[ACCUMULATOR[elem]]) for _ in range(2))
        name = _kernel(elem, form, by_columns).name
        library.call(name, a, stored, d, got, k, m, n)
        run_kernel(
            reference,
            name,
            {"a": a, "b": stored, "d": d, "out": interpreted, "depth": k, "rows": m, "columns": n},
        )
        exact = 0 if elem == "i8" else 1
        for want in (_expected(form, a, b, d), interpreted):
            np.testing.assert_allclose(
                got.astype(np.float64),
                want.astype(np.float64),
                1e-5 * exact,
                1e-4 * exact,
                err_msg=f"{name} {m} {n} {k}",
            )


# ---------------------------------------------------------------- the form of the code

GEMM = """
  func.func @gemm(%a: !pto.ptr<ELEM>, %b: !pto.ptr<ELEM>, %c: !pto.ptr<f32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %av = pto.make_tensor_view %a, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<64x64xELEM>
    %bv = pto.make_tensor_view %b, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<64x64xELEM>
    %cv = pto.make_tensor_view %c, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<64x64xf32>
    %ap = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<64x64xELEM> -> !pto.partition_tensor_view<64x64xELEM>
    %bp = pto.partition_view %bv, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<64x64xELEM> -> !pto.partition_tensor_view<64x64xELEM>
    %cp = pto.partition_view %cv, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<64x64xf32> -> !pto.partition_tensor_view<64x64xf32>
    %am = pto.alloc_tile : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>
    %bm = pto.alloc_tile : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>
    %al = pto.alloc_tile : !pto.tile_buf<left, 64x64xELEM, slayout=row_major>
    %br = pto.alloc_tile : !pto.tile_buf<right, 64x64xELEM, slayout=col_major>
    %cc = pto.alloc_tile : !pto.tile_buf<acc, 64x64xf32, blayout=col_major, slayout=row_major, fractal=1024>
    pto.tload ins(%ap : !pto.partition_tensor_view<64x64xELEM>) outs(%am : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>)
    pto.tload ins(%bp : !pto.partition_tensor_view<64x64xELEM>) outs(%bm : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>)
    pto.tmov ins(%am : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>) outs(%al : !pto.tile_buf<left, 64x64xELEM, slayout=row_major>)
    pto.tmov ins(%bm : !pto.tile_buf<mat, 64x64xELEM, blayout=col_major, slayout=row_major>) outs(%br : !pto.tile_buf<right, 64x64xELEM, slayout=col_major>)
    pto.tmatmul ins(%al, %br : !pto.tile_buf<left, 64x64xELEM, slayout=row_major>, !pto.tile_buf<right, 64x64xELEM, slayout=col_major>) outs(%cc : !pto.tile_buf<acc, 64x64xf32, blayout=col_major, slayout=row_major, fractal=1024>)
    pto.tstore ins(%cc : !pto.tile_buf<acc, 64x64xf32, blayout=col_major, slayout=row_major, fractal=1024>) outs(%cp : !pto.partition_tensor_view<64x64xf32>)
    return
  }
"""  # fmt: skip


def _inner_loop(elem: str, target: str) -> list[Op]:
    """The ops of the first loop that carries sums: the one over k."""
    level = load_machine(target).pipelines["O2"].split(",canonicalize,leg")[0]
    made = lowered(
        "module {"
        + GEMM.replace("xf32", f"x{ACCUMULATOR[elem]}")
        .replace("<f32>", f"<{ACCUMULATOR[elem]}>")
        .replace("ELEM", elem)
        + "}",
        target,
        level,
    )
    loops = [op for op in made.walk() if op.name == "scf.for" and len(op.results) > 4]
    return list(loops[0].body)


@pytest.mark.parametrize(("target", "rows"), [("avx512", 8), ("avx2", 6), ("x86-64", 4)])
def test_the_inner_loop_is_loads_broadcasts_and_multiply_adds(target: str, rows: int) -> None:
    names = [op.name for op in _inner_loop("f32", target)]
    assert names.count("math.fma") == 2 * rows
    assert names.count("vector.load") == 2
    assert names.count("memref.load") == names.count("vector.broadcast") == rows
    assert not {name for name in names if name.startswith("vector.masked")}


def test_a_dot_instruction_takes_pairs() -> None:
    names = [op.name for op in _inner_loop("bf16", "avx512+bf16")]
    assert names.count("vector.dot") == 24
    assert "arith.extf" not in names


def test_bytes_are_multiplied_in_groups_of_four() -> None:
    """One flip of signs per row makes left unsigned; nothing else is done to the operands."""
    names = [op.name for op in _inner_loop("i8", "avx512+vnni")]
    assert names.count("vector.dot") == 24
    assert names.count("arith.xori") == 6
    assert "arith.extsi" not in names


def test_narrow_elements_are_widened_before_the_inner_loop() -> None:
    assert not [op for op in _inner_loop("bf16", "avx512") if op.name == "arith.extf"]
