"""Rows of the core level that work element by element: arithmetic, functions, comparisons, logic, conversions, fills.

Operands broadcast by trailing axes and have one element type. Floats are computed wide and rounded once; integers
wrap, or are refused, as the numeric policy says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import core_reference as ref
from pptc.ir import numeric
from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    BOOL_TENSOR,
    FLOAT_TENSOR,
    FLOATS,
    INTEGER_TENSOR,
    LOGIC_TENSOR,
    NUMBER_TENSOR,
    NUMBERS,
    SIGNED,
    TENSOR,
    core_row,
    flag,
    number,
    result_tensor,
    same_elements,
    tensor,
    tensor_of,
)
from pptc.ir.core_shapes import (
    Refusal,
    broadcast,
    equal_dims,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import EXACT, Attribute, Kind, OpDef, Operand, Result, Tolerance, table
from pptc.ir.symbols import floordiv, mul
from pptc.ir.types import I1, TensorType, Type

FUNCTION = Tolerance(ulps=4, reason="a polynomial of our own against the C library in binary64")
SIGNED_TENSOR = tensor_of("a tensor of floats or signed integers", *FLOATS, *SIGNED)
COMPARED_TENSOR = tensor_of("a tensor of numbers or i1", I1, *NUMBERS)


# ---------------------------------------------------------------- one operand


def _like_x(op: Op) -> tuple[Type, ...]:
    return (tensor(op, "x"),)


def unary(
    name: str,
    doc: str,
    function: Callable[..., Any],
    kind: Kind = FLOAT_TENSOR,
    tolerance: Tolerance = EXACT,
    attributes: tuple[Attribute, ...] = (),
) -> OpDef:
    """A function of one element."""
    return core_row(
        name,
        doc,
        (Operand("x", kind),),
        _like_x,
        attributes=attributes,
        results=(Result("result", kind),),
        reference=ref.elementwise(function),
        tolerance=tolerance,
    )


def _gelu(op: Op, symbols: Any, x: Any) -> Any:
    function = ref.gelu_tanh if flag(op, "tanh") else ref.gelu
    return ref.elementwise(function)(op, symbols, x)


_GELU = core_row(
    "gelu",
    "x * Phi(x), with the error function or, by `tanh`, the common approximation.",
    (Operand("x", FLOAT_TENSOR),),
    _like_x,
    attributes=(Attribute("tanh", "unit", doc="0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))"),),
    reference=_gelu,
    tolerance=FUNCTION,
)

_UNARY = (
    unary("neg", "-x; the most negative integer wraps.", lambda x: -x, SIGNED_TENSOR),
    unary("abs", "The magnitude; the most negative integer wraps.", lambda x: np.abs(x), SIGNED_TENSOR),
    unary("not", "Every bit turned; on i1 the negation.", lambda x: ~x, LOGIC_TENSOR),
    unary("exp", "e^x; overflow gives infinity.", lambda x: np.exp(x), tolerance=FUNCTION),
    unary(
        "log",
        "The natural logarithm; of 0 it is -infinity, of less NaN.",
        lambda x: np.log(x),
        tolerance=FUNCTION,
    ),
    unary("sqrt", "The square root; of less than 0 it is NaN.", lambda x: np.sqrt(x)),
    unary(
        "rsqrt",
        "1 / sqrt(x); of +0 and -0 it is infinity, of less NaN, of infinity 0.",
        lambda x: 1 / np.sqrt(np.abs(x) + np.where(x < 0, np.nan, 0)),
        tolerance=FUNCTION,
    ),
    unary("tanh", "The hyperbolic tangent.", lambda x: np.tanh(x), tolerance=FUNCTION),
    unary("erf", "The error function.", ref.error_function, tolerance=FUNCTION),
    unary(
        "sigmoid", "1 / (1 + e^-x), split by sign so that nothing overflows.", ref.sigmoid, tolerance=FUNCTION
    ),
    unary("silu", "x * sigmoid(x); of -infinity it is 0.", ref.silu, tolerance=FUNCTION),
    unary("softplus", "max(x, 0) + log1p(e^-|x|), without a threshold.", ref.softplus, tolerance=FUNCTION),
    unary("relu", "max(x, 0); a NaN stays.", lambda x: numeric.maximum(x, np.zeros_like(x)), NUMBER_TENSOR),
    _GELU,
)


def _clamped(op: Op) -> tuple[Type, ...]:
    low, high = op.attributes.get("min"), op.attributes.get("max")
    if low is None and high is None:
        raise Refusal("P0206", "core.clamp needs min, max or both")
    if not all(bound is None or number(bound) for bound in (low, high)):
        raise Refusal("P0207", "min and max are numbers")
    x = tensor(op, "x")
    if not x.elem.is_float and not all(bound is None or isinstance(bound, IntAttr) for bound in (low, high)):
        raise Refusal("P0207", f"min and max of a tensor of {x.elem.name} are integers")
    return (x,)


def _clamp(op: Op, symbols: Any, x: Any) -> Any:
    low, high = (op.attributes.get(name) for name in ("min", "max"))
    values = ref.wide(x)
    values = values if low is None else numeric.maximum(values, np.asarray(ref.literal(low), values.dtype))
    values = values if high is None else numeric.minimum(values, np.asarray(ref.literal(high), values.dtype))
    return ref.rounded(values, ref.result_type(op).elem)


_CLAMP = core_row(
    "clamp",
    "x, but not below `min` and not above `max`; a NaN stays.",
    (Operand("x", NUMBER_TENSOR),),
    _clamped,
    attributes=(
        Attribute("min", "any", doc="the least value; absent: no bound"),
        Attribute("max", "any", doc="the greatest value; absent: no bound"),
    ),
    reference=_clamp,
)


def _cast(op: Op) -> tuple[Type, ...]:
    x, result = tensor(op, "x"), result_tensor(op)
    return (TensorType(x.dims, result.elem),)


_CAST = core_row(
    "cast",
    "x in the element type of the result. Float to integer truncates; float to float rounds to nearest even; "
    "anything but 0 is true.",
    (Operand("x", TENSOR),),
    _cast,
    derived=False,
    reference=lambda op, symbols, x: ref.truncated_to(x, ref.result_type(op).elem),
)


# ---------------------------------------------------------------- two operands and more


def _broadcast_xy(op: Op) -> tuple[Type, ...]:
    elem = same_elements(op, "x", "y")
    return (TensorType(broadcast(tensor(op, "x").dims, tensor(op, "y").dims), elem),)


def binary(
    name: str,
    doc: str,
    function: Callable[..., Any],
    kind: Kind = NUMBER_TENSOR,
    *,
    commutative: bool = False,
    tolerance: Tolerance = EXACT,
) -> OpDef:
    """A function of two elements."""
    return core_row(
        name,
        doc,
        (Operand("x", kind), Operand("y", kind)),
        _broadcast_xy,
        results=(Result("result", kind),),
        reference=ref.elementwise(function),
        commutative=commutative,
        tolerance=tolerance,
    )


def _quotient(x: Any, y: Any) -> Any:
    return numeric.truncated_quotient(x, y) if x.dtype.kind in "iu" else x / y


def _remainder(x: Any, y: Any) -> Any:
    return np.where(y == 0, np.zeros_like(x), np.fmod(x, np.where(y == 0, np.ones_like(y), y)))


def _shift_left(x: Any, y: Any) -> Any:
    out = (y < 0) | (y >= 8 * x.dtype.itemsize)
    return np.where(out, 0, np.left_shift(x, np.where(out, 0, y))).astype(x.dtype)


def _shift_right(x: Any, y: Any) -> Any:
    last = 8 * x.dtype.itemsize - 1
    out = (y < 0) | (y > last)
    bits = np.right_shift(x, np.where(out, last, y).astype(x.dtype))
    return np.where(out & (x >= 0), 0, bits).astype(x.dtype)


_BINARY = (
    binary("add", "The sum.", lambda x, y: x + y, commutative=True),
    binary("sub", "The difference.", lambda x, y: x - y),
    binary("mul", "The product.", lambda x, y: x * y, commutative=True),
    binary("div", "The quotient; integers truncate toward zero and x / 0 is 0.", _quotient),
    binary("rem", "The remainder of div, with the sign of x; by 0 it is 0.", _remainder, INTEGER_TENSOR),
    binary("pow", "x to the power y.", lambda x, y: np.power(x, y), FLOAT_TENSOR, tolerance=FUNCTION),
    binary("max", "The larger one; a NaN wins.", numeric.maximum, commutative=True),
    binary("min", "The smaller one; a NaN wins.", numeric.minimum, commutative=True),
    binary("and", "Bitwise and.", lambda x, y: x & y, LOGIC_TENSOR, commutative=True),
    binary("or", "Bitwise or.", lambda x, y: x | y, LOGIC_TENSOR, commutative=True),
    binary("xor", "Bitwise exclusive or.", lambda x, y: x ^ y, LOGIC_TENSOR, commutative=True),
    binary("shift_left", "x shifted left by y; 0 when y is the width or more.", _shift_left, INTEGER_TENSOR),
    binary(
        "shift_right",
        "x shifted right by y, with copies of the sign where x has one.",
        _shift_right,
        INTEGER_TENSOR,
    ),
)

_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")


def _compared(op: Op) -> tuple[Type, ...]:
    elem = same_elements(op, "x", "y")
    if elem == I1 and op.attributes.get("predicate") not in ("eq", "ne"):
        raise Refusal("P0207", "tensors of i1 compare by eq and ne only")
    return (TensorType(broadcast(tensor(op, "x").dims, tensor(op, "y").dims), I1),)


_COMPARE = core_row(
    "compare",
    "Whether the predicate holds. With a NaN only ne does; -0 equals +0.",
    (Operand("x", COMPARED_TENSOR), Operand("y", COMPARED_TENSOR)),
    _compared,
    results=(Result("result", BOOL_TENSOR),),
    attributes=(
        Attribute(
            "predicate",
            "enum",
            values=_PREDICATES,
            required=True,
            aliases=("comparison", "relation", "op"),
            doc="what is asked",
        ),
    ),
    reference=lambda op, symbols, x, y: _ORDER[op.attributes["predicate"]](x, y),
)

_ORDER: Mapping[Any, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
    }
)


def _selected(op: Op) -> tuple[Type, ...]:
    elem = same_elements(op, "a", "b")
    return (TensorType(broadcast(*(tensor(op, name).dims for name in ("condition", "a", "b"))), elem),)


_WHERE = core_row(
    "where",
    "a where the condition is true, else b, bit by bit; what is not selected does not matter.",
    (Operand("condition", BOOL_TENSOR), Operand("a", TENSOR), Operand("b", TENSOR)),
    _selected,
    reference=lambda op, symbols, condition, a, b: np.where(condition, a, b),
)


def _gated(op: Op) -> tuple[Type, ...]:
    gate = tensor(op, "gate")
    if not op.group("up"):
        if not gate.dims:
            raise Refusal("P0205", "a packed gate and up has a last axis")
        half = floordiv(gate.dims[-1], 2)
        equal_dims(mul(2, half), gate.dims[-1], "gate and up do not halve the last axis", "gate")
        return (TensorType((*gate.dims[:-1], half), gate.elem),)
    same_elements(op, "gate", "up")
    return (TensorType(broadcast(gate.dims, tensor(op, "up").dims), gate.elem),)


def _swiglu(op: Op, symbols: Any, gate: Any, up: Any = None) -> Any:
    if up is None:
        gate, up = np.split(gate, 2, -1)
    return ref.elementwise(lambda g, u: ref.silu(g) * u)(op, symbols, gate, up)


_SWIGLU = core_row(
    "swiglu",
    "silu(gate) * up. With one operand its last axis holds the gate, then up.",
    (Operand("gate", FLOAT_TENSOR), Operand("up", FLOAT_TENSOR, arity="optional")),
    _gated,
    reference=_swiglu,
    tolerance=FUNCTION,
)


ROWS = table(_UNARY, _CLAMP, _CAST, _BINARY, _COMPARE, _WHERE, _SWIGLU)
