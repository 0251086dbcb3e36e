"""The text of types, both directions side by side; attributes are in `spell_attrs.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir.spell_parts import Part, dims_of, extents_of, number_of, scalar_of, shape_of, split_parts
from pptc.ir.spell_tile import parse_multi_tile, parse_tile, print_tile
from pptc.ir.suggest import did_you_mean
from pptc.ir.symbols import Dim, print_dim
from pptc.ir.types import (
    SCALARS,
    FunctionType,
    HandleType,
    LocalArrayType,
    Major,
    MemRefType,
    MultiTileType,
    PartType,
    PoisonType,
    PtrType,
    ScalarType,
    StateType,
    StructType,
    TensorType,
    TileType,
    Type,
    VectorType,
    ViewType,
)

LEFT_LAYOUTS: Mapping[str, Major] = MappingProxyType(
    {"a2": "row_major", "a3": "row_major", "a2a3": "row_major", "a5": "col_major"}
)
"""The blayout that an architecture forces on `left` tiles, whatever their text says."""

POINTER_SPACES = ("gm", "ub", "l1", "l0a", "l0b", "l0c", "bt", "fb", "mat")
HANDLES = ("pipe", "async_session", "async_event", "prefetch_async_context")


# ---------------------------------------------------------------- text to type


def parse_type(text: str, left: Major | None = None) -> Type:
    """The type that `text` spells; SyntaxFault (with offsets into `text`) when it spells none.

    `left` is the blayout forced on tiles of the space `left`.
    """
    return _type(Part(text, 0).stripped(), left)


def _type(part: Part, left: Major | None) -> Type:
    scalar = SCALARS.get(part.text)
    if scalar is not None:
        return scalar
    head, bracket, rest = part.text.partition("<")
    name = head.strip()
    if not bracket:
        if name.removeprefix("!pto.") in HANDLES and name.startswith("!pto."):
            return HandleType(name.removeprefix("!pto."))
        if name in _PARSERS:
            raise part.fault(f"{name} needs parameters in `<..>`")
        raise part.fault(f"unknown type `{part.text}`", _suggest(name))
    if not rest.endswith(">"):
        raise part.fault(f"the `<` of {name} is not closed")
    parser = _PARSERS.get(name)
    if parser is None:
        raise Part(name, part.start).fault(f"unknown type `{name}`", _suggest(name))
    return parser(Part(rest[:-1], part.start + len(head) + 1), left)


def _suggest(name: str) -> str | None:
    if name.startswith(("!pto.vreg", "!pto.mask", "!pto.align", "!pto.vmi")):
        return "types of VPTO and VMI do not occur in tile programs"
    return did_you_mean(name, (*_PARSERS, *SCALARS))


def _parse_ptr(part: Part, left: Major | None) -> Type:
    elem, *space = split_parts(part)
    if len(space) > 1:
        raise space[1].fault("a pointer has an element type and a space")
    if space and space[0].text not in POINTER_SPACES:
        raise space[0].fault(
            f"unknown pointer space `{space[0].text}`", f"one of {', '.join(POINTER_SPACES)}"
        )
    return PtrType(scalar_of(elem), space[0].text if space else "gm")


def _parse_view(kind: type[ViewType] | type[PartType]) -> Callable[[Part, Major | None], Type]:
    def parse(part: Part, left: Major | None) -> Type:
        dims, elem = shape_of(part)
        if not 1 <= len(dims) <= 5:
            raise part.fault(f"a view has 1 to 5 dims, not {len(dims)}")
        return kind(extents_of(dims), elem)

    return parse


def _parse_local_array(part: Part, left: Major | None) -> Type:
    dims, elem = shape_of(part)
    return LocalArrayType(tuple(map(number_of, dims)), elem)


def _parse_struct(part: Part, left: Major | None) -> Type:
    return StructType(tuple(_type(item, left) for item in split_parts(part)))


def _parse_event_array(part: Part, left: Major | None) -> Type:
    return HandleType("eventid_array", number_of(part.stripped()))


def _parse_tensor(kind: type[TensorType] | type[StateType]) -> Callable[[Part, Major | None], Type]:
    def parse(part: Part, left: Major | None) -> Type:
        dims, elem = shape_of(part)
        return kind(dims_of(dims), elem)

    return parse


def _parse_vector(part: Part, left: Major | None) -> Type:
    text = part.text.strip()
    scalable = text.startswith("[")
    dims, elem = shape_of(
        Part(text.replace("[", "", 1).replace("]", "", 1), part.start) if scalable else part
    )
    if len(dims) != 1:
        raise part.fault("a vector has one dim")
    return VectorType(number_of(dims[0]), elem, scalable)


def _parse_memref(part: Part, left: Major | None) -> Type:
    shape, *rest = split_parts(part)
    dims, elem = shape_of(shape)
    space = next((item.text for item in rest if item.text.startswith("#")), None)
    layout = next((item.text for item in rest if not item.text.startswith("#")), None)
    return MemRefType(extents_of(dims), elem, layout, space)


_PARSERS: Mapping[str, Callable[[Part, Major | None], Type]] = MappingProxyType(
    {
        "!pto.tile_buf": parse_tile,
        "!pto.multi_tile_buf": parse_multi_tile,
        "!pto.ptr": _parse_ptr,
        "!pto.tensor_view": _parse_view(ViewType),
        "!pto.partition_tensor_view": _parse_view(PartType),
        "!pto.local_array": _parse_local_array,
        "!pto.struct": _parse_struct,
        "!pto.eventid_array": _parse_event_array,
        "tensor": _parse_tensor(TensorType),
        "!core.state": _parse_tensor(StateType),
        "memref": _parse_memref,
        "vector": _parse_vector,
    }
)


# ---------------------------------------------------------------- type to text


def print_type(type: Type) -> str:
    """The canonical text of a type."""
    return _PRINTERS[type.__class__](type)


def _print_shape(dims: tuple[int | None, ...], elem: ScalarType) -> str:
    return "".join(f"{'?' if dim is None else dim}x" for dim in dims) + elem.name


def _print_dims(dims: tuple[Dim, ...], elem: ScalarType) -> str:
    return "".join(f"{print_dim(dim)}x" for dim in dims) + elem.name


def _print_ptr(type: PtrType) -> str:
    return f"!pto.ptr<{type.elem.name}{'' if type.space == 'gm' else ', ' + type.space}>"


def _print_vector(type: VectorType) -> str:
    lanes = f"[{type.lanes}]" if type.scalable else str(type.lanes)
    return f"vector<{lanes}x{type.elem.name}>"


def _print_memref(type: MemRefType) -> str:
    rest = "".join(f", {item}" for item in (type.layout, type.space) if item)
    return f"memref<{_print_shape(type.dims, type.elem)}{rest}>"


def _print_function(type: FunctionType) -> str:
    inputs = ", ".join(map(print_type, type.inputs))
    return f"({inputs}) -> {print_results(type.results)}"


def print_results(types: tuple[Type, ...]) -> str:
    """`T` for one type, `(T, U)` otherwise."""
    if len(types) == 1:
        return print_type(types[0])
    return f"({', '.join(map(print_type, types))})"


_PRINTERS: Mapping[type[Type], Callable[[Any], str]] = MappingProxyType(
    {
        ScalarType: lambda t: t.name,
        TileType: lambda t: f"!pto.tile_buf<{print_tile(t)}>",
        MultiTileType: lambda t: f"!pto.multi_tile_buf<{print_tile(t.tile)}, count={t.count}>",
        PtrType: _print_ptr,
        ViewType: lambda t: f"!pto.tensor_view<{_print_shape(t.dims, t.elem)}>",
        PartType: lambda t: f"!pto.partition_tensor_view<{_print_shape(t.dims, t.elem)}>",
        LocalArrayType: lambda t: f"!pto.local_array<{_print_shape(t.dims, t.elem)}>",
        StructType: lambda t: f"!pto.struct<{', '.join(map(print_type, t.fields))}>",
        HandleType: lambda t: f"!pto.{t.name}" + (f"<{t.count}>" if t.count is not None else ""),
        TensorType: lambda t: f"tensor<{_print_dims(t.dims, t.elem)}>",
        StateType: lambda t: f"!core.state<{_print_dims(t.dims, t.elem)}>",
        MemRefType: _print_memref,
        VectorType: _print_vector,
        FunctionType: _print_function,
        PoisonType: lambda t: "an unknown type",
    }
)
