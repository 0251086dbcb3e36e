"""Rows of `arith`: scalar arithmetic of the tile level, scalar and vector arithmetic of the loop level.

A `reference` is called as `reference(op, *operand_values)` and returns the result's value: a Python integer
(bool for i1), a NumPy scalar for floats, a NumPy array for dense constants. Integer ops never import NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pptc.ir import integers
from pptc.ir.attrs import DenseAttr
from pptc.ir.constants import attribute_type, attribute_value
from pptc.ir.core import Op
from pptc.ir.floats import compare_floats, from_bits, maximum, minimum, numpy_type, to_bits
from pptc.ir.lazy import np
from pptc.ir.loop_rules import (
    ANY,
    BOOLEAN,
    FLOAT,
    INTEGER,
    LANES,
    flags_like,
    lanes_of,
    same_lanes,
    same_type,
    type_like,
)
from pptc.ir.opdef import Attribute, Kind, OpDef, Operand, Problem, Result, Rule, table
from pptc.ir.types import ScalarType, Type, VectorType

Reference = Callable[..., Any]

CAST_FORMAT = "$in attr-dict `:` type($in) `to` type($out)"

_OVERFLOW = Attribute(
    "overflow",
    "enum",
    values=("nsw", "nuw", "none"),
    doc="A promise that nothing overflows, signed (nsw) or unsigned (nuw); results wrap all the same.",
)


def _scalar(type: Type) -> ScalarType:
    elem = lanes_of(type)
    assert elem is not None
    return elem


def _binary(
    name: str,
    doc: str,
    kind: Kind,
    reference: Reference,
    *,
    commutative: bool = False,
    overflow: bool = False,
) -> OpDef:
    flags = " (`overflow` `<` $overflow^ `>`)?" if overflow else ""
    return OpDef(
        name=name,
        doc=doc,
        operands=(Operand("lhs", kind), Operand("rhs", kind)),
        results=(Result("result", kind),),
        attributes=(_OVERFLOW,) if overflow else (),
        format=f"$lhs `,` $rhs{flags} attr-dict `:` type($result)",
        pure=True,
        rules=(same_type("lhs", "rhs", "result"),),
        infer=type_like("lhs"),
        reference=reference,
        commutative=commutative,
    )


# ---------------------------------------------------------------- integers


def _integer(
    name: str,
    doc: str,
    function: Callable[[int, int], int],
    *,
    read: Callable[[int, int], int] = integers.signed,
    commutative: bool = False,
    overflow: bool = False,
) -> OpDef:
    """A row of two integers, read by `read`, whose result wraps."""

    def reference(op: Op, a: int, b: int) -> int:
        type = _scalar(op.result.type)
        return integers.wrap(function(read(a, type.bits), read(b, type.bits)), type)

    return _binary(name, doc, INTEGER, reference, commutative=commutative, overflow=overflow)


def _shift(
    name: str, doc: str, function: Callable[[int, int, int], int], read: Callable[[int, int], int]
) -> OpDef:
    def reference(op: Op, a: int, b: int) -> int:
        type = _scalar(op.result.type)
        return integers.wrap(function(read(a, type.bits), integers.unsigned(b, type.bits), type.bits), type)

    return _binary(name, doc, INTEGER, reference, overflow=name == "arith.shli")


_UNSIGNED = integers.unsigned
_SAFE = "a zero divisor gives 0 and MIN / -1 wraps"

_INTEGER_ROWS = (
    _integer("arith.addi", "Sum; wraps.", lambda a, b: a + b, commutative=True, overflow=True),
    _integer("arith.subi", "Difference; wraps.", lambda a, b: a - b, overflow=True),
    _integer("arith.muli", "Product; wraps.", lambda a, b: a * b, commutative=True, overflow=True),
    _integer("arith.divsi", f"Signed quotient toward zero; {_SAFE}.", integers.divide_toward_zero),
    _integer(
        "arith.divui", "Unsigned quotient; a zero divisor gives 0.", integers.divide_floor, read=_UNSIGNED
    ),
    _integer(
        "arith.remsi", "Signed remainder with the sign of lhs; a zero divisor gives 0.", integers.remainder
    ),
    _integer(
        "arith.remui", "Unsigned remainder; a zero divisor gives 0.", integers.remainder, read=_UNSIGNED
    ),
    _integer("arith.floordivsi", f"Signed quotient rounded down; {_SAFE}.", integers.divide_floor),
    _integer("arith.ceildivsi", f"Signed quotient rounded up; {_SAFE}.", integers.divide_ceil),
    _integer(
        "arith.ceildivui",
        "Unsigned quotient rounded up; 0 for a zero divisor.",
        integers.divide_ceil,
        read=_UNSIGNED,
    ),
    _integer("arith.maxsi", "The larger one, signed.", max, commutative=True),
    _integer("arith.minsi", "The smaller one, signed.", min, commutative=True),
    _integer("arith.maxui", "The larger one, unsigned.", max, read=_UNSIGNED, commutative=True),
    _integer("arith.minui", "The smaller one, unsigned.", min, read=_UNSIGNED, commutative=True),
    _integer("arith.andi", "Bitwise and.", lambda a, b: a & b, commutative=True),
    _integer("arith.ori", "Bitwise or.", lambda a, b: a | b, commutative=True),
    _integer("arith.xori", "Bitwise exclusive or.", lambda a, b: a ^ b, commutative=True),
    _shift(
        "arith.shli", "Shift left; 0 when the amount is the width or more.", integers.shift_left, _UNSIGNED
    ),
    _shift("arith.shrsi", "Arithmetic shift right; the sign fills.", integers.shift_right, integers.signed),
    _shift("arith.shrui", "Logical shift right; zeros fill.", integers.shift_right, _UNSIGNED),
)


# ---------------------------------------------------------------- floats


def _float(name: str, doc: str, function: Callable[[Any, Any], Any], *, commutative: bool = False) -> OpDef:
    """A row of two floats: one IEEE operation, rounded to the type."""

    def reference(op: Op, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return numpy_type(_scalar(op.result.type))(function(a, b))

    return _binary(name, doc, FLOAT, reference, commutative=commutative)


def _negate(op: Op, a: Any) -> Any:
    return -a


_FLOAT_ROWS = (
    _float("arith.addf", "Sum.", lambda a, b: a + b, commutative=True),
    _float("arith.subf", "Difference.", lambda a, b: a - b),
    _float("arith.mulf", "Product.", lambda a, b: a * b, commutative=True),
    _float("arith.divf", "Quotient.", lambda a, b: a / b),
    _float("arith.remf", "Remainder of the quotient toward zero (C's fmod).", lambda a, b: np.fmod(a, b)),
    _float("arith.maximumf", "IEEE maximum: a NaN wins, +0 beats -0.", maximum, commutative=True),
    _float("arith.minimumf", "IEEE minimum: a NaN wins, -0 beats +0.", minimum, commutative=True),
    _float(
        "arith.maxnumf", "The larger one; a number beats a NaN.", lambda a, b: np.fmax(a, b), commutative=True
    ),
    _float(
        "arith.minnumf",
        "The smaller one; a number beats a NaN.",
        lambda a, b: np.fmin(a, b),
        commutative=True,
    ),
    OpDef(
        name="arith.negf",
        doc="The sign bit flipped, of a NaN too.",
        operands=(Operand("operand", FLOAT),),
        results=(Result("result", FLOAT),),
        format="$operand attr-dict `:` type($result)",
        pure=True,
        rules=(same_type("operand", "result"),),
        infer=type_like("operand"),
        reference=_negate,
    ),
)


# ---------------------------------------------------------------- comparison and choice

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def predicate_of(op: Op) -> str:
    """The predicate word of arith.cmpi or arith.cmpf."""
    word = op.attributes["predicate"]
    assert isinstance(word, str)
    return word


def _compare(name: str, doc: str, kind: Kind, predicates: tuple[str, ...], reference: Reference) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=(Operand("lhs", kind), Operand("rhs", kind)),
        results=(Result("result", BOOLEAN),),
        attributes=(Attribute("predicate", "enum", values=predicates, required=True),),
        format="$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)",
        pure=True,
        rules=(same_type("lhs", "rhs"), same_lanes("lhs", "result")),
        infer=flags_like("lhs"),
        reference=reference,
    )


def _compare_integers(op: Op, a: int, b: int) -> bool:
    return integers.compare(predicate_of(op), a, b, _scalar(op.operand("lhs").type).bits)


def _compare_floats(op: Op, a: Any, b: Any) -> bool:
    return compare_floats(predicate_of(op), a, b)


def _select_rule(op: Op) -> Iterator[Problem]:
    """A vector condition chooses lane by lane, a scalar one between whole values of any type."""
    condition = op.operand("condition").type
    if isinstance(condition, VectorType):
        yield from same_lanes("condition", "result")(op)


_CHOICE_ROWS = (
    _compare("arith.cmpi", "Compares integers.", INTEGER, INTEGER_PREDICATES, _compare_integers),
    _compare(
        "arith.cmpf",
        "Compares floats (o: ordered, u: true for a NaN).",
        FLOAT,
        FLOAT_PREDICATES,
        _compare_floats,
    ),
    OpDef(
        name="arith.select",
        doc="The first value where the condition is true, else the second.",
        operands=(Operand("condition", BOOLEAN), Operand("true_value", ANY), Operand("false_value", ANY)),
        results=(Result("result", ANY),),
        format="$condition `,` $true_value `,` $false_value attr-dict `:` type($result)",
        pure=True,
        rules=(same_type("true_value", "false_value", "result"), _select_rule),
        infer=type_like("true_value"),
        reference=lambda op, condition, a, b: a if condition else b,
    ),
)


# ---------------------------------------------------------------- conversions


def _index_rule(op: Op) -> Iterator[Problem]:
    kinds = [_scalar(v.type).kind for v in (op.operand("in"), op.result)]
    if kinds.count("index") != 1:
        yield Problem("P0201", "one side is an index, the other an integer", "in")


def _widths(wider: bool) -> Rule:
    def check(op: Op) -> Iterator[Problem]:
        source, to = _scalar(op.operand("in").type), _scalar(op.result.type)
        if "index" in (source.kind, to.kind):
            yield Problem("P0201", "an index is converted by arith.index_cast", "in")
        elif (to.bits > source.bits) != wider or to.bits == source.bits:
            yield Problem(
                "P0201", f"{to.name} is not {'wider' if wider else 'narrower'} than {source.name}", "in"
            )

    return check


def _same_width(op: Op) -> Iterator[Problem]:
    source, to = _scalar(op.operand("in").type), _scalar(op.result.type)
    if source.bits != to.bits:
        yield Problem("P0201", f"{source.name} and {to.name} have different widths", "in")


def _cast(name: str, doc: str, source: Kind, to: Kind, reference: Reference, *rules: Rule) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=(Operand("in", source),),
        results=(Result("out", to),),
        format=CAST_FORMAT,
        pure=True,
        rules=(same_lanes("in", "result"), *rules),
        reference=reference,
    )


def _read_signed(op: Op, a: int) -> int:
    return integers.wrap(integers.signed(a, _scalar(op.operand("in").type).bits), _scalar(op.result.type))


def _read_unsigned(op: Op, a: int) -> int:
    return integers.wrap(integers.unsigned(a, _scalar(op.operand("in").type).bits), _scalar(op.result.type))


def _to_float(op: Op, a: Any) -> Any:
    with np.errstate(all="ignore"):
        return numpy_type(_scalar(op.result.type))(a)


def _from_integer(read: Callable[[int, int], int]) -> Reference:
    return lambda op, a: _to_float(op, read(a, _scalar(op.operand("in").type).bits))


def _saturate(low: Callable[[int], int], high: Callable[[int], int]) -> Reference:
    """Toward zero, clamped to [low(bits), high(bits)]; NaN gives 0."""

    def reference(op: Op, a: Any) -> int:
        to = _scalar(op.result.type)
        value = float(a)
        if value != value:
            return integers.wrap(0, to)
        clamped = min(max(value, float(low(to.bits))), float(high(to.bits)))
        return integers.wrap(min(int(clamped), high(to.bits)), to)

    return reference


def _bitcast(op: Op, a: Any) -> Any:
    source, to = _scalar(op.operand("in").type), _scalar(op.result.type)
    bits = to_bits(a, source) if source.is_float else integers.unsigned(a, source.bits)
    return from_bits(bits, to) if to.is_float else integers.wrap(bits, to)


_CAST_ROWS = (
    _cast(
        "arith.index_cast",
        "Integer to index or back: sign-extended or cut.",
        INTEGER,
        INTEGER,
        _read_signed,
        _index_rule,
    ),
    _cast(
        "arith.index_castui",
        "Integer to index or back: zero-extended or cut.",
        INTEGER,
        INTEGER,
        _read_unsigned,
        _index_rule,
    ),
    _cast("arith.extsi", "Sign extension.", INTEGER, INTEGER, _read_signed, _widths(wider=True)),
    _cast("arith.extui", "Zero extension.", INTEGER, INTEGER, _read_unsigned, _widths(wider=True)),
    _cast("arith.trunci", "The low bits.", INTEGER, INTEGER, _read_signed, _widths(wider=False)),
    _cast("arith.extf", "Exact widening.", FLOAT, FLOAT, _to_float, _widths(wider=True)),
    _cast(
        "arith.truncf",
        "Narrowing, to nearest with ties to even.",
        FLOAT,
        FLOAT,
        _to_float,
        _widths(wider=False),
    ),
    _cast(
        "arith.sitofp", "Signed integer to float, to nearest.", INTEGER, FLOAT, _from_integer(integers.signed)
    ),
    _cast(
        "arith.uitofp",
        "Unsigned integer to float, to nearest.",
        INTEGER,
        FLOAT,
        _from_integer(integers.unsigned),
    ),
    _cast(
        "arith.fptosi",
        "Toward zero to a signed integer; out of range saturates and NaN gives 0.",
        FLOAT,
        INTEGER,
        _saturate(lambda bits: -(1 << (bits - 1)), lambda bits: (1 << (bits - 1)) - 1),
    ),
    _cast(
        "arith.fptoui",
        "Toward zero to an unsigned integer; out of range saturates and NaN gives 0.",
        FLOAT,
        INTEGER,
        _saturate(lambda bits: 0, lambda bits: (1 << bits) - 1),
    ),
    _cast(
        "arith.bitcast", "The same bits as another type of that width.", LANES, LANES, _bitcast, _same_width
    ),
)


# ---------------------------------------------------------------- constants


def _constant(op: Op) -> Any:
    value = op.attributes["value"]
    if not isinstance(value, DenseAttr):
        return attribute_value(value)
    elem = _scalar(value.type)
    assert isinstance(value.type, VectorType)
    items = [attribute_value(item) for item in value.values]
    return np.array(items * (value.type.lanes if len(items) == 1 else 1), numpy_type(elem))


def _infer_constant(op: Op) -> tuple[Type, ...]:
    value = op.attributes.get("value")
    type = attribute_type(value) if value is not None else None
    return (type,) if type else ()


def _constant_rule(op: Op) -> Iterator[Problem]:
    value = op.attributes.get("value")
    if value is None or attribute_type(value) != op.result.type:
        yield Problem("P0201", "the value's type is not the result's")
    elif isinstance(value, DenseAttr) and len(value.values) not in (1, getattr(value.type, "lanes", 1)):
        yield Problem("P0207", f"{len(value.values)} values do not fill the vector")


ROWS = table(
    OpDef(
        name="arith.constant",
        doc="A literal: integer, float (decimal or its bits in hex), true, false, or a dense vector.",
        results=(Result("result", LANES),),
        attributes=(Attribute("value", "any", required=True),),
        format="attr-dict $value",
        pure=True,
        rules=(_constant_rule,),
        infer=_infer_constant,
        reference=_constant,
    ),
    _INTEGER_ROWS,
    _FLOAT_ROWS,
    _CHOICE_ROWS,
    _CAST_ROWS,
)
