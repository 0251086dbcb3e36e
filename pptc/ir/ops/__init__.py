"""OPS: the one immutable table of all rows, the union of the families in this folder."""

from __future__ import annotations

from pptc.ir.opdef import table
from pptc.ir.ops import (
    arith,
    builtin,
    combined,
    core_contract,
    core_elementwise,
    core_fill,
    core_layout,
    core_model,
    core_module,
    core_reduce,
    elementwise,
    expand,
    generate,
    handles,
    math,
    matmul,
    memory,
    memref,
    rearrange,
    reduce,
    scalar,
    vector,
)

OPS = table(
    arith.ROWS.values(),
    builtin.ROWS.values(),
    combined.ROWS.values(),
    core_contract.ROWS.values(),
    core_elementwise.ROWS.values(),
    core_fill.ROWS.values(),
    core_layout.ROWS.values(),
    core_model.ROWS.values(),
    core_module.ROWS.values(),
    core_reduce.ROWS.values(),
    elementwise.ROWS.values(),
    expand.ROWS.values(),
    generate.ROWS.values(),
    handles.ROWS.values(),
    matmul.ROWS.values(),
    math.ROWS.values(),
    memory.ROWS.values(),
    memref.ROWS.values(),
    rearrange.ROWS.values(),
    reduce.ROWS.values(),
    scalar.ROWS.values(),
    vector.ROWS.values(),
)
