"""Rows of the core level that models are made of: norms, rotary positions, attention, the causal convolution and the
gated delta rule.

All are functions of their operands: what they carry from call to call goes in as a tensor and comes out as a result.
Inside they compute in f32; each says where it rounds.
"""

from __future__ import annotations

from pptc.ir.attrs import FloatAttr, IntAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    F32_TENSOR,
    FLOAT_TENSOR,
    FLOATS,
    INDEX_TENSOR,
    core_row,
    integer,
    number,
    same_elements,
    tensor,
    tensor_of,
)
from pptc.ir.core_shapes import (
    Dims,
    Refusal,
    broadcasts_to,
    equal_dims,
    equal_shapes,
)
from pptc.ir.literals import round_float
from pptc.ir.opdef import Attribute, OpDef, Operand, Result, Tolerance, table
from pptc.ir.symbols import Dim, floordiv, mul
from pptc.ir.types import F64, I1, TensorType, Type

_BOUND = Tolerance(
    relative=2e-5, absolute=1e-5, ulps=2, reason="f32 sums and functions in the target's order"
)
_MASK = tensor_of("a tensor of i1 or floats", I1, *FLOATS)


def _float(value: float) -> FloatAttr:
    return FloatAttr(round_float(value, F64), F64)


def _rank(dims: Dims, least: int, name: str) -> None:
    if len(dims) < least:
        raise Refusal("P0205", f"{name} has rank {least} at least, not {len(dims)}", name)


def _vector_of(op: Op, name: str, extent: Dim) -> None:
    """An operand that holds one value per element of the last axis."""
    equal_shapes(tensor(op, name).dims, (extent,), f"{name} has one value per element of the last axis", name)


def _divides(parts: Dim, whole: Dim, words: str, name: str) -> None:
    """Refuse heads that do not share out evenly."""
    equal_dims(mul(parts, floordiv(whole, parts)) if parts != 0 else 0, whole, words, name)


# ---------------------------------------------------------------- norms


def _normalised(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    _rank(x.dims, 1, "x")
    for name in ("weight", "bias"):
        if name in (operand.name for operand in op.definition.operands) and op.group(name):
            same_elements(op, "x", name)
            _vector_of(op, name, x.dims[-1])
    return (x,)


def _gated(op: Op) -> tuple[Type, ...]:
    (type,) = _normalised(op)
    same_elements(op, "x", "gate")
    equal_shapes(tensor(op, "gate").dims, tensor(op, "x").dims, "the gate has the shape of x", "gate")
    return (type,)


def _epsilon(value: float) -> Attribute:
    return Attribute("eps", "float", default=_float(value), doc="added under the root")


def norm(
    name: str, doc: str, others: tuple[Operand, ...], eps: float, attributes: tuple[Attribute, ...] = ()
) -> OpDef:
    """A normalisation of the last axis."""
    return core_row(
        name,
        doc,
        (Operand("x", FLOAT_TENSOR), *others),
        _gated if any(other.name == "gate" for other in others) else _normalised,
        attributes=(_epsilon(eps), *attributes),
        tolerance=_BOUND,
    )


_WEIGHT = Operand("weight", FLOAT_TENSOR)

_NORMS = (
    norm(
        "rms_norm",
        "x * rsqrt(mean(x^2) + eps) * (1 + weight) over the last axis, rounded once.",
        (_WEIGHT,),
        1e-6,
        (Attribute("plain_weight", "unit", doc="the factor is weight itself, not 1 + weight"),),
    ),
    norm(
        "gated_rms_norm",
        "x * rsqrt(mean(x^2) + eps), rounded; times weight, rounded; times silu(gate) in f32, rounded.",
        (_WEIGHT, Operand("gate", FLOAT_TENSOR)),
        1e-6,
    ),
    norm("l2_norm", "x * rsqrt(sum(x^2) + eps) over the last axis, rounded once.", (), 1e-6),
    norm(
        "layer_norm",
        "(x - mean) * rsqrt(variance + eps) * weight + bias over the last axis, rounded once.",
        (_WEIGHT, Operand("bias", FLOAT_TENSOR, arity="optional")),
        1e-5,
    ),
)


# ---------------------------------------------------------------- positions and masks


def _rotated(op: Op) -> tuple[Type, ...]:
    x = tensor(op, "x")
    same_elements(op, "x", "cos", "sin")
    cos, sin = tensor(op, "cos").dims, tensor(op, "sin").dims
    equal_shapes(cos, sin, "cos and sin have one shape", "sin")
    _rank(x.dims, 1, "x")
    _rank(cos, 1, "cos")
    turned, size = cos[-1], x.dims[-1]
    if not isinstance(turned, int) or turned % 2 or (isinstance(size, int) and turned > size):
        raise Refusal("P0205", "an even number of elements turns, not more than the last axis has", "cos")
    broadcasts_to(cos[:-1], x.dims[:-1], "cos")
    return (x,)


_ROPE = core_row(
    "rope",
    "Rotary positions: the first R elements of the last axis turn in pairs (i, i + R/2) by the angles of cos and sin, "
    "whose last axis is R; the others pass.",
    (Operand("x", FLOAT_TENSOR), Operand("cos", FLOAT_TENSOR), Operand("sin", FLOAT_TENSOR)),
    _rotated,
    tolerance=_BOUND,
)


def _masked(op: Op) -> tuple[Type, ...]:
    scores = tensor(op, "scores")
    _rank(scores.dims, 2, "scores")
    rows, columns = op.group("row_positions"), op.group("column_positions")
    if bool(rows) != bool(columns):
        raise Refusal("P0202", "row_positions and column_positions stand together or not at all")
    if rows:
        same_elements(op, "row_positions", "column_positions")
        for name, extent in (("row_positions", scores.dims[-2]), ("column_positions", scores.dims[-1])):
            equal_shapes(tensor(op, name).dims, (extent,), f"{name} has one number each", name)
    return (scores,)


_CAUSAL_MASK = core_row(
    "causal_mask",
    "scores where the position of the row is not before that of the column, else `fill`. Without positions the last "
    "row stands at the last column.",
    (
        Operand("scores", FLOAT_TENSOR),
        Operand("row_positions", INDEX_TENSOR, arity="optional"),
        Operand("column_positions", INDEX_TENSOR, arity="optional"),
    ),
    _masked,
    attributes=(Attribute("fill", "float", default=_float(-10000.0), doc="what hides a score"),),
)


# ---------------------------------------------------------------- attention


def _attended(op: Op) -> tuple[Type, ...]:
    elem = same_elements(op, "q", "k", "v")
    q, k, v = (tensor(op, name).dims for name in ("q", "k", "v"))
    for name, dims in (("q", q), ("k", k), ("v", v)):
        _rank(dims, 3, name)
        equal_shapes(dims[:-3], q[:-3], f"q and {name} have one batch", name)
    equal_dims(q[-1], k[-1], "q and k have one head size", "k")
    equal_shapes(k[-3:-1], v[-3:-1], "k and v have the same heads and positions", "v")
    _divides(k[-3], q[-3], "the heads of q share those of k evenly", "k")
    if op.group("mask"):
        mask = tensor(op, "mask")
        if mask.elem not in (I1, elem):
            raise Refusal("P0204", f"a mask is made of i1 or {elem.name}, not {mask.elem.name}", "mask")
        broadcasts_to(mask.dims, (*q[:-1], k[-2]), "mask")
    if (scale := op.attributes.get("scale")) is not None and not number(scale):
        raise Refusal("P0207", "scale is a number")
    return (TensorType((*q[:-1], v[-1]), elem),)


_ATTENTION = core_row(
    "attention",
    "softmax(scale * q k^T + mask) v for q [.., heads, T, D], k [.., kv heads, S, D], v [.., kv heads, S, Dv]. Heads "
    "of q share those of k in equal groups. Scores, softmax and sums are f32, with one rounding at the end.",
    (
        Operand("q", FLOAT_TENSOR),
        Operand("k", FLOAT_TENSOR),
        Operand("v", FLOAT_TENSOR),
        Operand("mask", _MASK, arity="optional", doc="i1: where to look; floats: added to the scores"),
    ),
    _attended,
    attributes=(
        Attribute("causal", "unit", doc="row i of T sees the columns up to S - T + i"),
        Attribute("scale", "float", doc="absent: 1 / sqrt(D)"),
    ),
    tolerance=_BOUND,
)


# ---------------------------------------------------------------- what carries a state


def _convolved(op: Op) -> tuple[Type, ...]:
    x, weight = tensor(op, "x"), tensor(op, "weight")
    same_elements(op, "x", "weight")
    _rank(x.dims, 2, "x")
    time = integer(op, "axis")
    if time not in (-1, -2):
        raise Refusal("P0207", "the axis of time is -1 or -2")
    channels = x.dims[-3 - time]
    if len(weight.dims) != 2 or not isinstance(weight.dims[1], int) or weight.dims[1] < 1:
        raise Refusal("P0205", "weight is channels x taps with a known number of taps", "weight")
    equal_dims(weight.dims[0], channels, "x and weight have the same channels", "weight")
    if not op.group("past"):
        return (x,)
    past = tensor(op, "past")
    same_elements(op, "x", "past")
    _past_fits(x.dims, past.dims, time, weight.dims[1])
    return x, past


def _past_fits(x: Dims, past: Dims, time: int, taps: int) -> None:
    """The past is x with another extent in time, at least one less than the taps."""
    if len(past) == len(x):
        steps = past[time]
        expected = list(x)
        expected[time] = steps
        if past == tuple(expected) and isinstance(steps, int) and steps >= taps - 1:
            return
    raise Refusal("P0205", f"past has the shape of x with {taps - 1} or more steps of time", "past")


_CONVOLUTION = core_row(
    "causal_conv1d",
    "Each channel weighed by its taps over the present and the steps before (the last tap is the present), in f32. "
    "`past` stands in front of x, zeros where it is missing; the second result is the last steps of both, as many as "
    "past has.",
    (
        Operand("x", FLOAT_TENSOR),
        Operand("weight", FLOAT_TENSOR),
        Operand("past", FLOAT_TENSOR, arity="optional"),
    ),
    _convolved,
    results=(Result("result", FLOAT_TENSOR), Result("present", FLOAT_TENSOR, "optional")),
    attributes=(
        Attribute("axis", "int", default=IntAttr(-1), doc="time: -1 of [.., C, T], -2 of [.., T, C]"),
        Attribute("silu", "unit", doc="silu of the sum, before the rounding"),
    ),
    tolerance=_BOUND,
)


def _delta_shapes(op: Op, step: bool) -> tuple[Type, ...]:
    """One rule for both forms: a step lacks the axis of time in front of the last."""
    elem = same_elements(op, "q", "k", "v")
    q, k, v, state = (tensor(op, name).dims for name in ("q", "k", "v", "state"))
    least = 2 if step else 3
    for name, dims in (("q", q), ("k", k), ("v", v)):
        _rank(dims, least, name)
    equal_shapes(q, k, "q and k have one shape", "k")
    heads = -2 if step else -3
    equal_shapes(v[:heads], k[:heads], "k and v have one batch", "v")
    equal_shapes(v[heads + 1 : -1], k[heads + 1 : -1], "k and v have the same time", "v")
    _divides(k[heads], v[heads], "the heads of v share those of k evenly", "v")
    for name in ("decay", "beta"):
        equal_shapes(tensor(op, name).dims, v[:-1], f"{name} has one value per head and step", name)
    equal_shapes(state, (*v[: heads + 1], k[-1], v[-1]), "state is [.., heads, Dk, Dv]", "state")
    return TensorType(v, elem), tensor(op, "state")


_DELTA = (
    Operand("q", FLOAT_TENSOR),
    Operand("k", FLOAT_TENSOR),
    Operand("v", FLOAT_TENSOR),
    Operand("decay", F32_TENSOR, doc="log of the factor of the state, 0 or less"),
    Operand("beta", F32_TENSOR),
    Operand("state", F32_TENSOR),
)
_SCALE = Attribute("scale", "float", doc="factor of q; absent: 1 / sqrt(Dk)")
_DELTA_RESULTS = (Result("result", FLOAT_TENSOR), Result("present", F32_TENSOR))

_DELTA_ROWS = (
    core_row(
        "gated_delta_step",
        "One step of the gated delta rule in f32: S = e^decay S; d = beta (v - S^T k); S = S + k d^T; the result is "
        "scale S^T q. q and k are [.., heads, Dk], v is [.., heads, Dv]; heads of v share those of k in equal groups.",
        _DELTA,
        lambda op: _delta_shapes(op, step=True),
        results=_DELTA_RESULTS,
        attributes=(_SCALE,),
        tolerance=_BOUND,
    ),
    core_row(
        "gated_delta_rule",
        "The gated delta rule over T steps, q and k [.., heads, T, Dk], v [.., heads, T, Dv], in chunks of `chunk` "
        "steps; the second result is the state after the last.",
        _DELTA,
        lambda op: _delta_shapes(op, step=False),
        results=_DELTA_RESULTS,
        attributes=(
            _SCALE,
            Attribute(
                "chunk", "int", default=IntAttr(64), doc="steps that are worked as matrices; 1: one by one"
            ),
        ),
        tolerance=_BOUND,
    ),
)

ROWS = table(_NORMS, _ROPE, _CAUSAL_MASK, _ATTENTION, _CONVOLUTION, _DELTA_ROWS)
