"""The algebra of symbolic dims: integers, symbols and + - * floordiv max min of them, in a normal form.

A dim is kept as a sum of products with integer factors; symbols, quotients, maxima and minima are its atoms.
Symbols are extents and never negative. The constructors `add` .. `maximum` keep the form: equal expressions are
equal objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd
from types import MappingProxyType
from typing import Any

MAXIMUM_TERMS = 256
"""A product of sums with more terms is refused: no shape needs it, and its form would grow exponentially."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named extent; the same name is the same number within a function. `?N` is an anonymous one."""

    name: str


@dataclass(frozen=True, slots=True)
class DimExpr:
    """`op` is +, *, floordiv, max or min over dims; built by the functions below only."""

    op: str
    args: tuple[Dim, ...]


Dim = int | Symbol | DimExpr
Atom = Symbol | DimExpr
Monomial = tuple[Atom, ...]
Polynomial = dict[Monomial, int]
"""Factor of each product of atoms; the empty product is the constant."""

Bounds = tuple[int | None, int | None]
Ranges = Mapping[str, Bounds]

ANONYMOUS = Symbol("?")
"""What `?` reads as: at a definition the next anonymous symbol, at a use whatever the definition says."""


class DimTooLarge(ValueError):
    """An expression whose normal form has too many terms."""


# ---------------------------------------------------------------- constructors


def add(*dims: Dim) -> Dim:
    """The sum."""
    total: Polynomial = {}
    for dim in dims:
        _accumulate(total, _polynomial(dim), 1)
    return _dim(total)


def sub(left: Dim, right: Dim) -> Dim:
    """The difference."""
    total = dict(_polynomial(left))
    _accumulate(total, _polynomial(right), -1)
    return _dim(total)


def mul(*dims: Dim) -> Dim:
    """The product."""
    total: Polynomial = {(): 1}
    for dim in dims:
        factor = _polynomial(dim)
        if len(total) * len(factor) > MAXIMUM_TERMS:
            raise DimTooLarge(f"a dim of more than {MAXIMUM_TERMS} terms")
        grown: Polynomial = {}
        for (left, a), (right, b) in product(total.items(), factor.items()):
            _accumulate(grown, {tuple(sorted(left + right, key=_order)): a * b}, 1)
        total = grown
    return _dim(total)


def floordiv(left: Dim, right: Dim) -> Dim:
    """The quotient, rounded down. ValueError when the divisor is the constant 0."""
    if right == 0:
        raise ValueError("division by zero")
    if isinstance(right, int):
        return _divide_by_constant(left, right)
    exact = _exact_quotient(_polynomial(left), _polynomial(right))
    return _dim(exact) if exact is not None else DimExpr("floordiv", (left, right))


def ceildiv(left: Dim, right: Dim) -> Dim:
    """The quotient by a positive divisor, rounded up."""
    return floordiv(add(left, right, -1), right)


def maximum(*dims: Dim) -> Dim:
    """The largest."""
    return _extremum("max", dims, lambda kept, other: _never_negative(sub(kept, other)))


def minimum(*dims: Dim) -> Dim:
    """The smallest."""
    return _extremum("min", dims, lambda kept, other: _never_negative(sub(other, kept)))


def _extremum(op: str, dims: tuple[Dim, ...], covers: Callable[[Dim, Dim], bool]) -> Dim:
    flat: list[Dim] = []
    for dim in dims:
        flat += dim.args if isinstance(dim, DimExpr) and dim.op == op else (dim,)
    kept: list[Dim] = []
    for dim in flat:
        if not any(covers(other, dim) for other in kept):
            kept = [other for other in kept if not covers(dim, other)] + [dim]
    return kept[0] if len(kept) == 1 else DimExpr(op, tuple(sorted(kept, key=_order)))


def _divide_by_constant(left: Dim, divisor: int) -> Dim:
    if divisor < 0:
        left, divisor = mul(left, -1), -divisor
    whole: Polynomial = {}
    rest: Polynomial = {}
    for monomial, factor in _polynomial(left).items():
        quotient, remainder = divmod(factor, divisor)
        _accumulate(whole, {monomial: quotient}, 1)
        _accumulate(rest, {monomial: remainder}, 1)
    constant = rest.pop((), 0)
    if not rest:
        return _dim(whole)
    common = reduce(gcd, rest.values(), divisor)
    rest = {monomial: factor // common for monomial, factor in rest.items()}
    return add(_dim(whole), _quotient_of(rest, constant // common, divisor // common))


def _quotient_of(rest: Polynomial, constant: int, divisor: int) -> Dim:
    """(rest + constant) floordiv divisor; a quotient inside becomes one quotient by the product."""
    (monomial, factor), *others = rest.items()
    if not others and factor == 1 and len(monomial) == 1:
        (atom,) = monomial
        if isinstance(atom, DimExpr) and atom.op == "floordiv" and isinstance(atom.args[1], int):
            step = atom.args[1]
            return _divide_by_constant(add(atom.args[0], constant * step), divisor * step)
    dividend = _dim(rest | {(): constant} if constant else rest)
    return DimExpr("floordiv", (dividend, divisor)) if divisor > 1 else dividend


def _exact_quotient(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """left / right when it leaves no rest (and so holds for every divisor but zero)."""
    quotient: Polynomial = {}
    rest = dict(left)
    lead = _leading(right)
    while rest:
        term = _leading(rest)
        monomial = _without(term, lead)
        factor, remainder = divmod(rest[term], right[lead])
        if monomial is None or remainder:
            return None
        _accumulate(quotient, {monomial: factor}, 1)
        subtrahend = {tuple(sorted(monomial + m, key=_order)): factor * f for m, f in right.items()}
        _accumulate(rest, subtrahend, -1)
    return quotient


def _leading(terms: Polynomial) -> Monomial:
    """The largest monomial in graded order; multiplying by any monomial keeps the order."""
    atoms = sorted({atom for monomial in terms for atom in monomial}, key=_order)
    return max(terms, key=lambda monomial: (len(monomial), [monomial.count(atom) for atom in atoms]))


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


# ---------------------------------------------------------------- the normal form


def _polynomial(dim: Dim) -> Polynomial:
    if isinstance(dim, int):
        return {(): dim} if dim else {}
    if isinstance(dim, DimExpr) and dim.op == "+":
        return dict(_term(arg) for arg in dim.args)
    return dict([_term(dim)])


def _term(dim: Dim) -> tuple[Monomial, int]:
    if isinstance(dim, int):
        return (), dim
    if isinstance(dim, DimExpr) and dim.op == "*":
        factor, *atoms = dim.args if isinstance(dim.args[0], int) else (1, *dim.args)
        assert isinstance(factor, int)
        return tuple(atom for atom in atoms if not isinstance(atom, int)), factor
    return (dim,), 1


def _dim(terms: Polynomial) -> Dim:
    """The one dim of a polynomial: terms in order, the constant last."""
    parts = [_product(monomial, terms[monomial]) for monomial in sorted(terms, key=_monomial_order)]
    return DimExpr("+", tuple(parts)) if len(parts) > 1 else parts[0] if parts else 0


def _product(monomial: Monomial, factor: int) -> Dim:
    if not monomial:
        return factor
    args = monomial if factor == 1 else (factor, *monomial)
    return args[0] if len(args) == 1 else DimExpr("*", args)


def _accumulate(into: Polynomial, terms: Polynomial, sign: int) -> None:
    for monomial, factor in terms.items():
        total = into.get(monomial, 0) + sign * factor
        if total:
            into[monomial] = total
        else:
            into.pop(monomial, None)


def _order(dim: Dim) -> tuple[Any, ...]:
    """Symbols by name, then expressions by operation and parts, then integers."""
    if isinstance(dim, Symbol):
        return 0, dim.name
    return (2, dim) if isinstance(dim, int) else (1, dim.op, *map(_order, dim.args))


def _monomial_order(monomial: Monomial) -> tuple[Any, ...]:
    return not monomial, [_order(atom) for atom in monomial]


# ---------------------------------------------------------------- questions


def evaluate(dim: Dim, binding: Mapping[str, int]) -> int:
    """The number that a dim is. KeyError on an unbound symbol, ZeroDivisionError on division by zero."""
    value = substitute(dim, binding)
    assert isinstance(value, int)
    return value


def substitute(dim: Dim, binding: Mapping[str, Dim]) -> Dim:
    """The dim with symbols replaced; KeyError on a symbol that `binding` lacks."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Symbol):
        return binding[dim.name]
    args = [substitute(arg, binding) for arg in dim.args]
    if dim.op == "floordiv" and args[1] == 0:
        raise ZeroDivisionError("a divisor of the dim is 0")
    return _CONSTRUCTORS[dim.op](*args)


_CONSTRUCTORS: Mapping[str, Callable[..., Dim]] = MappingProxyType(
    {"+": add, "*": mul, "floordiv": floordiv, "max": maximum, "min": minimum}
)


def symbols(dim: Dim) -> Iterator[str]:
    """The names in a dim, in its order, each once."""
    return iter(dict.fromkeys(_symbols(dim)))


def _symbols(dim: Dim) -> Iterator[str]:
    if isinstance(dim, Symbol):
        yield dim.name
    elif isinstance(dim, DimExpr):
        for arg in dim.args:
            yield from _symbols(arg)


def bounds(dim: Dim, ranges: Ranges = MappingProxyType({})) -> Bounds:
    """The least and the largest value that interval arithmetic can prove; None is unbounded.

    A symbol without a range is at least 0.
    """
    if isinstance(dim, int):
        return dim, dim
    if isinstance(dim, Symbol):
        return ranges.get(dim.name, (0, None))
    inner = [bounds(arg, ranges) for arg in dim.args]
    lows, highs = [low for low, _ in inner], [high for _, high in inner]
    if dim.op == "+":
        return _all(sum, lows), _all(sum, highs)
    if dim.op == "*":
        return reduce(_times, inner)
    if dim.op == "floordiv":
        return _quotient(inner[0], inner[1])
    known_lows, known_highs = [x for x in lows if x is not None], [x for x in highs if x is not None]
    if dim.op == "max":
        return max(known_lows, default=None), _all(max, highs)
    return _all(min, lows), min(known_highs, default=None)


def _all(combine: Callable[[list[int]], int], values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return combine(known) if len(known) == len(values) else None


def _times(left: Bounds, right: Bounds) -> Bounds:
    if left[0] is not None and left[0] == left[1]:
        left, right = right, left
    if right[0] is not None and right[0] == right[1]:
        ends = [None if end is None else end * right[0] for end in left]
        return (ends[0], ends[1]) if right[0] >= 0 else (ends[1], ends[0])
    (a, b), (c, d) = left, right
    if a is None or c is None or a < 0 or c < 0:
        return None, None
    return a * c, None if b is None or d is None else b * d


def _quotient(left: Bounds, right: Bounds) -> Bounds:
    (a, b), (c, d) = left, right
    if c is None or c < 1:
        return None, None
    low = None if a is None else a // c if a < 0 else a // d if d is not None else 0
    high = None if b is None else b // c if b >= 0 else b // d if d is not None else -1
    return low, high


def _never_negative(dim: Dim) -> bool:
    low, _ = bounds(dim)
    return low is not None and low >= 0


def factor_of(term: Dim) -> int:
    """The integer factor of one term of a sum."""
    return _term(term)[1]


def is_anonymous(dim: Dim) -> bool:
    """True for a dim that prints as `?`."""
    return isinstance(dim, Symbol) and dim.name.startswith("?")
