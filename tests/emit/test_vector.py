"""Loads, stores, masks, lanes and reductions of the loop level on every machine that can run here."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.emit.harness import (
    MACHINES,
    NUMPY,
    assert_same,
    float_pairs,
    integers,
    native,
    pointer,
    runnable_machines,
)

COUNTS = (-3, 0, 1, 3, 8, 15, 16, 1000, -(2**40), 2**40)


def masked(elem: str, lanes: int) -> str:
    """Copies the lanes below n; what is masked off is 7 in the result."""
    seven = 7 if elem[0] == "i" else "7.0"
    v, m = f"vector<{lanes}x{elem}>", f"vector<{lanes}xi1>"
    return f"""
      func.func @copy_{elem}_{lanes}(%x: memref<?x{elem}>, %y: memref<?x{elem}>, %z: memref<?x{elem}>, %n: index) {{
        %zero = arith.constant 0 : index
        %seven = arith.constant dense<{seven}> : {v}
        %m = vector.create_mask %n : {m}
        %a = vector.maskedload %x[%zero], %m, %seven : memref<?x{elem}>, {m}, {v} into {v}
        vector.store %a, %y[%zero] : memref<?x{elem}>, {v}
        vector.maskedstore %z[%zero], %m, %a : memref<?x{elem}>, {m}, {v}
        return
      }}"""


@pytest.mark.parametrize("target", MACHINES)
def test_masks(target):
    kinds = ("i8", "bf16", "f32", "f64")
    library = native("module {" + "".join(masked(e, n) for e in kinds for n in (8, 16)) + "}", target)
    for elem in kinds:
        for lanes in (8, 16):
            for count in COUNTS:
                x = np.arange(1, lanes + 1).astype(NUMPY[elem])
                y, z = np.zeros(lanes, NUMPY[elem]), np.zeros(lanes, NUMPY[elem])
                function = getattr(library, f"copy_{elem}_{lanes}")
                function(pointer(x), pointer(y), pointer(z), ctypes.c_int64(count))
                inside = np.arange(lanes) < count
                assert_same(y, np.where(inside, x, np.array(7, NUMPY[elem])).astype(x.dtype))
                assert_same(z, np.where(inside, x, np.array(0, NUMPY[elem])).astype(x.dtype))


@pytest.mark.parametrize("target", MACHINES)
def test_masked_lanes_touch_no_memory(target):
    """The lanes that are masked off lie in a page that may not be touched."""
    import mmap

    library = native("module {" + masked("f32", 16) + masked("bf16", 16) + "}", target)
    libc = ctypes.CDLL(None)
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(base + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    for elem in ("f32", "bf16"):
        size = np.dtype(NUMPY[elem]).itemsize
        at = ctypes.c_void_p(base + mmap.PAGESIZE - 5 * size)
        y = np.zeros(16, NUMPY[elem])
        getattr(library, f"copy_{elem}_16")(at, pointer(y), at, ctypes.c_int64(5))
        assert (y[5:] == 7).all()
    assert libc.mprotect(ctypes.c_void_p(base + mmap.PAGESIZE), mmap.PAGESIZE, 3) == 0


REDUCTIONS = {
    "i32": {
        "add": np.sum, "mul": np.prod, "maxsi": np.max, "minsi": np.min, "and": np.bitwise_and.reduce,
        "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
        "maxui": lambda a: np.max(a.view("u4")), "minui": lambda a: np.min(a.view("u4")),
    },
    "f32": {
        "add": np.sum, "mul": np.prod, "maximumf": np.max, "minimumf": np.min, "maxnumf": np.fmax.reduce,
        "minnumf": np.fmin.reduce,
    },
}  # fmt: skip


def reduction(kind: str, elem: str, lanes: int) -> str:
    """Reduces one vector."""
    return f"""
      func.func @{kind}_{elem}_{lanes}(%x: memref<?x{elem}>, %y: memref<?x{elem}>) {{
        %zero = arith.constant 0 : index
        %a = vector.load %x[%zero] : memref<?x{elem}>, vector<{lanes}x{elem}>
        %r = vector.reduction <{kind}>, %a : vector<{lanes}x{elem}> into {elem}
        memref.store %r, %y[%zero] : memref<?x{elem}>
        return
      }}"""


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("elem", REDUCTIONS)
def test_reductions(target, elem):
    kinds = REDUCTIONS[elem]
    library = native(
        "module {" + "".join(reduction(k, elem, n) for k in kinds for n in (4, 16)) + "}", target
    )
    for kind, function in kinds.items():
        for lanes in (4, 16):
            for seed in range(8):
                random = np.random.default_rng(seed)
                x = (
                    integers(elem, seed=seed)[-lanes:]
                    if elem == "i32"
                    else random.integers(-8, 9, lanes) / np.float32(4)
                )
                x = np.ascontiguousarray(x, NUMPY[elem])
                y = np.zeros(1, NUMPY[elem])
                getattr(library, f"{kind}_{elem}_{lanes}")(pointer(x), pointer(y))
                want = (
                    np.array([function(x)])
                    .astype(f"u{y.itemsize}" if elem == "i32" else "f4")
                    .view(NUMPY[elem])
                )
                assert np.allclose(y, want, rtol=1e-6), (kind, lanes)


@pytest.mark.parametrize("target", MACHINES)
def test_maximum_keeps_a_nan_and_narrow_sums_round_once(target):
    text = reduction("maximumf", "f32", 16) + reduction("add", "bf16", 16)
    library = native("module {" + text + "}", target)
    y = np.zeros(1, "f4")
    for place in range(16):
        x = np.full(16, -0.0, "f4")
        x[place] = 0.0
        library.maximumf_f32_16(pointer(x), pointer(y))
        assert not np.signbit(y[0])
        x[place] = np.nan
        library.maximumf_f32_16(pointer(x), pointer(y))
        assert np.isnan(y[0])
    narrow = np.full(16, 1.0078125).astype(NUMPY["bf16"])
    z = np.zeros(1, NUMPY["bf16"])
    library.add_bf16_16(pointer(narrow), pointer(z))
    assert z[0] == np.array(16 * 1.0078125).astype(NUMPY["bf16"])


LANES = """
  func.func @lanes(%x: memref<?xf32>, %s: memref<?xi8>, %out: memref<?xf32>, %numbers: memref<?xi32>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %c16 = arith.constant 16 : index
    %a = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>
    %b = vector.load %x[%c4] : memref<?xf32>, vector<4xf32>
    %both = vector.shuffle %a, %b [7, 0, 5, 2] : vector<4xf32>, vector<4xf32>
    vector.store %both, %out[%c0] : memref<?xf32>, vector<4xf32>
    %one = vector.extract %a[3] : f32 from vector<4xf32>
    %put = vector.insert %one, %b[1] : f32 into vector<4xf32>
    vector.store %put, %out[%c4] : memref<?xf32>, vector<4xf32>
    %all = vector.broadcast %one : f32 to vector<4xf32>
    %moved = memref.offset %out[%c8] : memref<?xf32>
    vector.store %all, %moved[%c0] : memref<?xf32>, vector<4xf32>
    %view = memref.view %s[%c4] : memref<?xi8> to memref<?xf32>
    %word = memref.load %view[%c0] : memref<?xf32>
    memref.store %word, %out[%c12] : memref<?xf32>
    %step = vector.step : vector<8xi32>
    vector.store %step, %numbers[%c0] : memref<?xi32>, vector<8xi32>
    %bits = vector.bitcast %a : vector<4xf32> to vector<8xi16>
    %words = vector.bitcast %bits : vector<8xi16> to vector<4xi32>
    vector.store %words, %numbers[%c8] : memref<?xi32>, vector<4xi32>
    vector.store %a, %out[%c16] {nontemporal} : memref<?xf32>, vector<4xf32>
    return
  }
"""


@pytest.mark.parametrize("target", MACHINES)
def test_lanes_views_and_offsets(target):
    library = native(LANES, target)
    x = np.arange(8, dtype="f4") + 0.5
    scratch = np.zeros(16, "i1")
    scratch[4:8] = np.array([1.25], "f4").view("i1")
    room = np.zeros(32, "f4")
    out = room[-room.ctypes.data % 64 // 4 :][:20]  # the nontemporal store asks for an aligned place
    numbers = np.zeros(12, "i4")
    library.lanes(pointer(x), pointer(scratch), pointer(out), pointer(numbers))
    assert list(out[:4]) == [x[7], x[0], x[5], x[2]]
    assert list(out[4:8]) == [x[4], x[3], x[6], x[7]]
    assert (out[8:12] == x[3]).all() and out[12] == 1.25
    assert list(out[16:]) == list(x[:4])
    assert list(numbers[:8]) == list(range(8))
    assert (numbers[8:].view("f4") == x[:4]).all()


FLAGS = """
  func.func @flags(%x: memref<?xf32>, %f: memref<?xi1>, %g: memref<?xi1>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %a = vector.load %x[%c0] : memref<?xf32>, vector<8xf32>
    %p = arith.cmpf ogt, %a, %zero : vector<8xf32>
    vector.store %p, %f[%c0] : memref<?xi1>, vector<8xi1>
    %q = vector.load %f[%c0] : memref<?xi1>, vector<8xi1>
    %t = arith.constant dense<true> : vector<8xi1>
    %n = arith.xori %q, %t : vector<8xi1>
    vector.store %n, %g[%c0] : memref<?xi1>, vector<8xi1>
    %one = memref.load %g[%c0] : memref<?xi1>
    memref.store %one, %g[%c8] : memref<?xi1>
    return
  }
"""


@pytest.mark.parametrize("target", MACHINES)
def test_flags_take_a_byte(target):
    library = native(FLAGS, target)
    x = np.array([1, -1, 0, 5, np.nan, -np.inf, np.inf, 2], "f4")
    f, g = np.zeros(8, bool), np.zeros(9, bool)
    library.flags(pointer(x), pointer(f), pointer(g))
    assert (f == (x > 0)).all() and (g[:8] == ~f).all() and g[8] == g[0]


DOTS = """
  func.func @bf16(%acc: memref<?xf32>, %a: memref<?xbf16>, %b: memref<?xbf16>) {
    %c0 = arith.constant 0 : index
    %s = vector.load %acc[%c0] : memref<?xf32>, vector<16xf32>
    %x = vector.load %a[%c0] : memref<?xbf16>, vector<32xbf16>
    %y = vector.load %b[%c0] : memref<?xbf16>, vector<32xbf16>
    %r = vector.dot %s, %x, %y {instruction = "dpbf16ps"} : vector<16xf32>, vector<32xbf16>, vector<32xbf16>
    vector.store %r, %acc[%c0] : memref<?xf32>, vector<16xf32>
    return
  }
  func.func @i8(%acc: memref<?xi32>, %a: memref<?xi8>, %b: memref<?xi8>) {
    %c0 = arith.constant 0 : index
    %s = vector.load %acc[%c0] : memref<?xi32>, vector<8xi32>
    %x = vector.load %a[%c0] : memref<?xi8>, vector<32xi8>
    %y = vector.load %b[%c0] : memref<?xi8>, vector<32xi8>
    %r = vector.dot %s, %x, %y {instruction = "vpdpbusd"} : vector<8xi32>, vector<32xi8>, vector<32xi8>
    vector.store %r, %acc[%c0] : memref<?xi32>, vector<8xi32>
    return
  }
"""


@pytest.mark.parametrize("target", runnable_machines("avx512+bf16+vnni"))
def test_dot_instructions(target):
    library = native(DOTS, target)
    random = np.random.default_rng(2)
    a, b = (random.integers(-8, 9, 32).astype(NUMPY["bf16"]) for _ in range(2))
    acc = random.integers(-8, 9, 16).astype("f4")
    want = acc + (a.astype("f4") * b.astype("f4")).reshape(16, 2).sum(1)
    library.bf16(pointer(acc), pointer(a), pointer(b))
    assert (acc == want).all()
    left, right = random.integers(0, 256, 32).astype("u1"), random.integers(-128, 128, 32).astype("i1")
    total = random.integers(-1000, 1000, 8).astype("i4")
    want = total + (left.astype("i4") * right).reshape(8, 4).sum(1)
    library.i8(pointer(total), pointer(left), pointer(right))
    assert (total == want).all()


@pytest.mark.parametrize("target", MACHINES)
def test_in_place_use_of_equal_arguments(target):
    """An output that is an input, each element read before it is written, gives what a copy would."""
    text = """
      func.func @swap(%x: memref<?xf32>, %y: memref<?xf32>, %u: memref<?xf32>, %w: memref<?xf32>, %n: index) {
        %c0 = arith.constant 0 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %n step %c8 {
          %a = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
          %b = vector.load %y[%i] : memref<?xf32>, vector<8xf32>
          vector.store %b, %u[%i] : memref<?xf32>, vector<8xf32>
          vector.store %a, %w[%i] : memref<?xf32>, vector<8xf32>
        }
        return
      }"""
    library = native(text, target)
    x, y = float_pairs("f32")
    x, y = x[:1024].copy(), y[:1024].copy()
    before = x.copy(), y.copy()
    library.swap(pointer(x), pointer(y), pointer(x), pointer(y), ctypes.c_int64(1024))
    assert_same(x, before[1])
    assert_same(y, before[0])
