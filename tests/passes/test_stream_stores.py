"""stream-stores: which loops get a second form, and that stores past the caches hit every element and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pptc.ir.compare import difference
from pptc.ir.core import Block, Op
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from pptc.passes.homes import STREAMED
from tests.passes.harness import TILE_LEVEL, check_same
from tests.passes.lowering import MACHINES, NUMPY, Library, Text, lowered, module, parsed
from tests.passes.random_kernels import random_rows

ROWS, COLUMNS = 16, 512
COLUMN: dict[str, Any] = {"columns": 1, "valid": ("%r", "%c1"), "layout": ", blayout=col_major"}
EXACT = " {rmode = #pto<round_mode RINT>, satmode = #pto<saturation_mode ON>}"


def _softmax() -> Text:
    """The stored row is the last of three phases."""
    text = Text("softmax", ROWS, COLUMNS, x="*f32", y="*f32")
    x, shifted, grown, y = (text.tile("f32") for _ in range(4))
    top, total = text.tile("f32", **COLUMN), text.tile("f32", **COLUMN)
    text.load(text.part("x"), x)
    text.op("pto.trowmax", [x, text.tile("f32")], top)
    text.op("pto.trowexpandsub", [x, top], shifted)
    text.op("pto.texp", [shifted], grown)
    text.op("pto.trowsum", [grown, text.tile("f32")], total)
    text.op("pto.trowexpanddiv", [grown, total], y)
    text.store(y, text.part("y"))
    return text


def _growth() -> Text:
    """Two stores and a sum in one phase."""
    text = Text("growth", ROWS, COLUMNS, x="*f32", y="*f32", z="*bf16", s="*f32")
    x, grown, narrow = text.tile("f32"), text.tile("f32"), text.tile("bf16")
    total = text.tile("f32", **COLUMN)
    text.load(text.part("x"), x)
    text.op("pto.texp", [x], grown)
    text.op("pto.trowsum", [grown, text.tile("f32")], total)
    text.op("pto.tcvt", [x], narrow, EXACT)
    text.store(grown, text.part("y"))
    text.store(narrow, text.part("z"))
    text.store(total, text.part("s", "%r", "%c1"))
    return text


def _in_place() -> Text:
    text = Text("in_place", ROWS, COLUMNS, y="*f32")
    y = text.tile("f32")
    text.load(text.part("y"), y)
    text.op("pto.tneg", [y], y)
    text.store(y, text.part("y"))
    return text


def _short() -> Text:
    text = Text("short", ROWS, 128, x="*f32", y="*f32")
    x = text.tile("f32")
    text.load(text.part("x"), x)
    text.store(x, text.part("y"))
    return text


def _streams(text: Text, size: int) -> int:
    """How many stores of the tile level pass the caches."""
    pipeline = f"canonicalize,promote-tiles,strip-rows,stream-stores{{bytes={size}}},canonicalize"
    made = lowered(module([text]), "avx512", pipeline)
    return sum(STREAMED in op.attributes for op in made.walk() if op.name == "pto.tstore")


def _vector_stores(text: Text, target: str, size: int) -> list[bool]:
    """Of each vector store at the loop level, whether it passes the caches."""
    pipeline = load_machine(target).pipelines["O2"].replace("stream-stores", f"stream-stores{{bytes={size}}}")
    return [
        "nontemporal" in op.attributes
        for op in lowered(module([text]), target, pipeline).walk()
        if op.name == "vector.store"
    ]


@pytest.mark.parametrize(
    ("make", "count"),
    [(_softmax, 1), (_growth, 2), (_in_place, 0), (_short, 0)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_which_stores(make: Callable[[], Text], count: int) -> None:
    """Rows of 1 KiB and more; not of arrays that the kernel reads, and not what is one element a row."""
    assert _streams(make(), 1) == count


def test_the_size_decides_at_run_time() -> None:
    small = _vector_stores(_softmax(), "avx512", 1 << 40)
    assert True in small
    assert False in small


def test_a_fence_stands_before_the_end() -> None:
    pipeline = load_machine("avx512").pipelines["O2"].replace("stream-stores", "stream-stores{bytes=1}")
    names = [op.name for op in lowered(module([_softmax()]), "avx512", pipeline).walk()]
    assert names[names.index("func.return") - 1] == "memref.fence"
    pipeline = load_machine("avx512").pipelines["O2"].replace("stream-stores,", "")
    assert "memref.fence" not in [op.name for op in lowered(module([_softmax()]), "avx512", pipeline).walk()]


class _Guarded:
    """An array that starts `shift` elements behind a cache line, with room around it that nobody may write."""

    def __init__(self, elem: str, rows: int, columns: int, shift: int) -> None:
        self.room = np.full(rows * columns + 256, 7, NUMPY[elem])
        start = -self.room.ctypes.data % 64 // self.room.itemsize + 64 + shift
        self.array = self.room[start : start + rows * columns].reshape(rows, columns)
        self._around = np.ones(len(self.room), bool)
        self._around[start : start + rows * columns] = False

    def check(self) -> Any:
        """The array, once the room around it is seen to be untouched."""
        assert (self.room[self._around] == 7).all()
        return self.array.astype(np.float64)


@pytest.mark.parametrize("target", MACHINES)
def test_any_alignment_and_length(target: str) -> None:
    """Against NumPy in f64; exp is good to 2 units in the last place, a sum of 512 terms to 1e-5."""
    text = load_machine(target).pipelines["O2"].replace("stream-stores", "stream-stores{bytes=1}")
    library = Library(
        parsed(module([_softmax(), _growth()])), target, parse_pipeline(text, PASSES), opt_level=2
    )
    random = np.random.default_rng(5)
    shapes = [(0, 5), (1, 1), (3, 7), (5, 15), (2, 16), (4, 33), (16, 100), (9, 129), (16, 512), (3, 511)]
    for shift in (0, 1, 3, 8, 15):
        for rows, columns in shapes:
            x = random.normal(0, 2, (rows, columns)).astype(np.float32)
            y, z = _Guarded("f32", rows, columns, shift), _Guarded("bf16", rows, columns, shift)
            s, what = _Guarded("f32", rows, 1, shift), f"{rows}x{columns} at {shift}"
            grown = np.exp(x.astype(np.float64))
            library.call("growth", x, y.array, z.array, s.array, rows, columns)
            np.testing.assert_allclose(y.check(), grown, 2.5e-7, 0, err_msg=what)
            np.testing.assert_array_equal(z.check(), x.astype(NUMPY["bf16"]).astype(np.float64), what)
            np.testing.assert_allclose(s.check()[:, 0], grown.sum(1), 1e-5, 0, err_msg=what)
            library.call("softmax", x, y.array, rows, columns)
            np.testing.assert_allclose(y.check(), grown / grown.sum(1, keepdims=True), 2e-5, 0, err_msg=what)


@pytest.mark.parametrize("seed", range(12))
def test_random_rows_keep_their_bits(seed: int) -> None:
    random = np.random.default_rng(seed)
    arguments = {name: random.standard_normal((11, 48)).astype(np.float32) for name in "xyz"}
    level = TILE_LEVEL.replace("residency", "stream-stores{bytes=1,row-bytes=1},residency")
    check_same(random_rows(seed), level, "random", arguments | {"count": 11, "s": -0.5})


def test_the_choice_is_made_once_per_loop() -> None:
    """Both forms are there, and each is a whole loop."""
    pipeline = "canonicalize,promote-tiles,strip-rows,stream-stores{bytes=100000},canonicalize"
    made = lowered(module([_softmax()]), "avx512", pipeline)
    branches = [op for op in made.walk() if op.name == "scf.if"]
    assert len(branches) == 1
    made_twice = [[STREAMED in op.attributes for op in _stores(block)] for block in _blocks(branches[0])]
    assert made_twice == [[True], [False]]


def test_a_second_run_changes_nothing() -> None:
    """So that a dump of the tile level compiles to the same code."""
    pipeline = "canonicalize,promote-tiles,strip-rows,stream-stores{bytes=100000}"
    once, twice = (
        lowered(module([_softmax()]), "avx512", pipeline + more) for more in ("", ",stream-stores")
    )
    assert difference(once, twice) is None


def _blocks(op: Op) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _stores(block: Block) -> list[Op]:
    return [inner for op in block for inner in op.walk() if inner.name == "pto.tstore"]
