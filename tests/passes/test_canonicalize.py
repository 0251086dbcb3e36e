"""canonicalize against plain evaluation of random arithmetic, and the simplifications that later passes count on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pptc.ir.core import Op
from tests.passes.harness import module_of, printed, run, transformed
from tests.passes.kernels import kernel, load, op, part, store, tile, view

BINARY = (
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "maxsi", "minsi", "andi",
    "ori", "xori", "shli", "shrsi", "shrui",
)  # fmt: skip
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge")
STEPS = st.lists(
    st.tuples(
        st.sampled_from((*BINARY, "addi", "subi", "minsi", "compare", "there_and_back")),
        st.integers(0, 11), st.integers(0, 11), st.sampled_from(PREDICATES),
    ),
    min_size=1,
    max_size=14,
)  # fmt: skip


def _program(steps: list[tuple[str, int, int, str]], elem: str) -> str:
    """Arithmetic on constants, an argument and a loop counter; every value is stored."""
    other = "i32" if elem == "index" else "index"
    values = ["%zero", "%one", "%seven", "%minus", "%n", "%k"]
    lines = []
    for number, (name, i, j, predicate) in enumerate(steps):
        a, b = values[i % len(values)], values[j % len(values)]
        made = f"%v{number}"
        if name == "compare":
            lines.append(f"%t{number} = arith.cmpi {predicate}, {a}, {b} : {elem}")
            lines.append(f"{made} = arith.select %t{number}, {b}, {a} : {elem}")
        elif name == "there_and_back":
            lines.append(f"%t{number} = arith.index_cast {a} : {elem} to {other}")
            lines.append(f"{made} = arith.index_cast %t{number} : {other} to {elem}")
        else:
            lines.append(f"{made} = arith.{name} {a}, {b} : {elem}")
        values.append(made)
    for number in range(len(steps)):
        lines.append(f"%place{number} = arith.addi %base, %at{number} : index")
        if elem == "index":
            lines.append(f"%out{number} = arith.index_cast %v{number} : index to i32")
        source = f"%out{number}" if elem == "index" else f"%v{number}"
        lines.append(f"pto.store_scalar {source}, %y[%place{number}] : !pto.ptr<i32>, i32")
    constants = "\n".join(
        f"%{name} = arith.constant {value} : {elem}"
        for name, value in (("zero", 0), ("one", 1), ("seven", 7), ("minus", -3))
    )
    places = "\n".join(f"%at{number} = arith.constant {number} : index" for number in range(len(steps)))
    counter = (
        "%k = arith.index_cast %i : index to i32" if elem == "i32" else "%k = arith.addi %i, %c0 : index"
    )
    argument = (
        "%n = arith.index_cast %count : i32 to index"
        if elem == "index"
        else "%n = arith.addi %count, %zero : i32"
    )
    return kernel(
        "sums",
        "%y: !pto.ptr<i32>, %count: i32",
        f"""
{constants}
{places}
{argument}
%step = arith.constant {len(steps)} : index
scf.for %i = %c2 to %c11 step %c4 {{
  {counter}
  %base = arith.muli %i, %step : index
  {chr(10).join(lines)}
}}
""",
    )


@given(STEPS, st.sampled_from(("index", "i32")), st.integers(-9, 9))
def test_arithmetic_keeps_its_values(steps: list[tuple[str, int, int, str]], elem: str, count: int) -> None:
    text = _program(steps, elem)
    arguments = {"y": np.zeros(12 * len(steps), np.int32), "count": count}
    want = run(module_of(text), "sums", arguments)
    got = run(transformed(text, "canonicalize"), "sums", arguments)
    np.testing.assert_array_equal(got["y"], want["y"])


def _one(expression: str, loop: str = "scf.for %i = %c0 to %c256 step %c64") -> str:
    """The text of what is stored at `%i` after canonicalize."""
    text = kernel(
        "one",
        "%y: !pto.ptr<i32>, %count: i32",
        f"""
%n = arith.index_cast %count : i32 to index
{loop} {{
  {expression}
  %out = arith.index_cast %r : index to i32
  pto.store_scalar %out, %y[%i] : !pto.ptr<i32>, i32
}}
""",
    )
    return printed(text, "canonicalize")


@pytest.mark.parametrize(
    ("expression", "gone"),
    [
        ("%r = arith.maxsi %i, %c0 : index", "maxsi"),
        ("%d = arith.subi %c256, %i : index\n%r = arith.minsi %d, %c64 : index", "minsi"),
        ("%d = arith.subi %c250, %i : index\n%r = arith.maxsi %d, %c1 : index", "maxsi"),
        ("%d = arith.muli %i, %c4 : index\n%r = arith.divsi %d, %c4 : index", "divsi"),
        ("%d = arith.muli %i, %c8 : index\n%r = arith.remsi %d, %c4 : index", "remsi"),
        ("%r = arith.remsi %i, %c256 : index", "remsi"),
        ("%d = arith.addi %n, %i : index\n%r = arith.subi %d, %n : index", "subi"),
        (
            "%d = arith.minsi %n, %c4 : index\n%e = arith.minsi %d, %c8 : index\n%r = arith.addi %e, %i : index",
            "%c8",
        ),
        ("%t = arith.cmpi slt, %i, %c256 : index\n%r = arith.select %t, %i, %n : index", "select"),
    ],
)
def test_what_the_range_tells(expression: str, gone: str) -> None:
    assert gone not in _one(expression)


def test_a_short_last_slice_stays() -> None:
    assert "minsi" in _one("%d = arith.subi %c250, %i : index\n%r = arith.minsi %d, %c64 : index")


def _kinds(module: Op) -> list[str]:
    return [
        op.name
        for op in module.walk()
        if op.name.startswith(("scf.", "pto.t")) and not op.definition.terminator
    ]


def test_loops_of_one_trip_and_decided_branches_dissolve() -> None:
    text = kernel(
        "k",
        "%y: !pto.ptr<f32>, %s: f32",
        f"""
{view("%yv", "%y", "%c8", "%c64")}
{part("%yp", "%yv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
%a = pto.alloc_tile : !tile
scf.for %k = %c0 to %c64 step %c64 {{
  %first = arith.cmpi eq, %k, %c0 : index
  scf.if %first {{
    pto.texpands ins(%s : f32) outs(%a : !tile)
  }} else {{
    {op("texp", "%a: !tile", "%a", "!tile")}
  }}
}}
scf.for %k = %c8 to %c8 step %c1 {{
  {op("texp", "%a: !tile", "%a", "!tile")}
}}
{store("%a", "!tile", "%yp", "8x64xf32")}
""",
        tile=tile("vec", "8x64xf32"),
    )
    assert _kinds(transformed(text, "canonicalize")) == ["pto.texpands", "pto.tstore"]


def test_tiles_that_nobody_reads_go_with_all_that_fills_them() -> None:
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>",
        f"""
{view("%xv", "%x", "%c8", "%c64")}
{part("%xp", "%xv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
%a = pto.alloc_tile : !tile
%b = pto.alloc_tile : !tile
%c = pto.alloc_tile : !tile
{load("%xp", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{op("tadd", "%b: !tile, %a: !tile", "%c", "!tile")}
""",
        tile=tile("vec", "8x64xf32"),
    )
    module = transformed(text, "canonicalize")
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "func.return"]


def test_extents_become_static_where_the_tile_size_divides() -> None:
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>",
        f"""
{view("%xv", "%x", "%c64", "%c64")}
scf.for %row = %c0 to %c64 step %c16 {{
  %rest = arith.subi %c64, %row : index
  %height = arith.minsi %rest, %c16 : index
  %a = pto.alloc_tile valid_row = %height valid_col = %c64 : !tile
  {part("%xp", "%xv", "%row, %c0", "%height, %c64", "?x64xf32")}
  {load("%xp", "?x64xf32", "%a", "!tile")}
  {op("texp", "%a: !tile", "%a", "!tile")}
  {store("%a", "!tile", "%xp", "?x64xf32")}
}}
""",
        tile=tile("vec", "16x64xf32", "?x?"),
    )
    out = printed(text, "canonicalize")
    assert "valid" not in out and "partition_tensor_view<16x64xf32>" in out


def test_equal_ops_are_shared_only_where_one_dominates() -> None:
    text = kernel(
        "k",
        "%y: !pto.ptr<i32>, %n: i32, %t: i1",
        """
scf.if %t {
  %a = arith.addi %n, %n : i32
  pto.store_scalar %a, %y[%c0] : !pto.ptr<i32>, i32
} else {
  %b = arith.addi %n, %n : i32
  %c = arith.addi %n, %n : i32
  %d = arith.addi %b, %c : i32
  pto.store_scalar %d, %y[%c0] : !pto.ptr<i32>, i32
}
""",
    )
    module = transformed(text, "canonicalize")
    assert [op.name for op in module.walk()].count("arith.addi") == 3
