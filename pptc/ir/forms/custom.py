"""Spellings that no directive says: `custom<Name>` is looked up in CUSTOM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pptc.ir.attrs import DenseAttr, TypeAttr
from pptc.ir.core import Op
from pptc.ir.forms.contract import Draft, Element, Reader, Writer
from pptc.ir.forms.control import For, If, Successors, Switch, While
from pptc.ir.forms.functions import Function, SymbolName
from pptc.ir.forms.plain import Plain
from pptc.ir.opdef import OpDef
from pptc.ir.spell_dense import parse_dense, print_dense
from pptc.ir.syntax import Cursor


@dataclass(frozen=True, slots=True)
class DenseOfType(Plain):
    """`dense<..>`: the attribute `value`, without its type, which the attribute `type` says."""

    row: OpDef

    @property
    def spells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The value."""
        return ("value",)

    def parse(self, reader: Reader, cursor: Cursor, draft: Draft) -> None:
        """Read the values."""
        node = cursor.expect_type("DENSE", "`dense<..>`")
        type = draft.attributes.get("type")
        assert isinstance(type, TypeAttr), "the format spells the type first"
        draft.attributes["value"] = parse_dense(node, type.type)

    def present(self, op: Op) -> bool:
        """The op has a value."""
        return "value" in op.attributes

    def print(self, writer: Writer, op: Op) -> None:
        """Write the values."""
        value = op.attributes["value"]
        assert isinstance(value, DenseAttr)
        writer.put(print_dense(value))


CUSTOM: Mapping[str, Callable[[OpDef], Element]] = MappingProxyType(
    {
        "SymbolName": SymbolName,
        "Function": Function,
        "DenseOfType": DenseOfType,
        "For": For,
        "If": If,
        "While": While,
        "Switch": Switch,
        "Successors": Successors,
    }
)
