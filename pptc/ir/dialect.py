"""Versions of the tile dialect: what an op asks for, and the default of tcvt that changed between them."""

from __future__ import annotations

from typing import Literal

from pptc.diag import Sink, fail
from pptc.ir.core import Op
from pptc.ir.floats import FORMATS
from pptc.ir.types import ScalarType, element_type

VERSIONS = ("0.27", "0.57", "0.60", "0.63")
"""The versions at which rows begin or end."""

Saturation = Literal["on", "off", "error"]
SATURATIONS: tuple[Saturation, ...] = ("on", "off", "error")
"""What a tcvt without satmode does out of range: clamp, wrap or become infinite, or be refused."""

GROUP = "saturation"
"""The -W group of the warning."""


def check_version(module: Op, version: str, sink: Sink) -> None:
    """Report P0108 for every op that a version of the dialect does not have yet. Raises CompileError P0301."""
    wanted = _number(version)
    for op in module.walk():
        since = op.definition.since
        if op.definition.dialect == "pto" and _number(since) > wanted:
            message = f"{op.name} needs dialect {since} or later, this is {version}"
            sink.error("P0108", message, op.span, location=op.loc)


def _number(version: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise fail(
            "P0301", f"--pto-version={version} is not a version", hint="like " + ", ".join(VERSIONS)
        ) from None


def settle_saturation(module: Op, choice: Saturation | None, sink: Sink) -> None:
    """Decide what the tcvts without satmode do; None is on, with a warning where it makes a difference."""
    found = [op for op in module.walk() if op.name == "pto.tcvt" and "satmode" not in op.attributes]
    relying = [op for op in found if _may_leave_the_range(op)]
    if choice == "off":
        for op in found:
            op.attributes["satmode"] = "OFF"
    elif choice == "error":
        for op in relying:
            sink.error(
                "P0206",
                "this tcvt says no satmode",
                op.span,
                hint="write satmode = #pto<saturation_mode ON> or OFF",
                location=op.loc,
            )
    elif choice is None and relying:
        count = f"{len(relying)} tcvt" + ("s say" if len(relying) > 1 else " says")
        sink.warn(
            "W0004", GROUP, f"{count} no satmode: what is out of range is clamped, as dialect 0.63 has it",
            relying[0].span, hint="write satmode, or choose by --tcvt-default-sat=on, off or error",
        )  # fmt: skip


def _may_leave_the_range(op: Op) -> bool:
    source, target = (element_type(op.operand(name).type) for name in ("src", "dst"))
    if source is None or target is None:
        return False
    (low, high), (least, most) = _range(source), _range(target)
    return low < least or high > most or (source.is_float and not target.is_float)


def _range(type: ScalarType) -> tuple[float, float]:
    """The smallest and the largest finite value."""
    if type.name in FORMATS:
        form = FORMATS[type.name]
        exponent, mantissa = form.largest >> form.mantissa, form.largest & ((1 << form.mantissa) - 1)
        largest = (1 + mantissa / (1 << form.mantissa)) * 2.0 ** (exponent - form.bias)
        return -largest, largest
    signed = type.kind != "uint"
    return -(1 << (type.bits - 1)) if signed else 0, (1 << (type.bits - signed)) - 1
