"""The check of flags against a graph: random straight programs, and which of their ops a path orders."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from tests.ir.test_sync_check import VEC, both, check, flag, load, part, store, tiles, unary

TILES = ("t", "u", "v", "w")
ROWS = ("c0", "c1", "c8", "c16")
PIPES = ("MTE2", "V", "MTE3", "S")


@dataclass(frozen=True)
class Step:
    """A statement: its pipe (ALL for a barrier), what it reads and writes, and the number of the set it waits for."""

    text: str
    pipe: str
    reads: frozenset[tuple[str, int]] = frozenset()
    writes: frozenset[tuple[str, int]] = frozenset()
    waits_for: int | None = None


def tile_bytes(tile: str) -> frozenset[tuple[str, int]]:
    """Tiles of 256 bytes, each 128 bytes behind the one before."""
    first = 128 * TILES.index(tile)
    return frozenset(("vec", byte) for byte in range(first, first + 256))


def elements(pointer: str, row: str) -> frozenset[tuple[str, int]]:
    first = 8 * int(row[1:])
    return frozenset((pointer, element) for element in range(first, first + 64))


def access(choose: random.Random, number: int) -> Step:
    """A load, an exponential, a store, or a read of one element."""
    tile, other, row = choose.choice(TILES), choose.choice(TILES), choose.choice(ROWS)
    kind = choose.choice(("load", "exp", "store", "get"))
    tag = str(number)
    if kind == "load":
        pointer = choose.choice("xz")
        text = load(f"p{pointer}{row}", tile, tag)
        return Step(text, "MTE2", elements(pointer, row), tile_bytes(tile))
    if kind == "exp":
        return Step(unary("texp", tile, other, tag), "V", tile_bytes(tile), tile_bytes(other))
    if kind == "store":
        return Step(store(tile, f"pz{row}", tag), "MTE3", tile_bytes(tile), elements("z", row))
    text = f"%e{tag} = pto.tgetval ins(%{tile}, %{row} : {VEC}, index) outs : f32 // {tag}"
    first = 128 * TILES.index(tile) + 4 * int(row[1:])
    return Step(text, "S", frozenset(("vec", byte) for byte in range(first, first + 4)))


def program(choose: random.Random) -> list[Step]:
    """Accesses, barriers, and flags whose waits come later, none raised twice."""
    steps: list[Step] = []
    pending: dict[tuple[str, str], int] = {}
    for _ in range(choose.randrange(4, 24)):
        kind, pair = choose.random(), tuple(choose.sample(PIPES, 2))
        if kind < 0.45:
            steps.append(access(choose, len(steps)))
        elif kind < 0.5:
            steps.append(Step("pto.barrier <PIPE_ALL>", "ALL"))
        elif pair in pending:
            steps.append(Step(flag("wait", *pair), pair[1], waits_for=pending.pop(pair)))
        else:
            pending[pair] = len(steps)
            steps.append(Step(flag("set", *pair), pair[0]))
    for pair, number in pending.items():
        steps.append(Step(flag("wait", *pair), pair[1], waits_for=number))
    return steps


def before(steps: list[Step]) -> list[set[int]]:
    """The steps that are over for certain when each one starts."""
    over: list[set[int]] = []
    for number, step in enumerate(steps):
        known: set[int] = set()
        for earlier in range(number):
            other = steps[earlier]
            stops_all = other.pipe == "ALL" or (other.pipe == "S" and other.waits_for is not None)
            if step.pipe in ("ALL", other.pipe) or earlier == step.waits_for:
                known |= over[earlier] | {earlier}
            elif stops_all:
                # The scalar unit's own accesses are not over when it issues the next op.
                known |= (
                    over[earlier]
                    if other.pipe == "ALL"
                    else over[other.waits_for or 0] | {other.waits_for or 0}
                )
        over.append(known)
    return over


def conflicts(steps: list[Step]) -> set[tuple[int, int]]:
    """Pairs of steps that touch one place, one of them writing, with no path between them."""
    over = before(steps)
    return {
        (first, second)
        for second, after in enumerate(steps)
        for first, early in enumerate(steps[:second])
        if first not in over[second]
        and (early.writes & (after.reads | after.writes) or early.reads & after.writes)
    }


@pytest.mark.parametrize("seed", range(150))
def test_a_race_is_found_where_no_path_orders(seed: int) -> None:
    steps = program(random.Random(seed))
    setup = [line for tile in TILES for line in tiles(tile)]
    setup = [
        line.replace("arith.constant 0", f"arith.constant {128 * (n // 2)}") for n, line in enumerate(setup)
    ]
    setup += [part(f"p{pointer}{row}", f"v{pointer}", f"%{row}") for pointer in "xz" for row in ROWS]
    watched, tags = check([*setup, *both("M", "FIX"), *(step.text for step in steps)])
    races = {
        (int(tags[one.notes[0].span.position[0]]), int(tags[one.span.position[0]]))
        for one in watched.findings()
        if one.span is not None and one.notes[0].span is not None
    }
    expected = conflicts(steps)
    assert races <= expected
    assert bool(races) == bool(expected)
    assert not watched.unpaired
