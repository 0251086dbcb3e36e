"""The text of constant tensors and vectors, both directions side by side."""

from __future__ import annotations

import re
from typing import Any

from pptc.ir.attrs import DenseAttr, FloatAttr, IntAttr
from pptc.ir.literals import parse_number, print_float, print_shortest
from pptc.ir.syntax import Node, SyntaxFault
from pptc.ir.types import I1, ScalarType, TensorType, Type, VectorType, element_type

_DENSE_ITEM = re.compile(r"\s*([\[\],]|[^\[\],\s]+)")
_DEEPEST_LIST = 32


def parse_dense(node: Node, type: Type) -> DenseAttr:
    """`dense<[1, 2]> : type`: row-major values, nested as the shape says, or one value for all."""
    elem = element_type(type)
    if not isinstance(type, TensorType | VectorType) or elem is None:
        raise SyntaxFault("P0006", "dense values need a tensor or vector type", node.start, node.end)
    reader = _DenseReader(node, elem)
    shape = reader.whole()
    wanted = type.dims if isinstance(type, TensorType) else (type.lanes,)
    splat = not shape and len(reader.values) == 1
    empty = not reader.values and 0 in wanted
    if not splat and not empty and (shape != wanted or not shape):
        found = "x".join(map(str, shape)) or "no list"
        raise SyntaxFault(
            "P0006", f"the values have the shape {found}, not that of the type", node.start, node.end
        )
    return DenseAttr(type, tuple(reader.values))


class _DenseReader:
    """Recursive descent over the values of a `dense<..>`; `values` holds those read so far."""

    def __init__(self, node: Node, elem: ScalarType) -> None:
        self.start = node.start
        self.elem = elem
        self.values: list[Any] = []
        self.matches = list(_DENSE_ITEM.finditer(node.text, len("dense<"), len(node.text) - 1))
        self.at = 0
        self.end = len(node.text) - 1

    def whole(self) -> tuple[int, ...]:
        """The shape of everything; of nothing it is that of one value."""
        shape = self.nested(0) if self.matches else ()
        if self.peek():
            raise self.fault("expected the end of the values")
        return shape

    def nested(self, depth: int) -> tuple[int, ...]:
        """The shape of one value or of one list."""
        if self.peek() != "[":
            self.value()
            return ()
        if depth > _DEEPEST_LIST:
            raise self.fault("the lists nest too deeply")
        self.at += 1
        shapes: list[tuple[int, ...]] = []
        while self.peek() != "]":
            if shapes and self.peek() != ",":
                raise self.fault("expected `,` or `]`")
            self.at += bool(shapes)
            shapes.append(self.nested(depth + 1))
            if shapes[-1] != shapes[0]:
                raise self.fault("the lists differ in length")
        self.at += 1
        return (len(shapes), *(shapes[0] if shapes else ()))

    def value(self) -> None:
        """One number or truth value."""
        item = self.peek()
        if item in ("", ",", "]"):
            raise self.fault("expected a value")
        at = self.start + self.matches[self.at].start(1)
        truth = item in ("true", "false")
        if truth and self.elem != I1:
            raise self.fault(f"{self.elem.name} has no value {item}")
        self.values.append(item == "true" if truth else parse_number(item, self.elem, at))
        self.at += 1

    def peek(self) -> str:
        """The next item; nothing at the end."""
        return self.matches[self.at][1] if self.at < len(self.matches) else ""

    def fault(self, message: str) -> SyntaxFault:
        """A fault at the next item."""
        here = self.matches[self.at].start(1) if self.at < len(self.matches) else self.end
        return SyntaxFault("P0006", message, self.start + here, self.start + here + 1)


def print_dense(value: DenseAttr) -> str:
    """`dense<..>` without its type."""
    spell = print_shortest if isinstance(value.type, TensorType) else print_float
    items = [spell(v) if isinstance(v, FloatAttr) else _plain(v) for v in value.values]
    dims = value.type.dims if isinstance(value.type, TensorType) else (getattr(value.type, "lanes", 0),)
    splat = len(items) == 1 and not (dims and all(dim == 1 for dim in dims))
    body = items[0] if splat or not dims else _nested(items, [int(str(dim)) for dim in dims])
    return f"dense<{body}>"


def _plain(value: IntAttr | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value.value)


def _nested(items: list[str], dims: list[int]) -> str:
    if len(dims) == 1:
        return f"[{', '.join(items)}]"
    step = len(items) // dims[0] if dims[0] else 0
    return f"[{', '.join(_nested(items[i * step : (i + 1) * step], dims[1:]) for i in range(dims[0]))}]"
