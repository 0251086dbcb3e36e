"""Forms as people read them."""

from __future__ import annotations

import pytest

from pptc.ir.catalog import synopsis
from pptc.ir.ops import OPS


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("pto.tadd", "pto.tadd ins(%src0, %src1 : T, T) outs(%dst : T) {..}"),
        ("pto.tcvt", "pto.tcvt ins(%src[, %tmp] {..} : T[, T]) outs(%dst : T)"),
        (
            "pto.alloc_tile",
            "%result = pto.alloc_tile [addr = %addr] [valid_row = %valid_row] [valid_col = %valid_col] {..} : T",
        ),
        (
            "pto.subview",
            "%result = pto.subview %source[%offsets, ..] sizes SIZES [valid [%valid_row, %valid_col]] {..} : T -> T",
        ),
        ("pto.load_scalar", "%result = pto.load_scalar %ptr[%offset] {..} : T -> T"),
        ("pto.trap", "pto.trap {..}"),
        ("arith.addf", "%result = arith.addf %lhs, %rhs {..} : T"),
    ],
)
def test_synopsis(name: str, form: str) -> None:
    assert synopsis(OPS[name]) == form


def test_every_row_has_a_form_without_directives() -> None:
    for row in OPS.values():
        assert not set("`$^") & set(synopsis(row)), row.name
