"""Text to module: `parse`. Every fault of a text is collected; a faulty op is left out and its values are poisoned."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from pptc.diag import Sink, Source, Span
from pptc.ir.core import Block, Op, Region
from pptc.ir.ops import OPS
from pptc.parser.build import ModuleBuilder
from pptc.parser.tree import parse_tree

__all__ = ["decode", "parse"]

_BINARY_FORMS: Mapping[bytes, tuple[str, str]] = MappingProxyType(
    {
        b"PTOBC\0": ("PTOBC, the binary form", "ptobc decode"),
        b"ML\xefR": ("MLIR bytecode", "mlir-opt, or the -opt tool of its dialects"),
    }
)
"""How files begin that are no text: what they are, and what prints them."""


def decode(name: str, data: bytes, sink: Sink) -> Source | None:
    """The source that a file's bytes hold, or None, reported, when they hold no text."""
    for magic, (what, tool) in _BINARY_FORMS.items():
        if data.startswith(magic):
            hint = f"print the module as text first ({tool})"
            sink.error("P0004", f"this is {what}", Span(Source(name, ""), 0, 0), hint=hint)
            return None
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        source = Source(name, before)
        sink.error(
            "P0008",
            f"the byte 0x{data[error.start]:02X} is not UTF-8",
            Span(source, len(before), len(before)),
        )
        return None


def parse(source: Source, sink: Sink, arch: str | None = None) -> Op | None:
    """The module of a text; faults go to the sink. None when there is nothing at all.

    After faults the module holds what could be read: it may be verified for more faults, never compiled. `arch` (such
    as a5) overrules the pto.target_arch of the modules.
    """
    with _no_collection():
        return _parse(source, sink, arch)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Reading a text leaves no cycles behind; a collection would only walk the growing module, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse(source: Source, sink: Sink, arch: str | None) -> Op | None:
    nodes = parse_tree(source, sink)
    if all(node.type == "alias" for node in nodes):
        if not sink.error_count:
            sink.error("P0003", "the file holds no module", Span(source, 0, 0))
        return None
    aliases = {node.text: node.children[0] for node in nodes if node.type == "alias"}
    builder = ModuleBuilder(source, sink, OPS, aliases, arch)
    try:
        ops = [op for node in nodes if node.type == "op" and (op := builder.op(node)) is not None]
    except RecursionError:
        sink.error("P0001", "the text nests too deeply", Span(source, nodes[0].start, nodes[0].start + 1))
        return None
    return _one_module(source, ops)


def _one_module(source: Source, ops: list[Op]) -> Op | None:
    """The only module, or one that holds all top-level ops."""
    if len(ops) == 1 and ops[0].name == "builtin.module":
        return ops[0]
    if not ops:
        return None
    block = Block()
    for op in ops:
        block.append(op)
    return Op(OPS["builtin.module"], regions=[Region([block])], span=Span(source, 0, 0))
