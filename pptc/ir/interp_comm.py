"""How the interpreter executes transfers, signals and meetings: one chip, whose cores take turns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir import numeric
from pptc.ir.core import Op
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.kinds import attribute, plain
from pptc.ir.storage import MemoryFault, View

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "eq": operator.eq,
        "ne": operator.ne,
        "gt": operator.gt,
        "ge": operator.ge,
        "lt": operator.lt,
        "le": operator.le,
    }
)


def _elements(view: View) -> tuple[Any, Any]:
    """The array of a view and the places of its elements there."""
    return view.base.array, view.places(*view.extents)


def add_to(view: View, values: Any) -> None:
    """Add a matrix to the elements of a view, in the element type of the view."""
    array, elem = view.base.array, view.base.elem
    places = view.places(*values.shape)
    there = numeric.widen(array[places], elem)
    array[places] = numeric.narrow(there + numeric.widen(values, elem), elem)


def _transfer(frame: Frame, op: Op) -> Results:
    source, target = frame.one(op, "src"), frame.one(op, "dst")
    if source.extents != target.extents:
        raise MemoryFault(f"{source.extents} elements do not fit {target.extents}")
    array, places = _elements(source)
    values = array[places].copy()
    if op.definition.attribute("atomicType") and plain(attribute(op, "atomicType")) == "atomic_add":
        add_to(target, values)
    else:
        array, places = _elements(target)
        array[places] = values
    for name in ("ping", "pong"):
        stage = frame.one(op, name)
        if frame.poison and stage is not None:
            stage.leave_unspecified(outside=False)
    return None


def _store_add(frame: Frame, op: Op) -> Results:
    tile, view = frame.one(op, "src"), frame.one(op, "dst")
    rows, columns = (min(a, b) for a, b in zip(view.extents, (tile.v_row, tile.v_col), strict=True))
    add_to(view, tile.read(rows, columns))
    return None


def _notify(frame: Frame, op: Op) -> Results:
    array, places = _elements(frame.one(op, "signal"))
    value = frame.one(op, "value")
    array[places] = (
        value if plain(op.attributes["notifyOp"]) == "set" else array[places] + array.dtype.type(value)
    )
    return None


def _holds(frame: Frame, op: Op) -> bool:
    array, places = _elements(frame.one(op, "signal"))
    compare = _COMPARE[plain(op.attributes["cmp"])]
    return bool(compare(array[places], frame.one(op, "cmpValue")).all())


def _wait(frame: Frame, op: Op) -> Results:
    frame.wait(lambda: _holds(frame, op))
    return None


def _sync_all(frame: Frame, op: Op) -> Results:
    """Meet the cores of that kind of all blocks; alone, a core waits for nobody."""
    kind = plain(op.attributes["core_type"])
    given = frame.one(op, "used_cores") if op.name == "pto.syncall" else frame.one(op, "count")
    count = min(given or frame.meetings.cores(kind), frame.meetings.cores(kind))
    round = frame.meetings.arrive(kind, count)
    frame.wait(lambda: frame.meetings.round(kind) > round)
    return None


COMM: Mapping[str, Handler] = MappingProxyType(
    {
        "pto.comm.tput": _transfer,
        "pto.comm.tget": _transfer,
        "pto.comm.tnotify": _notify,
        "pto.comm.twait": _wait,
        "pto.comm.ttest": lambda frame, op: (_holds(frame, op),),
        "pto.syncall": _sync_all,
        "tile.meet": _sync_all,
        "tile.tstore_add": _store_add,
    }
)
