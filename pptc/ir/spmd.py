"""SPMD: which arguments and ops stand for a block's place in the grid."""

from __future__ import annotations

from typing import Literal

from pptc.ir.attrs import DictAttr, ListAttr
from pptc.ir.core import Op

Role = Literal["", "block_idx", "block_num", "subblock_idx"]
ROLES: tuple[Role, ...] = ("", "block_idx", "block_num", "subblock_idx")
SPMD_ATTRIBUTE = "pto.spmd"
"""The argument attribute that names the role of an SPMD argument."""

GRID_OPS = ("pto.get_block_idx", "pto.get_block_num")
"""Ops that ask for the place in the grid without an argument."""


def spmd_role(function: Op, index: int) -> Role:
    """The SPMD role of an argument; empty for an ordinary one."""
    attributes = function.attributes.get("arg_attrs")
    if not isinstance(attributes, ListAttr) or index >= len(attributes.items):
        return ""
    entry = attributes.items[index]
    word = entry.get(SPMD_ATTRIBUTE) if isinstance(entry, DictAttr) else None
    return next((role for role in ROLES if role == word), "")
