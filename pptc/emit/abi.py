"""The entries of a kernel over its internal body: `NAME.kernel` for the library, plain C symbols for everyone else.

`NAME.kernel(const ppt_args *, const ppt_group *)` is hidden and runs the blocks of a group. Exported are `NAME(args)`
with scratch on the stack, `NAME_ws(args, scratch)` and `NAME_scratch_bytes()`; runtime_c/include/pptc_kernel.h has the
layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llvmlite import ir

from pptc.emit.hidden import BLOCK, BLOCKS, NEEDS_LIBRARY, SERVICES, SUBBLOCK
from pptc.emit.llvm_ir import (
    BYTE,
    I64,
    POINTER,
    VOID,
    Llvm,
    QuotedAttributes,
    int_constant,
    memory_type,
    scalar_type,
)
from pptc.emit.section import STACK_SCRATCH_BYTES, scratch_bytes
from pptc.ir.core import Op, with_called
from pptc.ir.pairs import Entry
from pptc.ir.spmd import spmd_role
from pptc.ir.types import I1, MemRefType, ScalarType, Type

_POINTERS, _SCALARS, _SCRATCH, _SERVICES = 8, 16, 32, 48
_BEGIN, _END, _COUNT, _CORE = 8, 16, 24, 32
"""Byte offsets in ppt_args and ppt_group."""


@dataclass(frozen=True, slots=True)
class Body:
    """The internal function, and the names of the hidden arguments that follow the kernel's own."""

    function: Llvm
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kernel:
    """What the entries of one function are made from."""

    op: Op
    body: Body
    name: str
    quoted: tuple[tuple[str, str], ...]

    @property
    def arguments(self) -> list[Type]:
        """The types of the kernel's own arguments: all but scratch."""
        types = [value.type for value in self.op.body.args]
        return types if scratch_bytes(self.op) is None else types[:-1]

    def function(self, name: str, result: Llvm, types: Sequence[Llvm], linkage: str = "") -> Llvm:
        """A new function beside the body."""
        made = ir.Function(self.body.function.module, ir.FunctionType(result, types), name)
        made.linkage = linkage
        made.attributes = QuotedAttributes(("nounwind",), self.quoted)
        return made


def emit_entries(
    entry: Entry, bodies: Mapping[Op, Body], prefix: str, quoted: tuple[tuple[str, str], ...]
) -> None:
    """Add all entries of a kernel to the module of its bodies; a pair has one for the library only."""
    made = [_Kernel(op, bodies[op], prefix + entry.name, quoted) for op in entry.functions]
    _emit_kernel(made)
    if not entry.is_pair:
        _emit_plain_entries(made[0])


def _emit_plain_entries(kernel: _Kernel) -> None:
    """What everyone else calls, unless the body cannot do without the library."""
    op = kernel.op
    if any(inner.name in NEEDS_LIBRARY for each in with_called(op) for inner in each.walk()):
        return
    _emit_plain(kernel, with_scratch=True)
    if (scratch_bytes(op) or 0) <= STACK_SCRATCH_BYTES:
        _emit_plain(kernel, with_scratch=False)
    size = kernel.function(f"{kernel.name}_scratch_bytes", I64, ())
    ir.IRBuilder(size.append_basic_block("entry")).ret(int_constant(scratch_bytes(op) or 0, I64))


# ---------------------------------------------------------------- the plain symbols


def _c_type(type: Type) -> Llvm:
    """How C passes an argument: bool as a byte, bf16 and f16 as 16-bit integers."""
    if isinstance(type, MemRefType):
        return POINTER
    assert isinstance(type, ScalarType)
    return memory_type(type)


def _from_c(b: Llvm, value: Llvm, type: Type) -> Llvm:
    return b.icmp_unsigned("!=", value, int_constant(0, BYTE)) if type == I1 else value


def _emit_plain(kernel: _Kernel, *, with_scratch: bool) -> None:
    types = [_c_type(type) for type in kernel.arguments]
    name = f"{kernel.name}_ws" if with_scratch else kernel.name
    function = kernel.function(name, VOID, [*types, POINTER] if with_scratch else types)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    values = [_from_c(b, a, type) for a, type in zip(function.args, kernel.arguments, strict=False)]
    if scratch_bytes(kernel.op) is not None:
        values.append(function.args[-1] if with_scratch else _stack(b, kernel, function))
    number, count = int_constant(0, I64), int_constant(1, I64)
    nothing = ir.Constant(POINTER, None)
    _call(b, kernel.body, values, {BLOCK: number, BLOCKS: count, SUBBLOCK: number, SERVICES: nothing})
    b.ret_void()


def _stack(b: Llvm, kernel: _Kernel, function: Llvm) -> Llvm:
    """Scratch on the stack, every page of it touched in order so that an overflow meets the guard."""
    size = scratch_bytes(kernel.op)
    if not size:
        return ir.Constant(POINTER, None)
    function.attributes = QuotedAttributes(("nounwind",), (*kernel.quoted, ("probe-stack", "inline-asm")))
    slot = b.alloca(ir.ArrayType(BYTE, size))
    slot.align = 64
    return slot if slot.type == POINTER else b.bitcast(slot, POINTER)


def _call(b: Llvm, body: Body, values: Sequence[Llvm], hidden: Mapping[str, Llvm]) -> None:
    b.call(body.function, [*values, *(hidden[name] for name in body.hidden)])


# ---------------------------------------------------------------- the entry of the library


def _field(b: Llvm, base: Llvm, offset: int, type: Llvm) -> Llvm:
    address = b.gep(base, [int_constant(offset, I64)], inbounds=True, source_etype=BYTE)
    return b.load(address, align=8, typ=type)


def _from_slot(b: Llvm, slot: Llvm, type: ScalarType) -> Llvm:
    """The value whose bits stand in the low bytes of a 64-bit slot."""
    width = 8 if type.bits == 1 else type.bits
    low = slot if width == 64 else b.trunc(slot, ir.IntType(width))
    if type.bits == 1:
        return b.icmp_unsigned("!=", low, int_constant(0, BYTE))
    to = scalar_type(type)
    return low if low.type == to else b.bitcast(low, to)


def _emit_kernel(kernels: Sequence[_Kernel]) -> None:
    """The blocks of a group; of a pair, on the core that the group names: the first one's or the others'."""
    first = kernels[0]
    function = first.function(f"{first.name}.kernel", VOID, (POINTER, POINTER), "hidden")
    args, group = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    if len(kernels) == 1:
        _emit_blocks(b, first, args, group, int_constant(0, I64))
        return
    core = _field(b, group, _CORE, I64)
    cube, vector = map(function.append_basic_block, ("cube", "vector"))
    b.cbranch(b.icmp_unsigned("==", core, int_constant(0, I64)), cube, vector)
    b.position_at_end(cube)
    _emit_blocks(b, first, args, group, core)
    b.position_at_end(vector)
    _emit_blocks(b, kernels[1], args, group, b.sub(core, int_constant(1, I64)))


def _emit_blocks(b: Llvm, kernel: _Kernel, args: Llvm, group: Llvm, subblock: Llvm) -> None:
    """Run the body for each block of the group, and return."""
    function = b.function
    values = _unpack(b, kernel, args)
    services = _field(b, args, _SERVICES, POINTER) if SERVICES in kernel.body.hidden else subblock
    begin, end, count = (_field(b, group, offset, I64) for offset in (_BEGIN, _END, _COUNT))
    entry, head, run, done = b.block, *map(function.append_basic_block, ("blocks", "block", "done"))
    b.branch(head)
    b.position_at_end(head)
    number = b.phi(I64)
    number.add_incoming(begin, entry)
    b.cbranch(b.icmp_unsigned("<", number, end), run, done)
    b.position_at_end(run)
    places = {"block_idx": number, "block_num": count, "subblock_idx": subblock}
    full = [places[v] if isinstance(v, str) else v for v in values]
    typed = [_resized(b, v, a.type) for v, a in zip(full, kernel.body.function.args, strict=False)]
    _call(b, kernel.body, typed, {BLOCK: number, BLOCKS: count, SUBBLOCK: subblock, SERVICES: services})
    number.add_incoming(b.add(number, int_constant(1, I64)), b.block)
    b.branch(head)
    b.position_at_end(done)
    b.ret_void()


def _resized(b: Llvm, value: Llvm, type: Llvm) -> Llvm:
    """A block number in the integer type of its argument."""
    return value if value.type == type else b.trunc(value, type)


def _unpack(b: Llvm, kernel: _Kernel, args: Llvm) -> list[Llvm | str]:
    """The body's arguments from a ppt_args; an SPMD argument stands as its role."""
    pointers, scalars = _field(b, args, _POINTERS, POINTER), _field(b, args, _SCALARS, POINTER)
    values: list[Llvm | str] = []
    pointer_count = scalar_count = 0
    for index, type in enumerate(kernel.arguments):
        role = spmd_role(kernel.op, index)
        if role:
            values.append(role)
        elif isinstance(type, ScalarType):
            values.append(_from_slot(b, _field(b, scalars, 8 * scalar_count, I64), type))
            scalar_count += 1
        else:
            values.append(_field(b, pointers, 8 * pointer_count, POINTER))
            pointer_count += 1
    if scratch_bytes(kernel.op) is not None:
        values.append(_field(b, args, _SCRATCH, POINTER))
    return values
