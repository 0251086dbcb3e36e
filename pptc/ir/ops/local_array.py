"""Rows of small arrays of scalars that belong to one run of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.analysis import constant_of
from pptc.ir.core import Op
from pptc.ir.kinds import INDEX_VALUE, SCALAR
from pptc.ir.opdef import Kind, OpDef, Operand, Problem, Result, table
from pptc.ir.types import LocalArrayType

LOCAL_ARRAY = Kind("a local array", lambda type: isinstance(type, LocalArrayType))
_INDICES = Operand("indices", INDEX_VALUE, arity="many", doc="one per dimension")


def _fits(op: Op) -> Iterator[Problem]:
    """One index per dimension, constant ones in range; a value of the element type."""
    type = op.operand("array").type
    if not isinstance(type, LocalArrayType):
        return
    indices = op.group("indices")
    if len(indices) != len(type.dims):
        yield Problem("P0202", f"the array has {len(type.dims)} dimensions, not {len(indices)}", "array")
    for index, size in zip(indices, type.dims, strict=False):
        known = constant_of(index)
        if known is not None and not 0 <= known < size:
            yield Problem("P0218", f"index {known} is not in a dimension of {size}", "indices")
    value = op.result if op.results else op.operand("value")
    if value.type != type.elem:
        group = None if op.results else "value"
        yield Problem("P0201", f"the array holds {type.elem.name}", group)


ROWS = table(
    OpDef(
        name="pto.declare_local_array",
        doc="An array of its own for each time that it is declared; its elements are undefined at first.",
        results=(Result("array", LOCAL_ARRAY),),
        format="attr-dict `->` type($array)",
        since="0.57",
    ),
    OpDef(
        name="pto.local_array_get",
        doc="An element. An index out of range takes the nearest one that is in it.",
        operands=(Operand("array", LOCAL_ARRAY, "read"), _INDICES),
        results=(Result("value", SCALAR),),
        format="$array `` `[` $indices `]` attr-dict `:` type($array) `->` type($value)",
        rules=(_fits,),
        since="0.57",
    ),
    OpDef(
        name="pto.local_array_set",
        doc="Sets an element. An index out of range takes the nearest one that is in it.",
        operands=(Operand("array", LOCAL_ARRAY, "write"), _INDICES, Operand("value", SCALAR)),
        format="$array `` `[` $indices `]` `,` $value attr-dict `:` type($array) `,` type($value)",
        rules=(_fits,),
        since="0.57",
    ),
)
