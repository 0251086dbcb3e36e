"""The pipe of every row that touches memory, and of the moves between all pairs of spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from pptc.ir.chip_pipes import work_of
from pptc.ir.core import Block, Op
from pptc.ir.ops import OPS
from pptc.ir.types import F32, PartType, TileType, Type
from tests.ir.op_samples import types_of

OTHERS: Mapping[str, tuple[str, ...]] = {
    "PIPE_MTE2": ("pto.tload", "pto.mgather", "pto.tpop_from_aiv", "pto.tpop_from_aic"),
    "PIPE_MTE3": ("pto.tstore", "pto.mscatter", "tile.tstore_add", "pto.tpush_to_aiv", "pto.tpush_to_aic"),
    "PIPE_M": tuple(f"pto.{word}{form}" for word in ("tmatmul", "tgemv") for form in ("", ".acc", ".bias")),
    "PIPE_S": ("pto.load_scalar", "pto.store_scalar", "pto.tgetval", "pto.tsetval"),
    "": (
        *("pto.comm.tput", "pto.comm.tget", "pto.comm.tnotify", "pto.comm.twait", "pto.comm.ttest"),
        *("pto.tprint", "tile.send_slot", "tile.free_slot"),
    ),
}
"""Rows that run on another pipe than PIPE_V when their tiles are in vec; on none that is known."""


def _space(space: str) -> Type:
    """A tile of a space, or a part of global memory."""
    return PartType((16, 16), F32) if space == "gm" else TileType(space, F32, 16, 16, 16, 16)


def _op(name: str, given: Mapping[str, Type]) -> Op:
    """An op with one operand per group; those not given are in vec where the kind lets them."""
    row, types = OPS[name], []
    for operand in row.operands:
        known: Sequence[Type] = types_of(operand.kind) or [_space("bias")]
        types.append(given.get(operand.name, known[0]))
    block = Block(types)
    return Op(
        row, block.args, [types_of(result.kind)[0] for result in row.results], segments=(1,) * len(types)
    )


def _touches_memory(name: str) -> bool:
    row = OPS[name]
    touched = any(
        operand.access != "value" and "memref" not in operand.kind.words for operand in row.operands
    )
    return row.dialect in ("pto", "tile") and (touched or ".tpop" in name) and "local_array" not in name


@pytest.mark.parametrize("name", [name for name in OPS if _touches_memory(name)])
def test_every_row_has_its_pipe(name: str) -> None:
    expected = next((pipe for pipe, names in OTHERS.items() if name in names), "PIPE_V")
    assert work_of(_op(name, {})).pipe == (expected or None)


@pytest.mark.parametrize(
    ("name", "source", "target", "pipe"),
    [
        ("tload", "gm", "mat", "PIPE_MTE2"),
        ("tload", "gm", "left", "PIPE_MTE2"),
        ("tstore", "acc", "gm", "PIPE_FIX"),
        ("tstore", "mat", "gm", "PIPE_MTE3"),
        *(("tmov", "mat", to, "PIPE_MTE1") for to in ("left", "right", "bias", "vec")),
        ("tmov", "mat", "scaling", "PIPE_FIX"),
        ("tmov", "acc", "vec", "PIPE_FIX"),
        ("tmov", "acc", "mat", "PIPE_FIX"),
        ("tmov", "vec", "mat", "PIPE_MTE3"),
        ("tmov", "vec", "vec", "PIPE_V"),
        ("textract", "mat", "left", "PIPE_MTE1"),
        ("textract", "acc", "mat", "PIPE_FIX"),
        ("tinsert", "acc", "mat", "PIPE_FIX"),
        ("tinsert", "vec", "mat", "PIPE_MTE3"),
        ("tfillpad", "mat", "mat", None),
    ],
)
def test_moves_run_on_the_pipe_of_their_spaces(name: str, source: str, target: str, pipe: str | None) -> None:
    assert work_of(_op(f"pto.{name}", {"src": _space(source), "dst": _space(target)})).pipe == pipe


def test_what_an_op_touches() -> None:
    insert = _op("pto.tinsert", {"src": _space("acc"), "dst": _space("mat")})
    source, target = insert.operand("src"), insert.operand("dst")
    assert work_of(insert).reads == (source, target) and work_of(insert).writes == (target,)
    trans = _op("pto.ttrans", {})
    assert work_of(trans).writes == (trans.operand("tmp"), trans.operand("dst"))
    pop = _op("pto.tpop_from_aic", {})
    assert work_of(pop).writes == (pop.result,)
    assert work_of(_op("tile.tstore_add", {"src": _space("acc")})).pipe == "PIPE_FIX"
    assert work_of(_op("pto.tpush_to_aiv", {"tile": _space("acc")})).pipe == "PIPE_FIX"
