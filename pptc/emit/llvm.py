"""A loop-level module as LLVM IR: one internal function `NAME.body` each, and the entries of the kernels.

Shared by all LLVM targets; a family gives its handlers, which override or extend the common ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llvmlite import ir

from pptc.emit import llvm_arith, llvm_control, llvm_memory, llvm_services
from pptc.emit.abi import Body, emit_entries
from pptc.emit.function_emitter import FunctionEmitter, Handler
from pptc.emit.hidden import SERVICES, hidden_arguments
from pptc.emit.llvm_ir import I64, POINTER, VOID, Llvm, QuotedAttributes, llvm_type
from pptc.emit.section import scratch_bytes
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.machine import Machine
from pptc.ir.pairs import entries
from pptc.ir.signature import pointer_access
from pptc.ir.types import FunctionType, MemRefType, Type
from pptc.options import EmitOptions

COMMON: Mapping[str, Handler] = MappingProxyType(
    {**llvm_arith.HANDLERS, **llvm_memory.HANDLERS, **llvm_control.HANDLERS, **llvm_services.HANDLERS}
)
"""The handlers of all LLVM targets."""

ATTRIBUTES: tuple[tuple[str, str], ...] = (("no-builtins", ""), ("no-jump-tables", "true"))
"""Every function has these: no call of a library, no table of addresses to relocate."""


def build(
    module: Op,
    machine: Machine,
    options: EmitOptions,
    handlers: Mapping[str, Handler] = COMMON,
    attributes: tuple[tuple[str, str], ...] = (),
) -> Llvm:
    """The llvmlite.ir module. Raises CompileError P0402 for an op without a handler."""
    made = ir.Module(name="pptc")
    made.triple = machine.triple
    defined = [f for f in functions(module) if f.regions and f.regions[0].blocks]
    quoted = (*ATTRIBUTES, *attributes)
    bodies = {op: _declare(made, op, options, quoted) for op in defined}
    for op, body in bodies.items():
        _define(op, body, machine, handlers)
    for entry in entries(module):
        emit_entries(entry, bodies, options.symbol_prefix, quoted)
    return made


def _declare(module: Llvm, op: Op, options: EmitOptions, quoted: tuple[tuple[str, str], ...]) -> Body:
    arguments = [value.type for value in op.body.args]
    hidden = hidden_arguments(op)
    types = [*map(llvm_type, arguments), *(POINTER if name == SERVICES else I64 for name in hidden)]
    function = ir.Function(module, ir.FunctionType(_returned(op), types), f"{symbol_name(op)}.body")
    function.linkage = "internal"
    function.attributes = QuotedAttributes(("noinline", "nounwind"), quoted)
    for value, argument in zip(op.body.args, function.args, strict=False):
        if isinstance(value.type, MemRefType):
            argument.attributes.align = value.type.elem.bytes
    _promise_no_overlap(op, function, options)
    return Body(function, hidden)


def _returned(op: Op) -> Llvm:
    type = op.attributes.get("function_type")
    inner: Type | None = getattr(type, "type", None)
    results = inner.results if isinstance(inner, FunctionType) else ()
    if len(results) < 2:
        return llvm_type(results[0]) if results else VOID
    return ir.LiteralStructType([llvm_type(result) for result in results])


def _promise_no_overlap(op: Op, function: Llvm, options: EmitOptions) -> None:
    """`noalias`, but where an output may be the very memory of an input: same element type, one read, one written."""
    memories = [
        (v, a) for v, a in zip(op.body.args, function.args, strict=False) if isinstance(v.type, MemRefType)
    ]
    if scratch_bytes(op) is not None:
        _, scratch = memories.pop()
        scratch.attributes.add("noalias")
        scratch.attributes.align = 64
    if options.may_alias:
        return
    access = {value: pointer_access(value) for value, _ in memories}
    for value, argument in memories:
        others = [other for other, _ in memories if other is not value and other.type == value.type]
        if not any(access[value][1] != access[other][1] for other in others):
            argument.attributes.add("noalias")


def _define(op: Op, body: Body, machine: Machine, handlers: Mapping[str, Handler]) -> None:
    own = len(op.body.args)
    hidden = dict(zip(body.hidden, body.function.args[own:], strict=True))
    emitter = FunctionEmitter(body.function, machine, handlers, hidden)
    for value, argument in zip(op.body.args, body.function.args, strict=False):
        emitter.define(value, argument)
    emitter.emit_block(op.body)
    if not emitter.builder.block.is_terminated:
        emitter.builder.ret_void()
