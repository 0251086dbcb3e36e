"""Rows of the core level that multiply matrices, and the 8-bit quantisation around them.

bf16 and f16 accumulate in f32 and round once at the output; the integer product is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pptc.ir import core_reference as ref
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    CODE_TENSOR,
    F32_TENSOR,
    NUMBER_TENSOR,
    SUM_TENSOR,
    core_row,
    flag,
    same_elements,
    tensor,
    tensor_of,
)
from pptc.ir.core_shapes import (
    Dims,
    Refusal,
    equal_shapes,
    matrix_product,
)
from pptc.ir.lazy import ml_dtypes, np
from pptc.ir.opdef import Attribute, Operand, Result, Tolerance, table
from pptc.ir.types import BF16, F32, I8, I32, TensorType, Type

LONGEST_EXACT_SUM = (2**31 - 1) // 127**2
"""Products of two 8-bit codes that an i32 can add without overflow."""

_PRODUCT = Tolerance(relative=1e-5, absolute=1e-5, ulps=1, reason="the order of an f32 sum is the target's")
_QUANTIZED = tensor_of("a tensor of bf16 or f32", BF16, F32)
_BF16_TENSOR = tensor_of("a tensor of bf16", BF16)

_TRANSPOSES = (
    Attribute("transpose_a", "unit", doc="the last two axes of a are columns and rows"),
    Attribute("transpose_b", "unit", doc="the last two axes of b are columns and rows"),
)


def _product_shape(op: Op) -> Dims:
    return matrix_product(
        tensor(op, "a").dims, tensor(op, "b").dims, flag(op, "transpose_a"), flag(op, "transpose_b")
    )


def _product(op: Op) -> tuple[Type, ...]:
    elem = same_elements(op, "a", "b")
    return (TensorType(_product_shape(op), elem),)


def _code_product(op: Op) -> tuple[Type, ...]:
    shape, a = _product_shape(op), tensor(op, "a").dims
    k = a[-2] if flag(op, "transpose_a") else a[-1]
    if isinstance(k, int) and k > LONGEST_EXACT_SUM:
        raise Refusal("P0205", f"{k} products may overflow i32; {LONGEST_EXACT_SUM} never do", "a")
    return (TensorType(shape, I32),)


def _multiplied(op: Op, symbols: Mapping[str, int], a: Any, b: Any) -> Any:
    a, b = ref.wide(a), ref.wide(b)
    a = np.swapaxes(a, -1, -2) if flag(op, "transpose_a") else a
    b = np.swapaxes(b, -1, -2) if flag(op, "transpose_b") else b
    elem = ref.result_type(op).elem
    return ref.rounded(np.matmul(a.astype(np.int32) if elem == I32 else a, b.astype(a.dtype)), elem)


_MATMUL = core_row(
    "matmul",
    "The product of matrices in the last two axes; batch axes broadcast. No products give zeros.",
    (Operand("a", NUMBER_TENSOR), Operand("b", NUMBER_TENSOR)),
    _product,
    attributes=_TRANSPOSES,
    reference=_multiplied,
    tolerance=_PRODUCT,
)

_QMATMUL = core_row(
    "qmatmul_s8s8_s32",
    "The exact product of matrices of 8-bit codes (-127 to 127) in i32.",
    (Operand("a", CODE_TENSOR), Operand("b", CODE_TENSOR)),
    _code_product,
    results=(Result("result", SUM_TENSOR),),
    attributes=_TRANSPOSES,
    reference=lambda op, symbols, a, b: _multiplied(op, symbols, a.astype(np.int64), b.astype(np.int64)),
)


# ---------------------------------------------------------------- quantisation


def _rows(dims: Dims, name: str) -> Dims:
    if not dims:
        raise Refusal("P0205", f"{name} has rows: rank 1 at least", name)
    return dims[:-1]


def _quantized(op: Op) -> tuple[Type, ...]:
    dims = tensor(op, "x").dims
    return TensorType(dims, I8), TensorType(_rows(dims, "x"), F32)


def _quantize(op: Op, symbols: Mapping[str, int], x: Any) -> Any:
    wide = x.astype(np.float32)
    largest = np.max(np.abs(wide), -1, initial=0)
    scale = np.where(largest == 0, np.float32(1), largest / np.float32(127)).astype(np.float32)
    ratio = wide.astype(np.float64) / scale[..., None].astype(np.float64)
    return np.clip(np.rint(ratio), -127, 127).astype(np.int8), scale


def _dequantized(op: Op) -> tuple[Type, ...]:
    codes, scale = tensor(op, "codes").dims, tensor(op, "scale").dims
    if scale:
        equal_shapes(scale, _rows(codes, "codes"), "there is one scale per row", "scale")
    return (TensorType(codes, F32),)


def _rescaled(op: Op) -> tuple[Type, ...]:
    sums = tensor(op, "sums").dims
    if not sums:
        raise Refusal("P0205", "sums have columns: rank 1 at least", "sums")
    equal_shapes(tensor(op, "row_scale").dims, sums[:-1], "there is one row_scale per row", "row_scale")
    equal_shapes(
        tensor(op, "column_scale").dims, sums[-1:], "there is one column_scale per column", "column_scale"
    )
    return (TensorType(sums, BF16),)


def _rescale(op: Op, symbols: Mapping[str, int], sums: Any, row_scale: Any, column_scale: Any) -> Any:
    scale = (row_scale[..., None] * column_scale).astype(np.float32)
    return (sums.astype(np.float32) * scale).astype(ml_dtypes.bfloat16)


_QUANTISATION = (
    core_row(
        "quantize_per_token_s8",
        "Codes and one scale per row: scale = max |x| / 127 in f32, code = x / scale rounded to nearest even within "
        "-127..127. A row of zeros has scale 1.",
        (Operand("x", _QUANTIZED),),
        _quantized,
        results=(Result("codes", CODE_TENSOR), Result("scale", F32_TENSOR)),
        reference=_quantize,
    ),
    core_row(
        "dequantize_s8",
        "code * scale in f32, with one scale per row or one for all.",
        (Operand("codes", CODE_TENSOR), Operand("scale", F32_TENSOR)),
        _dequantized,
        results=(Result("result", F32_TENSOR),),
        reference=lambda op, symbols, codes, scale: (
            codes.astype(np.float32) * (scale[..., None] if scale.ndim else scale)
        ),
    ),
    core_row(
        "dequantize_epilogue_bf16",
        "sums * (row_scale * column_scale): the scales are multiplied first in f32, the sum is rounded to f32, and the "
        "product once to bf16.",
        (Operand("sums", SUM_TENSOR), Operand("row_scale", F32_TENSOR), Operand("column_scale", F32_TENSOR)),
        _rescaled,
        results=(Result("result", _BF16_TENSOR),),
        reference=_rescale,
    ),
)

ROWS = table(_MATMUL, _QMATMUL, _QUANTISATION)
