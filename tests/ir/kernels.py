"""A writer of small kernels for the tests: it remembers types, so that a test says only what it is about."""

from __future__ import annotations

from pptc.diag import Sink, Source
from pptc.ir.core import Op
from pptc.parser import parse


def module(text: str, attributes: str = "") -> Op:
    """The module of a text of functions; every fault of the text fails the test."""
    sink = Sink()
    attributes = f"attributes {{{attributes}}} " if attributes else ""
    parsed = parse(Source("test.pto", f"module {attributes}{{\n{text}\n}}\n"), sink)
    assert not list(sink), [
        (d.code, d.message, d.span and d.span.source.line(d.span.position[0])) for d in sink
    ]
    return parsed


class Kernel:
    """One function named `k`. Methods that make a value return its name."""

    def __init__(self, **arguments: str) -> None:
        self.lines: list[str] = []
        self.types = {f"%{name}": self._full(type) for name, type in arguments.items()}
        self.arguments = dict(self.types)

    @staticmethod
    def _full(type: str) -> str:
        return f"!pto.ptr<{type[1:]}>" if type.startswith("*") else type

    def line(self, text: str) -> None:
        """A statement as it is."""
        self.lines.append(text)

    def value(self, text: str, type: str) -> str:
        """A fresh name for the result of a statement."""
        name = f"%v{len(self.types)}"
        self.types[name] = type
        self.lines.append(f"{name} = {text}")
        return name

    def const(self, value: object, type: str = "index") -> str:
        return self.value(f"arith.constant {value} : {type}", type)

    def view(self, pointer: str, shape: list[int], strides: list[int] | None = None, layout: str = "") -> str:
        """The whole matrix (or tensor) behind a pointer, as one partition; dense without strides."""
        if strides is None:
            strides = [1] * len(shape)
            for axis in range(len(shape) - 2, -1, -1):
                strides[axis] = strides[axis + 1] * shape[axis + 1]
        elem = self.types[pointer][len("!pto.ptr<") : -1]
        dims, counts, zeros = (
            ", ".join(self.const(n) for n in row) for row in (shape, strides, [0] * len(shape))
        )
        of = f"!pto.tensor_view<{'?x' * len(shape)}{elem}>"
        part = f"!pto.partition_tensor_view<{'x'.join(map(str, shape))}x{elem}>"
        word = f" {{layout = #pto.layout<{layout}>}}" if layout else ""
        whole = self.value(
            f"pto.make_tensor_view {pointer}, shape = [{dims}], strides = [{counts}]{word} : {of}", of
        )
        return self.value(
            f"pto.partition_view {whole}, offsets = [{zeros}], sizes = [{dims}] : {of} -> {part}", part
        )

    def tile(self, shape: str, space: str = "vec", addr: int | None = None, **options: object) -> str:
        """A tile; `shape` is like 16x64xf32, options are those of the compact form."""
        type = f"!pto.tile_buf<{', '.join([space, shape, *(f'{key}={value}' for key, value in options.items())])}>"
        where = f" addr = {self.const(addr, 'i64')}" if addr is not None else ""
        return self.value(f"pto.alloc_tile{where} : {type}", type)

    def op(self, name: str, sources: list[str], target: str, attributes: str = "", inside: str = "") -> None:
        """`name ins(sources {inside} : types) outs(target : type) {attributes}`."""
        types = ", ".join(self.types[source] for source in sources)
        inner = f" {{{inside}}}" if inside else ""
        outer = f" {{{attributes}}}" if attributes else ""
        self.line(
            f"{name} ins({', '.join(sources)}{inner} : {types}) outs({target} : {self.types[target]}){outer}"
        )

    def load(self, part: str, tile: str) -> str:
        self.op("pto.tload", [part], tile)
        return tile

    def store(self, tile: str, part: str) -> None:
        self.op("pto.tstore", [tile], part)

    def module(self, attributes: str = "") -> Op:
        arguments = ", ".join(f"{name}: {type}" for name, type in self.arguments.items())
        body = "\n".join(self.lines)
        return module(f"func.func @k({arguments}) {{\n{body}\nreturn\n}}", attributes)
