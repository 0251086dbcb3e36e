"""One function of the loop level on its way to LLVM: values, builder and intrinsics that the handlers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from pptc.diag import fail
from pptc.emit.llvm_ir import I32, Llvm, int_constant, llvm_type, poison, splat_constant, suffix
from pptc.ir.core import Block, Op, Value
from pptc.ir.machine import Machine

Handler = Callable[["FunctionEmitter", Op], Any]
"""Emits an op: returns its result, a list of them when the row has several, or None."""


class FunctionEmitter:
    """Emits the ops of one function; `handlers` is the machine's dispatch table."""

    def __init__(
        self,
        function: Llvm,
        machine: Machine,
        handlers: Mapping[str, Handler],
        hidden: Mapping[str, Llvm] = MappingProxyType({}),
    ) -> None:
        self.function = function
        self.hidden = hidden  # hidden arguments by name
        self.module = function.module
        self.machine = machine
        self.handlers = handlers
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._values: dict[Value, Llvm] = {}

    def define(self, value: Value, emitted: Llvm) -> None:
        """Bind a value of the module to one of LLVM."""
        self._values[value] = emitted

    def __getitem__(self, value: Value) -> Llvm:
        return self._values[value]

    def get(self, op: Op, name: str) -> Llvm:
        """The LLVM value of a named operand."""
        return self._values[op.operand(name)]

    def all(self, values: Sequence[Value]) -> list[Llvm]:
        """The LLVM values of several."""
        return [self._values[value] for value in values]

    def emit_block(self, block: Block) -> list[Llvm]:
        """Emit all ops; returns the values that the terminator passes on."""
        for op in block:
            self._emit(op)
        return self.all(block.terminator.operands) if block.terminator else []

    def _emit(self, op: Op) -> None:
        handler = self.handlers.get(op.name)
        if handler is None:
            raise fail("P0402", f"{op.name} has no code on {self.machine.name}", op.span)
        made = handler(self, op)
        if op.results:
            made = made if isinstance(made, list) else [made]
            self._values.update(zip(op.results, made, strict=True))

    # -- shorthands of the handlers

    def block(self, name: str) -> Llvm:
        """A new basic block at the end of the function."""
        return self.function.append_basic_block(name)

    def intrinsic(
        self,
        stem: str,
        arguments: Sequence[Llvm],
        result: Llvm,
        overloads: Sequence[Llvm] = (),
        fastmath: tuple[str, ...] = (),
    ) -> Llvm:
        """Call `llvm.STEM` with the suffixes of its overloaded types."""
        name = ".".join(("llvm", stem, *map(suffix, overloads)))
        known = self.module.globals.get(name)
        if known is None:
            type = ir.FunctionType(result, [a.type for a in arguments])
            known = ir.Function(self.module, type, name)
        return self.builder.call(known, arguments, fastmath=fastmath)

    def splat(self, scalar: Llvm, lanes: int) -> Llvm:
        """The scalar in every lane."""
        if isinstance(scalar, ir.Constant):
            return splat_constant(scalar, lanes)
        type = ir.VectorType(scalar.type, lanes)
        first = self.builder.insert_element(poison(type), scalar, int_constant(0, I32))
        mask = ir.Constant(ir.VectorType(I32, lanes), [int_constant(0, I32)] * lanes)
        return self.builder.shuffle_vector(first, poison(type), mask)

    def compare(self, predicate: str, lhs: Llvm, rhs: Llvm) -> Llvm:
        """An integer comparison by LLVM's word."""
        return self.inserted(ir.instructions.ICMPInstr(self.builder.block, predicate, lhs, rhs))

    def compare_floats(self, predicate: str, lhs: Llvm, rhs: Llvm) -> Llvm:
        """A float comparison by LLVM's word."""
        return self.inserted(ir.instructions.FCMPInstr(self.builder.block, predicate, lhs, rhs))

    def inserted(self, instruction: Llvm) -> Llvm:
        """An instruction that llvmlite's builder does not make, or not on plain pointers."""
        self.builder._insert(instruction)
        return instruction

    def element_address(self, memory: Llvm, index: Llvm, element: Llvm, *, inside: bool) -> Llvm:
        """Where element `index` lies; `inside` promises that the memory holds it."""
        return self.builder.gep(memory, [index], inbounds=inside, source_etype=element)


def result_type(op: Op) -> Llvm:
    """The LLVM type of the only result."""
    return llvm_type(op.result.type)
