"""Casts between integers and floats, and the narrow floats that machines lack, against NumPy and ml_dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emit.harness import MACHINES, NUMPY, Case, assert_same, floats, integers, suite, widths

NARROW = ("bf16", "f16", "f8E5M2", "f8E4M3FN")


def cast(name, source, to):
    """The case of one conversion."""
    return Case(f"{name}_{source}_{to}", f"%r = arith.{name} %a : <{source}> to <{to}>", (source,), to)


WIDER = [("i8", "i16"), ("i8", "i32"), ("i16", "i64"), ("i32", "i64")]


@pytest.mark.parametrize("target", MACHINES)
def test_integer_widths(target):
    expected = {}
    for narrow, wide in WIDER:
        expected[cast("extsi", narrow, wide)] = lambda a, wide=wide: a.astype(NUMPY[wide])
        unsigned = f"u{np.dtype(NUMPY[narrow]).itemsize}"
        expected[cast("extui", narrow, wide)] = lambda a, wide=wide, u=unsigned: a.view(u).astype(NUMPY[wide])
        expected[cast("trunci", wide, narrow)] = lambda a, narrow=narrow: a.astype(NUMPY[narrow])
    for elem in ("i8", "i32", "i64"):
        expected[cast("index_cast", elem, "index")] = lambda a: a.astype("i8")
        expected[cast("index_cast", "index", elem)] = lambda a, elem=elem: a.astype(NUMPY[elem])
        expected[cast("index_castui", elem, "index")] = lambda a: a.view(f"u{a.itemsize}").astype("i8")
    built = suite(tuple(expected), target)
    for case, function in expected.items():
        a = integers(case.inputs[0])
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a), function(a), a)


@pytest.mark.parametrize("target", MACHINES)
def test_flags_widen_to_one_and_minus_one(target):
    cases = (cast("extui", "i1", "i32"), cast("extsi", "i1", "i32"))
    built = suite(cases, target)
    a = integers("i1")
    for lanes in widths(target):
        assert_same(built.run(cases[0], lanes, a), a.astype("i4"), a)
        assert_same(built.run(cases[1], lanes, a), -a.astype("i4"), a)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("to", ("f32", "f64"))
def test_integers_to_floats(target, to):
    sources = ("i8", "i16", "i32", "i64")
    signed = [cast("sitofp", s, to) for s in sources]
    unsigned = [cast("uitofp", s, to) for s in sources]
    built = suite((*signed, *unsigned), target)
    for source, plain, raw in zip(sources, signed, unsigned, strict=True):
        a = integers(source)
        for lanes in widths(target):
            assert_same(built.run(plain, lanes, a), a.astype(NUMPY[to]), a)
            assert_same(built.run(raw, lanes, a), a.view(f"u{a.itemsize}").astype(NUMPY[to]), a)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("to", ("bf16", "f16"))
def test_integers_to_narrow_floats_round_once(target, to):
    sources = ("i8", "i16", "i32")
    cases = [cast("sitofp", s, to) for s in sources] + [cast("uitofp", s, to) for s in sources]
    built = suite(tuple(cases), target)
    for case in cases:
        a = integers(case.inputs[0])
        if case.inputs[0] == "i32":  # numbers next to the middle of two bf16: two roundings go wrong here
            middle = (np.arange(128, 256, dtype=np.int32) << 17) + (1 << 16)
            a = np.concatenate([a, middle, middle + 1, middle - 1])
        values = a.view(f"u{a.itemsize}") if case.name.startswith("uitofp") else a
        want = _round_once(values.astype("f8"), to)
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a), want, a)


def _round_once(exact, to):
    """f64 rounded to a narrow float in one step, by comparing with all its values."""
    kind = NUMPY[to]
    width = np.dtype(kind).itemsize
    codes = np.arange(1 << (8 * width - 1), dtype=f"u{width}").view(kind)
    table = codes.astype("f8")
    table = table[np.isfinite(table)]
    size = np.abs(exact)
    step = table[-1] - table[-2]
    above = np.searchsorted(table, size, side="left").clip(0, len(table) - 1)
    below = np.maximum(above - 1, 0)
    low, high = size - table[below], table[above] - size
    code = np.where((low < high) | ((low == high) & (below % 2 == 0)), below, above)
    overflow = size >= table[-1] + step / 2
    finite = codes[code]
    largest = codes[len(table)] if to != "f8E4M3FN" else codes[-1]
    result = np.where(overflow, largest, finite)
    if to == "f8E4M3FN":
        result = np.where(size == table[-1] + step / 2, codes[len(table) - 1], result)
    result = np.where(np.isnan(exact), codes[-1], result)
    return np.where(np.signbit(exact), -result, result).astype(kind)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("source", ("f16", "bf16", "f32", "f64"))
def test_floats_to_integers_saturate(target, source):
    cases = [cast(name, source, to) for name in ("fptosi", "fptoui") for to in ("i8", "i16", "i32", "i64")]
    built = suite(tuple(cases), target)
    a = floats(source)
    exact = a.astype("f8")
    for case in cases:
        info = np.iinfo(
            NUMPY[case.output] if "fptosi" in case.name else f"u{np.dtype(NUMPY[case.output]).itemsize}"
        )
        want = [0 if x != x else int(min(max(float(x), info.min), info.max)) for x in exact]
        want = np.array([min(max(w, info.min), info.max) for w in want], info.dtype).view(NUMPY[case.output])
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a), want, a)


@pytest.mark.parametrize("target", MACHINES)
def test_f32_and_f64(target):
    cases = (cast("extf", "f32", "f64"), cast("truncf", "f64", "f32"))
    built = suite(cases, target)
    a, b = floats("f32"), np.concatenate([floats("f64"), floats("f32").astype("f8") * (1 + 2.0**-24)])
    with np.errstate(all="ignore"):
        for lanes in widths(target):
            assert_same(built.run(cases[0], lanes, a), a.astype("f8"), a)
            assert_same(built.run(cases[1], lanes, b), b.astype("f4"), b)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("narrow", NARROW)
def test_all_narrow_floats_widen_exactly(target, narrow):
    cases = (cast("extf", narrow, "f32"), cast("extf", narrow, "f64"))
    built = suite(cases, target)
    width = np.dtype(NUMPY[narrow]).itemsize
    a = np.arange(1 << (8 * width), dtype=f"u{width}").view(NUMPY[narrow])
    for case in cases:
        for lanes in widths(target):
            assert_same(built.run(case, lanes, a), a.astype(NUMPY[case.output]), a)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("narrow", NARROW)
def test_narrowing_rounds_to_nearest_even(target, narrow):
    cases = (cast("truncf", "f32", narrow), cast("truncf", "f64", narrow))
    built = suite(cases, target)
    a = _around(narrow)
    with np.errstate(all="ignore"):
        for lanes in widths(target):
            assert_same(built.run(cases[0], lanes, a), a.astype(NUMPY[narrow]), a)
        wide = np.concatenate(
            [a.astype("f8"), a.astype("f8") * (1 + 2.0**-40), a.astype("f8") * (1 - 2.0**-40)]
        )
        want = _round_once(wide, narrow)
        for lanes in widths(target):
            assert_same(built.run(cases[1], lanes, wide), want, wide)


def _around(narrow):
    """f32 values at, between, and next to the middles of narrow ones; and random bits."""
    width = np.dtype(NUMPY[narrow]).itemsize
    codes = np.arange(1 << (8 * width), dtype=f"u{width}").view(NUMPY[narrow]).astype("f4")
    codes = codes[np.isfinite(codes)]
    following = np.concatenate([codes[1:], codes[:1]])
    with np.errstate(all="ignore"):
        middles = ((codes.astype("f8") + following) / 2).astype("f4")
    bits = middles.view("u4")
    random = np.random.default_rng(3).integers(0, 1 << 32, 20000, dtype=np.uint64).astype("u4")
    everything = [
        codes,
        middles,
        (bits + 1).view("f4"),
        (bits - 1).view("f4"),
        random.view("f4"),
        floats("f32"),
    ]
    return np.concatenate(everything)


@pytest.mark.parametrize("target", MACHINES)
def test_nan_stays_quiet(target):
    cases = tuple(cast("truncf", "f32", narrow) for narrow in NARROW)
    built = suite(cases, target)
    a = np.array([0x7F800001, 0xFF800001, 0x7FC00000, 0xFFFFFFFF, 0x7F80FFFF], "u4").view("f4")
    for case in cases:
        for lanes in widths(target):
            out = built.run(case, lanes, a)
            assert np.isnan(out.astype("f4")).all()
            assert (np.signbit(out.astype("f4")) == np.signbit(a)).all()


@pytest.mark.parametrize("target", MACHINES)
def test_bitcast(target):
    pairs = [
        ("f32", "i32"),
        ("i32", "f32"),
        ("f64", "i64"),
        ("bf16", "i16"),
        ("i16", "f16"),
        ("i8", "f8E5M2"),
    ]
    cases = tuple(cast("bitcast", source, to) for source, to in pairs)
    built = suite(cases, target)
    for case in cases:
        source, to = case.inputs[0], case.output
        a = integers(source) if source[0] == "i" else floats(source)
        for lanes in widths(target):
            got = built.run(case, lanes, a)
            assert (got.view(f"u{got.itemsize}") == a.view(f"u{a.itemsize}")).all(), to
