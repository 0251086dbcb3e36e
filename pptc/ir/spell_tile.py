"""The text of tile types, both directions side by side: `!pto.tile_buf` in its keyed and its compact spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pptc.ir.spell_parts import DIGITS, Part, number_of, scalar_of, shape_of, split_parts, word_of
from pptc.ir.types import SPACES, Major, MultiTileType, TileType

_WORDS = MappingProxyType(
    {
        "blayout": ("row_major", "col_major"),
        "slayout": ("none_box", "row_major", "col_major"),
        "fractal": ("32", "512", "1024"),
        "pad": ("0", "1", "2", "3"),
        "compact": ("0", "1", "2"),
    }
)
_TILE = re.compile(r"!pto\.tile_buf<(.*)>", re.DOTALL)
_KEYED = ("loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad")
_DEFAULTS = MappingProxyType(
    {"blayout": "row_major", "slayout": "none_box", "fractal": "512", "pad": "0", "compact": "0"}
)


def parse_multi_tile(part: Part, left: Major | None) -> MultiTileType:
    """`<vec, 16x64xf32, pad=1, count=4>` or `<!pto.tile_buf<..>, count=4>`."""
    *tile, count = split_parts(part)
    key, _, number = count.text.partition("=")
    if key.strip() != "count" or not DIGITS.fullmatch(number.strip()):
        raise count.fault("a multi_tile_buf ends with count=N")
    if len(number.strip()) > 2 or not 2 <= int(number) <= 16:
        raise count.fault("count is 2 to 16")
    fields = Part(part.text[: count.start - part.start].rstrip().removesuffix(","), part.start)
    if len(tile) == 1 and tile[0].text.startswith("!"):
        match = _TILE.fullmatch(tile[0].text)
        if match is None:
            raise tile[0].fault("a multi_tile_buf is made of tile_buf")
        fields = Part(match[1], tile[0].start + match.start(1))
    return MultiTileType(parse_tile(fields, left), int(number))


def parse_tile(part: Part, left: Major | None) -> TileType:
    """What stands in the brackets of a tile_buf; `left` is the blayout forced on tiles of the space `left`."""
    items = split_parts(part)
    tile = _keyed_tile(items) if "=" in items[0].text else _compact_tile(items)
    _check_valid(part, tile)
    return replace(tile, blayout=left) if left is not None and tile.space == "left" else tile


def _check_valid(part: Part, tile: TileType) -> None:
    if tile.rows < 1 or tile.cols < 1:
        raise part.fault("rows and cols are at least 1")
    for name, valid, size in (("v_row", tile.v_row, tile.rows), ("v_col", tile.v_col, tile.cols)):
        if valid is not None and valid > size:
            raise part.fault(f"{name} is {valid}, more than the physical {size}")


def _keyed_tile(items: list[Part]) -> TileType:
    """`loc=vec, dtype=f32, ..`: all keys, in this order; `compact` may follow."""
    values: dict[str, Part] = {}
    for key, item in zip((*_KEYED, "compact"), items, strict=False):
        name, equals, value = item.text.partition("=")
        if name.strip() != key or not equals:
            raise item.fault(
                f"expected `{key}=` here, found `{item.text}`", f"the order is {', '.join(_KEYED)}"
            )
        values[key] = Part(value, item.start + len(name) + 1).stripped()
    if len(items) < len(_KEYED):
        raise items[-1].fault(f"`{_KEYED[len(items)]}=` is missing after this field")
    if len(items) > len(_KEYED) + 1:
        raise items[len(_KEYED) + 1].fault("a field too many")
    return TileType(
        space=word_of(values["loc"], SPACES),
        elem=scalar_of(values["dtype"]),
        rows=number_of(values["rows"]),
        cols=number_of(values["cols"]),
        v_row=_valid(values["v_row"]),
        v_col=_valid(values["v_col"]),
        **_options({key: values[key] for key in _WORDS if key in values}),
    )


def _compact_tile(items: list[Part]) -> TileType:
    """`vec, 16x64xf32, valid=?x64, ..`: options in any order, each once."""
    if len(items) < 2:
        raise items[-1].fault("a tile_buf names its space, then its shape and element type")
    space = word_of(items[0], SPACES)
    dims, elem = shape_of(items[1])
    if len(dims) != 2:
        raise items[1].fault("a tile has two dims")
    rows, cols = map(number_of, dims)
    options: dict[str, Part] = {}
    for item in items[2:]:
        key, equals, value = item.text.partition("=")
        key = key.strip()
        if not equals or key not in (*_WORDS, "valid"):
            raise item.fault(f"unknown tile field `{key}`", f"one of valid, {', '.join(_WORDS)}")
        if key in options:
            raise item.fault(f"`{key}` stands twice")
        options[key] = Part(value, item.start + len(item.text) - len(value)).stripped()
    v_row, v_col = _valid_pair(options.pop("valid")) if "valid" in options else (rows, cols)
    return TileType(space, elem, rows, cols, v_row, v_col, **_options(options))


def _valid(part: Part) -> int | None:
    return None if part.text in ("?", "-1") else number_of(part)


def _valid_pair(part: Part) -> tuple[int | None, int | None]:
    row, cross, col = part.text.partition("x")
    if not cross:
        raise part.fault("valid is ROWSxCOLUMNS")
    return _valid(Part(row, part.start).stripped()), _valid(Part(col, part.start + len(row) + 1).stripped())


def _options(given: Mapping[str, Part]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, part in given.items():
        word = word_of(part, _WORDS[key])
        out[key] = int(word) if word.isdecimal() else word
    return out


def print_tile(type: TileType) -> str:
    """The compact spelling, defaults omitted, without name and brackets."""
    text = f"{type.space}, {type.rows}x{type.cols}x{type.elem.name}"
    if (type.v_row, type.v_col) != (type.rows, type.cols):
        valid = "x".join("?" if extent is None else str(extent) for extent in (type.v_row, type.v_col))
        text += f", valid={valid}"
    for key, default in _DEFAULTS.items():
        word = str(getattr(type, key))
        text += f", {key}={word}" if word != default else ""
    return text
