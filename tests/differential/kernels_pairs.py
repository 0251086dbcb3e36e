"""Cube and vector functions that work on one block, with tiles passing between them: halves, both ways, odd extents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.differential.case import Case, Runs
from tests.differential.writer import Writer, tile_type

Array = Any
Index = int | str


class PipeOps(Writer):
    """The ops on pipes, for a writer of the function NAME_cube or NAME_vector."""

    @property
    def core(self) -> str:
        """`cube` or `vector`."""
        return self.name.rsplit("_", 1)[1]

    @property
    def _other(self) -> str:
        return "aiv" if self.core == "cube" else "aic"

    def open(
        self, mask: int, slot: int, *, id: int = 0, slots: int = 0, own: str = "", base: int = 0
    ) -> None:
        """Open a pipe whose popped tiles lie at `base` of the space `own`."""
        number = f"id = {id}, " if id else ""
        depth = f", slot_num = {slots}" if slots else ""
        count = slots or (4 if mask == 3 else 8)
        pair = self.name.rsplit("_", 1)[0]
        clauses = []
        for bit, (key, consumer) in enumerate((("c2v_consumer_buf", "vector"), ("v2c_consumer_buf", "cube"))):
            if not mask >> bit & 1:
                continue
            name = f'name = "{pair}_{key}_{id}"'
            if consumer == self.core:
                buffer = (
                    f"pto.reserve_buffer {{{name}, size = {count * slot}, location = #pto.address_space<{own}>, "
                    f"auto = false, base = {base}}} -> i32"
                )
            else:
                buffer = f"pto.import_reserved_buffer {{{name}, peer_func = @{pair}_{consumer}}} -> i32"
            clauses.append(f"{key} = {self.value(buffer, 'i32')} : i32")
        side = "aic" if self.core == "cube" else "aiv"
        self.line(
            f"pto.{side}_initialize_pipe {{{number}dir_mask = {mask}, slot_size = {slot}{depth}}} ({', '.join(clauses)})"
        )

    def push(self, tile: str, split: int = 0, id: int = 0) -> None:
        """Hand a tile to the other side."""
        self.line(f"pto.tpush_to_{self._other}({tile} : {self.types[tile]}) {{id = {id}, split = {split}}}")

    def pop(self, type: str, split: int = 0, id: int = 0, valid: Sequence[str] = ()) -> str:
        """The next tile of the other side."""
        given = f"({', '.join(valid)})" if valid else ""
        return self.value(
            f"pto.tpop_from_{self._other}{given} {{id = {id}, split = {split}}} -> {type}", type
        )

    def free(self, split: int = 0, id: int = 0) -> None:
        """Give the oldest popped tile back."""
        self.line(f"pto.tfree_from_{self._other} {{id = {id}, split = {split}}}")

    def lane(self) -> str:
        """This vector core's number as an index."""
        return self.cast(self.value("pto.get_subblock_idx", "i64"))


class Side(PipeOps):
    """One of the two functions."""

    def __init__(self, name: str, core: str, arguments: dict[str, str]) -> None:
        super().__init__(f"{name}_{core}", arguments)


def pair(
    *, ulps: float = 4, absolute: float = 0.0, **arguments: str
) -> Callable[[Callable[[Side, Side], Runs]], Case]:
    """Makes a case of a function that writes the cube's and the vector's function and returns the runs."""

    def make(write: Callable[[Side, Side], Runs]) -> Case:
        name = write.__name__
        cube, vector = Side(name, "cube", arguments), Side(name, "vector", arguments)
        runs = write(cube, vector)
        return Case(name, arguments, f"{cube}{vector}", runs, ulps, absolute)

    return make


def _product(k: Side, x: str, w: str, rows: Index, depth: int, columns: int, *, physical: int = 16) -> str:
    """x @ w of two partitions as an f32 accumulator with `rows` valid rows."""
    left = k.tile(f"{physical}x{depth}xf16", (rows, depth), space="left")
    right = k.tile(f"{depth}x{columns}xf16", (depth, columns), space="right")
    total = k.tile(f"{physical}x{columns}xf32", (rows, columns), space="acc")
    k.load(x, left)
    k.load(w, right)
    return k.product(left, right, total)


def _exact(x: Array, w: Array) -> Array:
    return x.astype(np.float64) @ w.astype(np.float64)


@pair(x="*f16", w="*f16", y="*f32", tiles="i32", absolute=1e-4)
def halves_above_each_other(cube: Side, vector: Side) -> Runs:
    """More tiles than slots; each vector core scales and stores its 8 rows."""
    cube.open(1, 2048, slots=3)
    count = cube.cast("%tiles")
    x, w = cube.view("x", cube.arith("muli", count, 16), 32), cube.whole("w", 32, 32)
    with cube.loop(count) as i:
        part = cube.part(x, (cube.arith("muli", i, 16), 0), (16, 32))
        cube.push(_product(cube, part, w, 16, 32, 32), split=1)
    vector.open(1, 2048, slots=3, own="vec")
    count = vector.cast("%tiles")
    y, lane = vector.view("y", vector.arith("muli", count, 16), 32), vector.lane()
    half = vector.number("0.5", "f32")
    with vector.loop(count) as i:
        got = vector.pop(tile_type("8x32xf32"), split=1)
        out = vector.tile("8x32xf32")
        vector.op("tmuls", (got, half), out)
        vector.free(split=1)
        first = vector.arith("addi", vector.arith("muli", i, 16), vector.arith("muli", lane, 8))
        vector.store(out, vector.part(y, (first, 0), (8, 32)))
    tiles = 11
    return Runs(
        {"x": (16 * tiles, 32), "w": (32, 32), "y": (16 * tiles, 32)},
        lambda x, w, y, tiles: {"y": np.vstack([0.5 * _exact(x[: 16 * tiles], w), y[16 * tiles :]])},
        ({"tiles": tiles}, {"tiles": 0}, {"tiles": 1}),
    )


@pair(x="*f16", w="*f16", y="*f32", absolute=1e-4)
def halves_beside_each_other(cube: Side, vector: Side) -> Runs:
    """Left and right half of one tile."""
    cube.open(1, 16 * 64 * 4)
    cube.push(_product(cube, cube.whole("x", 16, 32), cube.whole("w", 32, 64), 16, 32, 64), split=2)
    vector.open(1, 16 * 64 * 4, own="vec")
    y, lane = vector.view("y", 16, 64), vector.lane()
    got = vector.pop(tile_type("16x32xf32"), split=2)
    out = vector.tile("16x32xf32")
    vector.op("tabs", got, out)
    vector.free(split=2)
    vector.store(out, vector.part(y, (0, vector.arith("muli", lane, 32)), (16, 32)))
    return Runs({"x": (16, 32), "w": (32, 64), "y": (16, 64)}, lambda x, w, y: {"y": np.abs(_exact(x, w))})


@pair(x="*f16", w="*f16", y="*f32", rows="i32", absolute=1e-4)
def an_odd_number_of_rows(cube: Side, vector: Side) -> Runs:
    """The second vector core has a row less than the first, and may get none."""
    cube.open(1, 15 * 32 * 4)
    rows = cube.cast("%rows")
    x = cube.part(cube.view("x", rows, 32), (0, 0), (rows, 32))
    total = _product(cube, x, cube.whole("w", 32, 32), rows, 32, 32, physical=15)
    cube.push(total, split=3)
    vector.open(1, 15 * 32 * 4, own="vec")
    rows, start = vector.cast("%rows"), vector.arith("muli", vector.lane(), 8)
    own = vector.arith("minsi", vector.arith("maxsi", vector.arith("subi", rows, start), 0), 8)
    got = vector.pop(tile_type("8x32xf32", ("%n", 32)), split=3, valid=(own,))
    out = vector.tile("8x32xf32", (own, 32))
    vector.op("tadd", (got, got), out)
    vector.free(split=3)
    vector.store(out, vector.part(vector.view("y", rows, 32), (start, 0), (own, 32)))
    return Runs(
        {"x": (15, 32), "w": (32, 32), "y": (15, 32)},
        lambda x, w, y, rows: {"y": np.vstack([2 * _exact(x[:rows], w), y[rows:]])},
        ({"rows": 15}, {"rows": 1}, {"rows": 7}),
    )


@pair(x="*f16", w="*f16", y="*f32", absolute=2e-2)
def there_and_back(cube: Side, vector: Side) -> Runs:
    """Products to the vector cores, their rounded exponentials back as an operand, the second product to memory."""
    for side in (cube, vector):
        side.open(3, 16 * 32 * 4, own="mat" if side is cube else "vec")
    cube.push(_product(cube, cube.whole("x", 16, 32), cube.whole("w", 32, 32), 16, 32, 32), split=1)
    back = cube.pop(tile_type("16x32xf16", space="mat"), split=1)
    left = cube.tile("16x32xf16", space="left")
    right, total = cube.tile("32x32xf16", space="right"), cube.tile("16x32xf32", space="acc")
    cube.op("tmov", back, left)
    cube.load(cube.whole("w", 32, 32), right)
    cube.product(left, right, total)
    cube.free(split=1)
    cube.store(total, cube.whole("y", 16, 32))
    got = vector.pop(tile_type("8x32xf32"), split=1)
    small, grown, narrow = vector.tile("8x32xf32"), vector.tile("8x32xf32"), vector.tile("8x32xf16")
    vector.op("tmuls", (got, vector.number("0.03125", "f32")), small)
    vector.free(split=1)
    vector.op("texp", small, grown)
    vector.op("tcvt", grown, narrow, "rmode = #pto<round_mode RINT>")
    vector.push(narrow, split=1)
    return Runs(
        {"x": (16, 32), "w": (32, 32), "y": (16, 32)},
        lambda x, w, y: {"y": _exact(np.exp(_exact(x, w) / 32).astype(np.float16), w)},
    )


def _grid_of_products() -> Runs:
    def want(x: Array, y: Array) -> Mapping[str, Array]:
        found = y.astype(np.float64)
        for block in range(4):
            rows = -x[8 * block : 8 * block + 8].astype(np.float64)
            found[16 * block : 16 * block + len(rows)] = 1 + rows @ x[:16].astype(np.float64).T
        return {"y": found}

    return Runs({"x": (29, 64), "y": (64, 16)}, want, grid=(4,))


@pair(absolute=1e-4, x="*f32", y="*f32", __pypto_spmd_block_idx="i32", __pypto_spmd_block_num="i32")
def one_vector_core(cube: Side, vector: Side) -> Runs:
    """No split: whole tiles of one vector core, by two pipes, on a grid; the last of the tiles is short."""
    for side in (cube, vector):
        side.open(2, 16 * 64 * 4, own="mat")
        side.open(1, 16 * 16 * 4, id=1, own="vec")
    block = vector.cast("%__pypto_spmd_block_idx")
    row = vector.arith("muli", block, 8)
    left = vector.arith("minsi", vector.arith("subi", 29, row), 8)
    tile = vector.tile("8x64xf32", (left, 64))
    vector.load(vector.part(vector.view("x", 29, 64), (row, 0), (left, 64)), tile)
    vector.op("tneg", tile, tile)
    vector.push(tile)
    back = vector.pop(tile_type("16x16xf32", ("%n", 16)), id=1, valid=(left,))
    sums = vector.tile("16x16xf32", (left, 16))
    vector.op("tadds", (back, vector.number("1.0", "f32")), sums)
    vector.free(id=1)
    vector.store(
        sums, vector.part(vector.view("y", 64, 16), (vector.arith("muli", block, 16), 0), (left, 16))
    )
    row = cube.arith("muli", cube.cast("%__pypto_spmd_block_idx"), 8)
    left = cube.arith("minsi", cube.arith("subi", 29, row), 8)
    got = cube.pop(tile_type("16x64xf32", ("%n", 64), space="mat"), valid=(left,))
    a = cube.tile("16x64xf32", (left, 64), space="left")
    cube.op("tmov", got, a)
    cube.free()
    b = cube.tile("64x16xf32", space="right")
    turned = cube.view("x", 64, 16, strides=(1, 64), layout="dn")
    cube.load(cube.part(turned, (0, 0), (64, 16)), b)
    total = cube.tile("16x16xf32", (left, 16), space="acc")
    cube.product(a, b, total)
    cube.push(total, id=1)
    return _grid_of_products()


@pair(x="*f32", y="*f32")
def slots_as_views(cube: Side, vector: Side) -> Runs:
    """The vector core fills a slot piece by piece and hands it over; the cube copies it out."""
    for side in (cube, vector):
        side.open(2, 8 * 32 * 4, own="mat")
    type = "!pto.tensor_view<8x32xf32>"
    slot = vector.value("pto.talloc_to_aic {split = 0} -> " + type, type)
    for row in (0, 4):
        tile = vector.tile("4x32xf32")
        vector.load(vector.part(vector.view("x", 8, 32), (row, 0), (4, 32)), tile)
        vector.store(tile, vector.part(slot, (row, 0), (4, 32)))
    vector.push(slot)
    got = cube.pop(type)
    copy = cube.tile("8x32xf32", space="mat")
    cube.load(cube.part(got, (0, 0), (8, 32)), copy)
    cube.line(f"pto.tfree_from_aiv({got} : {type}) {{split = 0}}")
    cube.store(copy, cube.whole("y", 8, 32))
    return Runs({"x": (8, 32), "y": (8, 32)}, lambda x, y: {"y": x})


@dataclass(frozen=True)
class Stuck:
    """A pair whose cores wait for each other for ever."""

    name: str
    text: str


def _stuck(write: Callable[[Side, Side], None]) -> Stuck:
    name = write.__name__
    cube, vector = Side(name, "cube", {"y": "*f32"}), Side(name, "vector", {"y": "*f32"})
    write(cube, vector)
    return Stuck(name, f"{cube}{vector}")


@_stuck
def nothing_is_pushed(cube: Side, vector: Side) -> None:
    """A pop that no push answers."""
    cube.open(1, 1024)
    vector.open(1, 1024, own="vec")
    tile = vector.pop(tile_type("8x32xf32"))
    vector.free()
    vector.store(tile, vector.whole("y", 8, 32))


@_stuck
def nothing_is_freed(cube: Side, vector: Side) -> None:
    """More pushes than slots, and no slot comes back."""
    cube.open(1, 1024, slots=2)
    total = cube.tile("16x16xf32", space="acc")
    with cube.loop(3):
        cube.push(total)
    vector.open(1, 1024, slots=2, own="vec")
    with vector.loop(3):
        vector.pop(tile_type("16x16xf32"))


CASES = (
    halves_above_each_other,
    halves_beside_each_other,
    an_odd_number_of_rows,
    there_and_back,
    one_vector_core,
    slots_as_views,
)
STUCK = (nothing_is_pushed, nothing_is_freed)
