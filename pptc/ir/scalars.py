"""The vocabulary of element recipes: what one destination element may say about its source elements.

A recipe is a function of a `Scalars` and values. It is run on the loop-level builder to make code, and on NumPy by the
tests. Values are already in the *compute type*: f32 for f16, bf16 and the 8-bit floats, the element type otherwise; the
caller rounds the result to the destination's element type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar

from pptc.ir.types import F32, F64, ScalarType

V = TypeVar("V")
Predicate = Literal["eq", "ne", "lt", "le", "gt", "ge"]
Recipe = Callable[..., Any]


def compute_type(elem: ScalarType) -> ScalarType:
    """The type that elements are computed in: f32 for every narrower float, otherwise their own."""
    return F32 if elem.is_float and elem != F64 else elem


class Scalars(Protocol[V]):
    """Arithmetic on elements of one type; integers wrap. NaN compares false except `ne`."""

    def type_of(self, x: V) -> ScalarType:
        """The compute type of a value."""

    def const(self, value: float | int, like: V) -> V:
        """A constant of the type of `like`."""

    def add(self, a: V, b: V) -> V: ...
    def sub(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V: ...

    def div(self, a: V, b: V) -> V:
        """IEEE division; integers truncate toward zero, x / 0 is 0 and MIN / -1 wraps."""

    def max(self, a: V, b: V) -> V:
        """The larger one; a NaN wins (IEEE maximum), +0 beats -0."""

    def min(self, a: V, b: V) -> V:
        """The smaller one; a NaN wins (IEEE minimum), -0 beats +0."""

    def neg(self, a: V) -> V: ...
    def abs(self, a: V) -> V: ...

    def fma(self, a: V, b: V, c: V) -> V:
        """a * b + c, in one rounding where the machine has it."""

    def exp(self, a: V) -> V: ...
    def log(self, a: V) -> V: ...
    def tanh(self, a: V) -> V: ...
    def sqrt(self, a: V) -> V: ...

    def rsqrt(self, a: V) -> V:
        """1 / sqrt(a): correctly rounded sqrt, then division."""

    def compare(self, predicate: Predicate, a: V, b: V) -> V:
        """An i1 value."""

    def select(self, condition: V, a: V, b: V) -> V: ...
    def bit_and(self, a: V, b: V) -> V: ...
    def bit_or(self, a: V, b: V) -> V: ...
    def bit_xor(self, a: V, b: V) -> V: ...
    def shift_left(self, a: V, b: V) -> V: ...

    def shift_right(self, a: V, b: V) -> V:
        """Arithmetic for signless integers, logical for unsigned ones."""

    def convert(self, a: V, to: ScalarType, rounding: str, saturate: bool) -> V:
        """A value of the compute type of `to` that `to` can hold exactly.

        `rounding` is a round_mode word of PTO (NONE RINT ROUND FLOOR CEIL TRUNC ODD CAST_RINT). `saturate` clamps to
        the range of `to`; otherwise integers wrap and floats overflow to infinity. NaN becomes integer 0.
        """
