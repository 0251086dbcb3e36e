"""Rows of `math`: element functions of the loop level, on scalars and vectors.

`exp`, `log`, `tanh` and `rsqrt`, and what else a machine lacks, are expanded by the pass `expand-math`; their
tolerances say how far that may be from the correctly rounded value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pptc.ir.core import Op
from pptc.ir.floats import numpy_type
from pptc.ir.integers import signed, wrap
from pptc.ir.lazy import np
from pptc.ir.loop_rules import FLOAT, INTEGER, lanes_of, same_type, type_like
from pptc.ir.opdef import EXACT, Kind, OpDef, Operand, Result, Tolerance, table
from pptc.ir.types import ScalarType


def _scalar(op: Op) -> ScalarType:
    elem = lanes_of(op.result.type)
    assert elem is not None
    return elem


def _rounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in binary64 (f64 itself stays), rounded to the type of the result."""

    def reference(op: Op, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            return numpy_type(_scalar(op))(function(*map(np.float64, values)))

    return reference


def _absolute(op: Op, a: int) -> int:
    type = _scalar(op)
    return wrap(abs(signed(a, type.bits)), type)


def _round_half_away(a: Any) -> Any:
    below = np.trunc(a)
    return np.copysign(below + np.copysign(np.abs(a - below) >= 0.5, a), a)


def _row(
    name: str,
    doc: str,
    reference: Callable[..., Any],
    operands: tuple[str, ...] = ("operand",),
    *,
    kind: Kind = FLOAT,
    tolerance: Tolerance = EXACT,
) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=tuple(Operand(operand, kind) for operand in operands),
        results=(Result("result", kind),),
        format=" `,` ".join(f"${operand}" for operand in operands) + " attr-dict `:` type($result)",
        pure=True,
        rules=(same_type(*operands, "result"),),
        infer=type_like(operands[0]),
        reference=reference,
        tolerance=tolerance,
    )


def _ulps(bound: float) -> Tolerance:
    return Tolerance(
        ulps=bound, reason="a polynomial of ours; the bound is measured over all exponents of f32"
    )


ROWS = table(
    _row("math.absf", "Absolute value: the sign bit cleared, of a NaN too.", lambda op, a: np.abs(a)),
    _row("math.absi", "Absolute value; the least integer stays.", _absolute, kind=INTEGER),
    _row("math.ceil", "Up to an integral value.", _rounded(lambda a: np.ceil(a))),
    _row(
        "math.copysign",
        "The first value with the sign of the second.",
        _rounded(lambda a, b: np.copysign(a, b)),
        ("lhs", "rhs"),
    ),
    _row("math.exp", "e to the power.", _rounded(lambda a: np.exp(a)), tolerance=_ulps(1.02)),
    _row("math.floor", "Down to an integral value.", _rounded(lambda a: np.floor(a))),
    _row(
        "math.fma",
        "a * b + c in one rounding, two where the machine has no such instruction.",
        _rounded(lambda a, b, c: a * b + c),
        ("a", "b", "c"),
        tolerance=Tolerance(relative=2.0**-23, absolute=0.0, reason="one rounding or two"),
    ),
    _row(
        "math.log",
        "Natural logarithm; -inf of 0, NaN of a negative.",
        _rounded(lambda a: np.log(a)),
        tolerance=_ulps(0.9),
    ),
    _row("math.round", "To an integral value, halves away from zero.", _rounded(_round_half_away)),
    _row("math.roundeven", "To an integral value, halves to even.", _rounded(lambda a: np.rint(a))),
    _row(
        "math.rsqrt",
        "1 / sqrt: the correctly rounded root, then a division.",
        _rounded(lambda a: 1 / np.sqrt(a)),
        tolerance=Tolerance(ulps=1.5, reason="two roundings"),
    ),
    _row(
        "math.scaleb",
        "a * 2^n of an integral n in one rounding. Only for machines that can say it (`scaleb`).",
        _rounded(lambda a, n: np.ldexp(a, np.asarray(n).astype(np.int64))),
        ("value", "exponent"),
    ),
    _row("math.sqrt", "Square root, correctly rounded; NaN of a negative.", _rounded(lambda a: np.sqrt(a))),
    _row("math.tanh", "Hyperbolic tangent.", _rounded(lambda a: np.tanh(a)), tolerance=_ulps(1.4)),
    _row("math.trunc", "Toward zero to an integral value.", _rounded(lambda a: np.trunc(a))),
)
