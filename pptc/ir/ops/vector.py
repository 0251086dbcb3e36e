"""Rows of `vector`: explicit vectors of the loop level.

Loads and stores are aligned to the element only. Masked lanes touch no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pptc.ir.attrs import IntAttr
from pptc.ir.constants import integer_list
from pptc.ir.core import Op
from pptc.ir.loop_rules import (
    INDEX_VALUE,
    MASK,
    MEMORY,
    SCALAR,
    VECTOR,
    element_like,
    same_element,
    same_lanes,
    same_type,
    type_like,
)
from pptc.ir.opdef import Attribute, OpDef, Operand, Problem, Result, table
from pptc.ir.types import Type, VectorType

REDUCTIONS = (
    "add", "mul", "maximumf", "minimumf", "maxnumf", "minnumf",
    "maxsi", "minsi", "maxui", "minui", "and", "or", "xor",
)  # fmt: skip
"""The kinds of vector.reduction; add and mul serve floats and integers."""


def _vector(op: Op, name: str) -> VectorType:
    type = op.result.type if name == "result" else op.operand(name).type
    assert isinstance(type, VectorType)
    return type


def static_index(op: Op, name: str) -> int:
    """The value of an integer attribute."""
    value = op.attributes[name]
    assert isinstance(value, IntAttr)
    return value.value


def shuffle_mask(op: Op) -> tuple[int, ...]:
    """The lanes that a vector.shuffle picks: below the length of lhs from lhs, above it from rhs."""
    return integer_list(op.attributes.get("mask"))


def _position_rule(name: str) -> Callable[[Op], Iterator[Problem]]:
    def check(op: Op) -> Iterator[Problem]:
        if not 0 <= static_index(op, "position") < _vector(op, name).lanes:
            yield Problem("P0207", f"the vector has no lane {static_index(op, 'position')}", name)

    return check


def _shuffle_rule(op: Op) -> Iterator[Problem]:
    mask, limit = shuffle_mask(op), _vector(op, "lhs").lanes + _vector(op, "rhs").lanes
    if any(not 0 <= lane < limit for lane in mask):
        yield Problem("P0207", f"a lane of the mask is not below {limit}")
    if _vector(op, "result").lanes != len(mask):
        yield Problem("P0205", f"the result has {len(mask)} lanes")


def _infer_shuffle(op: Op) -> tuple[Type, ...]:
    lhs = op.operand("lhs").type
    return (VectorType(len(shuffle_mask(op)), lhs.elem),) if isinstance(lhs, VectorType) else ()


def _bitcast_rule(op: Op) -> Iterator[Problem]:
    source, to = _vector(op, "source"), _vector(op, "result")
    if source.lanes * source.elem.bits != to.lanes * to.elem.bits:
        yield Problem("P0201", "the vectors have different widths", "source")


def _dot_rule(op: Op) -> Iterator[Problem]:
    acc, lhs = _vector(op, "acc"), _vector(op, "lhs")
    if lhs.lanes * lhs.elem.bits != acc.lanes * acc.elem.bits:
        yield Problem("P0205", "lhs and rhs fill exactly the lanes of the accumulator", "lhs")


_LOCATION = (Operand("base", MEMORY, access="read"), Operand("index", INDEX_VALUE))
_TARGET = (Operand("base", MEMORY, access="write"), Operand("index", INDEX_VALUE))
_POSITION = Attribute("position", "int", required=True)

ROWS = table(
    OpDef(
        name="vector.load",
        doc="Reads as many elements as the result has lanes, from element `index` on.",
        operands=_LOCATION,
        results=(Result("result", VECTOR),),
        format="$base `[` $index `]` attr-dict `:` type($base) `,` type($result)",
        rules=(same_element("base", "result"),),
    ),
    OpDef(
        name="vector.store",
        doc="Writes the lanes from element `index` on. `nontemporal` keeps them out of the caches.",
        operands=(Operand("value", VECTOR), *_TARGET),
        attributes=(Attribute("nontemporal", "unit", doc="The index is aligned to the whole vector."),),
        format="$value `,` $base `[` $index `]` attr-dict `:` type($base) `,` type($value)",
        rules=(same_element("base", "value"),),
    ),
    OpDef(
        name="vector.maskedload",
        doc="Reads the lanes whose mask is true; the others come from `pass`.",
        operands=(*_LOCATION, Operand("mask", MASK), Operand("pass", VECTOR)),
        results=(Result("result", VECTOR),),
        format="$base `[` $index `]` `,` $mask `,` $pass attr-dict `:` "
        "type($base) `,` type($mask) `,` type($pass) `into` type($result)",
        rules=(same_element("base", "result"), same_lanes("mask", "result"), same_type("pass", "result")),
        infer=type_like("pass"),
    ),
    OpDef(
        name="vector.maskedstore",
        doc="Writes the lanes whose mask is true.",
        operands=(*_TARGET, Operand("mask", MASK), Operand("value", VECTOR)),
        format="$base `[` $index `]` `,` $mask `,` $value attr-dict `:` "
        "type($base) `,` type($mask) `,` type($value)",
        rules=(same_element("base", "value"), same_lanes("mask", "value")),
    ),
    OpDef(
        name="vector.create_mask",
        doc="True in the lanes below `count`, which may be negative or larger than the vector.",
        operands=(Operand("count", INDEX_VALUE),),
        results=(Result("result", MASK),),
        format="$count attr-dict `:` type($result)",
        pure=True,
    ),
    OpDef(
        name="vector.broadcast",
        doc="A scalar in every lane.",
        operands=(Operand("source", SCALAR),),
        results=(Result("result", VECTOR),),
        format="$source attr-dict `:` type($source) `to` type($result)",
        pure=True,
        rules=(same_element("source", "result"),),
    ),
    OpDef(
        name="vector.reduction",
        doc="All lanes combined, in an order of the machine's choice; 'maximumf' and 'minimumf' keep a NaN.",
        operands=(Operand("vector", VECTOR),),
        results=(Result("result", SCALAR),),
        attributes=(Attribute("kind", "enum", values=REDUCTIONS, required=True),),
        format="`<` $kind `>` `,` $vector attr-dict `:` type($vector) `into` type($result)",
        pure=True,
        rules=(same_element("vector", "result"),),
        infer=element_like("vector"),
    ),
    OpDef(
        name="vector.shuffle",
        doc="The lanes of lhs and rhs, counted through, that the mask names.",
        operands=(Operand("lhs", VECTOR), Operand("rhs", VECTOR)),
        results=(Result("result", VECTOR),),
        attributes=(Attribute("mask", "ints", required=True),),
        format="$lhs `,` $rhs ` ` $mask attr-dict `:` type($lhs) `,` type($rhs)",
        pure=True,
        rules=(same_type("lhs", "rhs"), same_element("lhs", "result"), _shuffle_rule),
        infer=_infer_shuffle,
    ),
    OpDef(
        name="vector.extract",
        doc="One lane.",
        operands=(Operand("vector", VECTOR),),
        results=(Result("result", SCALAR),),
        attributes=(_POSITION,),
        format="$vector `[` $position `]` attr-dict `:` type($result) `from` type($vector)",
        pure=True,
        rules=(same_element("vector", "result"), _position_rule("vector")),
        infer=element_like("vector"),
    ),
    OpDef(
        name="vector.insert",
        doc="The vector with one lane replaced.",
        operands=(Operand("source", SCALAR), Operand("dest", VECTOR)),
        results=(Result("result", VECTOR),),
        attributes=(_POSITION,),
        format="$source `,` $dest `[` $position `]` attr-dict `:` type($source) `into` type($dest)",
        pure=True,
        rules=(same_element("source", "dest"), same_type("dest", "result"), _position_rule("dest")),
        infer=type_like("dest"),
    ),
    OpDef(
        name="vector.bitcast",
        doc="The same bits in lanes of another type.",
        operands=(Operand("source", VECTOR),),
        results=(Result("result", VECTOR),),
        format="$source attr-dict `:` type($source) `to` type($result)",
        pure=True,
        rules=(_bitcast_rule,),
    ),
    OpDef(
        name="vector.step",
        doc="The number of each lane.",
        results=(Result("result", VECTOR),),
        format="attr-dict `:` type($result)",
        pure=True,
    ),
    OpDef(
        name="vector.dot",
        doc="One dot instruction: every lane of acc gains the products of the narrow elements in its width.",
        operands=(Operand("acc", VECTOR), Operand("lhs", VECTOR), Operand("rhs", VECTOR)),
        results=(Result("result", VECTOR),),
        attributes=(
            Attribute("instruction", "string", required=True, doc="Its name in the machine's emitter."),
        ),
        format="$acc `,` $lhs `,` $rhs attr-dict `:` type($acc) `,` type($lhs) `,` type($rhs)",
        pure=True,
        rules=(same_type("acc", "result"), same_lanes("lhs", "rhs"), _dot_rule),
        infer=type_like("acc"),
    ),
)
