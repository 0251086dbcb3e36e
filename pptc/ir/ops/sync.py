"""Rows that order what the pipes, cores and caches of a chip do. On a machine without them program order is enough."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import SCALAR, only
from pptc.ir.opdef import SIGNALS, WAITS, Attribute, Kind, OpDef, Operand, Problem, table
from pptc.ir.types import F64, I32, PartType, PtrType, ViewType

_MEMORY = Kind(
    "a pointer, a view or a partition", lambda type: isinstance(type, PtrType | ViewType | PartType)
)


def _all_or_one(op: Op) -> Iterator[Problem]:
    """Either a space or an address."""
    if ("space" in op.attributes) == bool(op.group("addr")):
        yield Problem("P0207", "say `all #pto.address_space<gm>`, or an address and `single_cache_line`")


def _workspace(op: Op) -> Iterator[Problem]:
    """Only the soft form has operands, and it needs the workspace."""
    soft = getattr(op.attributes.get("mode"), "value", "") == "soft"
    if soft != bool(op.group("gm_workspace")):
        yield Problem(
            "P0202", "the soft form needs a workspace" if soft else "the hard form takes no workspace"
        )


def _is_double(op: Op) -> Iterator[Problem]:
    if op.operand("value").type != F64:
        yield Problem("P0204", "what is printed is an f64", "value")


ROWS = table(
    OpDef(
        name="pto.syncall",
        doc="Waits for all cores of a kind in all blocks of the grid, which then run at the same time.",
        operands=(
            Operand("gm_workspace", _MEMORY, arity="optional"),
            Operand("used_cores", only("an i32", I32), arity="optional"),
        ),
        attributes=(
            Attribute("mode", "enum", "sync_all_mode", values=("hard", "soft"), required=True),
            Attribute(
                "core_type", "enum", "sync_core_type", values=("aiv_only", "aic_only", "mix"), required=True
            ),
        ),
        format="`` `(` (list($gm_workspace, $used_cores)^ `:` type($gm_workspace, $used_cores))? `)` `mode` `=` $mode "
        "`,` `core_type` `=` $core_type attr-dict",
        rules=(_workspace,),
        traits=frozenset({WAITS, SIGNALS}),
        since="0.57",
    ),
    OpDef(
        name="tile.meet",
        doc="pto.syncall, of `count` cores of the kind that core_type says, or with 0 of all of them.",
        operands=(Operand("count", only("an i32", I32)),),
        attributes=(
            Attribute(
                "core_type", "enum", "sync_core_type", values=("aiv_only", "aic_only", "mix"), required=True
            ),
        ),
        format="$count attr-dict",
        traits=frozenset({WAITS, SIGNALS}),
    ),
    OpDef(
        name="tile.pause",
        doc="Lets others run while this core waits for what one of them does.",
        format="attr-dict",
        traits=frozenset({WAITS}),
    ),
    OpDef(
        name="tile.print",
        doc="Shows a number on standard error, as its layout (digits * 256 + width) says, or ends the line with 0.",
        operands=(Operand("value", SCALAR),),
        attributes=(Attribute("layout", "int", required=True),),
        format="$value attr-dict",
        rules=(_is_double,),
    ),
    OpDef(
        name="pto.cmo.cacheinvalid",
        doc="Takes lines out of the scalar unit's cache; others are coherent.",
        operands=(Operand("addr", _MEMORY, arity="optional"),),
        attributes=(Attribute("space", "enum", "address_space", values=("gm",)),),
        format="(`all` ` ` $space^)? ($addr^ `single_cache_line`)? attr-dict (`:` type($addr)^)?",
        rules=(_all_or_one,),
        since="0.57",
    ),
    OpDef(
        name="pto.fence.barrier_all",
        doc="Stores before it are seen before those after it.",
        attributes=(
            Attribute("scope", "enum", "fence_scope", values=("gm", "local_memory", "all"), required=True),
        ),
        format="$scope attr-dict",
        since="0.57",
    ),
)
