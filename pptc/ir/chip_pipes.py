"""On which pipe of a chip's core an op runs, by the memory spaces that it moves elements between.

Every pipe runs its ops in program order and side by side with the others; only flags and barriers order two of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.core import Op, Value
from pptc.ir.kinds import plain
from pptc.ir.opdef import Contract
from pptc.ir.types import PartType, PtrType, TileType, ViewType

S, V, M = "PIPE_S", "PIPE_V", "PIPE_M"
MTE1, MTE2, MTE3, FIX = "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX"
ALL = "PIPE_ALL"

_GLOBAL = "gm"
_SCALAR_UNIT = frozenset({"pto.load_scalar", "pto.store_scalar", "pto.tgetval", "pto.tsetval"})

_ACROSS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("vec", "vec"): V,
        ("vec", "mat"): MTE3,
        ("mat", "left"): MTE1,
        ("mat", "right"): MTE1,
        ("mat", "bias"): MTE1,
        ("mat", "vec"): MTE1,
        ("mat", "scaling"): FIX,
        ("acc", "vec"): FIX,
        ("acc", "mat"): FIX,
        ("acc", _GLOBAL): FIX,
        ("vec", _GLOBAL): MTE3,
        ("mat", _GLOBAL): MTE3,
    }
)
"""From the space of an op's first source to that of its destination."""

_OF_CLASS: Mapping[str, str] = MappingProxyType(
    {
        "TLOAD": MTE2,
        "TSTORE_ACC": FIX,
        "TSTORE_VEC": MTE3,
        "TMOV_M2L": MTE1,
        "TMOV_M2S": FIX,
        "TMOV_M2B": MTE1,
        "TMOV_M2V": MTE1,
        "TMOV_V2M": MTE3,
        "TMATMUL": M,
        "TVEC": V,
        "TVECWAIT_EVENT": V,
    }
)
"""The pipes of the op classes that record_event and wait_event name."""

_PARTS: Mapping[str, str] = MappingProxyType({"VIRTUAL_PIPE_MTE2_L1A": MTE2, "VIRTUAL_PIPE_MTE2_L1B": MTE2})


@dataclass(frozen=True, slots=True)
class Work:
    """What an op does to memory: what it reads and writes, on which pipe. Of some ops the pipe is not known."""

    pipe: str | None
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]


def work_of(op: Op) -> Work:
    """The accesses of an op to tiles and global memory."""
    reads: list[Value] = []
    writes: list[Value] = []
    for operand in op.definition.operands:
        values = [value for value in op.group(operand.name) if _space(value)]
        reads += values if operand.access in ("read", "update") else []
        writes += values if operand.access in ("write", "update", "scratch") else []
    if ".tpop" in op.name:
        writes += [value for value in op.results if _space(value)]
    return Work(_pipe(op), tuple(reads), tuple(writes))


def flag_ends(op: Op) -> tuple[str, str]:
    """The pipe that raises the flag of a sync op, and the one that waits for it."""
    word = "op" if op.name.endswith("_event") else "pipe"
    first, second = (str(plain(op.attributes[f"{side}_{word}"])) for side in ("src", "dst"))
    return pipe_named(first), pipe_named(second)


def pipe_named(word: str) -> str:
    """The pipe behind a name of a pipe, of a part of one, or of a class of ops."""
    return _OF_CLASS.get(word) or _PARTS.get(word, word)


def _space(value: Value) -> str | None:
    if isinstance(value.type, TileType):
        return value.type.space
    return _GLOBAL if isinstance(value.type, PartType | ViewType | PtrType) else None


def _pipe(op: Op) -> str | None:
    if op.name in _SCALAR_UNIT:
        return S
    if isinstance(op.definition.meaning, Contract):
        return M
    sources, targets = _spaces(op, ("read",)), _spaces(op, ("write", "update"))
    if ".tpop" in op.name:
        return MTE2
    if ".tpush" in op.name:
        targets = [_GLOBAL]
    if not targets:
        return None
    if _GLOBAL in sources:
        return None if _GLOBAL in targets else MTE2
    if targets[0] == "vec" and not sources:
        return V
    return _ACROSS.get((sources[0], targets[0])) if sources else None


def _spaces(op: Op, access: tuple[str, ...]) -> list[str]:
    """The spaces behind the operands of an access, in the row's order."""
    operands = [operand.name for operand in op.definition.operands if operand.access in access]
    found = [_space(value) for name in operands for value in op.group(name)]
    return [space for space in found if space is not None]
