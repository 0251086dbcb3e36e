"""Shapes of the core level: functions of dims, symbolic or not, that give the shape of a result or refuse the operands.

Two dims are equal when their normal forms are; what is only known at run time is not refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pptc.ir.opdef import Problem
from pptc.ir.symbols import ANONYMOUS, Dim, add, bounds, floordiv, mul, print_dim, print_expression, sub

Dims = tuple[Dim, ...]


class Refusal(Exception):
    """What a derivation finds wrong; without a problem when another check reports it."""

    def __init__(
        self, code: str = "", message: str = "", operand: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, operand, hint) if code else None


def axis_in(rank: int, axis: int, name: str = "axis") -> int:
    """An axis counted from the front; negative ones count from the back."""
    if not -rank <= axis < rank:
        raise Refusal("P0207", f"{axis} is not an axis of rank {rank}", f"={name}")
    return axis % rank


def axes_in(rank: int, axes: Sequence[int]) -> list[int]:
    """Axes counted from the front, in ascending order, each once."""
    found = sorted(axis_in(rank, axis, "axes") for axis in axes)
    for axis, following in pairwise(found):
        if axis == following:
            raise Refusal("P0207", f"axis {axis} is named twice", "=axes")
    return found


def shape_text(dims: Dims) -> str:
    """A shape in a message: `4x(T)x64`, or `rank 0`."""
    return "x".join(map(print_dim, dims)) or "rank 0"


def broadcast(*shapes: Dims) -> Dims:
    """Trailing axes aligned; extents are equal or 1."""
    rank = max(map(len, shapes))
    out: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if dim in (1, out[axis]):
                continue
            if out[axis] != 1:
                raise Refusal("P0205", f"{_listed(shapes)} do not broadcast: {_unequal(out[axis], dim)}")
            out[axis] = dim
    return tuple(out)


def broadcasts_to(shape: Dims, wanted: Dims, operand: str | None = None) -> Dims:
    """`wanted`, to which the shape must stretch; a `?` in it is the extent of the shape."""
    out = list(wanted)
    for place, dim in enumerate(reversed(shape), 1):
        if place <= len(out) and out[-place] == ANONYMOUS:
            out[-place] = dim
        if place > len(out) or dim not in (1, out[-place]):
            raise Refusal("P0205", f"{shape_text(shape)} does not broadcast to {shape_text(wanted)}", operand)
    return tuple(out)


def equal_shapes(left: Dims, right: Dims, words: str, operand: str | None = None) -> None:
    """Refuse shapes that are not the same."""
    if left != right:
        raise Refusal("P0205", f"{words}: {shape_text(left)} and {shape_text(right)}", operand)


def equal_dims(left: Dim, right: Dim, words: str, operand: str | None = None) -> None:
    """Refuse extents that are not known to be the same."""
    if left != right:
        raise Refusal("P0205", f"{words}: {_unequal(left, right)}", operand)


def _listed(shapes: Sequence[Dims]) -> str:
    return " and ".join(map(shape_text, shapes))


def _unequal(left: Dim, right: Dim) -> str:
    if isinstance(left, int) and isinstance(right, int):
        return f"{left} is not {right}"
    return f"{print_dim(left)} and {print_dim(right)} are not known to be equal"


def reduced(dims: Dims, axes: Sequence[int], keep: bool) -> Dims:
    """The shape without its reduced axes, or with 1 in their place."""
    return tuple(1 if axis in axes else dim for axis, dim in enumerate(dims) if keep or axis not in axes)


def transposed(dims: Dims, order: Sequence[int]) -> Dims:
    """Axis i of the result is axis order[i]."""
    if sorted(order) != list(range(len(dims))):
        raise Refusal("P0207", f"{list(order)} is no permutation of the {len(dims)} axes")
    return tuple(dims[axis] for axis in order)


def matrix_product(a: Dims, b: Dims, transpose_a: bool, transpose_b: bool) -> Dims:
    """Batch axes broadcast; the last two are rows and columns."""
    if len(a) < 2 or len(b) < 2:
        raise Refusal("P0205", f"a matrix has rank 2 at least, not {shape_text(a if len(a) < 2 else b)}")
    rows, k = reversed(a[-2:]) if transpose_a else a[-2:]
    k_of_b, columns = reversed(b[-2:]) if transpose_b else b[-2:]
    equal_dims(k, k_of_b, "a and b do not have one length of products", "b")
    return (*broadcast(a[:-2], b[:-2]), rows, columns)


def concatenated(shapes: Sequence[Dims], axis: int) -> Dims:
    """The sum on one axis; all others are equal."""
    first = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise Refusal(
                "P0205", f"parts of one rank are joined, not {shape_text(first)} and {shape_text(shape)}"
            )
        for other in range(len(first)):
            if other != axis:
                equal_dims(first[other], shape[other], f"the parts differ on axis {other}")
    return (*first[:axis], add(*(shape[axis] for shape in shapes)), *first[axis + 1 :])


def gathered(data: Dims, index: Dims, axis: int) -> Dims:
    """The axis replaced by the shape of the indices."""
    return (*data[:axis], *index, *data[axis + 1 :])


def with_count(source: Dims, target: Dims) -> Dims:
    """`target`, which has as many elements as `source`, counted as polynomials; one `?` in it is what is left."""
    left = mul(*source)
    if target.count(ANONYMOUS) == 1:
        at = target.index(ANONYMOUS)
        others = mul(*target[:at], *target[at + 1 :])
        if others != 0:
            target = (*target[:at], floordiv(left, others), *target[at + 1 :])
    right = mul(*target)
    if left != right:
        raise Refusal(
            "P0205",
            f"{shape_text(source)} has {print_expression(left)} elements and {shape_text(target)} "
            f"{print_expression(right)}",
        )
    return target


def filled(written: Dims, actual: Dims) -> Dims:
    """A written shape with the actual extents where it says `?`."""
    if len(written) != len(actual):
        return written
    return tuple(dim if own == ANONYMOUS else own for own, dim in zip(written, actual, strict=True))


def inside(offset: Dim | None, size: Dim, stride: int, extent: Dim, axis: int) -> None:
    """Refuse a window that surely ends outside of its source; None is an offset known at run time only."""
    start: Dim = 0 if offset is None else offset
    beyond, _ = bounds(sub(add(start, mul(sub(size, 1), stride)), extent))
    fewest, _ = bounds(size)
    _, latest = bounds(start)
    too_far = beyond is not None and beyond >= 0 and fewest is not None and fewest > 0
    if too_far or (latest is not None and latest < 0):
        raise Refusal(
            "P0218",
            f"the window of axis {axis} ({print_expression(size)} from {print_expression(start)}) does not lie "
            f"within 0..{print_expression(extent)}",
        )


def window(source: Dims, offsets: Sequence[Dim | None], sizes: Dims, strides: Sequence[int]) -> None:
    """Refuse a window whose lists do not fit the source, or that surely leaves it."""
    for name, items in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
        if len(items) != len(source):
            raise Refusal("P0202", f"{len(items)} {name} for {len(source)} axes")
    if any(stride < 1 for stride in strides):
        raise Refusal("P0207", "strides are 1 at least")
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        inside(offset, size, stride, source[axis], axis)
