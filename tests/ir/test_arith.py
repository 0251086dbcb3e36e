"""The references of arith and math rows against NumPy, and constants by their bits."""

from __future__ import annotations

import math
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from pptc.diag import Sink, Source
from pptc.ir.constants import attribute_value, value_attribute
from pptc.ir.floats import FORMATS, encode, from_bits, to_bits
from pptc.ir.ops import OPS
from pptc.ir.types import F32, SCALARS
from pptc.parser import parse

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet_edges():
    with np.errstate(all="ignore"):
        yield


def op_of(line: str):
    """The op of the last statement of a function with a, b and c as arguments."""
    types = line.rsplit(":", 1)[1].split(" to ")[0].strip()
    text = f"func.func @f(%a: {types}, %b: {types}, %c: {types}) {{\n  {line}\n  return\n}}"
    sink = Sink()
    module = parse(Source("t", text), sink)
    sink.check()
    assert module is not None
    return module.body.first.body.first


def value_of(line: str, *values):
    op = op_of(line)
    return op.definition.reference(op, *values)


EDGES = (0, 1, -1, 2, -2, 3, -3, 7, -8, 100, -100, 126, 127, -127, -128)


def wrapped(value: int) -> int:
    return (value + 128) % 256 - 128


def c_divide(a: int, b: int) -> int:
    return math.trunc(a / b) if b else 0


BINARY = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": c_divide,
    "remsi": lambda a, b: int(math.fmod(a, b)) if b else 0,
    "divui": lambda a, b: (a % 256) // (b % 256) if b else 0,
    "remui": lambda a, b: (a % 256) % (b % 256) if b else 0,
    "floordivsi": lambda a, b: math.floor(a / b) if b else 0,
    "ceildivsi": lambda a, b: math.ceil(a / b) if b else 0,
    "ceildivui": lambda a, b: math.ceil((a % 256) / (b % 256)) if b else 0,
    "maxsi": max,
    "minsi": min,
    "maxui": lambda a, b: max(a % 256, b % 256),
    "minui": lambda a, b: min(a % 256, b % 256),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b if 0 <= b < 8 else 0,
    "shrui": lambda a, b: (a % 256) >> b if 0 <= b < 8 else 0,
    "shrsi": lambda a, b: a >> (b if 0 <= b < 8 else 7),
}


@pytest.mark.parametrize("name", BINARY)
def test_integers_of_eight_bits(name):
    op = op_of(f"%r = arith.{name} %a, %b : i8")
    for a in EDGES:
        for b in EDGES:
            got = op.definition.reference(op, a, b)
            assert got == wrapped(BINARY[name](a, b)), (name, a, b)
            assert isinstance(got, int)


def test_flags_are_booleans():
    assert value_of("%r = arith.andi %a, %b : i1", True, False) is False
    assert value_of("%r = arith.xori %a, %b : i1", True, False) is True
    assert value_of("%r = arith.addi %a, %b : i1", True, True) is False


PREDICATES = {
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "sgt": ">",
    "sge": ">=",
    "ult": "<",
    "ule": "<=",
    "ugt": ">",
    "uge": ">=",
}


@pytest.mark.parametrize("name", PREDICATES)
def test_comparisons(name):
    op = op_of(f"%r = arith.cmpi {name}, %a, %b : i8")
    compare = {
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
    kind = np.uint8 if name[0] == "u" else np.int8
    for a in EDGES:
        for b in EDGES:
            want = compare[PREDICATES[name]](np.int8(a).view(kind), np.int8(b).view(kind))
            assert op.definition.reference(op, a, b) == bool(want)


def test_casts():
    assert value_of("%r = arith.index_cast %a : i8 to index", -3) == -3
    assert value_of("%r = arith.index_castui %a : i8 to index", -3) == 253
    assert value_of("%r = arith.index_cast %a : index to i8", 300) == 44
    assert value_of("%r = arith.extui %a : i1 to i32", True) == 1
    assert value_of("%r = arith.extsi %a : i1 to i32", True) == -1
    assert value_of("%r = arith.trunci %a : i32 to i1", 3) is True
    assert value_of("%r = arith.uitofp %a : i8 to f32", -1) == np.float32(255)
    assert value_of("%r = arith.sitofp %a : i64 to f32", 2**53 + 1) == np.float32(2.0**53)
    assert value_of("%r = arith.bitcast %a : f32 to i32", np.float32(-0.0)) == -(2**31)
    assert value_of("%r = arith.bitcast %a : i32 to f32", 0x3F800000) == np.float32(1)


@pytest.mark.parametrize("value", (0.9, -0.9, 126.9, 127.0, 300.0, -129.0, math.inf, -math.inf, math.nan))
def test_floats_to_integers_saturate(value):
    got = value_of("%r = arith.fptosi %a : f32 to i8", np.float32(value))
    assert got == (0 if value != value else int(np.clip(np.trunc(value), -128, 127)))
    got = value_of("%r = arith.fptoui %a : f32 to i8", np.float32(value))
    assert got % 256 == (0 if value != value else int(np.clip(np.trunc(value), 0, 255)))


@pytest.mark.parametrize("elem", ("f16", "bf16", "f32", "f64"))
def test_floats_round_to_their_type(elem):
    kind = NUMPY[elem]
    a, b = kind(1.1), kind(3.3)
    for name, function in (
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
    ):
        got = value_of(f"%r = arith.{name} %a, %b : {elem}", a, b)
        assert got == function(a, b) and got.dtype == kind


def test_maximum_and_minimum_of_zeros_and_nan():
    zero, minus, nan, one = map(np.float32, (0.0, -0.0, np.nan, 1.0))
    for a, b in ((zero, minus), (minus, zero)):
        assert not np.signbit(value_of("%r = arith.maximumf %a, %b : f32", a, b))
        assert np.signbit(value_of("%r = arith.minimumf %a, %b : f32", a, b))
    for a, b in ((nan, one), (one, nan)):
        assert np.isnan(value_of("%r = arith.maximumf %a, %b : f32", a, b))
        assert value_of("%r = arith.maxnumf %a, %b : f32", a, b) == 1
        assert value_of("%r = arith.minnumf %a, %b : f32", a, b) == 1


def test_float_predicates():
    nan, one, two = map(np.float32, (np.nan, 1, 2))
    table = {
        "oeq": (False, True, False, False), "one": (True, False, False, False), "olt": (True, False, False, False),
        "ult": (True, False, True, True), "une": (True, False, True, True), "ueq": (False, True, True, True),
        "ord": (True, True, False, False), "uno": (False, False, True, True), "true": (True,) * 4, "false": (False,) * 4,
    }  # fmt: skip
    for name, want in table.items():
        op = op_of(f"%r = arith.cmpf {name}, %a, %b : f32")
        got = tuple(
            op.definition.reference(op, a, b) for a, b in ((one, two), (one, one), (nan, one), (one, nan))
        )
        assert got == want, name


def test_math_references():
    x = np.float32(2.5)
    assert value_of("%r = math.roundeven %a : f32", x) == 2
    assert value_of("%r = math.round %a : f32", x) == 3
    assert value_of("%r = math.round %a : f32", -x) == -3
    assert value_of("%r = math.exp %a : f32", x) == np.float32(math.exp(2.5))
    assert value_of("%r = math.absi %a : i8", -128) == -128
    assert np.signbit(value_of("%r = math.ceil %a : f32", np.float32(-0.5)))


@pytest.mark.parametrize("elem", FORMATS)
def test_encoding_rounds_as_numpy_does(elem):
    type, kind = SCALARS[elem], NUMPY[elem]
    random = np.random.default_rng(1)
    values = [
        *random.integers(0, 2**64, 3000, dtype=np.uint64).view("f8"),
        *(random.standard_normal(3000) * 10.0 ** random.uniform(-50, 40, 3000)),
        *np.arange(2**16, dtype="u2").view("f2").astype("f8")[::37],
        0.0, -0.0, np.inf, -np.inf, np.nan, 448.0, 464.0, 464.1, 480.0, 65504.0, 65519.99, 65520.0,
    ]  # fmt: skip
    for value in map(float, values):
        want, got = np.array([value]).astype(kind)[0], from_bits(encode(value, type), type)
        assert (got == want and np.signbit(got) == np.signbit(want)) or (got != got and want != want)
        assert to_bits(want, type) == encode(value, type) or want != want


def test_constants_go_to_attributes_and_back():
    for value, elem in ((True, "i1"), (-5, "i8"), (2**40, "index"), (np.float32(1.5), "f32"), (-0.0, "bf16")):
        attr = value_attribute(value, SCALARS[elem])
        assert attribute_value(attr) == value
        assert value_attribute(attribute_value(attr), SCALARS[elem]) == attr
    assert value_attribute(math.nan, F32) == value_attribute(np.float32(np.nan), F32)


def test_folding_integers_needs_no_numpy():
    script = """
import sys
from pptc.ir.ops import OPS
from pptc.ir.builder import Builder
from pptc.ir.core import Block
from pptc.ir.types import INDEX
block = Block((INDEX, INDEX))
op = Builder.inside(block, None).create("arith.muli", block.args, (INDEX,))
assert op.definition.reference(op, 6, 7) == 42
print("numpy" in sys.modules)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


def test_every_row_of_the_loop_level_has_words():
    for row in OPS.values():
        if row.dialect in ("arith", "math", "memref", "vector"):
            assert row.doc.endswith(".") and row.format
