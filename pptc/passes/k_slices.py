"""Slices along k of matrix operands: where they start, how long they are, and how to load a longer one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pptc.ir.analysis import constant_of, defining_block, is_inside, readers, root_pointer, root_tile
from pptc.ir.attrs import UNIT
from pptc.ir.builder import Builder
from pptc.ir.constants import attribute_value
from pptc.ir.core import Op, Value
from pptc.ir.kinds import box
from pptc.ir.ranges import difference, linear
from pptc.ir.rewrite import constant
from pptc.passes.handles import Extent, extents_of, new_tile, tile_type
from pptc.passes.homes import PRIVATE
from pptc.passes.tile_facts import is_direct, is_plain, matrix_part, only_writer, stays_unchanged
from pptc.passes.windows import window_part


@dataclass(frozen=True, slots=True)
class Slice:
    """A private operand tile that one tload or textract fills.

    `axis` is the tile's k axis. Along it the slice starts at `start` of the source and has `size` elements, along the
    other axis at `across` with `width` elements.
    """

    load: Op
    tile: Value
    axis: int
    start: Value
    across: Value
    size: Extent
    width: Extent

    def build(self, builder: Builder) -> Value:
        """Load the slice into a fresh tile, whatever the size of the old one."""
        assert isinstance(self.size, int)
        old = tile_type(self.tile)
        extents = (self.width, self.size) if self.axis else (self.size, self.width)
        unit = box(old)[self.axis]
        physical = -(-self.size // unit) * unit
        shape = replace(old, cols=physical) if self.axis else replace(old, rows=physical)
        tile = new_tile(builder, shape, extents, {PRIVATE: UNIT}, self.tile.name)
        offsets = (self.across, self.start) if self.axis else (self.start, self.across)
        if self.load.name == "pto.tload":
            part = window_part(builder, self.load.operand("src"), offsets, extents)
            operands: dict[str, Value] = {"src": part, "dst": tile}
        else:
            operands = {"src": self.load.operand("src"), "row": offsets[0], "column": offsets[1], "dst": tile}
        made = builder.create(self.load.name, operands, (), dict(self.load.attributes))
        made.span, made.loc = self.load.span, self.load.loc
        return tile


def slice_of(handle: Value, axis: int) -> Slice | None:
    """The slice that an operand of a product is; None when something else makes the tile."""
    load, root = only_writer(handle), root_tile(handle)
    if load is None or not is_plain(load) or not is_direct(handle) or defining_block(root) is not load.block:
        return None
    extents = extents_of(handle)
    if extents is None or extents != extents_of(load.operand("dst")):
        return None
    if load.name == "pto.tload":
        part = matrix_part(load.operand("src"))
        if part is None or part.sizes != extents:
            return None
        offsets = part.offsets
    elif load.name == "pto.textract" and is_direct(load.operand("src")):
        offsets = load.operand("row"), load.operand("column")
    else:
        return None
    return Slice(load, root, axis, offsets[axis], offsets[1 - axis], extents[axis], extents[1 - axis])


def over_trips(found: Slice | None, loop: Op, trips: int) -> Slice | None:
    """The slice that all trips of a loop make up, or None when they leave gaps or change along the other axis."""
    if found is None or any(reader not in loop.walk() for reader in readers(found.tile)):
        return None
    induction = loop.body.args[0]
    lower, step = constant_of(loop.operand("lower")), constant_of(loop.operand("step"))
    form = linear(found.start)
    if lower is None or step is None or form.coefficient(induction) != 1:
        return None
    sizes = [_size_at(found.size, induction, lower + step * trip) for trip in range(trips)]
    if any(size != step for size in sizes[:-1]) or not sizes[-1] or not 0 < sizes[-1] <= step:
        return None
    start = _value_at(found.start, induction, loop.operand("lower"), loop)
    if start is None or not _is_fixed(found, loop):
        return None
    return replace(found, start=start, size=step * (trips - 1) + sizes[-1])


def _is_fixed(found: Slice, loop: Op) -> bool:
    """True when all but the place along k is made outside of the loop."""
    outer: list[Value] = [found.across]
    if isinstance(found.width, Value):
        outer.append(found.width)
    if found.load.name == "pto.tload":
        part = matrix_part(found.load.operand("src"))
        assert part is not None
        outer += [part.op.operand("source"), *part.op.group("offsets")[:-2]]
    else:
        outer.append(root_tile(found.load.operand("src")))
        outer.append(found.load.operand("src"))
    return not any(is_inside(value, loop) for value in outer)


def _value_at(value: Value, induction: Value, replacement: Value, loop: Op) -> Value | None:
    """`value` at the first trip, made in front of the loop from its linear form."""
    form = linear(value)
    others = {term: factor for term, factor in form.terms.items() if term is not induction}
    if any(is_inside(term, loop) for term in others):
        return None
    builder = Builder.before(loop)
    total: Value | None = None
    for term, factor in others.items():
        scaled = (
            term if factor == 1 else builder.value("arith.muli", (term, constant(builder, factor)), term.type)
        )
        total = scaled if total is None else builder.value("arith.addi", (total, scaled), term.type)
    base = form.constant + (constant_of(replacement) or 0)
    if total is None:
        return constant(builder, base)
    return total if base == 0 else builder.value("arith.addi", (total, constant(builder, base)), total.type)


def _size_at(size: Extent, induction: Value, place: int) -> int | None:
    return size if isinstance(size, int) else evaluate(size, {induction: place})


def evaluate(value: Value, known: dict[Value, int], depth: int = 16) -> int | None:
    """An integer value where some values are known; None when it depends on others."""
    if value in known:
        return known[value]
    op = value.op
    if op is None or depth == 0 or not op.definition.pure or op.definition.reference is None:
        return None
    if op.name == "arith.constant":
        found = attribute_value(op.attributes["value"])
        return found if isinstance(found, int) else None
    operands = [evaluate(operand, known, depth - 1) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    result = op.definition.reference(op, *operands)
    return result if isinstance(result, int) else None


def joined(first: Slice | None, second: Slice | None, end: Op) -> Slice | None:
    """The slice of both, when the second starts where the first ends and nothing changes the source in between."""
    if first is None or second is None or first.load.name != second.load.name:
        return None
    if not (isinstance(first.size, int) and isinstance(second.size, int)):
        return None
    same = _source_of(first) == _source_of(second) and difference(first.across, second.across) == 0
    if not same or first.width != second.width or difference(second.start, first.start) != first.size:
        return None
    if not _is_stable(first, end):
        return None
    return replace(first, size=first.size + second.size)


def _source_of(found: Slice) -> tuple[object, ...]:
    if found.load.name != "pto.tload":
        return (found.load.operand("src"),)
    part = matrix_part(found.load.operand("src"))
    assert part is not None
    return part.op.operand("source"), part.op.group("offsets")[:-2]


def _is_stable(found: Slice, end: Op) -> bool:
    """True when the load may run again in front of `end`."""
    source = found.load.operand("src")
    if found.load.name == "pto.tload":
        return stays_unchanged(root_pointer(source), found.load, [end])
    return only_writer(source) is not None
