"""Rows of the tile dialect that multiply matrices: left (M x K) times right (K x N) into acc (M x N).

f16, bf16 and f32 operands give f32, i8 gives i32. M, N and K are valid extents; K = 0 gives zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pptc.ir.core import Op
from pptc.ir.kinds import (
    agree,
    choice,
    extent,
    in_spaces,
    same_elements,
    same_valid,
    source,
    target,
    tile,
    typed_tiles,
)
from pptc.ir.lazy import np
from pptc.ir.opdef import Contract, OpDef, Operand, Problem, Rule, Tolerance, dps, table
from pptc.ir.types import BF16, F16, F32, I8, I32

PAIRS = ((F16, F16, F32), (BF16, BF16, F32), (F32, F32, F32), (I8, I8, I32))
"""Element types of lhs, rhs and the accumulator."""

_ORDER = Tolerance(
    relative=1e-5,
    absolute=1e-4,
    reason="f32 sums over k in an order that the target chooses; i32 wraps exactly",
)
_PHASE = choice(
    "accPhase", "acc_phase", "unspecified", "partial", "final", default="unspecified",
    doc="where the product stands in a sum over k; a hint to the chip",
)  # fmt: skip


def _reference(lhs: Any, rhs: Any, start: Any = None, bias: Any = None) -> Any:
    """Products and sums in f64 or i64, then one rounding, or wrapping, by the caller."""
    wide = np.float64 if lhs.dtype.kind == "f" else np.int64
    total = np.matmul(lhs.astype(wide), rhs.astype(wide))
    for more in (start, bias):
        if more is not None:
            total = total + more.astype(wide)
    return total if wide is np.float64 else total.astype(np.int32)


def element_pair(op: Op) -> Iterator[Problem]:
    """The element types are one of PAIRS."""
    elements = tuple(type.elem for _, type in typed_tiles(op, ("lhs", "rhs", "dst")))
    if len(elements) == 3 and elements not in PAIRS:
        lhs, rhs, dst = (elem.name for elem in elements)
        known = "; ".join(f"{a.name} x {b.name} -> {c.name}" for a, b, c in PAIRS)
        yield Problem(
            "P0216", f"{op.name} has no meaning for {lhs} x {rhs} -> {dst}", "lhs", f"it takes {known}"
        )


def inner_extents(op: Op) -> Iterator[Problem]:
    """dst is M x N, lhs M x K, rhs K x N."""
    types = dict(typed_tiles(op, ("lhs", "rhs", "dst")))
    if len(types) != 3:
        return
    lhs, rhs, dst = types["lhs"], types["rhs"], types["dst"]
    for word, a, here, b, there in (
        ("rows", "lhs", lhs.v_row, "dst", dst.v_row),
        ("inner extent", "lhs", lhs.v_col, "rhs", rhs.v_row),
        ("columns", "rhs", rhs.v_col, "dst", dst.v_col),
    ):
        if not agree(here, there):
            yield Problem("P0205", f"{word}: {here} of {a} is not {there} of {b}", a)


LEFT, RIGHT, ACC, BIAS = tile("left"), tile("right"), tile("acc"), tile("bias")
_PRODUCT = (in_spaces, element_pair, inner_extents)
_ONE_ROW = (extent("lhs", rows=1),)


def product(
    name: str, doc: str, extra: tuple[Operand, ...], meaning: Contract, rules: tuple[Rule, ...]
) -> OpDef:
    """A row of lhs x rhs plus `extra`, which stands first when it is the start, last when it is the bias."""
    factors = (source("lhs", LEFT), source("rhs", RIGHT))
    operands = (*extra, *factors) if meaning.start else (*factors, *extra)
    return OpDef(
        name=name,
        doc=doc,
        operands=(*operands, target(kind=ACC)),
        attributes=(_PHASE,),
        format=dps(tuple(operand.name for operand in operands)),
        rules=(*_PRODUCT, *rules),
        reference=_reference,
        meaning=meaning,
        tolerance=_ORDER,
    )


def family(name: str, what: str, rules: tuple[Rule, ...]) -> tuple[OpDef, ...]:
    """The plain product, the one that starts from an accumulator, and the one with a bias row."""
    start, bias = source("acc_in", ACC), source("bias", BIAS)
    fits_start = (same_elements("acc_in", "dst"), same_valid("acc_in", "dst"))
    fits_bias = (same_elements("bias", "dst"), same_valid("bias", "dst", rows=False), extent("bias", rows=1))
    return (
        product(name, f"dst = lhs x rhs{what}.", (), Contract(), rules),
        product(
            f"{name}.acc", f"dst = acc_in + lhs x rhs{what}, the sum starting from acc_in.",
            (start,), Contract(start="acc_in"), (*rules, *fits_start),
        ),
        product(
            f"{name}.bias", f"dst = lhs x rhs{what} + the bias row.",
            (bias,), Contract(bias="bias"), (*rules, *fits_bias),
        ),
    )  # fmt: skip


ROWS = table(family("pto.tmatmul", "", ()), family("pto.tgemv", " with one row", _ONE_ROW))
