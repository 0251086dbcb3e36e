"""Handlers of `arith` and `math`: scalars and vectors alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llvmlite import ir

from pptc.emit.function_emitter import FunctionEmitter, Handler, result_type
from pptc.emit.llvm_ir import Llvm, constant, int_constant, number_type
from pptc.ir.attrs import Attr, DenseAttr, IntAttr
from pptc.ir.core import Op, Value
from pptc.ir.ops.arith import predicate_of


def _instruction(method: str) -> Handler:
    """A builder method on all operands."""
    return lambda e, op: getattr(e.builder, method)(*e.all(op.operands))


def _intrinsic(stem: str) -> Handler:
    """An intrinsic overloaded by the result's type."""

    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        type = result_type(op)
        return e.intrinsic(stem, e.all(op.operands), type, (type,))

    return emit


def _cast(method: str) -> Handler:
    return lambda e, op: getattr(e.builder, method)(e.get(op, "in"), result_type(op))


# ---------------------------------------------------------------- division and shifts without traps


def _constant_of(value: Value) -> int | None:
    """The integer that a constant has in every lane."""
    attr: Attr | None = (
        value.op.attributes.get("value") if value.op and value.op.name == "arith.constant" else None
    )
    if isinstance(attr, DenseAttr) and len(attr.values) == 1:
        attr = attr.values[0]
    return attr.value if isinstance(attr, IntAttr) else None


def _divisor(e: FunctionEmitter, op: Op, *, signed: bool) -> tuple[Llvm, Llvm | None]:
    """A divisor that never traps, and the flag of a zero one (None when it is known not to be)."""
    lhs, rhs = e.get(op, "lhs"), e.get(op, "rhs")
    if _constant_of(op.operand("rhs")) not in (None, 0, -1):
        return rhs, None
    one, zero = int_constant(1, rhs.type), int_constant(0, rhs.type)
    is_zero = e.compare("eq", rhs, zero)
    unsafe = is_zero
    if signed:
        least = int_constant(1 << (_width(rhs.type) - 1), rhs.type)
        wraps = e.builder.and_(e.compare("eq", lhs, least), e.compare("eq", rhs, int_constant(-1, rhs.type)))
        unsafe = e.builder.or_(is_zero, wraps)
    return e.builder.select(unsafe, one, rhs), is_zero


def _width(type: Llvm) -> int:
    return int(type.element.width if isinstance(type, ir.VectorType) else type.width)


def _zeroed(e: FunctionEmitter, is_zero: Llvm | None, value: Llvm) -> Llvm:
    return value if is_zero is None else e.builder.select(is_zero, int_constant(0, value.type), value)


def _divide(method: str, *, signed: bool) -> Handler:
    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        divisor, is_zero = _divisor(e, op, signed=signed)
        return _zeroed(e, is_zero, getattr(e.builder, method)(e.get(op, "lhs"), divisor))

    return emit


def _remainder(method: str, *, signed: bool) -> Handler:
    """The remainder by the safe divisor 1 is the 0 that a zero divisor gives."""

    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        divisor, _ = _divisor(e, op, signed=signed)
        return getattr(e.builder, method)(e.get(op, "lhs"), divisor)

    return emit


def _rounded_division(*, up: bool) -> Handler:
    """Toward zero, then one step where a remainder says that the true quotient lies on the other side."""

    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        lhs = e.get(op, "lhs")
        divisor, is_zero = _divisor(e, op, signed=True)
        quotient = e.builder.sdiv(lhs, divisor)
        rest = e.builder.sub(lhs, e.builder.mul(quotient, divisor))
        zero, step = int_constant(0, lhs.type), int_constant(1 if up else -1, lhs.type)
        same_sign = e.compare("sge", e.builder.xor(lhs, divisor), zero)
        toward = same_sign if up else e.builder.not_(same_sign)
        moves = e.builder.and_(e.compare("ne", rest, zero), toward)
        return _zeroed(e, is_zero, e.builder.select(moves, e.builder.add(quotient, step), quotient))

    return emit


def _ceil_unsigned(e: FunctionEmitter, op: Op) -> Llvm:
    lhs = e.get(op, "lhs")
    divisor, is_zero = _divisor(e, op, signed=False)
    quotient = e.builder.udiv(lhs, divisor)
    rest = e.builder.sub(lhs, e.builder.mul(quotient, divisor))
    more = e.builder.add(quotient, int_constant(1, lhs.type))
    has_rest = e.compare("ne", rest, int_constant(0, lhs.type))
    return _zeroed(e, is_zero, e.builder.select(has_rest, more, quotient))


def _shift(method: str) -> Handler:
    """An amount of the width or more moves every bit out."""

    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        value, amount = e.get(op, "lhs"), e.get(op, "rhs")
        width = _width(value.type)
        known = _constant_of(op.operand("rhs"))
        if known is not None and 0 <= known < width:
            return getattr(e.builder, method)(value, amount)
        fits = e.compare("ult", amount, int_constant(width, amount.type))
        safe = e.builder.select(fits, amount, int_constant(0, amount.type))
        shifted = getattr(e.builder, method)(value, safe)
        return e.builder.select(fits, shifted, int_constant(0, value.type))

    return emit


def _shift_right_signed(e: FunctionEmitter, op: Op) -> Llvm:
    value, amount = e.get(op, "lhs"), e.get(op, "rhs")
    most = int_constant(_width(value.type) - 1, amount.type)
    return e.builder.ashr(value, e.intrinsic("umin", [amount, most], amount.type, (amount.type,)))


# ---------------------------------------------------------------- the rest


def _constant(e: FunctionEmitter, op: Op) -> Llvm:
    return constant(op.attributes["value"], op.result.type)


def _compare_integers(e: FunctionEmitter, op: Op) -> Llvm:
    return e.compare(predicate_of(op), e.get(op, "lhs"), e.get(op, "rhs"))


def _compare_floats(e: FunctionEmitter, op: Op) -> Llvm:
    return e.compare_floats(predicate_of(op), e.get(op, "lhs"), e.get(op, "rhs"))


def _number_wins(predicate: str) -> Handler:
    """maxnumf and minnumf by comparison: LLVM may narrow its own intrinsic to f16, which ends in a library call."""

    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        lhs, rhs = e.get(op, "lhs"), e.get(op, "rhs")
        chosen = e.builder.select(e.compare_floats(predicate, lhs, rhs), lhs, rhs)
        return e.builder.select(e.compare_floats("uno", rhs, rhs), lhs, chosen)

    return emit


def _index_cast(method: str) -> Handler:
    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        value, to = e.get(op, "in"), result_type(op)
        have, want = _width(value.type), _width(to)
        if have == want:
            return value
        return e.builder.trunc(value, to) if have > want else getattr(e.builder, method)(value, to)

    return emit


def _convert_float(method: str) -> Handler:
    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        value = _as_type(e, e.get(op, "in"), number_type(op.operand("in").type))
        converted = getattr(e.builder, method)(value, number_type(op.result.type))
        return _as_type(e, converted, result_type(op))

    return emit


def _as_type(e: FunctionEmitter, value: Llvm, type: Llvm) -> Llvm:
    """The same bits as another type."""
    return value if value.type == type else e.builder.bitcast(value, type)


def _saturated(stem: str) -> Handler:
    def emit(e: FunctionEmitter, op: Op) -> Llvm:
        value, to = e.get(op, "in"), result_type(op)
        return e.intrinsic(stem, [value], to, (to, value.type))

    return emit


def _bitcast(e: FunctionEmitter, op: Op) -> Llvm:
    return _as_type(e, e.get(op, "in"), result_type(op))


def _absolute_integer(e: FunctionEmitter, op: Op) -> Llvm:
    value = e.get(op, "operand")
    keeps_least = int_constant(0, ir.IntType(1))
    return e.intrinsic("abs", [value, keeps_least], value.type, (value.type,))


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "arith.constant": _constant,
        "arith.addi": _instruction("add"),
        "arith.subi": _instruction("sub"),
        "arith.muli": _instruction("mul"),
        "arith.divsi": _divide("sdiv", signed=True),
        "arith.divui": _divide("udiv", signed=False),
        "arith.remsi": _remainder("srem", signed=True),
        "arith.remui": _remainder("urem", signed=False),
        "arith.floordivsi": _rounded_division(up=False),
        "arith.ceildivsi": _rounded_division(up=True),
        "arith.ceildivui": _ceil_unsigned,
        "arith.maxsi": _intrinsic("smax"),
        "arith.minsi": _intrinsic("smin"),
        "arith.maxui": _intrinsic("umax"),
        "arith.minui": _intrinsic("umin"),
        "arith.andi": _instruction("and_"),
        "arith.ori": _instruction("or_"),
        "arith.xori": _instruction("xor"),
        "arith.shli": _shift("shl"),
        "arith.shrsi": _shift_right_signed,
        "arith.shrui": _shift("lshr"),
        "arith.cmpi": _compare_integers,
        "arith.addf": _instruction("fadd"),
        "arith.subf": _instruction("fsub"),
        "arith.mulf": _instruction("fmul"),
        "arith.divf": _instruction("fdiv"),
        "arith.negf": _instruction("fneg"),
        "arith.maximumf": _intrinsic("maximum"),
        "arith.minimumf": _intrinsic("minimum"),
        "arith.maxnumf": _number_wins("ogt"),
        "arith.minnumf": _number_wins("olt"),
        "arith.cmpf": _compare_floats,
        "arith.select": _instruction("select"),
        "arith.index_cast": _index_cast("sext"),
        "arith.index_castui": _index_cast("zext"),
        "arith.extsi": _cast("sext"),
        "arith.extui": _cast("zext"),
        "arith.trunci": _cast("trunc"),
        "arith.extf": _convert_float("fpext"),
        "arith.truncf": _convert_float("fptrunc"),
        "arith.sitofp": _cast("sitofp"),
        "arith.uitofp": _cast("uitofp"),
        "arith.fptosi": _saturated("fptosi.sat"),
        "arith.fptoui": _saturated("fptoui.sat"),
        "arith.bitcast": _bitcast,
        "math.absf": _intrinsic("fabs"),
        "math.absi": _absolute_integer,
        "math.ceil": _intrinsic("ceil"),
        "math.copysign": _intrinsic("copysign"),
        "math.floor": _intrinsic("floor"),
        "math.fma": _intrinsic("fma"),
        "math.round": _intrinsic("round"),
        "math.roundeven": _intrinsic("roundeven"),
        "math.sqrt": _intrinsic("sqrt"),
        "math.trunc": _intrinsic("trunc"),
    }
)
