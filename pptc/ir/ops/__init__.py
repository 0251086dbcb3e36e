"""OPS: the one immutable table of all rows, the union of the families in this folder."""

from __future__ import annotations

from pptc.ir.opdef import table
from pptc.ir.ops import (
    arith,
    builtin,
    elementwise,
    expand,
    handles,
    math,
    matmul,
    memory,
    memref,
    reduce,
    scalar,
    vector,
)

OPS = table(
    arith.ROWS.values(),
    builtin.ROWS.values(),
    elementwise.ROWS.values(),
    expand.ROWS.values(),
    handles.ROWS.values(),
    matmul.ROWS.values(),
    math.ROWS.values(),
    memory.ROWS.values(),
    memref.ROWS.values(),
    reduce.ROWS.values(),
    scalar.ROWS.values(),
    vector.ROWS.values(),
)
