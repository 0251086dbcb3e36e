"""Attribute values. Python's bool, str, and these frozen classes; all hashable and compared by value."""

from __future__ import annotations

from dataclasses import dataclass

from pptc.ir.symbols import Dim
from pptc.ir.types import ScalarType, Type


@dataclass(frozen=True, slots=True)
class IntAttr:
    """An integer literal; `type` is None where the text has none (`split = 1`)."""

    value: int
    type: ScalarType | None = None


@dataclass(frozen=True, slots=True)
class FloatAttr:
    """A float literal by its exact bits in `type` (so that NaN and -0 compare and print)."""

    bits: int
    type: ScalarType


@dataclass(frozen=True, slots=True)
class EnumAttr:
    """`#pto.NAME<VALUE>` (dotted) or `#pto<NAME VALUE>` (spaced). `value` is the word."""

    name: str
    value: str
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class SymbolAttr:
    """`@name`."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeAttr:
    """A type used as a value."""

    type: Type


@dataclass(frozen=True, slots=True)
class ArrayAttr:
    """`array<i64: 1, 2>`."""

    elem: ScalarType
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DenseAttr:
    """`dense<..> : type`; `values` are FloatAttr or IntAttr bits in row-major order, one of them for a splat."""

    type: Type
    values: tuple[IntAttr | FloatAttr | bool, ...]


@dataclass(frozen=True, slots=True)
class ListAttr:
    """`[a, b, ..]`."""

    items: tuple[Attr, ...]


@dataclass(frozen=True, slots=True)
class DictAttr:
    """`{a = 1, b}` in the order of the text."""

    entries: tuple[tuple[str, Attr], ...]

    def get(self, key: str) -> Attr | None:
        """The value of `key`, or None."""
        return next((value for name, value in self.entries if name == key), None)


@dataclass(frozen=True, slots=True)
class DimAttr:
    """`#core.dim<P+T>`: a symbolic extent; `(P+T)` within a list of sizes."""

    dim: Dim


@dataclass(frozen=True, slots=True)
class UnitAttr:
    """A key without a value."""


@dataclass(frozen=True, slots=True)
class OpaqueAttr:
    """An attribute of a foreign dialect, kept by its text."""

    text: str


UNIT = UnitAttr()

Attr = (
    bool | str | IntAttr | FloatAttr | EnumAttr | SymbolAttr | TypeAttr | ArrayAttr | DenseAttr | ListAttr | DictAttr
    | DimAttr | UnitAttr | OpaqueAttr
)  # fmt: skip
