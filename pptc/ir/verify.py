"""The verifier of all levels: structure, dominance, operand kinds and attributes from the rows, then the rows' rules.

It goes on behind every fault, op by op. Values of the type POISON come from statements that the parser has reported;
nothing is said about them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pptc.diag import Diagnostic, Note, Sink, Span, UserLocation
from pptc.ir.attrs import (
    UNIT,
    ArrayAttr,
    Attr,
    DimAttr,
    EnumAttr,
    FloatAttr,
    IntAttr,
    ListAttr,
    SymbolAttr,
    TypeAttr,
)
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.opdef import Attribute, Kind, Problem
from pptc.ir.spell import print_type
from pptc.ir.types import POISON


def verify(module: Op, sink: Sink) -> None:
    """Report every fault of a module."""
    _Verifier(sink).op(module)


class _Verifier:
    """One walk over a module; `visible` holds the values that may be used."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.visible: dict[Value, None] = {}

    def op(self, op: Op) -> None:
        """One op and all inside it."""
        if op.span is None:
            self._report(op, Problem("P9999", f"{op.name} was made without saying which op it comes from"))
        for index, value in enumerate(op.operands):
            if value not in self.visible and value.type is not POISON:
                self._undefined(op, index, value)
        if not _touches_poison(op):
            problems = list(_row_problems(op)) or [p for rule in op.definition.rules for p in rule(op)]
            for problem in problems:
                self._report(op, problem)
        if "symbols" in op.definition.traits:
            self._symbols(op)
        outside = self.visible
        if "isolated" in op.definition.traits:
            self.visible = {}
        for region in op.regions:
            self._region(op, region)
        self.visible = outside
        self.visible.update(dict.fromkeys(op.results))

    def _region(self, op: Op, region: Region) -> None:
        made: list[Value] = []
        dominators = _dominators(region) if len(region.blocks) > 1 else {}
        for block in region.blocks:
            if dominators:
                self._hide(made)
                made = [value for above in dominators[block] for value in _values(above)]
                self.visible.update(dict.fromkeys(made))
            self.visible.update(dict.fromkeys(block.args))
            for inner in block:
                self.op(inner)
            made += _values(block)
            for problem_op, problem in _terminator_problems(op, block):
                self._report(problem_op, problem)
        self._hide(made)

    def _symbols(self, module: Op) -> None:
        """A name stands once among the ops of a module."""
        first: dict[Attr, Op] = {}
        for region in module.regions:
            for op in (op for block in region.blocks for op in block):
                name = op.attributes.get("sym_name")
                if op.definition.attribute("sym_name") is None and not op.definition.terminator:
                    self._report(op, Problem("P0208", f"{op.name} stands outside of a function"))
                if name is not None and first.setdefault(name, op) is not op:
                    notes = (Note("first defined here", first[name].span),)
                    span = _find(op, rf"@{re.escape(str(name))}(?![\w$.])", 0)
                    message = f"@{name} is defined twice in the module"
                    self.sink.report(Diagnostic("P0104", message, span, None, notes, _user_line(op)))

    def _hide(self, values: Sequence[Value]) -> None:
        for value in values:
            self.visible.pop(value, None)

    def _undefined(self, op: Op, index: int, value: Value) -> None:
        name = f"%{value.name}" if value.name else "a value"
        notes = (Note("defined here", value.op.span),) if value.op else ()
        span = _operand_span(op, index)
        message = f"{name} is used by {op.name}, but its definition does not come first on every way"
        self.sink.report(Diagnostic("P0217", message, span, None, notes, _user_line(op)))

    def _report(self, op: Op, problem: Problem) -> None:
        op = problem.where or op
        span = op.span
        if problem.operand is not None:
            span = _problem_span(op, problem.operand)
        self.sink.error(problem.code, problem.message, span, hint=problem.hint, location=_user_line(op))


def _user_line(op: Op) -> UserLocation | None:
    """The line that the user really wrote; a location that is only a name has none."""
    return op.loc if op.loc is not None and op.loc.line else None


def _values(block: Block) -> Iterator[Value]:
    yield from block.args
    for op in block:
        yield from op.results


def _touches_poison(op: Op) -> bool:
    return any(value.type is POISON for value in (*op.operands, *op.results))


def _dominators(region: Region) -> dict[Block, list[Block]]:
    """The blocks that every way from the first block to a block goes through, itself left out."""
    before: dict[Block, list[Block]] = {block: [] for block in region.blocks}
    for block in region.blocks:
        for successor in block.last.successors if block.last else ():
            if successor in before:
                before[successor].append(block)
    everything = dict.fromkeys(region.blocks)
    found = dict.fromkeys(region.blocks, everything)
    found[region.block] = {region.block: None}
    changed = True
    while changed:
        changed = False
        for block in region.blocks[1:]:
            ways = [found[source] for source in before[block]]
            shared = {b: None for b in everything if b is block or all(b in way for way in ways)}
            changed |= shared.keys() != found[block].keys()
            found[block] = shared
    return {block: [b for b in above if b is not block] for block, above in found.items()}


# ---------------------------------------------------------------- what the row says


def _row_problems(op: Op) -> Iterator[Problem]:
    yield from _region_problems(op)
    yield from _operand_problems(op)
    yield from _result_problems(op)
    for declared in op.definition.attributes:
        yield from _attribute_problems(op, declared)


def _region_problems(op: Op) -> Iterator[Problem]:
    wanted = op.definition.regions
    if wanted is not None and len(op.regions) != wanted:
        yield Problem("P0208", f"{op.name} has {wanted} region(s), not {len(op.regions)}")


def _operand_problems(op: Op) -> Iterator[Problem]:
    row = op.definition
    if len(op.segments) != len(row.operands) or sum(op.segments) != len(op.operands):
        yield Problem("P0202", f"{len(op.operands)} operands do not fit {op.name}")
        return
    for operand, count in zip(row.operands, op.segments, strict=True):
        if (operand.arity == "one" and count != 1) or (operand.arity == "optional" and count > 1):
            yield Problem("P0202", f"{operand.name} is {operand.arity}, but {count} values stand there")
        for value in op.group(operand.name):
            yield from _kind_problems(operand.name, operand.kind, value, operand.name)


def _kind_problems(name: str, kind: Kind, value: Value, operand: str | None) -> Iterator[Problem]:
    if not kind.accepts(value.type):
        yield Problem("P0203", f"{name} must be {kind.words}, not {print_type(value.type)}", operand)


def _result_problems(op: Op) -> Iterator[Problem]:
    results = op.definition.results
    fixed = sum(result.arity == "one" for result in results)
    if len(op.results) < fixed or (len(op.results) > fixed and all(r.arity == "one" for r in results)):
        yield Problem("P0202", f"{op.name} has {fixed} result(s), not {len(op.results)}")
        return
    at = 0
    for result in results:
        count = 1 if result.arity == "one" else len(op.results) - fixed
        for value in op.results[at : at + count]:
            yield from _kind_problems(result.name, result.kind, value, None)
        at += count


def _is_integers(value: Attr) -> bool:
    if isinstance(value, ArrayAttr):
        return True
    return isinstance(value, ListAttr) and all(
        isinstance(i, IntAttr | DimAttr) or i == UNIT for i in value.items
    )


_KINDS: Mapping[str, tuple[str, Callable[[Attr], bool]]] = MappingProxyType(
    {
        "int": ("an integer", lambda value: isinstance(value, IntAttr)),
        "float": ("a float", lambda value: isinstance(value, FloatAttr)),
        "bool": ("true or false", lambda value: isinstance(value, bool)),
        "string": ("a string", lambda value: isinstance(value, str)),
        "type": ("a type", lambda value: isinstance(value, TypeAttr)),
        "symbol": ("a symbol", lambda value: isinstance(value, SymbolAttr)),
        "ints": ("a list of integers", _is_integers),
        "unit": ("a key without a value", lambda value: value == UNIT),
        "any": ("", lambda value: True),
    }
)


def _attribute_problems(op: Op, declared: Attribute) -> Iterator[Problem]:
    value = op.attributes.get(declared.name)
    if value is None:
        if declared.required:
            yield Problem("P0206", f"{op.name} needs the attribute {declared.name}")
        return
    if declared.kind == "enum":
        yield from _enum_problems(declared, value)
    elif not _KINDS[declared.kind][1](value):
        yield Problem("P0207", f"{declared.name} must be {_KINDS[declared.kind][0]}", f"={declared.name}")


def _enum_problems(declared: Attribute, value: Attr) -> Iterator[Problem]:
    listed = f"one of {', '.join(declared.values)}"
    spot = f"={declared.name}"
    if declared.enum is None:
        if value not in declared.values:
            yield Problem("P0207", f"{declared.name} has an unknown value", spot, listed)
    elif not isinstance(value, EnumAttr) or (value.name, value.spaced) != (declared.enum, declared.spaced):
        form = f"#pto<{declared.enum} WORD>" if declared.spaced else f"#pto.{declared.enum}<WORD>"
        yield Problem("P0207", f"{declared.name} must be {form}", spot, listed)
    elif value.value not in declared.values:
        yield Problem("P0207", f"unknown {declared.enum} `{value.value}`", spot, listed)


def _terminator_problems(parent: Op, block: Block) -> Iterator[tuple[Op, Problem]]:
    for op in block:
        if op.definition.terminator and op is not block.last:
            yield op, Problem("P0208", f"{op.name} ends its block, but statements follow")
    if block.terminator is None and "no-terminator" not in parent.definition.traits:
        yield parent, Problem("P0208", f"a block of {parent.name} does not end with a terminator")


# ---------------------------------------------------------------- where a problem stands


def _problem_span(op: Op, operand: str) -> Span | None:
    """The place of an operand group, or with `=` of an attribute, in the op's text; else the op's."""
    if operand.startswith("="):
        return _find(op, rf"(?<![\w$.\-]){re.escape(operand[1:])}(?![\w$.\-])", 0)
    names = [declared.name for declared in op.definition.operands]
    if operand not in names or not op.group(operand):
        return op.span
    return _operand_span(op, sum(op.segments[: names.index(operand)]))


def _operand_span(op: Op, index: int) -> Span | None:
    """The place of an operand's name, which the op's text holds once per use, in the row's order."""
    value = op.operands[index]
    if value.name is None:
        return op.span
    earlier = sum(other is value for other in op.operands[:index])
    return _find(op, rf"%{re.escape(value.name)}(?![\w$.\-])", earlier)


def _find(op: Op, pattern: str, skip: int) -> Span | None:
    span = op.span
    if span is None:
        return None
    found = list(re.compile(pattern).finditer(span.source.text, span.start, span.end))
    if len(found) <= skip:
        return span
    return Span(span.source, found[skip].start(), found[skip].end())
