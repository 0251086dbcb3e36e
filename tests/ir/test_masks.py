"""What comparisons and choices refuse."""

from __future__ import annotations

import pytest

from pptc.diag import Sink, Source
from pptc.ir.verify import verify
from pptc.parser import parse


def _tile(text: str) -> str:
    return f"!pto.tile_buf<vec, {text}>"


def _faults(op: str, ins: list[str], out: str) -> list[str]:
    names = [f"%t{number}" for number in range(len(ins))]
    lines = [f"{name} = pto.alloc_tile : {_tile(text)}" for name, text in zip(names, ins, strict=True)]
    lines.append(f"%d = pto.alloc_tile : {_tile(out)}")
    types = ", ".join(map(_tile, ins))
    lines.append(f"pto.{op} ins({', '.join(names)} : {types}) outs(%d : {_tile(out)})")
    body = "\n".join(lines)
    sink = Sink()
    module = parse(Source("k.pto", f"module {{\nfunc.func @k() {{\n{body}\nreturn\n}}\n}}\n"), sink)
    assert module is not None
    verify(module, sink)
    return [found.code for found in sink]


DATA, MASK = "8x64xf32", "8x64xi8"


@pytest.mark.parametrize(
    ("op", "ins", "out", "codes"),
    [
        ("tcmp", [DATA, DATA], MASK, []),
        ("tcmp", [DATA, DATA], "8x32xui8", []),
        ("tcmp", [DATA, DATA], "8x64xi16", ["P0204"]),
        ("tcmp", ["8x512xf32", "8x512xf32"], "8x32xi8", ["P0205"]),
        ("tcmp", [DATA, "8x64xf16"], MASK, ["P0204"]),
        ("tcmp", ["8x64xi64", "8x64xi64"], MASK, ["P0216", "P0216"]),
        ("tcmp", [DATA, "8x64xf32, valid=8x63"], MASK, ["P0205"]),
        ("tsel", [MASK, DATA, DATA], DATA, []),
        ("tsel", [MASK, DATA, DATA, DATA], DATA, []),
        ("tsel", [DATA, DATA, DATA], DATA, ["P0204"]),
        ("tsel", [MASK, DATA, "8x64xi32"], DATA, ["P0204"]),
        ("tsel", ["8x32xi8", "8x512xf32", "8x512xf32"], "8x512xf32", ["P0205"]),
    ],
)
def test_rules(op: str, ins: list[str], out: str, codes: list[str]) -> None:
    assert _faults(op, ins, out) == codes
