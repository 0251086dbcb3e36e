"""The verifier on modules that no text could say; faults of texts are in tests/files/diag."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pptc.diag import Diagnostic, Sink, Source, Span
from pptc.ir.attrs import Attr, EnumAttr, IntAttr, SymbolAttr, TypeAttr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.ops import OPS
from pptc.ir.types import F32, I1, I32, INDEX, POISON, FunctionType, TileType, Type
from pptc.ir.verify import verify
from pptc.parser import parse

SOURCE = Source("t.pto", "pto.tadd ins(%x, %y : T, T) outs(%x : T)\n")
SPAN = Span(SOURCE, 0, len(SOURCE.text))
TILE = TileType("vec", F32, 8, 64, 8, 64)


def make(
    name: str,
    operands: Sequence[Value] = (),
    results: Sequence[Type] = (),
    attributes: dict[str, Attr] | None = None,
    regions: Sequence[Region] = (),
) -> Op:
    return Op(OPS[name], operands, results, attributes, regions, span=SPAN)


def module(block: Block) -> Op:
    inputs = tuple(value.type for value in block.args)
    attributes: dict[str, Attr] = {"sym_name": "f", "function_type": TypeAttr(FunctionType(inputs, ()))}
    function = make("func.func", attributes=attributes, regions=[Region([block])])
    outer = Block()
    outer.append(function)
    return make("builtin.module", regions=[Region([outer])])


def found(block: Block, end: bool = True) -> list[Diagnostic]:
    if end:
        block.append(make("func.return"))
    sink = Sink()
    verify(module(block), sink)
    return list(sink)


def codes(block: Block, end: bool = True) -> list[str]:
    return [diagnostic.code for diagnostic in found(block, end)]


def test_a_sound_module_has_no_findings() -> None:
    block = Block((I32, I32))
    block.append(make("arith.addi", block.args, (I32,)))
    assert codes(block) == []


def test_a_use_before_its_definition() -> None:
    block = Block((I32,))
    late = make("arith.addi", (block.args[0], block.args[0]), (I32,))
    block.append(make("arith.addi", (late.result, block.args[0]), (I32,)))
    block.append(late)
    assert codes(block) == ["P0217"]


def test_a_use_of_a_value_of_another_function_or_region() -> None:
    other = Block((I32,))
    block = Block((I32, I1))
    inner = Block()
    made = make("arith.addi", (block.args[0],) * 2, (I32,))
    inner.append(made)
    inner.append(make("scf.yield"))
    block.append(make("scf.if", (block.args[1],), (), {}, [Region([inner]), Region()]))
    block.append(make("arith.addi", (made.result, other.args[0]), (I32,)))
    assert codes(block) == ["P0217", "P0217"]


def test_dominance_between_blocks() -> None:
    def graph(use_in: int) -> list[str]:
        blocks = [Block((I1,)), Block(), Block(), Block()]
        blocks[0].append(
            Op(OPS["cf.cond_br"], blocks[0].args, segments=(1, 0, 0), span=SPAN, successors=blocks[1:3])
        )
        made = make("arith.constant", (), (I32,), {"value": IntAttr(1, I32)})
        blocks[1].append(made)
        for index in (1, 2):
            blocks[index].append(Op(OPS["cf.br"], (), span=SPAN, successors=[blocks[3]]))
        blocks[3].append(make("func.return"))
        last = blocks[use_in].last
        assert last is not None
        blocks[use_in].insert_before(make("arith.addi", (made.result,) * 2, (I32,)), last)
        whole = module(blocks[0])
        region = whole.body.first.regions[0]  # type: ignore[union-attr]
        for block in blocks[1:]:
            region.add(block)
        sink = Sink()
        verify(whole, sink)
        return [d.code for d in sink if d.code != "P0106"]

    assert graph(1) == []
    assert graph(2) == ["P0217", "P0217"]
    assert graph(3) == ["P0217", "P0217"]


def test_operands_results_and_regions_are_counted() -> None:
    block = Block((I32, I1))
    block.append(Op(OPS["arith.addi"], block.args[:1], (I32,), segments=(1, 0), span=SPAN))
    block.append(make("arith.addi", (block.args[0],) * 2, ()))
    block.append(make("arith.addi", (block.args[0],) * 2, (I32, I32)))
    block.append(make("scf.if", block.args[1:], (), {}, [Region()]))
    assert codes(block) == ["P0202", "P0202", "P0202", "P0208"]


def test_kinds_point_at_the_operand() -> None:
    block = Block((TILE, INDEX))
    block.args[0].name, block.args[1].name = "x", "y"
    block.append(make("pto.tadd", (block.args[0], block.args[1], block.args[0])))
    (diagnostic,) = found(block)
    assert diagnostic.code == "P0203" and diagnostic.span is not None
    assert diagnostic.span.position == (1, 18)
    assert SOURCE.text[diagnostic.span.start : diagnostic.span.end] == "%y"


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({}, "P0206"),
        ({"predicate": "lower"}, "P0207"),
        ({"predicate": IntAttr(3)}, "P0207"),
        ({"predicate": "slt"}, None),
    ],
)
def test_attributes(attributes: dict[str, Attr], code: str | None) -> None:
    block = Block((I32,))
    block.append(make("arith.cmpi", (block.args[0],) * 2, (I1,), attributes))
    assert codes(block) == ([code] if code else [])


def test_enums_have_one_of_two_spellings() -> None:
    block = Block((TILE,))
    for value in (EnumAttr("round_mode", "RINT"), EnumAttr("cmp", "eq", spaced=True), True):
        block.append(make("pto.tcvt", (block.args[0],) * 2, (), {"rmode": value}))
    assert codes(block) == ["P0207"] * 3


def test_terminators() -> None:
    assert codes(Block(), end=False) == ["P0208"]
    block = Block()
    block.append(make("func.return"))
    assert codes(block) == ["P0208"]


def test_an_op_without_a_span_is_an_internal_error() -> None:
    block = Block((I32,))
    block.append(Op(OPS["arith.addi"], (block.args[0],) * 2, (I32,)))
    assert codes(block) == ["P9999"]


def test_calls_and_poison() -> None:
    block = Block((I32,))
    block.append(make("func.call", block.args, (), {"callee": SymbolAttr("g")}))
    block.append(make("arith.addi", (Value(POISON, Block(), 0), block.args[0]), (F32,)))
    assert codes(block) == ["P0103"]


def test_findings_keep_the_users_own_line() -> None:
    text = 'module { func.func @f(%a: i32, %b: index) { %c = arith.addi %a, %b : i32 loc("model.py":7:9)\n return } }'
    sink = Sink()
    whole = parse(Source("t.pto", text), sink)
    assert whole is not None
    verify(whole, sink)
    (diagnostic,) = sink
    assert diagnostic.location is not None and diagnostic.location.line == 7
