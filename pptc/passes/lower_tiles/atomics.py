"""Elements of global memory that several blocks change: each change is one step that no other can divide."""

from __future__ import annotations

from pptc.ir.core import Block, Region, Value
from pptc.ir.scalars import compute_type
from pptc.ir.types import I1, ScalarType
from pptc.passes.lower_tiles.lanes import Lane, Lanes


def update_element(lanes: Lanes, kind: str, value: Value, memory: Value, index: Value) -> None:
    """Element `index` = itself `kind` (add, max or min) the value, both in their element type."""
    elem = value.type
    assert isinstance(elem, ScalarType)
    if kind == "add" and compute_type(elem) == elem:
        lanes.code.create("memref.atomic_add", (value, memory, index))
    else:
        _try(lanes, kind, lanes.widen(value, elem), elem, memory, index)


def _try(lanes: Lanes, kind: str, value: Lane, elem: ScalarType, memory: Value, index: Value) -> None:
    """No instruction does it: try until nobody wrote in between."""
    code = lanes.code
    before, after = Block(), Block()
    code.create("scf.while", (), (), {}, (Region((before,)), Region((after,))))
    with code.inside(before):
        old = code.value("memref.atomic_load", (memory, index), elem)
        combine = {"add": lanes.add, "max": lanes.max, "min": lanes.min}[kind]
        new = lanes.narrow(combine(lanes.widen(old, elem), value), elem)
        done = code.value("memref.atomic_exchange", (old, new, memory, index), I1)
        code.create("scf.condition", (code.value("arith.xori", (done, code.constant(I1, True)), I1),))
    with code.inside(after):
        code.create("scf.yield")
