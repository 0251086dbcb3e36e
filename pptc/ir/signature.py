"""KernelSignature: what a caller must know about a tile kernel. Read by the linker, the C header and the runtime.

Names, element types and SPMD roles come from the function, the direction of each pointer from the accesses that the
rows declare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pptc.diag import fail
from pptc.ir.attrs import TypeAttr
from pptc.ir.core import Op, Value, symbol_name, with_called
from pptc.ir.in_place import in_place_pairs
from pptc.ir.opdef import Access
from pptc.ir.pairs import Entry, entries
from pptc.ir.spmd import GRID_OPS, Role, spmd_role
from pptc.ir.types import FunctionType, MemRefType, PartType, PtrType, ScalarType, Type, ViewType

DIVISIBLE = "tile.divisible"
"""Unit, on func.func: any number of blocks gives the result of one."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `reads` and `writes` are about the memory behind a pointer."""

    name: str
    kind: Literal["pointer", "scalar"]
    dtype: ScalarType
    reads: bool = False
    writes: bool = False
    role: Role = ""


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """A kernel as its callers see it.

    `uses_grid` says that the blocks of a grid do different work. `in_place` lists (written, read) argument numbers that
    may be the very same memory; with `may_alias` (--may-alias) arguments may overlap in any way.
    """

    name: str
    arguments: tuple[Argument, ...]
    uses_grid: bool = False
    in_place: tuple[tuple[int, int], ...] = ()
    may_alias: bool = False

    @property
    def passed(self) -> tuple[Argument, ...]:
        """The arguments that a launch passes: all but the SPMD ones."""
        return tuple(a for a in self.arguments if not a.role)


def kernels(module: Op) -> tuple[Op, ...]:
    """The functions behind all entries of a module, those of a pair one by one."""
    return tuple(function for entry in entries(module) for function in entry.functions)


def signatures(module: Op) -> tuple[KernelSignature, ...]:
    """The signatures of all kernels of a tile-level module."""
    return tuple(map(entry_signature, entries(module)))


def entry_signature(entry: Entry) -> KernelSignature:
    """The signature of an entry: of a pair, what either function does to its arguments."""
    first, *others = map(kernel_signature, entry.functions)
    if not others:
        return first
    arguments = tuple(
        replace(own, reads=own.reads or other.reads, writes=own.writes or other.writes)
        for own, other in zip(first.arguments, others[0].arguments, strict=True)
    )
    return KernelSignature(entry.name, arguments, first.uses_grid or others[0].uses_grid)


def kernel_signature(function: Op) -> KernelSignature:
    """The signature of a tile- or loop-level function.

    Raises CompileError P0203 on an argument that no caller can pass, and on a result.
    """
    name = symbol_name(function)
    type_ = function.attributes.get("function_type")
    if isinstance(type_, TypeAttr) and isinstance(type_.type, FunctionType) and type_.type.results:
        raise fail(
            "P0203",
            f"kernel @{name} returns a value, and kernels return nothing",
            function.span,
            hint="store the value through a pointer argument, or make this function private",
        )
    arguments = tuple(
        _argument(function, value, index, name) for index, value in enumerate(_passed(function))
    )
    return KernelSignature(name, arguments, asks_for_grid(function), in_place_pairs(function))


def asks_for_grid(function: Op) -> bool:
    """Whether the blocks of a grid do different work."""
    asked = any(op.name in GRID_OPS for each in with_called(function) for op in each.walk())
    roles = any(spmd_role(function, number) for number in range(len(function.body.args)))
    return (asked or roles) and DIVISIBLE not in function.attributes


def _passed(function: Op) -> list[Value]:
    """The arguments without the scratch that lowering adds as the last one."""
    arguments = function.body.args
    lowered = bool(arguments) and isinstance(arguments[-1].type, MemRefType)
    return arguments[:-1] if lowered and "tile.scratch_bytes" in function.attributes else arguments


def _argument(function: Op, value: Value, index: int, kernel: str) -> Argument:
    name = value.name or f"arg{index}"
    role = spmd_role(function, index)
    if isinstance(value.type, (PtrType, MemRefType)):
        reads, writes = pointer_access(value)
        return Argument(name, "pointer", value.type.elem, reads, writes, role)
    if isinstance(value.type, ScalarType):
        return Argument(name, "scalar", value.type, role=role)
    raise fail(
        "P0203",
        f"argument %{name} of kernel @{kernel} is neither a pointer nor a scalar",
        function.span,
        hint="mark the kernel among several functions with pto.entry, or make this function private",
    )


# ---------------------------------------------------------------- what happens to the memory behind a pointer


def pointer_access(pointer: Value) -> tuple[bool, bool]:
    """Whether a function may read and may write through a pointer argument; unknown uses count as both."""
    reads = writes = False
    seen = {pointer: None}
    work = [pointer]
    while work:
        value = work.pop()
        for op, index in value.uses:
            access = _access(op, index)
            derived = [v for v in _derived(op) if _is_memory(v.type)] if access == "value" else []
            escapes = access == "value" and not derived and not op.definition.pure
            reads |= access in ("read", "update") or escapes
            writes |= access in ("write", "update", "scratch") or escapes
            fresh = [v for v in derived if v not in seen]
            seen.update(dict.fromkeys(fresh))
            work += fresh
    return reads, writes


def _access(op: Op, index: int) -> Access:
    """What an op does to the memory behind operand `index`."""
    end = 0
    for operand, count in zip(op.definition.operands, op.segments, strict=True):
        end += count
        if index < end:
            return operand.access
    return "value"


def _is_memory(type_: Type) -> bool:
    return isinstance(type_, (PtrType, ViewType, PartType, MemRefType))


def _derived(op: Op) -> Iterator[Value]:
    """Values that may stand for the memory of an operand that the op only passes on."""
    yield from op.results
    for region in op.regions:
        yield from region.block.args
    if op.definition.terminator and op.parent is not None and op.parent.name != "func.func":
        yield from op.parent.results
        for region in op.parent.regions:
            yield from region.block.args
