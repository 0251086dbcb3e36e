"""Symbols of functions and calls: what is known, what is bound, what is refused."""

from __future__ import annotations

import pytest

from pptc.ir.anonymous import fill, name_anonymous
from pptc.ir.core import Op, functions
from pptc.ir.core_scope import bind_arguments, introduced, scalar_dim
from pptc.ir.symbols import Symbol, add, mul, parse_dim

from .core_ops import findings, read, tensor

LAYER = """
  func.func private @layer(%x: tensor<(T)x4xf32>, %seen: tensor<(P+T)x4xf32>, %s: !core.state<(C)x4xf32>, %past: index) -> tensor<(P+2*T)x4xf32> attributes {core.scalars = {past = "P"}} {
    %y = core.concat %x, %seen : (tensor<(T)x4xf32>, tensor<(P+T)x4xf32>) -> tensor<(P+2*T)x4xf32>
    return %y : tensor<(P+2*T)x4xf32>
  }
"""


def calling(arguments: str, call: str, before: str = "") -> str:
    return f"module {{{LAYER}  func.func @main({arguments}) {{\n{before}    {call}\n    return\n  }}\n}}\n"


def the_call(module: Op) -> Op:
    return next(op for op in module.walk() if op.name == "func.call")


def test_a_call_binds_symbols_by_extents_and_scalars() -> None:
    module = read(
        calling(
            "%a: tensor<(N)x4xf32>, %b: tensor<(N+3)x4xf32>, %s: !core.state<64x4xf32>",
            "%r = func.call @layer(%a, %b, %s, %c3) : (tensor<(N)x4xf32>, tensor<(N+3)x4xf32>, !core.state<64x4xf32>, index) -> tensor<(2*N+3)x4xf32>",
            "    %c3 = arith.constant 3 : index\n",
        )
    )
    callee = next(functions(module))
    assert bind_arguments(callee, the_call(module).operands) == {"T": Symbol("N"), "C": 64, "P": 3}


def test_a_sum_says_what_its_unknown_part_is() -> None:
    module = read(
        calling(
            "%a: tensor<2x4xf32>, %b: tensor<(K+5)x4xf32>, %s: !core.state<64x4xf32>, %n: index",
            "%r = func.call @layer(%a, %b, %s, %n) : (tensor<2x4xf32>, tensor<(K+5)x4xf32>, !core.state<64x4xf32>, index) -> tensor<(K+7)x4xf32>",
        )
    )
    assert bind_arguments(next(functions(module)), the_call(module).operands)["P"] == parse_dim("K+3")


def test_a_scalar_must_agree_with_the_extents() -> None:
    _, found = findings(
        calling(
            "%a: tensor<2x4xf32>, %b: tensor<6x4xf32>, %s: !core.state<64x4xf32>",
            "%r = func.call @layer(%a, %b, %s, %c5) : (tensor<2x4xf32>, tensor<6x4xf32>, !core.state<64x4xf32>, index) -> tensor<9x4xf32>",
            "    %c5 = arith.constant 5 : index\n",
        )
    )
    assert [line[:5] for line in found] == ["P0201"]
    assert "value 1 is tensor<6x4xf32>, not tensor<7x4xf32>" in found[0]


def test_scalars_in_terms_of_symbols() -> None:
    module = read("""
module {
  func.func @main(%x: tensor<(B)x(2*T)xf32>, %past: index, %free: index) attributes {core.scalars = {past = "P"}} {
    %d = core.dim %x, -1 : tensor<(B)x(2*T)xf32> -> index
    %c = arith.constant 4 : index
    %sum = arith.addi %d, %past : index
    %scaled = arith.muli %sum, %c : index
    %short = arith.index_cast %scaled : index to i32
    %unknown = arith.addi %free, %c : index
    return
  }
}
""")
    named = {value.name: scalar_dim(value) for op in module.walk() for value in op.results}
    assert named["d"] == mul(2, Symbol("T"))
    assert named["sum"] == add(Symbol("P"), mul(2, Symbol("T")))
    assert named["short"] == named["scaled"] == parse_dim("4*P+8*T")
    assert named["unknown"] is None
    assert introduced(next(functions(module))) == {"B", "T", "P"}


def function(arguments: str, attributes: str, body: str = "return", head: str = "func.func @f") -> str:
    return f"module {{\n  {head}({arguments}) attributes {{{attributes}}} {{\n    {body}\n  }}\n}}\n"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (function("", "core.entry", head="func.func private @f"), "P0207", "private"),
        (function("", "core.entry = 1"), "P0207", "no value"),
        (function("", "core.dims = [1]"), "P0207", "dictionary"),
        (function("", "core.dims = {B = [1]}"), "P0207", "range of B"),
        (function("", "core.dims = {B = [-1, 4]}"), "P0207", "range of B"),
        (function("", "core.dims = {B = [0, 2147483648]}"), "P0207", "range of B"),
        (function("%n: index", "core.scalars = {n = 4}"), "P0207", "name of a symbol"),
        (function("%n: f32", 'core.scalars = {n = "N"}'), "P0207", "no integer argument"),
        (function("%n: index, %m: index", 'core.scalars = {n = "N", m = "N"}'), "P0207", "two scalars"),
        ("module {\n  func.func private @f() attributes {core.entry}\n}\n", "P0207", "private"),
        ("module attributes {core.version = 1.5} {\n}\n", "P0207", "core.version"),
        ('module attributes {core.version = "1"} {\n}\n', "P0207", "core.version"),
        ("module attributes {core.version = true} {\n}\n", "P0207", "core.version"),
    ],
)  # fmt: skip
def test_attributes_of_functions_are_checked(text, code, words) -> None:
    _, found = findings(text)
    assert found and found[0].startswith(code) and words in found[0], found


def test_empty_dictionaries_and_full_ranges_are_fine() -> None:
    read(function("", "core.entry, core.dims = {}, core.scalars = {}"))
    read(function("", "core.entry, core.dims = {B = [0, 2147483647]}"))


def test_question_marks_are_numbered_and_filled() -> None:
    first, second = name_anonymous([tensor("? 4"), tensor("B ? ?")])
    assert first == tensor("?0 4") and second == tensor("B ?1 ?2")
    assert fill(tensor("? 4"), tensor("B 4")) == tensor("B 4")
    assert fill(tensor("? 4"), tensor("B 4 4")) == tensor("? 4")
    assert fill(tensor("T 4"), tensor("B 4")) == tensor("T 4")


def test_two_question_marks_are_not_equal() -> None:
    text = function(
        "%x: tensor<?xf32>, %y: tensor<?xf32>",
        "core.entry",
        "%z = core.add %x, %y : tensor<?xf32>\n    return",
    )
    _, found = findings(text)
    assert [line[:5] for line in found] == ["P0205"]


@pytest.mark.parametrize(
    ("type", "values", "message"),
    [
        ("tensor<f32>", "", "no list"),
        ("tensor<2xf32>", "[1.0 2.0]", "expected `,` or `]`"),
        ("tensor<1xf32>", "[1.0][2.0]", "expected the end"),
        ("tensor<2x1xf32>", "[1.0, [2.0]]", "differ in length"),
        ("tensor<2x2xf32>", "[[1.0, 2.0], [3.0]]", "differ in length"),
        ("tensor<2xf32>", "[1.0, 2.0", "expected `,` or `]`"),
        ("tensor<2xf32>", "[1.0, 2.0]]", "expected the end"),
        ("tensor<2xf32>", "[1.0,]", "expected a value"),
        ("tensor<2xf32>", "[[1.0, 2.0]]", "shape 1x2"),
        ("tensor<2xf32>", "[true, 1.0]", "f32 has no value true"),
        ("tensor<2xf32>", "[" * 60, "nest too deeply"),
        ("tensor<(B)xf32>", "[1.0]", "shape 1"),
    ],
)
def test_values_fill_their_type(type: str, values: str, message: str) -> None:
    _, found = findings(f"module {{\n  core.param @p : {type} = dense<{values}>\n}}\n")
    assert len(found) == 1 and found[0].startswith("P0006") and message in found[0], found


@pytest.mark.parametrize(
    ("type", "values"), [("tensor<0xf32>", ""), ("tensor<0x4xf32>", "[]"), ("tensor<2x0xi8>", "[[], []]")]
)
def test_empty_values(type: str, values: str) -> None:
    read(f"module {{\n  core.param @p : {type} = dense<{values}>\n}}\n")
