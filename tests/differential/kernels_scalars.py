"""Scalar code of kernels: arithmetic, casts, pointers, questions to views and tiles, calls, synchronisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tests.differential.case import Case, Runs, kernel
from tests.differential.writer import Writer

Array = Any

_I32, _U32 = np.int32, np.uint32


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _quotient(a: int, b: int, up: int | None = None) -> int:
    """Toward zero; `up` 0 rounds down and 1 up. By zero it is 0."""
    if b == 0:
        return 0
    if up is not None:
        return -((-a) // b) if up else a // b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * _quotient(a, b)


def _unsigned(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: function(a % 2**32, b % 2**32)


_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b,
    "divsi": _quotient, "remsi": _remainder, "divui": _unsigned(_quotient), "remui": _unsigned(_remainder),
    "floordivsi": lambda a, b: _quotient(a, b, 0), "ceildivsi": lambda a, b: _quotient(a, b, 1),
    "ceildivui": _unsigned(lambda a, b: _quotient(a, b, 1)),
    "maxsi": max, "minsi": min, "maxui": _unsigned(max), "minui": _unsigned(min),
    "andi": lambda a, b: a & b, "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << (b & 7), "shrsi": lambda a, b: a >> (b & 7), "shrui": lambda a, b: a % 2**32 >> (b & 7),
}  # fmt: skip
_ORDERS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b, "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a % 2**32 < b % 2**32, "ule": lambda a, b: a % 2**32 <= b % 2**32,
    "ugt": lambda a, b: a % 2**32 > b % 2**32, "uge": lambda a, b: a % 2**32 >= b % 2**32,
}  # fmt: skip
_PAIRS = [
    (7, 3),
    (-7, 3),
    (7, -3),
    (5, 0),
    (0, 9),
    (-(2**31), -1),
    (-(2**31), 2**31 - 1),
    (2**31 - 1, 2**31 - 1),
]


def _put(k: Writer, pointer: str, place: int, value: str) -> None:
    """store_scalar to a fixed element."""
    types = k.types[f"%{pointer}"], k.types[value]
    k.line(f"pto.store_scalar {value}, %{pointer}[{k.index(place)}] : {types[0]}, {types[1]}")


@kernel(y="*i32", a="i32", b="i32")
def integer_scalars(k: Writer) -> Runs:
    few = k.arith("andi", "%b", 7)
    for place, op in enumerate(_INTEGERS):
        _put(k, "y", place, k.arith(op, "%a", few if op.startswith("sh") else "%b"))
    for place, order in enumerate(_ORDERS, len(_INTEGERS)):
        test = k.arith(f"cmpi {order},", "%a", "%b")
        _put(k, "y", place, k.value(f"arith.select {test}, %a, %b : i32", "i32"))

    def want(y: Array, a: int, b: int) -> dict[str, Array]:
        found = [_wrapped(function(a, b)) for function in _INTEGERS.values()]
        found += [a if order(a, b) else b for order in _ORDERS.values()]
        return {"y": np.array(found, _I32)}

    return Runs({"y": (len(_INTEGERS) + len(_ORDERS),)}, want, [{"a": a, "b": b} for a, b in _PAIRS])


_SMALLER = {"maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}
_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {
    "addf": lambda a, b: a + b, "subf": lambda a, b: a - b, "mulf": lambda a, b: a * b, "divf": lambda a, b: a / b, **_SMALLER
}  # fmt: skip
_FLOAT_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "oeq": lambda a, b: a == b, "une": lambda a, b: a != b, "olt": lambda a, b: a < b, "oge": lambda a, b: a >= b,
    "ord": lambda a, b: a == a and b == b, "uno": lambda a, b: not (a == a and b == b),
    "ugt": lambda a, b: not a <= b, "ule": lambda a, b: not a > b,
}  # fmt: skip


@kernel(ulps=0, y="*f32", a="f32", b="f32")
def float_scalars(k: Writer) -> Runs:
    for place, op in enumerate(_FLOATS):
        _put(k, "y", place, k.value(f"arith.{op} %a, %b : f32", "f32"))
    _put(k, "y", len(_FLOATS), k.value("arith.negf %a : f32", "f32"))
    for place, order in enumerate(_FLOAT_ORDERS, len(_FLOATS) + 1):
        test = k.value(f"arith.cmpf {order}, %a, %b : f32", "i1")
        flag = k.value(f"arith.extui {test} : i1 to i32", "i32")
        _put(k, "y", place, k.value(f"arith.sitofp {flag} : i32 to f32", "f32"))

    def want(y: Array, a: float, b: float) -> dict[str, Array]:
        x, z = np.float32(a), np.float32(b)
        found = [function(x, z) for function in _FLOATS.values()]
        return {
            "y": np.array([*found, -x, *(float(order(x, z)) for order in _FLOAT_ORDERS.values())], np.float32)
        }

    edges = [
        (1.5, -2.25),
        (3e38, 3e38),
        (0.0, 0.0),
        (1.0, np.inf),
        (np.inf, np.inf),
        (np.nan, 1.0),
        (2.0, np.nan),
    ]
    return Runs({"y": (len(_FLOATS) + 1 + len(_FLOAT_ORDERS),)}, want, [{"a": a, "b": b} for a, b in edges])


@kernel(y="*i64", z="*f32", n="i32", s="f32")
def casts(k: Writer) -> Runs:
    narrow = k.value("arith.trunci %n : i32 to i8", "i8")
    bits = k.value("arith.bitcast %s : f32 to i32", "i32")
    whole = k.value("arith.fptosi %s : f32 to i32", "i32")
    natural = k.value("arith.fptoui %s : f32 to i32", "i32")
    at = k.value("arith.index_castui %n : i32 to index", "index")
    found = [
        k.value("arith.extsi %n : i32 to i64", "i64"), k.value("arith.extui %n : i32 to i64", "i64"),
        k.value(f"arith.extsi {narrow} : i8 to i64", "i64"), k.value(f"arith.extui {narrow} : i8 to i64", "i64"),
        k.value(f"arith.extsi {bits} : i32 to i64", "i64"), k.value(f"arith.extsi {whole} : i32 to i64", "i64"),
        k.value(f"arith.extui {natural} : i32 to i64", "i64"), k.cast(at, "i64"), k.cast(k.cast("%n"), "i64"),
    ]  # fmt: skip
    for place, value in enumerate(found):
        _put(k, "y", place, value)
    half = k.value("arith.truncf %s : f32 to f16", "f16")
    floats = [
        k.value("arith.sitofp %n : i32 to f32", "f32"), k.value("arith.uitofp %n : i32 to f32", "f32"),
        k.value(f"arith.extf {half} : f16 to f32", "f32"),
    ]  # fmt: skip
    for place, value in enumerate(floats):
        _put(k, "z", place, value)

    def want(y: Array, z: Array, n: int, s: float) -> dict[str, Array]:
        low, f = (n + 128) % 256 - 128, np.float32(s)
        integers = [n, n % 2**32, low, low % 256, int(f.view(_I32)), int(f), int(f), n % 2**32, n]
        return {
            "y": np.array(integers, np.int64),
            "z": np.array([_I32(n), _U32(n % 2**32), np.float16(f)], np.float32),
        }

    runs = [{"n": n, "s": s} for n, s in ((5, 2.75), (-3, 1e-9), (-(2**31), 70000.25), (200, 2.0**30))]
    return Runs({"y": (9,), "z": (3,)}, want, runs)


@kernel(x="*f32", y="*f32", w="*i64", r="i32", c="i32")
def questions(k: Writer) -> Runs:
    """What views and tiles know of themselves; a pointer moved by what the kernel was given."""
    rows, columns = k.cast("%r"), k.cast("%c")
    ahead = k.value(f"pto.addptr %x, {columns} : !pto.ptr<f32> -> !pto.ptr<f32>", "!pto.ptr<f32>")
    first = k.value(f"pto.load_scalar {ahead}[{rows}] : !pto.ptr<f32> -> f32", "f32")
    _put(k, "y", 0, first)
    view = k.view("x", rows, columns, strides=(64, 1))
    tile = k.tile("8x64xf32", (rows, columns))
    type = k.types[tile]
    answers = [
        k.value(f"pto.get_tensor_view_dim {view}, {k.index(0)} : {k.types[view]} -> index", "index"),
        k.value(f"pto.get_tensor_view_dim {view}, {k.index(1)} : {k.types[view]} -> index", "index"),
        k.value(f"pto.get_tensor_view_stride {view}, {k.index(0)} : {k.types[view]} -> index", "index"),
        k.value(f"pto.tile_valid_rows {tile} : {type} -> index", "index"),
        k.value(f"pto.tile_valid_cols {tile} : {type} -> index", "index"),
    ]
    k.line(f"pto.set_validshape {tile}, {k.index(3)}, {rows} : {type}")
    k.line(f"%valid:2 = pto.get_validshape {tile} : {type}")
    k.types |= {"%valid#0": "index", "%valid#1": "index"}
    for place, answer in enumerate([*answers, "%valid#0", "%valid#1"]):
        _put(k, "w", place, k.cast(answer, "i64"))

    def want(x: Array, y: Array, w: Array, r: int, c: int) -> dict[str, Array]:
        return {"y": x[r + c : r + c + 1], "w": np.array([r, c, 64, r, c, 3, r], np.int64)}

    return Runs({"x": (80,), "y": (1,), "w": (7,)}, want, [{"r": 2, "c": 5}, {"r": 8, "c": 64}])


@kernel(x="*f32", y="*i32")
def bits_of_a_tile(k: Writer) -> Runs:
    tile = k.load(k.whole("x", 4, 16), k.tile("4x16xf32"))
    bits = k.value(
        f"pto.bitcast {tile} : {k.types[tile]} -> !pto.tile_buf<vec, 4x16xi32>",
        "!pto.tile_buf<vec, 4x16xi32>",
    )
    k.store(k.op("tands", [bits, k.number(0x7FFFFFFF, "i32")], bits), k.whole("y", 4, 16))
    return Runs({"x": (4, 16), "y": (4, 16)}, lambda x, y: {"y": np.abs(x).view(_I32)}, special=True)


@kernel(x="*f32", y="*f32")
def synchronised(k: Writer) -> Runs:
    """Flags, events and barriers: the order of the text satisfies them."""
    tile = k.load(k.whole("x", 2, 8), k.tile("2x8xf32"))
    for word in ("set", "wait"):
        k.line(f"pto.{word}_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]")
    k.op("tneg", tile, tile)
    k.line("pto.barrier <PIPE_V>")
    for word in ("record", "wait"):
        event = "#pto.pipe_event_type<TVEC>, #pto.pipe_event_type<TSTORE_VEC>, #pto.event<EVENT_ID1>"
        k.line(f"pto.{word}_event[{event}]")
    k.store(tile, k.whole("y", 2, 8))
    k.line("pto.barrier <PIPE_ALL>")
    return Runs({"x": (2, 8), "y": (2, 8)}, lambda x, y: {"y": -x})


@kernel(y="*i64")
def places_in_the_grid(k: Writer) -> Runs:
    block, blocks = (k.value(f"pto.get_block_{word}", "i64") for word in ("idx", "num"))
    lane, lanes = (k.value(f"pto.get_subblock_{word}", "i64") for word in ("idx", "num"))
    value = k.arith("addi", k.arith("muli", blocks, 100), k.arith("addi", k.arith("muli", lanes, 10), lane))
    types = k.types["%y"]
    k.line(f"pto.store_scalar {value}, %y[{k.cast(block)}] : {types}, i64")
    return Runs({"y": (1,)}, lambda y: {"y": np.array([110])})


_HELPERS = """
  func.func private @twice(%a: i32) -> i32 {
    %sum = arith.addi %a, %a : i32
    return %sum : i32
  }
  func.func private @put(%p: !pto.ptr<i32>, %a: i32) {
    %zero = arith.constant 0 : index
    %b = func.call @twice(%a) : (i32) -> i32
    pto.store_scalar %b, %p[%zero] : !pto.ptr<i32>, i32
    return
  }
"""


@kernel(y="*i32", a="i32")
def calling(k: Writer) -> Runs:
    k.line("func.call @put(%y, %a) : (!pto.ptr<i32>, i32) -> ()")
    return Runs({"y": (1,)}, lambda y, a: {"y": np.array([2 * a], _I32)}, [{"a": 21}, {"a": -4}])


@kernel(y="*i32", a="i32")
def choosing(k: Writer) -> Runs:
    """A switch, a region that is run once, and a choice with a result."""
    at = k.cast("%a")
    values = [k.number(value, "i32") for value in (10, 20, 30)]
    k.line(f"%s = scf.index_switch {at} -> i32")
    for case, value in ((0, values[0]), (2, values[1])):
        k.line(f"case {case} {{")
        k.line(f"  scf.yield {value} : i32")
        k.line("}")
    k.line("default {")
    k.line(f"  scf.yield {values[2]} : i32")
    k.line("}")
    k.types["%s"] = "i32"
    with k.nested("scf.execute_region"):
        _put(k, "y", 0, "%s")
        k.line("scf.yield")
    return Runs(
        {"y": (1,)},
        lambda y, a: {"y": np.array([{0: 10, 2: 20}.get(a, 30)], _I32)},
        [{"a": a} for a in (0, 1, 2, 7)],
    )


@kernel(y="*i32", n="i32")
def local_arrays(k: Writer) -> Runs:
    """A table filled in a loop and read in another order; indices out of range take the nearest element."""
    type = "!pto.local_array<4x3xi32>"
    table = k.value(f"pto.declare_local_array -> {type}", type)
    with k.loop(4) as i, k.loop(3) as j:
        value = k.cast(k.arith("addi", k.arith("muli", i, 10), j), "i32")
        k.line(f"pto.local_array_set {table}[{i}, {j}], {k.arith('addi', value, '%n')} : {type}, i32")
    at = k.cast("%n")
    for place, (i, j) in enumerate((("0", "1"), ("3", "2"))):
        found = k.value(
            f"pto.local_array_get {table}[{k.index(int(i))}, {k.index(int(j))}] : {type} -> i32", "i32"
        )
        _put(k, "y", place, found)
    _put(k, "y", 2, k.value(f"pto.local_array_get {table}[{at}, {at}] : {type} -> i32", "i32"))

    def want(y: Array, n: int) -> dict[str, Array]:
        i, j = min(max(n, 0), 3), min(max(n, 0), 2)
        return {"y": np.array([1 + n, 32 + n, 10 * i + j + n], _I32)}

    return Runs({"y": (3,)}, want, [{"n": n} for n in (-5, 0, 1, 3, 100)])


@kernel(x="*f32", y="*f32")
def alone_on_the_chip(k: Writer) -> Runs:
    """Fences, cache maintenance and waiting for all cores, in a kernel that is the only block."""
    tile = k.load(k.whole("x", 2, 8), k.tile("2x8xf32"))
    k.line("pto.cmo.cacheinvalid all #pto.address_space<gm>")
    k.line("pto.cmo.cacheinvalid %x single_cache_line : !pto.ptr<f32>")
    k.store(k.op("tneg", tile, tile), k.whole("y", 2, 8))
    k.line("pto.fence.barrier_all #pto.fence_scope<gm>")
    k.line("pto.syncall() mode = #pto.sync_all_mode<hard>, core_type = #pto.sync_core_type<aiv_only>")
    return Runs({"x": (2, 8), "y": (2, 8)}, lambda x, y: {"y": -x})


def _with_helpers(case: Case) -> Case:
    return replace(case, text=_HELPERS + case.text)


CASES = (
    integer_scalars, float_scalars, casts, questions, bits_of_a_tile, synchronised, places_in_the_grid,
    _with_helpers(calling), choosing, local_arrays, alone_on_the_chip,
)  # fmt: skip
