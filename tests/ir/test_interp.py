"""The interpreter against formulas written here, kernel by kernel, with unspecified bytes poisoned."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pptc.diag import CompileError
from pptc.ir.core import Op
from pptc.ir.interp import run_kernel
from tests.ir.kernels import Kernel, module

COLUMN = {"blayout": "col_major"}
NZ = {"blayout": "col_major", "slayout": "row_major"}
ACC = {**NZ, "fractal": 1024}
ZN = {"slayout": "col_major"}
ZZ = {"slayout": "row_major"}
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32}


def run(kernel: Kernel | Op, **arguments: Any) -> None:
    grid = arguments.pop("grid", 1)
    run_kernel(kernel.module() if isinstance(kernel, Kernel) else kernel, "k", arguments, grid, poison=True)


def fault(kernel: Kernel | Op, code: str, **arguments: Any) -> str:
    with pytest.raises(CompileError) as caught:
        run(kernel, **arguments)
    (found,) = caught.value.sink
    assert found.code == code
    return found.message


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# ---------------------------------------------------------------- vector kernels


def test_softmax() -> None:
    k = Kernel(x="*f32", y="*f32")
    x, e, tmp, share = (k.tile("16x64xf32") for _ in range(4))
    top, total = (k.tile("16x1xf32", **COLUMN) for _ in range(2))
    k.load(k.view("%x", [16, 64]), x)
    k.op("pto.trowmax", [x, tmp], top)
    k.op("pto.trowexpandexpdif", [x, top], e)
    k.op("pto.trowsum", [e], total)
    k.op("pto.trowexpanddiv", [e, total], share)
    k.store(share, k.view("%y", [16, 64]))
    x_in, y = normal(16, 64) * 20, np.zeros((16, 64), np.float32)
    run(k, x=x_in, y=y)
    wide = np.exp(x_in.astype(np.float64) - x_in.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, wide / wide.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-12)


def test_layer_norm_in_bf16() -> None:
    """Mean and variance by rows, reused through tiles that share one address with another shape."""
    k = Kernel(x="*bf16", gain="*f32", y="*bf16")
    narrow = k.tile("8x64xbf16", addr=0)
    wide, centred, squares = (k.tile("8x64xf32", addr=a) for a in (1024, 4096, 8192))
    mean, mean_row = k.tile("8x1xf32", addr=16384, **COLUMN), k.tile("1x8xf32", addr=16384)
    gain, scaled, out = (
        k.tile("1x64xf32", addr=20480),
        k.tile("8x64xf32", addr=1024),
        k.tile("8x64xbf16", addr=0),
    )
    count, eps = k.const("1.5625e-2", "f32"), k.const("1.0e-5", "f32")
    k.load(k.view("%x", [8, 64]), narrow)
    k.load(k.view("%gain", [1, 64]), gain)
    k.op("pto.tcvt", [narrow], wide, inside="rmode = #pto<round_mode ROUND>")
    k.op("pto.trowsum", [wide], mean)
    k.op("pto.tmuls", [mean_row, count], mean_row)
    k.op("pto.trowexpandsub", [wide, mean], centred)
    k.op("pto.tmul", [centred, centred], squares)
    k.op("pto.trowsum", [squares], mean)
    k.op("pto.tmuls", [mean_row, count], mean_row)
    k.op("pto.tadds", [mean_row, eps], mean_row)
    k.op("pto.trsqrt", [mean_row], mean_row)
    k.op("pto.trowexpandmul", [centred, mean], scaled)
    k.op("pto.tcolexpandmul", [scaled, gain], scaled)
    k.op("pto.tcvt", [scaled], out)
    k.store(out, k.view("%y", [8, 64]))
    x, gain_in, y = (
        normal(8, 64, dtype=ml_dtypes.bfloat16),
        normal(1, 64),
        np.zeros((8, 64), ml_dtypes.bfloat16),
    )
    run(k, x=x, gain=gain_in, y=y)
    wide_x = x.astype(np.float64)
    centre = wide_x - wide_x.mean(axis=1, keepdims=True)
    expected = centre / np.sqrt((centre**2).mean(axis=1, keepdims=True) + 1e-5) * gain_in
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=2**-8, atol=1e-6)


def test_narrow_floats_round_once_per_tile() -> None:
    k = Kernel(x="*f16", y="*f16")
    x, y = k.tile("1x16xf16"), k.tile("1x16xf16")
    k.load(k.view("%x", [1, 16]), x)
    k.op("pto.tmul", [x, x], y)
    k.op("pto.tadd", [y, x], y)
    k.store(y, k.view("%y", [1, 16]))
    x_in, y_out = normal(1, 16, dtype=np.float16), np.zeros((1, 16), np.float16)
    run(k, x=x_in, y=y_out)
    square = (x_in.astype(np.float32) ** 2).astype(np.float16)
    np.testing.assert_array_equal(
        y_out, (square.astype(np.float32) + x_in.astype(np.float32)).astype(np.float16)
    )


def test_scalar_operand_in_either_order() -> None:
    k = Kernel(x="*i32", y="*i32", z="*i32", s="i32")
    x, y, z = (k.tile("2x8xi32") for _ in range(3))
    k.load(k.view("%x", [2, 8]), x)
    k.op("pto.tdivs", [x, "%s"], y)
    k.op("pto.tdivs", ["%s", x], z)
    k.store(y, k.view("%y", [2, 8]))
    k.store(z, k.view("%z", [2, 8]))
    x_in = np.arange(-8, 8, dtype=np.int32).reshape(2, 8)
    y_out, z_out = np.zeros((2, 8), np.int32), np.zeros((2, 8), np.int32)
    run(k, x=x_in, y=y_out, z=z_out, s=-7)
    np.testing.assert_array_equal(y_out, np.trunc(x_in / -7))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(z_out, np.where(x_in == 0, 0, np.trunc(-7 / x_in.astype(float))))


@pytest.mark.parametrize(
    ("op", "axis"), [("pto.trowmin", 1), ("pto.trowprod", 1), ("pto.tcolmax", 0), ("pto.tcolsum", 0)]
)
def test_reductions_read_the_valid_region_only(op: str, axis: int) -> None:
    k = Kernel(x="*f32", y="*f32")
    x = k.tile("16x32xf32", valid="5x7")
    y = k.tile("16x1xf32", valid="5x1", **COLUMN) if axis else k.tile("1x32xf32", valid="1x7")
    k.load(k.view("%x", [5, 7], [40, 1]), x)
    k.op(op, [x], y)
    k.store(y, k.view("%y", [5, 1] if axis else [1, 7]))
    x_in, y_out = normal(5, 40), np.zeros(5 if axis else 7, np.float32)
    run(k, x=x_in, y=y_out)
    function = {"min": np.min, "prod": np.prod, "max": np.max, "sum": np.sum}[op[8:]]
    np.testing.assert_allclose(y_out, function(x_in[:, :7].astype(np.float64), axis=axis), rtol=1e-6)


def test_fill_and_expand() -> None:
    k = Kernel(x="*i32", y="*i32")
    row, column, out = k.tile("1x8xi32"), k.tile("4x1xi32", **COLUMN), k.tile("4x8xi32")
    three = k.const(3, "i32")
    k.load(k.view("%x", [1, 8]), row)
    k.op("pto.texpands", [three], column)
    k.op("pto.tcolexpand", [row], out)
    k.op("pto.trowexpandmul", [out, column], out)
    k.store(out, k.view("%y", [4, 8]))
    x, y = np.arange(8, dtype=np.int32), np.zeros((4, 8), np.int32)
    run(k, x=x, y=y)
    np.testing.assert_array_equal(y, np.tile(x * 3, (4, 1)))


# ---------------------------------------------------------------- matrices


@pytest.mark.parametrize("elem", ["f32", "f16", "bf16", "i8"])
@pytest.mark.parametrize("left", [ZZ, NZ], ids=["Zz", "NZ"])
@pytest.mark.parametrize("mat", [NZ, ZN, {}], ids=["NZ", "Zn", "ND"])
def test_matmul_through_every_layout(elem: str, left: dict[str, Any], mat: dict[str, Any]) -> None:
    to = "i32" if elem == "i8" else "f32"
    k = Kernel(a="*" + elem, b="*" + elem, c="*" + to)
    a, b = k.tile(f"32x128x{elem}", "mat", **mat), k.tile(f"128x64x{elem}", "mat", **mat)
    low_a, low_b = k.tile(f"32x64x{elem}", "left", **left), k.tile(f"64x64x{elem}", "right", **ZN)
    acc = k.tile(f"32x64x{to}", "acc", **ACC)
    k.load(k.view("%a", [32, 128]), a)
    k.load(k.view("%b", [128, 64]), b)
    zero, half = k.const(0), k.const(64)
    k.op("pto.textract", [a, zero, zero], low_a)
    k.op("pto.textract", [b, zero, zero], low_b)
    k.op("pto.tmatmul", [low_a, low_b], acc)
    k.op("pto.textract", [a, zero, half], low_a)
    k.op("pto.textract", [b, half, zero], low_b)
    k.op("pto.tmatmul.acc", [acc, low_a, low_b], acc)
    k.store(acc, k.view("%c", [32, 64]))
    if elem == "i8":
        a_in, b_in = (
            np.random.default_rng(s).integers(-128, 128, n).astype(np.int8)
            for s, n in ((1, (32, 128)), (2, (128, 64)))
        )
    else:
        a_in, b_in = normal(32, 128, dtype=DTYPES[elem], seed=1), normal(128, 64, dtype=DTYPES[elem], seed=2)
    c = np.zeros((32, 64), DTYPES[to])
    run(k, a=a_in, b=b_in, c=c)
    expected = np.einsum("mk,kn->mn", a_in.astype(np.float64), b_in.astype(np.float64))
    np.testing.assert_allclose(c, expected, rtol=1e-6, atol=1e-5)


def test_bias_transposed_view_and_narrow_store() -> None:
    """A transposed operand is a view with swapped strides; an acc tile is rounded to the view's type."""
    k = Kernel(a="*bf16", b="*bf16", bias="*f32", c="*bf16")
    a, b = k.tile("16x16xbf16", "mat", **NZ), k.tile("16x32xbf16", "mat", **ZN)
    row, low = k.tile("1x32xf32", "mat"), k.tile("1x32xf32", "bias")
    left, right, acc = (
        k.tile("16x16xbf16", "left", **ZZ),
        k.tile("16x32xbf16", "right", **ZN),
        k.tile("16x32xf32", "acc", **ACC),
    )
    k.load(k.view("%a", [16, 16]), a)
    k.load(k.view("%b", [16, 32], [1, 16], layout="dn"), b)
    k.load(k.view("%bias", [1, 32]), row)
    for source, target in ((a, left), (b, right), (row, low)):
        k.op("pto.tmov", [source], target)
    k.op("pto.tmatmul.bias", [left, right, low], acc)
    k.store(acc, k.view("%c", [16, 32]))
    a_in, b_in = normal(16, 16, dtype=ml_dtypes.bfloat16), normal(32, 16, dtype=ml_dtypes.bfloat16, seed=1)
    bias, c = normal(1, 32, seed=2), np.zeros((16, 32), ml_dtypes.bfloat16)
    run(k, a=a_in, b=b_in, bias=bias, c=c)
    exact = a_in.astype(np.float64) @ b_in.astype(np.float64).T + bias
    np.testing.assert_array_equal(c, exact.astype(np.float32).astype(ml_dtypes.bfloat16))


def test_one_row_product() -> None:
    k = Kernel(a="*f32", b="*f32", c="*f32")
    left, right, acc = (
        k.tile("1x32xf32", "left", **ZZ),
        k.tile("32x32xf32", "right", **ZN),
        k.tile("1x32xf32", "acc", **ACC),
    )
    k.load(k.view("%a", [1, 32]), left)
    k.load(k.view("%b", [32, 32]), right)
    k.op("pto.tgemv", [left, right], acc)
    k.store(acc, k.view("%c", [1, 32]))
    a, b, c = normal(1, 32), normal(32, 32, seed=1), np.zeros((1, 32), np.float32)
    run(k, a=a, b=b, c=c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-6)


def test_blocked_global_memory() -> None:
    """A 5-D nz view holds boxes of 16 rows; the tile sees the matrix."""
    k = Kernel(x="*f32", y="*f32")
    t = k.tile("32x24xf32", "mat", **NZ)
    shape = [1, 3, 2, 16, 8]
    k.load(k.view("%x", shape, layout="nz"), t)
    k.store(t, k.view("%y", [32, 24]))
    matrix, y = normal(32, 24), np.zeros((32, 24), np.float32)
    blocked = matrix.reshape(2, 16, 3, 8).transpose(2, 0, 1, 3)
    run(k, x=np.ascontiguousarray(blocked), y=y)
    np.testing.assert_array_equal(y, matrix)


# ---------------------------------------------------------------- handles and memory


def test_tiles_at_one_address_reinterpret_bytes() -> None:
    k = Kernel(x="*f32", y="*i32", z="*f16")
    floats, words, halves = (
        k.tile("2x8xf32", addr=64),
        k.tile("2x8xi32", addr=64),
        k.tile("2x16xf16", addr=64),
    )
    other_space = k.tile("2x8xf32", "mat", addr=64)
    k.load(k.view("%x", [2, 8]), floats)
    k.op("pto.texpands", [k.const("0.0", "f32")], other_space)
    k.store(words, k.view("%y", [2, 8]))
    k.store(halves, k.view("%z", [2, 16]))
    x, y, z = normal(2, 8), np.zeros((2, 8), np.int32), np.zeros((2, 16), np.float16)
    run(k, x=x, y=y, z=z)
    np.testing.assert_array_equal(y, x.view(np.int32))
    np.testing.assert_array_equal(z.view(np.uint16), x.view(np.uint16).reshape(2, 16))


def test_handles_share_memory() -> None:
    k = Kernel(x="*i32", y="*i32", z="*i32")
    t = k.tile("8x16xi32")
    k.load(k.view("%x", [8, 16]), t)
    one, row = k.const(1), k.const(2)
    part = "!pto.tile_buf<vec, 4x8xi32>"
    window = k.value(f"pto.subview {t}[{row}, {one}] sizes [4, 8] : {k.types[t]} -> {part}", part)
    k.op("pto.tnot", [window], window)
    inner_type = "!pto.tile_buf<vec, 1x2xi32>"
    inner = k.value(
        f"pto.subview {window}[{k.const(3)}, {k.const(6)}] sizes [1, 2] : {part} -> {inner_type}", inner_type
    )
    k.op("pto.texpands", [k.const(-5, "i32")], inner)
    line = "!pto.tile_buf<vec, 1x128xi32>"
    flat = k.value(f"pto.treshape {t} : {k.types[t]} -> {line}", line)
    k.op("pto.tsetval", [k.const(5), k.const(99, "i32")], flat)
    found = k.value(f"pto.tgetval ins({t}, {k.const(6)} : {k.types[t]}, index) outs : i32", "i32")
    k.line(f"pto.store_scalar {found}, %z[{one}] : !pto.ptr<i32>, i32")
    first = k.value(f"pto.tgetval ins({window}, {k.const(0)} : {part}, index) outs : i32", "i32")
    k.line(f"pto.store_scalar {first}, %z[{row}] : !pto.ptr<i32>, i32")
    k.store(t, k.view("%y", [8, 16]))
    x, y, z = (
        np.arange(128, dtype=np.int32).reshape(8, 16),
        np.zeros((8, 16), np.int32),
        np.zeros(4, np.int32),
    )
    run(k, x=x, y=y, z=z)
    expected = x.copy()
    expected[2:6, 1:9] = ~expected[2:6, 1:9]
    expected[5, 7:9] = -5
    expected[0, 5] = 99
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, [0, 6, ~33, 0])


def test_valid_region_is_part_of_the_handle() -> None:
    k = Kernel(x="*f32", y="*f32", n="index")
    cols = k.const(16)
    type = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
    t = k.value(f"pto.alloc_tile valid_row = %n valid_col = {cols} : {type}", type)
    k.load(k.view("%x", [8, 16]), t)
    k.op("pto.tneg", [t], t)
    k.line(f"pto.set_validshape {t}, %n, {k.const(3)} : {type}")
    k.op("pto.tneg", [t], t)
    k.line(f"%rows, %columns = pto.get_validshape {t} : {type}")
    k.line(
        f"pto.store_scalar {k.value('arith.index_cast %columns : index to i32', 'i32')}, %count[{k.const(0)}] : !pto.ptr<i32>, i32"
    )
    k.arguments["%count"] = "!pto.ptr<i32>"
    k.store(t, k.view("%y", [8, 16]))
    x, y, count = normal(8, 16), np.zeros((8, 16), np.float32), np.zeros(1, np.int32)
    run(k, x=x, y=y, n=5, count=count)
    expected = np.zeros((8, 16), np.float32)
    expected[:5, :3] = x[:5, :3]
    np.testing.assert_array_equal(y, expected)
    assert count[0] == 3
    y[:] = 7
    run(k, x=x, y=y, n=0, count=count)
    assert (y == 7).all()


def test_insert_and_extract_move_windows() -> None:
    k = Kernel(x="*f32", y="*f32")
    small, large, back = k.tile("4x8xf32"), k.tile("8x16xf32"), k.tile("8x8xf32")
    k.load(k.view("%x", [4, 8]), small)
    k.op("pto.texpands", [k.const("1.0", "f32")], large)
    k.op("pto.tinsert", [small, k.const(2), k.const(3)], large)
    k.op("pto.textract", [large, k.const(0), k.const(1)], back)
    k.store(back, k.view("%y", [8, 8]))
    x, y = normal(4, 8), np.zeros((8, 8), np.float32)
    run(k, x=x, y=y)
    expected = np.ones((8, 16), np.float32)
    expected[2:6, 3:11] = x
    np.testing.assert_array_equal(y, expected[:, 1:9])


def test_pointers_and_strides() -> None:
    k = Kernel(x="*f32", y="*f32")
    moved = k.value(f"pto.addptr %x, {k.const(100)} : !pto.ptr<f32> -> !pto.ptr<f32>", "!pto.ptr<f32>")
    t = k.tile("12x8xf32")
    k.load(k.view(moved, [3, 4, 8], [50, 10, 1]), t)
    k.store(t, k.view("%y", [12, 8]))
    x, y = normal(400), np.zeros((12, 8), np.float32)
    run(k, x=x, y=y)
    expected = [[x[100 + 50 * a + 10 * b + c] for c in range(8)] for a in range(3) for b in range(4)]
    np.testing.assert_array_equal(y, np.array(expected))


def test_arguments_that_are_not_contiguous_are_written_too() -> None:
    k = Kernel(x="*f32", y="*f32")
    t = k.tile("4x8xf32")
    k.load(k.view("%x", [4, 8]), t)
    k.store(t, k.view("%y", [4, 8]))
    x, y = np.asfortranarray(normal(4, 8)), np.zeros((8, 4), np.float32).T
    run(k, x=x, y=y)
    np.testing.assert_array_equal(y, x)


# ---------------------------------------------------------------- control flow, grids, calls

CONTROL = """
func.func @k(%y: !pto.ptr<i32>, %n: i32, %__pypto_spmd_block_idx: i32, %__pypto_spmd_block_num: i32) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %count = func.call @steps(%n) : (i32) -> i32
  %scaled = arith.muli %count, %__pypto_spmd_block_num : i32
  %place = arith.index_cast %__pypto_spmd_block_idx : i32 to index
  pto.store_scalar %scaled, %y[%place] : !pto.ptr<i32>, i32
  return
}
func.func private @steps(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %last, %steps = scf.while (%value = %n, %step = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi sgt, %value, %one : i32
    scf.condition(%more) %value, %step : i32, i32
  } do {
  ^bb0(%value: i32, %step: i32):
    %rest = arith.remsi %value, %two : i32
    %even = arith.cmpi eq, %rest, %zero : i32
    %next = scf.if %even -> (i32) {
      %half = arith.divsi %value, %two : i32
      scf.yield %half : i32
    } else {
      %triple = arith.muli %value, %three : i32
      %odd = arith.addi %triple, %one : i32
      scf.yield %odd : i32
    }
    %step_next = arith.addi %step, %one : i32
    scf.yield %next, %step_next : i32, i32
  }
  return %steps : i32
}
"""


def test_control_flow_calls_and_blocks() -> None:
    y = np.zeros(3, np.int32)
    run(module(CONTROL), y=y, n=27, grid=3)
    np.testing.assert_array_equal(y, [333, 333, 333])  # 27 takes 111 steps, times 3 blocks
    run_kernel(
        module(CONTROL), "k", {"y": y, "n": 6, "__pypto_spmd_block_idx": 2, "__pypto_spmd_block_num": 10}
    )
    assert y[2] == 80


def test_endless_recursion_is_a_fault() -> None:
    text = "func.func @k(%n: i32) {\n func.call @k(%n) : (i32) -> ()\n return\n}"
    assert "without end" in fault(module(text), "P0602", n=1)


def test_element_types_without_arrays_are_refused() -> None:
    fault(Kernel(x="*!pto.hif8"), "P0402", x=np.zeros(4, np.uint8))


def test_events_pair() -> None:
    k = Kernel(n="index")
    k.line("pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]")
    k.line(f"scf.for %i = {k.const(0)} to %n step {k.const(1)} {{")
    k.line("pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]")
    k.line("pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]\n}")
    k.line("pto.barrier <PIPE_ALL>")
    run(k, n=1)
    assert "nothing before it raises" in fault(k, "P0602", n=2)


def test_prints_only_for_a_listener() -> None:
    k = Kernel(x="*i32")
    t = k.tile("2x8xi32", valid="2x3")
    k.load(k.view("%x", [2, 3]), t)
    k.line(f"pto.tprint ins({t} : {k.types[t]})")
    lines: list[str] = []
    run_kernel(k.module(), "k", {"x": np.arange(6, dtype=np.int32)}, output=lines.append)
    assert lines == ["".join(f"{value:8d} " for value in row) + "\n" for row in ((0, 1, 2), (3, 4, 5))]


# ---------------------------------------------------------------- faults


def test_unspecified_lanes_are_poison() -> None:
    k = Kernel(x="*f32", y="*f32")
    t, wide = k.tile("2x8xf32", addr=0, valid="2x4"), k.tile("2x8xf32", addr=0)
    k.load(k.view("%x", [2, 4]), t)
    k.store(wide, k.view("%y", [2, 8]))
    y = np.zeros((2, 8), np.float32)
    run(k, x=normal(2, 4), y=y)
    assert np.isnan(y[:, 4:]).all() and not np.isnan(y[:, :4]).any()
    run_kernel(k.module(), "k", {"x": normal(2, 4), "y": y})
    assert (y[:, 4:] == 0).all()


def test_accesses_outside_of_arguments() -> None:
    k = Kernel(x="*f32", y="*f32")
    t = k.tile("4x8xf32")
    k.load(k.view("%x", [4, 8]), t)
    k.store(t, k.view("%y", [4, 8]))
    short, whole = np.zeros(31, np.float32), np.zeros(32, np.float32)
    assert "element 31 is outside" in fault(k, "P0602", x=short, y=whole)
    assert "pto.tstore" in fault(k, "P0602", x=whole, y=short)
    scalar = Kernel(x="*f32")
    scalar.value(f"pto.load_scalar %x[{scalar.const(-1)}] : !pto.ptr<f32> -> f32", "f32")
    fault(scalar, "P0602", x=whole)


def test_traps_and_bad_handles() -> None:
    k = Kernel(n="index")
    k.line("pto.trap")
    fault(k, "P0602", n=1)
    k = Kernel(n="index")
    type = "!pto.tile_buf<vec, 8x16xf32, valid=?x16>"
    k.value(f"pto.alloc_tile valid_row = %n : {type}", type)
    run(k, n=8)
    assert "valid extent of 9" in fault(k, "P0602", n=9)
    k = Kernel(n="i64")
    k.value("pto.alloc_tile addr = %n : !pto.tile_buf<vec, 8x16xf32>", "")
    assert "memory space" in fault(k, "P0602", n=-64)
    k = Kernel(n="index")
    t = k.tile("8x16xf32")
    k.value(f"pto.tgetval ins({t}, %n : {k.types[t]}, index) outs : f32", "f32")
    run(k, n=127)
    fault(k, "P0602", n=128)
    k = Kernel(n="index")
    k.line(f"scf.for %i = {k.const(0)} to {k.const(4)} step %n {{\n}}")
    fault(k, "P0602", n=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs a value for %x"),
        ({"x": np.zeros(4, np.float32), "n": 1, "z": 3}, "no argument %z"),
        ({"x": np.zeros(4, np.float64), "n": 1}, "the value is float64"),
        ({"x": 3, "n": 1}, "the value is int"),
        ({"x": np.zeros(4, np.float32), "n": 1.5}, "%n is i32"),
        ({"x": np.zeros(4, np.float32), "n": "one"}, "%n is i32"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], words: str) -> None:
    assert words in fault(Kernel(x="*f32", n="i32"), "P0306", **arguments)


def test_unknown_kernel() -> None:
    with pytest.raises(CompileError):
        run_kernel(Kernel(x="*f32").module(), "other", {})
