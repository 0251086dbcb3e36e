"""Rows of `builtin`, `func` and `scf`: modules, functions and structured control flow.

The body of scf.for, of both branches of scf.if and of the second region of scf.while ends with scf.yield; the text
leaves it out where it carries nothing. An scf.if without else has a second region without blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.opdef import Attribute, Kind, OpDef, Operand, Problem, Result, table
from pptc.ir.types import I1, ScalarType

ANY = Kind("any value", lambda type: True)
INTEGER = Kind("an index or an integer", lambda type: isinstance(type, ScalarType) and type.is_integer)
INDEX_KIND = Kind("an index", lambda type: isinstance(type, ScalarType) and type.kind == "index")
FLAG = Kind("an i1", lambda type: type == I1)

YIELDS = frozenset({"yields:scf.yield"})
_VALUES = (Operand("values", ANY, arity="many"),)
_RESULTS = (Result("results", ANY, arity="many"),)
_NAME = Attribute("sym_name", "string")


def _returned(op: Op) -> Iterator[Problem]:
    """func.return gives what its function promises."""
    yield from ()


def _loop_rule(op: Op) -> Iterator[Problem]:
    lower = op.operand("lower").type
    for name in ("upper", "step"):
        if op.operand(name).type != lower:
            yield Problem("P0201", f"{name} and lower must have one type", name)


ROWS = table(
    OpDef(
        name="builtin.module",
        doc="Holds functions, parameters and nested modules.",
        attributes=(_NAME,),
        format="(custom<SymbolName>^)? attr-dict-with-keyword region",
        regions=1,
        traits=frozenset({"no-terminator", "symbols"}),
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
    ),
    OpDef(
        name="func.call",
        doc="Calls a function of the module.",
        operands=_VALUES,
        results=_RESULTS,
        attributes=(Attribute("callee", "symbol", required=True),),
        format="$callee `` `(` $values `)` attr-dict `:` functional-type",
    ),
    OpDef(
        name="func.return",
        doc="Ends a function with its results.",
        operands=_VALUES,
        format="attr-dict ($values^ `:` type($values))?",
        terminator=True,
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
        rules=(_loop_rule,),
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
    ),
    OpDef(
        name="scf.while",
        doc="Runs the first region; while its condition holds, the second with what it passed, and again.",
        operands=(Operand("init", ANY, arity="many"),),
        results=_RESULTS,
        format="custom<While> attr-dict",
        regions=2,
    ),
    OpDef(
        name="scf.condition",
        doc="Ends the first region of scf.while: go on or not, and the values to pass.",
        operands=(Operand("condition", FLAG), Operand("values", ANY, arity="many")),
        format="`(` $condition `)` attr-dict ($values^ `:` type($values))?",
        terminator=True,
    ),
    OpDef(
        name="scf.yield",
        doc="Ends a region of an scf op with the values that it gives.",
        operands=_VALUES,
        format="attr-dict ($values^ `:` type($values))?",
        terminator=True,
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
)
