"""Types that the core rows derive, against NumPy's own shapes and, for symbolic dims, against themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pptc.ir.lazy import ml_dtypes
from pptc.ir.numeric import dtype_of
from pptc.ir.ops import OPS
from pptc.ir.symbols import evaluate
from pptc.ir.types import INDEX, SCALARS, TensorType, Type

from .core_ops import infer, make, problems, read, shape, tensor, type_of


@dataclass(frozen=True)
class Case:
    """An op over symbolic operands and what NumPy does with arrays of such shapes."""

    name: str
    operands: tuple[str, ...]
    numpy: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    exact: bool = True  # compare values too

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.operands)}) {self.attributes or ''}"


def bf16(x: Any) -> Any:
    return np.asarray(x).astype(ml_dtypes.bfloat16)


def sums(axis: Any, keep: bool = False) -> Callable[[Any], Any]:
    return lambda x: np.sum(x, axis, keepdims=keep)


def swap(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def quantize(x: Any) -> tuple[Any, Any]:
    codes = np.zeros(x.shape, np.int8)
    scales = np.ones(x.shape[:-1], np.float32)
    for row in np.ndindex(*x.shape[:-1]):
        largest = max((abs(float(v)) for v in x[row]), default=0.0)
        if largest:
            scales[row] = np.float32(np.float32(largest) / np.float32(127))
        for column, value in enumerate(x[row]):
            codes[(*row, column)] = max(-127, min(127, round(float(value) / float(scales[row]))))
    return codes, scales


FLOAT_FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "abs": np.abs,
    "erf": lambda x: np.vectorize(math.erf, otypes=[x.dtype])(x),
    "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / math.sqrt(2))),
}
BINARIES = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": lambda x, y: np.power(np.abs(x), y),
}
INTEGER_BINARIES = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "rem": lambda x, y: np.fmod(x, np.where(y == 0, 1, y)) * (y != 0),
    "div": lambda x, y: (np.trunc(x / np.where(y == 0, 1, y)) * (y != 0)).astype(x.dtype),
    "shift_left": lambda x, y: np.where((y >= 0) & (y < 32), np.left_shift(x, y & 31), 0),
    "shift_right": lambda x, y: np.right_shift(x, np.where((y >= 0) & (y < 32), y, 31)),
}

CASES = (
    *(Case(name, ("B T 3",), function) for name, function in FLOAT_FUNCTIONS.items()),
    *(Case(name, ("T 3 f64",), function) for name, function in FLOAT_FUNCTIONS.items()),
    *(Case(name, (x, y), f) for name, f in BINARIES.items() for x, y in (("B T 3", "B T 3"), ("T 1", "B 1 4"), ("B T", ""))),
    *(Case(name, ("B T i32", "T i32"), f) for name, f in INTEGER_BINARIES.items()),
    Case("not", ("B i1",), np.logical_not),
    Case("not", ("B ui8",), np.invert),
    Case("gelu", ("B 4",), lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), {"tanh": True}),
    Case("cast", ("B T i32",), lambda x: x.astype(np.float32), {}, ("B T f32",)),
    Case("cast", ("B T f32",), lambda x: x.astype(np.int8), {}, ("B T i8",)),
    Case("cast", ("B f32",), lambda x: x != 0, {}, ("B i1",)),
    Case("cast", ("B T f32",), bf16, {}, ("B T bf16",)),
    Case("compare", ("B T", "T"), np.less, {"predicate": "lt"}),
    Case("compare", ("B T i64", "1 i64"), np.equal, {"predicate": "eq"}),
    Case("where", ("B 1 i1", "B T", ""), np.where),
    Case("swiglu", ("B T 6", "B T 6"), lambda g, u: g / (1 + np.exp(-g)) * u),
    Case("swiglu", ("B 6",), lambda p: p[:, :3] / (1 + np.exp(-p[:, :3])) * p[:, 3:]),
    Case("clamp", ("B T",), lambda x: np.clip(x, 0.5, 2.0), {"min": 0.5, "max": 2.0}),
    Case("reshape", ("B T 6",), lambda x: x.reshape(x.shape[0] * x.shape[1], 2, 3), {}, ("B*T 2 3",)),
    Case("view", ("B T 6",), lambda x: x.reshape(x.shape[0], 6 * x.shape[1]), {}, ("B 6*T",)),
    Case("contiguous", ("B T",), np.ascontiguousarray),
    Case("identity", ("",), lambda x: x),
    Case("copy", ("T",), np.copy),
    Case("broadcast", ("T 1",), lambda x: np.broadcast_to(x, (5, x.shape[0], 4)), {}, ("5 T 4",)),
    Case("transpose", ("B T 3 2",), lambda x: np.transpose(x, (2, 0, 3, 1)), {"permutation": [2, 0, 3, 1]}),
    Case("transpose", ("B T 3",), lambda x: np.swapaxes(x, 0, 2), {"dim0": 0, "dim1": -1}),
    Case("concat", ("B T 3", "P T 3"), lambda x, y: np.concatenate([x, y], 0)),
    Case("concat", ("B T", "B P", "B 1"), lambda *x: np.concatenate(x, 1), {"axis": -1}),
    Case("split", ("T 7",), lambda x: np.split(x, [2, 3], 1), {"axis": 1, "sizes": [2, 1, 4]}),
    Case("split", ("6 T",), lambda x: np.split(x, 3), {"num_splits": 3}),
    Case("split", ("2*T 4",), lambda x: np.split(x, 2), {"num_splits": 2}),
    Case("gather", ("B 5 T", "P 2 i64"), lambda x, i: np.take(x, np.clip(i, 0, 4), 1), {"axis": 1}),
    Case("embedding", ("9 T", "B P i32"), lambda w, i: w[np.clip(i, 0, 8)]),
    Case("slice", ("B 8 T",), lambda x: x[:, 1:8:3, :], {"offsets": [0, 1, 0], "sizes": ["(B)", 3, "(T)"], "strides": [1, 3, 1]}),
    Case("reduce_sum", ("B T 3",), sums((0, 2)), {"axes": [0, -1]}),
    Case("reduce_sum", ("B T i64",), sums(1, True), {"axis": 1, "keepdims": True}),
    Case("reduce_sum", ("B T",), sums(None)),
    Case("reduce_mean", ("3 T 5",), lambda x: np.mean(x, 0), {"axes": [0]}),
    Case("reduce_max", ("3 T",), lambda x: np.max(x, 0, keepdims=True), {"axes": [0], "keepdims": True}),
    Case("argmax", ("B 6 T",), lambda x: np.argmax(x, 1), {"axis": 1}, ("B T i64",)),
    Case("argmax", ("B 6",), lambda x: np.argmax(x, 1)[:, None].astype(np.int32), {"keepdims": True}, ("B 1 i32",)),
    Case("softmax", ("B T 4",), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    Case("softmax", ("B 4 T",), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), {"axis": 1}),
    Case("matmul", ("T 4", "4 P"), np.matmul),
    Case("matmul", ("B 1 T 4", "3 4 P"), np.matmul),
    Case("matmul", ("B T 4", "P 4"), lambda a, b: np.matmul(a, swap(b)), {"transpose_b": True}),
    Case("matmul", ("B 4 T", "4 P"), lambda a, b: np.matmul(swap(a), b), {"transpose_a": True}),
    Case("matmul", ("P T i32", "T B i32"), np.matmul),
    Case("qmatmul_s8s8_s32", ("B T i8", "P T i8"), lambda a, b: np.matmul(a.astype(np.int32), swap(b).astype(np.int32)), {"transpose_b": True}),
    Case("quantize_per_token_s8", ("B T",), quantize),
    Case("dequantize_s8", ("B T i8", "B"), lambda c, s: c.astype(np.float32) * s[:, None]),
    Case("dequantize_s8", ("B T i8", ""), lambda c, s: c.astype(np.float32) * s),
    Case("dequantize_epilogue_bf16", ("B T i32", "B", "T"), lambda a, r, c: bf16(a.astype(np.float32) * (r[:, None] * c))),
    Case("iota", (), lambda: np.broadcast_to(2 + 3 * np.arange(5), (4, 5)), {"axis": 1, "start": 2, "step": 3}, ("4 5 i64",)),
    Case("iota", (), lambda: np.arange(4, dtype=np.int32)[:, None] + np.zeros(2, np.int32), {}, ("4 2 i32",)),
    *(Case(name, ("B T 8", "8"), lambda x, w: x * w, exact=False) for name in ("rms_norm", "layer_norm")),
    Case("layer_norm", ("B 8", "8", "8"), lambda x, w, b: x * w + b, exact=False),
    Case("gated_rms_norm", ("B T 8", "8", "B T 8"), lambda x, w, z: x * w * z, exact=False),
    Case("l2_norm", ("B T",), lambda x: x, exact=False),
    Case("rope", ("B 2 T 8", "T 4", "T 4"), lambda x, c, s: np.concatenate([x[..., :4] * c + s, x[..., 4:]], -1), exact=False),
    Case("causal_mask", ("B T P",), lambda x: np.where(np.tri(*x.shape[-2:]) > 0, x, np.float32(-10000)), exact=False),
    Case("attention", ("8 T 4", "2 P 4", "2 P 6"), lambda q, k, v: np.matmul(np.matmul(q, swap(np.repeat(k, 4, 0))), np.repeat(v, 4, 0)), exact=False),
    Case("attention", ("B 4 T 5", "B 4 P 5", "B 4 P 5", "1 T P i1"), lambda q, k, v, m: np.matmul(np.where(m, np.matmul(q, swap(k)), 0).astype(q.dtype), v), exact=False),
    Case("causal_conv1d", ("B 6 T", "6 4"), lambda x, w: x * w[:, :1], exact=False),
    Case("causal_conv1d", ("B T 6", "6 4", "B 3 6"), lambda x, w, p: (x * w[:, 0], np.concatenate([p, x], 1)[:, -3:]), {"axis": -2}, exact=False),
    Case(
        "gated_delta_step",
        ("B 2 4", "B 2 4", "B 6 3", "B 6", "B 6", "B 6 4 3"),
        lambda q, k, v, g, b, s: (np.einsum("bhkv,bhk->bhv", s, np.repeat(q, 3, 1)), s * g[..., None, None]),
        exact=False,
    ),
    Case(
        "gated_delta_rule",
        ("2 T 4", "2 T 4", "2 T 3", "2 T", "2 T", "2 4 3"),
        lambda q, k, v, g, b, s: (np.einsum("hkv,htk->htv", s, q), s),
        exact=False,
    ),
)  # fmt: skip


def array(type: Type, binding: dict[str, int], generator: np.random.Generator) -> Any:
    assert isinstance(type, TensorType)
    extents = tuple(evaluate(dim, binding) for dim in type.dims)
    if type.elem.is_float:
        return np.asarray(generator.uniform(0.1, 3.0, extents)).astype(dtype_of(type.elem))
    return np.asarray(generator.integers(0, 2 if type.elem.bits == 1 else 100, extents)).astype(
        dtype_of(type.elem)
    )


def as_type(value: Any) -> TensorType:
    elem = next(
        t
        for t in SCALARS.values()
        if not t.name.startswith(("!", "si")) and t != INDEX and dtype_of(t) == value.dtype
    )
    return TensorType(tuple(value.shape), elem)


BINDINGS = st.fixed_dictionaries({"B": st.integers(0, 5), "P": st.integers(0, 4), "T": st.integers(0, 6)})


def concrete(written: str, binding: dict[str, int]) -> TensorType:
    type = type_of(written)
    assert isinstance(type, TensorType)
    return TensorType(tuple(evaluate(dim, binding) for dim in type.dims), type.elem)


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=12)
@given(binding=BINDINGS)
def test_derived_types_are_those_of_numpy(case, binding) -> None:
    types = [concrete(written, binding) for written in case.operands]
    results = [concrete(written, binding) for written in case.results]
    op = make(case.name, types, case.attributes | slice_sizes(case, binding), results)
    generator = np.random.default_rng(1)
    arrays = [array(type, {}, generator) for type in types]
    with np.errstate(all="ignore"):
        expected = case.numpy(*arrays)
    expected = list(expected) if isinstance(expected, tuple | list) else [expected]
    derived = infer(op)
    assert [as_type(np.asarray(value)) for value in expected] == list(derived)
    made = make(case.name, types, case.attributes | slice_sizes(case, binding), derived)
    assert problems(made) == []
    if case.exact and OPS[f"core.{case.name}"].reference is not None:
        compare(made, arrays, expected)


def slice_sizes(case: Case, binding: dict[str, int]) -> dict[str, Any]:
    return {"sizes": [binding["B"], 3, binding["T"]]} if case.name == "slice" else {}


def compare(op: Any, arrays: list[Any], expected: list[Any]) -> None:
    """The row's reference gives NumPy's values, up to the last place of binary32 functions."""
    given_values = op.definition.reference(op, {}, *arrays)
    given_list = list(given_values) if isinstance(given_values, tuple) else [given_values]
    for mine, theirs in zip(given_list, expected, strict=True):
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if mine.dtype.kind in "iub":
            np.testing.assert_array_equal(mine, theirs)
        else:
            np.testing.assert_allclose(mine.astype(float), theirs.astype(float), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=12)
@given(binding=BINDINGS)
def test_symbolic_types_become_the_concrete_ones(case, binding) -> None:
    op = make(case.name, case.operands, case.attributes, case.results)
    symbolic = infer(op)
    assert problems(make(case.name, case.operands, case.attributes, symbolic)) == []
    types = [concrete(written, binding) for written in case.operands]
    results = [concrete(written, binding) for written in case.results]
    numbers = infer(make(case.name, types, case.attributes | slice_sizes(case, binding), results))
    for with_symbols, plain in zip(symbolic, numbers, strict=True):
        assert tuple(evaluate(dim, binding) for dim in shape(with_symbols)) == shape(plain)


def test_every_pure_row_has_a_case() -> None:
    rest = {"param", "get", "constant", "splat", "item", "dim", "launch", "state_read", "state_write"}
    rows = {name.removeprefix("core.") for name in OPS if name.startswith("core.")}
    assert rows - {case.name for case in CASES} == rest


def test_rows_are_documented() -> None:
    for name, row in OPS.items():
        if name.startswith("core."):
            assert row.doc.endswith("."), name
            assert all(attribute.doc for attribute in row.attributes), name


SLICE = {"offsets": [0, 0], "sizes": [2, 4], "strides": [1, 1]}
REFUSED = (
    ("add", ("4 i32", "4 f32"), {}, "P0204", "no implicit|made of i32"),
    ("add", ("4 3", "4 2"), {}, "P0205", "3 is not 2"),
    ("add", ("B", "T"), {}, "P0205", "(B) and (T) are not known to be equal"),
    ("add", ("B", "64"), {}, "P0205", "not known"),
    ("compare", ("4 i1", "4 i1"), {"predicate": "lt"}, "P0207", "eq and ne"),
    ("clamp", ("4",), {}, "P0206", "min, max or both"),
    ("clamp", ("4 i32",), {"min": 0.5}, "P0207", "integers"),
    ("swiglu", ("4 7",), {}, "P0205", "halve"),
    ("transpose", ("4 3",), {"permutation": [0, 0]}, "P0207", "no permutation"),
    ("transpose", ("4 3",), {}, "P0206", "permutation, or dim0 and dim1"),
    ("transpose", ("4 3",), {"dim0": 0, "dim1": 2}, "P0207", "not an axis"),
    ("concat", ("4 3", "4 2"), {"axis": 0}, "P0205", "differ on axis 1"),
    ("concat", ("4 3", "4"), {"axis": 0}, "P0205", "one rank"),
    ("split", ("7 T",), {"sizes": [3, 3]}, "P0205", "do not cover"),
    ("split", ("T 4",), {"num_splits": 2}, "P0205", "equal parts"),
    ("split", ("6",), {"num_splits": 2, "sizes": [3, 3]}, "P0206", "either"),
    ("split", ("6",), {"sizes": [0, 6]}, "P0207", "1 element at least"),
    ("reduce_sum", ("4 3",), {"axes": [2]}, "P0207", "not an axis of rank 2"),
    ("reduce_sum", ("4 3",), {"axes": [1, -1]}, "P0207", "named twice"),
    ("reduce_sum", ("4 3",), {"axes": [1], "axis": 1}, "P0207", "not both"),
    ("reduce_max", ("0 3",), {"axes": [0]}, "P0205", "of nothing"),
    ("matmul", ("4 3", "4 5"), {}, "P0205", "3 is not 4"),
    ("matmul", ("4", "4 5"), {}, "P0205", "rank 2"),
    ("matmul", ("2 4 3", "3 3 5"), {}, "P0205", "2 is not 3"),
    ("qmatmul_s8s8_s32", ("4 133145 i8", "133145 4 i8"), {}, "P0205", "overflow"),
    ("dequantize_s8", ("4 8 i8", "8"), {}, "P0205", "one scale per row"),
    ("embedding", ("4 8 2", "3 i32"), {}, "P0205", "rank 2"),
    ("rms_norm", ("4 8", "4"), {}, "P0205", "per element of the last axis"),
    ("gated_rms_norm", ("4 8", "8", "4 1"), {}, "P0205", "shape of x"),
    ("rope", ("T 8", "T 3", "T 3"), {}, "P0205", "even number"),
    ("causal_mask", ("T P", "T i32"), {}, "P0202", "together"),
    ("attention", ("8 T 64", "3 P 64", "3 P 64"), {}, "P0205", "evenly"),
    ("attention", ("8 T 64", "2 P 32", "2 P 32"), {}, "P0205", "head size"),
    ("causal_conv1d", ("B 6 T", "6 4", "B 6 2"), {}, "P0205", "3 or more steps"),
    ("slice", ("4 4",), SLICE | {"offsets": [3, 0]}, "P0218", "does not lie"),
    ("slice", ("B 4",), SLICE | {"sizes": [1, 5]}, "P0218", "within 0..4"),
    ("slice", ("4 4",), SLICE | {"strides": [1, 0]}, "P0207", "1 at least"),
    ("slice", ("4 4",), SLICE | {"offsets": [0]}, "P0202", "1 offsets for 2 axes"),
    ("slice", ("4 4", INDEX), SLICE | {"sizes": [2, None]}, "P0207", "sized by a scalar"),
    ("add", ("4", "4"), {"fast": True}, "P0207", "no attribute fast"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "code", "words"), REFUSED)
def test_refusals(name, operands, attributes, code, words) -> None:
    op = make(name, operands, attributes)
    found = problems(make(name, operands, attributes, infer(op)))
    assert [problem.code for problem in found] == [code]
    assert any(word in found[0].message + (found[0].hint or "") for word in words.split("|"))


WRITTEN = (
    ("relu", ("B 4",), {}, ("B 5",), "P0205"),
    ("relu", ("B 4",), {}, ("B 4 f16",), "P0204"),
    ("matmul", ("B 4", "4 8"), {}, ("8 B",), "P0205"),
    ("split", ("6",), {"num_splits": 2}, ("3",), "P0202"),
    ("reshape", ("B T 4",), {}, ("B T 5",), "P0205"),
    ("reshape", ("B 4",), {}, ("B 4 i32",), "P0204"),
    ("broadcast", ("B 3",), {}, ("B 4",), "P0205"),
    ("cast", ("B",), {}, ("T i32",), "P0205"),
    ("argmax", ("B 6",), {}, ("6 i64",), "P0205"),
    ("iota", (), {"start": 2**31 - 2}, ("4 i32",), "P0207"),
    ("splat", (INDEX,), {}, ("4 i32",), "P0204"),
    ("item", ("4",), {}, (SCALARS["f32"],), "P0205"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "results", "code"), WRITTEN)
def test_written_results_are_checked(name, operands, attributes, results, code) -> None:
    assert [problem.code for problem in problems(make(name, operands, attributes, results))] == [code]


def test_windows_known_at_run_time_only_are_not_refused() -> None:
    attributes = {"offsets": [None, "(T-1)"], "sizes": [2, 1], "strides": [1, 1]}
    op = make("slice", ("B T", INDEX), attributes, ("2 1",))
    assert problems(op) == []


def test_open_extents_follow_from_the_operand() -> None:
    assert shape(infer(make("reshape", ("B 12",), {}, ("? 3 4",)))[0]) == shape(tensor("B 3 4"))
    assert shape(infer(make("cast", ("B 12",), {}, ("? ? i32",)))[0]) == shape(tensor("B 12"))
    assert shape(infer(make("broadcast", ("B 1",), {}, ("3 ? 5",)))[0]) == shape(tensor("3 B 5"))


def test_states() -> None:
    read = {"offsets": [0, "(P)"], "sizes": [2, "(T)"]}
    assert problems(make("state_read", ("state 2 C bf16",), read, ("2 T bf16",))) == []
    assert [p.code for p in problems(make("state_read", ("state 2 C bf16",), read, ("2 P bf16",)))] == [
        "P0205"
    ]
    write = {"offsets": [0, None]}
    ops = make("state_write", ("state 2 C", INDEX, "2 T"), write, (), (1, 1, 1))
    assert problems(ops) == []
    ops = make("state_write", ("state 2 C", INDEX, "2 T f16"), write, (), (1, 1, 1))
    assert [p.code for p in problems(ops)] == ["P0204"]
    ops = make("state_write", ("state 2 8", INDEX, "3 T"), write, (), (1, 1, 1))
    assert [p.code for p in problems(ops)] == ["P0218"]


def constant(text: str) -> Any:
    module = read(
        f"module {{\n  func.func @f(%b: tensor<(B)xf32>) {{\n    %c = core.constant {text}\n    return\n  }}\n}}\n"
    )
    op = next(op for op in module.walk() if op.name == "core.constant")
    assert op.definition.reference is not None
    return op.definition.reference(op, {"B": 3})


def test_constants_as_arrays() -> None:
    np.testing.assert_array_equal(
        constant("dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>"), np.array([[1, -2], [3, 4]], np.int8)
    )
    np.testing.assert_array_equal(
        constant("dense<0.1> : tensor<(B)x2xf32>"), np.full((3, 2), np.float32(0.1))
    )
    assert constant("dense<[0x7FC1, 0x3F80]> : tensor<2xbf16>").view(np.uint16).tolist() == [0x7FC1, 0x3F80]
    assert constant("dense<[true, false]> : tensor<2xi1>").tolist() == [True, False]


def test_slices_start_where_scalars_say() -> None:
    attributes = {"offsets": [None, 0], "sizes": [2, 3], "strides": [2, 1]}
    op = make("slice", ("9 3", INDEX), attributes, ("2 3",))
    x = np.arange(27.0, dtype=np.float32).reshape(9, 3)
    assert op.definition.reference is not None
    np.testing.assert_array_equal(op.definition.reference(op, {}, x, 3), x[[3, 5]])
    np.testing.assert_array_equal(op.definition.reference(op, {}, x, 99), x[[6, 8]])
    np.testing.assert_array_equal(op.definition.reference(op, {}, x, -1), x[[0, 2]])


def test_narrow_results_are_rounded_once() -> None:
    halfway = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40])
    op = make("cast", ("3 f64",), {}, ("3 bf16",))
    assert op.definition.reference is not None
    rounded = op.definition.reference(op, {}, halfway).astype(float)
    assert rounded.tolist() == [1 + 2.0**-7, 1.0, 1 + 2.0**-7]


@pytest.mark.parametrize(
    ("elem", "values"), [("i8", [127, -128, 0, 3, -3, 127]), ("ui8", [255, 0, 0, 3, 0, 255])]
)
def test_casts_to_integers_truncate_and_clamp(elem, values) -> None:
    op = make("cast", ("6",), {}, (f"6 {elem}",))
    x = np.array([300.0, -300.0, np.nan, 3.9, -3.9, np.inf], np.float32)
    assert op.definition.reference is not None
    assert op.definition.reference(op, {}, x).tolist() == values
