"""How row reductions accumulate: vectors that a column loop carries, and what becomes one number at its end.

IEEE maximum and minimum (a NaN wins, the sign of zero counts) are several instructions each on most machines. Over a
row it is cheaper to compare plainly and to note besides whether there was a NaN and which signs there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from pptc.ir.core import Value
from pptc.ir.opdef import RowReduce
from pptc.ir.types import F64, I32, I64, ScalarType
from pptc.passes.lower_tiles.lanes import Lane, Lanes


class Accumulator(Protocol):
    """The carried vectors of one reduction: `count` partial results, and `extra` ones that it keeps besides."""

    extra: ClassVar[int]

    def start(self, count: int) -> list[Value]:
        """The carried vectors before the first element."""

    def add(self, carried: Sequence[Value], values: Sequence[Lane]) -> list[Value]:
        """The carried vectors after as many vectors as there are partial results."""

    def joined(self, carried: Sequence[Value]) -> list[Value]:
        """The same with one partial result."""

    def total(self, carried: Sequence[Value]) -> Lane:
        """The reduction over all lanes of one partial result."""


def accumulator(lanes: Lanes, meaning: RowReduce, type: ScalarType) -> Accumulator:
    """The cheapest way to reduce values of a compute type."""
    if type.is_float and meaning.kind in ("max", "min") and lanes.width > 1:
        return _Extremum(lanes, meaning, type)
    return _Fold(lanes, meaning, type)


class _Fold:
    """The row's own combination, lane by lane."""

    extra: ClassVar[int] = 0

    def __init__(self, lanes: Lanes, meaning: RowReduce, type: ScalarType) -> None:
        self._lanes = lanes
        self._meaning = meaning
        self._type = type

    def start(self, count: int) -> list[Value]:
        return [self._lanes.constant(self._meaning.identity(self._type), self._type).value] * count

    def add(self, carried: Sequence[Value], values: Sequence[Lane]) -> list[Value]:
        return [self._combine(Lane(a, self._type), x).value for a, x in zip(carried, values, strict=True)]

    def joined(self, carried: Sequence[Value]) -> list[Value]:
        parts = [Lane(x, self._type) for x in carried]
        while len(parts) > 1:
            odd = parts[len(parts) // 2 * 2 :]
            parts = [self._combine(a, b) for a, b in zip(parts[0::2], parts[1::2], strict=False)] + odd
        return [parts[0].value]

    def total(self, carried: Sequence[Value]) -> Lane:
        (value,) = carried
        return self._lanes.reduced(Lane(value, self._type), self._meaning.kind)

    def _combine(self, a: Lane, b: Lane) -> Lane:
        result = self._meaning.combine(self._lanes, a, b)
        assert isinstance(result, Lane)
        return result


class _Extremum:
    """Maximum or minimum of floats.

    Besides the partial results it carries a vector that is NaN where a NaN was, and the signs: for a maximum their
    conjunction (all were negative), for a minimum their disjunction (one was).
    """

    extra: ClassVar[int] = 2

    def __init__(self, lanes: Lanes, meaning: RowReduce, type: ScalarType) -> None:
        self._lanes = lanes
        self._type = type
        self._bits = I64 if type == F64 else I32
        self._is_max = meaning.kind == "max"
        self._identity: float = meaning.identity(type)

    def start(self, count: int) -> list[Value]:
        lanes = self._lanes
        best = lanes.constant(self._identity, self._type).value
        signs = lanes.constant(-1 if self._is_max else 0, self._bits).value
        return [*[best] * count, lanes.constant(0.0, self._type).value, signs]

    def add(self, carried: Sequence[Value], values: Sequence[Lane]) -> list[Value]:
        *best, nan, signs = self._typed(carried)
        best = [self._better(x, a) for a, x in zip(best, values, strict=True)]
        for x, y in zip(values[0::2], [*values[1::2], *values[-1:]], strict=False):
            nan = self._noted(nan, x, y)
        for x in values:
            signs = self._with_sign(signs, self._lanes.reinterpret(x.value, self._bits))
        return [x.value for x in (*best, nan, signs)]

    def joined(self, carried: Sequence[Value]) -> list[Value]:
        *parts, nan, signs = self._typed(carried)
        while len(parts) > 1:
            odd = parts[len(parts) // 2 * 2 :]
            parts = [self._better(a, b) for a, b in zip(parts[0::2], parts[1::2], strict=False)] + odd
        return [x.value for x in (*parts, nan, signs)]

    def total(self, carried: Sequence[Value]) -> Lane:
        best, nan, signs = self._typed(carried)
        one, wide = self._lanes.scalars(), self._lanes
        found = wide.reduced(best, "max" if self._is_max else "min")
        sign = one.reinterpret(one.constant(-0.0, self._type).value, self._bits)
        zero = one.bit_and(wide.reduced(signs, "and" if self._is_max else "or"), sign)
        exact_zero = one.cast("arith.bitcast", zero, self._type)
        found = one.select(one.compare("eq", found, one.constant(0.0, self._type)), exact_zero, found)
        seen = wide.reduced(nan, "add")
        return one.select(one.compare("ne", seen, seen), seen, found)

    def _typed(self, carried: Sequence[Value]) -> list[Lane]:
        return [*(Lane(x, self._type) for x in carried[:-1]), Lane(carried[-1], self._bits)]

    def _better(self, x: Lane, old: Lane) -> Lane:
        return self._lanes.select(self._lanes.compare("gt" if self._is_max else "lt", x, old), x, old)

    def _noted(self, nan: Lane, x: Lane, y: Lane) -> Lane:
        return self._lanes.select(
            self._lanes.unordered(x, y), self._lanes.constant(float("nan"), self._type), nan
        )

    def _with_sign(self, signs: Lane, bits: Lane) -> Lane:
        return (self._lanes.bit_and if self._is_max else self._lanes.bit_or)(signs, bits)
