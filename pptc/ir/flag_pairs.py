"""Which flags of a function have no partner at all: what needs a run to be seen is left to pptc-run --check-sync."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.chip_pipes import flag_ends
from pptc.ir.core import Op
from pptc.ir.kinds import plain

RAISES = ("pto.set_flag", "pto.record_event")
WAITS = ("pto.wait_flag", "pto.wait_event")

Flag = tuple[str, str, str]
"""The pipe that raises it, the one that waits for it, and the id."""


def flag_of(op: Op) -> Flag:
    """The flag that an op raises or waits for."""
    return (*flag_ends(op), str(plain(op.attributes["event_id"])))


def lone_flags(function: Op) -> Iterator[tuple[Op, str]]:
    """The first op of every flag that is only raised or only waited for, and what is wrong with it."""
    raised: dict[Flag, Op] = {}
    waited: dict[Flag, Op] = {}
    for op in function.walk():
        if op.name in (*RAISES, *WAITS):
            (raised if op.name in RAISES else waited).setdefault(flag_of(op), op)
    for flag, op in raised.items():
        if flag not in waited:
            yield op, "nothing in this function waits for this flag: it is still raised at the end"
    for flag, op in waited.items():
        if flag not in raised:
            yield op, "nothing in this function raises this flag: the chip would wait for ever"
