"""split-grid: which loops are shared among blocks, and that any number of blocks gives what one gives."""

from __future__ import annotations

import numpy as np
import pytest

from pptc.ir.core import Op
from pptc.ir.signature import DIVISIBLE, kernel_signature
from pptc.passes.base import Remark
from tests.differential.writer import Writer
from tests.passes.harness import compare, module_of, run, transformed

PIPELINE = "canonicalize,promote-tiles,forward-moves,hoist-loads,strip-rows,split-grid,canonicalize"
Rows = tuple[int | str, int | str]


def _text(w: Writer) -> str:
    return f'module attributes {{pto.target_arch = "a2a3"}} {{\n{w}}}\n'


def _writer(**arguments: str) -> Writer:
    return Writer("k", {"x": "*f32", "y": "*f32", "n": "i32"} | arguments)


def _block(
    w: Writer, pointer: str, row: int | str, rows: int | str = 8, column: int | str = 0, columns: int = 16
) -> str:
    return w.part(w.view(pointer, "%rows", 64), (row, column), (rows, columns))


def _start(w: Writer) -> None:
    w.value("arith.index_cast %n : i32 to index", "index", "%rows")


def _rows_with_a_tail() -> Writer:
    """The last block of rows is shorter."""
    w = _writer()
    _start(w)
    with w.loop("%rows", 8) as row:
        height = w.arith("minsi", w.arith("subi", "%rows", row), 8)
        tile = w.tile("8x64xf32", (height, 64))
        w.load(_block(w, "x", row, height, 0, 64), tile)
        w.op("texp", tile, tile)
        w.store(tile, _block(w, "y", row, height, 0, 64))
    return w


def _blocks_of_a_plane() -> Writer:
    """Two loops; the outer one goes over columns. Each trip stores twice."""
    w = _writer()
    _start(w)
    with w.loop(64, 32) as column, w.loop("%rows", 8) as row:
        for half in (0, 16):
            tile = w.tile("8x16xf32")
            at = w.arith("addi", column, half)
            w.load(_block(w, "x", row, 8, at), tile)
            w.op("tneg", tile, tile)
            w.store(tile, _block(w, "y", row, 8, at))
    return w


def _in_place() -> Writer:
    w = _writer()
    _start(w)
    with w.loop("%rows", 8) as row:
        tile = w.load(_block(w, "y", row), w.tile("8x16xf32"))
        w.store(w.op("tneg", tile, tile), _block(w, "y", row))
    return w


def _reversed() -> Writer:
    """The counter moves the window up."""
    w = _writer()
    _start(w)
    with w.loop("%rows", 8) as row:
        tile = w.load(_block(w, "x", row), w.tile("8x16xf32"))
        back = w.arith("subi", w.arith("subi", "%rows", 8), row)
        w.store(tile, _block(w, "y", back))
    return w


@pytest.mark.parametrize(
    "make", [_rows_with_a_tail, _blocks_of_a_plane, _in_place, _reversed], ids=lambda f: f.__name__
)
def test_blocks_share_the_loop(make: object) -> None:
    text = _text(make())  # type: ignore[operator]
    module = transformed(text, PIPELINE)
    (function,) = [op for op in module.walk() if op.name == "func.func"]
    assert DIVISIBLE in function.attributes
    assert not kernel_signature(function).uses_grid
    random = np.random.default_rng(0)
    for rows in (0, 8, 40):
        given = {name: random.standard_normal((rows, 64)).astype(np.float32) for name in "xy"} | {"n": rows}
        want = run(module_of(text), "k", given)
        for blocks in (1, 2, 3, 7):
            compare(run(module, "k", given, blocks), want, f"{blocks} blocks", 0.0)


def test_a_tail_is_in_no_two_blocks() -> None:
    module = transformed(_text(_rows_with_a_tail()), PIPELINE)
    x, y = np.arange(13 * 64, dtype=np.float32).reshape(13, 64) / 999, np.zeros((13, 64), np.float32)
    for blocks in (1, 2, 5):
        got = run(module, "k", {"x": x, "y": y, "n": 13}, blocks)["y"]
        np.testing.assert_allclose(got, np.exp(x.astype(np.float64)), 2.5e-7)


# ---------------------------------------------------------------- loops that stay whole


def _windows_overlap(w: Writer) -> None:
    with w.loop(32, 4) as row:
        w.store(w.load(_block(w, "x", row), w.tile("8x16xf32")), _block(w, "y", row))


def _same_window(w: Writer) -> None:
    with w.loop(32, 8) as row:
        w.store(w.load(_block(w, "x", row), w.tile("8x16xf32")), _block(w, "y", 0))


def _reads_the_next_rows(w: Writer) -> None:
    with w.loop(32, 8) as row:
        tile = w.load(_block(w, "y", w.arith("addi", row, 8)), w.tile("8x16xf32"))
        w.store(tile, _block(w, "y", row))


def _two_strides(w: Writer) -> None:
    with w.loop(32, 8) as row:
        tile = w.load(_block(w, "x", row), w.tile("8x16xf32"))
        w.store(tile, _block(w, "y", row))
        w.store(tile, w.part(w.view("y", 64, 32), (row, 0), (8, 16)))


def _stored_before(w: Writer) -> None:
    tile = w.load(_block(w, "x", 0), w.tile("8x16xf32"))
    w.store(tile, _block(w, "y", 0))
    with w.loop(32, 8) as row:
        w.store(w.load(_block(w, "x", row), w.tile("8x16xf32")), _block(w, "y", row))


def _running_total(w: Writer) -> None:
    total = w.tile("8x16xf32")
    w.op("texpands", w.number("0.0", "f32"), total)
    with w.loop(32, 8) as row:
        tile = w.load(_block(w, "x", row), w.tile("8x16xf32"))
        w.store(w.op("tadd", [total, tile], total), _block(w, "y", row))


def _kept_at_an_address(w: Writer) -> None:
    """What the first trip left is read by the second."""
    total = w.tile("8x16xf32", addr=0)
    w.op("texpands", w.number("0.0", "f32"), total)
    with w.loop(32, 8) as row:
        here, tile = w.tile("8x16xf32", addr=0), w.tile("8x16xf32", addr=1024)
        w.load(_block(w, "x", row), tile)
        w.store(w.op("tadd", [here, tile], here), _block(w, "y", row))


def _counted(w: Writer) -> None:
    zero, one = w.number(0, "i32"), w.number(1, "i32")
    w.line(
        f"%sum = scf.for %i = {w.index(0)} to {w.index(32)} step {w.index(8)} iter_args(%c = {zero}) -> (i32) {{"
    )
    w.types["%i"] = "index"
    w.store(w.load(_block(w, "x", "%i"), w.tile("8x16xf32")), _block(w, "y", "%i"))
    w.line(f"  %d = arith.addi %c, {one} : i32")
    w.line("  scf.yield %d : i32")
    w.line("}")


def _printed(w: Writer) -> None:
    with w.loop(32, 8) as row:
        tile = w.load(_block(w, "x", row), w.tile("8x16xf32"))
        w.line(f"pto.tprint ins({tile} : {w.types[tile]})")
        w.store(tile, _block(w, "y", row))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_windows_overlap, "two trips may meet in %y"),
        (_same_window, "two trips may meet in %y"),
        (_reads_the_next_rows, "two trips may meet in %y"),
        (_two_strides, "two trips may meet in %y"),
        (_stored_before, "%y is used outside of it too"),
        (_running_total, "a tile from outside of it is written"),
        (_kept_at_an_address, "a tile"),
        (_counted, "it carries values from trip to trip"),
        (_printed, "the kernel has pto.tprint"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_loops_that_stay_whole(make: object, reason: str) -> None:
    w = _writer()
    _start(w)
    make(w)  # type: ignore[operator]
    remarks: list[Remark] = []
    module = transformed(_text(w), PIPELINE, remarks)
    assert not _divisible(module)
    (said,) = [remark for remark in remarks if remark.pass_name == "split-grid"]
    assert reason in said.message
    assert said.span is not None


def _divisible(module: Op) -> bool:
    return any(DIVISIBLE in op.attributes for op in module.walk())


def test_a_kernel_that_asks_for_its_block_is_left_alone() -> None:
    w = _writer(__pypto_spmd_block_idx="i32", __pypto_spmd_block_num="i32")
    _start(w)
    with w.loop("%rows", 8) as row:
        w.store(w.load(_block(w, "x", row), w.tile("8x16xf32")), _block(w, "y", row))
    assert not _divisible(transformed(_text(w), PIPELINE))
