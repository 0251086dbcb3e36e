"""split-grid: gives the trips of a kernel's outermost independent loop to blocks, which the library runs on threads.

The loop takes the part of its trips that belongs to the block; run as one block the kernel does what it did before.
A loop is independent when all that the kernel stores is stored in it, through windows that the counter moves past each
other, and no tile lives from one trip to the next. `tile.divisible` on the function says that any number of blocks
gives the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pptc.ir.analysis import constant_of, is_inside, root_pointer, root_tile, uses
from pptc.ir.attrs import UNIT
from pptc.ir.builder import Builder
from pptc.ir.core import Op, Value
from pptc.ir.in_place import in_place_pairs
from pptc.ir.opdef import SIGNALS, WAITS
from pptc.ir.ranges import Linear, Ranges, linear, same_value
from pptc.ir.rewrite import constant
from pptc.ir.signature import DIVISIBLE, asks_for_grid, kernels
from pptc.ir.spmd import GRID_OPS
from pptc.ir.types import I64, INDEX, LocalArrayType, TileType
from pptc.passes.base import Pass, PassContext, Remark
from pptc.passes.homes import STRIP, is_private
from pptc.passes.tile_facts import MatrixPart, matrix_part
from pptc.passes.windows import rows_are_apart

_REFUSED = ("func.call", "pto.tprint", "pto.print", "pto.trap")


@dataclass(frozen=True)
class SplitGrid(Pass):
    """See the module."""

    name: ClassVar[str] = "split-grid"

    def run(self, module: Op, context: PassContext) -> bool:
        """Apply the pass to every kernel that does not ask for its block itself."""
        changed = False
        for function in kernels(module):
            asks = DIVISIBLE in function.attributes or asks_for_grid(function)
            loop = None if asks else _outermost(function)
            if loop is None:
                continue
            reason = _why_not(function, loop)
            if reason is None:
                _split(loop)
                function.attributes[DIVISIBLE] = UNIT
                changed = True
            else:
                message = f"the trips of this loop stay on one thread: {reason}"
                context.remarks.append(Remark(self.name, message, loop.span))
        return changed


def _outermost(function: Op) -> Op | None:
    """The first loop that is in no other one, strip loops aside."""
    for op in function.walk():
        if op.name == "scf.for" and STRIP not in op.attributes:
            return op
    return None


# ---------------------------------------------------------------- independence


def _why_not(function: Op, loop: Op) -> str | None:
    """What keeps the trips of a loop in order, if anything."""
    if loop.results:
        return "it carries values from trip to trip"
    if any(around.name == "scf.while" for around in loop.ancestors()):
        return "it runs inside of an scf.while"
    if constant_of(loop.operand("step")) is None:
        return "its step is no constant"
    for op in function.walk():
        if op.name in _REFUSED or not op.definition.traits.isdisjoint((WAITS, SIGNALS)):
            return f"the kernel has {op.name}"
    return _tiles_that_live(loop) or _stores_that_meet(function, loop)


def _tiles_that_live(loop: Op) -> str | None:
    """A tile that a later trip may find changed."""
    for op in loop.walk():
        for use in uses(op):
            if use.writes and isinstance(use.value.type, LocalArrayType) and not is_inside(use.value, loop):
                return "a local array from outside of it is written"
            if not isinstance(use.value.type, TileType) or not use.writes:
                continue
            maker = root_tile(use.value).op
            if maker is None or maker.name != "pto.alloc_tile" or not is_inside(maker.result, loop):
                return "a tile from outside of it is written"
            if not is_private(maker) and maker.group("addr"):
                return "a tile stays at its address, where another trip may find it"
    return None


def _stores_that_meet(function: Op, loop: Op) -> str | None:
    """An array of which two trips may write one element, or one read what another one writes."""
    touched = [(op, use) for op in function.walk() for use in uses(op) if use.reads or use.writes]
    outside = [(op, use) for op, use in touched if not isinstance(use.value.type, TileType | LocalArrayType)]
    written = dict.fromkeys(root_pointer(use.value) for _, use in outside if use.writes)
    for pointer in written:
        group = _same_memory(function, pointer)
        parts = [use.value for op, use in outside if root_pointer(use.value) in group]
        name = f"%{pointer.name}" if pointer.name else "an array"
        if any(not is_inside_op(op, loop) for op, use in outside if root_pointer(use.value) in group):
            return f"{name} is used outside of it too"
        if not _are_apart(loop, parts):
            return f"two trips may meet in {name}"
    return None


def is_inside_op(op: Op, loop: Op) -> bool:
    """True when an op stands in a region of `loop`."""
    return any(parent is loop for parent in op.ancestors())


def _same_memory(function: Op, pointer: Value) -> list[Value]:
    """A pointer and the arguments that a caller may pass the same array for."""
    arguments = function.body.args
    pairs = in_place_pairs(function)
    return [
        pointer,
        *(arguments[read] for written, read in pairs if arguments[written] is pointer),
        *(arguments[written] for written, read in pairs if arguments[read] is pointer),
    ]


def _are_apart(loop: Op, parts: list[Value]) -> bool:
    """True when the windows of one trip never meet those of another, all being windows of one dense matrix."""
    found = [matrix_part(part) for part in parts]
    windows = [part for part in found if part is not None]
    if len(windows) != len(found) or not all(rows_are_apart(part) for part in windows):
        return False
    if not all(_same_strides(windows[0], other) for other in windows):
        return False
    return any(_moves_past(loop, windows, axis) for axis in (0, 1))


def _same_strides(a: MatrixPart, b: MatrixPart) -> bool:
    return all(
        x == y or (isinstance(x, Value) and isinstance(y, Value) and same_value(x, y))
        for x, y in zip(a.strides, b.strides, strict=True)
    )


def _moves_past(loop: Op, windows: list[MatrixPart], axis: int) -> bool:
    """True when a step of the counter is at least as long as what all windows of a trip cover along an axis."""
    spans = [_span(loop, window, axis) for window in windows]
    known = [span for span in spans if span is not None]
    if len(known) != len(spans) or len({coefficient for coefficient, _, _, _ in known}) > 1:
        return False
    coefficient, base, _, _ = known[0]
    lows, highs = [], []
    for _, other, low, high in known:
        apart = other.plus(base, -1)
        if apart.terms:
            return False
        lows.append(apart.constant + low)
        highs.append(apart.constant + high)
    step = constant_of(loop.operand("step"))
    assert isinstance(step, int)
    return max(highs) - min(lows) <= abs(coefficient) * step


def _span(loop: Op, window: MatrixPart, axis: int) -> tuple[int, Linear, int, int] | None:
    """Along an axis a window is [c * counter + base + low, c * counter + base + high): c, base, low and high."""
    counter = loop.body.args[0]
    offset, ranges = linear(window.offsets[axis]), Ranges()
    coefficient = offset.coefficient(counter)
    low = high = 0
    base = Linear(offset.constant, {})
    for value, factor in offset.terms.items():
        if value is counter:
            continue
        if not is_inside(value, loop):
            base = base.plus(Linear(0, {value: factor}))
            continue
        found = ranges.of(value)
        ends = factor * found.low, factor * found.high
        low, high = low + min(ends), high + max(ends)
    size = window.sizes[axis]
    longest = size if isinstance(size, int) else ranges.of(size).high
    return (coefficient, base, low, high + max(longest, 0)) if coefficient else None


# ---------------------------------------------------------------- the split


def _split(loop: Op) -> None:
    """Let the loop run over the block's share of its trips: contiguous, so that neighbours stay together."""
    b = Builder.before(loop)
    lower, upper, step = (loop.operand(name) for name in ("lower", "upper", "step"))
    number, count = (b.value("arith.index_cast", (b.value(name, (), I64),), INDEX) for name in GRID_OPS)
    trips = b.value("arith.ceildivsi", (b.value("arith.subi", (upper, lower), INDEX), step), INDEX)
    following = b.value("arith.addi", (number, constant(b, 1)), INDEX)
    first, last = (_start(b, lower, step, block, trips, count) for block in (number, following))
    loop.set_operands(
        (first, b.value("arith.minsi", (last, upper), INDEX), *loop.operands[2:]), loop.segments
    )


def _start(b: Builder, lower: Value, step: Value, block: Value, trips: Value, count: Value) -> Value:
    share = b.value("arith.divsi", (b.value("arith.muli", (block, trips), INDEX), count), INDEX)
    return b.value("arith.addi", (lower, b.value("arith.muli", (share, step), INDEX)), INDEX)
