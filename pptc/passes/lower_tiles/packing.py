"""Packing of `right` operands into panels: `[N / columns][K / group][columns][group]`.

Three ways, by how the source lies: its columns side by side (vectors along columns), its rows side by side (vectors
along k, transposed in registers), anything else (one element at a time). Elements narrower than a lane are widened on
the way, unless a dot instruction takes them. Lanes of columns that do not exist hold anything, k beyond the last row
holds zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pptc.ir.attrs import ArrayAttr
from pptc.ir.core import Value
from pptc.ir.scalars import compute_type
from pptc.ir.types import I32, I64, ScalarType, VectorType
from pptc.passes.lower_tiles.code import Code, Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Place, Strided, moved
from pptc.passes.lower_tiles.steps import Step
from pptc.passes.lower_tiles.tiles import Packed, Tile
from pptc.passes.panels import LANE_BYTES, Panel, panel_of

_OFFSET = 128
"""What an unsigned byte is larger by than the signed one with the same bits, but the first."""


def pack(frame: Frame, step: Step) -> None:
    """The writer of a tile whose home is a panel."""
    tile = step.destination
    assert isinstance(tile, Tile) and tile.start is not None
    panel = panel_of(frame.machine, tile.elem)
    assert panel is not None, "residency gave a panel to a machine without one"
    source = Source(step.sources[0].place(frame), step.rows, step.columns)
    tile.root.packed = tile.packed = pack_panels(frame, source, panel, tile.start)


@dataclass(frozen=True)
class Source:
    """A k x n operand: `depth` rows of `columns` elements at a place."""

    place: Place
    depth: Index
    columns: Index


def pack_panels(frame: Frame, source: Source, panel: Panel, start: Index) -> Packed:
    """Pack an operand into the scratch from byte `start` on."""
    elem = source.place.elem if panel.group > 1 else operand_type(source.place.elem)
    packer = _Packer(frame, source, panel, frame.memory(start, elem), elem)
    packer.pack()
    return Packed(start, elem, packer.groups, packer.pitch)


def operand_type(elem: ScalarType) -> ScalarType:
    """The type that products of an element type are formed in without a dot instruction."""
    return compute_type(elem) if elem.is_float else I32


def operand(lanes: Lanes, x: Lane) -> Lane:
    """An element as a factor: widened to the type of the accumulator."""
    return x if x.type.is_float or x.type == I32 else lanes.cast("arith.extsi", x, I32)


class _Packer:
    """Packs an operand. All indices into `memory` count packed elements."""

    def __init__(self, frame: Frame, source: Source, panel: Panel, memory: Value, elem: ScalarType) -> None:
        self.memory = memory
        self._elem = elem
        self._frame = frame
        self._code: Code = frame.code
        self._place, self._depth, self._columns = source.place, source.depth, source.columns
        self._panel = panel
        self.groups = self._code.div(self._code.add(self._depth, panel.group - 1), panel.group)
        self.pitch = self._code.add(self.groups, int(panel.sums is not None))
        self._width = frame.lanes_over(8 * LANE_BYTES, (source.place,))
        self._masks = frame.has_masks(source.place.elem)
        self._whole = isinstance(self._columns, int) and self._columns % panel.columns == 0

    def pack(self) -> None:
        """All panels."""
        place = self._place
        if self._width > 1:
            self._along_columns()
        elif isinstance(place, Strided) and place.row_stride == 1:
            self._each_panel(lambda j: self._along_depth(j, place))
        else:
            self._each_panel(self._one_by_one)
        if self._panel.sums is not None:
            self._each_panel(self._sums)

    def _each_panel(self, body: Callable[[Index], None], first: Index = 0) -> None:
        self._code.loop(first, self._columns, self._panel.columns, lambda j, _: body(j))

    def _base(self, j: Index) -> Value:
        """The panel that starts at column `j`."""
        return moved(
            self._code, self.memory, self._code.mul(j, self._code.mul(self.pitch, self._panel.group))
        )

    def _sums(self, j: Index) -> None:
        """-128 times the sum of each column, behind the last group: every left element is 128 too large."""
        code, panel, base = self._code, self._panel, self._base(j)
        width = self._frame.machine.lanes(8 * LANE_BYTES)
        lanes, bytes_ = Lanes(code, width), Lanes(code, width * panel.group)
        ones, instruction = bytes_.constant(1, self._elem).value, {"instruction": str(panel.sums)}
        firsts = range(0, panel.columns, width)

        def at(group: Index, first: int) -> Index:
            return code.mul(code.add(code.mul(group, panel.columns), first), panel.group)

        def add(group: Index, totals: list[Value]) -> list[Value]:
            packed = [bytes_.load_raw(base, at(group, first), self._elem) for first in firsts]
            return [
                code.value("vector.dot", (total, ones, x), total.type, instruction)
                for total, x in zip(totals, packed, strict=True)
            ]

        zero = code.constant(lanes.shaped(I32), 0)
        for first, total in zip(firsts, code.loop(0, self.groups, 1, add, [zero] * len(firsts)), strict=True):
            scaled = lanes.mul(Lane(total, I32), lanes.constant(-_OFFSET, I32))
            self._store_lanes(scaled.value, base, at(self.groups, first))

    # -- vectors along columns

    def _along_columns(self) -> None:
        """Row by row over all panels: so the source is read as it lies."""
        code, group = self._code, self._panel.group
        whole = code.div(self._depth, group)
        code.loop(0, whole, 1, lambda g, _: self._row_of_groups(g, group))
        left = code.rem(self._depth, group)
        if left != 0:  # zeros stand for the rows that are missing in the last group
            for rows in range(1, group):
                code.branch(code.compare("eq", left, rows), partial(self._row_of_groups, whole, rows))
        if not self._whole and not self._masks:
            self._each_panel(self._one_by_one, self._full_columns())

    def _full_columns(self) -> Index:
        return self._code.floor(self._columns, self._panel.columns)

    def _row_of_groups(self, g: Index, rows: int) -> None:
        code, full, step = self._code, self._full_columns(), self._panel.columns
        code.loop(0, full, step, lambda j, _: self._group_of_rows(j, g, rows, masked=False))
        if not self._whole and self._masks:
            self._each_panel(lambda j: self._group_of_rows(j, g, rows, masked=True), full)

    def _group_of_rows(self, j: Index, g: Index, rows: int, masked: bool) -> None:
        code, group, width, base = self._code, self._panel.group, self._width, self._base(j)
        lanes = Lanes(code, width)
        lines = [self._place.line(code, code.add(code.mul(g, group), row)) for row in range(rows)]
        for first in range(0, self._panel.columns, width):
            column = code.add(j, first)
            mask = lanes.mask(code.sub(self._columns, column)) if masked else None
            loaded = [lanes.load_raw(*line.at(code, column), self._place.elem, mask) for line in lines]
            if group == 1:
                packed = operand(lanes, lanes.widen(loaded[0], self._place.elem)).value
            else:
                zero = code.constant(lanes.shaped(self._elem), 0)
                packed = _interleaved(code, loaded + [zero] * (group - rows))
            index = code.mul(code.add(code.mul(g, self._panel.columns), first), group)
            code.create("vector.store", (packed, base, code.index(index)))

    # -- vectors along k

    def _along_depth(self, j: Index, place: Strided) -> None:
        code, panel, base = self._code, self._panel, self._base(j)
        width = self._frame.machine.lanes(8 * LANE_BYTES)
        block = width * panel.group
        whole = code.floor(self._depth, block)
        columns = place.transposed()

        def some(k: Index) -> None:
            for first in range(0, panel.columns, width):
                rows = [
                    self._down(columns, self._inside(code.add(j, first + i)), k, width) for i in range(width)
                ]
                group = code.div(k, panel.group)
                for i, row in enumerate(_transposed(code, rows)):
                    index = code.add(code.mul(code.add(group, i), panel.columns), first)
                    self._store_lanes(row, base, code.mul(index, panel.group))

        code.loop(0, whole, block, lambda k, _: some(k))
        self._one_by_one(j, whole)

    def _inside(self, column: Index) -> Index:
        """The column, or the last one where a panel reaches beyond."""
        return column if self._whole else self._code.min(column, self._code.sub(self._columns, 1))

    def _down(self, columns: Place, column: Index, k: Index, width: int) -> Value:
        """`width` lanes of a column from row `k` on."""
        code, group = self._code, self._panel.group
        lanes, at = Lanes(code, width * group), columns.line(code, column).at(code, k)
        loaded = lanes.load_raw(*at, columns.elem)
        if group == 1:
            return operand(lanes, lanes.widen(loaded, columns.elem)).value
        return code.value("vector.bitcast", (loaded,), VectorType(width, I32))

    def _store_lanes(self, lanes: Value, base: Value, index: Index) -> None:
        code, type = self._code, lanes.type
        assert isinstance(type, VectorType)
        if self._panel.group > 1:
            packed = VectorType(type.lanes * self._panel.group, self._elem)
            lanes = code.value("vector.bitcast", (lanes,), packed)
        code.create("vector.store", (lanes, base, code.index(index)))

    # -- one element at a time

    def _one_by_one(self, j: Index, first: Index = 0) -> None:
        code, panel, base, lanes = self._code, self._panel, self._base(j), Lanes(self._code, 1)
        count = code.min(panel.columns, code.sub(self._columns, j))
        zero = lanes.constant(0, compute_type(self._elem))

        def store(x: Lane, k: Index, c: Index) -> None:
            lane = code.add(code.mul(code.div(k, panel.group), panel.columns), c)
            index = code.add(code.mul(lane, panel.group), code.rem(k, panel.group))
            lanes.store(x, base, index, self._elem)

        def read(k: Index, c: Index) -> Lane:
            x = lanes.load(*self._place.line(code, k).at(code, code.add(j, c)), self._place.elem)
            return x if panel.group > 1 else operand(lanes, x)

        def row(k: Index) -> None:
            code.loop(0, count, 1, lambda c, _: store(read(k, c), k, c))
            code.loop(count, panel.columns, 1, lambda c, _: store(zero, k, c))

        def padding(k: Index) -> None:
            code.loop(0, panel.columns, 1, lambda c, _: store(zero, k, c))

        code.loop(first, self._depth, 1, lambda k, _: row(k))
        code.loop(self._depth, code.mul(self.groups, panel.group), 1, lambda k, _: padding(k))


def shuffled(code: Code, a: Value, b: Value, lanes: list[int]) -> Value:
    """The lanes of `a` and `b`, counted through, in this order."""
    assert isinstance(a.type, VectorType)
    mask = {"mask": ArrayAttr(I64, tuple(lanes))}
    return code.value("vector.shuffle", (a, b), VectorType(len(lanes), a.type.elem), mask)


def _interleaved(code: Code, rows: list[Value]) -> Value:
    """Element by element from each of 2 or 4 vectors in turn."""
    while len(rows) > 1:
        half = len(rows) // 2
        rows = [_pairs(code, rows[i], rows[i + half]) for i in range(half)]
    return rows[0]


def _pairs(code: Code, a: Value, b: Value) -> Value:
    assert isinstance(a.type, VectorType)
    width = a.type.lanes
    return shuffled(code, a, b, [i + width * side for i in range(width) for side in (0, 1)])


def _transposed(code: Code, rows: list[Value]) -> list[Value]:
    """As many vectors as they have lanes, transposed by rounds of two-input shuffles."""
    width, distance = len(rows), len(rows) // 2
    while distance:
        following = list(rows)
        for i in (i for i in range(width) if not i & distance):
            for target, high in ((i, 0), (i | distance, distance)):
                picked = [
                    j // (2 * distance) * 2 * distance + high + j % distance + (width if j & distance else 0)
                    for j in range(width)
                ]
                following[target] = shuffled(code, rows[i], rows[i | distance], picked)
        rows, distance = following, distance // 2
    return rows
