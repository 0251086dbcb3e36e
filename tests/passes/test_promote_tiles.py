"""promote-tiles: which tiles leave their addresses, and that nothing is read from another value than before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pptc.diag import Sink
from pptc.passes.base import PassContext, Remark
from pptc.passes.homes import is_private
from pptc.passes.promote_tiles import PromoteTiles
from tests.passes.harness import MACHINE, TILE_LEVEL, check_same, transformed
from tests.passes.kernels import column, kernel, load, op, part, store, tile, view

PROMOTE = "canonicalize,promote-tiles"
HEAD = f"""
{view("%xv", "%x", "%c16", "%c64")}
{view("%yv", "%y", "%c16", "%c64")}
{part("%x0", "%xv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
{part("%x8", "%xv", "%c8, %c0", "%c8, %c64", "8x64xf32")}
{part("%y0", "%yv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
{part("%y8", "%yv", "%c8, %c0", "%c8, %c64", "8x64xf32")}
"""
TILE = tile("vec", "8x64xf32")


def _kernel(body: str, **types: str) -> str:
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32"
    return kernel("k", arguments, HEAD + body, tile=TILE, **types)


def _places(text: str, remarks: list[Remark] | None = None) -> tuple[int, int]:
    """How many tiles are private, and how many keep their address, after everything unused is gone."""
    module = transformed(text, PROMOTE + ",canonicalize", remarks)
    found = [is_private(alloc) for alloc in module.walk() if alloc.name == "pto.alloc_tile"]
    return found.count(True), found.count(False)


def _check(text: str, **more: Any) -> None:
    random = np.random.default_rng(3)
    arrays = {name: random.standard_normal((16, 64)).astype(np.float32) for name in "xy"}
    for n in (0, 1, 5):
        check_same(text, TILE_LEVEL, "k", arrays | {"n": n} | more)


def test_a_buffer_that_is_used_twice_becomes_two_tiles() -> None:
    text = _kernel(f"""
%a = pto.alloc_tile addr = %c0_i64 : !tile
{load("%x0", "8x64xf32", "%a", "!tile")}
{store("%a", "!tile", "%y8", "8x64xf32")}
{load("%x8", "8x64xf32", "%a", "!tile")}
{store("%a", "!tile", "%y0", "8x64xf32")}
""")
    assert _places(text) == (2, 0)
    _check(text)


def test_one_tile_for_both_branches() -> None:
    text = _kernel(f"""
%zero = arith.constant 0 : i32
%t = arith.cmpi eq, %n, %zero : i32
scf.if %t {{
  %a = pto.alloc_tile addr = %c0_i64 : !tile
  {load("%x0", "8x64xf32", "%a", "!tile")}
}} else {{
  %b = pto.alloc_tile addr = %c0_i64 : !tile
  {load("%x8", "8x64xf32", "%b", "!tile")}
}}
%c = pto.alloc_tile addr = %c0_i64 : !tile
{store("%c", "!tile", "%y0", "8x64xf32")}
""")
    assert _places(text) == (1, 0)
    _check(text)


def test_a_value_that_may_come_from_before_a_loop() -> None:
    text = _kernel(f"""
%count = arith.index_cast %n : i32 to index
%a = pto.alloc_tile addr = %c0_i64 : !tile
{load("%x0", "8x64xf32", "%a", "!tile")}
scf.for %i = %c0 to %count step %c1 {{
  {op("texp", "%a: !tile", "%a", "!tile")}
  {op("tneg", "%a: !tile", "%a", "!tile")}
}}
{store("%a", "!tile", "%y0", "8x64xf32")}
""")
    assert _places(text) == (2, 0)
    _check(text)


def test_half_of_a_buffer_that_another_value_takes_keeps_the_addresses() -> None:
    text = _kernel(
        f"""
%a = pto.alloc_tile addr = %c0_i64 : !tile
%h = pto.alloc_tile addr = %c1024_i64 : !half
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%h: !half", "%h", "!half")}
{store("%a", "!tile", "%y0", "8x64xf32")}
""",
        half=tile("vec", "4x64xf32"),
    )
    remarks: list[Remark] = []
    assert _places(text, remarks) == (0, 2)
    assert "overlap" in remarks[0].message
    _check(text)


def test_a_dead_value_does_not_stand_in_the_way() -> None:
    text = _kernel(
        f"""
%one = arith.constant 1.0 : f32
%a = pto.alloc_tile addr = %c0_i64 : !tile
%h = pto.alloc_tile addr = %c1024_i64 : !half
{load("%x0", "8x64xf32", "%a", "!tile")}
{store("%a", "!tile", "%y0", "8x64xf32")}
pto.texpands ins(%one : f32) outs(%h : !half)
{op("texp", "%h: !half", "%h", "!half")}
{part("%y4", "%yv", "%c8, %c0", "%c4, %c64", "4x64xf32")}
{store("%h", "!half", "%y4", "4x64xf32")}
""",
        half=tile("vec", "4x64xf32"),
    )
    assert _places(text) == (3, 0)
    _check(text)


def test_two_accumulators_take_turns_at_one_address() -> None:
    """The first trip's branch never sees the other product's sum, though it stands at the same address."""
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32",
        f"""
{view("%xv", "%x", "%c64", "%c64")}
{view("%yv", "%y", "%c64", "%c64")}
%narrow = pto.alloc_tile addr = %c0_i64 : !narrow
%wide = pto.alloc_tile addr = %c0_i64 : !wide
%a = pto.alloc_tile addr = %c0_i64 : !left
%b = pto.alloc_tile addr = %c0_i64 : !right
%am = pto.alloc_tile addr = %c0_i64 : !am
%bm = pto.alloc_tile addr = %c4096_i64 : !bm
%cm = pto.alloc_tile addr = %c8192_i64 : !cm
%c = pto.alloc_tile addr = %c4096_i64 : !rightw
scf.for %row = %c0 to %c64 step %c16 {{
  scf.for %k = %c0 to %c64 step %c16 {{
    {part("%ap", "%xv", "%row, %k", "%c16, %c16", "16x16xf32")}
    {part("%bp", "%xv", "%k, %c0", "%c16, %c16", "16x16xf32")}
    {load("%ap", "16x16xf32", "%am", "!am")}
    {load("%bp", "16x16xf32", "%bm", "!bm")}
    {op("tmov", "%am: !am", "%a", "!left")}
    {op("tmov", "%bm: !bm", "%b", "!right")}
    %first = arith.cmpi eq, %k, %c0 : index
    scf.if %first {{
      {op("tmatmul", "%a: !left, %b: !right", "%narrow", "!narrow")}
    }} else {{
      {op("tmatmul.acc", "%narrow: !narrow, %a: !left, %b: !right", "%narrow", "!narrow")}
    }}
  }}
  {part("%np", "%yv", "%row, %c0", "%c16, %c16", "16x16xf32")}
  {store("%narrow", "!narrow", "%np", "16x16xf32")}
  scf.for %k = %c0 to %c64 step %c16 {{
    {part("%ap", "%xv", "%row, %k", "%c16, %c16", "16x16xf32")}
    {part("%cp", "%xv", "%k, %c0", "%c16, %c32", "16x32xf32")}
    {load("%ap", "16x16xf32", "%am", "!am")}
    {load("%cp", "16x32xf32", "%cm", "!cm")}
    {op("tmov", "%am: !am", "%a", "!left")}
    {op("tmov", "%cm: !cm", "%c", "!rightw")}
    %later = arith.cmpi ne, %k, %c0 : index
    scf.if %later {{
      {op("tmatmul.acc", "%wide: !wide, %a: !left, %c: !rightw", "%wide", "!wide")}
    }} else {{
      {op("tmatmul", "%a: !left, %c: !rightw", "%wide", "!wide")}
    }}
  }}
  {part("%wp", "%yv", "%row, %c32", "%c16, %c32", "16x32xf32")}
  {store("%wide", "!wide", "%wp", "16x32xf32")}
}}
""",
        am=tile("mat", "16x16xf32"), bm=tile("mat", "16x16xf32"), cm=tile("mat", "16x32xf32"),
        left=tile("left", "16x16xf32"), right=tile("right", "16x16xf32"), rightw=tile("right", "16x32xf32"),
        narrow=tile("acc", "16x16xf32"), wide=tile("acc", "16x32xf32"),
    )  # fmt: skip
    assert _places(text)[1] == 0
    random = np.random.default_rng(5)
    arrays = {name: random.standard_normal((64, 64)).astype(np.float32) for name in "xy"}
    module = check_same(text, TILE_LEVEL, "k", arrays | {"n": 0}, relative=1e-5)
    names = [found.name for found in module.walk()]
    assert names.count("pto.tmatmul") == 2 and "pto.tmatmul.acc" not in names


@pytest.mark.parametrize("height", [1, 5, 8])
def test_set_validshape_becomes_a_handle(height: int) -> None:
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32",
        f"""
{view("%xv", "%x", "%c16", "%c64")}
{view("%yv", "%y", "%c16", "%c64")}
%h = arith.index_cast %n : i32 to index
%a = pto.alloc_tile addr = %c0_i64 valid_row = %c8 valid_col = %c64 : !tile
pto.set_validshape %a, %h, %c64 : !tile
{part("%x0", "%xv", "%c0, %c0", "%h, %c64", "?x64xf32")}
{part("%y0", "%yv", "%c0, %c0", "%h, %c64", "?x64xf32")}
{load("%x0", "?x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%a", "!tile")}
{store("%a", "!tile", "%y0", "?x64xf32")}
""",
        tile=tile("vec", "8x64xf32", "?x?"),
    )
    assert _places(text)[1] == 0
    random = np.random.default_rng(5)
    arrays = {name: random.standard_normal((16, 64)).astype(np.float32) for name in "xy"}
    module = check_same(text, TILE_LEVEL, "k", arrays | {"n": height})
    assert any("tile.strip" in found.attributes for found in module.walk())


def test_a_loop_that_the_analysis_does_not_follow_pins_its_tiles() -> None:
    text = _kernel(f"""
%one = arith.constant 1 : i32
%zero = arith.constant 0 : i32
%a = pto.alloc_tile addr = %c0_i64 : !tile
%b = pto.alloc_tile addr = %c2048_i64 : !tile
{load("%x0", "8x64xf32", "%a", "!tile")}
{load("%x8", "8x64xf32", "%b", "!tile")}
%end = scf.while (%i = %n) : (i32) -> i32 {{
  %more = arith.cmpi sgt, %i, %zero : i32
  {op("texp", "%a: !tile", "%a", "!tile")}
  scf.condition(%more) %i : i32
}} do {{
^bb0(%j: i32):
  {op("tneg", "%a: !tile", "%a", "!tile")}
  %next = arith.subi %j, %one : i32
  scf.yield %next : i32
}}
{store("%a", "!tile", "%y0", "8x64xf32")}
{store("%b", "!tile", "%y8", "8x64xf32")}
""")
    remarks: list[Remark] = []
    assert _places(text, remarks) == (1, 1)
    assert "scf.while around it is not followed" in remarks[0].message
    _check(text)


def test_a_window_of_a_tile_is_an_update_of_all_of_it() -> None:
    text = _kernel(
        f"""
%a = pto.alloc_tile addr = %c0_i64 : !tile
{load("%x0", "8x64xf32", "%a", "!tile")}
%w = pto.subview %a[%c2, %c0] sizes [2, 64] : !tile -> !two
{op("texp", "%w: !two", "%w", "!two")}
{store("%a", "!tile", "%y0", "8x64xf32")}
""",
        two=tile("vec", "2x64xf32"),
    )
    assert _places(text) == (1, 0)
    _check(text)


def test_scratch_spoils_what_it_overlaps_and_is_left_out() -> None:
    text = _kernel(
        f"""
%a = pto.alloc_tile addr = %c0_i64 : !tile
%tmp = pto.alloc_tile addr = %c2048_i64 : !tile
%sum = pto.alloc_tile addr = %c4096_i64 : !column
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("trowsum", "%a: !tile, %tmp: !tile", "%sum", "!column")}
{op("trowexpandsub", "%a: !tile, %sum: !column", "%tmp", "!tile")}
{store("%tmp", "!tile", "%y0", "8x64xf32")}
""",
        column=column(8),
    )
    module = transformed(text, PROMOTE)
    (reduction,) = [found for found in module.walk() if found.name == "pto.trowsum"]
    assert not reduction.group("tmp")
    assert _places(text)[1] == 0
    _check(text)


def test_a_second_run_changes_nothing() -> None:
    text = _kernel(f"""
%a = pto.alloc_tile addr = %c0_i64 : !tile
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%a", "!tile")}
{store("%a", "!tile", "%y0", "8x64xf32")}
""")
    module = transformed(text, PROMOTE + ",canonicalize")
    assert not PromoteTiles().run(module, PassContext(MACHINE, Sink()))
