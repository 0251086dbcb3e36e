"""parse(print(m)) equals m, for every row, and for values, attributes and structures of every kind."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pptc.diag import Sink, Source, UserLocation
from pptc.ir.attrs import (
    UNIT,
    ArrayAttr,
    Attr,
    DenseAttr,
    DictAttr,
    DimAttr,
    EnumAttr,
    FloatAttr,
    IntAttr,
    ListAttr,
    OpaqueAttr,
    SymbolAttr,
    TypeAttr,
)  # fmt: skip
from pptc.ir.compare import difference, equal
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.opdef import OpDef
from pptc.ir.ops import OPS
from pptc.ir.printer import print_module
from pptc.ir.types import (
    BF16,
    F8E4M3FN,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    UI8,
    UI32,
    ScalarType,
    TensorType,
    VectorType,
)  # fmt: skip
from pptc.parser import parse

from .op_samples import POOL, function, module, plain_rows, samples


def reread(op: Op) -> Op:
    """The module that the printed text says; it must be the same."""
    text = print_module(op)
    sink = Sink()
    again = parse(Source("printed.pto", text), sink)
    assert again is not None and not sink.error_count, [f"{f.code} {f.message}\n{text}" for f in sink]
    assert difference(op, again) is None, text
    assert print_module(again) == text
    return again


@pytest.mark.parametrize("row", plain_rows(), ids=lambda row: row.name)
def test_every_row(row: OpDef) -> None:
    @settings(max_examples=8)
    @given(samples(row))
    def check(sample: Op) -> None:
        reread(module(sample))

    check()


# ---------------------------------------------------------------- attributes

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
INTEGERS = st.sampled_from([I8, I16, I32, I64, UI8, UI32, INDEX]).flatmap(
    lambda type: st.integers(
        0 if type.kind == "uint" else -(1 << (type.bits - 1)), (1 << (type.bits - (type.kind != "uint"))) - 1
    ).map(lambda value: IntAttr(value, type))
)


def float_bits(type: ScalarType) -> st.SearchStrategy[FloatAttr]:
    return st.integers(0, (1 << type.bits) - 1).map(lambda bits: FloatAttr(bits, type))


FLOATS = st.sampled_from([F16, BF16, F32, F64, F8E4M3FN]).flatmap(float_bits)
DENSE = st.one_of(
    st.lists(float_bits(F32), min_size=4, max_size=4).map(
        lambda vs: DenseAttr(VectorType(4, F32), tuple(vs))
    ),
    st.lists(st.booleans(), min_size=1, max_size=1).map(lambda vs: DenseAttr(VectorType(8, I1), tuple(vs))),
    st.lists(float_bits(BF16), min_size=6, max_size=6).map(
        lambda vs: DenseAttr(TensorType((2, 3), BF16), tuple(vs))
    ),
)
LEAVES: st.SearchStrategy[Attr] = st.one_of(
    st.booleans(),
    TEXT,
    INTEGERS,
    FLOATS,
    DENSE,
    st.integers(-(2**70), 2**70).map(IntAttr),
    st.sampled_from(["nd", "PIPE_ALL", "row_plus_one"]).map(lambda word: EnumAttr("layout", word)),
    st.sampled_from(["lt", "RINT"]).map(lambda word: EnumAttr("round_mode", word, spaced=True)),
    st.sampled_from(["f", "a.b$c", "with space", "5"]).map(SymbolAttr),
    st.sampled_from(POOL).map(TypeAttr),
    st.lists(st.integers(-9, 9), max_size=3).map(lambda values: ArrayAttr(I64, tuple(values))),
    st.sampled_from(POOL)
    .filter(lambda type: isinstance(type, TensorType) and bool(type.dims))
    .map(lambda type: DimAttr(type.dims[1]) if not isinstance(type.dims[1], int) else UNIT),
    st.just(UNIT),
    st.just(OpaqueAttr("#other.thing<a = 1, b = <2>>")),
)
KEYS = st.one_of(
    st.sampled_from(["a", "pto.last_use", "index", "return", "loc", "true", "x1"]), TEXT.filter(bool)
)
ATTRIBUTES: st.SearchStrategy[Attr] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: ListAttr(tuple(items))),
        st.dictionaries(KEYS, inner, max_size=3).map(lambda entries: DictAttr(tuple(entries.items()))),
    ),
    max_leaves=8,
)


SIGNATURE = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
"""Attributes of a function that its signature spells."""


@settings(max_examples=150)
@given(st.dictionaries(KEYS, ATTRIBUTES, max_size=4))
@example({"return": UNIT})
@example({"A.": UNIT, "a.b": True, "a$b": True, "a.$": True})
def test_every_attribute(entries: dict[str, Attr]) -> None:
    entries = {key: value for key, value in entries.items() if key not in SIGNATURE}
    reread(module(function(Block(), attributes=entries)))


@settings(max_examples=150)
@given(st.one_of(INTEGERS, FLOATS, DENSE, st.booleans()))
def test_every_constant(value: Attr) -> None:
    block = Block()
    type = I1 if isinstance(value, bool) else value.type  # type: ignore[union-attr]
    assert type is not None
    if not isinstance(value, DenseAttr) or isinstance(value.type, VectorType):
        block.append(Op(OPS["arith.constant"], (), (type,), {"value": value}))
    reread(module(function(block)))


# ---------------------------------------------------------------- structure


@st.composite
def bodies(draw: st.DrawFn, block: Block, visible: list[Value], depth: int) -> list[Value]:
    """Fill a block with arithmetic and loops over the i32 and index values in sight."""
    known = [*visible, *block.args]
    for _ in range(draw(st.integers(1, 4))):
        choice = draw(st.integers(0, 5 if depth else 2))
        name = draw(st.sampled_from([None, "x", "x", "row", "0", "7", "x_0", "a.b"]))
        integers = [value for value in known if value.type == I32]
        pick = st.sampled_from(integers)
        if choice <= 2:
            op = Op(OPS["arith.addi"], (draw(pick), draw(pick)), (I32,))
        elif choice == 3:
            body = Block((INDEX, I32))
            body.args[1].name = name
            inner = draw(bodies(body, known, depth - 1))
            body.append(Op(OPS["scf.yield"], (draw(st.sampled_from(inner)),)))
            index = next(value for value in known if value.type == INDEX)
            op = Op(
                OPS["scf.for"],
                (index, index, index, draw(pick)),
                (I32,),
                {},
                [Region([body])],
                segments=(1, 1, 1, 1),
            )
        else:
            regions = []
            for _ in range(2):
                branch = Block()
                inner = draw(bodies(branch, known, depth - 1))
                branch.append(Op(OPS["scf.yield"], (draw(st.sampled_from(inner)),)))
                regions.append(Region([branch]))
            flag = next(value for value in known if value.type == I1)
            op = Op(OPS["scf.if"], (flag,), (I32,), {}, regions)
        if draw(st.booleans()):
            op.loc = UserLocation(
                draw(st.sampled_from(["k.py", 'a "quoted" file'])), draw(st.integers(0, 99)), 3
            )
            op.loc = op.loc if op.loc.line else UserLocation(op.loc.file, 0, 0)
        op.result.name = name
        block.append(op)
        known.append(op.result)
    return [value for value in known if value.type == I32]


@st.composite
def functions(draw: st.DrawFn, name: str) -> Op:
    block = Block((I32, I32, INDEX, I1))
    draw(bodies(block, [], 3))
    block.append(Op(OPS["func.return"]))
    return function(block, name)


@given(functions("f"), functions("g"))
def test_generated_modules(f: Op, g: Op) -> None:
    reread(module(f, module(g)))


def test_names_are_kept_and_made_unique() -> None:
    block = Block((I32, I32))
    block.args[0].name = block.args[1].name = "x"
    for hint in ("x", None, "0", None):
        op = Op(OPS["arith.addi"], block.args, (I32,))
        op.result.name = hint
        block.append(op)
    lines = print_module(function(block)).split("\n")
    assert lines[0].startswith("func.func @f(%x: i32, %x_0: i32) {")
    assert [line.split(" = ")[0].strip() for line in lines[1:5]] == ["%x_1", "%0", "%1", "%2"]


def test_hints_that_are_no_names() -> None:
    block = Block((I32,))
    for hint in ("größe", "layer/weight", "2d", "17"):
        op = Op(OPS["arith.addi"], (block.args[0],) * 2, (I32,))
        op.result.name = hint
        block.append(op)
    again = reread(module(function(block)))
    names = [op.result.name for op in again.body.first.body]  # type: ignore[union-attr]
    assert names == ["gr__e", "layer_weight", "_2d", "17"]


def test_names_are_free_again_behind_their_region() -> None:
    text = """module {
  func.func @f(%n: index) {
    scf.for %i = %n to %n step %n {
      %x = arith.addi %i, %n : index
    }
    scf.for %i = %n to %n step %n {
      %x = arith.addi %i, %n : index
    }
    %x = arith.addi %n, %n : index
    return
  }
}
"""
    assert print_module(_parsed(text)) == text


def _parsed(text: str) -> Op:
    sink = Sink()
    op = parse(Source("t.pto", text), sink)
    assert op is not None and not sink.error_count, [f.message for f in sink]
    return op


def test_canonical_text() -> None:
    given = """
    module attributes { "pto.target_arch" = "a5" } {
      func.func @f(%a: !pto.ptr<f32, gm>, %__pypto_spmd_block_num: i32) {
        %t = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=64, v_row=?, v_col=64, blayout=row_major, slayout=none_box, fractal=512, pad=1>
        %c = "arith.constant"() {value = 0.1 : f32} : () -> f32 loc(fused["x", "k.py":1:2])
        pto.tmuls ins(%t, %c : !pto.tile_buf<vec, 8x64xf32, pad=1, valid=-1x64>, f32) outs(%t : !pto.tile_buf<vec, 8x64xf32, valid=?x64, pad=1>)
        func.return
      }
    }"""
    assert print_module(_parsed(given)) == (
        """module attributes {pto.target_arch = "a5"} {
  func.func @f(%a: !pto.ptr<f32>, %__pypto_spmd_block_num: i32 {pto.spmd = "block_num"}) {
    %t = pto.alloc_tile : !pto.tile_buf<vec, 8x64xf32, valid=?x64, pad=1>
    %c = arith.constant 1.000000e-01 : f32 loc("k.py":1:2)
    pto.tmuls ins(%t, %c : !pto.tile_buf<vec, 8x64xf32, valid=?x64, pad=1>, f32) outs(%t : !pto.tile_buf<vec, 8x64xf32, valid=?x64, pad=1>)
    return
  }
}
"""
    )


def test_blocks_print_with_labels_and_arguments() -> None:
    text = """module {
  func.func @f(%c: i1, %i: index) {
    cf.cond_br %c, ^bb1, ^bb2(%i, %i : index, index)
  ^bb1:
    cf.br ^bb2(%late, %i : index, index)
  ^bb2(%x: index, %y: index):
    %late = arith.addi %x, %y : index
    return
  }
}
"""
    assert print_module(_parsed(text)) == text


def test_equal_sees_every_difference() -> None:
    def made(result: ScalarType = I32, swap: bool = False, key: str = "a", callee: str = "arith.subi") -> Op:
        block = Block((I32, I32))
        operands = tuple(reversed(block.args)) if swap else block.args
        block.append(Op(OPS[callee], operands, (result,), {key: UNIT}, loc=UserLocation("k", 1, 1)))
        return function(block)

    assert equal(made(), made())
    for other in (
        made(result=I64),
        made(swap=True),
        made(key="b"),
        made(callee="arith.muli"),
        function(Block()),
    ):
        assert not equal(made(), other)


def test_output_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys; from pathlib import Path; from pptc.diag import Sink, Source; from pptc.parser import parse\n"
        "from pptc.ir.printer import print_module\n"
        "print(print_module(parse(Source('x', Path(sys.argv[1]).read_text()), Sink())))"
    )
    path = "tests/files/tile/surface.pto"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
