"""Lanes: the recipes' vocabulary (`Scalars`) on the loop level, for scalars (width 1) or vectors.

Elements are computed in their compute type; loads widen to it, `rounded` and stores narrow to the element type.
All integers of the loop level are signless: what is unsigned is known by the `type` of a `Lane` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType

from pptc.ir.attrs import UNIT
from pptc.ir.core import Value
from pptc.ir.scalars import Predicate, compute_type
from pptc.ir.types import I1, I8, I16, I32, I64, ScalarType, Type, VectorType
from pptc.passes.lower_tiles import conversions
from pptc.passes.lower_tiles.code import Code, Index

_SIGNLESS: Mapping[int, ScalarType] = MappingProxyType({8: I8, 16: I16, 32: I32, 64: I64})
_FLOAT_PREDICATES = MappingProxyType(
    {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
)


def storage_type(elem: ScalarType) -> ScalarType:
    """The loop level's type of an element: integers lose their sign."""
    return _SIGNLESS[elem.bits] if elem.kind == "uint" or elem.name.startswith("si") else elem


@dataclass(frozen=True, slots=True)
class Lane:
    """A value in a compute type.

    `narrow` is the same value in its element type, `row` the scalar that it repeats in every lane.
    """

    value: Value
    type: ScalarType
    narrow: Value | None = None
    row: Lane | None = None


@dataclass(frozen=True)
class Lanes:
    """Arithmetic `width` elements at a time. See `Scalars` for what the operations mean.

    With `reciprocal`, a division by a value that a row has once is a multiplication by its reciprocal, which is
    computed where `hoisted` puts the cursor.
    """

    code: Code
    width: int
    reciprocal: bool = False
    hoisted: Callable[[], AbstractContextManager[None]] = nullcontext

    # -- types and constants

    def scalars(self) -> Lanes:
        """The same for one element."""
        return replace(self, width=1)

    def shaped(self, elem: ScalarType) -> Type:
        """The loop level's type of `width` elements."""
        return storage_type(elem) if self.width == 1 else VectorType(self.width, storage_type(elem))

    def type_of(self, x: Lane) -> ScalarType:
        return x.type

    def const(self, value: float | int, like: Lane) -> Lane:
        return self.constant(value, like.type)

    def constant(self, value: float | int, type: ScalarType) -> Lane:
        """A constant of a compute type."""
        return Lane(self.code.constant(self.shaped(type), value), type)

    def splat(self, scalar: Lane) -> Lane:
        """A scalar in every lane; made once, where invariant values stand."""
        if self.width == 1:
            return scalar
        with self.hoisted():
            value = self.code.value("vector.broadcast", (scalar.value,), self.shaped(scalar.type))
        return Lane(value, scalar.type, row=scalar)

    # -- arithmetic

    def _op(self, name: str, *operands: Lane, type: ScalarType | None = None) -> Lane:
        type = type or operands[0].type
        return Lane(self.code.value(name, [x.value for x in operands], self.shaped(type)), type)

    def _pick(self, a: Lane, floating: str, integer: str) -> str:
        return floating if a.type.is_float else integer

    def _signed(self, a: Lane, stem: str) -> str:
        return f"{stem}{'u' if a.type.kind == 'uint' else 's'}i"

    def add(self, a: Lane, b: Lane) -> Lane:
        return self._op(self._pick(a, "arith.addf", "arith.addi"), a, b)

    def sub(self, a: Lane, b: Lane) -> Lane:
        return self._op(self._pick(a, "arith.subf", "arith.subi"), a, b)

    def mul(self, a: Lane, b: Lane) -> Lane:
        return self._op(self._pick(a, "arith.mulf", "arith.muli"), a, b)

    def div(self, a: Lane, b: Lane) -> Lane:
        if not a.type.is_float:
            return self._op("arith.divui" if a.type.kind == "uint" else "arith.divsi", a, b)
        if not self.reciprocal or b.row is None:
            return self._op("arith.divf", a, b)
        with self.hoisted():
            one = self.scalars()
            inverse = one._op("arith.divf", one.constant(1.0, b.type), b.row)
        return self.mul(a, self.splat(inverse))

    def max(self, a: Lane, b: Lane) -> Lane:
        return self._op(self._pick(a, "arith.maximumf", self._signed(a, "arith.max")), a, b)

    def min(self, a: Lane, b: Lane) -> Lane:
        return self._op(self._pick(a, "arith.minimumf", self._signed(a, "arith.min")), a, b)

    def neg(self, a: Lane) -> Lane:
        return self._op("arith.negf", a) if a.type.is_float else self.sub(self.const(0, a), a)

    def abs(self, a: Lane) -> Lane:
        if a.type.kind == "uint":
            return a
        return self._op(self._pick(a, "math.absf", "math.absi"), a)

    def fma(self, a: Lane, b: Lane, c: Lane) -> Lane:
        if a.type.is_float:
            return self._op("math.fma", a, b, c)
        return self.add(self.mul(a, b), c)

    def exp(self, a: Lane) -> Lane:
        return self._op("math.exp", a)

    def log(self, a: Lane) -> Lane:
        return self._op("math.log", a)

    def tanh(self, a: Lane) -> Lane:
        return self._op("math.tanh", a)

    def sqrt(self, a: Lane) -> Lane:
        return self._op("math.sqrt", a)

    def rsqrt(self, a: Lane) -> Lane:
        return self._op("math.rsqrt", a)

    # -- choice and bits

    def compare(self, predicate: Predicate, a: Lane, b: Lane) -> Lane:
        if a.type.is_float:
            name, word = "arith.cmpf", _FLOAT_PREDICATES[predicate]
        else:
            sign = "" if predicate in ("eq", "ne") else "u" if a.type.kind == "uint" else "s"
            name, word = "arith.cmpi", sign + predicate
        return Lane(self.code.value(name, (a.value, b.value), self.shaped(I1), {"predicate": word}), I1)

    def unordered(self, a: Lane, b: Lane) -> Lane:
        """Whether one of two floats is a NaN."""
        return Lane(
            self.code.value("arith.cmpf", (a.value, b.value), self.shaped(I1), {"predicate": "uno"}), I1
        )

    def select(self, condition: Lane, a: Lane, b: Lane) -> Lane:
        return self._op("arith.select", condition, a, b, type=a.type)

    def bit_and(self, a: Lane, b: Lane) -> Lane:
        return self._op("arith.andi", a, b)

    def bit_or(self, a: Lane, b: Lane) -> Lane:
        return self._op("arith.ori", a, b)

    def bit_xor(self, a: Lane, b: Lane) -> Lane:
        return self._op("arith.xori", a, b)

    def shift_left(self, a: Lane, b: Lane) -> Lane:
        return self._op("arith.shli", a, b)

    def shift_right(self, a: Lane, b: Lane) -> Lane:
        return self._op("arith.shrui" if a.type.kind == "uint" else "arith.shrsi", a, b)

    def convert(self, a: Lane, to: ScalarType, rounding: str, saturate: bool) -> Lane:
        return conversions.convert(self, a, to, rounding, saturate)

    # -- between the element type and the compute type

    def widen(self, value: Value, elem: ScalarType) -> Lane:
        """A value in an element type, as a lane of its compute type."""
        wide = compute_type(elem)
        if wide == elem:
            return Lane(value, elem, narrow=value)
        return Lane(self.code.value("arith.extf", (value,), self.shaped(wide)), wide, narrow=value)

    def narrow(self, x: Lane, elem: ScalarType) -> Value:
        """The value in the element type, rounded to nearest even."""
        if x.narrow is not None and x.narrow.type == self.shaped(elem):
            return x.narrow
        return self.truncated(x, elem)

    def truncated(self, x: Lane, elem: ScalarType) -> Value:
        """Like `narrow`, of a value that is not known to be in the element type."""
        if x.type == elem or not elem.is_float:
            return x.value
        return self.code.value("arith.truncf", (x.value,), self.shaped(elem))

    def rounded(self, x: Lane, elem: ScalarType) -> Lane:
        """The value as a tile of `elem` would give it back."""
        return x if compute_type(elem) == elem else self.widen(self.narrow(x, elem), elem)

    def cast(self, name: str, a: Lane, to: ScalarType) -> Lane:
        """One op that makes a value of `to` from one operand."""
        return self._op(name, a, type=to)

    def reinterpret(self, value: Value, to: ScalarType) -> Lane:
        """The bits of a value as an integer of its width."""
        return Lane(self.code.value("arith.bitcast", (value,), self.shaped(to)), to)

    def copysign(self, a: Lane, sign: Lane) -> Lane:
        """`a` with the sign of another value."""
        return self._op("math.copysign", a, sign)

    def reduced(self, vector: Lane, kind: str) -> Lane:
        """All lanes of a vector combined: add, mul, max, min, and, or."""
        if kind in ("max", "min"):
            kind = f"{kind}imumf" if vector.type.is_float else self._signed(vector, kind)
        value = self.code.value(
            "vector.reduction", (vector.value,), storage_type(vector.type), {"kind": kind}
        )
        return Lane(value, vector.type)

    # -- memory

    def load_raw(self, memory: Value, index: Index, elem: ScalarType, mask: Value | None = None) -> Value:
        """Elements from `index` on, in their own type; lanes that the mask leaves out are zero."""
        type, at = self.shaped(elem), self.code.index(index)
        if self.width == 1:
            return self.code.value("memref.load", (memory, at), type)
        if mask is None:
            return self.code.value("vector.load", (memory, at), type)
        return self.code.value("vector.maskedload", (memory, at, mask, self.code.constant(type, 0)), type)

    def load(self, memory: Value, index: Index, elem: ScalarType, mask: Value | None = None) -> Lane:
        """Elements from `index` on as lanes of their compute type."""
        return self.widen(self.load_raw(memory, index, elem, mask), elem)

    def store(
        self,
        x: Lane,
        memory: Value,
        index: Index,
        elem: ScalarType,
        mask: Value | None = None,
        streamed: bool = False,
    ) -> None:
        """Round to the element type and write the lanes that the mask names; `streamed`, all, past the caches."""
        value, at = self.narrow(x, elem), self.code.index(index)
        if self.width == 1:
            self.code.create("memref.store", (value, memory, at))
        elif mask is None:
            self.code.create(
                "vector.store", (value, memory, at), (), {"nontemporal": UNIT} if streamed else {}
            )
        else:
            self.code.create("vector.maskedstore", (memory, at, mask, value))

    def mask(self, count: Index) -> Value:
        """True in the lanes below `count`."""
        return self.code.value("vector.create_mask", (self.code.index(count),), VectorType(self.width, I1))
