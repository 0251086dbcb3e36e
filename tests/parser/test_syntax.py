"""The textual surface: what different spellings mean, and that they mean the same."""

from __future__ import annotations

import re

import pytest

from pptc.diag import Sink, Source, UserLocation
from pptc.ir.attrs import ArrayAttr, Attr, DictAttr, EnumAttr, FloatAttr, IntAttr, ListAttr, TypeAttr
from pptc.ir.compare import difference
from pptc.ir.core import Op, functions
from pptc.ir.types import F32, F64, I32, I64, INDEX, FunctionType, MemRefType, PtrType, TileType, VectorType
from pptc.parser import parse


def read(text: str, arch: str | None = None) -> Op:
    sink = Sink()
    module = parse(Source("t.pto", text), sink, arch)
    assert module is not None and not list(sink), [
        (f.code, f.message, f.span and f.span.position) for f in sink
    ]
    return module


def body(*lines: str, arguments: str = "") -> list[Op]:
    """The ops of a function with these statements."""
    text = "\n".join(lines)
    return list(read(f"module {{\n func.func @f({arguments}) {{\n{text}\n return\n }}\n}}").body.first.body)  # type: ignore[union-attr]


def same(a: str, b: str) -> None:
    assert difference(read(a), read(b)) is None


def test_keyed_and_compact_tiles_are_one_type() -> None:
    keyed = "!pto.tile_buf<loc=acc, dtype=f32, rows=16, cols=32, v_row=?, v_col=7, blayout=col_major, slayout=row_major, fractal=1024, pad=3, compact=2>"
    compact = "!pto.tile_buf<acc, 16x32xf32, compact=2, pad=3, fractal=1024, slayout=row_major, blayout=col_major, valid=?x7>"
    spaced = keyed.replace("=", " = ").replace(",", " ,\n")
    types = [body(f"%t = pto.alloc_tile : {text}")[0].result.type for text in (keyed, compact, spaced)]
    assert types == [TileType("acc", F32, 16, 32, None, 7, "col_major", "row_major", 1024, 3, 2)] * 3


@pytest.mark.parametrize("end", ["\r\n", " \t", "\r\n// last\r\n"])
def test_white_space_of_any_kind_ends_a_text(end: str) -> None:
    text = "module {\n func.func @f() {\n return\n }\n}"
    same(text, text.replace("\n", "\r\n") + end)


@pytest.mark.parametrize(
    ("module_arch", "option", "layout"),
    [("a2a3", None, "row_major"), ("a3", None, "row_major"), ("a5", None, "col_major"), ("a2a3", "a5", "col_major"),
     ("a5", "a3", "row_major"), (None, None, "col_major"), (None, "a2", "row_major")],
)  # fmt: skip
def test_the_architecture_forces_the_layout_of_left(
    module_arch: str | None, option: str | None, layout: str
) -> None:
    attributes = f'attributes {{pto.target_arch = "{module_arch}"}} ' if module_arch else ""
    tile = "!pto.tile_buf<{}, 16x16xf16, blayout=col_major, slayout=row_major>"
    text = f"module {attributes}{{ func.func @f(%l: {tile.format('left')}, %m: {tile.format('mat')}) {{ return }} }}"
    (function,) = functions(read(text, option))
    left, mat = (argument.type for argument in function.body.args)
    assert isinstance(left, TileType) and left.blayout == layout
    assert isinstance(mat, TileType) and mat.blayout == "col_major"


def test_architectures_of_nested_modules_end_with_them() -> None:
    tile = "!pto.tile_buf<left, 16x16xf16, slayout=row_major>"
    inner = "module {} {{ func.func @{}(%l: {}) {{ return }} }}\n"
    text = (
        "module {\n"
        + inner.format('attributes {pto.target_arch = "a5"}', "a", tile)
        + inner.format("", "b", tile)
        + "}"
    )
    layouts = [f.body.args[0].type.blayout for f in functions(read(text))]  # type: ignore[attr-defined]
    assert layouts == ["col_major", "row_major"]


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        ('"tile.load"', UserLocation("tile.load", 0, 0)),
        ('"k.py":12:8', UserLocation("k.py", 12, 8)),
        ('"tile.load"("k.py":12:8)', UserLocation("k.py", 12, 8)),
        ('fused["a", "k.py":1:2, "b.py":3:4]', UserLocation("k.py", 1, 2)),
        ('fused<"why">["a", "b"]', UserLocation("a", 0, 0)),
        ('callsite("f"("k.py":5:6) at "main.py":7:8)', UserLocation("k.py", 5, 6)),
        ("#there", UserLocation("lib.py", 9, 9)),
        ("fused[#there]", UserLocation("lib.py", 9, 9)),
        ('"a // b loc(unknown)"', UserLocation("a // b loc(unknown)", 0, 0)),
        ("unknown", None),
    ],
)  # fmt: skip
def test_locations(loc: str, expected: UserLocation | None) -> None:
    text = f'module {{ func.func @f() {{ %c = arith.constant 1 : i32 loc({loc})\n return }} }} loc("end")\n#there = loc("lib.py":9:9)'
    module = read(text)
    assert module.loc == UserLocation("end", 0, 0)
    assert next(functions(module)).body.first.loc == expected  # type: ignore[union-attr]


def test_generic_and_pretty_forms_are_one() -> None:
    pretty = """module {
      func.func private @g(%x: i32, %n: index) -> i32 attributes {no_inline} {
        %r = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (i32) {
          %b = arith.addi %a, %x : i32
          scf.yield %b : i32
        }
        %c = arith.cmpi slt, %r, %x : i32
        return %r : i32
      }
    }"""
    generic = """"builtin.module"() ({
      "func.func"() <{function_type = (i32, index) -> i32, sym_name = "g", sym_visibility = "private"}> ({
      ^bb0(%x: i32, %n: index):
        %r = "scf.for"(%n, %n, %n, %x) ({
        ^bb0(%i: index, %a: i32):
          %b = "arith.addi"(%a, %x) : (i32, i32) -> i32
          "scf.yield"(%b) : (i32) -> ()
        }) : (index, index, index, i32) -> i32
        %c = "arith.cmpi"(%r, %x) <{predicate = 2 : i64}> : (i32, i32) -> i1
        "func.return"(%r) : (i32) -> ()
      }) {no_inline} : () -> ()
    }) : () -> ()"""
    same(pretty, generic)


def test_line_breaks_and_comments_mean_nothing() -> None:
    text = """module {
      func.func @f(%p: !pto.ptr<f32>, %n: index) {
        %v = pto.make_tensor_view %p, shape = [%n], strides = [%n] {layout = #pto.layout<nd>} : !pto.tensor_view<?xf32>
        return
      }
    }"""
    tokens = re.findall(r"![\w.]+<[^>]*>|#[\w.]+<[^>]*>|%[\w]+ =|[@%]?[\w.]+|[^\s\w]", text)
    same(text, " // a, = b { %c = d\n".join(tokens))


def test_function_attributes_and_arguments() -> None:
    (function,) = functions(read(
        'module { func.func private @f(%x: i32 {a.b = "c"} loc("x"), %__pypto_spmd_block_idx: i32,'
        " %__pypto_spmd_subblock_idx: i32) -> (i32, index) attributes {pto.entry, k = 1} { return %x, %i : i32, index } }"
        .replace("{ return", "{ %i = arith.constant 0 : index return")
    ))  # fmt: skip
    attributes = function.attributes
    assert attributes["sym_name"] == "f" and attributes["sym_visibility"] == "private"
    assert attributes["function_type"] == TypeAttr(FunctionType((I32, I32, I32), (I32, INDEX)))
    spmd: list[Attr] = [DictAttr((("pto.spmd", word),)) for word in ("block_idx", "subblock_idx")]
    assert attributes["arg_attrs"] == ListAttr((DictAttr((("a.b", "c"),)), *spmd))
    assert [value.name for value in function.body.args][:1] == ["x"]
    (plain,) = functions(read("module { func.func @g(%x: i32) { return } }"))
    assert "arg_attrs" not in plain.attributes


def test_top_level_functions_and_several_modules_get_a_module_around() -> None:
    for text in (
        "func.func @f() { return }",
        "module { }\n// -----\nmodule { }",
        "module @a { }\nfunc.func @f() { return }",
    ):
        assert read(text).name == "builtin.module"
    assert len(list(read("module { }\n// -----\nmodule { }").body)) == 2


def test_aliases_may_stand_behind_and_name_each_other() -> None:
    module = read(
        'module attributes {a = #a} { func.func @f(%x: !t) { return } }\n#a = [#b, 2]\n#b = "s"\n!t = !u\n!u = f32'
    )
    assert module.attributes["a"] == ListAttr(("s", IntAttr(2)))
    assert next(functions(module)).body.args[0].type == F32


def test_enums_in_the_text_take_three_spellings() -> None:
    ops = body("pto.barrier <PIPE_ALL>", "pto.barrier #pto.pipe<PIPE_ALL>", 'pto.barrier "PIPE_ALL"')
    assert {tuple(op.attributes.items()) for op in ops[:3]} == {(("pipe", EnumAttr("pipe", "PIPE_ALL")),)}


def test_numbers() -> None:
    ops = body(
        "%a = arith.constant 0xFF800000 : f32",
        "%b = arith.constant -3.40282346638528860e+38 : f32",
        "%c = arith.constant 4294967295 : i32",
        "%d = arith.constant 007 : i64",
        "%e = arith.constant 1. : f64",
        "%f = arith.constant dense<[1, -2, 0x7F]> : vector<3xi8>",
        "%g = arith.constant true",
        "%h = arith.constant 1 : i1",
    )
    values = [op.attributes["value"] for op in ops[:8]]
    assert values[:5] == [
        FloatAttr(0xFF800000, F32), FloatAttr(0xFF7FFFFF, F32), IntAttr(-1, I32), IntAttr(7, I64),
        FloatAttr(0x3FF0000000000000, F64),
    ]  # fmt: skip
    assert [item.value for item in values[5].values] == [1, -2, 127]  # type: ignore[union-attr]
    assert values[6] is True and values[7] is True


def test_types_of_every_family() -> None:
    ops = body(
        arguments="%a: !pto.ptr<f32, ub>, %b: memref<32x32xf16, strided<[32, 1], offset: ?>, #pto.address_space<vec>>,"
        " %c: vector<[4]xf32>, %d: !pto.eventid_array<8>, %e: !pto.struct<i32, !pto.struct<f32, index>>, %f: !pto.pipe,"
        " %g: !pto.multi_tile_buf<vec, 8x64xf32, pad=1, count=4>,"
        " %h: !pto.multi_tile_buf<!pto.tile_buf<vec, 8x64xf32, pad=1>, count=4>, %i: !pto.local_array<4x2xi32>"
    )
    assert ops[0].block is not None
    types = [value.type for value in ops[0].block.args]
    assert types[0] == PtrType(F32, "ub")
    assert isinstance(types[1], MemRefType) and types[1].layout == "strided<[32, 1], offset: ?>"
    assert types[2] == VectorType(4, F32, scalable=True)
    assert types[6] == types[7]


def test_regions_that_look_like_dictionaries() -> None:
    same(
        "module { func.func @f(%c: i1) { scf.if %c { pto.trap } else { }\n scf.if %c { scf.yield }\n return } }",
        "module { func.func @f(%c: i1) {\n scf.if %c {\n pto.trap\n scf.yield\n } else {\n scf.yield\n }\n scf.if %c {\n }\n return\n } }",
    )


def test_unknown_keys_are_kept() -> None:
    (op, _) = body(
        "pto.tabs ins(%t : !pto.tile_buf<vec, 8x8xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32>) {pto.last_use = array<i64: 0>, src0eqdst = true}",
        arguments="%t: !pto.tile_buf<vec, 8x8xf32>",
    )
    assert op.attributes == {"pto.last_use": ArrayAttr(I64, (0,)), "src0eqdst": True}


def test_blocks_may_use_what_stands_below() -> None:
    module = read("""module { func.func @f(%c: i1) {
      cf.br ^end
    ^middle:
      %y = arith.addi %x, %x : i32
      return
    ^end:
      %x = arith.constant 1 : i32
      cf.cond_br %c, ^middle, ^end
    } }""")
    first, middle, end = next(functions(module)).regions[0].blocks
    assert first.last is not None and first.last.successors == [end]
    assert middle.first is not None and end.first is not None
    assert middle.first.operands == (end.first.result,) * 2
