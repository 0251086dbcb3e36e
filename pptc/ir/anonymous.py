"""The extent `?`: at a function's argument a symbol of its own, anywhere else whatever the definition or the type rule
says.

A text is read with `ANONYMOUS` for every `?`; these functions put the symbol in its place as soon as it is known. What
stays anonymous is reported by the scope rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pptc.ir.symbols import ANONYMOUS, Dim, Symbol
from pptc.ir.types import StateType, TensorType, Type


def name_anonymous(types: Iterable[Type]) -> list[Type]:
    """The types with a symbol of its own for each `?`: `?0`, `?1`, .. in their order."""
    count = 0

    def named(dim: Dim) -> Dim:
        nonlocal count
        if dim != ANONYMOUS:
            return dim
        count += 1
        return Symbol(f"?{count - 1}")

    return [
        type.__class__(tuple(map(named, type.dims)), type.elem)
        if isinstance(type, TensorType | StateType)
        else type
        for type in types
    ]


def is_open(type: Type) -> bool:
    """True when an extent of the type is still `?`."""
    return isinstance(type, TensorType | StateType) and ANONYMOUS in type.dims


def fill(written: Type, actual: Type) -> Type:
    """The written type with the extents of the actual one in place of `?`."""
    if not is_open(written) or actual.__class__ is not written.__class__:
        return written
    assert isinstance(written, TensorType | StateType) and isinstance(actual, TensorType | StateType)
    if len(actual.dims) != len(written.dims):
        return written
    pairs = zip(written.dims, actual.dims, strict=True)
    return written.__class__(tuple(dim if own == ANONYMOUS else own for own, dim in pairs), written.elem)


def fill_all(written: Sequence[Type], actual: Sequence[Type]) -> list[Type]:
    """`fill`, pair by pair; nothing changes when the numbers differ."""
    return list(map(fill, written, actual)) if len(written) == len(actual) else list(written)
