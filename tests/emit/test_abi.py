"""The entries of a kernel: plain symbols, NAME_ws, NAME_scratch_bytes, and NAME.kernel through ppt_args and ppt_group."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from pptc.diag import CompileError
from pptc.emit import Section, emit_module
from pptc.emit.section import STACK_SCRATCH_BYTES, kernel_codes
from pptc.link.elf import link_shared
from pptc.options import EmitOptions, load_machine
from tests.emit.harness import lowered, parsed, pointer

HEADER = Path(__file__).parents[2] / "runtime_c" / "include" / "pptc_kernel.h"

KERNEL = """
  func.func @mix(%x: memref<?xf32>, %a: f32, %y: memref<?xf64>, %b: i32, %flag: i1, %half: bf16, %wide: f64,
                 %byte: i8, %idx: i32, %num: i64, %scratch: memref<?xi8>)
      attributes {tile.scratch_bytes = SIZE : i64, arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {},
                  {pto.spmd = "block_idx"}, {pto.spmd = "block_num"}]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = arith.index_cast %idx : i32 to index
    %b_float = arith.sitofp %b : i32 to f32
    %half_wide = arith.extf %half : bf16 to f32
    %byte_float = arith.sitofp %byte : i8 to f32
    %flag_float = arith.uitofp %flag : i1 to f32
    %s0 = arith.addf %a, %b_float : f32
    %s1 = arith.addf %s0, %half_wide : f32
    %s2 = arith.addf %s1, %byte_float : f32
    %s3 = arith.addf %s2, %flag_float : f32
    %room = memref.view %scratch[%c0] : memref<?xi8> to memref<?xf32>
    memref.store %s3, %room[%c1] : memref<?xf32>
    %back = memref.load %room[%c1] : memref<?xf32>
    memref.store %back, %x[%i] : memref<?xf32>
    %n = arith.sitofp %num : i64 to f64
    %total = arith.addf %wide, %n : f64
    memref.store %total, %y[%i] : memref<?xf64>
    return
  }
"""


class Args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("version", ctypes.c_uint32), ("pointers", ctypes.c_void_p),
        ("scalars", ctypes.c_void_p), ("symbols", ctypes.c_void_p), ("scratch", ctypes.c_void_p),
        ("fault", ctypes.c_void_p), ("services", ctypes.c_void_p),
    ]  # fmt: skip


class Group(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("worker", ctypes.c_uint32), ("block_begin", ctypes.c_uint64),
        ("block_end", ctypes.c_uint64), ("block_count", ctypes.c_uint64),
    ]  # fmt: skip


def section_of(text: str, **options: object) -> Section:
    machine = load_machine("x86-64")
    section = emit_module(lowered(text, machine), machine, EmitOptions(**options))  # type: ignore[arg-type]
    assert isinstance(section, Section)
    return section


def opened(section: Section, tmp_path: Path) -> ctypes.CDLL:
    """All symbols of the section, the hidden entries too."""
    names = [name for kernel in section.kernels for name in (*kernel.exports, kernel.entry)]
    path = tmp_path / "kernel.so"
    path.write_bytes(link_shared([section.payload], names).data)
    return ctypes.CDLL(str(path))


SCALARS = (2.5, 7, True, 0x3FC0, 0.25, -3)  # a, b, flag, half (1.5), wide, byte


def plain_arguments(x: np.ndarray, y: np.ndarray, block: int, blocks: int) -> list[object]:
    a, b, flag, half, wide, byte = SCALARS
    return [
        pointer(x), ctypes.c_float(a), pointer(y), ctypes.c_int32(b), ctypes.c_bool(flag), ctypes.c_uint16(half),
        ctypes.c_double(wide), ctypes.c_int8(byte), ctypes.c_int32(block), ctypes.c_int64(blocks),
    ]  # fmt: skip


TOTAL = 2.5 + 7 + 1 + 1.5 - 3


def test_plain_symbols_take_their_arguments_as_c_passes_them(tmp_path):
    library = opened(section_of(KERNEL.replace("SIZE", "4096")), tmp_path)
    x, y = np.zeros(4, "f4"), np.zeros(4, "f8")
    library.mix(*plain_arguments(x, y, 2, 9))
    assert list(x) == [0, 0, TOTAL, 0] and list(y) == [0, 0, 9.25, 0]
    library.mix_scratch_bytes.restype = ctypes.c_size_t
    assert library.mix_scratch_bytes() == 4096
    scratch = np.zeros(4096 + 64, "u1")
    aligned = scratch[-scratch.ctypes.data % 64 :]
    library.mix_ws(*plain_arguments(x, y, 0, 1), pointer(aligned))
    assert x[0] == TOTAL and y[0] == 1.25
    assert aligned[:8].view("f4")[1] == TOTAL


def test_the_library_entry_runs_the_blocks_of_a_group(tmp_path):
    section = section_of(KERNEL.replace("SIZE", "4096"))
    assert section.kernels[0].entry == "mix.kernel"
    library = opened(section, tmp_path)
    x, y, scratch = np.zeros(8, "f4"), np.zeros(8, "f8"), np.zeros(4096 + 64, "u1")
    slots = np.zeros(6, "u8")
    a, b, flag, half, wide, byte = SCALARS
    for place, value in enumerate(
        (np.float32(a), np.int32(b), np.uint8(flag), np.uint16(half), np.float64(wide), np.int8(byte))
    ):
        raw = np.frombuffer(value.tobytes(), "u1")
        slots[place : place + 1].view("u1")[: len(raw)] = raw
    slots[2] |= 0xAB00  # what stands above the low bytes is not looked at
    slots[5] |= 0x1100
    pointers = np.array([x.ctypes.data, y.ctypes.data], "u8")
    aligned = scratch[-scratch.ctypes.data % 64 :]
    args = Args(56, 1, pointers.ctypes.data, slots.ctypes.data, None, aligned.ctypes.data, None, None)
    group = Group(32, 0, 2, 5, 7)
    library["mix.kernel"](ctypes.byref(args), ctypes.byref(group))
    assert list(x) == [0, 0, TOTAL, TOTAL, TOTAL, 0, 0, 0]
    assert list(y) == [0, 0, 7.25, 7.25, 7.25, 0, 0, 0]
    empty = Group(32, 0, 5, 5, 7)
    x[:] = 0
    library["mix.kernel"](ctypes.byref(args), ctypes.byref(empty))
    assert not x.any()


def test_large_scratch_is_the_callers(tmp_path):
    section = section_of(KERNEL.replace("SIZE", str(STACK_SCRATCH_BYTES + 1)))
    assert section.kernels[0].exports == ("mix_ws", "mix_scratch_bytes")
    assert section.kernels[0].scratch_bytes == STACK_SCRATCH_BYTES + 1
    fits = section_of(KERNEL.replace("SIZE", str(STACK_SCRATCH_BYTES)))
    assert fits.kernels[0].exports == ("mix", "mix_ws", "mix_scratch_bytes")
    x, y = np.zeros(4, "f4"), np.zeros(4, "f8")
    opened(fits, tmp_path).mix(*plain_arguments(x, y, 1, 1))
    assert x[1] == TOTAL


def test_constants_agree_with_the_header():
    text = HEADER.read_text()
    found = re.search(r"PPT_STACK_SCRATCH_BYTES (\d+)u", text)
    assert found is not None and int(found[1]) == STACK_SCRATCH_BYTES


def test_the_prefix_goes_before_every_symbol(tmp_path):
    section = section_of(KERNEL.replace("SIZE", "0"), symbol_prefix="app_")
    (kernel,) = section.kernels
    assert kernel.name == "mix" and kernel.entry == "app_mix.kernel"
    assert kernel.exports == ("app_mix", "app_mix_ws", "app_mix_scratch_bytes")
    library = opened(section, tmp_path)
    assert library.app_mix_scratch_bytes() == 0


GRID = """
  func.func @grid(%x: memref<?xi64>) {
    %i = pto.get_block_idx
    %n = pto.get_block_num
    %at = arith.index_cast %i : i64 to index
    memref.store %n, %x[%at] : memref<?xi64>
    return
  }
"""


def test_kernels_that_ask_for_their_place_get_it(tmp_path):
    library = opened(section_of(GRID), tmp_path)
    x = np.zeros(4, "i8")
    library.grid(pointer(x))
    assert list(x) == [1, 0, 0, 0]
    pointers = np.array([x.ctypes.data], "u8")
    args = Args(56, 1, pointers.ctypes.data, None, None, None, None, None)
    library["grid.kernel"](ctypes.byref(args), ctypes.byref(Group(32, 0, 1, 3, 3)))
    assert list(x) == [1, 3, 3, 0]


def test_two_kernels_with_one_symbol_are_refused():
    text = "func.func @f(%n: i32) { return }\nfunc.func @f_ws(%n: i32) { return }"
    with pytest.raises(CompileError) as caught:
        kernel_codes(parsed(text))
    assert [d.code for d in caught.value.sink] == ["P0104"]
