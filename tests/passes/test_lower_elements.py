"""Element ops through lower-tiles against the interpreter: every machine, with and without vectors, sizes with tails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pptc.ir.interp import run_kernel
from pptc.ir.opdef import ColumnReduce, Map, OpDef, RowReduce, Spread
from pptc.ir.ops import OPS, quantize
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, assert_near, module, parsed, values

SIZES = ((0, 5), (1, 1), (7, 17), (16, 128), (3, 100))
TYPES = ("f32", "bf16", "i8", "f16", "i32", "ui16", "i64")
PIPELINES = {
    "scalar": "plan-memory,lower-tiles{vectors=off},legalize-floats,expand-math",
    "vector": "plan-memory,lower-tiles,legalize-floats,expand-math",
}


ROWS = tuple(
    row
    for row in OPS.values()
    if isinstance(row.meaning, Map | RowReduce | ColumnReduce)
    and row.name not in ("pto.tmov", "pto.tdivs", "pto.tcvt", *quantize.ROWS)
)


def _cases(turn: int) -> Iterator[tuple[OpDef, str]]:
    """Every row of element work with one of its element types, which changes from row to row and with the turn."""
    for number, row in enumerate(ROWS):
        allowed = [t for t in TYPES if not row.dtypes or t in (d.name for d in row.dtypes)]
        yield row, allowed[(number + turn) % len(allowed)]


def _name(row: OpDef, elem: str) -> str:
    return f"{row.name.replace('.', '_')}_{elem}"


def _arguments(row: OpDef, elem: str) -> dict[str, str]:
    if not isinstance(row.meaning, Map):
        return {"src": f"*{elem}"}
    scalar = {"slope": "f32"}
    return {
        name: scalar.get(name, elem) if spread is Spread.SCALAR else f"*{elem}"
        for name, spread in row.meaning.sources.items()
    }


def _kernel(row: OpDef, elem: str) -> Text:
    """The op on tiles of 16x128 with %r x %c valid elements."""
    arguments = _arguments(row, elem)
    text = Text(_name(row, elem), 16, 128, **arguments, out=f"*{elem}")
    column: dict[str, Any] = {
        "rows": 16,
        "columns": 1,
        "valid": ("%r", "%c1"),
        "layout": ", blayout=col_major",
    }
    line: dict[str, Any] = {"rows": 1, "columns": 128, "valid": ("%c1", "%c")}
    spreads = row.meaning.sources if isinstance(row.meaning, Map) else {"src": Spread.FULL}
    sources = []
    shape = {RowReduce: column, ColumnReduce: line}.get(type(row.meaning), {})
    target = text.tile(elem, **shape)
    out = text.part("out", *shape.get("valid", ("%r", "%c")))
    for name, spread in spreads.items():
        if spread is Spread.SCALAR:
            sources.append((f"%{name}", arguments[name]))
            continue
        shape = {Spread.ROW: column, Spread.COLUMN: line}.get(spread, {})
        tile = text.tile(elem, **shape)
        text.load(text.part(name, *shape.get("valid", ("%r", "%c"))), tile)
        if name == "dst":
            target = tile
        else:
            sources.append(tile)
    text.op(row.name, sources, target)
    text.store(target, out)
    return text


def _inputs(row: OpDef, elem: str, rows: int, columns: int) -> list[Any]:
    spreads = row.meaning.sources if isinstance(row.meaning, Map) else {"src": Spread.FULL}
    shapes = {
        Spread.FULL: (rows, columns),
        Spread.ROW: (rows, 1),
        Spread.COLUMN: (1, columns),
        Spread.SCALAR: (),
    }
    kinds = _arguments(row, elem)
    given = [
        values(kinds[name].strip("*"), shapes[spread], i) for i, (name, spread) in enumerate(spreads.items())
    ]
    shape = {RowReduce: (rows, 1), ColumnReduce: (1, columns)}.get(type(row.meaning), (rows, columns))
    return [*given, np.zeros(shape, NUMPY[elem])]


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("form", PIPELINES)
def test_rows(target: str, form: str) -> None:
    cases = tuple(_cases(MACHINES.index(target) * 2 + list(PIPELINES).index(form)))
    text = module([_kernel(row, elem) for row, elem in cases])
    reference = parsed(text)
    library = Library(parsed(text), target, parse_pipeline(PIPELINES[form], PASSES))
    for row, elem in cases:
        names = [*_arguments(row, elem), "out", "rows", "columns"]
        for size in SIZES:
            given, want = _inputs(row, elem, *size), _inputs(row, elem, *size)
            run_kernel(reference, _name(row, elem), dict(zip(names, [*want, *size], strict=True)))
            library.call(_name(row, elem), *given, *size)
            extra = (
                1.5 if "div" in row.name and form == "vector" else 0.0
            )  # by the reciprocal of a row's value
            assert_near(row.tolerance, given[-1], want[-1], f"{row.name} {elem} {size}", extra)
