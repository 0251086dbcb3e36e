"""How the interpreter executes each op: by its handler, by its row's meaning, or by its row's reference alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.attrs import EnumAttr, SymbolAttr
from pptc.ir.core import Block, Op, functions, symbol_name
from pptc.ir.interp_comm import COMM
from pptc.ir.interp_frame import Frame, Handler, Results, fault
from pptc.ir.interp_indexed import INDEXED
from pptc.ir.interp_masks import MASKS
from pptc.ir.interp_memory import MEMORY_HANDLERS
from pptc.ir.interp_pipes import PIPES
from pptc.ir.interp_rearrange import REARRANGEMENTS
from pptc.ir.interp_sort import SORTS
from pptc.ir.kinds import integers, keywords, plain, sources
from pptc.ir.lazy import np
from pptc.ir.opdef import ColumnReduce, Contract, Generate, Map, RowReduce, Spread, Window
from pptc.ir.storage import MemoryFault, Tile
from pptc.ir.types import LocalArrayType, ScalarType, element_type

Array = Any

_DEEPEST_CALL = 50


def run_function(frame: Frame, function: Op, arguments: Sequence[Any]) -> list[Any]:
    """Run a function's body; gives what it returns."""
    return run_block(frame, function.body, arguments)


def run_block(frame: Frame, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
    """Run the ops of a block; gives the operands of its terminator."""
    frame.set(block.args, arguments)
    step = frame.step or execute
    for op in block:
        if op.definition.terminator:
            return frame.get(op.operands)
        results = step(frame, op)
        if op.results:
            frame.set(op.results, results or ())
    return []


def execute(frame: Frame, op: Op) -> Results:
    """Run one op; gives its results."""
    try:
        handler = HANDLERS.get(op.name)
        if handler is not None:
            return handler(frame, op)
        by_meaning = MEANINGS.get(type(op.definition.meaning))
        if by_meaning is not None:
            return by_meaning(frame, op)
        if op.definition.reference is not None:
            return (op.definition.reference(op, *frame.get(op.operands)),)
    except MemoryFault as error:
        raise fault(op, "P0602", f"{op.name}: {error}") from None
    raise fault(op, "P0402", f"the reference interpreter has no meaning for {op.name}")


# ---------------------------------------------------------------- control flow


def _for(frame: Frame, op: Op) -> Results:
    lower, upper, step, *carried = frame.get(op.operands)
    if step <= 0:
        raise fault(op, "P0602", f"the loop's step is {step}; it must be positive")
    for index in range(lower, upper, step):
        carried = run_block(frame, op.body, [index, *carried])
    return carried


def _if(frame: Frame, op: Op) -> Results:
    region = op.regions[0 if frame.values[op.operands[0]] else 1]
    return run_block(frame, region.block) if region.blocks else []


def _switch(frame: Frame, op: Op) -> Results:
    """The region of the case that equals the index, else the default's, which comes first."""
    index = frame.one(op, "index")
    cases = integers(op.attributes["cases"])
    chosen = cases.index(index) + 1 if index in cases else 0
    return run_block(frame, op.regions[chosen].block)


def _while(frame: Frame, op: Op) -> Results:
    carried = frame.get(op.operands)
    while True:
        going, *passed = run_block(frame, op.regions[0].block, carried)
        if not going:
            return passed
        carried = run_block(frame, op.regions[1].block, passed)


def _call(frame: Frame, op: Op) -> Results:
    callee = op.attributes["callee"]
    name = callee.name if isinstance(callee, SymbolAttr) else callee
    for function in functions(frame.module):
        if symbol_name(function) == name and function.regions and function.regions[0].blocks:
            if frame.depth == _DEEPEST_CALL:
                raise fault(op, "P0602", f"@{name} calls itself without end")
            return run_function(frame.call(), function, frame.get(op.operands))
    raise fault(op, "P0103", f"no function is named @{name}")


# ---------------------------------------------------------------- element work


def _read(tile: Tile, rows: int, columns: int) -> Array:
    return numeric.widen(tile.read(rows, columns), tile.type.elem)


def _write(frame: Frame, tile: Tile, values: Array, rows: int, columns: int) -> None:
    """Round results to the tile's type and write them; what is outside of the valid region is unspecified then."""
    values = numeric.narrow(np.broadcast_to(values, (rows, columns)), tile.type.elem)
    tile.write(values)
    _leave_unspecified(frame, tile)


def _leave_unspecified(frame: Frame, tile: Tile) -> None:
    """After an op that wrote a tile, of an empty region too, nothing is known of what lies outside of the region."""
    if frame.poison and tile.whole is tile.type:
        tile.leave_unspecified(outside=True)


def _spoil_scratch(frame: Frame, op: Op) -> None:
    for operand in op.definition.operands:
        if frame.poison and operand.access == "scratch":
            for value in op.group(operand.name):
                frame.values[value].leave_unspecified(outside=False)


def _map(frame: Frame, op: Op) -> Results:
    meaning, reference = op.definition.meaning, op.definition.reference
    assert isinstance(meaning, Map) and reference is not None
    target: Tile = frame.one(op, meaning.destination)
    rows, columns = target.v_row, target.v_col
    shape = {Spread.FULL: (rows, columns), Spread.ROW: (rows, 1), Spread.COLUMN: (1, columns)}
    inputs = []
    for value, spread in sources(op, meaning):
        if spread is Spread.SCALAR:
            elem = element_type(value.type)
            assert elem is not None
            inputs.append(numeric.widen(np.asarray(frame.values[value], numeric.dtype_of(elem)), elem))
        else:
            inputs.append(_read(frame.values[value], *shape[spread]))
    _spoil_scratch(frame, op)
    if rows and columns:
        _write(frame, target, reference(*inputs, **keywords(op, meaning)), rows, columns)
    else:
        _leave_unspecified(frame, target)
    return None


def _reduce(frame: Frame, op: Op) -> Results:
    meaning, reference = op.definition.meaning, op.definition.reference
    assert isinstance(meaning, RowReduce | ColumnReduce) and reference is not None
    source: Tile = frame.one(op, meaning.source)
    values = _read(source, source.v_row, source.v_col)
    _spoil_scratch(frame, op)
    result = reference(values)
    target: Tile = frame.one(op, meaning.destination)
    if result.size:
        _write(frame, target, result, *result.shape)
    else:
        _leave_unspecified(frame, target)
    return None


def _contract(frame: Frame, op: Op) -> Results:
    meaning, reference = op.definition.meaning, op.definition.reference
    assert isinstance(meaning, Contract) and reference is not None
    lhs, rhs = frame.one(op, meaning.lhs), frame.one(op, meaning.rhs)
    target: Tile = frame.one(op, meaning.destination)
    rows, columns, inner = target.v_row, target.v_col, lhs.v_col
    more = {
        name: _read(frame.one(op, group), rows if name == "start" else 1, columns)
        for name, group in (("start", meaning.start), ("bias", meaning.bias))
        if group is not None
    }
    product = reference(_read(lhs, rows, inner), _read(rhs, inner, columns), **more)
    if rows and columns:
        _write(frame, target, product, rows, columns)
    else:
        _leave_unspecified(frame, target)
    return None


def _generate(frame: Frame, op: Op) -> Results:
    meaning, reference = op.definition.meaning, op.definition.reference
    assert isinstance(meaning, Generate) and reference is not None
    target: Tile = frame.one(op, meaning.destination)
    scalars = []
    for name in meaning.scalars:
        elem = element_type(op.operand(name).type)
        assert elem is not None
        scalars.append(np.asarray(frame.one(op, name), numeric.dtype_of(elem)))
    _spoil_scratch(frame, op)
    rows, columns = target.v_row, target.v_col
    if rows and columns:
        _write(frame, target, reference(rows, columns, *scalars, **keywords(op, meaning)), rows, columns)
    else:
        _leave_unspecified(frame, target)
    return None


def _window(frame: Frame, op: Op) -> Results:
    meaning = op.definition.meaning
    assert isinstance(meaning, Window)
    source, target = frame.one(op, meaning.source), frame.one(op, meaning.destination)
    row, column = frame.one(op, meaning.row), frame.one(op, meaning.column)
    inner = source if meaning.into else target
    rows, columns = inner.v_row, inner.v_col
    place = (0, 0) if meaning.into else (row, column)
    values = numeric.widen(source.read(rows, columns, *place), source.type.elem)
    values = numeric.narrow(values, target.type.elem)
    if meaning.into:
        target.write(values, row, column)
    elif rows and columns:
        _write(frame, target, values, rows, columns)
    else:
        _leave_unspecified(frame, target)
    return None


# ---------------------------------------------------------------- the rest


def _nothing(frame: Frame, op: Op) -> Results:
    return None


def _event(op: Op) -> tuple[str, ...]:
    """What names an event: the two ends and its number."""
    return tuple(
        str(plain(value)) for _, value in sorted(op.attributes.items()) if isinstance(value, EnumAttr)
    )


def _raise_event(frame: Frame, op: Op) -> Results:
    event = _event(op)
    frame.events[event] = frame.events.get(event, 0) + 1
    return None


def _wait_for_event(frame: Frame, op: Op) -> Results:
    """Program order has satisfied it, unless nothing ever raises it: a chip would hang."""
    event = _event(op)
    if not frame.events.get(event):
        raise fault(op, "P0602", f"{op.name} waits for an event that nothing before it raises")
    frame.events[event] -= 1
    return None


def _declare_array(frame: Frame, op: Op) -> Results:
    type = op.result.type
    assert isinstance(type, LocalArrayType)
    return (np.full(type.dims, _unspecified(frame, type.elem), numeric.dtype_of(type.elem)),)


def _unspecified(frame: Frame, elem: ScalarType) -> float:
    if not frame.poison:
        return 0
    return np.nan if elem.is_float else -1 if elem.kind != "uint" else 1


def _place(frame: Frame, op: Op) -> tuple[int, ...]:
    """The indices, each the nearest one that is in range."""
    sizes = frame.one(op, "array").shape
    return tuple(min(max(frame.values[i], 0), n - 1) for i, n in zip(op.group("indices"), sizes, strict=True))


def _get_element(frame: Frame, op: Op) -> Results:
    element = frame.one(op, "array")[_place(frame, op)]
    elem = element_type(op.result.type)
    return (element if elem is not None and elem.is_float else int(element),)


def _set_element(frame: Frame, op: Op) -> Results:
    frame.one(op, "array")[_place(frame, op)] = frame.one(op, "value")
    return None


def _trap(frame: Frame, op: Op) -> Results:
    raise fault(op, "P0602", "the kernel trapped")


MEANINGS: Mapping[type, Handler] = MappingProxyType(
    {
        **REARRANGEMENTS,
        **MASKS,
        **SORTS,
        **INDEXED,
        Map: _map,
        RowReduce: _reduce,
        ColumnReduce: _reduce,
        Contract: _contract,
        Window: _window,
        Generate: _generate,
    }
)

HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **MEMORY_HANDLERS,
        **PIPES,
        **COMM,
        "scf.for": _for,
        "scf.if": _if,
        "scf.while": _while,
        "scf.index_switch": _switch,
        "scf.execute_region": lambda frame, op: run_block(frame, op.body),
        "func.call": _call,
        "pto.get_block_idx": lambda frame, op: (frame.grid.block,),
        "pto.get_block_num": lambda frame, op: (frame.grid.blocks,),
        "pto.get_subblock_idx": lambda frame, op: (frame.grid.subblock,),
        "pto.get_subblock_num": lambda frame, op: (frame.grid.subblocks,),
        "pto.set_flag": _raise_event,
        "pto.wait_flag": _wait_for_event,
        "pto.record_event": _raise_event,
        "pto.wait_event": _wait_for_event,
        "pto.barrier": _nothing,
        "pto.cmo.cacheinvalid": _nothing,
        "pto.fence.barrier_all": _nothing,
        "pto.declare_local_array": _declare_array,
        "pto.local_array_get": _get_element,
        "pto.local_array_set": _set_element,
        "pto.tprefetch": _nothing,
        "pto.trap": _trap,
    }
)
