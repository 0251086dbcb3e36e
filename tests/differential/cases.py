"""Kernels of tests/files/odd: what they are given, and what NumPy says that they make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Arguments = list[Any]


@dataclass(frozen=True)
class Odd:
    """Arguments in the kernel's order; `expect` maps the place of an output to its values in f64 or integers."""

    arguments: Callable[[np.random.Generator], Arguments]
    expect: Callable[[Arguments], Mapping[int, Array]]
    grid: int = 1


def _normal(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def _rows(rows: int, columns: int, out: int) -> Callable[[np.random.Generator], Arguments]:
    return lambda random: [3 * _normal(random, rows, columns), _zeros(rows, out), rows]


def _log_sum_exp(arguments: Arguments) -> Mapping[int, Array]:
    x = arguments[0].astype(np.float64)
    top = x.max(axis=1, keepdims=True, initial=-1e30)
    return {1: top + np.log(np.exp(x - top).sum(axis=1, keepdims=True))}


def _bits(arguments: Arguments) -> Mapping[int, Array]:
    bits = arguments[0].view(np.int32)
    with np.errstate(all="ignore"):
        return {1: (bits + np.int32(2**31 - 1)) * bits}


def _window(arguments: Arguments) -> Mapping[int, Array]:
    x = arguments[0].astype(np.float64)
    y = x.copy()
    y[8:, 16:] += x[:8, :16]
    return {1: y}


def _shrunk(arguments: Arguments) -> Mapping[int, Array]:
    x, y, rows = arguments
    want = y.astype(np.float64)
    want[:rows, :17] = 2 * x[:rows, :17].astype(np.float64)
    return {1: want}


def _rank_three(arguments: Arguments) -> Mapping[int, Array]:
    want = arguments[0].astype(np.float64)
    want[2, 1:4] = 1 / want[2, 1:4]
    return {0: want}


CASES: Mapping[str, tuple[Odd, ...]] = MappingProxyType(
    {
        "transposed_load": (
            Odd(lambda r: [_normal(r, 7, 5), _zeros(5, 7)], lambda a: {1: np.exp(a[0].T.astype(np.float64))}),
        ),
        "log_sum_exp": tuple(Odd(_rows(rows, 64, 1), _log_sum_exp) for rows in (0, 1, 37)),
        "both_branches": tuple(
            Odd(
                lambda r, way=way: [_normal(r, 3, 17), _zeros(3, 17), way],  # type: ignore[misc]
                lambda a: {1: (2 if a[2] > 0 else -1) * a[0].astype(np.float64) ** 2},
            )
            for way in (1, -1)
        ),
        "store_then_load": (
            Odd(lambda r: [_normal(r, 8, 64)], lambda a: {0: 4 * a[0].astype(np.float64) ** 2}),
        ),
        "bits_of_floats": (Odd(lambda r: [_normal(r, 8, 32), np.zeros((8, 32), np.int32)], _bits),),
        "windows": (Odd(lambda r: [_normal(r, 16, 32), _zeros(16, 32)], _window),),
        "blocks": tuple(
            Odd(_rows(20, 64, 64), lambda a: {1: np.sqrt(np.abs(a[0].astype(np.float64)))}, grid)
            for grid in (1, 3, 7)
        ),
        "scan": tuple(
            Odd(
                lambda r, count=count: [_normal(r, count), _zeros(count), count],  # type: ignore[misc]
                lambda a: {1: np.cumsum(a[0], dtype=np.float64)},
            )
            for count in (0, 1, 9)
        ),
        "shrunk_region": tuple(
            Odd(lambda r, rows=rows: [_normal(r, 16, 32), _zeros(16, 32), rows], _shrunk)  # type: ignore[misc]
            for rows in (0, 5, 16)
        ),
        "product_twice": (
            Odd(
                lambda r: [_normal(r, 5, 17), _normal(r, 17, 9), _zeros(5, 9)],
                lambda a: {2: 2 * (a[0].astype(np.float64) @ a[1].astype(np.float64))},
            ),
        ),
        "column_maximum": tuple(
            Odd(_rows(rows, 17, 17), lambda a: {1: (a[0] - a[0].max(axis=0)).astype(np.float64)})
            for rows in (1, 7, 16)
        ),
        "rank_three": (Odd(lambda r: [_normal(r, 4, 5, 16)], _rank_three),),
    }
)
