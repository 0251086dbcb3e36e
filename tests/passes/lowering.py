"""What the tests of lower-tiles share: kernels of single ops with run-time extents, compiled natively and interpreted."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from pptc.diag import Sink, Source
from pptc.emit import Section, emit_module
from pptc.ir.core import Op
from pptc.ir.opdef import Tolerance
from pptc.ir.signature import KernelSignature, signatures
from pptc.ir.types import SCALARS
from pptc.ir.verify import verify
from pptc.link.elf import link_shared
from pptc.options import EmitOptions, host_features, load_machine
from pptc.parser import parse
from pptc.passes import PASSES
from pptc.passes.base import PassContext, Pipeline, parse_pipeline, run_pipeline

NUMPY: Mapping[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip
"""The NumPy type of each element."""


def _runnable(*names: str) -> tuple[str, ...]:
    have = host_features(Path("/proc/cpuinfo").read_text())
    return tuple(name for name in names if have.issuperset(load_machine(name).requires))


MACHINES = _runnable("x86-64", "avx2", "avx512")


def runnable(target: str, level: int) -> list[tuple[str, int]]:
    """The pair, where this machine can run the target."""
    return [(name, level) for name in _runnable(target)]


def parsed(text: str) -> Op:
    """The verified module of a text without faults."""
    sink = Sink()
    module = parse(Source("test.pto", text), sink)
    sink.check()
    assert module is not None
    verify(module, sink)
    sink.check()
    return module


def lowered(text: str, target: str, pipeline: str) -> Op:
    """The module of a text after a pipeline, verified after each pass."""
    module = parsed(text)
    steps = parse_pipeline(pipeline, PASSES)
    run_pipeline(steps, module, PassContext(load_machine(target), Sink()), [_verify_each])
    return module


def _verify_each(step: object, module: Op, changed: bool) -> None:
    sink = Sink()
    verify(module, sink)
    sink.check()


class Library:
    """The kernels of a module, compiled by a pipeline for a target; `verified` after every pass."""

    def __init__(
        self, module: Op, target: str, pipeline: Pipeline, opt_level: int = 0, verified: bool = True
    ) -> None:
        machine = load_machine(target)
        self.signatures: dict[str, KernelSignature] = {s.name: s for s in signatures(module)}
        run_pipeline(pipeline, module, PassContext(machine, Sink()), [_verify_each] if verified else [])
        section = emit_module(module, machine, EmitOptions(opt_level=opt_level))
        assert isinstance(section, Section)
        exports = [name for kernel in section.kernels for name in kernel.exports]
        image = link_shared([section.payload], exports, entries=[kernel.entry for kernel in section.kernels])
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(image.data)
            file.flush()
            self._library = ctypes.CDLL(file.name)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a kernel; the scratch starts as NaN in every float type, so that nothing unspecified goes unseen."""
        size = getattr(self._library, f"{name}_scratch_bytes")
        size.restype = ctypes.c_size_t
        scratch = np.full(size() + 64, 0xFF, np.uint8)
        start = -scratch.ctypes.data % 64
        function = getattr(self._library, f"{name}_ws")
        passed = [
            _argument(argument.kind, argument.dtype.name, value)
            for argument, value in zip(self.signatures[name].arguments, arguments, strict=True)
        ]
        function(*passed, ctypes.c_void_p(scratch[start:].ctypes.data))


def _argument(kind: str, dtype: str, value: Any) -> Any:
    if kind == "pointer":
        return ctypes.c_void_p(value.ctypes.data)
    bits = np.asarray(value, NUMPY[dtype])
    if dtype == "f32":
        return ctypes.c_float(float(bits))
    return np.ctypeslib.as_ctypes(np.asarray(bits).view(f"i{bits.dtype.itemsize}").copy())


def values(elem: str, shape: Sequence[int], seed: int) -> Any:
    """Random numbers of a moderate size, exact in the element type."""
    random = np.random.default_rng(seed)
    if NUMPY[elem] in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        return random.normal(0, 3, shape).astype(NUMPY[elem])
    info = np.iinfo(NUMPY[elem])
    return random.integers(max(info.min, -50), 50, shape).astype(NUMPY[elem])


class Text:
    """A writer of one function whose tiles have run-time valid extents %r x %c and addresses of their own."""

    def __init__(self, name: str, rows: int, columns: int, **arguments: str) -> None:
        self.name = name
        self.rows, self.columns = rows, columns
        self.arguments = arguments
        self.lines = [
            "%r = arith.index_cast %rows : i32 to index",
            "%c = arith.index_cast %columns : i32 to index",
            *(f"%c{n} = arith.constant {n} : index" for n in (0, 1)),
        ]
        self._address = 0
        self._count = 0

    def __str__(self) -> str:
        listed = ", ".join(f"%{name}: {_type(kind)}" for name, kind in self.arguments.items())
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"  func.func @{self.name}({listed}, %rows: i32, %columns: i32) {{\n{body}\n    return\n  }}\n"

    def fresh(self) -> str:
        """A new name."""
        self._count += 1
        return f"%t{self._count}"

    def part(
        self, pointer: str, rows: str = "%r", columns: str = "%c", by_columns: bool = False
    ) -> tuple[str, str]:
        """A dense rows x columns matrix behind a pointer, in row or column order: the partition and its type."""
        elem = self.arguments[pointer][1:]
        view, part = self.fresh(), self.fresh()
        strides = f"%c1, {rows}" if by_columns else f"{columns}, %c1"
        self.lines.append(
            f"{view} = pto.make_tensor_view %{pointer}, shape = [{rows}, {columns}], strides = [{strides}] "
            f": !pto.tensor_view<?x?x{elem}>"
        )
        self.lines.append(
            f"{part} = pto.partition_view {view}, offsets = [%c0, %c0], sizes = [{rows}, {columns}] "
            f": !pto.tensor_view<?x?x{elem}> -> !pto.partition_tensor_view<?x?x{elem}>"
        )
        return part, f"!pto.partition_tensor_view<?x?x{elem}>"

    def tile(
        self,
        elem: str,
        rows: int | None = None,
        columns: int | None = None,
        valid: tuple[str, str] = ("%r", "%c"),
        space: str = "vec",
        layout: str = "",
    ) -> tuple[str, str]:
        """A tile at an address of its own: the handle and its type."""
        rows, columns = rows or self.rows, columns or self.columns
        shape = "x".join("1" if extent == "%c1" else "?" for extent in valid)
        type = f"!pto.tile_buf<{space}, {rows}x{columns}x{elem}, valid={shape}{layout}>"
        name, address = self.fresh(), self.fresh()
        size = -(-rows * columns * SCALARS[elem].bytes // 512) * 512
        self.lines.append(f"{address} = arith.constant {self._address} : i64")
        self._address += size
        given = " ".join(
            f"{word} = {extent}"
            for word, extent in zip(("valid_row", "valid_col"), valid, strict=True)
            if extent != "%c1"
        )
        self.lines.append(f"{name} = pto.alloc_tile addr = {address} {given} : {type}")
        return name, type

    def load(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """tload."""
        self.op("pto.tload", [source], target)

    def store(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """tstore."""
        self.op("pto.tstore", [source], target)

    def op(
        self, name: str, sources: Sequence[tuple[str, str]], target: tuple[str, str], inside: str = ""
    ) -> None:
        """`name ins(sources : types) outs(target : type)`."""
        names, types = (", ".join(column) for column in zip(*sources, strict=True))
        self.lines.append(f"{name} ins({names}{inside} : {types}) outs({target[0]} : {target[1]})")


def _type(kind: str) -> str:
    return f"!pto.ptr<{kind[1:]}>" if kind.startswith("*") else kind


def module(texts: Iterator[Text] | Sequence[Text]) -> str:
    """The text of a module of these functions."""
    return "module {\n" + "".join(map(str, texts)) + "}\n"


def assert_near(tolerance: Tolerance, found: Any, want: Any, what: str, more_ulps: float = 0.0) -> None:
    """Equal integers; floats within a row's tolerance of the reference, NaN for NaN."""
    assert found.dtype == want.dtype
    if found.dtype.kind in "iu":
        np.testing.assert_array_equal(found, want, what)
        return
    unit = float(ml_dtypes.finfo(found.dtype).eps)
    a, b = found.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        ulps = (tolerance.ulps + more_ulps) * 1.01 * unit
        allowed = tolerance.absolute + (tolerance.relative + ulps) * np.abs(b)
        near = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    assert near.all(), f"{what}: {a[~near][:4]} instead of {b[~near][:4]}"
