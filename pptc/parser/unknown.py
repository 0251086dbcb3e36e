"""What to say about an op that no row describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pptc.ir.opdef import OpDef
from pptc.ir.ops.known import KNOWN, REMOVED
from pptc.ir.suggest import did_you_mean
from pptc.ir.syntax import Node, SyntaxFault

LONG_NAMES: Mapping[str, str] = MappingProxyType(
    {"module": "builtin.module", "call": "func.call", "return": "func.return"}
)
"""Ops that may be written without their dialect."""

_LOWER_FAMILIES = re.compile(
    r"pto\.(vmi\.|mte_|v[a-z]|p(set|ge|lt|and|or|xor|not|sel|ld|st|pack|unpack|intlv|dintlv)[a-z_0-9]*$)"
)


def unknown_op(name: str, node: Node, rows: Mapping[str, OpDef]) -> SyntaxFault:
    """The fault of an op without a row: removed, planned, of a lower dialect, or misspelt."""
    if name in REMOVED:
        version, instead = REMOVED[name]
        return SyntaxFault(
            "P0108", f"`{name}` left the dialect in {version}", node.start, node.end, f"write {instead}"
        )
    if name in KNOWN:
        return SyntaxFault("P0106", f"`{name}` is not supported yet", node.start, node.end)
    if _LOWER_FAMILIES.match(name):
        family = "a VMI op" if name.startswith("pto.vmi.") else "a VPTO micro-instruction"
        return SyntaxFault("P0107", f"`{name}` is {family}, not a tile op", node.start, node.end)
    hint = did_you_mean(name, (*rows, *KNOWN), 0.8) or "pptc --list-ops lists the ops"
    return SyntaxFault("P0105", f"unknown op `{name}`", node.start, node.end, hint)
