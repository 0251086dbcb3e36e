"""Local arrays and synchronization: what is refused, and what stays on one thread."""

from __future__ import annotations

import pytest

from pptc.diag import Sink, Source
from pptc.ir.verify import verify
from pptc.parser import parse
from tests.passes.harness import transformed


def _faults(body: str) -> list[str]:
    text = f"module {{\nfunc.func @k(%i: index, %n: i32) {{\n{body}\nreturn\n}}\n}}\n"
    sink = Sink()
    module = parse(Source("k.pto", text), sink)
    if module is not None:
        verify(module, sink)
    return [found.code for found in sink]


ARRAY = "%a = pto.declare_local_array -> !pto.local_array<4x8xi32>\n%c = arith.constant 8 : index\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("%x = pto.local_array_get %a[%i] : !pto.local_array<4x8xi32> -> i32", "P0202"),
        ("%x = pto.local_array_get %a[%i, %c] : !pto.local_array<4x8xi32> -> i32", "P0218"),
        ("%x = pto.local_array_get %a[%i, %i] : !pto.local_array<4x8xi32> -> i64", "P0201"),
        ("pto.local_array_set %a[%i, %i], %i : !pto.local_array<4x8xi32>, index", "P0201"),
        ("pto.cmo.cacheinvalid", "P0207"),
        ("pto.syncall() mode = #pto.sync_all_mode<soft>, core_type = #pto.sync_core_type<mix>", "P0202"),
        ("pto.fence.barrier_all #pto.fence_scope<vec>", "P0207"),
    ],
)
def test_refused(body: str, code: str) -> None:
    assert code in _faults(ARRAY + body)


LOOP = """
module {{
  func.func @k(%y: !pto.ptr<i32>, %n: i32) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    {outside}
    scf.for %i = %c0 to %c8 step %c1 {{
      {inside}
      pto.local_array_set %a[%c0], %n : !pto.local_array<1xi32>, i32
    }}
    return
  }}
}}
"""
DECLARED = "%a = pto.declare_local_array -> !pto.local_array<1xi32>"


@pytest.mark.parametrize(("outside", "inside", "splits"), [(DECLARED, "", False), ("", DECLARED, True)])
def test_an_array_that_outlives_a_trip_keeps_the_trips_together(
    outside: str, inside: str, splits: bool
) -> None:
    made = transformed(LOOP.format(outside=outside, inside=inside), "split-grid")
    assert any("tile.divisible" in op.attributes for op in made.walk()) == splits
