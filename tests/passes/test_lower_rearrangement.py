"""Ops that move elements, lowered: vectors where both sides lie in rows, the same code without them."""

from __future__ import annotations

import numpy as np
import pytest

from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, lowered, module, parsed, values

SIZES = ((0, 5), (5, 0), (1, 1), (16, 16), (17, 33), (40, 7))
FORMS = {
    "scalar": "plan-memory,lower-tiles{vectors=off},legalize-floats",
    "vector": "plan-memory,lower-tiles,legalize-floats",
}


def _transpose(elem: str) -> str:
    text = Text("turn", 64, 64, x=f"*{elem}", y=f"*{elem}")
    source, target = text.tile(elem), text.tile(elem, valid=("%c", "%r"))
    text.load(text.part("x"), source)
    text.op("pto.ttrans", [source], target)
    text.store(target, text.part("y", "%c", "%r"))
    return module([text])


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("elem", ["i8", "bf16", "f32"])
def test_transposes(target: str, form: str, elem: str) -> None:
    library = Library(parsed(_transpose(elem)), target, parse_pipeline(FORMS[form], PASSES))
    for rows, columns in SIZES:
        given = values(elem, (rows, columns), rows)
        found = np.zeros((columns, rows), NUMPY[elem])
        library.call("turn", given, found, rows, columns)
        assert found.tobytes() == np.ascontiguousarray(given.T).tobytes()


def test_blocks_are_turned_in_registers() -> None:
    counts = {
        form: sum(op.name == "vector.shuffle" for op in lowered(_transpose("f32"), "avx2", pipeline).walk())
        for form, pipeline in FORMS.items()
    }
    assert counts == {"scalar": 0, "vector": 8 * 3}
