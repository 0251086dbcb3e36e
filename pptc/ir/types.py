"""Types of all three levels: frozen, hashable, compared by value. Their text is in `spell.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from pptc.ir.symbols import Dim

Space = Literal["vec", "mat", "left", "right", "acc", "bias", "scaling"]
Major = Literal["row_major", "col_major"]
Box = Literal["none_box", "row_major", "col_major"]

SPACES: tuple[Space, ...] = ("vec", "mat", "left", "right", "acc", "bias", "scaling")
BOX_BYTES = 32
"""Bytes of the short side of a fractal-512 box, and of the alignment unit of every space."""


class Type:
    """Base of all types."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ScalarType(Type):
    """An element or scalar type. `kind` is int (signless), uint, float or index; `bits` counts storage."""

    name: str
    kind: Literal["int", "uint", "float", "index"]
    bits: int

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (i1 takes one)."""
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        """True for every floating type."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for signless, signed and unsigned integers and for index."""
        return self.kind != "float"


def _scalar(name: str, kind: Literal["int", "uint", "float", "index"], bits: int) -> ScalarType:
    return ScalarType(name, kind, bits)


INDEX = _scalar("index", "index", 64)
I1, I8, I16, I32, I64 = (_scalar(f"i{n}", "int", n) for n in (1, 8, 16, 32, 64))
UI8, UI16, UI32, UI64 = (_scalar(f"ui{n}", "uint", n) for n in (8, 16, 32, 64))
F16, BF16 = _scalar("f16", "float", 16), _scalar("bf16", "float", 16)
F32, F64 = _scalar("f32", "float", 32), _scalar("f64", "float", 64)
F8E4M3FN, F8E5M2 = _scalar("f8E4M3FN", "float", 8), _scalar("f8E5M2", "float", 8)

_EXOTIC = tuple(
    _scalar(name, "float", bits)
    for name, bits in (
        ("!pto.f8E8M0", 8),
        ("!pto.hif8", 8),
        ("!pto.hif8x2", 16),
        ("!pto.f4E1M2x2", 8),
        ("!pto.f4E2M1x2", 8),
        ("!pto.bf16x2", 32),
    )
)
_SIGNED = tuple(_scalar(f"si{n}", "int", n) for n in (8, 16, 32, 64))

SCALARS: Mapping[str, ScalarType] = MappingProxyType(
    {
        t.name: t
        for t in (
            INDEX, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64, F16, BF16, F32, F64, F8E4M3FN, F8E5M2,
            *_SIGNED, *_EXOTIC,
        )
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TileType(Type):
    """A 2-D on-chip buffer handle: `rows` x `cols` physical, `v_row` x `v_col` valid (None: known at run time)."""

    space: Space
    elem: ScalarType
    rows: int
    cols: int
    v_row: int | None
    v_col: int | None
    blayout: Major = "row_major"
    slayout: Box = "none_box"
    fractal: int = 512
    pad: int = 0
    compact: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the physical tile."""
        return self.rows * self.cols * self.elem.bytes

    @property
    def is_boxed(self) -> bool:
        """True for the fractal layouts NZ, Zn and Zz."""
        return self.slayout != "none_box"

    def with_valid(self, v_row: int | None, v_col: int | None) -> TileType:
        """The same tile with other valid extents."""
        return replace(self, v_row=v_row, v_col=v_col)


@dataclass(frozen=True, slots=True)
class MultiTileType(Type):
    """`count` slots of one tile type (2..16)."""

    tile: TileType
    count: int


@dataclass(frozen=True, slots=True)
class PtrType(Type):
    """A pointer to elements in a memory space; kernels get `gm`."""

    elem: ScalarType
    space: str = "gm"


@dataclass(frozen=True, slots=True)
class ViewType(Type):
    """`!pto.tensor_view`: shape and strides over global memory, rank 1..5; None is a run-time extent."""

    dims: tuple[int | None, ...]
    elem: ScalarType


@dataclass(frozen=True, slots=True)
class PartType(Type):
    """`!pto.partition_tensor_view`: a window of a view."""

    dims: tuple[int | None, ...]
    elem: ScalarType


@dataclass(frozen=True, slots=True)
class LocalArrayType(Type):
    """`!pto.local_array`: scalar-unit storage of a static shape."""

    dims: tuple[int, ...]
    elem: ScalarType


@dataclass(frozen=True, slots=True)
class StructType(Type):
    """`!pto.struct`: scalar-unit fields, which may nest."""

    fields: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class HandleType(Type):
    """Opaque handles, by the word after `!pto.`: pipe, async_session, async_event, ...; `count` of eventid_array."""

    name: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """An immutable tensor of the core level; dims are integers, symbols or expressions of them."""

    dims: tuple[Dim, ...]
    elem: ScalarType


@dataclass(frozen=True, slots=True)
class StateType(Type):
    """`!core.state`: a tensor owned by the caller and updated in place."""

    dims: tuple[Dim, ...]
    elem: ScalarType


@dataclass(frozen=True, slots=True)
class MemRefType(Type):
    """Loop level: memory of rank 1 addressed by a linear element index; None is an unknown extent.

    `layout` and `space` keep the text of memrefs of old tile files, which are parsed and refused.
    """

    dims: tuple[int | None, ...]
    elem: ScalarType
    layout: str | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True)
class VectorType(Type):
    """Loop level: `lanes` elements, times vscale when `scalable`."""

    lanes: int
    elem: ScalarType
    scalable: bool = False


@dataclass(frozen=True, slots=True)
class FunctionType(Type):
    """Argument and result types of a function."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]


def element_type(type: Type) -> ScalarType | None:
    """The element of a tile, view, tensor, pointer, memref or vector; a scalar is its own element; else None."""
    if isinstance(type, ScalarType):
        return type
    if isinstance(type, MultiTileType):
        return type.tile.elem
    return getattr(type, "elem", None)


@dataclass(frozen=True, slots=True)
class PoisonType(Type):
    """The type of a value whose definition is at fault: every check passes it over, so that one fault is told once."""


POISON = PoisonType()
