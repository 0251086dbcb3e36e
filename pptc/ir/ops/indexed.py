"""Rows of the tile dialect that reach elements of global memory, or of a tile, by numbers in another tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from pptc.ir.core import Op
from pptc.ir.kinds import (
    FLOATS,
    PART,
    VEC,
    attribute,
    choice,
    in_spaces,
    plain,
    same_elements,
    source,
    target,
    typed_tiles,
    unboxed,
)
from pptc.ir.opdef import (
    Attribute,
    MemoryGather,
    MemoryScatter,
    OpDef,
    Operand,
    Pick,
    Problem,
    Scatter,
    dps,
    table,
)
from pptc.ir.types import BF16, F16, F32, I8, I16, I32, UI8, UI16, UI32, ScalarType

_ELEMENTS = (I8, I16, I32, UI8, UI16, UI32, *FLOATS)
_NUMBERS = (I16, I32, UI16, UI32)

_COALESCE = Attribute(
    "coalesce", "enum", "coalesce", True, ("row", "elem"),
    doc="row: a number stands for a whole row; elem: for an element, counted row by row",
)  # fmt: skip
_IDX = Operand("idx", VEC, "read", doc="1 x R or R x 1 numbers of rows, or one number for each element")


def _elements(op: Op) -> Iterator[Problem]:
    for name, type in typed_tiles(op):
        allowed = _NUMBERS if name in ("idx", "indexes", "offsets") else _ELEMENTS
        if type.elem not in allowed:
            yield Problem("P0216", f"{op.name} has no meaning for {type.elem.name} in {name}", name)


_ATOMIC: Mapping[str, tuple[ScalarType, ...]] = MappingProxyType(
    {"add": (I32, F16, BF16, F32), "max": (I32, F32), "min": (I32, F32)}
)


def _atomic_elements(op: Op) -> Iterator[Problem]:
    """Not every element type is added to in one step, or compared."""
    word = str(plain(attribute(op, "scatterAtomicOp")))
    for _, type in typed_tiles(op, ("src",)):
        allowed = _ATOMIC.get(word, (type.elem,))
        if type.elem not in allowed:
            listed = ", ".join(elem.name for elem in allowed)
            yield Problem(
                "P0216", f"scatterAtomicOp = {word} takes no {type.elem.name}", "src", f"it takes {listed}"
            )


ROWS = table(
    OpDef(
        name="pto.mgather",
        doc="dst = rows or elements of a part of global memory, by their numbers. gatherOob says what a number out of "
        "range gives: the nearest element (clamp, and undefined), the one modulo the count (wrap), or zero.",
        operands=(Operand("mem", PART, "read"), _IDX, target()),
        attributes=(
            _COALESCE,
            choice(
                "gatherOob",
                "gather_oob",
                "undefined",
                "clamp",
                "wrap",
                "zero",
                default="undefined",
                doc="see above",
            ),
        ),
        format=dps(("mem", "idx")),
        dtypes=_ELEMENTS,
        rules=(in_spaces, unboxed(), same_elements("mem", "dst"), _elements),
        meaning=MemoryGather(),
    ),
    OpDef(
        name="pto.mscatter",
        doc="Rows or elements of a part of global memory = src, by their numbers, in order: of equal numbers the last "
        "one stays. scatterOob says what becomes of a number out of range: it is skipped (and undefined), or taken as "
        "the nearest (clamp) or modulo the count (wrap).",
        operands=(source("src"), _IDX, Operand("mem", PART, "update")),
        attributes=(
            _COALESCE,
            choice(
                "scatterAtomicOp",
                "scatter_atomic_op",
                "none",
                "add",
                "max",
                "min",
                default="none",
                doc="what is done with the element that is there, in one step",
            ),
            choice(
                "scatterOob",
                "scatter_oob",
                "undefined",
                "skip",
                "clamp",
                "wrap",
                default="undefined",
                doc="see above",
            ),
            choice(
                "scatterConflict",
                "scatter_conflict",
                "default",
                "last",
                default="default",
                doc="the last one stays",
            ),
        ),
        format=dps(("src", "idx"), ("mem",)),
        dtypes=_ELEMENTS,
        rules=(
            in_spaces,
            unboxed(),
            same_elements("src", "mem"),
            _elements,
            _atomic_elements,
        ),
        meaning=MemoryScatter(),
    ),
    OpDef(
        name="pto.tscatter",
        doc="dst[indexes[r, c], c] = src[r, c], in order: of equal numbers the last one stays. Other elements of dst "
        "keep their values; numbers of no row are skipped.",
        operands=(source("src"), source("indexes"), target(access="update")),
        format=dps(("src", "indexes")),
        dtypes=_ELEMENTS,
        rules=(in_spaces, unboxed(), same_elements("src", "dst"), _elements),
        meaning=Scatter(),
    ),
    OpDef(
        name="pto.tgatherb",
        doc="dst[r, c] = the element of src at byte offsets[r, c]; one out of range takes the nearest element.",
        operands=(source("src"), source("offsets"), target()),
        format=dps(("src", "offsets")),
        dtypes=_ELEMENTS,
        rules=(in_spaces, unboxed(), same_elements("src", "dst"), _elements),
        meaning=Pick("offsets", in_bytes=True),
    ),
)
