"""How the interpreter executes each op: control flow, handles, memory, and element work by a row's meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pptc.diag import CompileError, Sink
from pptc.ir import numeric
from pptc.ir.attrs import Attr, EnumAttr, IntAttr, SymbolAttr
from pptc.ir.core import Block, Op, Value, functions, symbol_name
from pptc.ir.kinds import keywords, sources
from pptc.ir.lazy import np
from pptc.ir.opdef import ColumnReduce, Contract, Map, RowReduce, Spread, Window
from pptc.ir.storage import Arena, MemoryFault, Pointer, Tile, View
from pptc.ir.types import ScalarType, TileType, element_type

Array = Any

_DEEPEST_CALL = 100


@dataclass(frozen=True)
class Grid:
    """The place of the running block."""

    block: int
    blocks: int

    def role(self, role: str) -> int:
        """The value of an SPMD argument; a block runs as one vector core."""
        return {"block_idx": self.block, "block_num": self.blocks}.get(role, 0)


@dataclass
class Frame:
    """The state of a running block: its memory spaces, and the values of the function that runs."""

    module: Op
    grid: Grid
    poison: bool
    output: Callable[[str], None] | None
    depth: int = 0
    arenas: dict[str, Arena] = field(default_factory=dict)
    values: dict[Value, Any] = field(default_factory=dict)

    def call(self) -> Frame:
        """A frame for a called function: the same memory, other values."""
        return Frame(self.module, self.grid, self.poison, self.output, self.depth + 1, self.arenas)

    def arena(self, name: str) -> Arena:
        """The bytes of a memory space."""
        return self.arenas.setdefault(name, Arena(self.poison))

    def get(self, values: Sequence[Value]) -> list[Any]:
        """The values of operands."""
        return [self.values[value] for value in values]

    def one(self, op: Op, name: str) -> Any:
        """The value of the operand group `name`; None when it is absent."""
        value = op.optional(name)
        return None if value is None else self.values[value]

    def set(self, values: Sequence[Value], given: Sequence[Any]) -> None:
        """Define results or block arguments."""
        self.values.update(zip(values, given, strict=True))


Results = Sequence[Any] | None
Handler = Callable[[Frame, Op], Results]


def run_function(frame: Frame, function: Op, arguments: Sequence[Any]) -> list[Any]:
    """Run a function's body; gives what it returns."""
    return run_block(frame, function.body, arguments)


def run_block(frame: Frame, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
    """Run the ops of a block; gives the operands of its terminator."""
    frame.set(block.args, arguments)
    for op in block:
        if op.definition.terminator:
            return frame.get(op.operands)
        results = execute(frame, op)
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
        raise _fault(op, "P0602", f"{op.name}: {error}") from None
    raise _fault(op, "P0402", f"the reference interpreter has no meaning for {op.name}")


def _fault(op: Op, code: str, message: str) -> CompileError:
    sink = Sink()
    sink.error(code, message, op.span, location=op.loc)
    return CompileError(sink)


# ---------------------------------------------------------------- control flow


def _for(frame: Frame, op: Op) -> Results:
    lower, upper, step, *carried = frame.get(op.operands)
    if step <= 0:
        raise _fault(op, "P0602", f"the loop's step is {step}; it must be positive")
    for index in range(lower, upper, step):
        carried = run_block(frame, op.body, [index, *carried])
    return carried


def _if(frame: Frame, op: Op) -> Results:
    region = op.regions[0 if frame.values[op.operands[0]] else 1]
    return run_block(frame, region.block) if region.blocks else []


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
                raise _fault(op, "P0602", f"@{name} calls itself without end")
            return run_function(frame.call(), function, frame.get(op.operands))
    raise _fault(op, "P0103", f"no function is named @{name}")


# ---------------------------------------------------------------- pointers and views


def _many(frame: Frame, op: Op, name: str) -> tuple[int, ...]:
    return tuple(frame.get(op.group(name)))


def _add_pointer(frame: Frame, op: Op) -> Results:
    pointer: Pointer = frame.one(op, "ptr")
    return (pointer.moved(frame.one(op, "offset")),)


def _make_view(frame: Frame, op: Op) -> Results:
    layout = op.attributes.get("layout")
    word = layout.value if isinstance(layout, EnumAttr) else None
    return (View(frame.one(op, "ptr"), _many(frame, op, "shape"), _many(frame, op, "strides"), word),)


def _partition(frame: Frame, op: Op) -> Results:
    view: View = frame.one(op, "source")
    return (view.window(_many(frame, op, "offsets"), _many(frame, op, "sizes")),)


def _of_dimension(field_name: str) -> Handler:
    def handler(frame: Frame, op: Op) -> Results:
        values: tuple[int, ...] = getattr(frame.one(op, "view"), field_name)
        dimension = frame.one(op, "dim")
        if not 0 <= dimension < len(values):
            raise MemoryFault(f"the view has no dimension {dimension}")
        return (values[dimension],)

    return handler


def _load(frame: Frame, op: Op) -> Results:
    view, tile = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = (min(a, b) for a, b in zip(view.extents, (tile.v_row, tile.v_col), strict=True))
    values = view.base.array[view.places(rows, columns)]
    if frame.poison:
        tile.leave_unspecified(outside=False)
    tile.write(values)
    return None


def _store(frame: Frame, op: Op) -> Results:
    tile, view = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = (min(a, b) for a, b in zip(view.extents, (tile.v_row, tile.v_col), strict=True))
    values = numeric.widen(tile.read(rows, columns), tile.type.elem)
    view.base.array[view.places(rows, columns)] = numeric.narrow(values, view.base.elem)
    return None


def _scalar(value: Any, elem: ScalarType) -> Any:
    """An array's element as the interpreter holds scalars."""
    if elem.is_float:
        return value
    return bool(value) if elem.bits == 1 else int(value)


def _load_scalar(frame: Frame, op: Op) -> Results:
    pointer: Pointer = frame.one(op, "ptr")
    return (_scalar(pointer.load(frame.one(op, "offset")), pointer.elem),)


def _store_scalar(frame: Frame, op: Op) -> Results:
    frame.one(op, "ptr").store(frame.one(op, "offset"), frame.one(op, "value"))
    return None


# ---------------------------------------------------------------- tile handles


def _extent(static: int | None, given: int | None, default: int, limit: int) -> int:
    found = static if static is not None else default if given is None else given
    if not 0 <= found <= limit:
        raise MemoryFault(f"a valid extent of {found} does not fit 0..{limit}")
    return found


def _valid(frame: Frame, op: Op, type: TileType) -> tuple[int, int]:
    """The valid region of a fresh handle: from the type, the operands, or the physical shape."""
    return (
        _extent(type.v_row, frame.one(op, "valid_row"), type.rows, type.rows),
        _extent(type.v_col, frame.one(op, "valid_col"), type.cols, type.cols),
    )


def _tile_type(op: Op) -> TileType:
    assert isinstance(op.result.type, TileType)
    return op.result.type


def _number(value: Attr | None) -> int | None:
    return value.value if isinstance(value, IntAttr) else None


def _allocate(frame: Frame, op: Op) -> Results:
    type = _tile_type(op)
    address, offset = frame.one(op, "addr"), _number(op.attributes.get("tile.offset"))
    if address is not None:
        arena, start = frame.arena(type.space), address
    elif offset is not None:
        arena, start = frame.arena("scratch"), offset
    else:
        arena, start = Arena(frame.poison), 0
    arena.bytes(start, type.size_bytes)
    return (Tile(type, arena, start, *_valid(frame, op, type), type),)


def _subview(frame: Frame, op: Op) -> Results:
    whole: Tile = frame.one(op, "source")
    type = _tile_type(op)
    row, column = _many(frame, op, "offsets")
    return (whole.subview(type, row, column, *_valid(frame, op, type)),)


def _reinterpret(frame: Frame, op: Op) -> Results:
    """The valid region is the type's; where that says `?`, the source's, swapped for the transposed shape, else all."""
    whole: Tile = frame.one(op, "src")
    type = _tile_type(op)
    rows, columns = _carried_valid(whole, type)
    return (
        whole.reinterpreted(
            type, _extent(type.v_row, rows, rows, type.rows), _extent(type.v_col, columns, columns, type.cols)
        ),
    )


def _carried_valid(whole: Tile, type: TileType) -> tuple[int, int]:
    if (type.rows, type.cols) == (whole.type.rows, whole.type.cols):
        return whole.v_row, whole.v_col
    if (type.cols, type.rows) == (whole.type.rows, whole.type.cols):
        return whole.v_col, whole.v_row
    return type.rows, type.cols


def _set_valid(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "source")
    tile.v_row = _extent(None, frame.one(op, "valid_row"), 0, tile.type.rows)
    tile.v_col = _extent(None, frame.one(op, "valid_col"), 0, tile.type.cols)
    return None


def _get_valid(*names: str) -> Handler:
    return lambda frame, op: [getattr(frame.values[op.operands[0]], name) for name in names]


def _get_element(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "src")
    return (_scalar(tile.elements[tile.place(frame.one(op, "offset"))], tile.type.elem),)


def _set_element(frame: Frame, op: Op) -> Results:
    tile: Tile = frame.one(op, "dst")
    tile.elements[tile.place(frame.one(op, "offset"))] = frame.one(op, "val")
    return None


# ---------------------------------------------------------------- element work


def _read(tile: Tile, rows: int, columns: int) -> Array:
    return numeric.widen(tile.read(rows, columns), tile.type.elem)


def _write(frame: Frame, tile: Tile, values: Array, rows: int, columns: int) -> None:
    """Round results to the tile's type and write them; what is outside of the valid region is unspecified then."""
    values = numeric.narrow(np.broadcast_to(values, (rows, columns)), tile.type.elem)
    tile.write(values)
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
    return None


def _reduce(frame: Frame, op: Op) -> Results:
    meaning, reference = op.definition.meaning, op.definition.reference
    assert isinstance(meaning, RowReduce | ColumnReduce) and reference is not None
    source: Tile = frame.one(op, meaning.source)
    values = _read(source, source.v_row, source.v_col)
    _spoil_scratch(frame, op)
    result = reference(values)
    if result.size:
        _write(frame, frame.one(op, meaning.destination), result, *result.shape)
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
    return None


# ---------------------------------------------------------------- the rest


def _nothing(frame: Frame, op: Op) -> Results:
    return None


def _trap(frame: Frame, op: Op) -> Results:
    raise _fault(op, "P0602", "the kernel trapped")


def _print(frame: Frame, op: Op) -> Results:
    if frame.output is not None:
        value = frame.values[op.operands[0]]
        if isinstance(value, Tile):
            shown = value.read(value.v_row, value.v_col)
        else:
            shown = value.base.array[value.places(*value.extents)]
        frame.output(np.array2string(shown.astype(np.float64), precision=4, threshold=1 << 20))
    return None


MEANINGS: Mapping[type, Handler] = MappingProxyType(
    {Map: _map, RowReduce: _reduce, ColumnReduce: _reduce, Contract: _contract, Window: _window}
)

HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "scf.for": _for,
        "scf.if": _if,
        "scf.while": _while,
        "scf.execute_region": lambda frame, op: run_block(frame, op.body),
        "func.call": _call,
        "pto.addptr": _add_pointer,
        "pto.make_tensor_view": _make_view,
        "pto.partition_view": _partition,
        "pto.get_tensor_view_dim": _of_dimension("dims"),
        "pto.get_tensor_view_stride": _of_dimension("strides"),
        "pto.tload": _load,
        "pto.tstore": _store,
        "pto.load_scalar": _load_scalar,
        "pto.store_scalar": _store_scalar,
        "pto.alloc_tile": _allocate,
        "pto.subview": _subview,
        "pto.treshape": _reinterpret,
        "pto.bitcast": _reinterpret,
        "pto.set_validshape": _set_valid,
        "pto.get_validshape": _get_valid("v_row", "v_col"),
        "pto.tile_valid_rows": _get_valid("v_row"),
        "pto.tile_valid_cols": _get_valid("v_col"),
        "pto.tgetval": _get_element,
        "pto.tsetval": _set_element,
        "pto.get_block_idx": lambda frame, op: (frame.grid.block,),
        "pto.get_block_num": lambda frame, op: (frame.grid.blocks,),
        "pto.get_subblock_idx": lambda frame, op: (0,),
        "pto.get_subblock_num": lambda frame, op: (1,),
        "pto.set_flag": _nothing,
        "pto.wait_flag": _nothing,
        "pto.record_event": _nothing,
        "pto.wait_event": _nothing,
        "pto.barrier": _nothing,
        "pto.tprint": _print,
        "pto.trap": _trap,
    }
)
