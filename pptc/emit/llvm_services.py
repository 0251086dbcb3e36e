"""Handlers of the ops that ask the library for something: slots of queues, meetings of cores, a pause.

A service is a function behind a pointer of ppt_services (runtime_c/include/pptc_kernel.h), which gets that structure as
its first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from llvmlite import ir

from pptc.emit.function_emitter import FunctionEmitter, Handler
from pptc.emit.hidden import SERVICES
from pptc.emit.llvm_ir import BYTE, I32, I64, POINTER, VOID, Llvm, int_constant
from pptc.ir.core import Op
from pptc.ir.kinds import plain

_CLAIM, _SEND, _RECEIVE, _FREE, _MEET, _PAUSE, _PRINT = 8, 16, 24, 32, 40, 48, 56
"""Byte offsets in ppt_services."""

_KINDS = ("aiv_only", "aic_only", "mix")
"""PPT_MEET_* of pptc_kernel.h."""


@dataclass(frozen=True)
class _Callee:
    """A function behind a pointer: llvmlite asks the callee for the type of a call, which a pointer does not know."""

    pointer: Llvm
    function_type: Llvm
    type: Llvm = POINTER

    def get_reference(self) -> str:
        """The operand's text."""
        return str(self.pointer.get_reference())


def _ask(e: FunctionEmitter, offset: int, arguments: Sequence[Llvm], result: Llvm) -> Llvm:
    """Call a service."""
    services = e.hidden[SERVICES]
    place = e.builder.gep(services, [int_constant(offset, I64)], inbounds=True, source_etype=BYTE)
    function = e.builder.load(place, align=8, typ=POINTER)
    type = ir.FunctionType(result, [POINTER, *(argument.type for argument in arguments)])
    return e.builder.call(_Callee(function, type), [services, *arguments])


def _number(op: Op, name: str, type: Llvm = I32) -> Llvm:
    return int_constant(int(plain(op.attributes[name])), type)


def _wait(offset: int) -> Handler:
    def handler(e: FunctionEmitter, op: Op) -> Llvm:
        numbers = [
            _number(op, "channel"),
            _number(op, "slots"),
            _number(op, "offset", I64),
            _number(op, "bytes", I64),
        ]
        return _ask(e, offset, numbers, POINTER)

    return handler


def _pass_on(offset: int) -> Handler:
    def handler(e: FunctionEmitter, op: Op) -> None:
        _ask(e, offset, [_number(op, "channel")], VOID)

    return handler


def _meet(e: FunctionEmitter, op: Op) -> None:
    who = int_constant(_KINDS.index(str(plain(op.attributes["core_type"]))), I32)
    _ask(e, _MEET, [who, e.get(op, "count")], VOID)


def pause(spin: Callable[[FunctionEmitter], object]) -> Handler:
    """The library lets another thread run; without it `spin` tells the processor that this one waits."""

    def handler(e: FunctionEmitter, op: Op) -> None:
        alone, asked, done = e.block("alone"), e.block("asked"), e.block("paused")
        e.builder.cbranch(e.compare("eq", e.hidden[SERVICES], ir.Constant(POINTER, None)), alone, asked)
        e.builder.position_at_end(alone)
        spin(e)
        e.builder.branch(done)
        e.builder.position_at_end(asked)
        _ask(e, _PAUSE, [], VOID)
        e.builder.branch(done)
        e.builder.position_at_end(done)

    return handler


def _print(e: FunctionEmitter, op: Op) -> None:
    """Nothing where a program called the kernel itself."""
    asked, done = e.block("asked"), e.block("printed")
    e.builder.cbranch(e.compare("eq", e.hidden[SERVICES], ir.Constant(POINTER, None)), done, asked)
    e.builder.position_at_end(asked)
    _ask(e, _PRINT, [e.get(op, "value"), _number(op, "layout")], VOID)
    e.builder.branch(done)
    e.builder.position_at_end(done)


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "tile.claim_slot": _wait(_CLAIM),
        "tile.send_slot": _pass_on(_SEND),
        "tile.receive_slot": _wait(_RECEIVE),
        "tile.free_slot": _pass_on(_FREE),
        "tile.meet": _meet,
        "tile.pause": pause(lambda e: None),
        "tile.print": _print,
    }
)
