"""forward-moves, collapse-k and hoist-loads: which loops over k become one product, and which must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.passes.base import Remark
from pptc.passes.homes import home_of
from tests.passes.harness import TILE_LEVEL, check_same, transformed
from tests.passes.kernels import CUBE, kernel, load, op, part, product, store, tile, view

SHORT = "canonicalize,promote-tiles,forward-moves,collapse-k,hoist-loads,canonicalize"
TYPES = {
    "am": tile("mat", "16x16xf32"),
    "bm": tile("mat", "16x32xf32"),
    "left": tile("left", "16x16xf32"),
    "right": tile("right", "16x32xf32"),
    "acc": tile("acc", "16x32xf32"),
}


def _operands(k: str, tag: str = "", a: str = "%av", b: str = "%bv") -> str:
    """Loads the slices of a and b that start at `k` of the inner extent."""
    return f"""
{part(f"%ap{tag}", a, f"%c0, {k}", "%c16, %c16", "16x16xf32")}
{part(f"%bp{tag}", b, f"{k}, %c0", "%c16, %c32", "16x32xf32")}
%am{tag} = pto.alloc_tile addr = %c0_i64 : !am
%bm{tag} = pto.alloc_tile addr = %c4096_i64 : !bm
%l{tag} = pto.alloc_tile addr = %c0_i64 : !left
%r{tag} = pto.alloc_tile addr = %c0_i64 : !right
{load(f"%ap{tag}", "16x16xf32", f"%am{tag}", "!am")}
{load(f"%bp{tag}", "16x32xf32", f"%bm{tag}", "!bm")}
{op("tmov", f"%am{tag}: !am", f"%l{tag}", "!left")}
{op("tmov", f"%bm{tag}: !bm", f"%r{tag}", "!right")}"""


PLAIN = op("tmatmul", "%l{0}: !left, %r{0}: !right", "%sum", "!acc")
MORE = op("tmatmul.acc", "%sum: !acc, %l{0}: !left, %r{0}: !right", "%sum", "!acc")


def _kernel(body: str, **types: str) -> str:
    return kernel(
        "k",
        "%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %c: !pto.ptr<f32>, %n: i32",
        f"""
{view("%av", "%a", "%c16", "%c64")}
{view("%bv", "%b", "%c64", "%c32")}
{view("%cv", "%c", "%c16", "%c32")}
%sum = pto.alloc_tile addr = %c0_i64 : !acc
{body}
{part("%cp", "%cv", "%c0, %c0", "%c16, %c32", "16x32xf32")}
{store("%sum", "!acc", "%cp", "16x32xf32")}
""",
        CUBE,
        **TYPES,
        **types,
    )


def _check(text: str, n: int = 0) -> Op:
    random = np.random.default_rng(3)
    shapes = {"a": (16, 64), "b": (64, 32), "c": (16, 32)}
    arrays: dict[str, Any] = {
        name: random.standard_normal(s).astype(np.float32) for name, s in shapes.items()
    }
    return check_same(text, TILE_LEVEL, "k", arrays | {"n": n}, relative=1e-5)


def _products(module: Op) -> list[str]:
    return [found.name for found in module.walk() if found.name.startswith(("pto.tmatmul", "scf."))
            and not found.definition.terminator]  # fmt: skip


def test_an_unrolled_loop_is_joined() -> None:
    body = "\n".join(
        _operands(f"%c{k}", f"_{k}") + "\n" + (MORE if k else PLAIN).format(f"_{k}") for k in (0, 16, 32, 48)
    )
    assert _products(_check(_kernel(body))) == ["pto.tmatmul"]


def test_a_loop_that_goes_on_from_a_sum_starts_from_it() -> None:
    body = f"""
{_operands("%c48", "_0")}
{PLAIN.format("_0")}
scf.for %k = %c0 to %c48 step %c16 {{
{_operands("%k")}
{MORE.format("")}
}}"""
    assert _products(_check(_kernel(body))) == ["pto.tmatmul", "pto.tmatmul.acc"]


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        ("%c0 to %c48 step %c8", "follow each other"),
        ("%c0 to %count step %c16", "trips is not known"),
    ],
)
def test_what_is_no_whole_row_of_slices_stays_a_loop(bounds: str, why: str) -> None:
    body = f"""
%count = arith.index_cast %n : i32 to index
{_operands("%c0", "_0")}
{PLAIN.format("_0")}
scf.for %k = {bounds} {{
{_operands("%k")}
{MORE.format("")}
}}"""
    remarks: list[Remark] = []
    text = _kernel(body)
    transformed(text, SHORT, remarks)
    assert any(why in remark.message for remark in remarks if remark.pass_name == "collapse-k")
    assert _products(_check(text, 48)) == ["pto.tmatmul", "scf.for", "pto.tmatmul.acc"]


def test_another_op_in_the_loop_keeps_it() -> None:
    body = f"""
scf.for %k = %c0 to %c64 step %c16 {{
{_operands("%k")}
%first = arith.cmpi eq, %k, %c0 : index
scf.if %first {{
{PLAIN.format("")}
}} else {{
{MORE.format("")}
}}
{part("%cpk", "%cv", "%c0, %c0", "%c16, %c32", "16x32xf32")}
{store("%sum", "!acc", "%cpk", "16x32xf32")}
}}"""
    remarks: list[Remark] = []
    transformed(_kernel(body), SHORT, remarks)
    assert [r.message for r in remarks if r.pass_name == "collapse-k"] == [
        "the loop over k is not collapsed: pto.tstore stands in it"
    ]
    assert "scf.for" in _products(_check(_kernel(body)))


def test_two_products_share_their_left_operand() -> None:
    body = f"""
%gate = pto.alloc_tile addr = %c4096_i64 : !acc
scf.for %k = %c0 to %c64 step %c16 {{
{_operands("%k")}
%r2 = pto.alloc_tile addr = %c4096_i64 : !right
{op("tmov", "%bm: !bm", "%r2", "!right")}
%first = arith.cmpi eq, %k, %c0 : index
scf.if %first {{
{PLAIN.format("")}
}} else {{
{MORE.format("")}
}}
scf.if %first {{
{op("tmatmul", "%l: !left, %r2: !right", "%gate", "!acc")}
}} else {{
{op("tmatmul.acc", "%gate: !acc, %l: !left, %r2: !right", "%gate", "!acc")}
}}
}}
{part("%gp", "%cv", "%c0, %c0", "%c16, %c32", "16x32xf32")}
{store("%gate", "!acc", "%gp", "16x32xf32")}"""
    assert _products(_check(_kernel(body))) == ["pto.tmatmul", "pto.tmatmul"]


def test_a_load_of_an_array_that_is_stored_is_not_forwarded() -> None:
    body = f"""
{_operands("%c0", "_0", b="%bv")}
{part("%again", "%bv", "%c0, %c0", "%c16, %c32", "16x32xf32")}
%twice = pto.alloc_tile addr = %c8192_i64 : !bm
{load("%again", "16x32xf32", "%twice", "!bm")}
{PLAIN.format("_0")}
{part("%elsewhere", "%bv", "%c16, %c0", "%c16, %c32", "16x32xf32")}
{store("%sum", "!acc", "%elsewhere", "16x32xf32")}"""
    remarks: list[Remark] = []
    module = transformed(_kernel(body), SHORT, remarks)
    assert [r.message for r in remarks if r.pass_name == "forward-moves"]
    assert "pto.tmov" in [found.name for found in module.walk()]
    _check(_kernel(body))


def test_a_right_operand_leaves_the_loop_over_rows_behind_a_guard() -> None:
    text = kernel(
        "k",
        "%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %c: !pto.ptr<f32>, %n: i32",
        f"""
%rows = arith.index_cast %n : i32 to index
{view("%av", "%a", "%rows", "%c16")}
{view("%bv", "%b", "%c16", "%c32")}
{view("%cv", "%c", "%rows", "%c32")}
scf.for %row = %c0 to %rows step %c16 {{
  %sum = pto.alloc_tile addr = %c0_i64 : !acc
  {part("%ap", "%av", "%row, %c0", "%c16, %c16", "16x16xf32")}
  {part("%bp", "%bv", "%c0, %c0", "%c16, %c32", "16x32xf32")}
  %am = pto.alloc_tile addr = %c0_i64 : !am
  %bm = pto.alloc_tile addr = %c4096_i64 : !bm
  %l = pto.alloc_tile addr = %c0_i64 : !left
  %r = pto.alloc_tile addr = %c0_i64 : !right
  {load("%ap", "16x16xf32", "%am", "!am")}
  {load("%bp", "16x32xf32", "%bm", "!bm")}
  {op("tmov", "%am: !am", "%l", "!left")}
  {op("tmov", "%bm: !bm", "%r", "!right")}
  {PLAIN.format("")}
  {part("%cp", "%cv", "%row, %c0", "%c16, %c32", "16x32xf32")}
  {store("%sum", "!acc", "%cp", "16x32xf32")}
}}
""",
        CUBE,
        **TYPES,
    )
    random = np.random.default_rng(3)
    for rows in (0, 16, 48):
        arrays = {
            "a": random.standard_normal((rows, 16)).astype(np.float32),
            "b": random.standard_normal((16, 32) if rows else (0, 32)).astype(np.float32),
            "c": np.zeros((rows, 32), np.float32),
        }
        module = check_same(text, TILE_LEVEL, "k", arrays | {"n": rows}, relative=1e-5)
    (right,) = [o for o in module.walk() if o.name == "pto.alloc_tile" and home_of(o) == "panel"]
    assert right.parent is not None and right.parent.name == "scf.if"


def test_the_last_slice_may_be_short() -> None:
    module = transformed(product(200, 64, "if"), SHORT)
    (found,) = [o for o in module.walk() if o.name == "pto.tmatmul"]
    assert [getattr(value.type, "v_col", None) for value in found.operands] == [200, 128, 128]
