"""Joining modules and giving constants by name."""

from __future__ import annotations

import pytest

from pptc.diag import Sink, Source
from pptc.ir.compose import bind_constants, prepend, require_level
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.printer import print_module
from pptc.parser import parse

TEXT = """\
module attributes {{pto.target_arch = "{arch}"}} {{
  func.func @{name}() {{
    %n = arith.constant 5 : i32
    %x = arith.constant 1.5 : f32
    %b = arith.constant true
    return
  }}
}}
"""


def module(name: str = "f", arch: str = "a5") -> Op:
    sink = Sink()
    parsed = parse(Source(name, TEXT.format(name=name, arch=arch)), sink)
    sink.check()
    assert parsed is not None
    return parsed


def codes(sink: Sink) -> list[str]:
    return [found.code for found in sink]


@pytest.mark.parametrize(
    ("name", "value", "printed"),
    [
        ("n", "7", "%n = arith.constant 7 : i32"),
        ("n", "-0x10", "%n = arith.constant -16 : i32"),
        ("x", "2", "%x = arith.constant 2.000000e+00 : f32"),
        ("x", "-1.25e1", "%x = arith.constant -1.250000e+01 : f32"),
        ("b", "false", "%b = arith.constant false"),
        ("b", "0", "%b = arith.constant false"),
    ],
)  # fmt: skip
def test_constants_by_name(name: str, value: str, printed: str) -> None:
    target, sink = module(), Sink()
    bind_constants(target, [(name, value)], sink)
    assert codes(sink) == [] and printed in print_module(target)


@pytest.mark.parametrize(
    ("name", "value"), [("none", "1"), ("n", "1.5"), ("n", "99999999999"), ("x", "a"), ("b", "2")]
)
def test_constants_that_do_not_fit(name: str, value: str) -> None:
    sink = Sink()
    bind_constants(module(), [(name, value)], sink)
    assert codes(sink) == ["P0301"]


def test_all_functions_get_the_value() -> None:
    both, sink = module("f"), Sink()
    prepend(both, module("g"), sink)
    bind_constants(both, [("n", "8")], sink)
    assert print_module(both).count("constant 8 : i32") == 2


def test_modules_are_joined_in_order() -> None:
    target, sink = module("last"), Sink()
    prepend(target, module("first"), sink)
    assert [symbol_name(f) for f in functions(target)] == ["first", "last"] and codes(sink) == []


def test_modules_for_different_chips_do_not_join() -> None:
    sink = Sink()
    prepend(module("f", "a5"), module("g", "a2a3"), sink)
    assert codes(sink) == ["P0207"]


def test_levels_on_demand() -> None:
    sink = Sink()
    text = "module {{ func.func @f() {{ {address} %t = pto.alloc_tile {addr} : !pto.tile_buf<vec, 8x8xf32>\n return }} }}"
    with_address = parse(
        Source("a", text.format(address="%a = arith.constant 0 : i64", addr="addr = %a")), sink
    )
    without = parse(Source("b", text.format(address="", addr="")), sink)
    sink.check()
    assert with_address is not None and without is not None
    for target, level, expected in (
        (with_address, "level3", []),
        (with_address, "level2", ["P0212"]),
        (without, "level2", []),
        (without, "level3", ["P0211"]),
    ):
        found = Sink()
        require_level(target, level, found)
        assert codes(found) == expected
