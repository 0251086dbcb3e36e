"""The text of types, both directions side by side; attributes are in `spell_attrs.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pptc.ir.suggest import did_you_mean
from pptc.ir.symbols import Dim, DimSyntaxError, parse_dim, print_dim
from pptc.ir.syntax import SyntaxFault
from pptc.ir.types import (
    SCALARS,
    SPACES,
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
_WORDS = MappingProxyType(
    {
        "blayout": ("row_major", "col_major"),
        "slayout": ("none_box", "row_major", "col_major"),
        "fractal": ("32", "512", "1024"),
        "pad": ("0", "1", "2", "3"),
        "compact": ("0", "1", "2"),
    }
)
_KEYED = ("loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad")
_DEFAULTS = MappingProxyType(
    {"blayout": "row_major", "slayout": "none_box", "fractal": "512", "pad": "0", "compact": "0"}
)
_DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 15
_DIM = re.compile(r"\s*([0-9]+|\?|\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))\s*x\s*")


@dataclass(frozen=True, slots=True)
class _Part:
    """A slice of a type's text; faults are told in offsets of the whole text."""

    text: str
    start: int

    def stripped(self) -> _Part:
        """Without the blanks around it."""
        left = len(self.text) - len(self.text.lstrip())
        return _Part(self.text.strip(), self.start + left)

    def fault(self, message: str, hint: str | None = None, code: str = "P0005") -> SyntaxFault:
        """A fault whose caret is under this slice."""
        return SyntaxFault(code, message, self.start, self.start + max(len(self.text), 1), hint)


def _split(part: _Part, separator: str = ",") -> list[_Part]:
    """The slices between separators that stand outside of all brackets."""
    out, depth, begin = [], 0, 0
    for index, char in enumerate(part.text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == separator and depth == 0:
            out.append(_Part(part.text[begin:index], part.start + begin))
            begin = index + 1
    out.append(_Part(part.text[begin:], part.start + begin))
    return [item.stripped() for item in out]


# ---------------------------------------------------------------- text to type


def parse_type(text: str, left: Major | None = None) -> Type:
    """The type that `text` spells; SyntaxFault (with offsets into `text`) when it spells none.

    `left` is the blayout forced on tiles of the space `left`.
    """
    return _type(_Part(text, 0).stripped(), left)


def _type(part: _Part, left: Major | None) -> Type:
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
        raise _Part(name, part.start).fault(f"unknown type `{name}`", _suggest(name))
    return parser(_Part(rest[:-1], part.start + len(head) + 1), left)


def _suggest(name: str) -> str | None:
    if name.startswith(("!pto.vreg", "!pto.mask", "!pto.align", "!pto.vmi")):
        return "types of VPTO and VMI do not occur in tile programs"
    return did_you_mean(name, (*_PARSERS, *SCALARS))


def _scalar(part: _Part) -> ScalarType:
    scalar = SCALARS.get(part.text)
    if scalar is None:
        raise part.fault(f"unknown element type `{part.text}`", _suggest(part.text))
    return scalar


def _shape(part: _Part) -> tuple[list[_Part], ScalarType]:
    """`4x?x(T)xf32` as dims and element."""
    dims, at = [], 0
    while match := _DIM.match(part.text, at):
        dims.append(_Part(match[1], part.start + match.start(1)))
        at = match.end()
    return dims, _scalar(_Part(part.text[at:], part.start + at).stripped())


def _static(part: _Part) -> int:
    if not _DIGITS.fullmatch(part.text):
        raise part.fault(f"`{part.text}` is not a number")
    if len(part.text) > _MOST_DIGITS:
        raise part.fault("the number is too large")
    return int(part.text)


def _extents(parts: list[_Part]) -> tuple[int | None, ...]:
    return tuple(None if part.text == "?" else _static(part) for part in parts)


def _dims(parts: list[_Part]) -> tuple[Dim, ...]:
    out = []
    for part in parts:
        try:
            out.append(parse_dim(part.text))
        except DimSyntaxError as error:
            at = part.start + error.offset
            raise SyntaxFault("P0005", str(error), at, at + 1) from None
    return tuple(out)


def _parse_ptr(part: _Part, left: Major | None) -> Type:
    elem, *space = _split(part)
    if len(space) > 1:
        raise space[1].fault("a pointer has an element type and a space")
    if space and space[0].text not in POINTER_SPACES:
        raise space[0].fault(
            f"unknown pointer space `{space[0].text}`", f"one of {', '.join(POINTER_SPACES)}"
        )
    return PtrType(_scalar(elem), space[0].text if space else "gm")


def _parse_view(kind: type[ViewType] | type[PartType]) -> Callable[[_Part, Major | None], Type]:
    def parse(part: _Part, left: Major | None) -> Type:
        dims, elem = _shape(part)
        if not 1 <= len(dims) <= 5:
            raise part.fault(f"a view has 1 to 5 dims, not {len(dims)}")
        return kind(_extents(dims), elem)

    return parse


def _parse_local_array(part: _Part, left: Major | None) -> Type:
    dims, elem = _shape(part)
    return LocalArrayType(tuple(map(_static, dims)), elem)


def _parse_struct(part: _Part, left: Major | None) -> Type:
    return StructType(tuple(_type(item, left) for item in _split(part)))


def _parse_event_array(part: _Part, left: Major | None) -> Type:
    return HandleType("eventid_array", _static(part.stripped()))


def _parse_tensor(kind: type[TensorType] | type[StateType]) -> Callable[[_Part, Major | None], Type]:
    def parse(part: _Part, left: Major | None) -> Type:
        dims, elem = _shape(part)
        return kind(_dims(dims), elem)

    return parse


def _parse_vector(part: _Part, left: Major | None) -> Type:
    text = part.text.strip()
    scalable = text.startswith("[")
    dims, elem = _shape(_Part(text.replace("[", "", 1).replace("]", "", 1), part.start) if scalable else part)
    if len(dims) != 1:
        raise part.fault("a vector has one dim")
    return VectorType(_static(dims[0]), elem, scalable)


def _parse_memref(part: _Part, left: Major | None) -> Type:
    shape, *rest = _split(part)
    dims, elem = _shape(shape)
    space = next((item.text for item in rest if item.text.startswith("#")), None)
    layout = next((item.text for item in rest if not item.text.startswith("#")), None)
    return MemRefType(_extents(dims), elem, layout, space)


def _parse_multi_tile(part: _Part, left: Major | None) -> Type:
    *tile, count = _split(part)
    key, _, number = count.text.partition("=")
    if key.strip() != "count" or not _DIGITS.fullmatch(number.strip()):
        raise count.fault("a multi_tile_buf ends with count=N")
    if len(number.strip()) > 2 or not 2 <= int(number) <= 16:
        raise count.fault("count is 2 to 16")
    if len(tile) == 1 and tile[0].text.startswith("!"):
        inner = _type(tile[0], left)
    else:
        inner = _parse_tile(
            _Part(part.text[: count.start - part.start].rstrip().removesuffix(","), part.start), left
        )
    if not isinstance(inner, TileType):
        raise tile[0].fault("a multi_tile_buf is made of tile_buf")
    return MultiTileType(inner, int(number))


def _parse_tile(part: _Part, left: Major | None) -> Type:
    items = _split(part)
    tile = _keyed_tile(items) if "=" in items[0].text else _compact_tile(items)
    _check_valid(part, tile)
    return replace(tile, blayout=left) if left is not None and tile.space == "left" else tile


def _check_valid(part: _Part, tile: TileType) -> None:
    if tile.rows < 1 or tile.cols < 1:
        raise part.fault("rows and cols are at least 1")
    for name, valid, size in (("v_row", tile.v_row, tile.rows), ("v_col", tile.v_col, tile.cols)):
        if valid is not None and valid > size:
            raise part.fault(f"{name} is {valid}, more than the physical {size}")


def _keyed_tile(items: list[_Part]) -> TileType:
    """`loc=vec, dtype=f32, ..`: all keys, in this order; `compact` may follow."""
    values: dict[str, _Part] = {}
    for key, item in zip((*_KEYED, "compact"), items, strict=False):
        name, equals, value = item.text.partition("=")
        if name.strip() != key or not equals:
            raise item.fault(
                f"expected `{key}=` here, found `{item.text}`", f"the order is {', '.join(_KEYED)}"
            )
        values[key] = _Part(value, item.start + len(name) + 1).stripped()
    if len(items) < len(_KEYED):
        raise items[-1].fault(f"`{_KEYED[len(items)]}=` is missing after this field")
    if len(items) > len(_KEYED) + 1:
        raise items[len(_KEYED) + 1].fault("a field too many")
    return TileType(
        space=_word(values["loc"], SPACES),
        elem=_scalar(values["dtype"]),
        rows=_static(values["rows"]),
        cols=_static(values["cols"]),
        v_row=_valid(values["v_row"]),
        v_col=_valid(values["v_col"]),
        **_options({key: values[key] for key in _WORDS if key in values}),
    )


def _compact_tile(items: list[_Part]) -> TileType:
    """`vec, 16x64xf32, valid=?x64, ..`: options in any order, each once."""
    if len(items) < 2:
        raise items[-1].fault("a tile_buf names its space, then its shape and element type")
    space = _word(items[0], SPACES)
    dims, elem = _shape(items[1])
    if len(dims) != 2:
        raise items[1].fault("a tile has two dims")
    rows, cols = map(_static, dims)
    options: dict[str, _Part] = {}
    for item in items[2:]:
        key, equals, value = item.text.partition("=")
        key = key.strip()
        if not equals or key not in (*_WORDS, "valid"):
            raise item.fault(f"unknown tile field `{key}`", f"one of valid, {', '.join(_WORDS)}")
        if key in options:
            raise item.fault(f"`{key}` stands twice")
        options[key] = _Part(value, item.start + len(item.text) - len(value)).stripped()
    v_row, v_col = _valid_pair(options.pop("valid")) if "valid" in options else (rows, cols)
    return TileType(space, elem, rows, cols, v_row, v_col, **_options(options))


def _valid(part: _Part) -> int | None:
    return None if part.text in ("?", "-1") else _static(part)


def _valid_pair(part: _Part) -> tuple[int | None, int | None]:
    row, cross, col = part.text.partition("x")
    if not cross:
        raise part.fault("valid is ROWSxCOLUMNS")
    return _valid(_Part(row, part.start).stripped()), _valid(_Part(col, part.start + len(row) + 1).stripped())


def _word(part: _Part, words: tuple[str, ...]) -> Any:
    if part.text not in words:
        raise part.fault(f"unknown word `{part.text}`", f"one of {', '.join(words)}")
    return part.text


def _options(given: Mapping[str, _Part]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, part in given.items():
        word = _word(part, _WORDS[key])
        out[key] = int(word) if word.isdecimal() else word
    return out


_PARSERS: Mapping[str, Callable[[_Part, Major | None], Type]] = MappingProxyType(
    {
        "!pto.tile_buf": _parse_tile,
        "!pto.multi_tile_buf": _parse_multi_tile,
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


def _print_tile_fields(type: TileType) -> str:
    text = f"{type.space}, {type.rows}x{type.cols}x{type.elem.name}"
    if (type.v_row, type.v_col) != (type.rows, type.cols):
        valid = "x".join("?" if extent is None else str(extent) for extent in (type.v_row, type.v_col))
        text += f", valid={valid}"
    for key, default in _DEFAULTS.items():
        word = str(getattr(type, key))
        text += f", {key}={word}" if word != default else ""
    return text


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
        TileType: lambda t: f"!pto.tile_buf<{_print_tile_fields(t)}>",
        MultiTileType: lambda t: f"!pto.multi_tile_buf<{_print_tile_fields(t.tile)}, count={t.count}>",
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
