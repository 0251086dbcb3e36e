"""Versions of the dialect: ops that come later, and the default of tcvt's satmode."""

from __future__ import annotations

import pytest

from pptc.diag import CompileError, Sink
from pptc.ir.dialect import check_version, settle_saturation
from tests.ir.kernels import Kernel


def _addrelu() -> Kernel:
    k = Kernel()
    k.op("pto.taddrelu", [k.tile("8x16xf32"), k.tile("8x16xf32")], k.tile("8x16xf32"))
    return k


@pytest.mark.parametrize(("version", "codes"), [("0.27", ["P0108"]), ("0.57", []), ("0.60", []), ("1.0", [])])
def test_ops_need_their_version(version: str, codes: list[str]) -> None:
    sink = Sink()
    check_version(_addrelu().module(), version, sink)
    assert [found.code for found in sink] == codes
    assert not codes or "pto.taddrelu needs dialect 0.57 or later, this is 0.27" in str(
        next(iter(sink)).message
    )


@pytest.mark.parametrize("version", ["", "new", "0.x", "0..1"])
def test_a_version_is_numbers(version: str) -> None:
    with pytest.raises(CompileError, match="is not a version"):
        check_version(_addrelu().module(), version, Sink())


def _convert(source: str, target: str, said: str = "") -> Kernel:
    k = Kernel()
    k.op("pto.tcvt", [k.tile(f"8x32x{source}")], k.tile(f"8x32x{target}"), inside=said)
    return k


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "i32"),
        ("f32", "f16"),
        ("f32", "bf16"),
        ("i32", "i8"),
        ("i32", "ui32"),
        ("ui32", "i32"),
        ("i32", "f16"),
    ],
)
def test_conversions_that_may_leave_the_range(source: str, target: str) -> None:
    """The warning comes once, unless satmode or the option says what is wanted; `error` refuses."""
    for said, choice, codes in (
        ("", None, ["W0004"]),
        ("", "on", []),
        ("", "off", []),
        ("", "error", ["P0206"]),
        ("satmode = #pto<saturation_mode OFF>", None, []),
        ("satmode = #pto<saturation_mode ON>", "error", []),
    ):
        sink, module = Sink(), _convert(source, target, said).module()
        settle_saturation(module, choice, sink)  # type: ignore[arg-type]
        assert [found.code for found in sink] == codes, (said, choice)


@pytest.mark.parametrize(
    ("source", "target"),
    [("bf16", "f32"), ("f16", "bf16"), ("i8", "i32"), ("ui8", "i16"), ("i32", "f32"), ("i8", "f16")],
)
def test_conversions_that_stay_in_range(source: str, target: str) -> None:
    for choice in (None, "error"):
        sink = Sink()
        settle_saturation(_convert(source, target).module(), choice, sink)  # type: ignore[arg-type]
        assert not len(sink)


@pytest.mark.parametrize(("choice", "word"), [("off", "OFF"), (None, None), ("on", None)])
def test_off_is_written_on_the_op(choice: str | None, word: str | None) -> None:
    module = _convert("f32", "i8").module()
    settle_saturation(module, choice, Sink())  # type: ignore[arg-type]
    (op,) = [op for op in module.walk() if op.name == "pto.tcvt"]
    assert op.attributes.get("satmode") == word
