"""x86-64: the dot and scale instructions of AVX-512 and the attributes that keep LLVM at the machine's vector width."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llvmlite import ir

from pptc.diag import fail
from pptc.emit import llvm
from pptc.emit.codegen import generate_code
from pptc.emit.function_emitter import FunctionEmitter, Handler
from pptc.emit.llvm_ir import BFLOAT, BYTE, I32, VOID, Llvm, int_constant
from pptc.emit.llvm_services import pause
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.ir.types import VectorType
from pptc.options import EmitOptions

_DOTS: Mapping[str, tuple[str, str, Llvm]] = MappingProxyType(
    {
        "dpbf16ps": ("dot.bf16", "x86.avx512bf16.dpbf16ps", BFLOAT),
        "vpdpbusd": ("dot.i8", "x86.avx512.vpdpbusd", BYTE),
    }
)
"""The capability that a dot instruction needs, its intrinsic without the width, and the elements that it takes."""


def _dot(e: FunctionEmitter, op: Op) -> Llvm:
    word = op.attributes["instruction"]
    capability, stem, element = _DOTS.get(str(word), ("", "", BYTE))
    if capability not in e.machine.native:
        raise fail("P0402", f"{e.machine.name} has no instruction {word}", op.span)
    acc, lhs, rhs = e.all(op.operands)
    bits = acc.type.count * 32
    packed = ir.VectorType(element, bits // (16 if element is BFLOAT else 8))
    lhs, rhs = (v if v.type == packed else e.builder.bitcast(v, packed) for v in (lhs, rhs))
    return e.intrinsic(f"{stem}.{bits}", [acc, lhs, rhs], acc.type)


def _scaleb(e: FunctionEmitter, op: Op) -> Llvm:
    """vscalefps; a scalar takes the lowest lane of a vector of four."""
    if "scaleb" not in e.machine.native:
        raise fail("P0402", f"{e.machine.name} has no instruction for math.scaleb", op.span)
    value, exponent = e.all(op.operands)
    if not isinstance(value.type, ir.VectorType):
        value, exponent = (e.splat(x, 4) for x in (value, exponent))
    lanes = value.type.count
    mask = ir.Constant(ir.IntType(max(lanes, 8)), (1 << lanes) - 1)
    rounding = (int_constant(_CURRENT_ROUNDING, I32),) if lanes == 16 else ()
    name = f"x86.avx512.mask.scalef.ps.{lanes * 32}"
    made = e.intrinsic(name, [value, exponent, value, mask, *rounding], value.type)
    return (
        made
        if isinstance(op.result.type, VectorType)
        else e.builder.extract_element(made, int_constant(0, I32))
    )


def _fence(e: FunctionEmitter, op: Op) -> None:
    """A release fence is no instruction here, but stores past the caches need one."""
    e.intrinsic("x86.sse.sfence", [], VOID)


_CURRENT_ROUNDING = 4
"""The word by which AVX-512 instructions with a rounding operand take the mode that is set."""

HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **llvm.COMMON,
        "vector.dot": _dot,
        "math.scaleb": _scaleb,
        "memref.fence": _fence,
        "tile.pause": pause(lambda e: e.intrinsic("x86.sse2.pause", [], VOID)),
    }
)


def generate(module: Op, machine: Machine, options: EmitOptions) -> bytes | str:
    """Object code or text of a loop-level module."""
    width = (("prefer-vector-width", str(machine.vector_bits)),)
    return generate_code(llvm.build(module, machine, options, HANDLERS, width), machine, options)
