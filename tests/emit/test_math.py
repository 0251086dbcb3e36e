"""exp, log, tanh, rsqrt and the rounding ops: bounds over all exponents, IEEE edges, exactness where it is promised."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emit.harness import (
    MACHINES,
    Case,
    assert_same,
    each,
    floats,
    runnable_machines,
    sampled_floats,
    suite,
    ulps,
    widths,
)

FUSED = runnable_machines("avx2", "avx512")
BOUNDS = {"exp": 1.02, "log": 0.9, "tanh": 1.4, "rsqrt": 1.5}
EXACT = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x)}

CASES = each(BOUNDS, "%r = math.NAME %a : <f32>", ("f32",), "f32")


def _inputs(name):
    """Samples of every exponent; many more where the function is not constant or equal to its argument."""
    dense = np.random.default_rng(5).uniform(
        *{"exp": (-104, 89), "tanh": (-9.5, 9.5)}.get(name, (0.4, 2.5)), 100_000
    )
    return np.concatenate([sampled_floats(100), dense.astype("f4")])


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(target, name):
    case = CASES[list(BOUNDS).index(name)]
    built = suite(CASES, target)
    x = _inputs(name)
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype("f8"))
        nearest = exact.astype("f4")
    finite = np.isfinite(nearest)
    for lanes in widths(target):
        got = built.run(case, lanes, x)
        assert (np.isnan(got) == np.isnan(nearest)).all()
        infinite = np.isinf(nearest)
        # at the very edge of overflow the neighbour is as good
        assert np.isinf(got[infinite]).all()
        worst = ulps(got[finite], exact[finite])
        at = int(np.argmax(worst))
        assert worst[at] <= BOUNDS[name], f"{name}({x[finite][at]!r}) is off by {worst[at]:.3f} ulp"


EDGES = {
    "exp": [(np.inf, np.inf), (-np.inf, 0.0), (0.0, 1.0), (-0.0, 1.0), (88.73, np.inf), (-104.1, 0.0), (3e38, np.inf), (-3e38, 0.0)],
    "log": [(np.inf, np.inf), (0.0, -np.inf), (-0.0, -np.inf), (1.0, 0.0), (-1.0, np.nan), (-np.inf, np.nan), (-1e-40, np.nan)],
    "tanh": [(np.inf, 1.0), (-np.inf, -1.0), (0.0, 0.0), (-0.0, -0.0), (1e-40, 1e-40), (20.0, 1.0), (-20.0, -1.0)],
    "rsqrt": [(np.inf, 0.0), (0.0, np.inf), (-0.0, -np.inf), (-1.0, np.nan), (4.0, 0.5), (-np.inf, np.nan)],
}  # fmt: skip


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("name", EDGES)
def test_edges(target, name):
    case = CASES[list(BOUNDS).index(name)]
    built = suite(CASES, target)
    x = np.array([x for x, _ in EDGES[name]] + [np.nan], "f4")
    want = np.array([y for _, y in EDGES[name]] + [np.nan], "f4")
    for lanes in widths(target):
        assert_same(built.run(case, lanes, x), want, x)


@pytest.mark.parametrize("target", MACHINES)
def test_exp_underflows_gradually(target):
    built = suite(CASES, target)
    x = np.linspace(-103.9, -87.4, 4001, dtype="f4")
    exact = np.exp(x.astype("f8"))
    for lanes in widths(target):
        got = built.run(CASES[0], lanes, x)
        assert (np.abs(got.astype("f8") - exact) * 2.0**149 <= 1.0).all()


ROUNDING = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": lambda x: np.copysign(np.trunc(x) + np.copysign(np.abs(x - np.trunc(x)) >= 0.5, x), x),
    "sqrt": np.sqrt,
}


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", ("f32", "f64"))
def test_rounding_and_sqrt_are_exact(target, elem):
    cases = each(ROUNDING, f"%r = math.NAME %a : <{elem}>", (elem,), elem)
    built = suite(cases, target)
    limit = 2.0**23 if elem == "f32" else 2.0**52
    halves = np.arange(-40, 41) / 4
    large = np.array(
        [
            limit - 0.5,
            limit - 1,
            limit,
            limit + 1,
            limit / 2 + 0.5,
            2 * limit,
            0.49999997,
            0.49999999999999994,
        ]
    )
    x = np.concatenate(
        [
            floats(elem),
            halves.astype(floats(elem).dtype),
            large.astype(floats(elem).dtype),
            -large.astype(floats(elem).dtype),
        ]
    )
    with np.errstate(all="ignore"):
        for function, case in zip(ROUNDING.values(), cases, strict=True):
            want = function(x)
            for lanes in widths(target):
                assert_same(built.run(case, lanes, x), want, x)


@pytest.mark.parametrize("target", MACHINES)
def test_fma_rounds_once_where_the_machine_can(target):
    case = Case("fma", "%r = math.fma %a, %b, %c : <f32>", ("f32", "f32", "f32"), "f32")
    built = suite((case,), target)
    random = np.random.default_rng(7)
    a, b = (random.standard_normal(4000).astype("f4") for _ in range(2))
    c = (-a.astype("f8") * b).astype("f4")  # cancels all but the rounding of the product
    exact = a.astype("f8") * b.astype("f8") + c.astype("f8")
    want = exact.astype("f4") if target in FUSED else a * b + c
    for lanes in widths(target):
        assert_same(built.run(case, lanes, a, b, c), want, a, b, c)


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", ("bf16", "f16"))
def test_narrow_math_rounds_the_f32_result(target, elem):
    names = ("exp", "tanh", "sqrt", "floor")
    functions = (np.exp, np.tanh, np.sqrt, np.floor)
    cases = each(names, f"%r = math.NAME %a : <{elem}>", (elem,), elem)
    built = suite(cases, target)
    a = floats(elem)
    with np.errstate(all="ignore"):
        for function, case in zip(functions, cases, strict=True):
            want = function(a.astype("f8")).astype("f4").astype(a.dtype)
            for lanes in widths(target):
                got = built.run(case, lanes, a)
                same = (got == want) | (np.isnan(got) & np.isnan(want))
                steps = np.abs(got.view("u2").astype(int) - want.view("u2").astype(int))
                assert (same | (steps <= 1)).all()
                assert same.mean() > 0.99


@pytest.mark.parametrize("target", MACHINES)
def test_copysign_and_absi(target):
    sign = Case("copysign", "%r = math.copysign %a, %b : <f32>", ("f32", "f32"), "f32")
    size = Case("absi", "%r = math.absi %a : <i32>", ("i32",), "i32")
    built = suite((sign, size), target)
    a = floats("f32")
    b = np.roll(a, 5)
    numbers = np.array([0, 5, -5, -(2**31), 2**31 - 1], "i4")
    for lanes in widths(target):
        assert_same(built.run(sign, lanes, a, b), np.copysign(a, b), a, b)
        with np.errstate(all="ignore"):
            assert_same(built.run(size, lanes, numbers), np.abs(numbers), numbers)
