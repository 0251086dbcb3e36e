"""Kernels of every element type: integers that wrap, narrow floats, conversions, NaN, infinities and signed zeros."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any


@kernel(x="*i8", y="*i8", z="*i8")
def bytes_wrap(k: Writer) -> Runs:
    a, b = (k.load(k.whole(name, 5, 33), k.tile("8x64xi8", (5, 33))) for name in "xy")
    c = k.op("tmul", [a, b], k.tile("8x64xi8", (5, 33)))
    k.op("tadd", [c, k.op("tneg", b, b)], c)
    k.op("tmax", [c, k.op("tabs", a, a)], c)
    k.store(c, k.whole("z", 5, 33))
    return Runs(
        {"x": (5, 33), "y": (5, 33), "z": (5, 33)},
        lambda x, y, z: {"z": np.maximum(x * y - y, np.abs(x))},
    )


@kernel(x="*ui16", y="*ui16")
def unsigned_words(k: Writer) -> Runs:
    a = k.load(k.whole("x", 4, 40), k.tile("4x48xui16", (4, 40)))
    b = k.op("tdivs", [a, k.number(7, "ui16")], k.tile("4x48xui16", (4, 40)))
    k.op("tsub", [b, a], b)
    k.op("tshrs", [b, k.number(3, "ui16")], b)
    k.op("tmin", [b, a], b)
    top = k.op("trowmax", b, k.tile("16x1xui16", (4, 1), column=True))
    k.store(k.op("trowexpandsub", [b, top], b), k.whole("y", 4, 40))

    def want(x: Array, y: Array) -> dict[str, Array]:
        b = np.minimum((x // 7 - x) >> 3, x)
        return {"y": b - b.max(1, keepdims=True)}

    return Runs({"x": (4, 40), "y": (4, 40)}, want)


@kernel(x="*i64", y="*i64", s="i64")
def long_integers(k: Writer) -> Runs:
    a = k.load(k.whole("x", 3, 5), k.tile("4x8xi64", (3, 5)))
    b = k.op("tmuls", [a, "%s"], k.tile("4x8xi64", (3, 5)))
    total = k.op("tcolsum", b, k.tile("1x8xi64", (1, 5)))
    low = k.op("trowmin", a, k.tile("4x1xi64", (3, 1), column=True))
    k.op("tcolexpandadd", [b, total], b)
    k.store(k.op("trowexpandmin", [b, low], b), k.whole("y", 3, 5))

    def want(x: Array, y: Array, s: int) -> dict[str, Array]:
        b = x * np.int64(s)
        return {"y": np.minimum(b + b.sum(0), x.min(1, keepdims=True))}

    return Runs({"x": (3, 5), "y": (3, 5)}, want, [{"s": s} for s in (-1, 3, 2**62 + 5)])


@kernel(x="*i32", y="*i32", z="*i32")
def quotients_and_shifts(k: Writer) -> Runs:
    """Divisors of 0 and -1, and amounts beyond the width."""
    a, b = (k.load(k.whole(name, 6, 16), k.tile("6x16xi32")) for name in "xy")
    amount = k.op("tands", [b, k.number(63, "i32")], k.tile("6x16xi32"))
    quotient = k.op(
        "tdiv", [a, k.op("tands", [b, k.number(-4, "i32")], k.tile("6x16xi32"))], k.tile("6x16xi32")
    )
    left = k.op("tshl", [a, amount], k.tile("6x16xi32"))
    right = k.op("tshr", [a, amount], amount)
    k.op("txor", [left, right], left)
    k.store(k.op("tadd", [left, quotient], left), k.whole("z", 6, 16))

    def want(x: Array, y: Array, z: Array) -> dict[str, Array]:
        wide, divisor, amount = x.astype(np.int64), (y & -4).astype(np.int64), (y & 63).astype(np.int64)
        quotient = np.where(divisor == 0, 0, np.trunc(wide / np.where(divisor == 0, 1, divisor))).astype(
            np.int64
        )
        left = np.where(amount > 31, 0, wide << np.minimum(amount, 31))
        right = wide >> np.minimum(amount, 31)
        return {"z": ((left ^ right) + quotient).astype(np.int32)}

    return Runs({"x": (6, 16), "y": (6, 16), "z": (6, 16)}, want)


@kernel(x="*i32", y="*i32")
def extremes_of_integers(k: Writer) -> Runs:
    """The least integer, its negation, magnitude and quotient by -1."""
    a = k.load(k.whole("x", 1, 16), k.tile("1x16xi32"))
    least = k.op("texpands", k.number(-(2**31), "i32"), k.tile("1x16xi32"))
    k.op("tmin", [k.op("tor", [a, least], a), least], least)
    b = k.op("tadd", [k.op("tneg", least, k.tile("1x16xi32")), k.op("tabs", least, k.tile("1x16xi32"))], a)
    k.store(k.op("tadd", [k.op("tdivs", [least, k.number(-1, "i32")], least), b], b), k.whole("y", 1, 16))
    return Runs({"x": (16,), "y": (16,)}, lambda x, y: {"y": np.full(16, -(2**31))})


@kernel(x="*bf16", w="*bf16", y="*bf16", ulps=1.01)
def bfloats(k: Writer) -> Runs:
    """Every op rounds to bf16, also within a chain."""
    a, b = (k.load(k.whole(name, 5, 48), k.tile("8x48xbf16", (5, 48))) for name in "xw")
    c = k.op("tmul", [a, b], k.tile("8x48xbf16", (5, 48)))
    k.op("tadd", [c, a], c)
    k.op("tsub", [c, b], c)
    k.store(k.op("tmul", [c, c], c), k.whole("y", 5, 48))
    return Runs(
        {"x": (5, 48), "w": (5, 48), "y": (5, 48)},
        lambda x, w, y: {"y": ((x * w + x) - w) * ((x * w + x) - w)},
    )


@kernel(x="*f16", y="*f16", ulps=1.01)
def halves(k: Writer) -> Runs:
    """Halves that overflow, underflow and round in a chain."""
    a = k.load(k.whole("x", 7, 32), k.tile("8x32xf16", (7, 32)))
    b = k.op("tmuls", [a, k.number("300.0", "f16")], k.tile("8x32xf16", (7, 32)))
    k.op("tmul", [b, a], b)
    k.op("tadd", [b, a], b)
    k.store(k.op("tdivs", [b, k.number("-3.0", "f16")], b), k.whole("y", 7, 32))
    return Runs(
        {"x": (7, 32), "y": (7, 32)},
        lambda x, y: {"y": ((x * np.float16(300)) * x + x) / np.float16(-3)},
        special=True,
    )


@kernel(x="*f16", y="*f32", ulps=8, absolute=1e-5)
def widened_sums(k: Writer) -> Runs:
    """f16 data, summed as f32: the rows of two element types run together."""
    a = k.load(k.whole("x", 6, 80), k.tile("8x80xf16", (6, 80)))
    wide = k.op("tcvt", a, k.tile("8x80xf32", (6, 80)), "rmode = #pto<round_mode ROUND>")
    total = k.op("trowsum", wide, k.tile("8x1xf32", (6, 1), column=True))
    k.op("tmuls", [total, k.number("0.0125", "f32")], total)
    k.store(k.op("trowexpandsub", [wide, total], wide), k.whole("y", 6, 80))
    return Runs(
        {"x": (6, 80), "y": (6, 80)},
        lambda x, y: {"y": x.astype(float) - x.astype(float).sum(1, keepdims=True) / 80},
    )


def _conversion(name: str, to: str, mode: str, saturate: str, want: Any, **options: float) -> Any:
    def write(k: Writer) -> Runs:
        tile = k.load(k.whole("x", 6, 40), k.tile("8x64xf32", (6, 40)))
        inside = f"rmode = #pto<round_mode {mode}>, satmode = #pto<saturation_mode {saturate}>"
        k.store(k.op("tcvt", tile, k.tile(f"8x64x{to}", (6, 40)), inside), k.whole("y", 6, 40))
        return Runs({"x": (6, 40), "y": (6, 40)}, lambda x, y: {"y": want(x)}, [{}, {}, {}], special=True)

    write.__name__ = name
    return kernel(x="*f32", y=f"*{to}", **options)(write)


def _clamped(round: Any, dtype: Any) -> Any:
    info = np.iinfo(dtype)
    return lambda x: np.clip(np.nan_to_num(round(x.astype(float)), nan=0.0), info.min, info.max)


def _half_up(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


to_i32 = _conversion("to_i32", "i32", "FLOOR", "ON", _clamped(np.floor, np.int32))
to_i16 = _conversion("to_i16", "i16", "ROUND", "ON", _clamped(_half_up, np.int16))
to_i8 = _conversion("to_i8", "i8", "CEIL", "ON", _clamped(np.ceil, np.int8))
to_ui8 = _conversion("to_ui8", "ui8", "RINT", "ON", _clamped(np.rint, np.uint8))
to_f16 = _conversion("to_f16", "f16", "RINT", "OFF", lambda x: x.astype(np.float16), ulps=0)
to_bf16 = _conversion("to_bf16", "bf16", "RINT", "OFF", lambda x: x.astype(ml_dtypes.bfloat16), ulps=0)
saturated_f16 = _conversion(
    "saturated_f16", "f16", "RINT", "ON",
    lambda x: np.where(np.isnan(x), x, np.clip(x, -65504, 65504)).astype(np.float16), ulps=0,
)  # fmt: skip


@kernel(x="*i32", y="*f32", ulps=0.5)
def integers_to_floats(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 4, 24), k.tile("4x24xi32"))
    k.store(k.op("tcvt", tile, k.tile("4x24xf32"), "rmode = #pto<round_mode RINT>"), k.whole("y", 4, 24))
    return Runs({"x": (4, 24), "y": (4, 24)}, lambda x, y: {"y": x.astype(np.float32)})


@kernel(x="*f32", w="*f32", y="*f32", z="*f32", ulps=0)
def edges(k: Writer) -> Runs:
    """A NaN wins every maximum and minimum, and +0 beats -0."""
    a, b = (k.load(k.whole(name, 6, 40), k.tile("8x40xf32", (6, 40))) for name in "xw")
    top, low = k.tile("8x40xf32", (6, 40)), k.tile("8x40xf32", (6, 40))
    k.store(k.op("tmax", [a, b], top), k.whole("y", 6, 40))
    k.store(k.op("tmin", [a, b], low), k.whole("z", 6, 40))
    return Runs(
        dict.fromkeys("xwyz", (6, 40)),
        lambda x, w, y, z: {"y": np.maximum(x, w), "z": np.minimum(x, w)},
        [{}, {}, {}],
        special=True,
    )


@kernel(x="*f32", y="*f32", z="*f32", ulps=0)
def edges_of_reductions(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 6, 3), k.tile("8x8xf32", (6, 3)))
    k.store(k.op("trowmax", tile, k.tile("8x1xf32", (6, 1), column=True)), k.whole("y", 6, 1))
    k.store(k.op("tcolmin", tile, k.tile("1x8xf32", (1, 3))), k.whole("z", 1, 3))
    return Runs(
        {"x": (6, 3), "y": (6,), "z": (3,)},
        lambda x, y, z: {"y": x.max(1), "z": x.min(0)},
        [{}, {}, {}, {}],
        special=True,
    )


@kernel(x="*f32", y="*f32", z="*f32", ulps=8)
def edges_of_functions(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 6, 40), k.tile("8x40xf32", (6, 40)))
    root = k.op("tsqrt", tile, k.tile("8x40xf32", (6, 40)))
    log = k.op("tlog", root, k.tile("8x40xf32", (6, 40)))
    k.store(k.op("trecip", log, log), k.whole("y", 6, 40))
    k.store(k.op("trelu", k.op("texp", k.op("tneg", tile, root), root), root), k.whole("z", 6, 40))

    def want(x: Array, y: Array, z: Array) -> dict[str, Array]:
        return {
            "y": 1 / np.log(np.sqrt(x)).astype(float),
            "z": np.exp(-x.astype(float)),
        }

    return Runs({"x": (6, 40), "y": (6, 40), "z": (6, 40)}, want, [{}, {}, {}], special=True)


def _small_floats(elem: str, dtype: Any) -> Case:
    """Stored, moved and read back; the clamped ones too, and what is no number."""

    def write(k: Writer) -> Runs:
        x = k.load(k.whole("x", 7, 50), k.tile("8x64xf32", (7, 50)))
        small = k.op("tcvt", x, k.tile(f"8x64x{elem}", (7, 50)), "rmode = #pto<round_mode RINT>")
        k.store(k.op("tmov", small, k.tile(f"8x64x{elem}", (7, 50))), k.whole("y", 7, 50))
        again = k.load(k.whole("w", 7, 50), k.tile(f"8x64x{elem}", (7, 50)))
        k.store(k.op("tcvt", again, k.tile("8x64xf32", (7, 50))), k.whole("z", 7, 50))

        def want(x: Array, y: Array, w: Array, z: Array) -> dict[str, Array]:
            largest = np.float32(ml_dtypes.finfo(dtype).max)
            return {"y": np.clip(x, -largest, largest).astype(dtype), "z": w.astype(np.float32)}

        return Runs({"x": (7, 50), "y": (7, 50), "w": (7, 50), "z": (7, 50)}, want, special=True)

    write.__name__ = f"small_floats_{elem.lower()}"
    return kernel(ulps=0, x="*f32", y=f"*{elem}", w=f"*{elem}", z="*f32")(write)


SMALL = (
    _small_floats("f8E4M3FN", ml_dtypes.float8_e4m3fn), _small_floats("f8E5M2", ml_dtypes.float8_e5m2),
)  # fmt: skip

CASES = (
    *SMALL,
    bytes_wrap, unsigned_words, long_integers, quotients_and_shifts, extremes_of_integers, bfloats, halves,
    widened_sums, to_i32, to_i16, to_i8, to_ui8, to_f16, to_bf16, saturated_f16, integers_to_floats, edges,
    edges_of_reductions, edges_of_functions,
)  # fmt: skip
