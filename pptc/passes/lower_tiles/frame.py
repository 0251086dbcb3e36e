"""Frame: what is known while one function is lowered: its values, views and tiles, and the scratch memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pptc.diag import CompileError, fail
from pptc.ir.analysis import constant_of
from pptc.ir.attrs import DictAttr, IntAttr
from pptc.ir.core import Op, Value
from pptc.ir.machine import Machine
from pptc.ir.types import INDEX, MemRefType, PtrType, ScalarType, Type
from pptc.passes.homes import SCRATCH_BYTES, SPACE_OFFSETS, integer
from pptc.passes.lower_tiles.code import Code, Index
from pptc.passes.lower_tiles.lanes import Lane, Lanes, storage_type
from pptc.passes.lower_tiles.places import Place, memref
from pptc.passes.lower_tiles.tiles import Tile, View

if TYPE_CHECKING:
    from pptc.passes.lower_tiles.steps import Step

ALIGNMENT = 64
_LEAST_WIDTH = 4
"""Shorter runs of neighbours are not worth vectors."""


@dataclass(frozen=True)
class Options:
    """The choices of `lower-tiles`; see its class for what they mean."""

    vectors: bool = True
    unroll: int = 4
    reciprocal: bool = True
    prefetch: bool = True


class Frame:
    """The state of one function's lowering.

    `scratch` is None in a function that has no scratch argument: one that is not among the `entries` of the module.
    """

    def __init__(
        self,
        function: Op,
        code: Code,
        machine: Machine,
        options: Options,
        scratch: Value | None,
        entries: Sequence[str] = (),
    ) -> None:
        self.entries = entries
        self.code = code
        self.machine = machine
        self.options = options
        self.scratch = scratch
        self._values: dict[Value, Value] = {}
        self.views: dict[Value, View] = {}
        self.tiles: dict[Value, Tile] = {}
        self.cells: dict[Value, int] = {}  # where valid regions that change are kept
        self.products: dict[Tile, Callable[[Step], None]] = {}  # formed where their accumulator is stored
        self.streams = False  # some stores pass the caches
        self.scratch_bytes = integer(function, SCRATCH_BYTES) or 0
        self._shared: dict[str, tuple[int, int]] = {}
        self.space_offsets = _space_offsets(function)

    # -- values of the tile level

    def define(self, value: Value, lowered: Value) -> None:
        """Bind a scalar or pointer to its value at the loop level, which keeps its name."""
        self._values[value] = lowered
        lowered.name = lowered.name or value.name

    def value(self, value: Value) -> Value:
        """The loop level's value of a scalar or pointer."""
        return self._values[value]

    def index(self, value: Value) -> Index:
        """A value of an integer type as an index operand."""
        known = constant_of(value)
        if known is not None:
            return known
        lowered = self._values[value]
        if lowered.type == INDEX:
            return lowered
        return self.code.value("arith.index_cast", (lowered,), INDEX)

    def lane(self, value: Value) -> Lane:
        """A scalar as an operand of a recipe."""
        assert isinstance(value.type, ScalarType)
        return Lanes(self.code, 1).widen(self._values[value], value.type)

    def matrix(self, value: Value) -> Tile | View:
        """The tile or view that a value names."""
        found = self.tiles.get(value)
        return self.views[value] if found is None else found

    # -- what the machine can do

    def has_masks(self, *elements: ScalarType) -> bool:
        """Whether loads and stores of these element types can leave out lanes."""
        native = self.machine.native
        return "mask.8" in native or ("mask.32" in native and all(elem.bits >= 32 for elem in elements))

    def lanes_over(self, bits: int, places: Iterable[Place]) -> int:
        """As many lanes of so many bits as fill a register and lie side by side everywhere; 1 if that is few."""
        width = self.machine.lanes(bits)
        for place in places:
            width = min(width, place.run & -place.run)
        return width if self.options.vectors and width >= _LEAST_WIDTH else 1

    # -- scratch memory

    def memory(self, start: Index, elem: ScalarType) -> Value:
        """The scratch from byte `start` on, as elements."""
        if self.scratch is None:
            raise self.unsupported("a private function cannot hold tiles in memory")
        start = self.code.index(start)
        return self.code.value("memref.view", (self.scratch, start), memref(storage_type(elem)))

    def allocate(self, count: int) -> int:
        """The first byte of a fresh piece of scratch of `count` bytes."""
        start = -(-self.scratch_bytes // ALIGNMENT) * ALIGNMENT
        self.scratch_bytes = start + count
        return start

    def shared(self, purpose: str, count: int) -> int:
        """The first byte of `count` bytes of scratch whose content nobody needs after the op that asks."""
        start, size = self._shared.get(purpose, (0, 0))
        if size < count:
            start = self.allocate(count)
            self._shared[purpose] = start, count
        return start

    def unsupported(self, message: str) -> CompileError:
        """The error of a thing that this lowering has no code for."""
        origin = self.code.origin
        return fail("P0402", message, origin.span if origin else None)


def loop_type(type: Type) -> Type | None:
    """The loop level's type of a scalar or a pointer; None for every other type."""
    if isinstance(type, PtrType):
        return MemRefType((None,), storage_type(type.elem))
    return storage_type(type) if isinstance(type, ScalarType) else None


def _space_offsets(function: Op) -> Mapping[str, int]:
    found = function.attributes.get(SPACE_OFFSETS)
    entries = found.entries if isinstance(found, DictAttr) else ()
    return MappingProxyType({space: attr.value for space, attr in entries if isinstance(attr, IntAttr)})
