"""What is asked of a user's tiles beyond their types: all with addr or none, aligned, and within their memory spaces.

Called once on the user's module. What only the chip minds is an error for Ascend targets and a warning elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from pptc.diag import Diagnostic, Note, Sink
from pptc.ir.analysis import constant_of
from pptc.ir.core import Op, functions
from pptc.ir.flag_pairs import lone_flags
from pptc.ir.types import BOX_BYTES, TileType

A3 = "a2a3"
A5 = "a5"

CAPACITIES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        A3: MappingProxyType(
            {"vec": 196608, "mat": 524288, "left": 65536, "right": 65536, "acc": 131072, "bias": 1024}
        ),
        A5: MappingProxyType(
            {"vec": 262144, "mat": 524288, "left": 65536, "right": 65536, "acc": 262144, "bias": 4096}
        ),
    }
)
"""Bytes of each memory space by generation."""

GROUP = "chip"
SYNC_GROUP = "sync"
"""The -W groups of the warnings."""

Finding = tuple[str, str, str]
"""The code as an error, the code as a warning, and the sentence."""


def generation(module: Op, override: str | None = None) -> str:
    """The chip generation that a module is written for: `--pto-arch`, else pto.target_arch, else a2a3."""
    named = override or module.attributes.get("pto.target_arch")
    return A5 if named == A5 else A3


def check_chip(module: Op, sink: Sink, arch: str | None = None, strict: bool = False) -> None:
    """Report mixed levels, tiles that the chip cannot hold, and flags without a partner; all errors when `strict`."""
    chip = generation(module, arch)
    for function in functions(module):
        tiles = [
            op
            for op in function.walk()
            if op.name == "pto.alloc_tile" and "tile.private" not in op.attributes
        ]
        _one_level(tiles, sink)
        for op in tiles:
            for finding in (*_misaligned(op), *_overflow(op, chip)):
                _report(op, finding, GROUP, sink, strict)
        for op, message in lone_flags(function):
            _report(op, ("P0604", "W0005", f"{op.name}: {message}"), SYNC_GROUP, sink, strict)


def _report(op: Op, finding: Finding, group: str, sink: Sink, strict: bool) -> None:
    code, warning, message = finding
    if strict:
        sink.error(code, message, op.span, location=op.loc)
    else:
        sink.report(Diagnostic(warning, message, op.span, location=op.loc, severity="warning", group=group))


def _one_level(tiles: list[Op], sink: Sink) -> None:
    """A kernel places all of its tiles or none."""
    placed = next((op for op in tiles if op.group("addr")), None)
    if placed is None:
        return
    for op in tiles:
        if not op.group("addr"):
            notes = (Note("this tile has an addr", placed.span),)
            message = "this alloc_tile has no addr, but others of the kernel have one"
            sink.error("P0211", message, op.span, notes=notes, location=op.loc)


def _named(op: Op) -> tuple[str, TileType]:
    type = op.result.type
    assert isinstance(type, TileType)
    return f"tile %{op.result.name}" if op.result.name else "the tile", type


def _address(op: Op) -> int | None:
    value = op.optional("addr")
    return None if value is None else constant_of(value)


def _misaligned(op: Op) -> Iterator[Finding]:
    name, type = _named(op)
    address = _address(op)
    if address is not None and address % BOX_BYTES:
        yield "P0214", "W0003", f"{name} is at byte {address}, which is not a multiple of {BOX_BYTES}"
    if type.space != "vec" or type.is_boxed:
        return
    extent, word = (type.cols, "row") if type.blayout == "row_major" else (type.rows, "column")
    if extent * type.elem.bytes % BOX_BYTES:
        size = extent * type.elem.bytes
        yield "P0214", "W0003", f"a {word} of {name} has {size} bytes, which is not a multiple of {BOX_BYTES}"


def _overflow(op: Op, chip: str) -> Iterator[Finding]:
    name, type = _named(op)
    capacity = CAPACITIES[chip].get(type.space)
    start = _address(op) or 0
    end = start + type.size_bytes
    if capacity is not None and end > capacity:
        message = f"{name} takes bytes {start} to {end} of {type.space}, which has {capacity} on {chip}"
        yield "P0215", "W0001", message
