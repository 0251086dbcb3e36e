"""Slots of the queues between the cores of a block: the ops stay, their pointers become memrefs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.core import Op
from pptc.passes.lower_tiles.frame import Frame, loop_type


def _wait(frame: Frame, op: Op) -> None:
    type = loop_type(op.result.type)
    assert type is not None
    frame.define(op.result, frame.code.value(op.name, (), type, dict(op.attributes)))


def _pass_on(frame: Frame, op: Op) -> None:
    frame.code.create(op.name, (frame.value(op.operand("slot")),), (), dict(op.attributes))


SLOT_OPS: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        "tile.claim_slot": _wait,
        "tile.receive_slot": _wait,
        "tile.send_slot": _pass_on,
        "tile.free_slot": _pass_on,
    }
)
