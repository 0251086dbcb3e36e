"""The facade of llvmlite.ir: the types, constants, attributes and metadata that it lacks, and types of ours in LLVM's.

Everything untyped about llvmlite stays in the files of this package that import this one.
"""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from pptc.ir.attrs import Attr, DenseAttr, FloatAttr, IntAttr
from pptc.ir.types import MemRefType, ScalarType, Type, VectorType

Llvm = Any
"""A type, value, function or builder of llvmlite, which has no type hints."""


class BFloatType(ir.types.Type):  # type: ignore[misc]
    """`bfloat`, which llvmlite does not know."""

    intrinsic_name = "bf16"
    null = "0.0"

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloatType)

    def __hash__(self) -> int:
        return hash(BFloatType)


class Literal(ir.Constant):  # type: ignore[misc]
    """A constant by its text."""

    def __init__(self, type: Llvm, text: str) -> None:
        self.type = type
        self.constant = text

    def _get_reference(self) -> str:
        return str(self.constant)


class QuotedAttributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Function attributes with `"key"="value"` strings and memory(..) beside the known words."""

    def __init__(self, words: tuple[str, ...], strings: tuple[tuple[str, str], ...]) -> None:
        super().__init__(words)
        self._strings = strings

    def _to_list(self, ret_type: Llvm) -> list[str]:
        quoted = [f'"{key}"="{value}"' if value else f'"{key}"' for key, value in self._strings]
        return [*super()._to_list(ret_type), *quoted]


class LoopId(ir.values.MDValue):  # type: ignore[misc]
    """A distinct node that names itself first, as `llvm.loop` asks for."""

    def descr(self, buf: list[str]) -> None:
        """Write the node."""
        operands = ", ".join((self.get_reference(), *(o.get_reference() for o in self.operands)))
        buf.append(f"distinct !{{ {operands} }}\n")


def loop_id(module: Llvm, properties: tuple[str, ...]) -> LoopId:
    """A new loop name with properties such as `llvm.loop.unroll.disable`."""
    nodes = [module.add_metadata([word]) for word in properties]
    return LoopId(module, nodes, name=str(len(module.metadata)))


def poison(type: Llvm) -> Llvm:
    """No particular value of the type."""
    return Literal(type, "poison")


VOID = ir.VoidType()
POINTER = ir.PointerType()
BOOL = ir.IntType(1)
BYTE = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
BFLOAT = BFloatType()
_FLOATS = MappingProxyType({"f32": ir.FloatType(), "f64": ir.DoubleType()})
_NARROW = MappingProxyType({"f16": ir.HalfType(), "bf16": BFLOAT})


def scalar_type(type: ScalarType) -> Llvm:
    """The LLVM type of a scalar. Floats below 32 bits are their bits: LLVM moves those without a library."""
    return _FLOATS.get(type.name) or ir.IntType(type.bits)


def number_type(type: Type) -> Llvm:
    """What instructions that compute with a type take: half and bfloat for the narrow floats."""
    elem = type.elem if isinstance(type, VectorType) else type
    assert isinstance(elem, ScalarType)
    number = _NARROW.get(elem.name) or scalar_type(elem)
    return ir.VectorType(number, type.lanes) if isinstance(type, VectorType) else number


def llvm_type(type: Type) -> Llvm:
    """The LLVM type of a loop-level type."""
    if isinstance(type, MemRefType):
        return POINTER
    if isinstance(type, VectorType):
        return ir.VectorType(scalar_type(type.elem), type.lanes)
    assert isinstance(type, ScalarType)
    return scalar_type(type)


def memory_type(type: ScalarType) -> Llvm:
    """The type that an element has in memory: i1 takes a byte."""
    return BYTE if type.bits == 1 else scalar_type(type)


def suffix(type: Llvm) -> str:
    """What an overloaded intrinsic's name says of a type: f32, v16f32, i64, p0."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{type.element.intrinsic_name}"
    return str(type.intrinsic_name)


def constant(attr: Attr, type: Type) -> Llvm:
    """The LLVM constant of an attribute."""
    if isinstance(attr, DenseAttr):
        assert isinstance(type, VectorType)
        items = [constant(item, type.elem) for item in attr.values]
        return splat_constant(items[0], type.lanes) if len(items) == 1 else vector_constant(items)
    if isinstance(attr, FloatAttr):
        return float_constant(attr.bits, attr.type)
    assert isinstance(attr, bool | IntAttr) and isinstance(type, ScalarType)
    value = attr if isinstance(attr, bool) else attr.value
    return int_constant(int(value), scalar_type(type))


def int_constant(value: int, type: Llvm) -> Llvm:
    """An integer, or a vector with it in every lane."""
    if isinstance(type, ir.VectorType):
        return splat_constant(int_constant(value, type.element), type.count)
    low = value & ((1 << type.width) - 1)
    return ir.Constant(type, low - (1 << type.width) if low >> (type.width - 1) else low)


def vector_constant(items: list[Llvm]) -> Llvm:
    """A vector of constants."""
    return ir.Constant(ir.VectorType(items[0].type, len(items)), items)


def splat_constant(item: Llvm, lanes: int) -> Llvm:
    """A vector with one constant in every lane."""
    return Literal(ir.VectorType(item.type, lanes), f"splat ({item.type} {item.get_reference()})")


def float_constant(bits: int, type: ScalarType) -> Llvm:
    """A float by its bits, which LLVM writes as those of the f64 equal to it."""
    if type.bits < 32:
        return int_constant(bits, scalar_type(type))
    return Literal(scalar_type(type), f"0x{bits if type.bits == 64 else _double_bits(bits):016X}")


def _double_bits(bits: int) -> int:
    """The bits of the f64 equal to an f32; of a NaN, sign and payload stay."""
    if bits & 0x7F800000 == 0x7F800000:
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    (wide,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(wide)
