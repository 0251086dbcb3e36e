"""`legalize-floats`: bf16, f16 and f8 that the machine does not compute with become f32 and integer operations.

Arithmetic on a narrow type is done in f32 and rounded; + - * / and sqrt so give the correctly rounded narrow result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from pptc.diag import fail
from pptc.ir.core import Op, Value, functions
from pptc.ir.floats import FORMATS
from pptc.ir.loop_rules import lanes_of
from pptc.ir.rewrite import replace
from pptc.ir.types import F32, F64, I64, ScalarType
from pptc.passes.base import Pass, PassContext
from pptc.passes.lanes import ConstantPool, Lanes
from pptc.passes.narrow_floats import integer_of, narrow, narrow_to_odd, widen

_ARITHMETIC = frozenset(
    f"arith.{name}"
    for name in (
        "addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf",
        "cmpf", "fptosi", "fptoui", "sitofp", "uitofp",
    )
)  # fmt: skip
_SIGN_OPS: Mapping[str, str] = MappingProxyType({"arith.negf": "arith.xori", "math.absf": "arith.andi"})


@dataclass(frozen=True)
class LegalizeFloats(Pass):
    """Rewrites conversions and arithmetic of narrow floats that the machine lacks."""

    name: ClassVar[str] = "legalize-floats"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass."""
        changed = False
        for function in functions(module):
            pool = ConstantPool(function)
            for op in list(function.walk()):
                if not op.results or not any(map(_is_narrow, _elements(op))):
                    continue
                if op.definition.pure and not any(result.uses for result in op.results):
                    op.erase()
                    changed = True
                else:
                    changed |= _Legalizer(op, pool, context).run()
        return changed


def _elements(op: Op) -> Iterator[ScalarType | None]:
    for value in (*op.operands, *op.results):
        yield lanes_of(value.type)


def _is_narrow(elem: ScalarType | None) -> bool:
    return elem is not None and elem.is_float and elem.bits < 32


class _Legalizer:
    """One op. Everything made stands in front of it."""

    def __init__(self, op: Op, pool: ConstantPool, context: PassContext) -> None:
        self.op = op
        self.context = context
        shape = op.operands[0].type if op.operands else op.result.type
        self.lanes = Lanes(op, shape, context.machine, pool)

    def run(self) -> bool:
        """Rewrite the op when the machine cannot say it."""
        name = self.op.name
        if name in ("arith.extf", "arith.truncf"):
            return self._convert()
        if name in _SIGN_OPS:
            return self._sign(_SIGN_OPS[name])
        if name == "vector.reduction":
            return self._reduce()
        if name in _ARITHMETIC or name.startswith("math."):
            return self._compute()
        return False

    def _convert(self) -> bool:
        source, to = lanes_of(self.op.operands[0].type), lanes_of(self.op.result.type)
        assert source is not None and to is not None
        narrow_one = source if _is_narrow(source) else to
        if F32 in (source, to) and f"{narrow_one.name}.convert" in self.lanes.machine.native:
            return False
        wide = self._widened(self.op.operands[0])
        replace(self.op, [self._rounded(wide, to)])
        return True

    def _sign(self, word: str) -> bool:
        """The sign bit alone changes, of a NaN too."""
        (x,) = self.op.operands
        elem = lanes_of(x.type)
        assert elem is not None
        integer = integer_of(elem)
        mask = 1 << (elem.bits - 1)
        bits = self.lanes.bits(mask if word == "arith.xori" else mask - 1, integer)
        replace(self.op, [self.lanes.cast(self.lanes.op(word, self.lanes.cast(x, integer), bits), elem)])
        return True

    def _compute(self) -> bool:
        """The same op on f32 (from wide integers on f64, where they are exact)."""
        op, to = self.op, lanes_of(self.op.result.type)
        assert to is not None
        operands = [self._widened(value) for value in op.operands]
        middle = to
        if _is_narrow(to):
            middle = F64 if op.name.endswith("tofp") and _bits(op.operands[0]) > 16 else F32
        result = self.lanes.op(op.name, *operands, to=middle, attributes=op.attributes)
        replace(op, [self._rounded(result, to)])
        return True

    def _reduce(self) -> bool:
        op, to = self.op, lanes_of(self.op.result.type)
        assert to is not None
        wide = self._widened(op.operands[0])
        reduced = self.lanes.builder.value(op.name, (wide,), F32, op.attributes)
        scalar = Lanes(op, F32, self.context.machine, self.lanes.pool)
        replace(op, [self._with(scalar, reduced, to)])
        return True

    def _widened(self, value: Value) -> Value:
        elem = lanes_of(value.type)
        if not _is_narrow(elem):
            return value
        assert elem is not None
        if f"{elem.name}.convert" in self.lanes.machine.native:
            return self.lanes.op("arith.extf", value, to=F32)
        self._require_format(elem)
        return widen(self.lanes, value, elem)

    def _rounded(self, value: Value, to: ScalarType) -> Value:
        return self._with(self.lanes, value, to)

    def _with(self, lanes: Lanes, value: Value, to: ScalarType) -> Value:
        """A wide value as `to`; from f64 by way of an f32 that keeps what the last rounding must know."""
        elem = lanes_of(value.type)
        if elem == to:
            return value
        if to == F64:
            return lanes.op("arith.extf", value, to=F64)
        if elem == F64:
            value = narrow_to_odd(lanes, value)
        if f"{to.name}.convert" in lanes.machine.native:
            return lanes.op("arith.truncf", value, to=to)
        self._require_format(to)
        return narrow(lanes, value, to)

    def _require_format(self, elem: ScalarType) -> None:
        if elem.name not in FORMATS:
            raise fail(
                "P0402", f"{elem.name} is moved on {self.context.machine.name}, not computed", self.op.span
            )


def _bits(value: Value) -> int:
    elem = lanes_of(value.type)
    return elem.bits if elem else I64.bits
