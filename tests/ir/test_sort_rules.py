"""What picking, sorting and merging refuse."""

from __future__ import annotations

import pytest

from pptc.diag import Sink, Source
from pptc.ir.verify import verify
from pptc.parser import parse


def _faults(statement: str) -> list[str]:
    """`{8x64xf32}` in the statement stands for a tile of that type: its name and, in types, the type."""
    tiles: dict[str, str] = {}
    text = statement
    while "{" in text and "}" in text.split("{", 1)[1]:
        before, rest = text.split("{", 1)
        spec, after = rest.split("}", 1)
        if "x" not in spec or " " in spec:
            break
        tiles.setdefault(spec, f"%t{len(tiles)}")
        text = before + tiles[spec] + after
    text = text.replace("<<", "!pto.tile_buf<vec, ").replace(">>", ">")
    lines = [f"{name} = pto.alloc_tile : !pto.tile_buf<vec, {spec}>" for spec, name in tiles.items()]
    body = "\n".join([*lines, text])
    sink = Sink()
    module = parse(Source("k.pto", f"module {{\nfunc.func @k(%n: i32) {{\n{body}\nreturn\n}}\n}}\n"), sink)
    if module is not None:
        verify(module, sink)
    return [found.code for found in sink]


F, N, U, P = "1x64xf32", "1x64xi32", "1x64xui32", "1x128xf32"


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        (f"pto.tgather ins({{{F}}}, {{{N}}} : <<{F}>>, <<{N}>>) outs({{{F}}} : <<{F}>>)", []),
        (f"pto.tgather ins({{{F}}} : <<{F}>>) outs({{{F}}} : <<{F}>>)", ["P0202"]),
        (f"pto.tgather ins({{{F}}}, {{{F}}} : <<{F}>>, <<{F}>>) outs({{{F}}} : <<{F}>>)", ["P0216"]),
        (f"pto.tgather ins({{{F}}}, {{{N}}} : <<{F}>>, <<{N}>>) outs({{{N}}} : <<{N}>>)", ["P0204"]),
        (f"pto.tsort32 ins({{{F}}}, {{{U}}} : <<{F}>>, <<{U}>>) outs({{{P}}} : <<{P}>>)", []),
        (f"pto.tsort32 ins({{{F}}}, {{{U}}} : <<{F}>>, <<{U}>>) outs({{{F}}} : <<{F}>>)", ["P0205"]),
        (f"pto.tsort32 ins({{{F}}}, {{{N}}} : <<{F}>>, <<{N}>>) outs({{{P}}} : <<{P}>>)", ["P0216"]),
        (f"pto.tmrgsort ins({{{P}}}, %n : <<{P}>>, i32) outs({{{P}}} : <<{P}>>)", []),
        (f"pto.tmrgsort ins({{{P}}} : <<{P}>>) outs({{{P}}} : <<{P}>>)", ["P0202"]),
        (
            f"pto.tmrgsort ins({{{P}}}, {{{F}}}, {{{F}}} : <<{P}>>, <<{F}>>, <<{F}>>) outs({{{P}}} : <<{P}>>)",
            ["P0205"],
        ),
    ],
)
def test_rules(statement: str, codes: list[str]) -> None:
    assert _faults(statement) == codes
