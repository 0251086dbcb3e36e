"""Type rules of the core level: one derivation per op gives its result types, for the text that leaves them out and
for the check of the text that writes them.

A derivation is a function of the op that returns the result types or raises `Refusal`; where the written result says
more than the operands do (the shape of a reshape), it looks at that too. Shapes themselves are in `core_shapes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pptc.ir.attrs import UNIT, ArrayAttr, Attr, DenseAttr, DimAttr, FloatAttr, IntAttr, ListAttr, UnitAttr
from pptc.ir.core import Op, Value
from pptc.ir.core_shapes import Refusal
from pptc.ir.opdef import EXACT, Attribute, Kind, OpDef, Operand, Problem, Result, Rule, Tolerance
from pptc.ir.spell import print_type
from pptc.ir.symbols import Dim, mul
from pptc.ir.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    UI8,
    UI16,
    UI32,
    UI64,
    ScalarType,
    StateType,
    TensorType,
    Type,
)

Derivation = Callable[[Op], tuple[Type, ...]]

FLOATS = (F16, BF16, F32, F64)
SIGNED = (I8, I16, I32, I64)
INTEGERS = (*SIGNED, UI8, UI16, UI32, UI64)
NUMBERS = FLOATS + INTEGERS
ELEMENTS = (I1, *NUMBERS, F8E4M3FN, F8E5M2)
"""Every element type of a tensor; the 8-bit floats are storage: they move and convert, nothing else."""

DERIVED = "derived-results"
"""The trait of rows whose result types follow from the operands, so that a text may leave them out."""


# ---------------------------------------------------------------- kinds


def tensor_of(words: str, *elements: ScalarType) -> Kind:
    """Tensors of some element types."""
    return Kind(words, lambda type: isinstance(type, TensorType) and type.elem in elements)


TENSOR = tensor_of("a tensor", *ELEMENTS)
NUMBER_TENSOR = tensor_of("a tensor of numbers", *NUMBERS)
FLOAT_TENSOR = tensor_of("a tensor of floats", *FLOATS)
INTEGER_TENSOR = tensor_of("a tensor of integers", *INTEGERS)
LOGIC_TENSOR = tensor_of("a tensor of integers or i1", I1, *INTEGERS)
BOOL_TENSOR = tensor_of("a tensor of i1", I1)
INDEX_TENSOR = tensor_of("a tensor of i32 or i64", I32, I64)
CODE_TENSOR = tensor_of("a tensor of i8", I8)
SUM_TENSOR = tensor_of("a tensor of i32", I32)
F32_TENSOR = tensor_of("a tensor of f32", F32)
STATE = Kind("a state", lambda type: isinstance(type, StateType) and type.elem in ELEMENTS)
SHAPED = Kind("a tensor or a state", lambda type: TENSOR.accepts(type) or STATE.accepts(type))
SCALAR = Kind("a scalar", lambda type: isinstance(type, ScalarType))
INDEX_SCALAR = Kind("an index", lambda type: type == INDEX)
LAUNCHED = Kind("a tensor or a scalar", lambda type: TENSOR.accepts(type) or isinstance(type, ScalarType))


# ---------------------------------------------------------------- derivations


def infer_by(derive: Derivation) -> Callable[[Op], tuple[Type, ...]]:
    """The `infer` of a row. What is refused keeps the types it has, or gets that of the first operand, and
    `checked_by` reports it.
    """

    def infer(op: Op) -> tuple[Type, ...]:
        try:
            return derive(op)
        except Refusal:
            written = tuple(result.type for result in op.results)
            return written or tuple(value.type for value in op.operands[:1]) * len(op.definition.results)

    return infer


def checked_by(derive: Derivation) -> Rule:
    """The rule that the results have the types that `derive` gives."""

    def check(op: Op) -> Iterator[Problem]:
        try:
            expected = derive(op)
        except Refusal as refusal:
            if refusal.problem is not None:
                yield refusal.problem
            return
        if len(expected) != len(op.results):
            yield Problem("P0202", f"{op.name} has {len(expected)} results here, not {len(op.results)}")
        for type, result in zip(expected, op.results, strict=False):
            yield from _difference(type, result)

    return check


def _difference(expected: Type, result: Value) -> Iterator[Problem]:
    if result.type == expected:
        return
    code = "P0201"
    if isinstance(expected, TensorType) and isinstance(result.type, TensorType):
        code = "P0204" if expected.elem != result.type.elem else "P0205"
    yield Problem(code, f"the result is {print_type(expected)}, not {print_type(result.type)}")


def tensor(op: Op, name: str) -> TensorType:
    """The type of a tensor operand; refused silently when it is none, since its kind is checked elsewhere."""
    values = op.group(name)
    type = values[0].type if len(values) == 1 else None
    if not isinstance(type, TensorType):
        raise Refusal
    return type


def result_tensor(op: Op, index: int = 0) -> TensorType:
    """The written type of a result."""
    type = op.results[index].type if index < len(op.results) else None
    if not isinstance(type, TensorType):
        raise Refusal
    return type


def tensors(op: Op, name: str) -> list[TensorType]:
    """The types of a group of tensors."""
    types = [value.type for value in op.group(name)]
    if not all(isinstance(type, TensorType) for type in types):
        raise Refusal
    return [type for type in types if isinstance(type, TensorType)]


def same_elements(op: Op, *names: str) -> ScalarType:
    """The one element type of some operands."""
    first = tensor(op, names[0]).elem
    for name in names[1:]:
        elem = tensor(op, name).elem
        if elem != first:
            raise Refusal(
                "P0204",
                f"{names[0]} is made of {first.name} and {name} of {elem.name}",
                name,
                "there is no implicit promotion: use core.cast",
            )
    return first


# ---------------------------------------------------------------- attributes


def integer(op: Op, name: str) -> int | None:
    """The value of an integer attribute or its default."""
    value = op.attributes.get(name)
    if value is None:
        declared = op.definition.attribute(name)
        value = declared.default if declared else None
    return value.value if isinstance(value, IntAttr) else None


def integers(op: Op, name: str) -> list[int] | None:
    """The values of an attribute that lists integers; None when it is missing."""
    value = op.attributes.get(name)
    if value is None:
        return None
    if isinstance(value, ArrayAttr):
        return list(value.values)
    if isinstance(value, ListAttr) and all(isinstance(item, IntAttr) for item in value.items):
        return [item.value for item in value.items if isinstance(item, IntAttr)]
    raise Refusal("P0207", f"{name} is a list of integers", f"={name}")


def flag(op: Op, name: str) -> bool:
    """True when a boolean attribute stands."""
    return isinstance(op.attributes.get(name), UnitAttr | bool) and op.attributes[name] is not False


def number(attribute: Attr | None) -> bool:
    """True for an integer or float literal."""
    return isinstance(attribute, IntAttr | FloatAttr)


def extents(op: Op, name: str, group: str) -> list[Dim | None]:
    """The numbers, dims and (as None) operands of `group` in a mixed list."""
    out = [_extent(item, name) for item in _items(op, name)]
    if out.count(None) != len(op.group(group)):
        raise Refusal(
            "P0202", f"{name} names {out.count(None)} operands, but {len(op.group(group))} stand there"
        )
    return out


def static_extents(op: Op, name: str) -> tuple[Dim, ...]:
    """The numbers and dims of a list without operands, none negative."""
    out: list[Dim] = []
    for item in _items(op, name):
        dim = _extent(item, name)
        if dim is None:
            raise Refusal(
                "P0207", f"{name} are numbers and dims: a shape can't be sized by a scalar", f"={name}"
            )
        if isinstance(dim, int) and dim < 0:
            raise Refusal("P0207", f"{name} are not negative", f"={name}")
        out.append(dim)
    return tuple(out)


def _items(op: Op, name: str) -> tuple[Attr, ...]:
    value = op.attributes.get(name)
    if not isinstance(value, ListAttr):
        raise Refusal("P0207", f"{name} is a list of numbers and dims", f"={name}")
    return value.items


def _extent(item: Attr, name: str) -> Dim | None:
    if isinstance(item, IntAttr):
        return item.value
    if isinstance(item, DimAttr):
        return item.dim
    if item == UNIT:
        return None
    raise Refusal("P0207", f"{name} is a list of numbers and dims", f"={name}")


def check_dense(value: DenseAttr) -> None:
    """Refuse a list of values that does not fill its type; one value is a splat."""
    if not isinstance(value.type, TensorType):
        raise Refusal("P0207", "a constant is a tensor")
    count = mul(*value.type.dims)
    if len(value.values) != 1 and count != len(value.values):
        raise Refusal("P0207", f"{len(value.values)} values do not fill {print_type(value.type)}")


# ---------------------------------------------------------------- rows


def known_attributes(op: Op) -> Iterator[Problem]:
    """No attribute but the declared ones and those of other dialects, whose names have a dot."""
    for name in op.attributes:
        if "." not in name and op.definition.attribute(name) is None:
            listed = ", ".join(declared.name for declared in op.definition.attributes)
            hint = f"it has {listed}" if listed else None
            yield Problem("P0207", f"{op.name} has no attribute {name}", f"={name}", hint)


def core_row(
    name: str,
    doc: str,
    operands: Sequence[Operand],
    derive: Derivation,
    *,
    results: Sequence[Result] = (Result("result", TENSOR),),
    attributes: Sequence[Attribute] = (),
    format: str = "operands attr-dict `:` types",
    derived: bool = True,
    reference: Callable[..., Any] | None = None,
    tolerance: Tolerance = EXACT,
    commutative: bool = False,
) -> OpDef:
    """A pure op of the core level. `derived` says that the result types follow from the operands alone.

    A `reference` is called as `reference(op, symbols, *arrays)`; `symbols` says what each symbol of a shape is.
    """
    return OpDef(
        name=f"core.{name}",
        doc=doc,
        operands=tuple(operands),
        results=tuple(results),
        attributes=tuple(attributes),
        format=format,
        pure=True,
        rules=(known_attributes, checked_by(derive)),
        infer=infer_by(derive),
        reference=reference,
        tolerance=tolerance,
        commutative=commutative,
        traits=frozenset({DERIVED} if derived else ()),
    )
