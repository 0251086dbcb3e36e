"""Every integer and float row of arith, compiled for every machine that can run here, against NumPy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.emit.harness import (
    MACHINES,
    NUMPY,
    Case,
    assert_same,
    each,
    float_pairs,
    floats,
    integers,
    pairs,
    suite,
    widths,
)

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
BINARY = "%r = arith.NAME %a, %b : <T>"


def _python(function, elem):
    """An integer function on Python numbers over arrays: exact, then wrapped."""
    bits = 8 * np.dtype(NUMPY[elem]).itemsize

    def run(a, b):
        wrapped = [
            (function(int(x), int(y)) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
            for x, y in zip(a, b, strict=True)
        ]
        return np.array(wrapped, NUMPY[elem])

    return run


def _unsigned(value, bits):
    return value % (1 << bits)


def _quotient(x, y):
    return 0 if y == 0 else int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


SIGNED = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "divsi": _quotient,
    "remsi": lambda x, y: x - _quotient(x, y) * y if y else 0,
    "floordivsi": lambda x, y: x // y if y else 0,
    "ceildivsi": lambda x, y: -((-x) // y) if y else 0,
    "maxsi": max,
    "minsi": min,
    "andi": lambda x, y: x & y,
    "ori": lambda x, y: x | y,
    "xori": lambda x, y: x ^ y,
}
UNSIGNED = {
    "divui": lambda x, y: x // y if y else 0,
    "remui": lambda x, y: x % y if y else 0,
    "ceildivui": lambda x, y: -(-x // y) if y else 0,
    "maxui": max,
    "minui": min,
}
SHIFTS = {
    "shli": lambda x, s, bits: x << s if s < bits else 0,
    "shrui": lambda x, s, bits: _unsigned(x, bits) >> s if s < bits else 0,
    "shrsi": lambda x, s, bits: x >> min(s, bits - 1),
}


def _expected(name, elem):
    bits = 8 * np.dtype(NUMPY[elem]).itemsize
    if name in SIGNED:
        return _python(SIGNED[name], elem)
    if name in UNSIGNED:
        return _python(lambda x, y: UNSIGNED[name](_unsigned(x, bits), _unsigned(y, bits)), elem)
    return _python(lambda x, y: SHIFTS[name](x, _unsigned(y, bits), bits), elem)


@cache
def _results(name, elem):
    return _expected(name, elem)(*pairs(elem))


NAMES = (*SIGNED, *UNSIGNED, *SHIFTS)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", INTEGERS)
def test_integer_rows(target, elem):
    cases = each(NAMES, BINARY.replace("<T>", f"<{elem}>"), (elem, elem), elem)
    built = suite(cases, target)
    a, b = pairs(elem)
    for name, case in zip(NAMES, cases, strict=True):
        want = _results(name, elem)
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a, b), want, a, b)


CONSTANTS = (0, 1, -1, 3, -7, 64)


@pytest.mark.parametrize("target", MACHINES)
def test_division_and_shifts_by_constants(target):
    cases = tuple(
        Case(
            f"{name}_by_{position}",
            f"%k = arith.constant {value} : <i32>\n%r = arith.{name} %a, %k : <i32>",
            ("i32",),
            "i32",
        )
        for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "shli", "shrsi", "shrui")
        for position, value in enumerate(CONSTANTS)
    )
    built = suite(cases, target)
    values = integers("i32")
    for case in cases:
        name, _, position = case.name.split("_")
        constant = np.full_like(values, CONSTANTS[int(position)])
        want = _expected(name, "i32")(values, constant)
        for lanes in widths(target):
            assert_same(built.run(case, lanes, values), want, values, constant)


PREDICATES = {
    "eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
    "ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", ("i8", "i32", "i64"))
def test_integer_comparison_and_select(target, elem):
    template = f"%f = arith.cmpi NAME, %a, %b : <{elem}>\n%r = arith.select %f, %a, %b : <{elem}>"
    cases = each(PREDICATES, template, (elem, elem), elem)
    built = suite(cases, target)
    a, b = pairs(elem)
    for (name, compare), case in zip(PREDICATES.items(), cases, strict=True):
        unsigned = a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")
        flags = compare(*(unsigned if name[0] == "u" else (a, b)))
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a, b), np.where(flags, a, b), a, b)


def _maximum(a, b):
    zeros = np.where(np.signbit(a), b, a)
    larger = np.where(a == b, zeros, np.where(a > b, a, b))
    return np.where(np.isnan(a) | np.isnan(b), np.nan, larger).astype(a.dtype)


FLOAT_OPS = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": _maximum,
    "minimumf": lambda a, b: -_maximum(-a, -b),
}


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", FLOATS)
def test_float_rows(target, elem):
    cases = each(FLOAT_OPS, BINARY.replace("<T>", f"<{elem}>"), (elem, elem), elem)
    built = suite(cases, target)
    a, b = float_pairs(elem)
    with np.errstate(all="ignore"):
        for function, case in zip(FLOAT_OPS.values(), cases, strict=True):
            wide = (a, b) if elem in ("f32", "f64") else (a.astype("f4"), b.astype("f4"))
            for lanes in widths(target):
                assert_same(built.run(case, lanes, a, b), function(*wide).astype(a.dtype), a, b)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", FLOATS)
def test_numbers_beat_nan_in_maxnum_and_minnum(target, elem):
    cases = each(("maxnumf", "minnumf"), BINARY.replace("<T>", f"<{elem}>"), (elem, elem), elem)
    built = suite(cases, target)
    a, b = float_pairs(elem)
    apart = (a != 0) | (b != 0)  # either zero may win
    a, b = a[apart], b[apart]
    wide = a.astype("f8"), b.astype("f8")
    for function, case in zip((np.fmax, np.fmin), cases, strict=True):
        for lanes in widths(target):
            with np.errstate(all="ignore"):
                want = function(*wide).astype(a.dtype)
            assert_same(built.run(case, lanes, a, b), want, a, b)


def _ordered(a, b):
    return ~(np.isnan(a) | np.isnan(b))


FLOAT_PREDICATES = {
    "oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less, "ole": np.less_equal,
    "one": lambda a, b: _ordered(a, b) & (a != b), "ord": _ordered,
    "ueq": lambda a, b: ~_ordered(a, b) | (a == b), "ugt": lambda a, b: ~(a <= b), "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b), "ule": lambda a, b: ~(a > b), "une": np.not_equal,
    "uno": lambda a, b: ~_ordered(a, b), "true": lambda a, b: np.ones(a.shape, bool),
    "false": lambda a, b: np.zeros(a.shape, bool),
}  # fmt: skip


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", FLOATS)
def test_float_comparison(target, elem):
    template = f"%r = arith.cmpf NAME, %a, %b : <{elem}>"
    cases = each(FLOAT_PREDICATES, template, (elem, elem), "i1")
    built = suite(cases, target)
    a, b = float_pairs(elem)
    wide = a.astype("f8"), b.astype("f8")
    with np.errstate(all="ignore"):
        for compare, case in zip(FLOAT_PREDICATES.values(), cases, strict=True):
            for lanes in widths(target):
                assert_same(built.run(case, lanes, a, b), compare(*wide), a, b)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", FLOATS)
def test_sign_ops_touch_the_sign_only(target, elem):
    unary = {
        "negf": Case(f"negf_{elem}", f"%r = arith.negf %a : <{elem}>", (elem,), elem),
        "absf": Case(f"absf_{elem}", f"%r = math.absf %a : <{elem}>", (elem,), elem),
    }
    built = suite(tuple(unary.values()), target)
    a = floats(elem)
    unsigned = f"u{a.itemsize}"
    sign = np.array(1 << (8 * a.itemsize - 1), unsigned)
    for lanes in widths(target):
        negated = built.run(unary["negf"], lanes, a)
        assert (negated.view(unsigned) == a.view(unsigned) ^ sign).all()
        positive = built.run(unary["absf"], lanes, a)
        assert (positive.view(unsigned) == a.view(unsigned) & ~sign).all()
