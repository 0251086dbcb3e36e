"""Signals in global memory, meetings of cores, and elements that are added to memory in one step each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.attrs import EnumAttr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.kinds import plain
from pptc.ir.pairs import PAIR
from pptc.ir.signature import asks_for_grid
from pptc.ir.types import I1, I32
from pptc.passes.lower_tiles.atomics import update_element
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lanes

_PREDICATES: Mapping[str, str] = MappingProxyType(
    {"eq": "eq", "ne": "ne", "gt": "sgt", "ge": "sge", "lt": "slt", "le": "sle"}
)


def _each_element(frame: Frame, op: Op, name: str, body: Callable[[Value, Value], object]) -> None:
    """Call `body` with the memory and the index of every element of a view."""
    code, view = frame.code, frame.views[op.operand(name)]
    rows, columns = view.shape(code)
    place = view.place

    def row(r: Index, _: list[Value]) -> None:
        line = place.line(code, r)

        def one(c: Index, _: list[Value]) -> None:
            memory, index = line.at(code, c)
            body(memory, code.index(index))

        code.loop(0, columns, 1, one)

    code.loop(0, rows, 1, row)


def _word(frame: Frame, op: Op, name: str) -> Value:
    """An integer operand as an i32."""
    value = frame.value(op.operand(name))
    if value.type == I32:
        return value
    bits = getattr(value.type, "bits", 32)
    return frame.code.value("arith.trunci" if bits > 32 else "arith.extsi", (value,), I32)


def _notify(frame: Frame, op: Op) -> None:
    value = _word(frame, op, "value")
    name = "memref.atomic_store" if plain(op.attributes["notifyOp"]) == "set" else "memref.atomic_add"
    _each_element(frame, op, "signal", lambda memory, index: frame.code.create(name, (value, memory, index)))


def _compared(frame: Frame, op: Op, value: Value, memory: Value, index: Value) -> Value:
    there = frame.code.value("memref.atomic_load", (memory, index), I32)
    predicate = _PREDICATES[str(plain(op.attributes["cmp"]))]
    return frame.code.value("arith.cmpi", (there, value), I1, {"predicate": predicate})


def _wait(frame: Frame, op: Op) -> None:
    """Look again and again, letting others run in between."""
    code, value = frame.code, _word(frame, op, "cmpValue")

    def until(memory: Value, index: Value) -> None:
        before, after = Block(), Block()
        code.create("scf.while", (), (), {}, (Region((before,)), Region((after,))))
        with code.inside(before):
            holds = _compared(frame, op, value, memory, index)
            missing = code.value("arith.xori", (holds, code.constant(I1, True)), I1)
            code.create("scf.condition", (missing,))
        with code.inside(after):
            code.create("tile.pause")
            code.create("scf.yield")

    _each_element(frame, op, "signal", until)


def _test(frame: Frame, op: Op) -> None:
    code, value = frame.code, _word(frame, op, "cmpValue")
    view = frame.views[op.operand("signal")]
    rows, columns = view.shape(code)
    place = view.place

    def row(r: Index, carried: list[Value]) -> list[Value]:
        line = place.line(code, r)

        def one(c: Index, carried: list[Value]) -> list[Value]:
            memory, index = line.at(code, c)
            return [
                code.value(
                    "arith.andi", (carried[0], _compared(frame, op, value, memory, code.index(index))), I1
                )
            ]

        return code.loop(0, columns, 1, one, carried)

    frame.define(op.result, code.loop(0, rows, 1, row, [code.constant(I1, True)])[0])


def _meet(frame: Frame, op: Op) -> None:
    """A kernel of one core waits for nobody; all others ask the library."""
    function = next(around for around in op.ancestors() if around.name == "func.func")
    if not asks_for_grid(function) and PAIR not in function.attributes:
        return
    given = op.optional("used_cores")
    count = frame.code.constant(I32, 0) if given is None else frame.value(given)
    kind = op.attributes["core_type"]
    assert isinstance(kind, EnumAttr)
    frame.code.create("tile.meet", (count,), (), {"core_type": kind})


def _add_store(frame: Frame, op: Op) -> None:
    tile, view = frame.tiles[op.operand("src")], frame.views[op.operand("dst")]
    if tile.elem.bits < 16 and tile.elem.is_float:
        raise frame.unsupported(f"{tile.elem.name} is for storage; convert with pto.tcvt to add")
    code, lanes = frame.code, Lanes(frame.code, 1)
    extents = zip(tile.extents(), view.shape(code), strict=True)
    rows, columns = (code.min(own, other) for own, other in extents)
    source, target = tile.locate(), view.place

    def row(r: Index, _: list[Value]) -> None:
        from_, to = source.line(code, r), target.line(code, r)

        def one(c: Index, _: list[Value]) -> None:
            value = lanes.load_raw(*from_.at(code, c), tile.elem)
            memory, index = to.at(code, c)
            update_element(lanes, "add", value, memory, code.index(index))

        code.loop(0, columns, 1, one)

    code.loop(0, rows, 1, row)


SIGNAL_OPS: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType(
    {
        "pto.comm.tnotify": _notify,
        "pto.comm.twait": _wait,
        "pto.comm.ttest": _test,
        "pto.syncall": _meet,
        "tile.tstore_add": _add_store,
    }
)
