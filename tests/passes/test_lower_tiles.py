"""Layouts, windows, handles, views, single elements and control flow through lower-tiles, against the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pptc.diag import CompileError
from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, Library, lowered, parsed

PIPELINES = {
    "scalar": "plan-memory,lower-tiles{vectors=off},legalize-floats,expand-math",
    "vector": "plan-memory,lower-tiles,legalize-floats,expand-math",
}

CONSTANTS = "".join(
    f"    %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 5, 8, 12, 16, 32, 48, 64, 128, 256)
) + "".join(f"    %a{n} = arith.constant {n} : i64\n" for n in (0, 64, 256, 512, 2048, 4096, 8192))

VIEWS = """
    %xv = pto.make_tensor_view %x, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<32x64xf32>
    %yv = pto.make_tensor_view %y, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<32x64xf32>
    %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c32, %c64] : !pto.tensor_view<32x64xf32> -> !part
    %yp = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c32, %c64] : !pto.tensor_view<32x64xf32> -> !part
"""

TYPES = """
!part = !pto.partition_tensor_view<32x64xf32>
!nd = !pto.tile_buf<vec, 32x64xf32>
!dn = !pto.tile_buf<vec, 32x64xf32, blayout=col_major>
!nz = !pto.tile_buf<mat, 32x64xf32, blayout=col_major, slayout=row_major>
!zz = !pto.tile_buf<left, 32x64xf32, slayout=row_major>
!zn = !pto.tile_buf<right, 32x64xf32, slayout=col_major>
!half = !pto.tile_buf<vec, 16x64xf32>
!corner = !pto.tile_buf<vec, 8x32xf32>
!dynamic = !pto.tile_buf<vec, 32x64xf32, valid=?x?>
!words = !pto.tile_buf<vec, 32x64xi32>
!column = !pto.tile_buf<vec, 32x1xf32, blayout=col_major>
!lying = !pto.tile_buf<vec, 1x32xf32>
!line = !pto.tile_buf<vec, 1x64xf32>
"""

LOAD = "pto.tload ins(%xp : !part) outs(%t : {0})\n"
STORE = "pto.tstore ins(%t : !nd) outs(%yp : !part)\n"

BODIES: Mapping[str, str] = {
    "layouts": """
    %t = pto.alloc_tile addr = %a0 : !dn
    pto.tload ins(%xp : !part) outs(%t : !dn)
    %d = pto.alloc_tile addr = %a8192 : !dn
    pto.tabs ins(%t : !dn) outs(%d : !dn)
    %m = pto.alloc_tile addr = %a0 : !nz
    pto.tmov ins(%d : !dn) outs(%m : !nz)
    pto.tstore ins(%m : !nz) outs(%yp : !part)
""",
    "windows": """
    %t = pto.alloc_tile addr = %a0 : !nd
    pto.tload ins(%xp : !part) outs(%t : !nd)
    %w = pto.subview %t[%c8, %c16] sizes [8, 32] : !nd -> !corner
    %u = pto.subview %t[%i, %c32] sizes [8, 32] : !nd -> !corner
    pto.tadd ins(%w, %u : !corner, !corner) outs(%w : !corner)
    %e = pto.alloc_tile addr = %a8192 : !corner
    pto.textract ins(%t, %c12, %c5 : !nd, index, index) outs(%e : !corner)
    pto.tinsert ins(%e, %c3, %c12 : !corner, index, index) outs(%t : !nd)
    pto.textract ins(%t, %c1, %c1 : !nd, index, index) outs(%w : !corner)
    pto.tstore ins(%t : !nd) outs(%yp : !part)
""",
    "reinterpreted": """
    %t = pto.alloc_tile addr = %a0 : !nd
    pto.tload ins(%xp : !part) outs(%t : !nd)
    %sum = pto.alloc_tile addr = %a8192 : !column
    pto.trowsum ins(%t, %t : !nd, !nd) outs(%sum : !column)
    pto.tload ins(%xp : !part) outs(%t : !nd)
    %row = pto.treshape %sum : !column -> !lying
    pto.tmuls ins(%row, %s : !lying, f32) outs(%row : !lying)
    %bits = pto.bitcast %t : !nd -> !words
    %one = arith.constant 1 : i32
    pto.tadds ins(%bits, %one : !words, i32) outs(%bits : !words)
    pto.trowexpandmul ins(%t, %sum : !nd, !column) outs(%t : !nd)
    pto.tstore ins(%t : !nd) outs(%yp : !part)
""",
    "changed": """
    %t = pto.alloc_tile addr = %a0 valid_row = %c32 valid_col = %c64 : !dynamic
    pto.tload ins(%xp : !part) outs(%t : !dynamic)
    scf.for %k = %c0 to %c32 step %c8 {
      %big = arith.cmpi slt, %k, %i : index
      scf.if %big {
        pto.set_validshape %t, %k, %i : !dynamic
      } else {
        %r, %c = pto.get_validshape %t : !dynamic
        %more = arith.addi %r, %c5 : index
        %rows = pto.tile_valid_rows %t : !dynamic -> index
        %less = arith.minsi %more, %rows : index
        pto.set_validshape %t, %less, %c5 : !dynamic
      }
      pto.tmuls ins(%t, %s : !dynamic, f32) outs(%t : !dynamic)
    }
    pto.set_validshape %t, %c32, %c64 : !dynamic
    pto.tstore ins(%t : !dynamic) outs(%yp : !part)
""",
    "elements": """
    %t = pto.alloc_tile addr = %a0 : !dn
    pto.tload ins(%xp : !part) outs(%t : !dn)
    %e = pto.tgetval ins(%t, %i : !dn, index) outs : f32
    %w = pto.subview %t[%c4, %c2] sizes [8, 32] : !dn -> !pto.tile_buf<vec, 8x32xf32, blayout=col_major>
    pto.tsetval ins(%c3, %e : index, f32) outs(%w : !pto.tile_buf<vec, 8x32xf32, blayout=col_major>)
    pto.tstore ins(%t : !dn) outs(%yp : !part)
    %q = pto.addptr %y, %c256 : !pto.ptr<f32> -> !pto.ptr<f32>
    %f = pto.load_scalar %q[%i] : !pto.ptr<f32> -> f32
    %g = arith.addf %f, %e : f32
    pto.store_scalar %g, %q[%c0] : !pto.ptr<f32>, f32
""",
    "dimensions": """
    %v = pto.make_tensor_view %x, shape = [%c2, %c1, %c4, %c4, %c64], strides = [%c256, %c64, %c16, %c4, %c1] : !pto.tensor_view<2x1x4x4x64xf32>
    %d = pto.get_tensor_view_dim %v, %c2 : !pto.tensor_view<2x1x4x4x64xf32> -> index
    %p = pto.partition_view %v, offsets = [%c0, %c0, %c0, %c0, %c2], sizes = [%c2, %c1, %d, %c4, %c32] : !pto.tensor_view<2x1x4x4x64xf32> -> !pto.partition_tensor_view<2x1x?x4x32xf32>
    %t = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 32x64xf32, valid=32x32>
    pto.tload ins(%p : !pto.partition_tensor_view<2x1x?x4x32xf32>) outs(%t : !pto.tile_buf<vec, 32x64xf32, valid=32x32>)
    %o = pto.make_tensor_view %y, shape = [%c32, %c32], strides = [%c1, %c32] : !pto.tensor_view<32x32xf32>
    %q = pto.partition_view %o, offsets = [%c0, %c0], sizes = [%c32, %c32] : !pto.tensor_view<32x32xf32> -> !pto.partition_tensor_view<32x32xf32>
    pto.tstore ins(%t : !pto.tile_buf<vec, 32x64xf32, valid=32x32>) outs(%q : !pto.partition_tensor_view<32x32xf32>)
""",
    "fractal_view": """
    %v = pto.make_tensor_view %x, shape = [%c1, %c8, %c2, %c16, %c8], strides = [%c256, %c256, %c128, %c8, %c1] {layout = #pto.layout<nz>} : !pto.tensor_view<1x8x2x16x8xf32>
    %p = pto.partition_view %v, offsets = [%c0, %c0, %c0, %c0, %c0], sizes = [%c1, %c8, %c2, %c16, %c8] : !pto.tensor_view<1x8x2x16x8xf32> -> !pto.partition_tensor_view<1x8x2x16x8xf32>
    %t = pto.alloc_tile addr = %a0 : !nz
    pto.tload ins(%p : !pto.partition_tensor_view<1x8x2x16x8xf32>) outs(%t : !nz)
    pto.tstore ins(%t : !nz) outs(%yp : !part)
""",
    "overlapping": """
    %t = pto.alloc_tile addr = %a0 : !nd
    pto.tload ins(%xp : !part) outs(%t : !nd)
    %u = pto.alloc_tile addr = %a256 : !half
    %w = pto.alloc_tile addr = %a0 : !half
    pto.tadd ins(%w, %u : !half, !half) outs(%u : !half)
    %top = pto.alloc_tile addr = %a64 : !column
    pto.trowmax ins(%t, %t : !nd, !nd) outs(%top : !column)
    pto.tload ins(%xp : !part) outs(%t : !nd)
    %line = pto.alloc_tile addr = %a512 : !line
    pto.tcolmax ins(%t : !nd) outs(%line : !line)
    pto.tstore ins(%t : !nd) outs(%yp : !part)
""",
    "flow": """
    %zero = arith.constant 0.0 : f32
    %n, %total = scf.while (%k = %c0, %sum = %zero) : (index, f32) -> (index, f32) {
      %go = arith.cmpi slt, %k, %i : index
      scf.condition(%go) %k, %sum : index, f32
    } do {
    ^bb0(%k: index, %sum: f32):
      %e = pto.load_scalar %x[%k] : !pto.ptr<f32> -> f32
      %more = func.call @twice(%e) : (f32) -> f32
      %next = arith.addf %sum, %more : f32
      %following = arith.addi %k, %c1 : index
      scf.yield %following, %next : index, f32
    }
    %odd = arith.remsi %i, %c2 : index
    %is = arith.cmpi eq, %odd, %c1 : index
    %factor = scf.if %is -> (f32) {
      scf.yield %total : f32
    } else {
      scf.yield %s : f32
    }
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.barrier <PIPE_ALL>
    %t = pto.alloc_tile addr = %a0 : !nd
    pto.tload ins(%xp : !part) outs(%t : !nd)
    pto.tmuls ins(%t, %factor : !nd, f32) outs(%t : !nd)
    pto.tstore ins(%t : !nd) outs(%yp : !part)
""",
}  # fmt: skip

HELPER = """
  func.func private @twice(%v: f32) -> f32 {
    %r = arith.addf %v, %v : f32
    return %r : f32
  }
"""

TEXT = (
    TYPES
    + "module {\n"
    + "".join(
        f"  func.func @{name}(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %i: index, %s: f32) {{\n"
        f"{CONSTANTS}{VIEWS}{body}    return\n  }}\n"
        for name, body in BODIES.items()
    )
    + HELPER
    + "}\n"
)


def _arguments() -> tuple[Any, Any, int, float]:
    random = np.random.default_rng(3)
    return random.normal(0, 2, (32, 64)).astype(np.float32), np.zeros((32, 64), np.float32), 19, 0.75


@pytest.mark.parametrize(
    ("target", "pipeline"),
    [(target, form) for target in MACHINES for form in PIPELINES.values()]
    + [(target, load_machine(target).pipelines["O2"]) for target in MACHINES],
)
def test_tiles(target: str, pipeline: str) -> None:
    reference = parsed(TEXT)
    library = Library(parsed(TEXT), target, parse_pipeline(pipeline, PASSES))
    for name in BODIES:
        given, want = _arguments(), _arguments()
        run_kernel(reference, name, dict(zip("xyis", want, strict=True)))
        library.call(name, *given)
        np.testing.assert_allclose(given[1], want[1], rtol=1e-5, atol=1e-5, err_msg=f"{name} on {target}")
        assert want[1].any(), name


REFUSED: Mapping[str, str] = {
    "is a kernel": """
    func.call @k(%x, %y, %i, %b) : (!pto.ptr<f32>, !pto.ptr<f32>, index, i1) -> ()
""",
    "not passed through": """
    %t = pto.alloc_tile addr = %a0 : !nd
    %u = scf.if %b -> (!nd) {
      scf.yield %t : !nd
    } else {
      scf.yield %t : !nd
    }
""",
    "must be a constant": """
    %v = pto.get_tensor_view_stride %xv, %i : !pto.tensor_view<32x64xf32> -> index
""",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    text = (
        f"{TYPES}module {{\n  func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %i: index, %b: i1) {{\n"
        f"{CONSTANTS}{VIEWS}{REFUSED[message]}    return\n  }}\n}}\n"
    )
    with pytest.raises(CompileError) as caught:
        lowered(text, "avx2", "lower-tiles")
    (found,) = caught.value.sink
    assert (found.code, message in found.message, found.span is not None) == ("P0402", True, True)
