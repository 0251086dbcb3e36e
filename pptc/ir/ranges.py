"""What is known of integer values: an interval, and a linear form that tells constant differences.

Index arithmetic is taken to stay within 64 bits; narrower integers whose exact result could wrap are unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pptc.ir.analysis import constant_of
from pptc.ir.core import Block, Op, Value
from pptc.ir.spmd import GRID_OPS, spmd_role
from pptc.ir.types import INDEX, ScalarType

_DEPTH = 32
_INFINITY = 1 << 80


@dataclass(frozen=True, slots=True)
class Range:
    """All integers from `low` to `high`, both included."""

    low: int = -_INFINITY
    high: int = _INFINITY

    @property
    def single(self) -> int | None:
        """The only value, or None."""
        return self.low if self.low == self.high else None

    def clamp(self) -> Range:
        """The same with bounds beyond 2^80 taken as unbounded."""
        return Range(max(self.low, -_INFINITY), min(self.high, _INFINITY))


ANY = Range()
NATURAL = Range(0)

Rule = Callable[[Range, Range], Range]


def _add(a: Range, b: Range) -> Range:
    return Range(a.low + b.low, a.high + b.high)


def _sub(a: Range, b: Range) -> Range:
    return Range(a.low - b.high, a.high - b.low)


def _mul(a: Range, b: Range) -> Range:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(corners), max(corners))


def _max(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high))


def _min(a: Range, b: Range) -> Range:
    return Range(min(a.low, b.low), min(a.high, b.high))


def _div(a: Range, b: Range) -> Range:
    """Quotients of natural numbers, for which all roundings but `ceil` agree."""
    if a.low < 0 or b.low < 1:
        return ANY
    return Range(a.low // b.high, a.high // b.low)


def _ceil_div(a: Range, b: Range) -> Range:
    if a.low < 0 or b.low < 1:
        return ANY
    return Range(-(-a.low // b.high), -(-a.high // b.low))


def _rem(a: Range, b: Range) -> Range:
    if a.low < 0 or b.low < 1:
        return ANY
    return a if a.high < b.low else Range(0, min(a.high, b.high - 1))


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "arith.addi": _add,
        "arith.subi": _sub,
        "arith.muli": _mul,
        "arith.maxsi": _max,
        "arith.minsi": _min,
        "arith.divsi": _div,
        "arith.divui": _div,
        "arith.floordivsi": _div,
        "arith.ceildivsi": _ceil_div,
        "arith.remsi": _rem,
        "arith.remui": _rem,
    }
)
_CASTS = ("arith.index_cast", "arith.extsi", "arith.trunci")


@dataclass
class Ranges:
    """Answers about intervals, each computed once."""

    _known: dict[Value, Range] = field(default_factory=dict)

    def of(self, value: Value, depth: int = _DEPTH) -> Range:
        """The interval in which an integer value lies."""
        if value not in self._known:
            self._known[value] = ANY if depth == 0 else _fitted(self._find(value, depth - 1), value)
        return self._known[value]

    def _find(self, value: Value, depth: int) -> Range:
        if (known := constant_of(value)) is not None:
            return Range(known, known)
        op = value.op
        if op is None:
            return self._argument(value, depth)
        if op.name in _RULES:
            return _RULES[op.name](*(self.of(x, depth) for x in op.operands))
        if op.name in _CASTS and not _is_flag(op.operands[0]):
            return self.of(op.operands[0], depth)
        if op.name in GRID_OPS:
            return NATURAL
        if op.name == "arith.select":
            a, b = (self.of(x, depth) for x in op.operands[1:])
            return Range(min(a.low, b.low), max(a.high, b.high))
        return ANY

    def _argument(self, value: Value, depth: int) -> Range:
        block = value.owner
        assert isinstance(block, Block)
        parent = block.region.op if block.region else None
        if parent is None:
            return ANY
        if parent.name == "scf.for" and value.index == 0:
            return self.induction(parent, depth)
        if parent.name == "func.func" and spmd_role(parent, value.index):
            return NATURAL
        return ANY

    def induction(self, loop: Op, depth: int = _DEPTH) -> Range:
        """The interval of a loop's induction variable inside the loop; its last value is exact for constant bounds."""
        start, stop, step = (self.of(loop.operand(name), depth) for name in ("lower", "upper", "step"))
        if step.low < 1:
            return ANY
        last = stop.high - 1
        if start.single is not None and step.single is not None and last >= start.low:
            last = start.low + (last - start.low) // step.low * step.low
        return Range(start.low, max(last, start.low))

    def trips(self, loop: Op) -> int | None:
        """How often a loop runs when its bounds are constants."""
        start, stop, step = (self.of(loop.operand(name)).single for name in ("lower", "upper", "step"))
        if start is None or stop is None or step is None or step < 1:
            return None
        return max(0, -(-(stop - start) // step))

    def runs(self, loop: Op) -> bool:
        """True when a loop is known to run at least once."""
        return self.of(loop.operand("lower")).high < self.of(loop.operand("upper")).low


def _is_flag(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.bits == 1


def _fitted(found: Range, value: Value) -> Range:
    """`found`, or all values of the type when it does not fit the type."""
    assert isinstance(value.type, ScalarType)
    bits = value.type.bits
    if bits == 1:
        return Range(0, 1)
    if value.type.kind == "uint":
        return ANY
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if found.low >= low and found.high <= high:
        return found
    if bits == INDEX.bits:
        return found.clamp()
    return Range(low, high)


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + the sum of coefficient * value."""

    constant: int
    terms: Mapping[Value, int]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This plus `factor` times the other; terms that vanish are left out."""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * coefficient
        return Linear(self.constant + factor * other.constant, {v: c for v, c in terms.items() if c})

    def scaled(self, factor: int) -> Linear:
        """This times a number."""
        return Linear(0, {}).plus(self, factor)

    def coefficient(self, value: Value) -> int:
        """The factor of one value."""
        return self.terms.get(value, 0)


def linear(value: Value, depth: int = _DEPTH) -> Linear:
    """The linear form of an index value over the values that are not sums, differences or constant multiples."""
    if (known := constant_of(value)) is not None:
        return Linear(known, {})
    op = value.op
    if op is None or depth == 0 or value.type != INDEX:
        return Linear(0, {value: 1})
    if op.name in ("arith.addi", "arith.subi"):
        a, b = (linear(x, depth - 1) for x in op.operands)
        return a.plus(b, 1 if op.name == "arith.addi" else -1)
    if op.name == "arith.muli":
        a, b = (linear(x, depth - 1) for x in op.operands)
        if not b.terms:
            return a.scaled(b.constant)
        if not a.terms:
            return b.scaled(a.constant)
    return Linear(0, {value: 1})


def difference(a: Value, b: Value) -> int | None:
    """a - b when it is a constant, else None."""
    if a is b:
        return 0
    apart = linear(a).plus(linear(b), -1)
    return None if apart.terms else apart.constant


def same_value(a: Value, b: Value) -> bool:
    """True when two index values are known to be equal."""
    return difference(a, b) == 0
