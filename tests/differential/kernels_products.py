"""Products with odd extents, accumulators used more than once, operands that the kernel computes, and biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Index, Writer

Array = Any


def _load(
    k: Writer, part: str, shape: str, valid: Sequence[Index], space: str, addr: tuple[int, int] | None = None
) -> str:
    """Global memory -> mat -> left or right."""
    rough, fine = addr or (None, None)
    stage = k.load(part, k.tile(shape, valid, space="mat", addr=rough))
    return k.op("tmov", stage, k.tile(shape, valid, space=space, addr=fine))


def _extents(m: int, n: int, k_: int) -> Case:
    def write(k: Writer) -> Runs:
        a = _load(k, k.whole("a", m, k_), "48x48xf32", (m, k_), "left")
        b = _load(k, k.whole("b", k_, n), "48x48xf32", (k_, n), "right")
        c = k.product(a, b, k.tile("48x48xf32", (m, n), space="acc"))
        k.store(c, k.whole("c", m, n))
        return Runs(
            {"a": (m, k_), "b": (k_, n), "c": (m, n)},
            lambda a, b, c: {"c": a.astype(float) @ b.astype(float)},
        )

    write.__name__ = f"product_{m}_{n}_{k_}"
    return kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)(write)


EXTENTS = tuple(
    _extents(*extents)
    for extents in (
        (1, 1, 1),
        (1, 37, 5),
        (5, 1, 37),
        (7, 17, 1),
        (13, 33, 17),
        (48, 48, 48),
        (6, 16, 7),
        (47, 31, 3),
    )
)


@kernel(a="*f32", b="*f32", c="*f32", m="i32", n="i32", k="i32", ulps=16, absolute=3e-5)
def any_product(k: Writer) -> Runs:
    """Run-time extents, 0 among them; a sum over nothing is 0."""
    rows, columns, inner = (k.cast(f"%{name}") for name in "mnk")
    a = _load(k, k.whole("a", rows, inner), "16x32xf32", (rows, inner), "left")
    b = _load(k, k.whole("b", inner, columns), "32x32xf32", (inner, columns), "right")
    c = k.product(a, b, k.tile("16x32xf32", (rows, columns), space="acc"))
    k.store(c, k.whole("c", rows, columns))

    def want(a: Array, b: Array, c: Array, m: int, n: int, k: int) -> dict[str, Array]:
        left, right = (
            x.reshape(-1)[: r * s].reshape(r, s).astype(float) for x, r, s in ((a, m, k), (b, k, n))
        )
        c.reshape(-1)[: m * n] = (left @ right).reshape(-1)
        return {"c": c}

    scalars = [{"m": m, "n": n, "k": i} for m in (0, 1, 13) for n in (0, 1, 29) for i in (0, 1, 31)]
    return Runs({"a": (16, 32), "b": (32, 32), "c": (16, 32)}, want, scalars)


def _blocked(name: str, first: str, addressed: bool) -> Case:
    """k in blocks of 16 with a tail; the first trip is a branch, peeled, or a start from zeros."""

    def write(k: Writer) -> Runs:
        m, n, inner = 21, 37, 53
        a, b = k.view("a", m, inner), k.view("b", inner, n)
        shape = "32x48xf32"
        acc = k.tile(shape, (m, n), space="acc", addr=0 if addressed else None)

        def factors(at: Index, width: Index) -> tuple[str, str]:
            places = ((0, 0), (16384, 0)) if addressed else (None, None)
            left = _load(k, k.part(a, (0, at), (m, width)), "32x16xf32", (m, width), "left", places[0])
            right = _load(k, k.part(b, (at, 0), (width, n)), "16x48xf32", (width, n), "right", places[1])
            return left, right

        if first == "peeled":
            k.product(*factors(0, 16), acc)
        with k.loop(inner, 16, 16 if first == "peeled" else 0) as at:
            width = k.arith("minsi", k.arith("subi", k.number(inner), at), 16)
            left, right = factors(at, width)
            if first == "peeled":
                k.product(left, right, acc, start=acc)
            else:
                with k.nested(f"scf.if {k.arith('cmpi eq,', at, 0)}"):
                    k.product(left, right, acc)
                    k.otherwise()
                    k.product(left, right, acc, start=acc)
        out = k.op("tmov", acc, k.tile(shape, (m, n), addr=0 if addressed else None))
        k.store(k.op("tmaxs", [out, k.number("0.0", "f32")], out), k.whole("c", m, n))
        return Runs(
            {"a": (m, inner), "b": (inner, n), "c": (m, n)},
            lambda a, b, c: {"c": np.maximum(a.astype(float) @ b.astype(float), 0)},
        )

    write.__name__ = name
    return kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)(write)


BLOCKED = tuple(
    _blocked(f"blocks_{first}_{'placed' if addressed else 'free'}", first, addressed)
    for first in ("branch", "peeled")
    for addressed in (False, True)
)


@kernel(a="*f32", b="*f32", c="*f32", d="*f32", ulps=16, absolute=3e-5)
def accumulator_used_twice(k: Writer) -> Runs:
    """The product is stored, doubled by a second product on top, and stored again."""
    a = _load(k, k.whole("a", 5, 17), "16x32xf32", (5, 17), "left")
    b = _load(k, k.whole("b", 17, 9), "32x16xf32", (17, 9), "right")
    acc = k.product(a, b, k.tile("16x16xf32", (5, 9), space="acc"))
    k.store(acc, k.whole("c", 5, 9))
    k.store(k.product(a, b, acc, start=acc), k.whole("d", 5, 9))

    def want(a: Array, b: Array, c: Array, d: Array) -> dict[str, Array]:
        product = a.astype(float) @ b.astype(float)
        return {"c": product, "d": 2 * product}

    return Runs({"a": (5, 17), "b": (17, 9), "c": (5, 9), "d": (5, 9)}, want)


@kernel(a="*f32", b="*f32", c="*f32", d="*f32", ulps=16, absolute=3e-5)
def start_of_another(k: Writer) -> Runs:
    """acc_in and dst are two accumulators, and the start is read again afterwards."""
    a = _load(k, k.whole("a", 16, 8), "16x8xf32", (16, 8), "left")
    b = _load(k, k.whole("b", 8, 16), "16x16xf32", (8, 16), "right")
    first = k.product(a, b, k.tile("16x16xf32", space="acc"))
    second = k.product(a, b, k.tile("16x16xf32", space="acc"), start=first)
    k.store(second, k.whole("c", 16, 16))
    k.store(first, k.whole("d", 16, 16))

    def want(a: Array, b: Array, c: Array, d: Array) -> dict[str, Array]:
        product = a.astype(float) @ b.astype(float)
        return {"c": 2 * product, "d": product}

    return Runs({"a": (16, 8), "b": (8, 16), "c": (16, 16), "d": (16, 16)}, want)


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def computed_right(k: Writer) -> Runs:
    """exp(b) by way of vec and mat; a row of it is needed again as a vector."""
    plain = k.load(k.whole("b", 13, 19), k.tile("16x24xf32", (13, 19)))
    k.op("tmuls", [k.op("tabs", plain, plain), k.number("0.5", "f32")], plain)
    stage = k.op("tmov", plain, k.tile("16x32xf32", (13, 19), space="mat"))
    right = k.op("tmov", stage, k.tile("16x32xf32", (13, 19), space="right"))
    a = _load(k, k.whole("a", 7, 13), "16x16xf32", (7, 13), "left")
    out = k.op(
        "tmov", k.product(a, right, k.tile("16x32xf32", (7, 19), space="acc")), k.tile("8x24xf32", (7, 19))
    )
    k.store(k.op("tcolexpandadd", [out, plain], out), k.whole("c", 7, 19))

    def want(a: Array, b: Array, c: Array) -> dict[str, Array]:
        right = np.abs(b.astype(float)) / 2
        return {"c": a.astype(float) @ right + right[0]}

    return Runs({"a": (7, 13), "b": (13, 19), "c": (7, 19)}, want)


@kernel(a="*f32", b="*f32", c="*f32", ulps=64, absolute=1e-4)
def product_of_products(k: Writer) -> Runs:
    """The result of one product is the left operand of the next: (a b) b."""
    a = _load(k, k.whole("a", 9, 16), "16x16xf32", (9, 16), "left")
    b = _load(k, k.whole("b", 16, 16), "16x16xf32", (16, 16), "right")
    acc = k.product(a, b, k.tile("16x16xf32", (9, 16), space="acc"))
    stage = k.op("tmov", acc, k.tile("16x16xf32", (9, 16), space="mat"))
    again = k.op("tmov", stage, k.tile("16x16xf32", (9, 16), space="left"))
    k.store(k.product(again, b, acc), k.whole("c", 9, 16))
    return Runs(
        {"a": (9, 16), "b": (16, 16), "c": (9, 16)},
        lambda a, b, c: {"c": a.astype(float) @ b.astype(float) @ b.astype(float)},
    )


@kernel(a="*f32", b="*f32", v="*f32", c="*f32", ulps=16, absolute=3e-5)
def biased(k: Writer) -> Runs:
    a = _load(k, k.whole("a", 6, 11), "16x16xf32", (6, 11), "left")
    b = _load(k, k.whole("b", 11, 21), "16x32xf32", (11, 21), "right")
    stage = k.load(k.whole("v", 1, 21), k.tile("16x32xf32", (1, 21), space="mat"))
    bias = k.op("tmov", stage, k.tile("1x32xf32", (1, 21), space="bias"))
    k.store(k.product(a, b, k.tile("16x32xf32", (6, 21), space="acc"), bias=bias), k.whole("c", 6, 21))
    return Runs(
        {"a": (6, 11), "b": (11, 21), "v": (21,), "c": (6, 21)},
        lambda a, b, v, c: {"c": a.astype(float) @ b.astype(float) + v},
    )


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def transposed_right(k: Writer) -> Runs:
    """b is stored by columns: the load transposes."""
    a = _load(k, k.whole("a", 9, 20), "16x32xf32", (9, 20), "left")
    source = k.part(k.view("b", 20, 33, strides=(1, 20), layout="dn"), (0, 0), (20, 33))
    b = _load(k, source, "32x48xf32", (20, 33), "right")
    k.store(k.product(a, b, k.tile("16x48xf32", (9, 33), space="acc")), k.whole("c", 9, 33))
    return Runs(
        {"a": (9, 20), "b": (33, 20), "c": (9, 33)},
        lambda a, b, c: {"c": a.astype(float) @ b.T.astype(float)},
    )


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def transposed_left_and_out(k: Writer) -> Runs:
    source = k.part(k.view("a", 9, 20, strides=(1, 9), layout="dn"), (0, 0), (9, 20))
    a = _load(k, source, "16x32xf32", (9, 20), "left")
    b = _load(k, k.whole("b", 20, 17), "32x32xf32", (20, 17), "right")
    target = k.part(k.view("c", 9, 17, strides=(1, 9), layout="dn"), (0, 0), (9, 17))
    k.store(k.product(a, b, k.tile("16x32xf32", (9, 17), space="acc")), target)
    return Runs(
        {"a": (20, 9), "b": (20, 17), "c": (17, 9)},
        lambda a, b, c: {"c": (a.T.astype(float) @ b.astype(float)).T},
    )


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def windows_of_stages(k: Writer) -> Runs:
    """textract takes left and right out of larger mat tiles, block by block."""
    stage_a = k.load(k.whole("a", 16, 48), k.tile("16x48xf32", space="mat"))
    stage_b = k.load(k.whole("b", 48, 32), k.tile("48x32xf32", space="mat"))
    acc = k.tile("16x32xf32", space="acc")
    with k.loop(48, 16) as at:
        left = k.op("textract", [stage_a, k.index(0), at], k.tile("16x16xf32", space="left"))
        right = k.op("textract", [stage_b, at, k.index(0)], k.tile("16x32xf32", space="right"))
        with k.nested(f"scf.if {k.arith('cmpi eq,', at, 0)}"):
            k.product(left, right, acc)
            k.otherwise()
            k.product(left, right, acc, start=acc)
    k.store(acc, k.whole("c", 16, 32))
    return Runs(
        {"a": (16, 48), "b": (48, 32), "c": (16, 32)},
        lambda a, b, c: {"c": a.astype(float) @ b.astype(float)},
    )


@kernel(a="*i8", b="*i8", c="*i32")
def bytes_product(k: Writer) -> Runs:
    a = k.op(
        "tmov",
        k.load(k.whole("a", 9, 45), k.tile("16x64xi8", (9, 45), space="mat")),
        k.tile("16x64xi8", (9, 45), space="left"),
    )
    b = k.op(
        "tmov",
        k.load(k.whole("b", 45, 19), k.tile("64x32xi8", (45, 19), space="mat")),
        k.tile("64x32xi8", (45, 19), space="right"),
    )
    k.store(k.product(a, b, k.tile("16x32xi32", (9, 19), space="acc")), k.whole("c", 9, 19))
    return Runs(
        {"a": (9, 45), "b": (45, 19), "c": (9, 19)},
        lambda a, b, c: {"c": a.astype(np.int32) @ b.astype(np.int32)},
    )


def _narrow(elem: str, out: str) -> Case:
    def write(k: Writer) -> Runs:
        a = _load(k, k.whole("a", 11, 29), f"16x32x{elem}", (11, 29), "left")
        b = _load(k, k.whole("b", 29, 35), f"32x48x{elem}", (29, 35), "right")
        k.store(k.product(a, b, k.tile("16x48xf32", (11, 35), space="acc")), k.whole("c", 11, 35))
        return Runs(
            {"a": (11, 29), "b": (29, 35), "c": (11, 35)},
            lambda a, b, c: {"c": a.astype(float) @ b.astype(float)},
        )

    write.__name__ = f"product_{elem}_{out}"
    return kernel(a=f"*{elem}", b=f"*{elem}", c=f"*{out}", ulps=1.01 if out != "f32" else 16, absolute=3e-5)(
        write
    )


NARROW = (_narrow("bf16", "f32"), _narrow("f16", "f32"), _narrow("bf16", "bf16"), _narrow("f16", "f16"))


@kernel(a="*f32", b="*f32", c="*f32", n="i32", ulps=64, absolute=1e-3)
def power_of_a_matrix(k: Writer) -> Runs:
    """A product in a loop whose left operand is the result of the trip before."""
    b = _load(k, k.whole("b", 16, 16), "16x16xf32", (16, 16), "right")
    stage = k.load(k.whole("a", 3, 16), k.tile("16x16xf32", (3, 16), space="mat"))
    with k.loop(k.cast("%n")):
        left = k.op("tmov", stage, k.tile("16x16xf32", (3, 16), space="left"))
        acc = k.product(left, b, k.tile("16x16xf32", (3, 16), space="acc"))
        k.op("tmov", acc, stage)
    left = k.op("tmov", stage, k.tile("16x16xf32", (3, 16), space="left"))
    k.store(k.product(left, b, k.tile("16x16xf32", (3, 16), space="acc")), k.whole("c", 3, 16))

    def want(a: Array, b: Array, c: Array, n: int) -> dict[str, Array]:
        found = a.astype(float)
        for _ in range(n + 1):
            found = found @ b.astype(float)
        return {"c": found}

    return Runs({"a": (3, 16), "b": (16, 16), "c": (3, 16)}, want, [{"n": n} for n in (0, 1, 2)])


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def product_in_place(k: Writer) -> Runs:
    """c += a b where c is read first."""
    a = _load(k, k.whole("a", 6, 9), "16x16xf32", (6, 9), "left")
    b = _load(k, k.whole("b", 9, 40), "16x48xf32", (9, 40), "right")
    old = k.load(k.whole("c", 6, 40), k.tile("8x40xf32", (6, 40)))
    out = k.op(
        "tmov", k.product(a, b, k.tile("16x48xf32", (6, 40), space="acc")), k.tile("8x40xf32", (6, 40))
    )
    k.store(k.op("tadd", [out, old], out), k.whole("c", 6, 40))
    return Runs(
        {"a": (6, 9), "b": (9, 40), "c": (6, 40)},
        lambda a, b, c: {"c": a.astype(float) @ b.astype(float) + c},
    )


@kernel(a="*f32", b="*f32", c="*f32", ulps=16, absolute=3e-5)
def sum_left_in_memory(k: Writer) -> Runs:
    """The partial product goes to global memory and back between the blocks of k."""
    with k.loop(33, 16) as at:
        width = k.arith("minsi", k.arith("subi", k.number(33), at), 16)
        a = _load(k, k.part(k.view("a", 6, 33), (0, at), (6, width)), "16x16xf32", (6, width), "left")
        b = _load(k, k.part(k.view("b", 33, 24), (at, 0), (width, 24)), "16x32xf32", (width, 24), "right")
        out = k.op(
            "tmov", k.product(a, b, k.tile("16x32xf32", (6, 24), space="acc")), k.tile("8x24xf32", (6, 24))
        )
        with k.nested(f"scf.if {k.arith('cmpi sgt,', at, 0)}"):
            k.op("tadd", [out, k.load(k.whole("c", 6, 24), k.tile("8x24xf32", (6, 24)))], out)
        k.store(out, k.whole("c", 6, 24))
    return Runs(
        {"a": (6, 33), "b": (33, 24), "c": (6, 24)}, lambda a, b, c: {"c": a.astype(float) @ b.astype(float)}
    )


@kernel(a="*bf16", b="*bf16", d="*f32", c="*f32", ulps=16, absolute=3e-5)
def one_row_three_ways(k: Writer) -> Runs:
    """tgemv, from what is there, and with a bias."""
    a = _load(k, k.whole("a", 1, 33), "1x48xbf16", (1, 33), "left")
    b = _load(k, k.whole("b", 33, 24), "48x32xbf16", (33, 24), "right")
    stage = k.load(k.whole("d", 1, 24), k.tile("16x32xf32", (1, 24), space="mat"))
    bias = k.op("tmov", stage, k.tile("1x32xf32", (1, 24), space="bias"))
    plain, twice, biased_ = (k.tile("1x32xf32", (1, 24), space="acc") for _ in range(3))
    k.op("tgemv", [a, b], plain)
    k.op("tgemv.acc", [k.op("tgemv", [a, b], twice), a, b], twice)
    k.op("tgemv.bias", [a, b, bias], biased_)
    view = k.view("c", 3, 24)
    for row, product in enumerate((plain, twice, biased_)):
        k.store(product, k.part(view, (row, 0), (1, 24)))

    def want(a: Array, b: Array, d: Array, c: Array) -> dict[str, Array]:
        once = a.astype(float) @ b.astype(float)
        return {"c": np.concatenate([once, 2 * once, once + d])}

    return Runs({"a": (1, 33), "b": (33, 24), "d": (1, 24), "c": (3, 24)}, want)


CASES = (
    *EXTENTS, any_product, *BLOCKED, accumulator_used_twice, start_of_another, computed_right, product_of_products,
    biased, transposed_right, transposed_left_and_out, windows_of_stages, bytes_product, *NARROW, power_of_a_matrix,
    product_in_place, sum_left_in_memory, one_row_three_ways,
)  # fmt: skip
