"""Loops, branches, calls and switches of the loop level."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from pptc.emit import emit_module
from pptc.options import EmitOptions, load_machine
from tests.emit.harness import lowered, native, pointer

TEXT = """
  func.func @sum(%x: memref<?xi64>, %out: memref<?xi64>, %lower: index, %upper: index, %step: index) {
    %c0 = arith.constant 0 : index
    %start = arith.constant 0 : i64
    %count = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:2 = scf.for %i = %lower to %upper step %step iter_args(%s = %start, %n = %count) -> (i64, index) {
      %a = memref.load %x[%i] : memref<?xi64>
      %t = arith.addi %s, %a : i64
      %m = arith.addi %n, %c1 : index
      scf.yield %t, %m : i64, index
    } {loop.unroll = "off"}
    %k = arith.index_cast %r#1 : index to i64
    memref.store %r#0, %out[%c0] : memref<?xi64>
    memref.store %k, %out[%c1] : memref<?xi64>
    return
  }
  func.func @collatz(%out: memref<?xi64>, %n: i64) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    %zero = arith.constant 0 : i64
    %r:2 = scf.while (%x = %n, %k = %zero) : (i64, i64) -> (i64, i64) {
      %go = arith.cmpi ne, %x, %one : i64
      scf.condition(%go) %x, %k : i64, i64
    } do {
    ^bb0(%y: i64, %j: i64):
      %odd = arith.remsi %y, %two : i64
      %is_odd = arith.cmpi eq, %odd, %one : i64
      %next = scf.if %is_odd -> (i64) {
        %t = arith.muli %y, %three : i64
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      } else {
        %h = arith.divsi %y, %two : i64
        scf.yield %h : i64
      }
      %more = arith.addi %j, %one : i64
      scf.yield %next, %more : i64, i64
    }
    memref.store %r#1, %out[%c0] : memref<?xi64>
    return
  }
  func.func private @twice(%v: i64, %w: i64) -> (i64, i64) {
    %a = arith.addi %v, %v : i64
    %b = arith.addi %w, %w : i64
    return %a, %b : i64, i64
  }
  func.func private @negated(%v: i64) -> i64 {
    %zero = arith.constant 0 : i64
    %a = arith.subi %zero, %v : i64
    return %a : i64
  }
  func.func @calls(%out: memref<?xi64>, %n: i64, %m: i64) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:2 = func.call @twice(%n, %m) : (i64, i64) -> (i64, i64)
    %k = func.call @negated(%r#1) : (i64) -> i64
    memref.store %r#0, %out[%c0] : memref<?xi64>
    memref.store %k, %out[%c1] : memref<?xi64>
    return
  }
  func.func @branch(%out: memref<?xi64>, %flag: i1, %deep: i1) {
    %c0 = arith.constant 0 : index
    %seven = arith.constant 7 : i64
    %eight = arith.constant 8 : i64
    scf.if %flag {
      memref.store %seven, %out[%c0] : memref<?xi64>
      scf.if %deep {
        memref.store %eight, %out[%c0] : memref<?xi64>
      }
    }
    return
  }
  func.func @choose(%out: memref<?xi64>, %which: index) {
    %c0 = arith.constant 0 : index
    %r = scf.index_switch %which -> i64
    case 2 {
      %a = arith.constant 20 : i64
      scf.yield %a : i64
    }
    case 5 {
      %a = arith.constant 50 : i64
      scf.yield %a : i64
    }
    default {
      %a = arith.constant -1 : i64
      scf.yield %a : i64
    }
    %s = scf.execute_region -> i64 {
      scf.yield %r : i64
    }
    memref.store %s, %out[%c0] : memref<?xi64>
    return
  }
"""


@pytest.fixture(scope="module", params=(0, 2), ids=("O0", "O2"))
def library(request):
    return native(TEXT, "x86-64", opt_level=request.param)


def numbers(*values):
    return [ctypes.c_int64(value) for value in values]


@pytest.mark.parametrize(
    ("lower", "upper", "step"), [(0, 0, 1), (0, 10, 1), (3, 10, 4), (5, 2, 1), (-4, -1, 2), (0, 9, 100)]
)
def test_for(library, lower, upper, step):
    x, out = np.arange(100, 132), np.zeros(2, "i8")
    library.sum(ctypes.c_void_p(x.ctypes.data + 8 * 16), pointer(out), *numbers(lower, upper, step))
    trips = x[16:][: max(upper, 0)] if lower >= 0 else x[16 + lower : 16 + upper]
    taken = trips[lower::step] if lower >= 0 else trips[::step]
    assert list(out) == [taken.sum(), len(taken)]


def test_while_and_if(library):
    out = np.zeros(1, "i8")
    for start, steps in ((1, 0), (2, 1), (6, 8), (27, 111)):
        library.collatz(pointer(out), *numbers(start))
        assert out[0] == steps


def test_calls_with_results(library):
    out = np.zeros(2, "i8")
    library.calls(pointer(out), *numbers(3, 5))
    assert list(out) == [6, -10]


def test_branches_without_results(library):
    for flag, deep, want in ((False, False, 0), (True, False, 7), (True, True, 8), (False, True, 0)):
        out = np.zeros(1, "i8")
        library.branch(pointer(out), ctypes.c_bool(flag), ctypes.c_bool(deep))
        assert out[0] == want


def test_switch(library):
    for which, want in ((2, 20), (5, 50), (0, -1), (-1, -1)):
        out = np.zeros(1, "i8")
        library.choose(pointer(out), *numbers(which))
        assert out[0] == want


def test_unrolling_is_off_where_the_loop_says_so():
    machine = load_machine("avx2")
    text = emit_module(lowered(TEXT, machine), machine, EmitOptions("llvm-ir"))
    assert isinstance(text, str)
    assert "llvm.loop.unroll.disable" in text
