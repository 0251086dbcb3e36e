"""Handlers of `scf`, `func` and traps: structured control flow becomes basic blocks with phis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from llvmlite import ir

from pptc.diag import fail
from pptc.emit.function_emitter import FunctionEmitter, Handler
from pptc.emit.hidden import BLOCK, BLOCKS, SUBBLOCK, hidden_arguments
from pptc.emit.llvm_ir import VOID, Llvm, int_constant, llvm_type, loop_id
from pptc.ir.attrs import SymbolAttr
from pptc.ir.constants import integer_list
from pptc.ir.core import Block, Op, Region, Value, symbol_name, with_called


def _phis(e: FunctionEmitter, values: Sequence[Value], start: Sequence[Llvm], origin: Llvm) -> list[Llvm]:
    """Phis at the builder's place for block arguments, fed from `origin` with their first values."""
    made = []
    for value, first in zip(values, start, strict=True):
        phi = e.builder.phi(llvm_type(value.type))
        phi.add_incoming(first, origin)
        e.define(value, phi)
        made.append(phi)
    return made


def _for(e: FunctionEmitter, op: Op) -> list[Llvm]:
    """The test, once before the body and then behind it, as LLVM would rotate the loop."""
    lower, upper, step, *inits = e.all(op.operands)
    body, done = e.block("body"), e.block("done")
    entry = e.builder.block
    certain = (
        isinstance(lower, ir.Constant) and isinstance(upper, ir.Constant) and lower.constant < upper.constant
    )
    if certain:
        e.builder.branch(body)
    else:
        e.builder.cbranch(e.compare("slt", lower, upper), body, done)
    e.builder.position_at_end(body)
    counter, *carried = _phis(e, op.body.args, [lower, *inits], entry)
    following = [e.builder.add(counter, step, flags=("nsw",)), *e.emit_block(op.body)]
    latch = e.builder.cbranch(e.compare("slt", following[0], upper), body, done)
    if op.attributes.get("loop.unroll") == "off":
        latch.set_metadata("llvm.loop", loop_id(e.module, ("llvm.loop.unroll.disable",)))
    last = e.builder.block
    for phi, value in zip([counter, *carried], following, strict=True):
        phi.add_incoming(value, last)
    e.builder.position_at_end(done)
    if certain:
        return following[1:]
    return [
        _first_or_last(e, init, value, entry, last) for init, value in zip(inits, following[1:], strict=True)
    ]


def _first_or_last(e: FunctionEmitter, first: Llvm, last: Llvm, entry: Llvm, latch: Llvm) -> Llvm:
    """What a loop carries: its first value where it never ran."""
    phi = e.builder.phi(last.type)
    phi.add_incoming(first, entry)
    phi.add_incoming(last, latch)
    return phi


def _if(e: FunctionEmitter, op: Op) -> list[Llvm]:
    then, otherwise = op.regions[0], op.regions[1] if len(op.regions) > 1 else Region()
    first, last = e.block("then"), e.block("endif")
    second = e.block("else") if otherwise.blocks else last
    e.builder.cbranch(e.get(op, "condition"), first, second)
    branches = [_branch(e, then.block, first, last)]
    if otherwise.blocks:
        branches.append(_branch(e, otherwise.block, second, last))
    e.builder.position_at_end(last)
    return _joined(e, op, branches)


def _branch(e: FunctionEmitter, block: Block, start: Llvm, end: Llvm) -> tuple[Llvm, list[Llvm]]:
    """The block emitted from `start` on to `end`: where it leaves from, and what it yields."""
    e.builder.position_at_end(start)
    yielded = e.emit_block(block)
    leaves = e.builder.block
    e.builder.branch(end)
    return leaves, yielded


def _joined(e: FunctionEmitter, op: Op, branches: Sequence[tuple[Llvm, list[Llvm]]]) -> list[Llvm]:
    results = []
    for index, result in enumerate(op.results):
        phi = e.builder.phi(llvm_type(result.type))
        for leaves, yielded in branches:
            phi.add_incoming(yielded[index], leaves)
        results.append(phi)
    return results


def _execute(e: FunctionEmitter, op: Op) -> list[Llvm]:
    return e.emit_block(op.body)


def _switch(e: FunctionEmitter, op: Op) -> list[Llvm]:
    """Comparisons in the order of the cases; the default's region comes first in the op."""
    cases = integer_list(op.attributes["cases"])
    index, last = e.get(op, "index"), e.block("endswitch")
    branches = []
    for case, region in zip(cases, op.regions[1:], strict=True):
        taken, further = e.block("case"), e.block("next")
        e.builder.cbranch(e.compare("eq", index, int_constant(case, index.type)), taken, further)
        branches.append(_branch(e, region.block, taken, last))
        e.builder.position_at_end(further)
    yielded = e.emit_block(op.regions[0].block)
    branches.append((e.builder.block, yielded))
    e.builder.branch(last)
    e.builder.position_at_end(last)
    return _joined(e, op, branches)


def _while(e: FunctionEmitter, op: Op) -> list[Llvm]:
    before, after = op.regions[0].block, op.regions[1].block
    inits = e.all(op.operands)
    head, body, done = e.block("while"), e.block("do"), e.block("done")
    entry = e.builder.block
    e.builder.branch(head)
    e.builder.position_at_end(head)
    carried = _phis(e, before.args, inits, entry)
    go, *passed = e.emit_block(before)
    e.builder.cbranch(go, body, done)
    for argument, value in zip(after.args, passed, strict=True):
        e.define(argument, value)
    e.builder.position_at_end(body)
    following = e.emit_block(after)
    for phi, value in zip(carried, following, strict=True):
        phi.add_incoming(value, e.builder.block)
    e.builder.branch(head)
    e.builder.position_at_end(done)
    return passed


def _passed_on(e: FunctionEmitter, op: Op) -> None:
    """A terminator of a region: the enclosing op's handler takes its operands."""


def _return(e: FunctionEmitter, op: Op) -> None:
    values = e.all(op.operands)
    if not values:
        e.builder.ret_void()
    elif len(values) == 1:
        e.builder.ret(values[0])
    else:
        packed = ir.Constant(e.function.ftype.return_type, ir.Undefined)
        for index, value in enumerate(values):
            packed = e.builder.insert_value(packed, value, index)
        e.builder.ret(packed)


def _call(e: FunctionEmitter, op: Op) -> list[Llvm]:
    callee = op.attributes.get("callee")
    name = callee.name if isinstance(callee, SymbolAttr) else ""
    function = e.module.globals.get(f"{name}.body")
    if function is None:
        raise fail("P0103", f"no function is named '@{name}'", op.span)
    own = next(around for around in op.ancestors() if around.name == "func.func")
    called = next(each for each in with_called(own) if symbol_name(each) == name)
    asked = [e.hidden[word] for word in hidden_arguments(called)]
    returned = e.builder.call(function, [*e.all(op.operands), *asked])
    if len(op.results) < 2:
        return [returned][: len(op.results)]
    return [e.builder.extract_value(returned, index) for index in range(len(op.results))]


def _hidden(name: str) -> Handler:
    """An argument of the body that the program does not see."""
    return lambda e, op: e.hidden[name]


def _trap(e: FunctionEmitter, op: Op) -> None:
    e.intrinsic("trap", [], VOID)


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "scf.for": _for,
        "scf.if": _if,
        "scf.while": _while,
        "scf.execute_region": _execute,
        "scf.index_switch": _switch,
        "scf.yield": _passed_on,
        "scf.condition": _passed_on,
        "func.return": _return,
        "func.call": _call,
        "pto.get_block_idx": _hidden(BLOCK),
        "pto.get_block_num": _hidden(BLOCKS),
        "pto.get_subblock_idx": _hidden(SUBBLOCK),
        "pto.trap": _trap,
    }
)
