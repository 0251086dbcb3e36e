"""Operand kinds, type rules and result types shared by the rows of arith, math, memref and vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pptc.ir.core import Op
from pptc.ir.opdef import Kind, Problem, Rule
from pptc.ir.types import I1, MemRefType, ScalarType, Type, VectorType


def lanes_of(type: Type) -> ScalarType | None:
    """The element of a scalar or vector; None for every other type."""
    if isinstance(type, ScalarType):
        return type
    return type.elem if isinstance(type, VectorType) else None


def shaped_like(type: Type, elem: ScalarType) -> Type:
    """`elem`, in as many lanes as `type` has."""
    return VectorType(type.lanes, elem, type.scalable) if isinstance(type, VectorType) else elem


def _lanes(accepts: Callable[[ScalarType], bool]) -> Callable[[Type], bool]:
    def check(type: Type) -> bool:
        elem = lanes_of(type)
        return elem is not None and accepts(elem)

    return check


def _vector(accepts: Callable[[ScalarType], bool]) -> Callable[[Type], bool]:
    return lambda type: isinstance(type, VectorType) and accepts(type.elem)


def is_signless(elem: ScalarType) -> bool:
    """True for index and the integers whose sign the op decides."""
    return elem.kind in ("int", "index") and not elem.name.startswith("si")


ANY = Kind("any value", lambda type: True)
SCALAR = Kind("a scalar", lambda type: isinstance(type, ScalarType))
LANES = Kind("a scalar or a vector", _lanes(lambda elem: True))
INTEGER = Kind("a signless integer, an index or a vector of them", _lanes(is_signless))
FLOAT = Kind("a float or a vector of floats", _lanes(lambda elem: elem.is_float))
BOOLEAN = Kind("i1 or a vector of i1", _lanes(lambda elem: elem == I1))
INDEX_VALUE = Kind("an index", lambda type: isinstance(type, ScalarType) and type.kind == "index")
MEMORY = Kind("a memref of rank 1", lambda type: isinstance(type, MemRefType) and len(type.dims) == 1)
VECTOR = Kind("a vector", _vector(lambda elem: True))
MASK = Kind("a vector of i1", _vector(lambda elem: elem == I1))


def same_type(*names: str) -> Rule:
    """The operand groups and results named have one type (`result` is the first result)."""

    def check(op: Op) -> Iterator[Problem]:
        first = _typed(op, names[0])
        for name in names[1:]:
            if _typed(op, name) != first:
                yield Problem("P0201", f"{name} and {names[0]} must have one type", _operand(op, name))

    return check


def same_lanes(*names: str) -> Rule:
    """The values named are all scalars, or vectors of one length."""

    def check(op: Op) -> Iterator[Problem]:
        first = _lane_count(_typed(op, names[0]))
        for name in names[1:]:
            if _lane_count(_typed(op, name)) != first:
                yield Problem("P0205", f"{name} and {names[0]} must have as many lanes", _operand(op, name))

    return check


def same_element(*names: str) -> Rule:
    """The values named (memrefs, vectors, scalars) have one element type."""

    def check(op: Op) -> Iterator[Problem]:
        first = _element(_typed(op, names[0]))
        for name in names[1:]:
            if _element(_typed(op, name)) != first:
                yield Problem(
                    "P0204", f"{name} and {names[0]} must have one element type", _operand(op, name)
                )

    return check


def type_like(name: str) -> Callable[[Op], tuple[Type, ...]]:
    """The result has the type of the operand `name`."""
    return lambda op: (op.operand(name).type,)


def element_like(name: str) -> Callable[[Op], tuple[Type, ...]]:
    """The result is one element of the operand `name`."""

    def infer(op: Op) -> tuple[Type, ...]:
        elem = _element(op.operand(name).type)
        return (elem,) if elem else ()

    return infer


def flags_like(name: str) -> Callable[[Op], tuple[Type, ...]]:
    """The result is i1 in the lanes of the operand `name`."""
    return lambda op: (shaped_like(op.operand(name).type, I1),)


def _typed(op: Op, name: str) -> Type:
    return op.result.type if name == "result" else op.operand(name).type


def _operand(op: Op, name: str) -> str | None:
    return None if name == "result" else name


def _lane_count(type: Type) -> tuple[int, bool]:
    return (type.lanes, type.scalable) if isinstance(type, VectorType) else (1, False)


def _element(type: Type) -> ScalarType | None:
    return type.elem if isinstance(type, MemRefType) else lanes_of(type)
