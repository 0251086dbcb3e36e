"""Rules of canonicalize for scalar ops: each finds an equal, simpler value or None.

`simplified` folds constants by the rows' references, then asks what is known of the range, then the rule of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.analysis import constant_of
from pptc.ir.attrs import FloatAttr
from pptc.ir.builder import Builder
from pptc.ir.constants import attribute_value, value_attribute
from pptc.ir.core import Op, Value
from pptc.ir.ranges import Linear, Ranges, difference, linear
from pptc.ir.rewrite import constant
from pptc.ir.types import I1, INDEX, ScalarType

_SUM_DEPTH = 6


@dataclass
class Constants:
    """One `arith.constant` per value, at the top of a function."""

    function: Op

    def __post_init__(self) -> None:
        self._known: dict[tuple[object, object], Value] = {}
        self.adopt()

    def adopt(self) -> bool:
        """Merge all constants of the function into one per value in front of everything else."""
        changed = False
        entry = self.function.body
        for op in list(self.function.walk()):
            if op.name != "arith.constant":
                continue
            key = op.result.type, op.attributes["value"]
            known = self._known.setdefault(key, op.result)
            if known is not op.result:
                op.result.replace_all_uses(known)
                op.erase()
                changed = True
            elif op.block is not entry:
                op.remove()
                entry.insert_before(op, self._place())
                changed = True
        return changed

    def _place(self) -> Op | None:
        op = self.function.body.first
        while op is not None and op.name == "arith.constant":
            op = op.next
        return op

    def get(self, value: int | float | bool, like: Value, origin: Op) -> Value:
        """The constant of the type of `like`."""
        key = like.type, value_attribute(value, like.type)
        found = self._known.get(key)
        if found is None or (found.op is not None and found.op.block is None):
            found = constant(Builder(self.function.body, self._place(), origin), value, like.type)
            self._known[key] = found
        return found


@dataclass
class Facts:
    """What the rules may ask and use."""

    constants: Constants
    ranges: Ranges


Rule = Callable[[Op, Facts], Value | None]


def simplified(op: Op, facts: Facts) -> Value | None:
    """A value equal to the only result of a pure scalar op and simpler, or None."""
    if op.name == "arith.constant" or not isinstance(op.result.type, ScalarType):
        return None
    folded = _folded(op, facts)
    if folded is None and op.result.type.is_integer:
        single = facts.ranges.of(op.result).single
        folded = None if single is None else facts.constants.get(single, op.result, op)
    if folded is not None:
        return folded
    rule = _RULES.get(op.name)
    return rule(op, facts) if rule else None


def _folded(op: Op, facts: Facts) -> Value | None:
    if op.definition.reference is None or not op.operands:
        return None
    makers = [value.op for value in op.operands]
    if any(maker is None or maker.name != "arith.constant" for maker in makers):
        return None
    attributes = [maker.attributes["value"] for maker in makers if maker]
    (first, *_), to = attributes, op.result.type
    if (
        op.name == "arith.bitcast"
        and isinstance(first, FloatAttr)
        and isinstance(to, ScalarType)
        and to.is_integer
    ):
        return facts.constants.get(first.bits, op.result, op)  # without a NumPy scalar in between
    values = [attribute_value(attribute) for attribute in attributes]
    return facts.constants.get(op.definition.reference(op, *values), op.result, op)


# ---------------------------------------------------------------- sums


def _sum(op: Op, facts: Facts) -> Value | None:
    """x + 0, x - x, and for index the shortest form of a sum of at most one term."""
    a, b = op.operands
    if op.name == "arith.subi" and a is b:
        return facts.constants.get(0, op.result, op)
    if constant_of(b) == 0:
        return a
    if op.name == "arith.addi" and constant_of(a) == 0:
        return b
    return _shorter(op, linear(op.result, _SUM_DEPTH), facts) if op.result.type == INDEX else None


def _shorter(op: Op, form: Linear, facts: Facts) -> Value | None:
    if not form.terms:
        return facts.constants.get(form.constant, op.result, op)
    if len(form.terms) > 1:
        return None
    ((term, coefficient),) = form.terms.items()
    if coefficient != 1:
        return None
    if form.constant == 0:
        return term
    if op.name == "arith.addi" and op.operands[0] is term and constant_of(op.operands[1]) == form.constant:
        return None
    offset = facts.constants.get(form.constant, op.result, op)
    return Builder.before(op).value("arith.addi", (term, offset), op.result.type)


def _product(op: Op, facts: Facts) -> Value | None:
    for one, other in (op.operands, op.operands[::-1]):
        known = constant_of(one)
        if known == 1:
            return other
        if known == 0:
            return one
    if op.result.type != INDEX:
        return None
    form = linear(op.result, _SUM_DEPTH)
    if len(form.terms) != 1 or form.constant:
        return None
    ((term, coefficient),) = form.terms.items()
    if term is op.result or (op.operands[0] is term and constant_of(op.operands[1]) == coefficient):
        return None
    factor = facts.constants.get(coefficient, op.result, op)
    return Builder.before(op).value("arith.muli", (term, factor), op.result.type)


def _quotient(op: Op, facts: Facts) -> Value | None:
    """x / 1, and (c x) / c for index."""
    value, divisor = op.operands[0], constant_of(op.operands[1])
    if divisor == 1:
        return value
    if not divisor or value.type != INDEX:
        return None
    form = linear(value, _SUM_DEPTH)
    if form.constant == 0 and len(form.terms) == 1:
        ((term, coefficient),) = form.terms.items()
        return term if coefficient == divisor and facts.ranges.of(value).low >= 0 else None
    return None


def _remainder(op: Op, facts: Facts) -> Value | None:
    """x of a smaller range, and 0 for a multiple of the divisor."""
    value, divisor = op.operands[0], constant_of(op.operands[1])
    if not divisor or divisor < 1:
        return None
    known = facts.ranges.of(value)
    if known.low >= 0 and known.high < divisor:
        return value
    if value.type == INDEX:
        form = linear(value, _SUM_DEPTH)
        if form.constant % divisor == 0 and all(c % divisor == 0 for c in form.terms.values()):
            return facts.constants.get(0, op.result, op)
    return None


# ---------------------------------------------------------------- order


def _extremum(op: Op, facts: Facts) -> Value | None:
    """The operand that is known to win, and one constant bound instead of two."""
    a, b = op.operands
    if op.name == "arith.minsi":
        a, b = b, a  # so that `a` wins when it is the larger one in both
    winner = _larger(a, b, facts, largest=op.name == "arith.maxsi")
    return winner if winner is not None else _one_bound(op, facts)


def _larger(a: Value, b: Value, facts: Facts, largest: bool) -> Value | None:
    apart = difference(a, b) if a.type == INDEX else (0 if a is b else None)
    x, y = facts.ranges.of(a), facts.ranges.of(b)
    if x.low >= y.high or (apart is not None and apart >= 0):
        return a if largest else b
    if y.low >= x.high or (apart is not None and apart <= 0):
        return b if largest else a
    return None


def _one_bound(op: Op, facts: Facts) -> Value | None:
    """min(min(x, 4), 8) = min(x, 4)."""
    pick = min if op.name == "arith.minsi" else max
    for inner, outer in (op.operands, op.operands[::-1]):
        bound = constant_of(outer)
        if bound is None or inner.op is None or inner.op.name != op.name:
            continue
        for x, y in (inner.op.operands, inner.op.operands[::-1]):
            if (known := constant_of(y)) is not None:
                limit = facts.constants.get(pick(bound, known), op.result, op)
                return Builder.before(op).value(op.name, (x, limit), op.result.type)
    return None


_DECIDED: Mapping[str, Callable[[int, int], bool | None]] = MappingProxyType(
    {  # given bounds low and high of a - b
        "slt": lambda low, high: True if high < 0 else False if low >= 0 else None,
        "sle": lambda low, high: True if high <= 0 else False if low > 0 else None,
        "sgt": lambda low, high: True if low > 0 else False if high <= 0 else None,
        "sge": lambda low, high: True if low >= 0 else False if high < 0 else None,
        "eq": lambda low, high: True if low == high == 0 else False if low > 0 or high < 0 else None,
        "ne": lambda low, high: False if low == high == 0 else True if low > 0 or high < 0 else None,
    }
)


def _comparison(op: Op, facts: Facts) -> Value | None:
    predicate = op.attributes["predicate"]
    decide = _DECIDED.get(predicate) if isinstance(predicate, str) else None
    a, b = op.operands
    if decide is None or a.type == I1:
        return None
    apart = difference(a, b) if a.type == INDEX else (0 if a is b else None)
    if apart is not None:
        low = high = apart
    else:
        x, y = facts.ranges.of(a), facts.ranges.of(b)
        low, high = x.low - y.high, x.high - y.low
    known = decide(low, high)
    return None if known is None else facts.constants.get(known, op.result, op)


# ---------------------------------------------------------------- choice and casts


def _choice(op: Op, facts: Facts) -> Value | None:
    condition, a, b = op.operands
    known = constant_of(condition)
    if a is b or known:
        return a
    return b if known == 0 else None


def _round_trip(op: Op, facts: Facts) -> Value | None:
    """A cast there and back again, through a type that holds every value."""
    inner = op.operands[0].op
    if inner is None or inner.name != op.name:
        return None
    source, middle = inner.operands[0], op.operands[0]
    assert isinstance(source.type, ScalarType) and isinstance(middle.type, ScalarType)
    return source if source.type == op.result.type and middle.type.bits >= source.type.bits else None


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "arith.addi": _sum,
        "arith.subi": _sum,
        "arith.muli": _product,
        "arith.divsi": _quotient,
        "arith.divui": _quotient,
        "arith.floordivsi": _quotient,
        "arith.ceildivsi": _quotient,
        "arith.remsi": _remainder,
        "arith.remui": _remainder,
        "arith.maxsi": _extremum,
        "arith.minsi": _extremum,
        "arith.cmpi": _comparison,
        "arith.select": _choice,
        "arith.index_cast": _round_trip,
    }
)
