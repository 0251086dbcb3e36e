"""strip-rows and residency: what runs row by row, what must not, and where its tiles live."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.passes.base import Remark
from pptc.passes.homes import ROW, STRIP, home_of
from tests.passes.harness import TILE_LEVEL, check_same, transformed
from tests.passes.kernels import column, kernel, load, op, part, store, tile, view

TILE = tile("vec", "8x64xf32")
BF16 = ml_dtypes.bfloat16


def _kernel(body: str, **types: str) -> str:
    return kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<bf16>",
        f"""
{view("%xv", "%x", "%c17", "%c64")}
{view("%yv", "%y", "%c17", "%c64")}
{view("%zv", "%z", "%c17", "%c64", "bf16")}
{part("%x0", "%xv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
{part("%x1", "%xv", "%c1, %c0", "%c8, %c64", "8x64xf32")}
{part("%x8", "%xv", "%c8, %c0", "%c8, %c64", "8x64xf32")}
{part("%y0", "%yv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
{part("%z0", "%zv", "%c0, %c0", "%c8, %c64", "8x64xbf16")}
%a = pto.alloc_tile : !tile
%b = pto.alloc_tile : !tile
%d = pto.alloc_tile : !tile
%h = pto.alloc_tile : !narrow
%m = pto.alloc_tile : !column
%l = pto.alloc_tile : !column
{body}
""",
        tile=TILE,
        narrow=tile("vec", "8x64xbf16"),
        column=column(8),
        **types,
    )


def _check(text: str, relative: float = 0.0) -> Op:
    random = np.random.default_rng(3)
    arrays: dict[str, Any] = {name: random.standard_normal((17, 64)).astype(np.float32) for name in "xy"}
    return check_same(text, TILE_LEVEL, "k", arrays | {"z": np.zeros((17, 64), BF16)}, relative=relative)


def _strips(module: Op) -> list[list[str]]:
    """The ops of each strip loop that touch elements."""
    return [
        [found.name for found in loop.body if not found.definition.pure and found.name.startswith("pto.t")]
        for loop in module.walk()
        if STRIP in loop.attributes
    ]


def _homes(module: Op) -> dict[str, str]:
    return {a.result.name or "": home_of(a) for a in module.walk() if a.name == "pto.alloc_tile"}


def test_a_chain_becomes_one_loop_without_bytes() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{op("tadd", "%a: !tile, %b: !tile", "%d", "!tile")}
{store("%d", "!tile", "%y0", "8x64xf32")}
""")
    )
    assert _strips(module) == [["pto.tload", "pto.texp", "pto.tadd", "pto.tstore"]]
    assert _homes(module) == {"a": "view", "b": "register", "d": "register"}


def test_a_store_in_place_shares_the_loop() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{store("%b", "!tile", "%x0", "8x64xf32")}
""")
    )
    assert len(_strips(module)) == 1


@pytest.mark.parametrize("first", ["%x0", "%x1"])
def test_a_store_to_shifted_rows_does_not(first: str) -> None:
    second = "%x1" if first == "%x0" else "%x0"
    module = _check(
        _kernel(f"""
{load(first, "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{store("%b", "!tile", second, "8x64xf32")}
""")
    )
    assert all("pto.tload" not in ops or "pto.tstore" not in ops for ops in _strips(module))


def test_rows_that_never_meet_share_the_loop() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{store("%b", "!tile", "%x8", "8x64xf32")}
""")
    )
    assert len(_strips(module)) == 1


def test_a_load_of_what_was_stored_starts_a_new_loop() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{store("%b", "!tile", "%y0", "8x64xf32")}
{load("%y0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%d", "!tile")}
{store("%d", "!tile", "%y0", "8x64xf32")}
""")
    )
    assert [ops.count("pto.tload") for ops in _strips(module)] == [1, 1]


def test_a_row_for_all_rows_is_loaded_in_front() -> None:
    module = _check(
        _kernel(
            f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{view("%bv", "%x", "%c1", "%c64")}
{part("%b0", "%bv", "%c0, %c0", "%c1, %c64", "1x64xf32")}
%bias = pto.alloc_tile : !line
{load("%b0", "1x64xf32", "%bias", "!line")}
pto.barrier <PIPE_V>
{op("tcolexpandadd", "%a: !tile, %bias: !line", "%b", "!tile")}
{store("%b", "!tile", "%y0", "8x64xf32")}
""",
            line=tile("vec", "1x64xf32"),
        )
    )
    assert _strips(module) == [["pto.tload", "pto.tcolexpandadd", "pto.tstore"]]
    assert _homes(module)["bias"] == "view"


def test_a_row_that_is_loaded_first_does_not_cut_the_run() -> None:
    module = _check(
        _kernel(
            f"""
{view("%bv", "%x", "%c1", "%c64")}
{part("%b0", "%bv", "%c0, %c0", "%c1, %c64", "1x64xf32")}
%bias = pto.alloc_tile : !line
{load("%b0", "1x64xf32", "%bias", "!line")}
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%d", "!tile")}
{op("tcolexpandadd", "%d: !tile, %bias: !line", "%b", "!tile")}
{store("%b", "!tile", "%y0", "8x64xf32")}
""",
            line=tile("vec", "1x64xf32"),
        )
    )
    assert _strips(module) == [["pto.tload", "pto.texp", "pto.tcolexpandadd", "pto.tstore"]]


def test_a_column_reduction_ends_the_run() -> None:
    module = _check(
        _kernel(
            f"""
%top = pto.alloc_tile : !line
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{op("tcolmax", "%b: !tile", "%top", "!line")}
{op("tcolexpandsub", "%b: !tile, %top: !line", "%d", "!tile")}
{store("%d", "!tile", "%y0", "8x64xf32")}
""",
            line=tile("vec", "1x64xf32"),
        )
    )
    assert _strips(module) == [["pto.tload", "pto.texp"], ["pto.tcolexpandsub", "pto.tstore"]]
    assert _homes(module)["b"] == "arena"


SOFTMAX = f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("trowmax", "%a: !tile", "%m", "!column")}
{op("trowexpandsub", "%a: !tile, %m: !column", "%b", "!tile")}
{op("texp", "%b: !tile", "%d", "!tile")}
{op("trowsum", "%d: !tile", "%l", "!column")}
{op("trowexpanddiv", "%d: !tile, %l: !column", "%b", "!tile")}
"""


def test_a_dear_value_waits_in_the_destination_row() -> None:
    module = _check(_kernel(SOFTMAX + store("%b", "!tile", "%y0", "8x64xf32")))
    kept = [a for a in module.walk() if a.name == "pto.alloc_tile" and home_of(a) == "strip"]
    assert [(a.result.name, ROW in a.attributes) for a in kept] == [("d", True)]
    assert [ROW in s.attributes for s in module.walk() if s.name == "pto.tstore"] == [True]


def test_or_in_bytes_of_its_own_when_the_row_is_rounded() -> None:
    module = _check(
        _kernel(
            f"{SOFTMAX}\n{op('tcvt', '%b: !tile', '%h', '!narrow')}\n{store('%h', '!narrow', '%z0', '8x64xbf16')}"
        )
    )
    assert {name for name, home in _homes(module).items() if home == "strip"} == {"d"}
    assert not any(ROW in found.attributes for found in module.walk())


def test_or_when_the_old_row_is_still_needed() -> None:
    """y may be x at run time: the last phase reads x, so the strip must not take its place."""
    module = _check(
        _kernel(SOFTMAX + op("tmul", "%b: !tile, %a: !tile", "%b", "!tile") + "\n"
                + store("%b", "!tile", "%y0", "8x64xf32"))
    )  # fmt: skip
    assert "strip" in _homes(module).values()
    assert not any(ROW in found.attributes for found in module.walk())


def test_a_cheap_value_is_computed_twice() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("tmul", "%a: !tile, %a: !tile", "%b", "!tile")}
{op("trowsum", "%b: !tile", "%m", "!column")}
{op("trowexpandmul", "%b: !tile, %m: !column", "%d", "!tile")}
{store("%d", "!tile", "%y0", "8x64xf32")}
""")
    )
    assert "strip" not in _homes(module).values()


def test_a_row_that_is_overwritten_between_two_phases_is_copied() -> None:
    module = _check(
        _kernel(f"""
{load("%x0", "8x64xf32", "%a", "!tile")}
{op("trowsum", "%a: !tile", "%m", "!column")}
{op("tadd", "%a: !tile, %a: !tile", "%b", "!tile")}
{store("%b", "!tile", "%x0", "8x64xf32")}
{op("trowexpandmul", "%a: !tile, %m: !column", "%d", "!tile")}
{store("%d", "!tile", "%y0", "8x64xf32")}
""")
    )
    assert _homes(module)["a"] == "strip"


def test_a_row_may_be_read_with_the_width_it_was_written_only() -> None:
    """Columns beyond the valid ones are unspecified, but must not be read from outside of the array."""
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<bf16>",
        f"""
{view("%xv", "%x", "%c17", "%c64")}
{view("%yv", "%y", "%c17", "%c64")}
{part("%x0", "%xv", "%c0, %c0", "%c8, %c40", "8x40xf32")}
{part("%y0", "%yv", "%c0, %c0", "%c8, %c40", "8x40xf32")}
%a = pto.alloc_tile addr = %c0_i64 : !part
%whole = pto.alloc_tile addr = %c0_i64 : !tile
%b = pto.alloc_tile addr = %c4096_i64 : !tile
%short = pto.alloc_tile addr = %c4096_i64 : !part
{load("%x0", "8x40xf32", "%a", "!part")}
{op("texp", "%whole: !tile", "%b", "!tile")}
{store("%short", "!part", "%y0", "8x40xf32")}
""",
        tile=TILE,
        part=tile("vec", "8x64xf32", "8x40"),
    )
    module = _check(text)
    assert "view" not in _homes(module).values()


def test_rows_of_boxed_tiles_go_through_textract_and_tinsert() -> None:
    text = kernel(
        "k",
        "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<bf16>",
        f"""
{view("%xv", "%x", "%c17", "%c64")}
{view("%yv", "%y", "%c17", "%c64")}
{part("%ap", "%xv", "%c0, %c0", "%c16, %c16", "16x16xf32")}
{part("%yp", "%yv", "%c0, %c0", "%c16, %c16", "16x16xf32")}
%am = pto.alloc_tile : !mat
%a = pto.alloc_tile : !left
%b = pto.alloc_tile : !right
%s = pto.alloc_tile : !acc
%v = pto.alloc_tile : !vec
%e = pto.alloc_tile : !vec
%p = pto.alloc_tile : !mat
%pl = pto.alloc_tile : !left
%o = pto.alloc_tile : !acc
{load("%ap", "16x16xf32", "%am", "!mat")}
{op("tmov", "%am: !mat", "%a", "!left")}
{op("tmov", "%am: !mat", "%b", "!right")}
{op("tmatmul", "%a: !left, %b: !right", "%s", "!acc")}
{op("tmov", "%s: !acc", "%v", "!vec")}
{op("texp", "%v: !vec", "%e", "!vec")}
{op("tmov", "%e: !vec", "%p", "!mat")}
{op("tmov", "%p: !mat", "%pl", "!left")}
{op("tmatmul", "%pl: !left, %b: !right", "%o", "!acc")}
{store("%o", "!acc", "%yp", "16x16xf32")}
""",
        mat=tile("mat", "16x16xf32"), left=tile("left", "16x16xf32"), right=tile("right", "16x16xf32"),
        acc=tile("acc", "16x16xf32"), vec=tile("vec", "16x16xf32"),
    )  # fmt: skip
    module = _check(text, relative=1e-5)
    assert _strips(module) == [["pto.textract", "pto.texp", "pto.tinsert"]]
    assert _homes(module)["pl"] == "view" and _homes(module)["p"] == "arena"
    remarks: list[Remark] = []
    transformed(text, TILE_LEVEL, remarks)
    told = [remark.message for remark in remarks if remark.pass_name == "residency"]
    assert (
        "tile %p stays in memory: pto.tinsert makes it, and not in a row loop with all that read it" in told
    )


def test_a_switch_reads_nothing_in_place() -> None:
    module = transformed(
        _kernel(SOFTMAX + store("%b", "!tile", "%y0", "8x64xf32")),
        TILE_LEVEL.replace("residency", "residency{views=off}"),
    )
    assert "view" not in _homes(module).values()


def test_a_long_chain_gets_bytes_on_its_way_and_costs_no_more_than_its_length() -> None:
    """Every value is used twice: what is counted or collected per path would never end."""
    count = 150
    steps = [op("tadd", f"%t{n}: !tile, %t{n}: !tile", f"%t{n + 1}", "!tile") for n in range(count)]
    tiles = "\n".join(f"%t{n} = pto.alloc_tile : !tile" for n in range(count + 1))
    module = transformed(
        _kernel(
            "\n".join(
                [
                    tiles,
                    load("%x0", "8x64xf32", "%t0", "!tile"),
                    *steps,
                    op("trowmax", f"%t{count}: !tile", "%m", "!column"),
                    op("trowexpandsub", f"%t{count}: !tile, %m: !column", "%b", "!tile"),
                    store("%b", "!tile", "%y0", "8x64xf32"),
                ]
            )
        ),
        TILE_LEVEL,
    )
    kept = [name for name, home in _homes(module).items() if home == "strip"]
    assert f"t{count}" in kept and 2 <= len(kept) <= 4
