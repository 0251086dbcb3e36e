"""Signatures of kernels: arguments, directions, roles, and which arrays may be one."""

from __future__ import annotations

import pytest

from pptc.diag import CompileError, Sink, Source
from pptc.ir.core import Op
from pptc.ir.signature import KernelSignature, kernels, signatures
from pptc.parser import parse

TILE = "!pto.tile_buf<vec, 8x16xf32>"
VIEW, PART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<8x16xf32>"


def module_of(text: str) -> Op:
    sink = Sink()
    module = parse(Source("k.pto", text), sink)
    sink.check()
    return module


def kernel(body: str, arguments: str = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index") -> KernelSignature:
    text = f"""module {{
      func.func @k({arguments}) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %c16 = arith.constant 16 : index
        %vx = pto.make_tensor_view %x, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}
        %vy = pto.make_tensor_view %y, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}
        %a = pto.alloc_tile : {TILE}
        %b = pto.alloc_tile : {TILE}
        {body}
        return
      }}
    }}"""
    (found,) = signatures(module_of(text))
    return found


def window(name: str, view: str, row: str) -> str:
    return f"%{name} = pto.partition_view %{view}, offsets = [{row}, %c0], sizes = [%c8, %c16] : {VIEW} -> {PART}\n"


def load(part: str, tile: str) -> str:
    return f"pto.tload ins(%{part} : {PART}) outs(%{tile} : {TILE})\n"


def store(tile: str, part: str) -> str:
    return f"pto.tstore ins(%{tile} : {TILE}) outs(%{part} : {PART})\n"


EXP = f"pto.texp ins(%a : {TILE}) outs(%b : {TILE})\n"


def loop(body: str, step: str = "%c8", upper: str = "%n", counter: str = "i") -> str:
    return f"scf.for %{counter} = %c0 to {upper} step {step} {{\n{body}}}\n"


def row(offset: str) -> str:
    """One trip: load a window of x, exp, store it to the same window of y."""
    return window("px", "vx", offset) + window("py", "vy", offset) + load("px", "a") + EXP + store("b", "py")


# ---------------------------------------------------------------- what a caller sees


def test_directions_come_from_the_accesses() -> None:
    found = kernel(row("%c0"))
    assert [(a.name, a.kind, a.dtype.name, a.reads, a.writes) for a in found.arguments] == [
        ("x", "pointer", "f32", True, False),
        ("y", "pointer", "f32", False, True),
        ("n", "scalar", "index", False, False),
    ]
    both = kernel(window("px", "vx", "%c0") + load("px", "a") + EXP + store("b", "px"))
    assert [(a.reads, a.writes) for a in both.arguments[:2]] == [(True, True), (False, False)]


def test_directions_through_pointer_arithmetic_and_branches() -> None:
    body = f"""%moved = pto.addptr %x, %c16 : !pto.ptr<f32> -> !pto.ptr<f32>
      %v = pto.make_tensor_view %moved, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}
      %some = arith.cmpi slt, %n, %c8 : index
      {window("p", "v", "%c0")}
      scf.if %some {{ {load("p", "a")} }} else {{ {store("a", "p")} }}
    """
    assert [(a.reads, a.writes) for a in kernel(body).arguments[:2]] == [(True, True), (False, False)]


def test_spmd_arguments_have_roles() -> None:
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index, %__pypto_spmd_block_idx: i32, %__pypto_spmd_block_num: i32"
    found = kernel("", arguments)
    assert [a.role for a in found.arguments] == ["", "", "", "block_idx", "block_num"]
    assert found.uses_grid and [a.name for a in found.passed] == ["x", "y", "n"]
    assert not kernel("").uses_grid
    assert kernel("%block = pto.get_block_idx\n").uses_grid


def test_kernels_of_a_module() -> None:
    public = "func.func @a() { return }\nfunc.func @b() { return }\n"
    private = "func.func private @c(%x: index) -> index { return %x : index }\n"
    names = [f.attributes["sym_name"] for f in kernels(module_of(f"module {{ {public}{private} }}"))]
    assert names == ["a", "b"]
    entry = "func.func @d() attributes {pto.entry} { return }\n"
    names = [f.attributes["sym_name"] for f in kernels(module_of(f"module {{ {public}{private}{entry} }}"))]
    assert names == ["d"]


def test_an_argument_that_no_caller_has() -> None:
    with pytest.raises(CompileError, match="neither a pointer nor a scalar"):
        signatures(module_of(f"module {{ func.func @k(%t: {TILE}) {{ return }} }}"))


def test_a_result_that_no_caller_gets() -> None:
    with pytest.raises(CompileError, match="returns a value"):
        signatures(module_of("module { func.func @k(%n: i32) -> i32 { return %n : i32 } }"))


# ---------------------------------------------------------------- in place


IN_PLACE = {
    "one window": row("%c0"),
    "rows apart": loop(row("%i")),
    "rows far apart": loop(row("%i"), step="%c16"),
    "rows by a product": loop("%r = arith.muli %i, %c8 : index\n" + row("%r"), step="%c1"),
    "loads in a branch": loop(
        window("px", "vx", "%i") + window("py", "vy", "%i") + "%few = arith.cmpi slt, %i, %c8 : index\n"
        "scf.if %few {\n" + load("px", "a") + "}\n" + EXP + store("b", "py")
    ),
}  # fmt: skip

NOT_IN_PLACE = {
    "rows overlap": loop(row("%i"), step="%c4"),
    "the same window again": loop(row("%c0")),
    "inner loop does not move": loop(loop(row("%i"), counter="j")),
    "two loops along one dimension": loop(
        loop("%r = arith.addi %i, %j : index\n" + row("%r"), counter="j")
    ),
    "another window": loop(
        "%o = arith.addi %i, %c8 : index\n" + window("px", "vx", "%o") + window("py", "vy", "%i")
        + load("px", "a") + EXP + store("b", "py")
    ),
    "stored before loaded": loop(
        window("px", "vx", "%i") + window("py", "vy", "%i") + EXP + store("b", "py") + load("px", "a")
    ),
    "columns are mixed": loop(
        window("px", "vx", "%i") + window("py", "vy", "%i") + load("px", "a")
        + f"pto.tcolexpand ins(%a : {TILE}) outs(%b : {TILE})\n"
        + "%t = pto.treshape %a : !pto.tile_buf<vec, 8x16xf32> -> !pto.tile_buf<vec, 16x8xf32>\n" + store("b", "py")
    ),
    "moved pointer": f"""%moved = pto.addptr %x, %c16 : !pto.ptr<f32> -> !pto.ptr<f32>
        %v = pto.make_tensor_view %moved, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}
        """ + window("px", "v", "%c0") + window("py", "vy", "%c0") + load("px", "a") + EXP + store("b", "py"),
    "other strides": f"%v = pto.make_tensor_view %x, shape = [%n, %c16], strides = [%c8, %c1] : {VIEW}\n"
        + window("px", "v", "%c0") + window("py", "vy", "%c0") + load("px", "a") + EXP + store("b", "py"),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_PLACE)
def test_in_place(what: str) -> None:
    assert kernel(IN_PLACE[what]).in_place == ((1, 0),)


@pytest.mark.parametrize("what", NOT_IN_PLACE)
def test_not_in_place(what: str) -> None:
    assert kernel(NOT_IN_PLACE[what]).in_place == ()


def test_blocks_of_a_grid_must_move() -> None:
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index, %__pypto_spmd_block_idx: i32"
    cast = "%block = arith.index_cast %__pypto_spmd_block_idx : i32 to index\n"
    moved = cast + "%r = arith.muli %block, %c8 : index\n" + row("%r")
    assert kernel(moved, arguments).in_place == ((1, 0),)
    assert kernel(cast + row("%c0"), arguments).in_place == ()
    assert kernel(cast + row("%block"), arguments).in_place == ()
    through_op = "%block = pto.get_block_idx\n%wide = arith.index_cast %block : i64 to index\n"
    assert kernel(through_op + "%r = arith.muli %wide, %c8 : index\n" + row("%r")).in_place == ((1, 0),)
    assert kernel(through_op + row("%c0")).in_place == ()


def test_other_element_type() -> None:
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<i32>, %n: index"
    assert kernel(row("%c0"), arguments).in_place == ((1, 0),)
