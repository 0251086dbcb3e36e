"""What the command line does to a module before it is verified: included functions, constants by name, module attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pptc.diag import Sink
from pptc.ir.attrs import Attr, IntAttr
from pptc.ir.core import Op
from pptc.ir.literals import parse_float, parse_integer
from pptc.ir.syntax import SyntaxFault
from pptc.ir.types import I1, ScalarType


def prepend(module: Op, included: Op) -> None:
    """Move the ops of `included` in front of those of `module`; module attributes that only it has are taken over."""
    first = module.body.first
    for op in included.body:
        op.remove()
        module.body.insert_before(op, first)
    for key, value in included.attributes.items():
        module.attributes.setdefault(key, value)


def bind_constants(module: Op, defines: Iterable[tuple[str, str]], sink: Sink) -> None:
    """Give each `%NAME = arith.constant` of a `-D NAME=VALUE` its new value, in all functions. Reports P0301."""
    constants = list(_named_constants(module))
    for name, text in defines:
        found = [op for op in constants if op.result.name == name]
        if not found:
            sink.error("P0301", f"-D {name}: no constant of the input is named %{name}", hint=_names(constants))
        for op in found:
            _bind(op, name, text, sink)


def _named_constants(module: Op) -> Iterator[Op]:
    for op in module.walk():
        if op.name == "arith.constant" and op.result.name and isinstance(op.result.type, ScalarType):
            yield op


def _names(constants: Iterable[Op]) -> str | None:
    names = dict.fromkeys(f"%{op.result.name}" for op in constants)
    return f"constants: {', '.join(names)}" if names else None


def _bind(op: Op, name: str, text: str, sink: Sink) -> None:
    type = op.result.type
    assert isinstance(type, ScalarType)
    try:
        op.attributes["value"] = _literal(text, type)
    except (SyntaxFault, ValueError) as fault:
        why = fault.message if isinstance(fault, SyntaxFault) else f"'{text}' is not a number of type {type.name}"
        sink.error("P0301", f"-D {name}: {why}", op.span)


def _literal(text: str, type: ScalarType) -> Attr:
    if type == I1:
        if text not in ("true", "false", "0", "1"):
            raise ValueError(text)
        return text in ("true", "1")
    return parse_float(text, type) if type.is_float else IntAttr(parse_integer(text, type), type)
