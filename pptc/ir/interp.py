"""The reference interpreter: runs a tile-level function on NumPy arrays. It is the target `ref` and everyone's oracle.

Scalars are Python integers, booleans and NumPy floats; what they do is the `reference` of their rows. Element work is
the `reference` of the row on whole regions; the ops are in `interp_ops.py` and `interp_memory.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from pptc.diag import fail
from pptc.ir import integers
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.floats import numpy_type
from pptc.ir.interp_frame import Frame, Grid, Handler, Meetings
from pptc.ir.interp_ops import run_function
from pptc.ir.interp_team import Member, Team
from pptc.ir.lazy import np
from pptc.ir.numeric import dtype_of
from pptc.ir.opdef import WAITS
from pptc.ir.pairs import Entry, entries
from pptc.ir.signature import kernel_signature
from pptc.ir.storage import Pointer
from pptc.ir.types import ScalarType

Array = Any

Watch = Callable[[], AbstractContextManager[Handler | None]]
"""What looks on while a core runs: gives what executes its ops in place of the interpreter, or None."""


def run_kernel(
    module: Op,
    entry: str,
    arguments: Mapping[str, Any],
    grid: int = 1,
    *,
    poison: bool = False,
    output: Callable[[str], None] | None = None,
    watch: Watch = nullcontext,
) -> None:
    """Run the kernel `entry` of a tile-level module, all blocks of the grid in order.

    Where cores wait for each other all cores of all blocks take turns.

    Pointers are arrays of any shape in C order, read and written in place; bf16 and fp8 arrays are of ml_dtypes.
    Scalars are Python or NumPy numbers. SPMD arguments are filled per block unless given. `poison` fills what is
    unspecified with NaN and -1 instead of zeros. `output` takes what tprint prints. `watch` gives what executes the
    ops of a core. Raises CompileError: P0306 for arguments that do not fit, P0602 for a fault of the kernel.
    """
    kernel = find_entry(module, entry)
    with np.errstate(all="ignore"):
        named = _bind(kernel.functions[0], arguments)
    vectors = kernel.threads - 1
    start = Frame(module, Grid(0, 1), poison, output, meetings=Meetings(grid, vectors, 1 if vectors else 0))
    cores = [
        _core(function, frame, named, watch)
        for block in range(grid)
        for function, frame in _frames(kernel, Grid(block, grid), start)
    ]
    if any(WAITS in op.definition.traits for function in kernel.functions for op in function.walk()):
        Team().run(cores)
    else:
        for core in cores:
            core(None)
    _copy_back(kernel.functions[0], arguments, [value for value, _ in named])


Core = Callable[[Member | None], None]
"""Runs one core of a block, with what it waits by."""


def _frames(kernel: Entry, place: Grid, start: Frame) -> Iterator[tuple[Op, Frame]]:
    """The functions that the cores of a block run, with their state: the cube's, then one per vector core."""
    queues: dict[tuple[int, str], Any] = {}
    count = max(1, kernel.threads - 1)
    for function in kernel.functions:
        for subblock in range(count if function is kernel.functions[-1] else 1):
            grid = replace(place, subblock=subblock, subblocks=count)
            yield (
                function,
                replace(start, grid=grid, queues=queues, arenas={}, events={}, buffers={}, values={}),
            )


def _core(function: Op, frame: Frame, named: list[tuple[Any, str]], watch: Watch) -> Core:
    values = [value if value is not None else frame.grid.role(role) for value, role in named]

    def run(member: Member | None) -> None:
        with np.errstate(all="ignore"), watch() as step:
            run_function(replace(frame, member=member, step=step), function, values)

    return run


def find_entry(module: Op, name: str) -> Entry:
    """The entry of that name, or a function that is none. Raises CompileError P0103."""
    found = [entry for entry in entries(module) if entry.name == name]
    if found:
        return found[0]
    defined = [f for f in functions(module) if f.regions and f.regions[0].blocks]
    for function in defined:
        if symbol_name(function) == name:
            return Entry(name, (function,))
    known = ", ".join(dict.fromkeys([e.name for e in entries(module)] + [symbol_name(f) for f in defined]))
    raise fail("P0103", f"no function is named @{name}", hint=f"the module has {known or 'none'}")


def _bind(function: Op, arguments: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """The value and the SPMD role of each argument; None stands for a value that the grid fills in."""
    signature = kernel_signature(function)
    known = [argument.name for argument in signature.arguments]
    for name in arguments:
        if name not in known:
            raise fail(
                "P0306", f"@{signature.name} has no argument %{name}", hint=f"it takes {', '.join(known)}"
            )
    bound: list[tuple[Any, str]] = []
    for argument in signature.arguments:
        given = arguments.get(argument.name)
        if given is None and not argument.role:
            raise fail("P0306", f"@{signature.name} needs a value for %{argument.name}")
        if given is not None:
            convert = _pointer if argument.kind == "pointer" else _scalar
            given = convert(argument.name, argument.dtype, given)
        bound.append((given, argument.role))
    return bound


def _pointer(name: str, elem: ScalarType, value: Any) -> Pointer:
    if not hasattr(value, "dtype") or value.dtype != dtype_of(elem):
        found = getattr(value, "dtype", type(value).__name__)
        raise fail("P0306", f"%{name} points to {elem.name}, but the value is {found}")
    return Pointer(np.ascontiguousarray(value).reshape(-1), 0, elem)


def _scalar(name: str, elem: ScalarType, value: Any) -> Any:
    try:
        if elem.is_float:
            return numpy_type(elem)(value)
        if int(value) == value:
            return integers.wrap(int(value), elem)
    except (TypeError, ValueError, OverflowError):
        pass
    raise fail("P0306", f"%{name} is {elem.name}, but the value is {value!r}")


def _copy_back(function: Op, arguments: Mapping[str, Any], values: list[Any]) -> None:
    """Write to arguments that were not contiguous."""
    for index, (value, argument) in enumerate(zip(values, function.body.args, strict=True)):
        if isinstance(value, Pointer):
            given = arguments[argument.name or f"arg{index}"]
            if not np.shares_memory(value.array, given):
                given[...] = value.array.reshape(given.shape)
