"""tprint: every number of a valid region goes to the library, line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.attrs import IntAttr
from pptc.ir.core import Op, Value
from pptc.ir.ops.scalar import print_layout
from pptc.ir.types import F64, I32
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.steps import shape_of
from pptc.passes.lower_tiles.tiles import Tile


def _print(frame: Frame, op: Op) -> None:
    code, matrix = frame.code, frame.matrix(op.operand("src"))
    rows, columns = shape_of(frame, matrix)
    place = matrix.locate() if isinstance(matrix, Tile) else matrix.place
    width, digits = print_layout(op)
    lanes = Lanes(code, 1)
    number = {"layout": IntAttr((digits if matrix.elem.is_float else 0) << 8 | width, I32)}
    end = {"layout": IntAttr(0, I32)}

    def row(r: Index, _: list[Value]) -> None:
        line = place.line(code, r)

        def one(c: Index, _: list[Value]) -> None:
            value = _double(lanes, lanes.load(*line.at(code, c), matrix.elem))
            code.create("tile.print", (value,), (), number)

        code.loop(0, columns, 1, one)
        code.create("tile.print", (code.constant(F64, 0.0),), (), end)

    code.loop(0, rows, 1, row)


def _double(lanes: Lanes, x: Lane) -> Value:
    if x.type == F64:
        return x.value
    unsigned = "arith.uitofp" if x.type.kind == "uint" else "arith.sitofp"
    return lanes.cast("arith.extf" if x.type.is_float else unsigned, x, F64).value


PRINT_OPS: Mapping[str, Callable[[Frame, Op], None]] = MappingProxyType({"pto.tprint": _print})
