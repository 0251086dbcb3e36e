"""Directives of formats on rows made for the purpose: those of the table do not use each in every way."""

from __future__ import annotations

import pytest

from pptc.diag import Sink, Source
from pptc.ir.attrs import UNIT, DimAttr, IntAttr, ListAttr
from pptc.ir.compare import difference
from pptc.ir.core import Op
from pptc.ir.forms import compile_format
from pptc.ir.opdef import Attribute, Kind, OpDef, Operand, Result
from pptc.ir.ops import OPS
from pptc.ir.printer import print_module
from pptc.ir.symbols import parse_dim
from pptc.ir.types import I32, INDEX, ScalarType
from pptc.parser.build import ModuleBuilder
from pptc.parser.tree import parse_tree

ANY = Kind("any value", lambda type: True)
AN_INDEX = Kind("an index", lambda type: type == INDEX)
INTEGER = Kind("an i32", lambda type: type == I32)


def row(
    format: str, *operands: Operand, results: tuple[Result, ...] = (), attributes: tuple[Attribute, ...] = ()
) -> OpDef:
    return OpDef(
        name="test.op", doc="", operands=operands, results=results, attributes=attributes, format=format
    )


def read(made: OpDef, statement: str) -> tuple[Op | None, list[str]]:
    """The op of a statement over %a, %b, %c: index and %x, %y: i32, and what was found."""
    text = f"func.func @f(%a: index, %b: index, %c: index, %x: i32, %y: i32) {{\n{statement}\nreturn }}"
    source, sink = Source("t.pto", text), Sink()
    builder = ModuleBuilder(source, sink, {**OPS, made.name: made}, {})
    function = builder.op(parse_tree(source, sink)[0])
    assert function is not None
    if not sink.error_count:
        printed = print_module(function)
        again_source, again_sink = Source("p.pto", printed), Sink()
        again = ModuleBuilder(again_source, again_sink, {**OPS, made.name: made}, {}).op(
            parse_tree(again_source, again_sink)[0]
        )
        assert again is not None and not list(again_sink), printed
        assert difference(function, again) is None
    found = [f"{f.code} {f.message}" for f in sink]
    return function.body.first, found


def segments(made: OpDef, statement: str) -> tuple[int, ...]:
    op, found = read(made, statement)
    assert op is not None and not found, found
    return op.segments


def test_lists_are_shared_out_by_arity_then_kind() -> None:
    three = row(
        "list($a, $b, $c) attr-dict",
        Operand("a", ANY),
        Operand("b", AN_INDEX, arity="optional"),
        Operand("c", INTEGER, arity="optional"),
    )
    assert segments(three, "test.op %a") == (1, 0, 0)
    assert segments(three, "test.op %a, %b") == (1, 1, 0)
    assert segments(three, "test.op %a, %x") == (1, 0, 1)
    assert segments(three, "test.op %a, %b, %x") == (1, 1, 1)
    assert read(three, "test.op %a, %b, %x, %y")[1] == [
        "P0202 expected 1 to 3 operands here (a, b, c), found 4"
    ]
    middle = row(
        "list($a, $b, $c) attr-dict",
        Operand("a", ANY),
        Operand("b", ANY, arity="optional"),
        Operand("c", ANY),
    )
    assert segments(middle, "test.op %a, %b") == (1, 0, 1)
    assert segments(middle, "test.op %a, %b, %c") == (1, 1, 1)
    many = row("list($a, $b) attr-dict", Operand("a", ANY, arity="many"), Operand("b", ANY))
    assert segments(many, "test.op %a, %b, %c") == (2, 1)
    assert read(many, "test.op")[1] == ["P0202 expected at least 1 operand here (a, b), found 0"]


def test_keyed_clauses_in_any_order() -> None:
    keyed = row(
        "attr-dict `(` keyed($a, $b) `)`",
        Operand("a", ANY, arity="optional"),
        Operand("b", ANY, arity="optional"),
    )
    for statement in (
        "test.op {k = 1} (b = %x : i32, a = %a : index)",
        "test.op {k = 1}(a = %a : index, b = %x : i32)",
    ):
        op, found = read(keyed, statement)
        assert op is not None and not found
        assert [value.type for value in op.operands] == [INDEX, I32]
        assert "test.op {k = 1} (a = %a : index, b = %x : i32)" in print_module(op.block.region.op)  # type: ignore[arg-type, union-attr]
    assert read(keyed, "test.op (c = %x : i32)")[1] == ["P0007 expected one of `a`, `b`, found `c`"]
    assert read(keyed, "test.op (a = %x : i32, a = %x : i32)")[1] == [
        "P0007 expected one of `a`, `b`, found `a`"
    ]


def test_mixed_lists() -> None:
    mixed = row(
        "mixed($a, sizes) attr-dict",
        Operand("a", AN_INDEX, arity="many"),
        attributes=(Attribute("sizes", "any"),),
    )
    op, found = read(mixed, "test.op [%a, 4, (P+T), %b, (2+3)]")
    assert op is not None and not found
    assert op.attributes["sizes"] == ListAttr(
        (UNIT, IntAttr(4), DimAttr(parse_dim("(P+T)")), UNIT, IntAttr(5))
    )
    assert segments(mixed, "test.op []") == (0,)
    assert read(mixed, "test.op [(P+)]")[1][0].startswith("P0007")
    assert read(mixed, "test.op [a]")[1] == ["P0007 expected a constant or a value, found `a`"]


def test_optional_parts_and_attributes() -> None:
    made = row(
        "$kind `,` $a (`at` $b^)? (`by` $n^)? $fast^ attr-dict `:` type($a)".replace("$fast^", "($fast^)?"),
        Operand("a", ANY),
        Operand("b", ANY, arity="optional"),
        attributes=(
            Attribute("kind", "enum", values=("one", "two")),
            Attribute("n", "int"),
            Attribute("fast", "unit"),
        ),
    )
    for statement in (
        "test.op one, %a : index",
        "test.op two, %a at %b by 4 fast {x} : index",
        "test.op one, %a by -1 : index",
    ):
        assert read(made, statement)[1] == []
    assert read(made, "test.op three, %a : index")[1] == ["P0007 unknown kind `three`"]
    assert read(made, "test.op one, %a : i32")[1] == ["P0201 %a was defined as index, not as i32"]
    assert read(made, "test.op one, %a by 4 {n = 5} : index")[1] == ["P0006 `n` is given twice"]


def test_types_in_short() -> None:
    made = row(
        "operands attr-dict `:` types",
        Operand("a", ANY),
        Operand("b", ANY, arity="optional"),
        results=(Result("r", ANY),),
    )
    for statement in (
        "%r = test.op %a, %b : index",
        "%r = test.op %a : index -> i32",
        "%r = test.op %a, %x : (index, i32) -> index",
    ):
        assert read(made, statement)[1] == []
    assert read(made, "%r = test.op %a, %x : index")[1] == ["P0201 %x was defined as i32, not as index"]
    assert read(made, "%r = test.op %a, %x : index -> i32")[1] == ["P0202 2 operands but 1 type"]
    assert read(made, "%r = test.op %a : (index, i32) -> i32")[1] == ["P0202 more types than operands (1)"]


def test_older_keys_get_their_present_name() -> None:
    made = row("attr-dict", attributes=(Attribute("satmode", "bool", aliases=("sat_mode",), default=False),))
    op, found = read(made, "test.op {sat_mode = true}")
    assert op is not None and not found and op.attributes == {"satmode": True}


@pytest.mark.parametrize(
    "format", ["$nothing", "`open", "(`a` $x)?", "unknown-word", "(`a` $x^", "custom<Nobody>"]
)
def test_a_wrong_format_is_refused(format: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        compile_format(row(format, Operand("x", ANY)))


def test_every_format_of_the_table_compiles() -> None:
    assert isinstance(I32, ScalarType)
    for definition in OPS.values():
        assert compile_format(definition).row is definition
