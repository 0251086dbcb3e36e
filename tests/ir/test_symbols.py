"""The normal form of dims keeps their value, makes equal expressions equal objects, and prints what it parses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pptc.ir.symbols import (
    ANONYMOUS,
    Dim,
    DimExpr,
    DimSyntaxError,
    Symbol,
    add,
    bounds,
    ceildiv,
    evaluate,
    floordiv,
    maximum,
    minimum,
    mul,
    parse_dim,
    print_dim,
    sub,
    substitute,
    symbols,
)

NAMES = ("B", "P", "T")
B, P, T = map(Symbol, NAMES)

# A plain expression tree, evaluated by Python itself: ("+", a, b), ("symbol", "T"), ("int", 3).
Tree = tuple[object, ...]

OPERATIONS = {
    "+": (lambda a, b: a + b, add),
    "-": (lambda a, b: a - b, sub),
    "*": (lambda a, b: a * b, mul),
    "floordiv": (lambda a, b: a // b, floordiv),
    "max": (max, maximum),
    "min": (min, minimum),
}


def trees(depth: int = 4) -> st.SearchStrategy[Tree]:
    leaf = st.one_of(
        st.tuples(st.just("int"), st.integers(-7, 20)), st.tuples(st.just("symbol"), st.sampled_from(NAMES))
    )
    return st.recursive(
        leaf, lambda inner: st.tuples(st.sampled_from(list(OPERATIONS)), inner, inner), max_leaves=2**depth
    )


BINDINGS = st.fixed_dictionaries({name: st.integers(0, 40) for name in NAMES})


def plain(tree: Tree, binding: dict[str, int]) -> int:
    op, *args = tree
    if op == "int":
        return args[0]
    if op == "symbol":
        return binding[args[0]]
    return OPERATIONS[op][0](*(plain(arg, binding) for arg in args))


def normal(tree: Tree) -> Dim:
    op, *args = tree
    if op == "int":
        return args[0]
    if op == "symbol":
        return Symbol(args[0])
    return OPERATIONS[op][1](*map(normal, args))


def normal_or_none(tree: Tree) -> Dim | None:
    try:
        return normal(tree)
    except ValueError:  # a constant divisor of zero
        return None


@given(trees(), BINDINGS)
def test_value_is_kept(tree, binding) -> None:
    dim = normal_or_none(tree)
    try:
        expected = plain(tree, binding)
    except ZeroDivisionError:
        return
    assert dim is not None
    assert evaluate(dim, binding) == expected


@given(trees(), BINDINGS)
def test_bounds_enclose_the_value(tree, binding) -> None:
    dim = normal_or_none(tree)
    if dim is None:
        return
    try:
        value = evaluate(dim, binding)
    except ZeroDivisionError:
        return
    low, high = bounds(dim)
    assert (low is None or low <= value) and (high is None or value <= high)
    low, high = bounds(dim, {name: (number, number + 2) for name, number in binding.items()})
    assert (low is None or low <= value) and (high is None or value <= high)


@given(trees())
def test_text_round_trips(tree) -> None:
    dim = normal_or_none(tree)
    if dim is None or isinstance(dim, int):
        return
    try:
        assert parse_dim(print_dim(dim)) == dim
    except DimSyntaxError as refusal:
        assert "negative" in str(refusal)


@given(trees(2), trees(2), trees(2))
def test_ring_laws_make_equal_objects(x, y, z) -> None:
    a, b, c = normal_or_none(x), normal_or_none(y), normal_or_none(z)
    if a is None or b is None or c is None:
        return
    assert add(a, b) == add(b, a)
    assert add(add(a, b), c) == add(a, add(b, c))
    assert mul(a, b) == mul(b, a)
    assert mul(a, mul(b, c)) == mul(mul(a, b), c)
    assert mul(a, add(b, c)) == add(mul(a, b), mul(a, c))
    assert sub(add(a, b), b) == a
    assert maximum(a, b) == maximum(b, a)
    assert minimum(a, minimum(b, c)) == minimum(c, b, a)


@given(trees(3), BINDINGS, trees(2))
def test_substitution_commutes_with_evaluation(tree, binding, replacement) -> None:
    dim, inner = normal_or_none(tree), normal_or_none(replacement)
    if dim is None or inner is None:
        return
    try:
        value = evaluate(inner, binding)
        if value < 0:  # no symbol stands for a negative number
            return
        expected = evaluate(dim, binding | {"T": value})
        replaced = substitute(dim, {"B": B, "P": P, "T": inner})
        assert evaluate(replaced, binding) == expected
    except (ZeroDivisionError, ValueError):
        return


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(T)", "(T+0)"),
        ("(P+T)", "(T+P)"),
        ("(2*T+T)", "(3*T)"),
        ("(B*(P+T))", "(T*B+P*B)"),
        ("((2*T) floordiv 2)", "(T)"),
        ("((6*T+3) floordiv 9)", "((2*T+1) floordiv 3)"),
        ("((T floordiv 4) floordiv 2)", "(T floordiv 8)"),
        ("((B*T) floordiv T)", "(B)"),
        ("((B*T+T*P) floordiv (B+P))", "(T)"),
        ("(T ceildiv 16)", "((T+15) floordiv 16)"),
        ("((T+31) floordiv 16)", "(1+T ceildiv 16)"),
        ("(max(T, T))", "(T)"),
        ("(max(T, 0))", "(T)"),
        ("(max(T, T+3, P))", "(max(P, 3+T))"),
        ("(min(P+T, T))", "(T)"),
        ("(max(max(T, P), B))", "(max(B, max(P, T)))"),
        ("(T-T+4)", "4"),
        ("(3*(4-1))", "9"),
        ("(-(2-T))", "(T-2)"),
    ],
)
def test_equal_expressions_are_equal_objects(left, right) -> None:
    assert parse_dim(left) == parse_dim(right)


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (64, "64"),
        (T, "(T)"),
        (Symbol("?3"), "?"),
        (add(T, P), "(P+T)"),
        (mul(T, B), "(B*T)"),
        (sub(T, 1), "(T-1)"),
        (sub(5, T), "(5-T)"),
        (sub(P, T), "(P-T)"),
        (add(mul(2, T), 1, P), "(P+2*T+1)"),
        (ceildiv(T, 16), "(T ceildiv 16)"),
        (floordiv(add(T, 14), 16), "((T+14) floordiv 16)"),
        (floordiv(add(mul(2, T), P, 2), 3), "((P+2*T) ceildiv 3)"),
        (add(Symbol("?0"), Symbol("?1")), "(?0+?1)"),
        (mul(B, floordiv(T, 2)), "(B*(T floordiv 2))"),
        (maximum(T, 16), "(max(T, 16))"),
        (add(1, minimum(P, T)), "(min(P, T)+1)"),
    ],
)
def test_printed_text(dim, text) -> None:
    assert print_dim(dim) == text
    if text != "?":
        assert parse_dim(text) == dim


def test_question_mark_is_anonymous() -> None:
    assert parse_dim("?") == ANONYMOUS


def test_symbols_are_listed_once_each() -> None:
    assert list(symbols(parse_dim("(B*T+T+max(P, T))"))) == ["B", "T", "P"]


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("(T", 2),
        ("(T))", 3),
        ("(T+)", 3),
        ("(T $ 2)", 3),
        ("(T 2)", 3),
        ("(T floordiv 0)", 12),
        ("(T ceildiv 0)", 11),
        ("(floordiv)", 1),
        ("(max T)", 5),
        ("(max())", 5),
        ("(?)", 1),
        ("-4", 0),
        ("99999999999999999999", 0),
        ("(" * 200 + "T" + ")" * 200, 51),
    ],
)
def test_refusals_point_at_the_fault(text, offset) -> None:
    with pytest.raises(DimSyntaxError) as caught:
        parse_dim(text)
    assert caught.value.offset == offset


def test_growth_is_bounded() -> None:
    sums = "*".join(f"(a{i}+b{i})" for i in range(12))
    with pytest.raises(DimSyntaxError, match="more than 256 terms"):
        parse_dim(f"({sums})")
    with pytest.raises(DimSyntaxError, match="characters"):
        parse_dim("(" + "+".join(["T"] * 1000) + ")")


def test_unknown_symbol_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        evaluate(add(T, 1), {"P": 3})


def test_large_numbers_stay_exact() -> None:
    assert evaluate(mul(T, T, T), {"T": 10**9}) == 10**27
    assert math.prod([3, 5]) == evaluate(mul(T, P), {"T": 3, "P": 5})


def test_expressions_are_hashable_values() -> None:
    assert len({add(T, P), add(P, T), DimExpr("+", (P, T))}) == 1
