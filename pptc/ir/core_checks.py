"""Rules of modules, functions and calls that the core level adds: versions, entries, symbols in scope and in calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pptc.ir.attrs import Attr, DictAttr, DimAttr, IntAttr, ListAttr, UnitAttr
from pptc.ir.core import Op, Value, symbol_name
from pptc.ir.core_scope import (
    arguments,
    bind_arguments,
    bound_type,
    entries,
    introduced,
    scalar_dim,
    scalar_symbols,
    signature,
    symbols_of,
)
from pptc.ir.opdef import Problem
from pptc.ir.spell import print_type
from pptc.ir.symbols import print_dim, symbols
from pptc.ir.types import FunctionType, ScalarType, StateType, TensorType, Type

VERSION = 1
LARGEST_EXTENT = 2**31 - 1
_NOTHING = DictAttr(())


def check_module(op: Op) -> Iterator[Problem]:
    """`core.version` is one that this compiler knows."""
    version = op.attributes.get("core.version")
    if version is not None and not (isinstance(version, IntAttr) and version.value == VERSION):
        yield Problem("P0207", f"core.version is {VERSION}")


def check_function(op: Op) -> Iterator[Problem]:
    """Attributes of an entry, ranges, bound scalars; no type inside speaks of an unknown symbol."""
    yield from _check_entry(op)
    yield from _check_ranges(op)
    yield from _check_scalars(op)
    yield from _check_scope(op)


# ---------------------------------------------------------------- attributes of functions


def _check_entry(function: Op) -> Iterator[Problem]:
    if "core.entry" not in function.attributes:
        return
    if not isinstance(function.attributes["core.entry"], UnitAttr):
        yield Problem("P0207", "core.entry has no value")
    if function.attributes.get("sym_visibility") == "private":
        yield Problem("P0207", "a private function is no core.entry")
    if not function.regions or not function.regions[0].blocks:
        yield Problem("P0208", "an entry has a body")
    for type in signature(function).inputs:
        if not isinstance(type, TensorType | StateType | ScalarType):
            yield Problem("P0203", f"an entry takes tensors, states and scalars, not {print_type(type)}")
    for type in signature(function).results:
        if not isinstance(type, TensorType | ScalarType):
            yield Problem("P0203", f"an entry gives tensors and scalars, not {print_type(type)}")


def _check_ranges(function: Op) -> Iterator[Problem]:
    if not isinstance(function.attributes.get("core.dims", _NOTHING), DictAttr):
        yield Problem("P0207", "core.dims is a dictionary: {T = [1, 512]}")
    for name, value in entries(function, "core.dims"):
        ends = _range(value)
        if ends is None or not 0 <= ends[0] <= ends[1] <= LARGEST_EXTENT:
            words = f"the range of {name} is [least, largest] within 0 and {LARGEST_EXTENT}"
            yield Problem("P0207", words)


def _range(value: Attr) -> tuple[int, int] | None:
    if not isinstance(value, ListAttr) or len(value.items) != 2:
        return None
    low, high = value.items
    return (low.value, high.value) if isinstance(low, IntAttr) and isinstance(high, IntAttr) else None


def _check_scalars(function: Op) -> Iterator[Problem]:
    if not isinstance(function.attributes.get("core.scalars", _NOTHING), DictAttr):
        yield Problem("P0207", 'core.scalars is a dictionary: {past = "P"}')
    named = {argument.name: argument for argument in arguments(function)}
    taken: set[str] = set()
    for name, symbol in entries(function, "core.scalars"):
        if not isinstance(symbol, str) or not symbol.isidentifier():
            yield Problem("P0207", f'core.scalars gives {name} the name of a symbol: {name} = "P"')
            continue
        type = named[name].type if name in named else None
        if not isinstance(type, ScalarType) or not type.is_integer:
            yield Problem("P0207", f"core.scalars speaks of %{name}, which is no integer argument")
        if symbol in taken:
            yield Problem("P0207", f"two scalars are the symbol {symbol}")
        taken.add(symbol)


# ---------------------------------------------------------------- symbols in scope


def _check_scope(function: Op) -> Iterator[Problem]:
    known = introduced(function)
    yield from _unknown(function, symbols_of(signature(function).results), known)
    for op in function.walk():
        if op is not function:
            types = [value.type for value in _defined(op)]
            names = dict.fromkeys([*symbols_of(types), *_spelled(op)])
            yield from _unknown(op, iter(names), known)


def _defined(op: Op) -> Iterator[Value]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _spelled(op: Op) -> Iterator[str]:
    """Symbols in the lists of offsets, sizes and grids."""
    for value in op.attributes.values():
        if isinstance(value, ListAttr):
            for item in value.items:
                if isinstance(item, DimAttr):
                    yield from symbols(item.dim)


def _unknown(op: Op, names: Iterator[str], known: set[str]) -> Iterator[Problem]:
    for name in names:
        if name in known:
            continue
        if name == "?":
            hint = "write it in the symbols of the arguments"
            yield Problem("P0110", "nothing says what the extent `?` is here", hint=hint, where=op)
            continue
        hint = "symbols come from argument types, core.dims and core.scalars"
        yield Problem("P0110", f"no argument introduces the symbol {name}", hint=hint, where=op)


# ---------------------------------------------------------------- calls


def call_types(callee: Op, call: Op) -> FunctionType:
    """The callee's type in the caller's symbols. What no operand determines is what the call says."""
    type = signature(callee)
    binding = bind_arguments(callee, call.operands)

    def outer(types: tuple[Type, ...], values: Sequence[Value]) -> tuple[Type, ...]:
        given = [value.type for value in values]
        return tuple(
            bound_type(inner, binding) or (given[position] if position < len(given) else inner)
            for position, inner in enumerate(types)
        )

    return FunctionType(outer(type.inputs, call.operands), outer(type.results, call.results))


def check_call(callee: Op, call: Op) -> Iterator[Problem]:
    """The operands say what the symbols of the results are, and scalars agree with the shapes."""
    binding = bind_arguments(callee, call.operands)
    for name in symbols_of(signature(callee).results):
        if name not in binding:
            yield Problem(
                "P0110", f"the call does not say what the symbol {name} of @{symbol_name(callee)} is"
            )
    names = scalar_symbols(callee)
    for argument, value in zip(arguments(callee), call.operands, strict=False):
        symbol = names.get(argument.name or "")
        given = scalar_dim(value) if symbol is not None else None
        if symbol is not None and given is not None and given != binding.get(symbol, given):
            bound = print_dim(binding[symbol])
            words = f"%{argument.name} is {print_dim(given)}, but the shapes say that {symbol} is {bound}"
            yield Problem("P0205", words)
