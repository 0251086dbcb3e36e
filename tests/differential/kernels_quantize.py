"""Codes of integers and back: a scale and an offset per row, ties, NaN, what lies beyond the codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any


def _column(k: Writer, name: str, rows: int | str) -> str:
    return k.load(k.whole(name, rows, 1), k.tile("16x1xf32", (rows, 1), column=True))


def _codes(value: Array, low: int, high: int) -> Array:
    """To nearest, ties to even, in f32 as the op says."""
    return np.clip(np.rint(np.nan_to_num(value, nan=0.0, posinf=np.inf, neginf=-np.inf)), low, high)


def _quantizes(elem: str) -> Case:
    """Symmetric codes of i8, or codes of ui8 with an offset."""
    with_offset = elem == "ui8"

    def write(k: Writer) -> Runs:
        rows, columns = k.cast("%r"), k.cast("%c")
        valid = (rows, columns)
        x = k.load(k.whole("x", *valid), k.tile("16x64xf32", valid))
        x = k.op("tmuls", [x, k.number("3.2e+01", "f32")], x)
        sources = [x, _column(k, "s", rows), *([_column(k, "o", rows)] if with_offset else [])]
        target = k.tile(f"16x64x{elem}", valid)
        types = ", ".join(k.types[name] for name in sources)
        word = "INT8_ASYM" if with_offset else "INT8_SYM"
        k.line(
            f"pto.tquant ins({', '.join(sources)} : {types}) outs({target} : {k.types[target]}) "
            f"{{quant_type = #pto<quant_type {word}>}}"
        )
        k.store(target, k.whole("y", *valid))

        def want(x: Array, s: Array, o: Array, y: Array, r: int, c: int) -> dict[str, Array]:
            value = np.float32(32) * x.reshape(-1)[: r * c].reshape(r, c) * s[:r].reshape(r, 1)
            value = value + o[:r].reshape(r, 1) if with_offset else value
            y = y.copy()
            info = np.iinfo(y.dtype)
            y.reshape(-1)[: r * c] = _codes(value, info.min, info.max).astype(y.dtype).reshape(-1)
            return {"y": y}

        scalars = [{"r": r, "c": c} for r, c in ((16, 64), (1, 1), (7, 33), (0, 5))]
        return Runs({"x": (16, 64), "s": (16,), "o": (16,), "y": (16, 64)}, want, scalars, special=True)

    write.__name__ = f"quantizes_to_{elem}"
    return kernel(x="*f32", s="*f32", o="*f32", y=f"*{elem}", r="i32", c="i32")(write)


def _dequantizes(elem: str) -> Case:
    def write(k: Writer) -> Runs:
        x = k.load(k.whole("x", 13, 50), k.tile(f"16x64x{elem}", (13, 50)))
        tiles = [x, _column(k, "s", 13), _column(k, "o", 13)]
        k.store(k.op("tdequant", tiles, k.tile("16x64xf32", (13, 50))), k.whole("y", 13, 50))

        def want(x: Array, s: Array, o: Array, y: Array) -> dict[str, Array]:
            return {"y": (x.astype(np.float32) - o.reshape(-1, 1)) * s.reshape(-1, 1)}

        return Runs({"x": (13, 50), "s": (13,), "o": (13,), "y": (13, 50)}, want)

    write.__name__ = f"dequantizes_{elem}"
    return kernel(x=f"*{elem}", s="*f32", o="*f32", y="*f32")(write)


CASES = (_quantizes("i8"), _quantizes("ui8"), _dequantizes("i8"), _dequantizes("i16"))
