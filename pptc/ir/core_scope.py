"""What a core function knows of its symbols: where they come from, what a scalar is in terms of them, how a call
binds those of the callee.

Symbols are introduced by argument types, `core.dims` and `core.scalars`; the same name is the same number within one
function and means nothing outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from pptc.ir.attrs import Attr, DictAttr, IntAttr, TypeAttr
from pptc.ir.core import Block, Op, Value
from pptc.ir.symbols import Dim, Symbol, add, mul, sub, substitute, symbols
from pptc.ir.types import FunctionType, StateType, TensorType, Type

Binding = dict[str, Dim]


def dims_of(type: Type) -> tuple[Dim, ...]:
    """The extents of a tensor or state; nothing for other types."""
    return type.dims if isinstance(type, TensorType | StateType) else ()


def symbols_of(types: Iterable[Type]) -> Iterator[str]:
    """The names in the extents of some types, each once, in their order."""
    return iter(dict.fromkeys(name for type in types for dim in dims_of(type) for name in symbols(dim)))


def with_dims(type: Type, dims: tuple[Dim, ...]) -> Type:
    """The same tensor or state with other extents."""
    assert isinstance(type, TensorType | StateType)
    return type.__class__(dims, type.elem)


def signature(function: Op) -> FunctionType:
    """The type of a func.func; an empty one where it states none, which another rule reports."""
    attribute = function.attributes.get("function_type")
    type = attribute.type if isinstance(attribute, TypeAttr) else None
    return type if isinstance(type, FunctionType) else FunctionType((), ())


def arguments(function: Op) -> list[Value]:
    """The arguments of a function with a body."""
    blocks = function.regions[0].blocks if function.regions else []
    return list(blocks[0].args) if blocks else []


def entries(op: Op, key: str) -> tuple[tuple[str, Attr], ...]:
    """The entries of a dictionary attribute; nothing when it is missing or no dictionary."""
    value = op.attributes.get(key)
    return value.entries if isinstance(value, DictAttr) else ()


def scalar_symbols(function: Op) -> dict[str, str]:
    """`core.scalars`: the symbol that each scalar argument is, by the argument's name."""
    return {name: symbol for name, symbol in entries(function, "core.scalars") if isinstance(symbol, str)}


def introduced(function: Op) -> set[str]:
    """The symbols that a function may speak of."""
    known = set(symbols_of(signature(function).inputs))
    known.update(name for name, _ in entries(function, "core.dims"))
    known.update(scalar_symbols(function).values())
    return known


def enclosing_function(op: Op) -> Op | None:
    """The function around an op."""
    return next((outer for outer in op.ancestors() if outer.name == "func.func"), None)


def find_symbol(op: Op, name: str, kind: str) -> Op | None:
    """The op `kind @name` of the nearest module around `op` that has one."""
    for outer in op.ancestors():
        if outer.name == "builtin.module":
            for candidate in outer.body:
                if candidate.name == kind and candidate.attributes.get("sym_name") == name:
                    return candidate
    return None


# ---------------------------------------------------------------- scalars in terms of symbols


def scalar_dim(value: Value) -> Dim | None:
    """What a scalar is as an expression of symbols, where its definition says so."""
    if isinstance(value.owner, Block):
        return _argument_dim(value)
    read = _SCALAR_OPS.get(value.owner.name)
    return read(value.owner) if read else None


def _argument_dim(value: Value) -> Dim | None:
    assert isinstance(value.owner, Block)
    function = value.owner.region.op if value.owner.region else None
    if function is None or function.name != "func.func" or value.name is None:
        return None
    name = scalar_symbols(function).get(value.name)
    return Symbol(name) if name is not None else None


def _constant(op: Op) -> Dim | None:
    value = op.attributes.get("value")
    return value.value if isinstance(value, IntAttr) else None


def _extent(op: Op) -> Dim | None:
    axis, dims = op.attributes.get("axis"), dims_of(op.operands[0].type)
    return dims[axis.value] if isinstance(axis, IntAttr) and -len(dims) <= axis.value < len(dims) else None


def _combined(combine: Callable[[Dim, Dim], Dim]) -> Callable[[Op], Dim | None]:
    def read(op: Op) -> Dim | None:
        left, right = map(scalar_dim, op.operands)
        return None if left is None or right is None else combine(left, right)

    return read


def _same(op: Op) -> Dim | None:
    return scalar_dim(op.operands[0])


_SCALAR_OPS: Mapping[str, Callable[[Op], Dim | None]] = MappingProxyType(
    {
        "arith.constant": _constant,
        "core.dim": _extent,
        "arith.index_cast": _same,
        "arith.addi": _combined(add),
        "arith.subi": _combined(sub),
        "arith.muli": _combined(mul),
    }
)


# ---------------------------------------------------------------- calls


def bind_arguments(callee: Op, operands: Iterable[Value]) -> Binding:
    """What the callee's symbols are in those of the caller. Symbols that nothing determines are missing.

    Plain extents come first, then scalars, then sums of which one part is still unknown.
    """
    given = list(operands)
    pairs = [
        (inner, outer)
        for type, value in zip(signature(callee).inputs, given, strict=False)
        for inner, outer in zip(dims_of(type), dims_of(value.type), strict=False)
    ]
    binding: Binding = {}
    for inner, outer in pairs:
        if isinstance(inner, Symbol):
            binding.setdefault(inner.name, outer)
    names = scalar_symbols(callee)
    for argument, value in zip(arguments(callee), given, strict=False):
        dim = scalar_dim(value) if argument.name in names else None
        if dim is not None and argument.name is not None:
            binding.setdefault(names[argument.name], dim)
    for inner, outer in pairs:
        _solve(inner, outer, binding)
    return binding


def _solve(inner: Dim, outer: Dim, binding: Binding) -> None:
    """Bind the one unknown symbol of a sum that holds it once and nowhere else."""
    unknown = [name for name in symbols(inner) if name not in binding]
    if len(unknown) == 1:
        rest = sub(inner, Symbol(unknown[0]))
        if unknown[0] not in symbols(rest):
            binding[unknown[0]] = sub(outer, substitute(rest, binding))


def bound_type(type: Type, binding: Mapping[str, Dim]) -> Type | None:
    """The type in the caller's symbols; None when one of its symbols is not bound."""
    if any(name not in binding for name in symbols_of([type])):
        return None
    dims = dims_of(type)
    return with_dims(type, tuple(substitute(dim, binding) for dim in dims)) if dims else type
