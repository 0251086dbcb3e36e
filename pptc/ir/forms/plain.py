"""What most elements of formats share."""

from __future__ import annotations

from pptc.ir.core import Op
from pptc.ir.syntax import Cursor


class Plain:
    """What most elements share: they spell no attribute and cannot head or anchor an optional part."""

    spells: tuple[str, ...] = ()

    def starts(self, cursor: Cursor) -> bool:
        """Not a head, unless the element says how it begins."""
        return False

    def present(self, op: Op) -> bool:
        """Always there, unless the element says otherwise."""
        return True


def plural(count: int, noun: str) -> str:
    """`1 operand`, `2 operands`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
