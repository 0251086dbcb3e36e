"""Rows of `builtin`, `func`, `scf` and `cf`: modules, functions and control flow.

The body of scf.for, of both branches of scf.if and of the second region of scf.while ends with scf.yield; the text
leaves it out where it carries nothing. An scf.if without else has a second region without blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pptc.ir.attrs import SymbolAttr, TypeAttr
from pptc.ir.core import Op, Value
from pptc.ir.core_checks import call_types, check_call, check_function, check_module
from pptc.ir.opdef import Attribute, Kind, OpDef, Operand, Problem, Result, table
from pptc.ir.pair_rules import check_pairs
from pptc.ir.spell import print_type
from pptc.ir.types import I1, POISON, FunctionType, ScalarType, Type

ANY = Kind("any value", lambda type: True)
INTEGER = Kind("an index or an integer", lambda type: isinstance(type, ScalarType) and type.is_integer)
INDEX_KIND = Kind("an index", lambda type: isinstance(type, ScalarType) and type.kind == "index")
FLAG = Kind("an i1", lambda type: type == I1)

YIELDS = frozenset({"yields:scf.yield"})
_VALUES = (Operand("values", ANY, arity="many"),)
_RESULTS = (Result("results", ANY, arity="many"),)
_NAME = Attribute("sym_name", "string")


def symbol(op: Op, name: str) -> Op | None:
    """The function or parameter `@name` of the modules around an op, the nearest first."""
    for module in op.ancestors():
        if "symbols" in module.definition.traits:
            for inner in module.body:
                if inner.attributes.get("sym_name") == name:
                    return inner
    return None


def _types(values: Iterable[Value]) -> tuple[Type, ...]:
    return tuple(value.type for value in values)


def _differ(
    what: str, found: tuple[Type, ...], wanted: tuple[Type, ...], operand: str | None
) -> Iterator[Problem]:
    """Problems of values that should have certain types; a poisoned one is none."""
    if len(found) != len(wanted):
        yield Problem("P0202", f"{what}: {len(found)} values instead of {len(wanted)}", operand)
        return
    for position, (type, needed) in enumerate(zip(found, wanted, strict=True)):
        if type != needed and POISON not in (type, needed):
            message = f"{what}: value {position} is {print_type(type)}, not {print_type(needed)}"
            yield Problem("P0201", message, operand)


def _module_rule(op: Op) -> Iterator[Problem]:
    yield from check_module(op)
    if op.parent is None:
        yield from check_pairs(op)


def _function_rule(op: Op) -> Iterator[Problem]:
    if op.parent is not None and "symbols" not in op.parent.definition.traits:
        yield Problem(
            "P0208", f"func.func stands inside of {op.parent.name}", hint="a `}` may be missing above"
        )
    type = op.attributes["function_type"]
    if not isinstance(type, TypeAttr) or not isinstance(type.type, FunctionType):
        yield Problem("P0207", "function_type must be a function type")
        return
    if op.regions[0].blocks:
        yield from _differ("arguments", _types(op.body.args), type.type.inputs, None)
    yield from check_function(op)


def _call_rule(op: Op) -> Iterator[Problem]:
    callee = op.attributes["callee"]
    name = callee.name if isinstance(callee, SymbolAttr) else ""
    function = symbol(op, name)
    type = function.attributes.get("function_type") if function else None
    if function is None or not isinstance(type, TypeAttr) or not isinstance(type.type, FunctionType):
        yield Problem("P0103", f"the module has no function @{name}", "=@" + name)
        return
    wanted = call_types(function, op)
    yield from _differ(f"arguments of @{name}", _types(op.operands), wanted.inputs, None)
    yield from _differ(f"results of @{name}", _types(op.results), wanted.results, None)
    yield from check_call(function, op)


def _return_rule(op: Op) -> Iterator[Problem]:
    function = op.parent
    if function is None or function.name != "func.func":
        yield Problem("P0208", "return stands outside of a function's own body")
        return
    type = function.attributes.get("function_type")
    if isinstance(type, TypeAttr) and isinstance(type.type, FunctionType):
        yield from _differ("returned", _types(op.operands), type.type.results, None)


def _yield_rule(op: Op) -> Iterator[Problem]:
    parent = op.parent
    if parent is None or parent.definition.dialect != "scf":
        yield Problem("P0208", "scf.yield stands outside of an scf op")
    elif parent.name == "scf.while":
        yield from _differ("yielded", _types(op.operands), _types(parent.group("init")), None)
    else:
        yield from _differ("yielded", _types(op.operands), _types(parent.results), None)


def _condition_rule(op: Op) -> Iterator[Problem]:
    loop = op.parent
    if loop is None or loop.name != "scf.while" or op.block is not loop.regions[0].block:
        yield Problem("P0208", "scf.condition ends the first region of scf.while")
        return
    yield from _differ("passed on", _types(op.group("values")), _types(loop.results), None)


def _for_rule(op: Op) -> Iterator[Problem]:
    lower = op.operand("lower").type
    for name in ("upper", "step"):
        if op.operand(name).type != lower:
            yield Problem("P0201", f"{name} and lower must have one type", name)
    carried = _types(op.group("init"))
    yield from _differ("loop arguments", _types(op.body.args), (lower, *carried), None)
    yield from _differ("results", _types(op.results), carried, None)


def _if_rule(op: Op) -> Iterator[Problem]:
    if op.results and not op.regions[1].blocks:
        yield Problem("P0208", "an scf.if with results needs an else")


def _while_rule(op: Op) -> Iterator[Problem]:
    before, after = op.regions
    if not before.blocks or not after.blocks:
        yield Problem("P0208", "scf.while has two regions with blocks")
        return
    yield from _differ(
        "arguments of the first region", _types(before.block.args), _types(op.group("init")), None
    )
    yield from _differ("arguments of the second region", _types(after.block.args), _types(op.results), None)
    last = before.block.last
    if last is not None and last.definition.terminator and last.name not in ("scf.condition", FAULTY.name):
        yield Problem("P0208", "the first region of scf.while ends with scf.condition")


def _branch_rule(op: Op) -> Iterator[Problem]:
    yield Problem(
        "P0106", "branches between blocks are not compiled yet", hint="write scf.if, scf.for or scf.while"
    )


FAULTY = OpDef(
    name="builtin.faulty", doc="Stands where the parser dropped a faulty terminator.", terminator=True
)
"""Not in the table: no text spells it."""


ROWS = table(
    OpDef(
        name="builtin.module",
        doc="Holds functions, parameters and nested modules.",
        attributes=(_NAME,),
        format="(custom<SymbolName>^)? attr-dict-with-keyword region",
        regions=1,
        traits=frozenset({"no-terminator", "symbols"}),
        rules=(_module_rule,),
    ),
    OpDef(
        name="func.func",
        doc="A function: a kernel, a helper, an entry of a model or, without a body, a declaration.",
        attributes=(
            Attribute("sym_name", "string", required=True),
            Attribute("function_type", "type", required=True),
            Attribute("sym_visibility", "string"),
            Attribute("arg_attrs", "any"),
        ),
        format="custom<Function>",
        regions=1,
        traits=frozenset({"isolated"}),
        rules=(_function_rule,),
    ),
    OpDef(
        name="func.call",
        doc="Calls a function of the module.",
        operands=_VALUES,
        results=_RESULTS,
        attributes=(Attribute("callee", "symbol", required=True),),
        format="$callee `` `(` $values `)` attr-dict `:` functional-type",
        rules=(_call_rule,),
    ),
    OpDef(
        name="func.return",
        doc="Ends a function with its results.",
        operands=_VALUES,
        format="attr-dict ($values^ `:` type($values))?",
        terminator=True,
        rules=(_return_rule,),
    ),
    OpDef(
        name="scf.for",
        doc="Runs its body for lower, lower + step, .. below upper; carries values from trip to trip.",
        operands=(
            Operand("lower", INTEGER),
            Operand("upper", INTEGER),
            Operand("step", INTEGER),
            Operand("init", ANY, arity="many"),
        ),
        results=_RESULTS,
        format="custom<For> attr-dict",
        regions=1,
        rules=(_for_rule,),
        traits=YIELDS,
    ),
    OpDef(
        name="scf.if",
        doc="Runs the first region when the condition is true, else the second.",
        operands=(Operand("condition", FLAG),),
        results=_RESULTS,
        format="custom<If> attr-dict",
        regions=2,
        traits=YIELDS,
        rules=(_if_rule,),
    ),
    OpDef(
        name="scf.while",
        doc="Runs the first region; while its condition holds, the second with what it passed, and again.",
        operands=(Operand("init", ANY, arity="many"),),
        results=_RESULTS,
        format="custom<While> attr-dict",
        regions=2,
        rules=(_while_rule,),
    ),
    OpDef(
        name="scf.condition",
        doc="Ends the first region of scf.while: go on or not, and the values to pass.",
        operands=(Operand("condition", FLAG), Operand("values", ANY, arity="many")),
        format="`(` $condition `)` attr-dict ($values^ `:` type($values))?",
        terminator=True,
        rules=(_condition_rule,),
    ),
    OpDef(
        name="scf.yield",
        doc="Ends a region of an scf op with the values that it gives.",
        operands=_VALUES,
        format="attr-dict ($values^ `:` type($values))?",
        terminator=True,
        rules=(_yield_rule,),
    ),
    OpDef(
        name="scf.execute_region",
        doc="Runs its region once.",
        results=_RESULTS,
        format="(`->` type(results)^)? region attr-dict",
        regions=1,
        traits=YIELDS,
    ),
    OpDef(
        name="scf.index_switch",
        doc="Runs the region of the case that the index names, else the default's (region 0).",
        operands=(Operand("index", INDEX_KIND),),
        results=_RESULTS,
        attributes=(Attribute("cases", "ints", required=True),),
        format="custom<Switch> attr-dict",
        regions=None,
        traits=YIELDS,
    ),
    OpDef(
        name="cf.br",
        doc="Goes on at another block of the region.",
        operands=(Operand("target", ANY, arity="many"),),
        format="custom<Successors> attr-dict",
        terminator=True,
        rules=(_branch_rule,),
    ),
    OpDef(
        name="cf.cond_br",
        doc="Goes on at the first block when the condition is true, else at the second.",
        operands=(
            Operand("condition", FLAG),
            Operand("true_target", ANY, arity="many"),
            Operand("false_target", ANY, arity="many"),
        ),
        format="$condition `,` custom<Successors> attr-dict",
        terminator=True,
        rules=(_branch_rule,),
    ),
)
