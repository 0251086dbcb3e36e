"""The text of attributes, both directions side by side: read from syntax nodes, written as strings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from pptc.ir.attrs import (
    UNIT,
    ArrayAttr,
    Attr,
    DenseAttr,
    DictAttr,
    DimAttr,
    EnumAttr,
    FloatAttr,
    IntAttr,
    ListAttr,
    OpaqueAttr,
    SymbolAttr,
    TypeAttr,
    UnitAttr,
)
from pptc.ir.literals import (
    float_value,
    parse_number,
    plain_integer,
    print_float,
    print_shortest,
)
from pptc.ir.spell import print_type
from pptc.ir.spell_dense import parse_dense, print_dense
from pptc.ir.symbols import DimSyntaxError, parse_dim, print_expression
from pptc.ir.syntax import MUTE, Node, SyntaxFault
from pptc.ir.types import (
    F64,
    SCALARS,
    FunctionType,
    Type,
)


class Names(Protocol):
    """What reading an attribute needs of its surroundings."""

    def type(self, node: Node) -> Type:
        """The type that a TYPE token spells."""

    def alias(self, node: Node) -> Attr:
        """The attribute that an alias stands for."""


_DOTTED = re.compile(r"#pto\.([a-z_][\w.]*)\s*<\s*([^<>=]*?)\s*>")
_SPACED = re.compile(r"#pto<\s*([a-z_]\w*)\s+(\w+)\s*>")
_DIMENSION = re.compile(r"#core\.dim<(.*)>", re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\nt]|[0-9A-Fa-f]{2})')
_BARE_KEY = re.compile(r"[A-Za-z_][\w$]*|[A-Za-z_]\w*(\.\w+)+", re.ASCII)
_STATEMENTS = frozenset({"return"})  # alone in braces, it would be a region with one op
_BARE_SYMBOL = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_ESCAPES = MappingProxyType({"n": "\n", "t": "\t", '"': '"', "\\": "\\"})


# ---------------------------------------------------------------- strings and symbols


def parse_string(text: str) -> str:
    """The value of a quoted string."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1]) or chr(int(match[1], 16)), inner)


def print_string(value: str) -> str:
    """The quoted form of a string."""
    out = []
    for char in value:
        if char in '"\\':
            out.append("\\" + char)
        elif char in "\n\t":
            out.append("\\n" if char == "\n" else "\\t")
        else:
            out.append(char if char >= " " and char != "\x7f" else f"\\{ord(char):02X}")
    return f'"{"".join(out)}"'


def parse_symbol(text: str) -> str:
    """The name behind `@`."""
    return parse_string(text[1:]) if text[1] == '"' else text[1:]


def print_symbol(name: str) -> str:
    """`@name`, quoted where it is no bare word."""
    return f"@{name}" if _BARE_SYMBOL.fullmatch(name) else f"@{print_string(name)}"


# ---------------------------------------------------------------- text to attribute


def parse_attribute(node: Node, names: Names) -> Attr:
    """The attribute that a node spells; SyntaxFault when it spells none."""
    reader = _READERS.get(node.type)
    if reader is None:
        code = MUTE if node.type == "ERROR" else "P0006"
        raise SyntaxFault(code, f"`{node.text}` is not an attribute", node.start, node.end)
    return reader(node, names)


def parse_dictionary(node: Node, names: Names) -> dict[str, Attr]:
    """The entries of a dictionary; a key may stand once."""
    out: dict[str, Attr] = {}
    for entry in node.children:
        key = parse_string(entry.text) if entry.text.startswith('"') else entry.text
        if key in out:
            raise SyntaxFault("P0006", f"the key `{key}` stands twice", entry.start, entry.end)
        out[key] = parse_attribute(entry.children[0], names) if entry.children else UNIT
    return out


def _read_number(node: Node, names: Names) -> Attr:
    return parse_number(node.text, None, node.start)


def _read_typed(node: Node, names: Names) -> Attr:
    value, type = node.children
    if value.type in ("INT", "FLOAT"):
        return parse_number(value.text, names.type(type), value.start)
    return parse_attribute(value, names)


def _read_word(node: Node, names: Names) -> Attr:
    if node.text in ("true", "false"):
        return node.text == "true"
    if node.text == "unit":
        return UNIT
    special = node.text.lower() in ("inf", "nan")
    hint = "such floats are written by their bits: 0x7F800000 : f32" if special else "strings stand in quotes"
    raise SyntaxFault("P0006", f"`{node.text}` is not an attribute", node.start, node.end, hint)


def _read_hash(node: Node, names: Names) -> Attr:
    text = node.text
    if match := _DOTTED.fullmatch(text):
        return EnumAttr(match[1], match[2])
    if match := _SPACED.fullmatch(text):
        return EnumAttr(match[1], match[2], spaced=True)
    if match := _DIMENSION.fullmatch(text):
        try:
            return DimAttr(parse_dim(match[1]))
        except DimSyntaxError as error:
            at = node.start + match.start(1) + error.offset
            raise SyntaxFault("P0006", str(error), at, at + 1) from None
    if "<" not in text and "." not in text:
        return names.alias(node)
    return OpaqueAttr(text)


def _read_type(node: Node, names: Names) -> Attr:
    return TypeAttr(names.type(node))


def _read_function(node: Node, names: Names) -> Attr:
    types = [names.type(child) for child in node.children]
    inputs = int(node.text)
    return TypeAttr(FunctionType(tuple(types[:inputs]), tuple(types[inputs:])))


_WHOLE = re.compile(r"[+-]?(?:0x[0-9A-Fa-f]+|[0-9]+)")
_TRUTH = MappingProxyType({"true": 1, "false": 0})


def _read_array(node: Node, names: Names) -> Attr:
    head, _, values = node.text[len("array<") : -1].partition(":")
    elem = SCALARS.get(head.strip())
    if elem is None:
        raise SyntaxFault("P0006", f"unknown element type `{head.strip()}`", node.start, node.end)
    items = [item.strip() for item in values.split(",")] if values.strip() else []
    wrong = next((item for item in items if item not in _TRUTH and not _WHOLE.fullmatch(item)), None)
    if wrong is not None:
        raise SyntaxFault("P0006", f"`{wrong}` is not an integer", node.start, node.end)
    return ArrayAttr(elem, tuple(_TRUTH[i] if i in _TRUTH else plain_integer(i, node.start) for i in items))


def _read_dense(node: Node, names: Names) -> Attr:
    text, type = node.children
    return parse_dense(text, names.type(type))


_READERS: Mapping[str, Callable[[Node, Names], Attr]] = MappingProxyType(
    {
        "INT": _read_number,
        "FLOAT": _read_number,
        "STRING": lambda node, names: parse_string(node.text),
        "SYMBOL": lambda node, names: SymbolAttr(parse_symbol(node.text)),
        "WORD": _read_word,
        "TYPE": _read_type,
        "ATTR": _read_hash,
        "ARRAY": _read_array,
        "typed": _read_typed,
        "dense": _read_dense,
        "function": _read_function,
        "list": lambda node, names: ListAttr(tuple(parse_attribute(item, names) for item in node.children)),
        "attrs": lambda node, names: DictAttr(tuple(parse_dictionary(node, names).items())),
    }
)


# ---------------------------------------------------------------- attribute to text


def print_attribute(value: Attr) -> str:
    """The canonical text of an attribute as a value of a dictionary or list."""
    return _PRINTERS[value.__class__](value)


def print_dictionary(entries: Mapping[str, Attr]) -> str:
    """`{a = 1, b}`."""
    return f"{{{', '.join(_print_entry(key, value) for key, value in entries.items())}}}"


def _print_entry(key: str, value: Attr) -> str:
    name = key if _BARE_KEY.fullmatch(key) and key not in _STATEMENTS else print_string(key)
    if isinstance(value, UnitAttr):
        return name
    if isinstance(value, FloatAttr) and value.type == F64 and math.isfinite(float_value(value)):
        return f"{name} = {print_shortest(value)}"  # a float without a type reads as f64
    return f"{name} = {print_attribute(value)}"


def print_number(value: IntAttr | FloatAttr) -> str:
    """A number without its type."""
    return str(value.value) if isinstance(value, IntAttr) else print_float(value)


def _print_typed(value: IntAttr | FloatAttr) -> str:
    return print_number(value) + (f" : {value.type.name}" if value.type else "")


def _print_enum(value: EnumAttr) -> str:
    return f"#pto<{value.name} {value.value}>" if value.spaced else f"#pto.{value.name}<{value.value}>"


def _print_array(value: ArrayAttr) -> str:
    values = ", ".join(map(str, value.values))
    return f"array<{value.elem.name}{': ' if values else ''}{values}>"


_PRINTERS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        bool: lambda v: "true" if v else "false",
        str: print_string,
        IntAttr: _print_typed,
        FloatAttr: _print_typed,
        EnumAttr: _print_enum,
        SymbolAttr: lambda v: print_symbol(v.name),
        TypeAttr: lambda v: print_type(v.type),
        ArrayAttr: _print_array,
        DenseAttr: lambda v: f"{print_dense(v)} : {print_type(v.type)}",
        DimAttr: lambda v: f"#core.dim<{print_expression(v.dim)}>",
        ListAttr: lambda v: f"[{', '.join(map(print_attribute, v.items))}]",
        DictAttr: lambda v: print_dictionary(dict(v.entries)),
        UnitAttr: lambda v: "unit",
        OpaqueAttr: lambda v: v.text,
    }
)
