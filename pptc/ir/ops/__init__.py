"""OPS: the one immutable table of all rows, the union of the families in this folder."""

from __future__ import annotations

from pptc.ir.opdef import table
from pptc.ir.ops import arith, math, memref, vector

OPS = table(
    arith.ROWS.values(),
    math.ROWS.values(),
    memref.ROWS.values(),
    vector.ROWS.values(),
)
