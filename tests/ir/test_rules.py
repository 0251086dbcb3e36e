"""What the tile rows refuse, and what they must not refuse because passes make it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pptc.diag import Sink
from pptc.ir.chip import check_chip
from pptc.ir.core import Op
from tests.ir.kernels import Kernel

COLUMN = {"blayout": "col_major"}
NZ = {"blayout": "col_major", "slayout": "row_major"}
ACC = {**NZ, "fractal": 1024}
ZN = {"slayout": "col_major"}
ZZ = {"slayout": "row_major"}


def problems(module: Op) -> list[str]:
    """The codes that the rows' rules give, over the whole module."""
    return [problem.code for op in module.walk() for rule in op.definition.rules for problem in rule(op)]


def binary(a: str, b: str, c: str, op: str = "pto.tadd") -> Kernel:
    k = Kernel()
    k.op(op, [k.tile(a), k.tile(b)], k.tile(c))
    return k


def unary(op: str, source: str, target: str, **options: object) -> Kernel:
    """Both tiles have the options."""
    k = Kernel()
    k.op(op, [k.tile(source, **options)], k.tile(target, **options))  # type: ignore[arg-type]
    return k


def product(a: str, b: str, c: str, op: str = "pto.tmatmul") -> Kernel:
    k = Kernel()
    k.op(op, [k.tile(a, "left", **ZZ), k.tile(b, "right", **ZN)], k.tile(c, "acc", **ACC))
    return k


def with_window(source: str, target: str, sizes: str, **options: object) -> Kernel:
    k = Kernel()
    t, zero = k.tile(source, **options), k.const(0)  # type: ignore[arg-type]
    k.value(f"pto.subview {t}[{zero}, {zero}] sizes {sizes} : {k.types[t]} -> {target}", target)
    return k


def reshaped(source: str, target: str, op: str = "pto.treshape", **options: object) -> Kernel:
    k = Kernel()
    t = k.tile(source, **options)  # type: ignore[arg-type]
    k.value(f"{op} {t} : {k.types[t]} -> {target}", target)
    return k


def moved(source: str, space: str, target: str, to: str) -> Kernel:
    k = Kernel()
    k.op("pto.tmov", [k.tile(source, space)], k.tile(target, to))
    return k


def transfer(
    shape: list[int], tile: str, op: str = "pto.tload", elem: str = "f32", **options: object
) -> Kernel:
    k = Kernel(x=f"*{elem}")
    part, t = k.view("%x", shape), k.tile(tile, **options)  # type: ignore[arg-type]
    k.op(op, *(([part], t) if op == "pto.tload" else ([t], part)))
    return k


def raw(text: str, **arguments: str) -> Kernel:
    k = Kernel(**arguments)
    k.line(text)
    return k


REFUSED: dict[str, tuple[Callable[[], Kernel], str]] = {
    "elements differ": (lambda: binary("4x8xf32", "4x8xf32", "4x8xf16"), "P0204"),
    "regions differ": (lambda: binary("4x8xf32", "4x4xf32", "4x8xf32"), "P0205"),
    "element without meaning": (lambda: unary("pto.texp", "4x8xi32", "4x8xi32"), "P0216"),
    "bits of floats": (lambda: binary("4x8xf32", "4x8xf32", "4x8xf32", "pto.tand"), "P0216"),
    "boxed element work": (lambda: unary("pto.tneg", "32x16xf32", "32x16xf32", **NZ), "P0210"),
    "space of element work": (lambda: unary("pto.tneg", "4x8xf32", "4x8xf32", space="mat"), "P0209"),
    "rows of a row sum": (lambda: unary("pto.trowsum", "4x8xf32", "8x1xf32"), "P0205"),
    "columns of a row sum": (lambda: unary("pto.trowsum", "4x8xf32", "4x8xf32"), "P0205"),
    "rows of a column sum": (lambda: unary("pto.tcolmax", "4x8xf32", "4x8xf32"), "P0205"),
    "rows of a row expansion": (lambda: binary("4x8xf32", "8x1xf32", "4x8xf32", "pto.trowexpandmul"), "P0205"),
    "columns of a column expansion": (lambda: binary("4x8xf32", "1x16xf32", "4x8xf32", "pto.tcolexpandmul"), "P0205"),
    "two tiles of tdivs": (lambda: binary("4x8xf32", "4x8xf32", "4x8xf32", "pto.tdivs"), "P0203"),
    "inner extents": (lambda: product("16x64xf16", "32x32xf16", "16x32xf32"), "P0205"),
    "rows of the product": (lambda: product("16x64xf16", "64x32xf16", "32x32xf32"), "P0205"),
    "columns of the product": (lambda: product("16x64xf16", "64x32xf16", "16x16xf32"), "P0205"),
    "accumulator's element": (lambda: product("16x64xf16", "64x32xf16", "16x32xf16"), "P0216"),
    "mixed factors": (lambda: product("16x64xf16", "64x32xbf16", "16x32xf32"), "P0216"),
    "rows of a gemv": (lambda: product("16x64xf16", "64x32xf16", "16x32xf32", "pto.tgemv"), "P0205"),
    "transfer of another shape": (lambda: transfer([4, 8], "4x16xf32"), "P0205"),
    "transfer of another element": (lambda: transfer([4, 8], "4x8xf16"), "P0204"),
    "store that rounds": (lambda: transfer([4, 8], "4x8xf32", "pto.tstore", "f16"), "P0204"),
    "store of left": (lambda: transfer([16, 8], "16x8xf32", "pto.tstore", space="left", **ZZ), "P0209"),
    "move from vec to left": (lambda: moved("4x8xf32", "vec", "4x8xf32", "left"), "P0209"),
    "move that converts": (lambda: moved("4x8xf32", "vec", "4x8xf16", "vec"), "P0204"),
    "window of other sizes": (lambda: with_window("8x16xf32", "!pto.tile_buf<vec, 4x8xf32>", "[4, 4]"), "P0205"),
    "window too large": (lambda: with_window("8x16xf32", "!pto.tile_buf<vec, 16x8xf32>", "[16, 8]"), "P0218"),
    "window of another element": (lambda: with_window("8x16xf32", "!pto.tile_buf<vec, 4x8xi32>", "[4, 8]"), "P0201"),
    "window of another layout": (
        lambda: with_window("8x16xf32", "!pto.tile_buf<vec, 4x8xf32, blayout=col_major>", "[4, 8]"), "P0210",
    ),
    "half a box": (
        lambda: with_window("32x16xf32", "!pto.tile_buf<mat, 8x16xf32, blayout=col_major, slayout=row_major>", "[8, 16]", space="mat", **NZ),
        "P0210",
    ),
    "reshape of other bytes": (lambda: reshaped("4x8xf32", "!pto.tile_buf<vec, 4x16xf32>"), "P0205"),
    "reshape into another space": (lambda: reshaped("4x8xf32", "!pto.tile_buf<mat, 4x8xf32>"), "P0209"),
    "reshape of boxes": (lambda: reshaped("16x8xf32", "!pto.tile_buf<mat, 16x8xf32>", space="mat", **NZ), "P0210"),
    "static valid region": (
        lambda: raw("%t = pto.alloc_tile : !pto.tile_buf<vec, 4x8xf32>\n%c = arith.constant 1 : index\n"
                    "pto.set_validshape %t, %c, %c : !pto.tile_buf<vec, 4x8xf32>"), "P0213",
    ),
    "valid_row missing": (lambda: raw("%t = pto.alloc_tile : !pto.tile_buf<vec, 4x8xf32, valid=?x8>"), "P0213"),
    "valid_row too much": (
        lambda: raw("%t = pto.alloc_tile valid_row = %n : !pto.tile_buf<vec, 4x8xf32>", n="index"), "P0213",
    ),
    "part of a box": (lambda: raw("%t = pto.alloc_tile : !pto.tile_buf<mat, 24x8xf32, blayout=col_major, slayout=row_major>"), "P0214"),
    "strides missing": (
        lambda: raw("%v = pto.make_tensor_view %x, shape = [%n, %n], strides = [%n] : !pto.tensor_view<?x?xf32>", x="*f32", n="index"),
        "P0202",
    ),
    "view of another element": (
        lambda: raw("%v = pto.make_tensor_view %x, shape = [%n], strides = [%n] : !pto.tensor_view<?xf16>", x="*f32", n="index"),
        "P0204",
    ),
    "value of another element": (lambda: raw("pto.store_scalar %v, %x[%n] : !pto.ptr<f32>, i32", v="i32", x="*f32", n="index"), "P0204"),
    "unknown stage": (
        lambda: raw("pto.record_event[#pto.pipe_event_type<TLUNCH>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]"), "P0207",
    ),
}  # fmt: skip


def dynamic(source: str, target: str) -> Kernel:
    k = Kernel(n="index")
    type = f"!pto.tile_buf<vec, {source}>"
    k.op("pto.tneg", [k.value(f"pto.alloc_tile valid_row = %n : {type}", type)], k.tile(target))
    return k


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make, code = REFUSED[name]
    assert code in problems(make().module())


ACCEPTED: dict[str, Callable[[], Kernel]] = {
    "equal tiles": lambda: binary("4x8xf32", "4x8xf32", "4x8xf32"),
    "unknown extents": lambda: dynamic("4x8xf32, valid=?x8", "4x8xf32"),
    "one-row strip": lambda: unary("pto.trowmax", "1x3xf32", "1x1xf32"),
    "row vectors in either layout": lambda: unary("pto.tneg", "8x1xf32", "8x1xf32", **COLUMN),
    "a block per row": lambda: binary("4x8xf32", "4x8xf32", "4x8xf32", "pto.trowexpandadd"),
    "load into left": lambda: transfer([16, 8], "16x8xf32", space="left", **ZZ),
    "rounding store of acc": lambda: transfer(
        [16, 16], "16x16xf32", "pto.tstore", "bf16", space="acc", **ACC
    ),
    "rows of several dimensions": lambda: transfer([2, 3, 8], "6x8xf32"),
    "one row of a vector": lambda: transfer([8], "1x8xf32"),
    "physical shapes may differ": lambda: binary("4x16xf32, valid=4x8", "8x8xf32, valid=4x8", "4x8xf32"),
    "one row of boxes": lambda: product("1x64xf16", "64x32xf16", "1x32xf32", "pto.tgemv"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    assert problems(ACCEPTED[name]().module()) == []


# ---------------------------------------------------------------- the chip


def findings(
    k: Kernel, strict: bool = False, arch: str | None = None, attributes: str = ""
) -> list[tuple[str, str]]:
    sink = Sink()
    check_chip(k.module(attributes), sink, arch, strict)
    return [(found.code, found.severity) for found in sink]


def tiles(*shapes: str, addr: int | None = None, space: str = "vec") -> Kernel:
    k = Kernel()
    for shape in shapes:
        k.tile(shape, space, addr)
    return k


def test_chip_capacities() -> None:
    large = tiles("256x256xf32")
    assert findings(large) == [("W0001", "warning")]
    assert findings(large, strict=True) == [("P0215", "error")]
    assert findings(large, attributes='pto.target_arch = "a5"') == []
    assert findings(large, attributes='pto.target_arch = "a5"', arch="a3") == [("W0001", "warning")]
    assert findings(tiles("64x256xf32", addr=196608 - 65536)) == []
    assert findings(tiles("64x256xf32", addr=196608 - 65504)) == [("W0001", "warning")]
    assert findings(tiles("64x256xf32", addr=196608, space="mat")) == []


def test_chip_alignment() -> None:
    assert findings(tiles("4x8xf32", addr=16)) == [("W0003", "warning")]
    assert findings(tiles("4x4xf32"), strict=True) == [("P0214", "error")]
    k = Kernel()
    k.tile("8x1xf32", **COLUMN)
    k.tile("16x8xf32", "mat", **NZ)
    assert findings(k) == []


FLAG = "[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"
OTHER = "[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID1>]"
EVENT = "[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]"


@pytest.mark.parametrize(
    ("lines", "lone"),
    [
        ((f"set_flag{FLAG}", f"wait_flag{FLAG}"), 0),
        ((f"set_flag{FLAG}", f"wait_flag{OTHER}"), 2),
        ((f"wait_flag{FLAG}", f"wait_flag{FLAG}"), 1),
        ((f"record_event{EVENT}", f"wait_event{EVENT}"), 0),
        ((f"record_event{EVENT}", f"wait_flag{FLAG}"), 0),  # the same pipes and id
        ((f"record_event{EVENT}",), 1),
    ],
)
def test_flags_have_partners(lines: tuple[str, ...], lone: int) -> None:
    k = Kernel()
    for line in lines:
        k.line(f"pto.{line}")
    assert findings(k) == [("W0005", "warning")] * lone
    assert findings(k, strict=True) == [("P0604", "error")] * lone


def test_one_level_per_kernel() -> None:
    k = tiles("8x8xf32", addr=0)
    k.tile("8x8xf32")
    assert findings(k) == [("P0211", "error")]
    private = tiles("8x8xf32", addr=0)
    private.line("%t = pto.alloc_tile {tile.private} : !pto.tile_buf<vec, 8x2xf32>")
    assert findings(private) == []
