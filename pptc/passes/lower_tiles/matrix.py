"""Matrix products: blocks of the micro-kernel over panels of columns (outermost) and rows.

The tile program says what a product is, the machine how large a block of registers is; the two are independent.
`left` is read in place where its layout allows, `right` is a panel that its writer packed, or is packed here. The
product of an accumulator tile is formed where its tstore stands, straight into the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pptc.ir.core import Op
from pptc.ir.machine import MatrixTile
from pptc.ir.opdef import Spread
from pptc.ir.types import ScalarType
from pptc.passes.homes import row_pitch
from pptc.passes.lower_tiles import rows
from pptc.passes.lower_tiles.code import Condition, Index
from pptc.passes.lower_tiles.contraction import Operands
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.micro_kernel import INSIDE, Edge, MicroKernel, Product
from pptc.passes.lower_tiles.packing import Source, operand, operand_type, pack_panels
from pptc.passes.lower_tiles.places import Place, Strided
from pptc.passes.lower_tiles.steps import Source as StepSource
from pptc.passes.lower_tiles.steps import Step
from pptc.passes.lower_tiles.tiles import Packed, Tile, View
from pptc.passes.panels import panel_for

_FEW_ROWS = 4
"""A right operand that so few rows are multiplied with is read in place: packing it would cost as much again."""


def lower_contraction(frame: Frame, operands: Operands) -> None:
    """Form a product, or keep it until its accumulator is stored."""
    target = operands.target
    if target.root.home == "accumulator":
        frame.products[target.root] = lambda step: _form(
            frame, operands, step.place(frame), step.rows, step.columns, None
        )
        return
    count, columns = target.extents()
    _form(frame, operands, target.locate(), count, columns, target)


def store_product(frame: Frame, step: Step) -> Step | None:
    """Form the product that a tstore takes from an accumulator; any other step is given back."""
    source = step.sources[0].matrix if step.sources else None
    form = frame.products.get(source.root) if isinstance(source, Tile) else None
    if form is None:
        return step
    form(step)
    return None


def _form(
    frame: Frame, operands: Operands, place: Place, count: Index, columns: Index, home: Tile | None
) -> None:
    block = _block(frame, operands.left.elem)
    depth = operands.left.extents()[1]
    right = _right(frame, operands.right, count, columns, depth, block)
    if isinstance(count, int):
        block = _fitted(frame, block, count, columns, isinstance(right, Packed))
    product = Product(
        rows=count,
        columns=columns,
        depth=depth,
        left=_left(frame, operands.left, count, depth, block),
        right=right,
        acc=operands.target.elem,
        target=place,
        start=operands.start.locate() if operands.start else None,
        bias=operands.bias.locate() if operands.bias else None,
    )
    tiles = [home, operands.start] if operands.start else [home]
    _Blocks(frame, product, block, tiles).emit()


def _block(frame: Frame, elem: ScalarType) -> MatrixTile:
    """The machine's register block; of the f32 form where it has none for an element type."""
    found = frame.machine.matrix.get(elem.name)
    if found is not None:
        return found
    return replace(frame.machine.matrix.get("f32", MatrixTile(4, 2)), group=1, instruction=None)


def _fitted(frame: Frame, block: MatrixTile, count: int, columns: Index, is_packed: bool) -> MatrixTile:
    """The block for so few rows. A right operand in place is read in longer runs, with the registers that are free."""
    rows = max(1, min(block.rows, count))
    if is_packed:
        return replace(block, rows=rows)
    vectors = max(block.vectors, block.rows * block.vectors // rows)
    if isinstance(columns, int):
        vectors = min(vectors, -(-columns // frame.machine.lanes(32)))
    return replace(block, rows=rows, vectors=max(1, vectors))


# ---------------------------------------------------------------- operands


def _left(frame: Frame, tile: Tile, count: Index, depth: Index, block: MatrixTile) -> Place:
    """The left operand in place, or copied to rows of the type that it is multiplied in."""
    place = tile.locate()
    elem = tile.elem if block.group > 1 else operand_type(tile.elem)
    if isinstance(place, Strided) and elem == tile.elem and (block.group == 1 or place.column_stride == 1):
        return place
    whole = replace(tile.type, elem=elem, slayout="row_major")
    pitch = row_pitch(whole)
    memory = frame.memory(frame.shared("left", tile.type.rows * pitch * elem.bytes), elem)
    copy = View(memory, elem, (count, depth), (pitch, 1))
    source = StepSource(Spread.FULL, tile)

    def factor(lanes: Lanes, values: Sequence[Lane]) -> Lane:
        return operand(lanes, values[0]) if block.group == 1 else values[0]

    rows.lower_step(frame, Step(_origin(frame), (source,), copy, count, depth, factor))
    return copy.place


def _origin(frame: Frame) -> Op:
    assert frame.code.origin is not None
    return frame.code.origin


def _right(
    frame: Frame, tile: Tile, count: Index, columns: Index, depth: Index, block: MatrixTile
) -> Packed | Place:
    if tile.root.packed is not None:
        return tile.root.packed
    place = tile.locate()
    lanes = frame.machine.lanes(32)
    panel = panel_for(frame.machine, block)
    masks = frame.has_masks(tile.elem)
    whole = isinstance(columns, int) and columns % panel.columns == 0
    few = isinstance(count, int) and count <= _FEW_ROWS
    if few and block.group == 1 and place.run % lanes == 0 and (whole or masks):
        return place
    start = frame.shared("right", panel.bytes(tile.type.rows, tile.type.cols))
    return pack_panels(frame, Source(place, depth, columns), panel, start)


# ---------------------------------------------------------------- blocks


class _Blocks:
    """All blocks of a product. `tiles` are those that it reads or writes beside its factors; None is global memory."""

    def __init__(self, frame: Frame, product: Product, block: MatrixTile, tiles: list[Tile | None]) -> None:
        self._code = frame.code
        self._product = product
        self._rows = block.rows
        self._kernel = MicroKernel(frame, product, block)
        self._columns = self._kernel.columns
        whole = isinstance(product.columns, int) and product.columns % self._columns == 0
        packed = product.bias is None and isinstance(product.right, Packed)
        self._fits = whole or (packed and all(map(self._has_room, tiles)))

    def _has_room(self, tile: Tile | None) -> bool:
        """Whether the columns beyond the valid region, up to a whole panel, are the tile's own."""
        return tile is not None and tile.origin is None and tile.type.cols % self._columns == 0

    def emit(self) -> None:
        """Panels of columns outermost, so that a panel stays in the cache while the rows pass by."""
        code, product = self._code, self._product
        code.loop(0, product.columns, self._columns, lambda j, _: self._panel(j))

    def _panel(self, j: Index) -> None:
        code, count, step = self._code, self._product.rows, self._rows
        fits = self._fits or code.compare("sle", code.add(j, self._columns), self._product.columns)
        if not isinstance(count, int):
            code.loop(0, count, step, lambda i, _: self._block(i, j, fits))
            return
        whole = code.floor(count, step)
        code.loop(0, whole, step, lambda i, _: self._rows_of(i, j, step, fits))
        if count % step:
            self._rows_of(whole, j, count % step, fits)

    def _rows_of(self, i: Index, j: Index, count: int, fits: Condition) -> None:
        """So many rows, all of which exist."""
        edge = Edge(columns=self._product.columns)
        self._code.branch(
            fits,
            lambda: self._kernel.emit(i, j, count, INSIDE),
            lambda: self._kernel.emit(i, j, count, edge),
        )

    def _block(self, i: Index, j: Index, fits: Condition) -> None:
        """A block of which the last rows may not exist; a single row has a kernel of its own."""
        code, product = self._code, self._product
        below = code.compare("sle", code.add(i, self._rows), product.rows)
        columns = None if fits is True else product.columns
        last = code.compare("eq", code.add(i, 1), product.rows)
        code.branch(
            code.both(below, fits),
            lambda: self._kernel.emit(i, j, self._rows, INSIDE),
            lambda: code.branch(
                last,
                lambda: self._kernel.emit(i, j, 1, Edge(columns=columns)),
                lambda: self._kernel.emit(i, j, self._rows, Edge(product.rows, columns)),
            ),
        )
