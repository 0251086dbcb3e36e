"""Rows of the ops between chips, as one chip runs them: its own memory is the only one there is.

Transfers go through staging tiles, whose content is undefined afterwards. Signals are i32 in global memory: what a core
writes before it notifies is seen by those who waited for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import BOOLEAN, PART, VEC, choice, in_spaces, same_elements, source, target, tile
from pptc.ir.opdef import SIGNALS, WAITS, Access, Attribute, Kind, OpDef, Operand, Problem, Result, table
from pptc.ir.types import I1, I32, ScalarType, TileType, element_type

_WORD = Kind("a signless integer", lambda type: isinstance(type, ScalarType) and type.kind == "int")
COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")


def _same_shape(op: Op) -> Iterator[Problem]:
    """Source and destination have the same extents, as far as their types say."""
    here, there = (getattr(op.operand(name).type, "dims", ()) for name in ("dst", "src"))
    pairs = list(zip(here, there, strict=False))
    if len(here) != len(there) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        yield Problem("P0205", "dst and src have different shapes", "src")


def _same_stages(op: Op) -> Iterator[Problem]:
    """A second staging tile is like the first."""
    first, second = op.operand("ping").type, op.optional("pong")
    if second is not None and isinstance(first, TileType) and second.type != first:
        yield Problem("P0201", "pong is a tile like ping", "pong")


def _words(op: Op) -> Iterator[Problem]:
    if element_type(op.operand("signal").type) != I32:
        yield Problem("P0216", "a signal has elements of i32", "signal")


def _transfer(name: str, doc: str, attributes: tuple[Attribute, ...] = ()) -> OpDef:
    updates: Access = "update" if attributes else "write"
    return OpDef(
        name=name,
        doc=doc,
        operands=(
            target("dst", PART, access=updates),
            source("src", PART),
            target("ping", VEC, access="scratch", doc="staging"),
            Operand("pong", VEC, "scratch", "optional", "a second one"),
        ),
        attributes=attributes,
        format=(
            "`` `(` list($dst, $src) `,` `buf` `` `(` list($ping, $pong) `)` `:` type($dst, $src, $ping, $pong) `)` "
            "attr-dict"
        ),
        rules=(in_spaces, same_elements("dst", "src", "ping"), _same_shape, _same_stages),
        since="0.57",
    )


_ATOMIC = choice(
    "atomicType",
    "atomic_type",
    "atomic_none",
    "atomic_add",
    default="atomic_none",
    doc="add to what is there",
)
_COMPARE = Attribute(
    "cmp", "enum", "wait_cmp", True, COMPARISONS, required=True, doc="how the signal compares with the value"
)


def _signal(
    name: str, doc: str, access: Access, value: str, attribute: Attribute, *traits: str, tests: bool = False
) -> OpDef:
    return OpDef(
        name=name,
        doc=doc,
        operands=(Operand("signal", PART, access), Operand(value, _WORD)),
        results=(Result("result", BOOLEAN),) if tests else (),
        attributes=(attribute,),
        format=f"`` `(` list($signal, ${value}) `:` type($signal, ${value}) `)` attr-dict"
        + (" `->` type($result)" if tests else ""),
        rules=(_words,),
        infer=(lambda op: (I1,)) if tests else None,
        traits=frozenset(traits),
        since="0.57",
    )


COMM = (
    _transfer("pto.comm.tput", "Writes `src` to memory that may be another chip's.", (_ATOMIC,)),
    _transfer("pto.comm.tget", "Reads `src`, which may be another chip's memory, into `dst`."),
    _signal(
        "pto.comm.tnotify",
        "Sets every element of a signal, or adds to it, behind all that was written before.",
        "update",
        "value",
        Attribute("notifyOp", "enum", "notify_op", True, ("atomic_add", "set"), required=True),
        SIGNALS,
    ),
    _signal(
        "pto.comm.twait",
        "Waits until every element of a signal compares with the value as said.",
        "read",
        "cmpValue",
        _COMPARE,
        WAITS,
    ),
    _signal(
        "pto.comm.ttest",
        "Whether every element of a signal compares with the value as said, now.",
        "read",
        "cmpValue",
        _COMPARE,
        WAITS,
        tests=True,
    ),
)

EXPANDED = (
    OpDef(
        name="tile.tstore_add",
        doc="Adds a tile to global memory, each element in one step: `pto.tstore` with atomic_add.",
        operands=(source("src", tile("vec", "acc", "mat")), target("dst", PART, access="update")),
        format="`ins` `(` $src `:` type($src) `)` `outs` `(` $dst `:` type($dst) `)` attr-dict",
        rules=(in_spaces, same_elements("src", "dst")),
    ),
)

ROWS = table(COMM, EXPANDED)
