"""Entries: what callers call. Mostly one function; a pair is two that work on one block, joined by pipes.

The cube function and the vector function of a pair run at the same time, the latter once per vector core. Their entry
has the name that both begin with, or that of the one with `pto.entry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pptc.ir.attrs import IntAttr, SymbolAttr
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.kinds import attribute, plain

CUBE, VECTOR = "cube", "vector"

PAIR = "tile.pair"
"""String, on func.func: the entry that a function is a part of, once its pipes are expanded."""

ROLE = "tile.role"
"""String beside it: `cube` or `vector`."""

THREADS = "tile.threads"
"""Integer beside it: how many threads a block takes, the cube's first."""

SHARED_BYTES = "tile.shared_bytes"
"""Integer beside it: the memory that these threads share."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel by its name: one function, or the cube's and then the vector cores' of a pair."""

    name: str
    functions: tuple[Op, ...]

    @property
    def is_pair(self) -> bool:
        """Whether several threads work on a block."""
        return len(self.functions) > 1

    @property
    def threads(self) -> int:
        """How many threads a block takes: one, or the cube's and one per vector core."""
        if not self.is_pair:
            return 1
        known = self.functions[0].attributes.get(THREADS)
        if isinstance(known, IntAttr):
            return known.value
        return 3 if any(split_of(op) for function in self.functions for op in pipe_ops(function)) else 2


def entries(module: Op) -> tuple[Entry, ...]:
    """The entries of a module: its functions with `pto.entry`, else all public ones with a body; a pair is one."""
    defined = [f for f in functions(module) if f.regions and f.regions[0].blocks]
    marked = [f for f in defined if "pto.entry" in f.attributes]
    called = marked or [f for f in defined if f.attributes.get("sym_visibility", "public") != "private"]
    found: dict[str, Entry] = {}
    for function in called:
        pair = pair_of(function, defined)
        entry = pair or Entry(symbol_name(function), (function,))
        found.setdefault(entry.name, entry)
    return tuple(found.values())


def pipe_ops(function: Op) -> Iterator[Op]:
    """The ops of a function that work on pipes, before these are expanded."""
    return (op for op in function.walk() if pipe_side(op))


def role_of(function: Op) -> str | None:
    """`cube` or `vector` for a function of a pair, None for every other one."""
    known = function.attributes.get(ROLE)
    return known if isinstance(known, str) else next((pipe_side(op) for op in pipe_ops(function)), None)


def pair_of(function: Op, defined: list[Op]) -> Entry | None:
    """The pair that a function is in: with the one that it names as peer, else the only one of the other role."""
    role = role_of(function)
    if role is None:
        return None
    others = [f for f in defined if f is not function and role_of(f) not in (None, role)]
    expanded = function.attributes.get(PAIR)
    linked = [f for f in others if _names(function, f) or _names(f, function)]
    same = [f for f in others if f.attributes.get(PAIR) == expanded] if expanded else linked or others
    if len(same) != 1:
        return None
    cube, vector = (function, same[0]) if role == CUBE else (same[0], function)
    name = expanded if isinstance(expanded, str) else _entry_name(cube, vector)
    return Entry(name, (cube, vector))


def _names(function: Op, other: Op) -> bool:
    wanted = SymbolAttr(symbol_name(other))
    return any(
        op.attributes.get("peer_func") == wanted
        for op in function.walk()
        if op.name == "pto.import_reserved_buffer"
    )


def _entry_name(cube: Op, vector: Op) -> str:
    """The name of the one with pto.entry, the words that both names begin with, or the letters."""
    marked = [f for f in (cube, vector) if "pto.entry" in f.attributes]
    names = [symbol_name(f) for f in (cube, vector)]
    if len(marked) == 1:
        return symbol_name(marked[0])
    words = "_".join(_common(*(name.split("_") for name in names)))
    return words or "".join(_common(*names)).rstrip("_") or "_".join(names)


def _common(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """What two sequences begin with."""
    return [x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))]


# ---------------------------------------------------------------- ops on pipes


def pipe_side(op: Op) -> str | None:
    """The core, `cube` or `vector`, that a pipe op runs on, by its trait `pipe:CORE`; None for every other op."""
    return next((trait[5:] for trait in op.definition.traits if trait.startswith("pipe:")), None)


def pipe_id(op: Op) -> int:
    """The number of the pipe that an op works on."""
    return int(plain(attribute(op, "id")) or 0)


def split_of(op: Op) -> int:
    """The op's `split`; 0 where it has none."""
    return int(plain(op.attributes.get("split")) or 0)
