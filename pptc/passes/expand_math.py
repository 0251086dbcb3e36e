"""`expand-math`: math ops that the machine does not have, out of arith ops and fused multiply-adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from pptc.ir.core import Op, Value, functions
from pptc.ir.loop_rules import lanes_of
from pptc.ir.rewrite import replace
from pptc.ir.types import F32, F64, ScalarType
from pptc.passes import elementary
from pptc.passes.base import Pass, PassContext
from pptc.passes.lanes import ConstantPool, Lanes

Expansion = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Missing:
    """How an op is made where the machine lacks `capability` (empty: every machine does), for which elements."""

    make: Expansion
    capability: str = ""
    elements: tuple[ScalarType, ...] = (F32, F64)


EXPANSIONS: Mapping[str, Missing] = MappingProxyType(
    {
        "math.exp": Missing(elementary.exp, elements=(F32,)),
        "math.log": Missing(elementary.log, elements=(F32,)),
        "math.tanh": Missing(elementary.tanh, elements=(F32,)),
        "math.rsqrt": Missing(elementary.rsqrt),
        "math.round": Missing(elementary.round_away),
        "math.floor": Missing(elementary.floor, "round"),
        "math.ceil": Missing(elementary.ceil, "round"),
        "math.trunc": Missing(elementary.trunc, "round"),
        "math.roundeven": Missing(elementary.roundeven, "round"),
        "math.fma": Missing(Lanes.fma, "fma"),
    }
)


@dataclass(frozen=True)
class ExpandMath(Pass):
    """Expands exp, log, tanh, rsqrt and round, and the rounding ops and fma that the machine lacks."""

    name: ClassVar[str] = "expand-math"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass; an element type without an expansion is reported as P0402."""
        changed = False
        for function in functions(module):
            pool = ConstantPool(function)
            for op in list(_missing(function, context)):
                changed |= _expand(op, pool, context)
        return changed


def _missing(function: Op, context: PassContext) -> Iterator[Op]:
    for op in function.walk():
        found = EXPANSIONS.get(op.name)
        if found is not None and found.capability not in context.machine.native:
            yield op


def _expand(op: Op, pool: ConstantPool, context: PassContext) -> bool:
    found, type = EXPANSIONS[op.name], op.result.type
    elem = lanes_of(type)
    if elem not in found.elements:
        name = elem.name if elem else "this type"
        context.sink.error("P0402", f"{op.name} has no expansion for {name}", op.span, location=op.loc)
        return False
    replace(op, [found.make(Lanes(op, type, context.machine, pool), *op.operands)])
    return True
