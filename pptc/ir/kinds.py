"""Operand kinds and type rules that the rows of the tile dialect share.

Rules hold for what users write and for what tile-level passes make of it (private tiles, strips of one row). What a
chip asks for beyond that, alignment and capacities, is checked once on the user's module by `chip.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pptc.ir.attrs import ArrayAttr, Attr, EnumAttr, FloatAttr, IntAttr, ListAttr
from pptc.ir.constants import attribute_value
from pptc.ir.core import Op, Value
from pptc.ir.opdef import Access, Attribute, Generate, Kind, Map, Operand, Problem, Rule, Spread
from pptc.ir.types import (
    BF16,
    BOX_BYTES,
    F16,
    F32,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    SPACES,
    UI8,
    UI16,
    UI32,
    UI64,
    PartType,
    PtrType,
    ScalarType,
    Space,
    TileType,
    Type,
    ViewType,
    element_type,
)

FLOATS = (F16, BF16, F32)
INTEGERS = (I8, I16, I32, I64, UI8, UI16, UI32, UI64)
NUMBERS = FLOATS + INTEGERS


# ---------------------------------------------------------------- operand kinds


@dataclass(frozen=True, slots=True)
class TileKind(Kind):
    """A tile in one of `spaces`. The kind accepts every tile; `in_spaces` says P0209 when the space is another."""

    spaces: tuple[Space, ...] = SPACES


def _is(*classes: type[Type]) -> Any:
    return lambda type: isinstance(type, classes)


def tile(*spaces: Space) -> TileKind:
    """A tile in one of the spaces named."""
    return TileKind(f"a tile in {' or '.join(spaces)}", _is(TileType), spaces)


def only(words: str, *types: Type) -> Kind:
    """Exactly one of the types."""
    return Kind(words, lambda type: type in types)


ANY = Kind("any value", lambda type: True)
TILE = TileKind("a tile", _is(TileType))
VEC = tile("vec")
PTR = Kind("a pointer", _is(PtrType))
PTR_OR_INT = Kind(
    "a pointer or an integer",
    lambda type: isinstance(type, PtrType) or (isinstance(type, ScalarType) and type.is_integer),
)
VIEW = Kind("a tensor view", _is(ViewType))
PART = Kind("a partition of a view", _is(PartType))
VIEW_OR_PART = Kind("a tensor view or a partition", _is(ViewType, PartType))
TILE_OR_PART = Kind("a tile or a partition", _is(TileType, PartType))
SCALAR = Kind("a scalar", _is(ScalarType))
TILE_OR_SCALAR = Kind("a tile or a scalar", _is(TileType, ScalarType))
INT = Kind("an integer", lambda type: isinstance(type, ScalarType) and type.is_integer)
FLOAT = Kind("a float", lambda type: isinstance(type, ScalarType) and type.is_float)
INDEX_VALUE = only("an index", INDEX)
BOOLEAN = only("an i1", I1)
LONG = only("an i64", I64)


def source(name: str, kind: Kind = VEC, doc: str = "") -> Operand:
    """An operand that the op reads."""
    return Operand(name, kind, "read", doc=doc)


def target(name: str = "dst", kind: Kind = VEC, access: Access = "write", doc: str = "") -> Operand:
    """An operand that the op writes."""
    return Operand(name, kind, access, doc=doc)


def scratch(kind: Kind = TILE) -> Operand:
    """The optional `tmp` of many ops: its content is undefined afterwards."""
    return Operand("tmp", kind, "scratch", "optional", "scratch; undefined afterwards")


def choice(
    key: str, enum: str, *words: str, default: str, aliases: tuple[str, ...] = (), doc: str
) -> Attribute:
    """An attribute of a spaced enum: `key = #pto<enum word>`."""
    value = EnumAttr(enum, default, spaced=True)
    return Attribute(key, "enum", enum, True, words, value, aliases=aliases, doc=doc)


# ---------------------------------------------------------------- attributes as numbers and words


def attribute(op: Op, name: str) -> Attr | None:
    """The op's attribute, or the default that its row declares."""
    declared = op.definition.attribute(name)
    return op.attributes.get(name, declared.default if declared else None)


def plain(value: Attr | None) -> Any:
    """An attribute as a Python word, number or truth value."""
    if isinstance(value, EnumAttr):
        return value.value
    return attribute_value(value) if isinstance(value, IntAttr | FloatAttr) else value


def kept_places(op: Op) -> tuple[int, ...]:
    """Which of every four elements the op's maskPattern keeps: its last digit is the first element."""
    pattern = str(plain(attribute(op, "maskPattern")))
    return tuple(place for place, digit in enumerate(reversed(pattern[1:])) if digit == "1")


def by_rows(op: Op) -> bool:
    """Whether the numbers of a gather or scatter stand for rows: so it says, or there are not enough for elements."""
    word = plain(op.attributes.get("coalesce"))
    if word is not None:
        return bool(word == "row")
    type = op.operand("idx").type
    return isinstance(type, TileType) and 1 in (type.rows, type.cols)


def integers(value: Attr | None) -> tuple[int, ...]:
    """The integers of a list or array attribute."""
    if isinstance(value, ListAttr):
        return tuple(item.value for item in value.items if isinstance(item, IntAttr))
    return value.values if isinstance(value, ArrayAttr) else ()


def keywords(op: Op, meaning: Map | Generate) -> dict[str, Any]:
    """The keyword arguments of a recipe or reference: attributes by name, and `to`, the destination's element type."""
    found = {name: plain(attribute(op, name)) for name in meaning.keywords if name != "to"}
    if "to" in meaning.keywords:
        found["to"] = element_type(op.operand(meaning.destination).type)
    return found


def sources(op: Op, meaning: Map) -> Iterator[tuple[Value, Spread]]:
    """The source values of a Map in the recipe's order, absent ones left out; a scalar is spread as one."""
    for name, spread in meaning.sources.items():
        for value in op.group(name):
            yield value, Spread.SCALAR if isinstance(value.type, ScalarType) else spread


# ---------------------------------------------------------------- type rules


def typed_tiles(op: Op, names: Iterable[str] = ()) -> Iterator[tuple[str, TileType]]:
    """Names and types of the tile operands, all but scratch, or those of the groups named."""
    wanted = tuple(names) or tuple(o.name for o in op.definition.operands if o.access != "scratch")
    for name in wanted:
        for value in op.group(name):
            if isinstance(value.type, TileType):
                yield name, value.type


def in_spaces(op: Op) -> Iterator[Problem]:
    """Every tile is in a space that its operand's kind names."""
    for operand in op.definition.operands:
        kind = operand.kind
        if not isinstance(kind, TileKind):
            continue
        for _, type in typed_tiles(op, (operand.name,)):
            if type.space not in kind.spaces:
                yield Problem(
                    "P0209", f"{operand.name} must be {kind.words}, not in {type.space}", operand.name
                )


def supported_elements(op: Op) -> Iterator[Problem]:
    """The tiles' element types are among the row's dtypes."""
    allowed = op.definition.dtypes
    for name, type in typed_tiles(op):
        if allowed and type.elem not in allowed:
            listed = ", ".join(elem.name for elem in allowed)
            yield Problem(
                "P0216", f"{op.name} has no meaning for {type.elem.name}", name, f"it takes {listed}"
            )


def same_elements(*names: str) -> Rule:
    """The groups named (tiles, views, pointers, scalars) have one element type."""

    def check(op: Op) -> Iterator[Problem]:
        found = [(name, element_type(value.type)) for name in names for value in op.group(name)]
        first = next(((name, elem) for name, elem in found if elem is not None), None)
        for name, elem in found:
            if first and elem is not None and elem != first[1]:
                message = f"{name} has elements of {elem.name}, {first[0]} of {first[1].name}"
                yield Problem("P0204", message, name)

    return check


def agree(a: int | None, b: int | None) -> bool:
    """Whether two extents may be equal: one is unknown, or they are."""
    return a is None or b is None or a == b


def same_valid(*names: str, rows: bool = True, columns: bool = True) -> Rule:
    """The tiles named have equal valid regions, as far as the types say."""

    def check(op: Op) -> Iterator[Problem]:
        found = list(typed_tiles(op, names))
        for name, type in found[:-1]:
            last_name, last = found[-1]
            same = (not rows or agree(type.v_row, last.v_row)) and (
                not columns or agree(type.v_col, last.v_col)
            )
            if not same:
                message = (
                    f"valid region {valid_text(type)} of {name} is not {valid_text(last)} of {last_name}"
                )
                yield Problem("P0205", message, name)

    return check


def valid_text(type: TileType) -> str:
    """`16x64`, with `?` for what is known at run time."""
    return "x".join("?" if extent is None else str(extent) for extent in (type.v_row, type.v_col))


def extent(name: str, *, rows: int | None = None, columns: int | None = None) -> Rule:
    """The tile has so many valid rows or columns, as far as its type says."""

    def check(op: Op) -> Iterator[Problem]:
        for _, type in typed_tiles(op, (name,)):
            for wanted, found, word in ((rows, type.v_row, "row"), (columns, type.v_col, "column")):
                if wanted is not None and not agree(found, wanted):
                    yield Problem("P0205", f"{name} has {found} valid {word}s instead of {wanted}", name)

    return check


def unboxed(*names: str) -> Rule:
    """The tiles named (all, without names) are not in a fractal layout."""

    def check(op: Op) -> Iterator[Problem]:
        for name, type in typed_tiles(op, names):
            if type.is_boxed:
                yield Problem("P0210", f"{name} must not be in a boxed layout", name, "slayout=none_box")

    return check


def not_yet(name: str, *allowed: str) -> Rule:
    """Only these words of an attribute are compiled so far."""

    def check(op: Op) -> Iterator[Problem]:
        word = plain(attribute(op, name))
        if word is not None and word not in allowed:
            yield Problem("P0106", f"{op.name} with {name} = {word} is not supported yet", f"={name}")

    return check


def box(type: TileType) -> tuple[int, int]:
    """Rows and columns of the inner box, clipped to a smaller tile; 1 x 1 of an unboxed tile."""
    if not type.is_boxed:
        return 1, 1
    short = max(1, BOX_BYTES // type.elem.bytes)
    rows, columns = {512: (16, short), 1024: (16, 16), 32: (16, 2)}[type.fractal]
    if type.slayout == "col_major":
        rows, columns = columns, rows
    return min(rows, type.rows), min(columns, type.cols)


def whole_boxes(op: Op) -> Iterator[Problem]:
    """A boxed tile that a user writes holds whole boxes, or less than one along a side."""
    type = op.result.type
    if isinstance(type, TileType) and "tile.private" not in op.attributes:
        rows, columns = box(type)
        if type.rows % rows or type.cols % columns:
            yield Problem("P0214", f"{type.rows}x{type.cols} are not whole boxes of {rows}x{columns}")
