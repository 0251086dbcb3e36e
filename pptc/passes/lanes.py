"""Arithmetic on scalars or vectors of one length: the builder that the expansions of math and narrow floats share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pptc.ir.attrs import Attr, DenseAttr, FloatAttr, IntAttr
from pptc.ir.builder import Builder
from pptc.ir.core import Op, Value
from pptc.ir.floats import encode
from pptc.ir.loop_rules import lanes_of, shaped_like
from pptc.ir.machine import Machine
from pptc.ir.types import F32, I1, I32, ScalarType, Type, VectorType

Element = IntAttr | FloatAttr | bool


@dataclass
class ConstantPool:
    """Constants of one function, each made once at its start."""

    function: Op
    _known: dict[tuple[Type, Element], Value] = field(default_factory=dict)

    def get(self, type: Type, attr: Element) -> Value:
        """The constant of an element attribute, in every lane when the type is a vector."""
        key = (type, attr)
        if key not in self._known:
            block = self.function.body
            builder = Builder(block, block.first, self.function)
            value: Attr = DenseAttr(type, (attr,)) if isinstance(type, VectorType) else attr
            self._known[key] = builder.value("arith.constant", (), type, {"value": value})
        return self._known[key]


class Lanes:
    """Makes ops in front of `anchor` on values with as many lanes as `shape`.

    Floats are f32 and integers i32 where nothing else is said.
    """

    def __init__(self, anchor: Op, shape: Type, machine: Machine, pool: ConstantPool) -> None:
        self.builder = Builder.before(anchor)
        self.shape = shape
        self.machine = machine
        self.pool = pool

    def type(self, elem: ScalarType) -> Type:
        """The type of values with this element."""
        return shaped_like(self.shape, elem)

    def number(self, value: float, elem: ScalarType = F32) -> Value:
        """A float constant."""
        return self.pool.get(self.type(elem), FloatAttr(encode(value, elem), elem))

    def bits(self, value: int, elem: ScalarType = I32) -> Value:
        """An integer constant."""
        low = value & ((1 << elem.bits) - 1)
        signed = low - (1 << elem.bits) if low >> (elem.bits - 1) else low
        return self.pool.get(self.type(elem), IntAttr(signed, elem))

    def op(
        self,
        name: str,
        *operands: Value,
        to: ScalarType | None = None,
        attributes: Mapping[str, Attr] | None = None,
    ) -> Value:
        """The op `name`; its result has the element of the first operand, or `to`."""
        elem = to or lanes_of(operands[0].type)
        assert elem is not None
        return self.builder.value(name, operands, self.type(elem), attributes)

    def add(self, a: Value, b: Value) -> Value:
        """Float sum."""
        return self.op("arith.addf", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """Float difference."""
        return self.op("arith.subf", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """Float product."""
        return self.op("arith.mulf", a, b)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, in one rounding where the machine has it."""
        if "fma" in self.machine.native:
            return self.op("math.fma", a, b, c)
        return self.add(self.mul(a, b), c)

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """Horner's scheme; the coefficients start with the constant one."""
        elem = lanes_of(x.type)
        assert elem is not None
        *lower, last = [self.number(c, elem) for c in coefficients]
        for coefficient in reversed(lower):
            last = self.fma(last, x, coefficient)
        return last

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """A float comparison, or for predicates such as slt an integer one."""
        elem = lanes_of(a.type)
        name = "arith.cmpf" if elem is not None and elem.is_float else "arith.cmpi"
        return self.op(name, a, b, to=I1, attributes={"predicate": predicate})

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b."""
        elem = lanes_of(a.type)
        return self.op("arith.select", condition, a, b, to=elem)

    def cast(self, value: Value, to: ScalarType) -> Value:
        """The same bits as another type."""
        return value if lanes_of(value.type) == to else self.op("arith.bitcast", value, to=to)

    def at_most(self, x: Value, limit: Value) -> Value:
        """The smaller one; a NaN x stays (in the order of operands that x86's minimum has)."""
        return self.select(self.compare("ogt", x, limit), limit, x)

    def at_least(self, x: Value, limit: Value) -> Value:
        """The larger one; a NaN x stays."""
        return self.select(self.compare("olt", x, limit), limit, x)
