"""When tiles are alive, in the order of the text, and how to lay bytes so that what lives together lies apart."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from pptc.ir.analysis import ancestor_in, defining_block, tile_uses
from pptc.ir.core import Op, Value
from pptc.passes.homes import STRIP
from pptc.passes.tile_facts import late_readers


@dataclass(frozen=True, slots=True)
class Request:
    """`size` bytes from time `start` to time `end`, both included."""

    start: int
    end: int
    size: int


class Lifetimes:
    """Times are the places of ops in a walk of the function; an op lasts until the last op inside of it."""

    def __init__(self, function: Op) -> None:
        self._enter: dict[Op, int] = {}
        self._leave: dict[Op, int] = {}
        self._number(function)

    def _number(self, op: Op) -> None:
        self._enter[op] = len(self._enter)
        for region in op.regions:
            for block in region.blocks:
                for inner in block:
                    self._number(inner)
        self._leave[op] = len(self._enter) - 1

    def of(self, tile: Value) -> tuple[int, int]:
        """From the first op that touches a tile to the last, in the block that allocates it.

        What touches it inside of a loop of that block makes it live through the whole loop. Tiles that copy it may be
        read in place, so it lives as long as they do. The ops of a row run phase by phase and not in the order of the
        text, so a row of a strip loop lives through the whole trip.
        """
        block, alloc = defining_block(tile), tile.op
        assert alloc is not None
        if alloc.parent is not None and STRIP in alloc.parent.attributes:
            return self._enter[alloc.parent], self._leave[alloc.parent]
        touching = [use.op for use in tile_uses(tile)] + late_readers(tile)
        places = [place for op in touching if (place := ancestor_in(op, block)) is not None] or [alloc]
        end = len(self._enter) if len(places) < len(touching) else 0
        return min(self._enter[op] for op in places), max([end, *(self._leave[op] for op in places)])


def packed(requests: list[Request]) -> tuple[list[int], int]:
    """The offset of every request, and the bytes that all take together.

    In the order of their starts, each goes to the smallest gap between what lives then.
    """
    offsets = [0] * len(requests)
    active: list[tuple[int, int, int]] = []  # offset, offset behind, end of life
    total = 0
    for number in sorted(range(len(requests)), key=lambda i: (requests[i].start, i)):
        request = requests[number]
        active = [place for place in active if place[2] >= request.start]
        offset = _best_gap([(first, behind) for first, behind, _ in active], request.size)
        offsets[number] = offset
        insort(active, (offset, offset + request.size, request.end))
        total = max(total, offset + request.size)
    return offsets, total


def _best_gap(taken: list[tuple[int, int]], size: int) -> int:
    """Where the smallest gap that fits begins; behind all others when none does."""
    best: tuple[int, int] | None = None
    end = 0
    for first, behind in taken:
        gap = first - end
        if gap >= size and (best is None or gap < best[0]):
            best = gap, end
        end = max(end, behind)
    return best[1] if best else end
