"""What an element op costs, in additions: its recipe run on a counter instead of values."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.core import Op
from pptc.ir.kinds import keywords, sources
from pptc.ir.opdef import Map
from pptc.ir.scalars import Predicate, compute_type
from pptc.ir.types import F32, ScalarType, element_type

_DIVISION = 5
_ROOT = 5
_SERIES = 12
"""Of exp, log and tanh: a polynomial and the handling of its edges."""


@dataclass
class _Counter:
    """A `Scalars` whose values are their types."""

    total: int = 0

    def _count(self, type: ScalarType, weight: int = 1) -> ScalarType:
        self.total += weight
        return type

    def type_of(self, x: ScalarType) -> ScalarType:
        return x

    def const(self, value: float | int, like: ScalarType) -> ScalarType:
        return like

    def add(self, a: ScalarType, b: ScalarType) -> ScalarType:
        return self._count(a)

    sub = mul = max = min = bit_and = bit_or = bit_xor = shift_left = shift_right = add

    def div(self, a: ScalarType, b: ScalarType) -> ScalarType:
        return self._count(a, _DIVISION)

    def neg(self, a: ScalarType) -> ScalarType:
        return self._count(a)

    abs = neg

    def fma(self, a: ScalarType, b: ScalarType, c: ScalarType) -> ScalarType:
        return self._count(a)

    def exp(self, a: ScalarType) -> ScalarType:
        return self._count(a, _SERIES)

    log = tanh = exp

    def sqrt(self, a: ScalarType) -> ScalarType:
        return self._count(a, _ROOT)

    def rsqrt(self, a: ScalarType) -> ScalarType:
        return self._count(a, _ROOT + _DIVISION)

    def compare(self, predicate: Predicate, a: ScalarType, b: ScalarType) -> ScalarType:
        return self._count(a)

    def select(self, condition: ScalarType, a: ScalarType, b: ScalarType) -> ScalarType:
        return self._count(a)

    def convert(self, a: ScalarType, to: ScalarType, rounding: str, saturate: bool) -> ScalarType:
        return self._count(compute_type(to))


def cost_of(op: Op) -> int:
    """How many additions one element of an element-wise op is worth; 1 for a move."""
    meaning = op.definition.meaning
    if not isinstance(meaning, Map):
        return 1
    counter = _Counter()
    values = [compute_type(element_type(value.type) or F32) for value, _ in sources(op, meaning)]
    meaning.recipe(counter, *values, **keywords(op, meaning))
    return max(1, counter.total)
