"""Code: a cursor that emits loop-level ops.

Index arithmetic folds, constants are pooled at the top of the function, equal pure ops of one scope are made once, and
loops and branches are written as Python functions of their bodies.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from pptc.ir.attrs import Attr, DenseAttr, FloatAttr, IntAttr
from pptc.ir.builder import Builder
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.types import F32, F64, I1, INDEX, ScalarType, Type, VectorType

Index = int | Value
"""An index operand: a number known now, or a value of type index."""

Condition = bool | Value
"""A condition known now, or a value of type i1."""

_Scope = tuple[Block, dict[object, Value]]

_FOLD: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "arith.addi": lambda a, b: a + b,
        "arith.subi": lambda a, b: a - b,
        "arith.muli": lambda a, b: a * b,
        "arith.divsi": lambda a, b: a // b if a >= 0 else -(-a // b),
        "arith.remsi": lambda a, b: a % b if a >= 0 else -(-a % b),
        "arith.divui": lambda a, b: a // b,
        "arith.remui": lambda a, b: a % b,
        "arith.minsi": min,
        "arith.maxsi": max,
    }
)

_COMPARE: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "slt": lambda a, b: a < b,
        "sle": lambda a, b: a <= b,
    }
)


class Code:
    """The cursor of one function. `origin` is the tile-level op that the next ops come from."""

    def __init__(self, entry: Block, origin: Op | None) -> None:
        self.entry = entry
        self._builder = Builder.inside(entry, origin)
        self._constants: dict[tuple[Type, Attr], Value] = {}
        self._last_constant: Op | None = None
        self._scopes: list[_Scope] = [(entry, {})]

    @property
    def origin(self) -> Op | None:
        """The op that new ops inherit their span from."""
        return self._builder.origin

    @origin.setter
    def origin(self, op: Op | None) -> None:
        self._builder.origin = op

    # -- single ops

    def create(
        self,
        name: str,
        operands: Sequence[Value] = (),
        types: Sequence[Type] = (),
        attributes: Mapping[str, Attr] | None = None,
        regions: Sequence[Region] = (),
    ) -> Op:
        """Make an op at the cursor."""
        return self._builder.create(name, operands, types, attributes, regions)

    def value(
        self, name: str, operands: Sequence[Value], type: Type, attributes: Mapping[str, Attr] | None = None
    ) -> Value:
        """The result of an op; a pure one that an enclosing scope has made already is taken from there."""
        key = (name, tuple(operands), type, tuple((attributes or {}).items()))
        for _, known in self._scopes:
            if key in known:
                return known[key]
        op = self._builder.create(name, operands, (type,), attributes)
        if op.definition.pure:
            self._scopes[-1][1][key] = op.result
        return op.result

    # -- constants

    def constant(self, type: Type, value: int | float | bool) -> Value:
        """A pooled constant; a vector type gives a splat."""
        if isinstance(type, VectorType):
            return self.pooled(type, DenseAttr(type, (scalar_attribute(type.elem, value),)))
        assert isinstance(type, ScalarType)
        return self.pooled(type, scalar_attribute(type, value))

    def pooled(self, type: Type, attribute: Attr) -> Value:
        """The constant with this attribute, made once per function."""
        key = (type, attribute)
        if key not in self._constants:
            anchor = self._last_constant.next if self._last_constant else self.entry.first
            origin = self._builder.origin
            made = Builder(self.entry, anchor, origin).create(
                "arith.constant", (), (type,), {"value": attribute}
            )
            self._last_constant, self._constants[key] = made, made.result
        return self._constants[key]

    def index(self, x: Index) -> Value:
        """An index operand as a value."""
        return self.constant(INDEX, x) if isinstance(x, int) else x

    # -- index arithmetic

    def _arith(self, name: str, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return _FOLD[name](a, b)
        known = _identity(name, a, b)
        return self.value(name, (self.index(a), self.index(b)), INDEX) if known is None else known

    def add(self, a: Index, b: Index) -> Index:
        """a + b."""
        return self._arith("arith.addi", a, b)

    def sub(self, a: Index, b: Index) -> Index:
        """a - b."""
        return self._arith("arith.subi", a, b)

    def mul(self, a: Index, b: Index) -> Index:
        """a * b."""
        return self._arith("arith.muli", a, b)

    def div(self, a: Index, b: Index) -> Index:
        """a / b toward zero."""
        return self._arith("arith.divsi", a, b)

    def rem(self, a: Index, b: Index) -> Index:
        """a - b * div(a, b)."""
        return self._arith("arith.remsi", a, b)

    def div_natural(self, a: Index, b: Index) -> Index:
        """a / b rounded down, of numbers that are not negative."""
        return self._arith("arith.divui", a, b)

    def rem_natural(self, a: Index, b: Index) -> Index:
        """a - b * div_natural(a, b)."""
        return self._arith("arith.remui", a, b)

    def min(self, a: Index, b: Index) -> Index:
        """The smaller one."""
        return self._arith("arith.minsi", a, b)

    def max(self, a: Index, b: Index) -> Index:
        """The larger one."""
        return self._arith("arith.maxsi", a, b)

    def floor(self, a: Index, step: int) -> Index:
        """The largest multiple of `step` up to `a`; not above 0 for a negative `a`."""
        return self.mul(self.div(a, step), step)

    def compare(self, predicate: str, a: Index, b: Index) -> Condition:
        """A comparison of indices: eq, ne, slt or sle."""
        if isinstance(a, int) and isinstance(b, int):
            return _COMPARE[predicate](a, b)
        return self.value("arith.cmpi", (self.index(a), self.index(b)), I1, {"predicate": predicate})

    def both(self, a: Condition, b: Condition) -> Condition:
        """Whether both conditions hold."""
        if isinstance(a, bool) or isinstance(b, bool):
            return (b if a else False) if isinstance(a, bool) else (a if b else False)
        return self.value("arith.andi", (a, b), I1)

    # -- structure

    def loop(
        self,
        lower: Index,
        upper: Index,
        step: int,
        body: Callable[[Index, list[Value]], Sequence[Value] | None],
        carried: Sequence[Value] = (),
        attributes: Mapping[str, Attr] | None = None,
    ) -> list[Value]:
        """`for i in lower..upper by step`; the body gets the carried values and returns the next ones.

        A loop of no trip or one trip by its numbers is written without a loop. Returns the last carried values.
        """
        if lower is upper:
            return list(carried)
        if isinstance(lower, int) and isinstance(upper, int):
            if lower >= upper:
                return list(carried)
            if upper - lower <= step:
                return list(body(lower, list(carried)) or ())
        inner = Block([INDEX, *(value.type for value in carried)])
        bounds = [self.index(lower), self.index(upper), self.index(step)]
        op = self.create(
            "scf.for", [*bounds, *carried], [value.type for value in carried], attributes, [Region([inner])]
        )
        with self.inside(inner):
            following = list(body(inner.args[0], inner.args[1:]) or ())
            self.create("scf.yield", following)
        return op.results

    def branch(
        self,
        condition: Condition,
        then: Callable[[], object],
        otherwise: Callable[[], object] | None = None,
    ) -> None:
        """Run one of two bodies; a condition known now leaves only one of them."""
        if isinstance(condition, bool):
            chosen = then if condition else otherwise
            if chosen is not None:
                chosen()
            return
        regions = [Region([Block()]), Region([Block()] if otherwise else [])]
        self.create("scf.if", [condition], (), None, regions)
        for region, body in zip(regions, (then, otherwise), strict=True):
            if body is not None:
                with self.inside(region.block):
                    body()
                    self.create("scf.yield")

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Emit at the end of `block`, whose op stands at the cursor's place."""
        outer = self._builder
        self._builder = Builder.inside(block, outer.origin)
        self._scopes.append((block, {}))
        yield
        self._scopes.pop()
        self._builder = outer

    @contextmanager
    def hoisted(self, block: Block) -> Iterator[None]:
        """Emit in `block`, in front of the op there that encloses the cursor."""
        depth = next(i for i, (scope, _) in enumerate(self._scopes) if scope is block)
        outer, scopes = self._builder, self._scopes
        if depth + 1 < len(scopes):
            region = scopes[depth + 1][0].region
            assert region is not None
            self._builder = Builder(block, region.op, outer.origin)
            self._scopes = scopes[: depth + 1]
        yield
        self._builder, self._scopes = outer, scopes

    @property
    def block(self) -> Block:
        """The block at whose end the cursor stands."""
        return self._builder.block


def scalar_attribute(type: ScalarType, value: int | float | bool) -> IntAttr | FloatAttr | bool:
    """A constant of a compute type, or zero of any type, as an attribute."""
    if type == I1:
        return bool(value)
    if not type.is_float:
        return IntAttr(int(value), type)
    if value == 0 and type not in (F32, F64):
        return FloatAttr(0, type)
    float_format, bits_format = {F32: ("<f", "<I"), F64: ("<d", "<Q")}[type]
    (bits,) = struct.unpack(bits_format, struct.pack(float_format, value))
    return FloatAttr(bits, type)


def _identity(name: str, a: Index, b: Index) -> Index | None:
    """What `a op b` is when it needs no op: one side is 0 or 1, or both are the same value."""
    if name == "arith.addi" and 0 in (a, b):
        return b if a == 0 else a
    if name == "arith.subi" and (b == 0 or a is b):
        return a if b == 0 else 0
    if name == "arith.muli" and (0 in (a, b) or 1 in (a, b)):
        return 0 if 0 in (a, b) else b if a == 1 else a
    if name[6:9] in ("div", "rem") and b == 1:
        return a if name[6:9] == "div" else 0
    if name in ("arith.minsi", "arith.maxsi") and a is b:
        return a
    return None
