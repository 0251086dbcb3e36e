"""Which arguments of a kernel may be the very same memory: an output in the place of an input.

Proven only for row-wise kernels whose loads of the one and stores to the other touch the same window in every trip of
every loop, the load first, and windows of different trips are apart. Anything else is said to be unsafe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pptc.ir.analysis import ancestor_in, comes_before, constant_of, is_inside, uses
from pptc.ir.attrs import ArrayAttr
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Map, RowReduce
from pptc.ir.ranges import Ranges, linear, same_value
from pptc.ir.spmd import GRID_OPS, spmd_role
from pptc.ir.types import I64, PtrType, TileType

IN_PLACE = "tile.in_place"
"""Array of (written, read) argument numbers in pairs, on func.func: proven before passes took the rows apart."""

_FRAMES = ("func.func", "builtin.module")
_TILE_OPS = ("pto.alloc_tile", "pto.tload", "pto.tstore")


@dataclass(frozen=True, slots=True)
class Transfer:
    """A tload or tstore of a window of an argument."""

    op: Op
    pointer: Value
    view: Op  # make_tensor_view of the argument itself
    window: Op  # partition_view of the whole view


def in_place_pairs(function: Op) -> tuple[tuple[int, int], ...]:
    """(written, read) numbers of arguments that may be one array: proven now, or remembered from an earlier form."""
    known = function.attributes.get(IN_PLACE)
    if isinstance(known, ArrayAttr):
        return tuple(zip(known.values[::2], known.values[1::2], strict=False))
    return _proven(function)


def remember_in_place(function: Op) -> bool:
    """Write the pairs on the function, before passes give it a form that no longer shows them; whether any is new."""
    if IN_PLACE in function.attributes:
        return False
    pairs = _proven(function)
    if pairs:
        function.attributes[IN_PLACE] = ArrayAttr(I64, tuple(number for pair in pairs for number in pair))
    return bool(pairs)


def _proven(function: Op) -> tuple[tuple[int, int], ...]:
    arguments = function.body.args
    if not all(_is_row_wise(op) for op in function.walk()):
        return ()
    transfers = list(_transfers(function))
    if None in transfers:
        return ()
    known = [transfer for transfer in transfers if transfer is not None]
    grid = _grid_values(function)
    return tuple(
        (written.index, read.index)
        for written in arguments
        for read in arguments
        if written is not read and written.type == read.type and isinstance(written.type, PtrType)
        if _may_be_one(written, read, known, grid)
    )


def _is_row_wise(op: Op) -> bool:
    """True for ops that touch no tile, or whose rows depend on the same rows of their sources only."""
    if not any(isinstance(value.type, TileType) for value in (*op.operands, *op.results)):
        return True
    return op.name in _TILE_OPS or isinstance(op.definition.meaning, (Map, RowReduce))


def _transfers(function: Op) -> Iterator[Transfer | None]:
    """Everything that touches global memory; None for what is not a plain window of an argument."""
    for op in function.walk():
        for use in uses(op):
            if (use.reads or use.writes) and not isinstance(use.value.type, TileType):
                yield _transfer(op, use.value) if op.name in _TILE_OPS else None


def _transfer(op: Op, part: Value) -> Transfer | None:
    window = part.op
    view = window.operand("source").op if window and window.name == "pto.partition_view" else None
    if window is None or view is None or view.name != "pto.make_tensor_view":
        return None
    pointer = view.operand("ptr")
    return Transfer(op, pointer, view, window) if pointer.op is None else None


def _grid_values(function: Op) -> list[Value]:
    """What tells the blocks of a grid apart."""
    places = [v for v in function.body.args if spmd_role(function, v.index) not in ("", "block_num")]
    return places + [op.result for op in function.walk() if op.name == GRID_OPS[0]]


def _may_be_one(written: Value, read: Value, transfers: list[Transfer], grid: list[Value]) -> bool:
    stores = [t for t in transfers if t.pointer is written and t.op.name == "pto.tstore"]
    loads = [t for t in transfers if t.pointer is read and t.op.name == "pto.tload"]
    if not stores or not loads:
        return False
    if any(t.pointer is read and t.op.name == "pto.tstore" for t in transfers):
        return False
    return all(
        _same_window(store, load) and _is_earlier(load.op, store.op) and _trips_are_apart(load, store, grid)
        for store in stores
        for load in loads
    )


def _same_window(a: Transfer, b: Transfer) -> bool:
    groups = ((a.view, b.view, ("shape", "strides")), (a.window, b.window, ("offsets", "sizes")))
    return all(
        len(mine.group(name)) == len(other.group(name))
        and all(same_value(x, y) for x, y in zip(mine.group(name), other.group(name), strict=True))
        for mine, other, names in groups
        for name in names
    )


def _is_earlier(load: Op, store: Op) -> bool:
    """True when the load is done before the store in each trip of the loops that hold both."""
    for block_of, other, load_is_inner in ((load, store, False), (store, load, True)):
        assert block_of.block is not None
        place = ancestor_in(other, block_of.block)
        if place is not None:
            return comes_before(place, store) if load_is_inner else comes_before(load, place)
    return False


def _trips_are_apart(load: Transfer, store: Transfer, grid: list[Value]) -> bool:
    """True when every loop and the grid move the window, each along a dimension of its own, by its size or more."""
    loops = [op for op in store.op.ancestors() if op in list(load.op.ancestors()) and op.name not in _FRAMES]
    if any(op.name not in ("scf.for", "scf.if") for op in loops):
        return False
    counters = [op.body.args[0] for op in loops if op.name == "scf.for"] + grid
    offsets, sizes = store.window.group("offsets"), store.window.group("sizes")
    free = list(range(len(offsets)))
    for counter in counters:
        own = [
            d
            for d in free
            if _moves(counter, offsets[d], sizes[d]) and not _depends(offsets[d], counters, counter)
        ]
        if not own:
            return False
        free.remove(own[0])
    return True


def _moves(counter: Value, offset: Value, size: Value) -> bool:
    """True when one step of the counter moves the offset by the window's size or more."""
    owner = counter.owner
    loop = owner.region.op if not isinstance(owner, Op) and owner.region else None
    step = constant_of(loop.operand("step")) if loop is not None and loop.name == "scf.for" else 1
    coefficient = sum(c for value, c in linear(offset).terms.items() if _stripped(value) is counter)
    return step is not None and abs(coefficient) * step >= max(1, Ranges().of(size).high)


def _stripped(value: Value) -> Value:
    """The value behind casts between integer types."""
    while value.op is not None and value.op.name == "arith.index_cast":
        value = value.op.operands[0]
    return value


def _depends(offset: Value, counters: list[Value], but: Value) -> bool:
    """True when an offset depends on another counter than `but`, or on `but` through more than a sum."""
    for term in linear(offset).terms:
        value = _stripped(term)
        if value is not but and any(_reaches(value, counter) for counter in counters):
            return True
    return False


def _reaches(value: Value, target: Value) -> bool:
    """True when a value is computed from another one; values of loops count as computed from everything inside."""
    if value is target:
        return True
    if value.op is None or value.op.regions:
        return value.op is not None and is_inside(target, value.op)
    return any(_reaches(operand, target) for operand in value.op.operands)
