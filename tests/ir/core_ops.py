"""Makes single core ops out of types, without a parser; reads whole modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pptc.diag import Sink, Source
from pptc.ir.attrs import UNIT, Attr, DimAttr, FloatAttr, IntAttr, ListAttr
from pptc.ir.core import Block, Op
from pptc.ir.literals import round_float
from pptc.ir.opdef import Problem
from pptc.ir.ops import OPS
from pptc.ir.symbols import Dim, parse_dim
from pptc.ir.types import F32, F64, SCALARS, ScalarType, StateType, TensorType, Type
from pptc.ir.verify import verify
from pptc.parser import parse

Written = str | Type


def tensor(text: str, elem: ScalarType = F32) -> TensorType:
    """`B 4 P+T i32` as a tensor type; the element type, f32 when missing, stands last."""
    words = text.split()
    if words and words[-1] in SCALARS:
        elem = SCALARS[words.pop()]
    return TensorType(tuple(parse_dim(word) for word in words), elem)


def type_of(written: Written) -> Type:
    """A type as it is, or by `tensor`; `state ..` is a state."""
    if not isinstance(written, str):
        return written
    if written.startswith("state "):
        inner = tensor(written.removeprefix("state "))
        return StateType(inner.dims, inner.elem)
    return tensor(written)


def attribute(value: object) -> Attr:
    """Python values as attributes: True is a unit, None in a list is an operand's place."""
    if value is True or value is None:
        return UNIT
    if isinstance(value, int):
        return IntAttr(value)
    if isinstance(value, float):
        return FloatAttr(round_float(value, F64), F64)
    if isinstance(value, list | tuple):
        return ListAttr(tuple(map(attribute, value)))
    if isinstance(value, str) and value.startswith("("):
        return DimAttr(parse_dim(value))
    return value  # type: ignore[return-value]


def make(
    name: str,
    operands: Sequence[Written],
    attributes: Mapping[str, object] | None = None,
    results: Sequence[Written] = (),
    segments: tuple[int, ...] | None = None,
) -> Op:
    """An op on block arguments of the given types."""
    block = Block([type_of(written) for written in operands])
    return Op(
        OPS[f"core.{name}"],
        block.args,
        [type_of(written) for written in results],
        {key: attribute(value) for key, value in (attributes or {}).items()},
        segments=segments,
    )


def infer(op: Op) -> tuple[Type, ...]:
    """The result types that the row derives."""
    assert op.definition.infer is not None
    return op.definition.infer(op)


def problems(op: Op) -> list[Problem]:
    """What the row's rules find."""
    return [problem for rule in op.definition.rules for problem in rule(op)]


def shape(type: Type) -> tuple[Dim, ...]:
    """The extents of a tensor type."""
    assert isinstance(type, TensorType)
    return type.dims


def findings(text: str) -> tuple[Op | None, list[str]]:
    """The module of a text, and the codes and messages of what is wrong with it."""
    sink = Sink()
    module = parse(Source("test.pto", text), sink)
    if module is not None:
        verify(module, sink)
    return module, [f"{d.code} {d.message}" for d in sink]


def read(text: str) -> Op:
    """The module of a text without faults."""
    module, found = findings(text)
    assert module is not None
    assert found == []
    return module
