"""What `tile.home` promises, executed: a reference for residency that knows nothing of how the lowering works.

A row runs phase by phase. Values without bytes are computed again in every phase that asks for them, views are read where
they lie at that very moment, strips may share the destination row, and an accumulator is stored when its product is done.
If a home was wrong, the numbers are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pptc.ir.analysis import is_handle_op, readers, root_tile, uses, writers
from pptc.ir.core import Block, Op, Value
from pptc.ir.interp import _bind, find_entry
from pptc.ir.interp_frame import Frame, Grid
from pptc.ir.interp_ops import execute
from pptc.ir.storage import Tile
from pptc.ir.types import TileType
from pptc.passes.homes import HOME, ROW, STRIP, integer
from pptc.passes.phases import phases_of


def run_homes(module: Op, entry: str, arguments: Mapping[str, Any], grid: int = 1) -> dict[str, Any]:
    """The arrays after a run on copies."""
    copies = {name: value.copy() if hasattr(value, "copy") else value for name, value in arguments.items()}
    (function,) = find_entry(module, entry).functions
    named = _bind(function, copies)
    for block in range(grid):
        place = Grid(block, grid)
        values = [place.role(role) if value is None else value for value, role in named]
        with np.errstate(all="ignore"):  # as run_kernel: overflow to infinity is a value
            _Model(Frame(module, place, False, None)).block(function.body, values)
    return {name: value for name, value in copies.items() if isinstance(value, np.ndarray)}


def _home(tile: Value) -> str:
    maker = root_tile(tile).op
    return str(maker.attributes.get(HOME, "arena")) if maker is not None else "arena"


def _tiles(op: Op, reads: bool) -> Iterator[Value]:
    for use in uses(op):
        if isinstance(use.value.type, TileType) and (use.reads if reads else use.writes):
            yield use.value


class _Bytes:
    """An arena whose bytes are a part of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array.view(np.uint8)

    def bytes(self, start: int, size: int) -> Any:
        return self.array[start : start + size]


class _Model:
    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.done: dict[Op, None] = {}  # stores that ran with their product

    def block(self, block: Block, arguments: Any = ()) -> list[Any]:
        self.frame.set(block.args, arguments)
        for op in block:
            if op.definition.terminator:
                return self.frame.get(op.operands)
            self.op(op)
        return []

    def op(self, op: Op) -> None:
        frame = self.frame
        if op.name == "scf.for":
            lower, upper, step, *carried = frame.get(op.operands)
            for index in range(lower, upper, step):
                if STRIP in op.attributes:
                    self.row(op, index)
                else:
                    carried = self.block(op.body, [index, *carried])
            frame.set(op.results, carried)
        elif op.name == "scf.if":
            region = op.regions[0 if frame.values[op.operands[0]] else 1]
            frame.set(op.results, self.block(region.block) if region.blocks else [])
        elif op in self.done:
            del self.done[op]
        else:
            self.refresh(op)
            frame.set(op.results, execute(frame, op) or ())
            for tile in _tiles(op, reads=False):
                if _home(tile) == "accumulator":
                    (reader,) = readers(root_tile(tile))
                    execute(frame, reader)
                    self.done[reader] = None

    def refresh(self, op: Op) -> None:
        """Read again what an op takes from tiles without bytes."""
        for tile in _tiles(op, reads=True):
            if _home(tile) in ("view", "register"):
                (writer,) = dict.fromkeys(writers(root_tile(tile)))
                is_scalar = root_tile(tile).type.cols == 1  # type: ignore[attr-defined]
                if _home(tile) == "view" or not is_scalar:
                    self.refresh(writer)
                    execute(self.frame, writer)

    # -- strip loops

    def row(self, loop: Op, index: int) -> None:
        self.frame.set(loop.body.args, [index])
        phases = phases_of(loop).of
        for op in loop.body:
            if op.definition.terminator or not (op.definition.pure or is_handle_op(op)):
                continue
            self.frame.set(op.results, execute(self.frame, op) or ())
        for op in loop.body:
            if op.name == "pto.alloc_tile" and ROW in op.attributes:
                self.share_row(loop, op)
        for phase in range(phases_of(loop).count):
            ops = [op for op in phases if phases[op] == phase]
            for op in ops:
                self.recompute(op, phases, phase)
            for op in ops:
                execute(self.frame, op)

    def recompute(self, op: Op, phases: Mapping[Op, int], phase: int) -> None:
        """Compute again, as the phase begins, what an op takes from tiles without bytes of earlier phases."""
        for tile in _tiles(op, reads=True):
            root = root_tile(tile)
            is_scalar = root.type.cols == 1  # type: ignore[attr-defined]
            if _home(tile) == "view" or (_home(tile) == "register" and not is_scalar):
                (writer,) = dict.fromkeys(writers(root))
                if writer not in phases:
                    self.refresh(op)
                elif phases[writer] < phase:
                    self.recompute(writer, phases, phase)
                    execute(self.frame, writer)

    def share_row(self, loop: Op, alloc: Op) -> None:
        """Put a strip into the destination row of its store."""
        (store,) = [
            op for op in loop.body if op.name == "pto.tstore" and integer(op, ROW) == integer(alloc, ROW)
        ]
        view = self.frame.values[store.operand("dst")]
        old: Tile = self.frame.values[alloc.result]
        type = replace(old.type, cols=old.v_col, v_col=old.v_col)
        first = view.base.offset * view.base.elem.bytes
        shared = Tile(type, _Bytes(view.base.array), first, 1, old.v_col, type)  # type: ignore[arg-type]
        for field in ("type", "arena", "start", "whole"):
            setattr(old, field, getattr(shared, field))
        for op in loop.body:  # handles were made from the old place
            if is_handle_op(op) and op.operands and op.results and root_tile(op.result) is alloc.result:
                self.frame.set(op.results, execute(self.frame, op) or ())
