"""Elements and rows of global memory, and of tiles, reached by numbers: one element at a time, never out of range."""

from __future__ import annotations

from collections.abc import Callable

from pptc.ir.core import Op, Value
from pptc.ir.kinds import attribute, by_rows, plain
from pptc.ir.types import INDEX, ScalarType
from pptc.passes.lower_tiles.atomics import update_element
from pptc.passes.lower_tiles.code import Condition, Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.overlap import destination, share_bytes
from pptc.passes.lower_tiles.places import Line
from pptc.passes.lower_tiles.tiles import Tile

Element = tuple[Value, Index]


def number_at(frame: Frame, tile: Tile, line: Line, column: Index) -> Index:
    """A number of an integer tile as an index."""
    raw = Lanes(frame.code, 1).load_raw(*line.at(frame.code, column), tile.elem)
    widened = "arith.index_castui" if tile.elem.kind == "uint" else "arith.index_cast"
    return frame.code.value(widened, (raw,), INDEX)


def _held(frame: Frame, number: Index, count: Index, mode: str) -> tuple[Index, Condition]:
    """A number held in range, and whether it stands for something."""
    code = frame.code
    some = code.compare("slt", 0, count)
    if mode == "wrap":
        return code.rem(code.add(code.rem(number, count), count), count), some
    held = code.max(0, code.min(number, code.sub(count, 1)))
    if mode in ("zero", "skip"):
        some = code.both(code.compare("sle", 0, number), code.compare("slt", number, count))
    return held, some


def _each(
    frame: Frame,
    op: Op,
    extents: tuple[Index, Index],
    mode: str,
    body: Callable[[Index, Index, Element, Condition], None],
) -> None:
    """Call `body` with row, column, element of global memory and whether there is one, for every element."""
    code, view, numbers = frame.code, frame.views[op.operand("mem")], frame.tiles[op.operand("idx")]
    (height, width), there, here = view.shape(code), view.place, numbers.locate()
    lies = numbers.type.rows == 1
    rows, columns = extents

    def row(r: Index, _: list[Value]) -> None:
        if not by_rows(op):
            code.loop(0, columns, 1, lambda c, _: one(r, c))
            return
        at = (0, r) if lies else (r, 0)
        held, some = _held(frame, number_at(frame, numbers, here.line(code, at[0]), at[1]), height, mode)
        line = there.line(code, held)
        code.loop(0, columns, 1, lambda c, _: body(r, c, line.at(code, c), some))

    def one(r: Index, c: Index) -> None:
        number = number_at(frame, numbers, here.line(code, r), c)
        held, some = _held(frame, number, code.mul(height, width), mode)
        line = there.line(code, code.div_natural(held, width))
        body(r, c, line.at(code, code.rem_natural(held, width)), some)

    code.loop(0, rows, 1, row)


def lower_memory_gather(frame: Frame, op: Op) -> None:
    """mgather."""
    code, target = frame.code, frame.tiles[op.operand("dst")]
    mode = str(plain(attribute(op, "gatherOob")))
    place, finish = destination(frame, op, [frame.tiles[op.operand("idx")]], target, target.extents())
    lanes, elem = Lanes(code, 1), target.elem

    def put(r: Index, c: Index, element: Element, some: Condition) -> None:
        out = place.line(code, r).at(code, c)
        code.branch(
            some,
            lambda: lanes.store(lanes.load(*element, elem), *out, elem),
            lambda: _store_zero(frame, out, elem),
        )

    _each(frame, op, target.extents(), mode, put)
    finish()


def _store_zero(frame: Frame, out: Element, elem: ScalarType) -> None:
    memory, index = out
    zero = frame.code.constant(Lanes(frame.code, 1).shaped(elem), 0)
    frame.code.create("memref.store", (zero, memory, frame.code.index(index)))


def lower_memory_scatter(frame: Frame, op: Op) -> None:
    """mscatter."""
    code, source = frame.code, frame.tiles[op.operand("src")]
    mode, kind = (str(plain(attribute(op, name))) for name in ("scatterOob", "scatterAtomicOp"))
    place, lanes = source.locate(), Lanes(code, 1)

    def put(r: Index, c: Index, element: Element, some: Condition) -> None:
        x = lanes.load(*place.line(code, r).at(code, c), source.elem)
        code.branch(some, lambda: write(x, element))

    def write(x: Lane, element: Element) -> None:
        if kind == "none":
            lanes.store(x, *element, source.elem)
        else:
            memory, index = element
            update_element(lanes, kind, lanes.narrow(x, source.elem), memory, code.index(index))

    _each(frame, op, source.extents(), "skip" if mode == "undefined" else mode, put)


def lower_scatter(frame: Frame, op: Op) -> None:
    """tscatter: what shares bytes with the destination is copied first."""
    code, target = frame.code, frame.tiles[op.operand("dst")]
    source, numbers = frame.tiles[op.operand("src")], frame.tiles[op.operand("indexes")]
    if share_bytes(source, target) or share_bytes(numbers, target):
        raise frame.unsupported("pto.tscatter into a tile that shares bytes with its sources")
    rows, columns = source.extents()
    height, _ = target.extents()
    from_, here, there, lanes = source.locate(), numbers.locate(), target.locate(), Lanes(code, 1)

    def one(r: Index, c: Index) -> None:
        held, some = _held(frame, number_at(frame, numbers, here.line(code, r), c), height, "skip")
        x = lanes.load(*from_.line(code, r).at(code, c), source.elem)
        code.branch(some, lambda: lanes.store(x, *there.line(code, held).at(code, c), target.elem))

    code.loop(0, rows, 1, lambda r, _: _none(code.loop(0, columns, 1, lambda c, _: one(r, c))))


def _none(_: object) -> None:
    """Loops without carried values."""
