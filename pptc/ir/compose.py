"""What the command line does to a module before it is verified: modules joined, constants given by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pptc.diag import Sink
from pptc.ir.attrs import Attr, IntAttr
from pptc.ir.core import Op
from pptc.ir.literals import parse_float, parse_integer
from pptc.ir.syntax import SyntaxFault
from pptc.ir.types import I1, ScalarType


def prepend(module: Op, earlier: Op, sink: Sink) -> None:
    """Move the ops of `earlier` in front of those of `module`, and take over its attributes. Reports P0207.

    A module attribute that both have must have one value: it says for which chip the text was written.
    """
    first = module.body.first
    for op in earlier.body:
        op.remove()
        module.body.insert_before(op, first)
    for key, value in earlier.attributes.items():
        if module.attributes.setdefault(key, value) != value:
            sink.error("P0207", f"two files of one module disagree about {key}", module.span)


def bind_constants(module: Op, defines: Iterable[tuple[str, str]], sink: Sink) -> None:
    """Give each `%NAME = arith.constant` of a `-D NAME=VALUE` its new value, in all functions. Reports P0301."""
    constants = list(_named_constants(module))
    for name, text in defines:
        found = [op for op in constants if op.result.name == name]
        if not found:
            sink.error(
                "P0301", f"-D {name}: no constant of the input is named %{name}", hint=_names(constants)
            )
        for op in found:
            _bind(op, name, text, sink)


def require_level(module: Op, level: str, sink: Sink) -> None:
    """Report P0211 or P0212 for each tile that is not of `level2` (no addr) or `level3` (an addr on each)."""
    for op in module.walk():
        if op.name != "pto.alloc_tile" or "tile.private" in op.attributes:
            continue
        if level == "level3" and not op.group("addr"):
            sink.error("P0211", "this alloc_tile has no addr, but --pto-level=level3 was given", op.span)
        if level == "level2" and op.group("addr"):
            sink.error("P0212", "this alloc_tile has an addr, but --pto-level=level2 was given", op.span)


def _named_constants(module: Op) -> Iterator[Op]:
    for op in module.walk():
        if op.name == "arith.constant" and op.result.name and isinstance(op.result.type, ScalarType):
            yield op


def _names(constants: Iterable[Op]) -> str | None:
    names = dict.fromkeys(f"%{op.result.name}" for op in constants)
    return f"constants: {', '.join(names)}" if names else None


def _bind(op: Op, name: str, text: str, sink: Sink) -> None:
    type_ = op.result.type
    assert isinstance(type_, ScalarType)
    try:
        op.attributes["value"] = _literal(text, type_)
    except (SyntaxFault, ValueError) as fault:
        why = (
            fault.message
            if isinstance(fault, SyntaxFault)
            else f"'{text}' is not a number of type {type_.name}"
        )
        sink.error("P0301", f"-D {name}: {why}", op.span)


def _literal(text: str, type_: ScalarType) -> Attr:
    if type_ == I1:
        if text not in ("true", "false", "0", "1"):
            raise ValueError(text)
        return text in ("true", "1")
    return parse_float(text, type_) if type_.is_float else IntAttr(parse_integer(text, type_), type_)
