"""The check of flags: every flag of right kernels is needed, and what a missing one leaves unordered is named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from pptc.diag import Sink, Source
from pptc.ir.interp import run_kernel
from pptc.ir.sync_check import SyncCheck
from pptc.parser import parse

VEC = "!pto.tile_buf<vec, 8x8xf32>"
PART = "!pto.partition_tensor_view<8x8xf32>"
ANY = "!pto.tensor_view<?x?xf32>"

HEAD = f"""\
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c8 = arith.constant 8 : index
%c16 = arith.constant 16 : index
%c48 = arith.constant 48 : index
%vx = pto.make_tensor_view %x, shape = [%c48, %c8], strides = [%c8, %c1] : {ANY}
%vz = pto.make_tensor_view %z, shape = [%c48, %c8], strides = [%c8, %c1] : {ANY}
"""

Found = set[tuple[str, str, str | None]]
"""Code, tag of the line, and tag of the line in the note."""


def tiles(*names: str, type: str = VEC, step: int = 256) -> list[str]:
    """Tiles side by side in one space."""
    lines = []
    for number, name in enumerate(names):
        lines.append(f"%at_{name} = arith.constant {number * step} : i64")
        lines.append(f"%{name} = pto.alloc_tile addr = %at_{name} : {type}")
    return lines


def part(name: str, view: str, row: str) -> str:
    return (
        f"%{name} = pto.partition_view %{view}, offsets = [{row}, %c0], sizes = [%c8, %c8] : {ANY} -> {PART}"
    )


def load(part: str, tile: str, tag: str, type: str = VEC) -> str:
    return f"pto.tload ins(%{part} : {PART}) outs(%{tile} : {type}) // {tag}"


def store(tile: str, part: str, tag: str, type: str = VEC) -> str:
    return f"pto.tstore ins(%{tile} : {type}) outs(%{part} : {PART}) // {tag}"


def unary(name: str, source: str, target: str, tag: str, types: tuple[str, str] = (VEC, VEC)) -> str:
    return f"pto.{name} ins(%{source} : {types[0]}) outs(%{target} : {types[1]}) // {tag}"


def flag(word: str, first: str, second: str, event: int = 0, tag: str = "") -> str:
    tag = tag or f"{word} {first} {second} {event}"
    return f"pto.{word}_flag[<PIPE_{first}>, <PIPE_{second}>, <EVENT_ID{event}>] // {tag}"


def both(first: str, second: str, event: int = 0) -> list[str]:
    """Set and wait at once."""
    return [flag("set", first, second, event), flag("wait", first, second, event)]


def check(lines: Iterable[str], grid: int = 1, **arguments: Any) -> tuple[SyncCheck, dict[int, str]]:
    """Run a kernel of x and z; gives the check, and the tags by line."""
    body = "\n".join([*HEAD.splitlines(), *lines])
    text = f"module {{\nfunc.func @k(%x: !pto.ptr<f32>, %z: !pto.ptr<f32>) {{\n{body}\nreturn\n}}\n}}\n"
    sink = Sink()
    module = parse(Source("k.pto", text), sink)
    assert not list(sink), [(d.code, d.message) for d in sink]
    watched = SyncCheck(module)
    x = arguments.get("x", np.ones((48, 8), np.float32))
    run_kernel(
        module,
        "k",
        {"x": x, "z": arguments.get("z", np.zeros((48, 8), np.float32))},
        grid,
        watch=watched.core,
    )
    tags = enumerate(text.splitlines(), 1)
    return watched, {number: line.split(" // ")[1] for number, line in tags if " // " in line}


def found(lines: Iterable[str], **arguments: Any) -> Found:
    """The findings by the tags of their lines; each stands for one diagnostic."""
    watched, tags = check(lines, **arguments)
    listed = []
    for one in watched.findings():
        assert one.span is not None and len(one.notes) <= 1
        places = [note.span.position[0] for note in one.notes if note.span is not None]
        listed.append((one.code, tags[one.span.position[0]], tags[places[0]] if places else None))
    assert len(set(listed)) == len(listed)
    return set(listed)


# ---------------------------------------------------------------- two buffers in turn


def half(h: int) -> list[str]:
    """One of the two buffers: wait until it is free, load, compute, store."""
    row = f"%row{h}"
    return [
        f"{row} = arith.addi %i, %c{8 * h} : index",
        part(f"px{h}", "vx", row),
        part(f"pz{h}", "vz", row),
        flag("wait", "V", "MTE2", h, f"free wait {h}"),
        load(f"px{h}", f"t{h}", f"load {h}"),
        *both("MTE2", "V", h),
        flag("wait", "MTE3", "V", h, f"gone wait {h}"),
        unary("texp", f"t{h}", f"u{h}", f"exp {h}"),
        flag("set", "V", "MTE2", h, f"free set {h}"),
        *both("V", "MTE3", h),
        store(f"u{h}", f"pz{h}", f"store {h}"),
        flag("set", "MTE3", "V", h, f"gone set {h}"),
    ]


DOUBLE = [
    *tiles("t0", "t1", "u0", "u1"),
    *(flag("set", "V", "MTE2", h, f"free first {h}") for h in (0, 1)),
    *(flag("set", "MTE3", "V", h, f"gone first {h}") for h in (0, 1)),
    "scf.for %i = %c0 to %c48 step %c16 {",
    *half(0),
    *half(1),
    "}",
    *(flag("wait", "V", "MTE2", h, f"free last {h}") for h in (0, 1)),
    *(flag("wait", "MTE3", "V", h, f"gone last {h}") for h in (0, 1)),
]

RACE, ALONE = "P0603", "P0604"


def missing(h: int) -> Mapping[str, Found]:
    """What each flag of a half leaves behind when it is not there."""
    return {
        f"set MTE2 V {h}": {(ALONE, f"wait MTE2 V {h}", None)},
        f"wait MTE2 V {h}": {(RACE, f"exp {h}", f"load {h}"), (ALONE, f"set MTE2 V {h}", f"set MTE2 V {h}")},
        f"set V MTE3 {h}": {(ALONE, f"wait V MTE3 {h}", None)},
        f"wait V MTE3 {h}": {(RACE, f"store {h}", f"exp {h}"), (ALONE, f"set V MTE3 {h}", f"set V MTE3 {h}")},
        f"free first {h}": {(ALONE, f"free wait {h}", None)},
        f"free wait {h}": {(RACE, f"load {h}", f"exp {h}"), (ALONE, f"free set {h}", f"free first {h}")},
        f"free set {h}": {(ALONE, f"free wait {h}", None), (ALONE, f"free last {h}", None)},
        f"free last {h}": {(ALONE, f"free set {h}", None)},
        f"gone first {h}": {(ALONE, f"gone wait {h}", None)},
        f"gone wait {h}": {(RACE, f"exp {h}", f"store {h}"), (ALONE, f"gone set {h}", f"gone first {h}")},
        f"gone set {h}": {(ALONE, f"gone wait {h}", None), (ALONE, f"gone last {h}", None)},
        f"gone last {h}": {(ALONE, f"gone set {h}", None)},
    }


MISSING = {**missing(0), **missing(1)}


def without(lines: list[str], tag: str) -> list[str]:
    left = [line for line in lines if not line.endswith(f" // {tag}")]
    assert len(left) == len(lines) - 1
    return left


def test_two_buffers_in_turn_need_all_of_their_flags() -> None:
    x, z = np.random.default_rng(1).standard_normal((48, 8), np.float32), np.zeros((48, 8), np.float32)
    assert not found(DOUBLE, x=x, z=z)
    assert np.allclose(z, np.exp(x), rtol=1e-6)
    flags = [line.split(" // ")[1] for line in DOUBLE if "_flag[" in line]
    assert sorted(flags) == sorted(MISSING)


@pytest.mark.parametrize("tag", MISSING)
def test_a_missing_flag_is_found(tag: str) -> None:
    assert found(without(DOUBLE, tag)) == MISSING[tag]


def test_a_finding_says_which_flag_is_missing() -> None:
    lines = without(without(DOUBLE, "wait MTE2 V 0"), "set MTE2 V 0")
    (one,) = check(lines)[0].findings()
    assert one.message == (
        "pto.texp on PIPE_V reads what pto.tload on PIPE_MTE2 writes, and nothing orders them (read after write)"
    )
    assert [note.message for note in one.notes] == ["written here, on PIPE_MTE2"]
    assert one.hint is not None and one.hint.count("_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]") == 2
    back = without(
        without(without(without(DOUBLE, "free wait 1"), "free set 1"), "free first 1"), "free last 1"
    )
    (one,) = check(back)[0].findings()
    assert "(write after read)" in one.message and one.hint is not None
    assert "<EVENT_ID1>" in one.hint and one.hint.endswith(
        "set it once before the loop, and wait once behind it"
    )


def test_blocks_and_runs_report_a_pair_once() -> None:
    assert found(without(DOUBLE, "wait V MTE3 1"), grid=3) == MISSING["wait V MTE3 1"]


# ---------------------------------------------------------------- the other ways to order


PLAIN = [
    *tiles("t", "u"),
    part("px", "vx", "%c0"),
    part("pz", "vz", "%c0"),
    load("px", "t", "load"),
    "@",
    unary("texp", "t", "u", "exp"),
    "@",
    store("u", "pz", "store"),
]


def ordered(*ways: str) -> list[str]:
    """The plain kernel with what stands between load, exp and store."""
    left = iter(ways)
    return [next(left) if line == "@" else line for line in PLAIN]


LOAD_EXP, EXP_STORE = (RACE, "exp", "load"), (RACE, "store", "exp")


def test_barriers_of_all_pipes_order() -> None:
    whole, vector = "pto.barrier <PIPE_ALL>", "pto.barrier <PIPE_V>"
    assert not found(ordered(whole, whole))
    assert found(ordered(whole, vector)) == {EXP_STORE}
    assert found(ordered(vector, whole)) == {LOAD_EXP}


def event(word: str, first: str, second: str, event: int = 0) -> str:
    kind = "#pto.pipe_event_type"
    return f"pto.{word}_event[{kind}<{first}>, {kind}<{second}>, <EVENT_ID{event}>] // {word}"


def test_events_order_the_pipes_of_op_classes() -> None:
    first = "\n".join(event(word, "TLOAD", "TVEC") for word in ("record", "wait"))
    second = "\n".join(event(word, "TVEC", "TSTORE_VEC") for word in ("record", "wait"))
    assert not found(ordered(first, second))
    assert found(ordered(first, "")) == {EXP_STORE}
    assert found(ordered(event("record", "TLOAD", "TVEC"), second)) == {LOAD_EXP, (ALONE, "record", None)}
    # An event and a flag are one thing, once each names the same two pipes.
    assert not found(ordered(event("record", "TLOAD", "TVEC") + "\n" + flag("wait", "MTE2", "V"), second))


def test_order_passes_on_through_a_third_pipe() -> None:
    lines = [*ordered("\n".join(both("MTE2", "V")), "\n".join(both("V", "MTE3"))), *both("MTE3", "MTE2")]
    assert not found([*lines, load("px", "u", "again"), load("px", "t", "again too")])
    lines = lines[:-2]
    assert found([*lines, load("px", "u", "again")]) == {(RACE, "again", "exp"), (RACE, "again", "store")}


def test_the_scalar_unit_holds_up_all_later_ops() -> None:
    get = f"%e = pto.tgetval ins(%u, %c0 : {VEC}, index) outs : f32 // get"
    waits = "\n".join(both("MTE2", "V"))
    scalar = "\n".join(both("V", "S"))
    assert not found([*ordered(waits, scalar), get])
    assert found([*ordered(waits, "\n".join(both("V", "MTE3"))), get]) == {(RACE, "get", "exp")}
    put = f"pto.tsetval ins(%c1, %f : index, f32) outs(%u : {VEC}) // put"
    one = "%f = arith.constant 1.0 : f32"
    assert found([one, *ordered(waits, scalar + "\n" + put)]) == {(RACE, "store", "put")}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([flag("set", "V", "MTE3")], {(ALONE, "set V MTE3 0", None)}),
        ([flag("wait", "V", "MTE3")], {(ALONE, "wait V MTE3 0", None)}),
        ([*both("V", "MTE3"), flag("wait", "V", "MTE3", tag="late")], {(ALONE, "late", None)}),
        ([flag("set", "V", "MTE3"), flag("wait", "V", "MTE3", 1)],
         {(ALONE, "set V MTE3 0", None), (ALONE, "wait V MTE3 1", None)}),
        ([flag("set", "V", "MTE3", tag="one"), flag("set", "V", "MTE3", tag="two"), flag("wait", "V", "MTE3")],
         {(ALONE, "two", "one")}),
        ([flag("set", "V", "MTE3"), flag("set", "V", "MTE2"), *both("MTE3", "V"), flag("wait", "V", "MTE2"),
          flag("wait", "V", "MTE3")], set()),
    ],
)  # fmt: skip
def test_flags_pair(lines: list[str], expected: Found) -> None:
    assert found(lines) == expected


# ---------------------------------------------------------------- places


def test_tiles_that_share_bytes() -> None:
    """The second tile begins within the first one, or right behind it."""
    for at, expected in ((252, {(RACE, "exp", "load")}), (256, set())):
        lines = [
            f"%a = arith.constant 0 : i64\n%b = arith.constant {at} : i64\n%d = arith.constant 1024 : i64",
            *(
                f"%{tile} = pto.alloc_tile addr = %{where} : {VEC}"
                for tile, where in (("t", "a"), ("u", "b"), ("w", "d"))
            ),
            part("px", "vx", "%c0"),
            load("px", "t", "load"),
            unary("texp", "u", "w", "exp"),
            "pto.barrier <PIPE_ALL>",
        ]
        assert found(lines) == expected


@pytest.mark.parametrize(
    ("type", "window", "row", "column", "expected"),
    [
        ("8x8xf32", "4x8xf32", 0, 0, {(RACE, "exp", "load")}),
        ("8x8xf32", "4x8xf32", 4, 0, set()),
        ("8x16xf32", "8x8xf32", 0, 8, set()),
        ("8x16xf32", "8x8xf32", 0, 0, {(RACE, "exp", "load")}),
        ("8x16xf32, blayout=col_major", "8x8xf32, blayout=col_major", 0, 8, set()),
    ],
)
def test_windows_of_a_tile(type: str, window: str, row: int, column: int, expected: Found) -> None:
    """A load into one part of a tile, and a read of another."""
    whole, inner = f"!pto.tile_buf<vec, {type}>", f"!pto.tile_buf<vec, {window}>"
    rows, columns = re.findall(r"\d+", window)[:2]
    view = f"!pto.partition_tensor_view<{rows}x{columns}xf32>"

    def cut(name: str, row: int, column: int) -> str:
        at = f"%{name}r = arith.constant {row} : index\n%{name}c = arith.constant {column} : index\n"
        return (
            at
            + f"%{name} = pto.subview %t[%{name}r, %{name}c] sizes [{rows}, {columns}] : {whole} -> {inner}"
        )

    lines = [
        *tiles("t", "u", type=whole, step=1024),
        cut("first", 0, 0),
        cut("other", row, column),
        cut("target", 0, 0).replace("%t[", "%u["),
        f"%rows = arith.constant {rows} : index",
        f"%px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%rows, %c8] : {ANY} -> {view}",
        f"pto.tload ins(%px : {view}) outs(%first : {inner}) // load",
        unary("texp", "other", "target", "exp", (inner, inner)),
        "pto.barrier <PIPE_ALL>",
    ]
    assert found(lines) == expected


def test_global_memory() -> None:
    """What is stored and loaded again, rows that overlap and rows that don't."""
    plain = ordered(*("\n".join(both(*pipes)) for pipes in (("MTE2", "V"), ("V", "MTE3"))))
    for row, expected in (
        ("%c0", {(RACE, "again", "store")}),
        ("%c1", {(RACE, "again", "store")}),
        ("%c8", set()),
    ):
        lines = [*plain, *tiles("w", step=0), part("py", "vz", row)]
        lines = [line.replace("%at_w = arith.constant 0", "%at_w = arith.constant 4096") for line in lines]
        assert found([*lines, load("py", "w", "again")]) == expected
    shared = np.ones((48, 8), np.float32)
    lines = without(ordered("pto.barrier <PIPE_ALL>", "pto.barrier <PIPE_ALL>"), "exp")
    stored = [line.replace("%u : ", "%t : ") for line in lines]
    assert not found([*stored, "pto.barrier <PIPE_ALL>", load("px", "u", "again")], x=shared, z=shared)
    assert found([*stored, load("px", "u", "again")], x=shared, z=shared) == {(RACE, "again", "store")}


def test_single_elements_of_global_memory() -> None:
    plain = ordered(*("\n".join(both(*pipes)) for pipes in (("MTE2", "V"), ("V", "MTE3"))))
    read = "%e = pto.load_scalar %z[{}] : !pto.ptr<f32> -> f32 // read"
    assert found([*plain, read.format("%c8")]) == {(RACE, "read", "store")}
    far = "%c64 = arith.constant 64 : index\n"
    assert not found([*plain, far + read.format("%c64")])
    half = "%h = pto.castptr %z : !pto.ptr<f32> -> !pto.ptr<f16>\n%e = pto.load_scalar %h[%c{}] : !pto.ptr<f16> -> f16 // read"
    assert found([*plain, "%c127 = arith.constant 127 : index\n" + half.format(127)]) == {
        (RACE, "read", "store")
    }
    assert not found([*plain, "%c128 = arith.constant 128 : index\n" + half.format(128)])


# ---------------------------------------------------------------- matrix pipes

SPACES = {
    "mat": "!pto.tile_buf<mat, 16x16xf32>",
    "left": "!pto.tile_buf<left, 16x16xf32>",
    "right": "!pto.tile_buf<right, 16x16xf32>",
    "acc": "!pto.tile_buf<acc, 16x16xf32>",
}
SQUARE = "!pto.partition_tensor_view<16x16xf32>"
CHAIN = (("MTE2", "MTE1"), ("MTE1", "M"), ("M", "FIX"))


def matrix(steps: Iterable[tuple[str, str]]) -> list[str]:
    """x x x to z through all memories, ordered at some steps."""

    def order(*pipes: str) -> list[str]:
        return both(*pipes) if pipes in steps else []

    def square(name: str, pointer: str) -> list[str]:
        view = f"pto.make_tensor_view %{pointer}, shape = [%c16, %c16], strides = [%c16, %c1] : {ANY}"
        cut = (
            f"pto.partition_view %s{pointer}, offsets = [%c0, %c0], sizes = [%c16, %c16] : {ANY} -> {SQUARE}"
        )
        return [f"%s{pointer} = {view}", f"%{name} = {cut}"]

    return [
        *(line for space, type in SPACES.items() for line in tiles(space, type=type)),
        *square("px", "x"),
        *square("pz", "z"),
        f"pto.tload ins(%px : {SQUARE}) outs(%mat : {SPACES['mat']}) // load",
        *order("MTE2", "MTE1"),
        *(unary("tmov", "mat", side, side, (SPACES["mat"], SPACES[side])) for side in ("left", "right")),
        *order("MTE1", "M"),
        f"pto.tmatmul ins(%left, %right : {SPACES['left']}, {SPACES['right']}) outs(%acc : {SPACES['acc']}) // product",
        *order("M", "FIX"),
        f"pto.tstore ins(%acc : {SPACES['acc']}) outs(%pz : {SQUARE}) // store",
    ]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (("MTE2", "MTE1"), {(RACE, "left", "load")}),
        (("MTE1", "M"), {(RACE, "product", "right"), (RACE, "product", "left")}),
        (("M", "FIX"), {(RACE, "store", "product")}),
    ],
)
def test_the_way_of_a_product(step: tuple[str, str], expected: Found) -> None:
    assert not found(matrix(CHAIN))
    assert found(matrix([other for other in CHAIN if other != step])) == expected


# ---------------------------------------------------------------- what is not checked


def test_files_that_leave_flags_to_the_assembler() -> None:
    watched, _ = check(ordered("", ""))
    assert "orders no two pipes" in watched.summary and not watched.findings()
    watched, _ = check(ordered("pto.barrier <PIPE_V>", ""))
    assert watched.summary.startswith("nothing to check")
    placed = [re.sub(r" addr = %\w+", "", line) for line in ordered("\n".join(both("MTE2", "V")), "")]
    watched, _ = check(placed)
    assert "level 2" in watched.summary and not watched.findings()
    watched, _ = check(ordered("\n".join(both("MTE2", "V")), ""))
    assert watched.summary == "checked, 1 finding"
