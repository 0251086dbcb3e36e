"""plan-memory: what lives at one time has bytes of its own, and the sums are written where others look for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pptc.ir.attrs import DictAttr, IntAttr
from pptc.ir.core import functions
from pptc.passes.homes import SCRATCH_BYTES, SPACE_OFFSETS, integer
from pptc.passes.lifetimes import Request, packed
from tests.passes.harness import transformed
from tests.passes.kernels import kernel, load, op, part, store, tile, view

REQUESTS = st.lists(
    st.builds(
        lambda start, length, size: Request(start, start + length, 64 * size),
        st.integers(0, 40), st.integers(0, 15), st.integers(1, 9),
    ),
    max_size=30,
)  # fmt: skip


@given(REQUESTS)
def test_neighbours_in_time_lie_apart(requests: list[Request]) -> None:
    offsets, total = packed(requests)
    placed = list(zip(requests, offsets, strict=True))
    for position, (a, here) in enumerate(placed):
        assert here >= 0 and here + a.size <= total
        for b, there in placed[position + 1 :]:
            if a.start <= b.end and b.start <= a.end:
                assert here + a.size <= there or there + b.size <= here
    busiest = max((sum(r.size for r in requests if r.start <= t <= r.end) for t in range(60)), default=0)
    assert busiest <= total <= sum(request.size for request in requests)


def test_time_after_time_the_same_place() -> None:
    requests = [Request(2 * i, 2 * i + 1, 640) for i in range(5)]
    assert packed(requests) == ([0] * 5, 640)


LEVEL_2 = kernel(
    "level2",
    "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>",
    f"""
{view("%xv", "%x", "%c8", "%c64")}
{view("%yv", "%y", "%c8", "%c64")}
{part("%xp", "%xv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
{part("%yp", "%yv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
%a = pto.alloc_tile : !tile
%b = pto.alloc_tile : !tile
%c = pto.alloc_tile : !tile
{load("%xp", "8x64xf32", "%a", "!tile")}
{op("texp", "%a: !tile", "%b", "!tile")}
{op("texp", "%b: !tile", "%c", "!tile")}
{store("%c", "!tile", "%yp", "8x64xf32")}
""",
    tile=tile("vec", "8x64xf32"),
)


def _addresses(text: str, pipeline: str) -> tuple[dict[str, int], int]:
    module = transformed(text, pipeline)
    (function,) = functions(module)
    found = {}
    for alloc in module.walk():
        if alloc.name == "pto.alloc_tile":
            (address,) = alloc.group("addr")
            assert address.op is not None
            value = address.op.attributes["value"]
            assert isinstance(value, IntAttr) and alloc.result.name
            found[alloc.result.name] = value.value
    return found, integer(function, SCRATCH_BYTES) or 0


def test_level_2_tiles_get_addresses_and_share_them() -> None:
    addresses, total = _addresses(LEVEL_2, "plan-memory")
    assert addresses == {"a": 0, "b": 2048, "c": 0}
    assert total == 4096


def test_spaces_are_stacked() -> None:
    text = kernel(
        "spaces",
        "%a: !pto.ptr<f32>, %c: !pto.ptr<f32>",
        f"""
{view("%av", "%a", "%c16", "%c16")}
{part("%ap", "%av", "%c0, %c0", "%c16, %c16", "16x16xf32")}
%m = pto.alloc_tile addr = %c64_i64 : !mat
%l = pto.alloc_tile addr = %c0_i64 : !left
{load("%ap", "16x16xf32", "%m", "!mat")}
{op("tmov", "%m: !mat", "%l", "!left")}
""",
        mat=tile("mat", "16x16xf32"),
        left=tile("left", "16x16xf32"),
    )
    (function,) = functions(transformed(text, "plan-memory"))
    offsets = function.attributes[SPACE_OFFSETS]
    assert isinstance(offsets, DictAttr)
    assert [(name, value.value) for name, value in offsets.entries if isinstance(value, IntAttr)] == [
        ("mat", 0),
        ("left", 1088),
    ]
    assert integer(function, SCRATCH_BYTES) == 1088 + 1024


def test_a_run_time_address_keeps_its_whole_space() -> None:
    text = kernel(
        "anywhere",
        "%x: !pto.ptr<f32>, %at: i64",
        f"""
{view("%xv", "%x", "%c8", "%c64")}
{part("%xp", "%xv", "%c0, %c0", "%c8, %c64", "8x64xf32")}
%a = pto.alloc_tile addr = %at : !tile
%b = pto.alloc_tile addr = %c0_i64 : !tile
{load("%xp", "8x64xf32", "%b", "!tile")}
{op("texp", "%b: !tile", "%a", "!tile")}
{store("%b", "!tile", "%xp", "8x64xf32")}
""",
        tile=tile("vec", "8x64xf32"),
    )
    remarks: list = []
    module = transformed(text, "canonicalize,promote-tiles,plan-memory", remarks)
    (function,) = functions(module)
    assert integer(function, SCRATCH_BYTES) == 262_144
    assert all(alloc.group("addr") for alloc in module.walk() if alloc.name == "pto.alloc_tile")
    assert "a tile of its space has no constant address" in remarks[0].message
