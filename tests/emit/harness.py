"""Loop-level text -> native functions called through ctypes: what the tests of the emitter and its passes share."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

from pptc.diag import Sink, Source
from pptc.emit import Section, emit_module
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.ir.verify import verify
from pptc.link.elf import link_shared
from pptc.options import EmitOptions, host_features, load_machine
from pptc.parser import parse
from pptc.passes.base import PassContext, run_pipeline
from pptc.passes.expand_math import ExpandMath
from pptc.passes.legalize_floats import LegalizeFloats

NUMPY: Mapping[str, type] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}  # fmt: skip
"""The NumPy type of each element."""


def runnable_machines(*names: str) -> tuple[str, ...]:
    """Those of the named targets that this machine can run."""
    have = host_features(Path("/proc/cpuinfo").read_text())
    return tuple(name for name in names if have.issuperset(load_machine(name).requires))


MACHINES = runnable_machines("x86-64", "avx2", "avx512")


def widths(target: str) -> tuple[int, ...]:
    """Lane counts worth a test on a target: scalars, and vectors that fill a register with f32."""
    return 1, load_machine(target).lanes(32)


def parsed(text: str) -> Op:
    """The verified module of a text without faults."""
    sink = Sink()
    module = parse(Source("test.pto", text), sink)
    sink.check()
    assert module is not None
    verify(module, sink)
    sink.check()
    return module


def lowered(text: str, machine: Machine) -> Op:
    """The module after the two passes that belong to the emitter."""
    module = parsed(text)
    run_pipeline((LegalizeFloats(), ExpandMath()), module, PassContext(machine, Sink()))
    return module


def compiled(text: str, machine: Machine, options: EmitOptions | None = None) -> Section:
    """The object of a text."""
    section = emit_module(lowered(text, machine), machine, options or EmitOptions())
    assert isinstance(section, Section)
    return section


def loaded(section: Section) -> ctypes.CDLL:
    """The section linked by our own linker and opened by the system's loader."""
    exports = [name for kernel in section.kernels for name in kernel.exports]
    image = link_shared([section.payload], exports, entries=[kernel.entry for kernel in section.kernels])
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(image.data)
        file.flush()
        return ctypes.CDLL(file.name)


def native(text: str, target: str, opt_level: int = 2) -> ctypes.CDLL:
    """A text's kernels, callable."""
    return loaded(compiled(text, load_machine(target), EmitOptions(opt_level=opt_level)))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """The address of an array's first element."""
    return ctypes.c_void_p(array.ctypes.data)


# ---------------------------------------------------------------- one op over arrays


@dataclass(frozen=True)
class Case:
    """`body` computes %r from %a, %b, %c; <T> stands for each element in the lanes of the test."""

    name: str
    body: str
    inputs: tuple[str, ...]
    output: str

    def lines(self, lanes: int, number: int) -> list[str]:
        """The body in that many lanes, its own names made unique, and the store of its result."""
        body = self.body if lanes == 1 else re.sub(r"constant (-?\d+)", r"constant dense<\1>", self.body)
        for elem in NUMPY:
            body = body.replace(f"<{elem}>", lane_type(elem, lanes))
        body = re.sub(r"%(?![abc]\b)(\w+)", rf"%\1_{number}", body)
        out = lane_type(self.output, lanes)
        store = "memref.store" if lanes == 1 else "vector.store"
        types = f"memref<?x{self.output}>" + ("" if lanes == 1 else f", {out}")
        return [*map(str.strip, body.splitlines()), f"{store} %r_{number}, %out_{number}[%i] : {types}"]


def kernel(name: str, cases: Sequence[Case], lanes: int) -> str:
    """A function that runs cases of the same inputs over arrays of a multiple of `lanes` elements."""
    inputs = cases[0].inputs
    names = "abc"[: len(inputs)]
    arguments = [f"%p{n}: memref<?x{t}>" for n, t in zip(names, inputs, strict=True)]
    arguments += [f"%out_{number}: memref<?x{case.output}>" for number, case in enumerate(cases)]
    lines = [_load(n, t, lanes) for n, t in zip(names, inputs, strict=True)]
    for number, case in enumerate(cases):
        assert case.inputs == inputs
        lines += case.lines(lanes, number)
    inner = "\n".join(f"      {line}" for line in lines)
    return f"""  func.func @{name}({", ".join(arguments)}, %n: index) {{
    %zero = arith.constant 0 : index
    %step = arith.constant {lanes} : index
    scf.for %i = %zero to %n step %step {{
{inner}
    }} {{loop.unroll = "off"}}
    return
  }}
"""


def lane_type(elem: str, lanes: int) -> str:
    """An element alone, or a vector of it."""
    return elem if lanes == 1 else f"vector<{lanes}x{elem}>"


def _load(name: str, elem: str, lanes: int) -> str:
    if lanes == 1:
        return f"%{name} = memref.load %p{name}[%i] : memref<?x{elem}>"
    return f"%{name} = vector.load %p{name}[%i] : memref<?x{elem}>, {lane_type(elem, lanes)}"


@dataclass(frozen=True)
class Suite:
    """Cases compiled as one module for one target, those of the same inputs as one kernel."""

    groups: Mapping[tuple[str, ...], tuple[Case, ...]]
    library: ctypes.CDLL

    def run(self, case: Case, lanes: int, *inputs: np.ndarray) -> np.ndarray:
        """The body over the arrays, which are padded to whole vectors."""
        count = len(inputs[0])
        padded = -(-count // lanes) * lanes
        given = [np.resize(array, padded) for array in inputs]
        for array, elem in zip(given, case.inputs, strict=True):
            assert array.dtype == NUMPY[elem]
        cases = self.groups[case.inputs]
        outputs = [np.zeros(padded, NUMPY[each.output]) for each in cases]
        function = getattr(self.library, f"{'_'.join(case.inputs)}_{lanes}")
        function(*map(pointer, given), *map(pointer, outputs), ctypes.c_int64(padded))
        return outputs[cases.index(case)][:count]


@cache
def suite(cases: tuple[Case, ...], target: str, opt_level: int = 1) -> Suite:
    """The cases at all lane counts of the target; compiled once per test run."""
    groups = grouped(cases)
    text = "".join(kernel(f"{'_'.join(i)}_{n}", g, n) for i, g in groups.items() for n in widths(target))
    return Suite(groups, native("module {\n" + text + "}\n", target, opt_level))


def grouped(cases: Sequence[Case]) -> Mapping[tuple[str, ...], tuple[Case, ...]]:
    """The cases by their inputs."""
    groups: dict[tuple[str, ...], tuple[Case, ...]] = {}
    for case in cases:
        groups[case.inputs] = (*groups.get(case.inputs, ()), case)
    return groups


# ---------------------------------------------------------------- values and distances


def integers(elem: str, count: int = 200, seed: int = 0) -> np.ndarray:
    """Edges and random bits of an integer type."""
    kind = NUMPY[elem]
    random = np.random.default_rng(seed)
    if kind is np.bool_:
        return random.integers(0, 2, count).astype(bool)
    info = np.iinfo(kind)
    edges = np.array([0, 1, -1, 2, -2, 3, 7, info.min, info.min + 1, info.max, info.max - 1], kind)
    wide = random.integers(info.min, info.max, count, dtype=kind, endpoint=True)
    small = random.integers(-9, 10, count).astype(kind)
    return np.concatenate([edges, wide, small])


def pairs(elem: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of integers in which every two edges meet."""
    values = integers(elem)
    edges = values[:11]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    shuffled = np.random.default_rng(seed).permutation(values)
    return np.concatenate([left, values]), np.concatenate([right, shuffled])


def floats(elem: str, count: int = 1000, seed: int = 0) -> np.ndarray:
    """Edges, random bits over all exponents, and numbers near one of a float type."""
    kind = NUMPY[elem]
    random = np.random.default_rng(seed)
    width = np.dtype(kind).itemsize
    bits = random.integers(0, 1 << (8 * width), count, dtype=np.uint64).astype(f"u{width}")
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]
    near = random.standard_normal(count) * 4
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(edges, kind), bits.view(kind), near.astype(kind)])


def float_pairs(elem: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of floats in which every two edges meet."""
    values = floats(elem)
    edges = values[:13]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    return np.concatenate([left, values]), np.concatenate(
        [right, np.random.default_rng(seed).permutation(values)]
    )


def assert_same(got: np.ndarray, want: np.ndarray, *inputs: np.ndarray) -> None:
    """Equal bit for bit; any NaN equals any other."""
    assert got.dtype == want.dtype
    unsigned = f"u{got.dtype.itemsize}"
    differs = got.view(unsigned) != want.view(unsigned)
    if got.dtype.kind not in "biu":
        differs &= ~((got != got) & (want != want))
    if differs.any():
        first = int(np.argmax(differs))
        operands = [array[first] for array in inputs]
        raise AssertionError(
            f"{int(differs.sum())} differ; of {operands}: got {got[first]!r}, not {want[first]!r}"
        )


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The distance of f32 results from exact f64 ones in units in the last place (of the nearest f32)."""
    nearest = exact.astype(np.float32)
    _, exponent = np.frexp(np.abs(nearest).astype(np.float64))
    unit = np.ldexp(1.0, np.maximum(exponent - 24, -149))
    return np.abs(got.astype(np.float64) - exact) / unit


def sampled_floats(per_exponent: int, seed: int = 0) -> np.ndarray:
    """f32 of every exponent and both signs with random mantissas."""
    random = np.random.default_rng(seed)
    exponents = np.arange(256, dtype=np.uint32)[:, None] << 23
    mantissas = random.integers(0, 1 << 23, (256, per_exponent), dtype=np.uint32)
    mantissas[:, 0], mantissas[:, -1] = 0, (1 << 23) - 1
    bits = (exponents | mantissas).ravel()
    return np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)


def each(names: Iterable[str], template: str, inputs: tuple[str, ...], output: str) -> tuple[Case, ...]:
    """One case per op name; `NAME` and the types of the template are filled in."""
    return tuple(
        Case(f"{name}_{inputs[0]}", template.replace("NAME", name), inputs, output) for name in names
    )
