"""Rows of the core level around the tensors: parameters, states, extents as scalars, launches of tile kernels."""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.attrs import DenseAttr, DictAttr, ListAttr, SymbolAttr, TypeAttr
from pptc.ir.core import Op
from pptc.ir.core_rules import (
    DERIVED,
    ELEMENTS,
    INDEX_SCALAR,
    LAUNCHED,
    SHAPED,
    STATE,
    TENSOR,
    checked_by,
    extents,
    infer_by,
    integer,
    known_attributes,
    static_extents,
    tensor,
)
from pptc.ir.core_scope import dims_of, find_symbol, signature, symbols_of
from pptc.ir.core_shapes import (
    Refusal,
    axis_in,
    window,
)
from pptc.ir.opdef import Attribute, OpDef, Operand, Problem, Result, table
from pptc.ir.spell import print_type
from pptc.ir.types import INDEX, PtrType, ScalarType, StateType, TensorType, Type

# ---------------------------------------------------------------- parameters


def _parameter(op: Op) -> Iterator[Problem]:
    attribute = op.attributes.get("type")
    type = attribute.type if isinstance(attribute, TypeAttr) else None
    if not isinstance(type, TensorType) or type.elem not in ELEMENTS:
        yield Problem("P0203", "a parameter is a tensor")
        return
    if next(symbols_of([type]), None) is not None:
        yield Problem("P0110", f"a parameter has a static shape, not {print_type(type)}")
    value = op.attributes.get("value")
    if value is None:
        return
    if not isinstance(value, DenseAttr) or value.type != type:
        yield Problem("P0207", f"the value of a parameter is `dense<..>` of {print_type(type)}")
    if "file" in op.attributes or "key" in op.attributes:
        yield Problem("P0207", "a parameter with a value in place has neither file nor key")


def _parameter_type(op: Op) -> tuple[Type, ...]:
    name = op.attributes.get("param")
    if not isinstance(name, SymbolAttr):
        raise Refusal
    parameter = find_symbol(op, name.name, "core.param")
    if parameter is None:
        raise Refusal("P0111", f"the module has no parameter @{name.name}")
    type = parameter.attributes.get("type")
    if not isinstance(type, TypeAttr):
        raise Refusal
    return (type.type,)


_PARAMETERS = (
    OpDef(
        name="core.param",
        doc="Names a read-only tensor of the module. With a value it is in place, otherwise in a file under a key.",
        attributes=(
            Attribute("sym_name", "string", required=True, doc="its name"),
            Attribute("type", "type", required=True, doc="a static tensor type"),
            Attribute("value", "any", doc="`dense<..>`; absent: the parameter is external"),
            Attribute("file", "string", doc="relative to the module; absent: what --params says"),
            Attribute("key", "string", doc="the name in the file; absent: the name of the parameter"),
        ),
        format="custom<SymbolName> `:` $type (`=` custom<DenseOfType>^)? attr-dict",
        rules=(known_attributes, _parameter),
    ),
    OpDef(
        name="core.get",
        doc="The tensor of a parameter.",
        results=(Result("result", TENSOR),),
        attributes=(Attribute("param", "symbol", required=True, doc="a core.param of the module"),),
        format="$param attr-dict `:` type($result)",
        pure=True,
        rules=(known_attributes, checked_by(_parameter_type)),
        infer=infer_by(_parameter_type),
    ),
)


# ---------------------------------------------------------------- states and extents


def state(op: Op) -> StateType:
    """The type of the operand `state`; refused silently when it is none."""
    type = op.operand("state").type
    if not isinstance(type, StateType):
        raise Refusal
    return type


def _read(op: Op) -> tuple[Type, ...]:
    source, sizes = state(op), static_extents(op, "sizes")
    window(source.dims, extents(op, "offsets", "indices"), sizes, [1] * len(sizes))
    return (TensorType(sizes, source.elem),)


def _written(op: Op) -> tuple[Type, ...]:
    target, value = state(op), tensor(op, "value")
    if value.elem != target.elem:
        raise Refusal(
            "P0204",
            f"a state of {target.elem.name} does not take {value.elem.name}",
            "value",
            "use core.cast",
        )
    window(target.dims, extents(op, "offsets", "indices"), value.dims, [1] * len(value.dims))
    return ()


def _dim(op: Op) -> tuple[Type, ...]:
    axis = integer(op, "axis")
    if axis is None:
        raise Refusal("P0206", "core.dim names an axis")
    axis_in(len(dims_of(op.operand("x").type)), axis)
    return (INDEX,)


_OFFSETS = Attribute("offsets", "any", required=True, doc="one per axis: a number, a dim or an index")
_INDICES = Operand("indices", INDEX_SCALAR, arity="many")

_STATES = (
    OpDef(
        name="core.state_read",
        doc="The window of a state as it is here in program order.",
        operands=(Operand("state", STATE, "read"), _INDICES),
        results=(Result("result", TENSOR),),
        attributes=(_OFFSETS, Attribute("sizes", "ints", required=True, doc="the shape of the result")),
        format="$state ` ` mixed($indices, offsets) $sizes attr-dict `:` type($state) `->` type($result)",
        rules=(known_attributes, checked_by(_read)),
        infer=infer_by(_read),
        traits=frozenset({DERIVED}),
    ),
    OpDef(
        name="core.state_write",
        doc="Puts a tensor into a state at the offsets; beyond the state's extents it is a fault before anything runs.",
        operands=(Operand("state", STATE, "update"), _INDICES, Operand("value", TENSOR)),
        attributes=(_OFFSETS,),
        format="$state ` ` mixed($indices, offsets) `,` $value attr-dict `:` type($state) `,` type($value)",
        rules=(known_attributes, checked_by(_written)),
    ),
    OpDef(
        name="core.dim",
        doc="The extent of an axis as a scalar.",
        operands=(Operand("x", SHAPED),),
        results=(Result("result", INDEX_SCALAR),),
        attributes=(Attribute("axis", "int", required=True, doc="negative ones count from the back"),),
        format="$x `,` $axis attr-dict `:` type($x) `->` type($result)",
        pure=True,
        rules=(known_attributes, checked_by(_dim)),
        infer=infer_by(_dim),
        traits=frozenset({DERIVED}),
    ),
)


# ---------------------------------------------------------------- launches


def _grid(op: Op) -> tuple[Type, ...]:
    """A grid of one extent; the results are what the text says."""
    grid = extents(op, "grid", "blocks")
    if len(grid) != 1:
        raise Refusal("P0202", f"a grid has one extent, not {len(grid)}")
    if isinstance(grid[0], int) and grid[0] < 0:
        raise Refusal("P0207", f"a grid of {grid[0]} blocks")
    return tuple(result.type for result in op.results)


def _launched(op: Op) -> Iterator[Problem]:
    """Tensors and states meet the kernel's pointers, scalars its scalars, each in their order."""
    name = op.attributes.get("callee")
    if not isinstance(name, SymbolAttr):
        return
    kernel = find_symbol(op, name.name, "func.func")
    if kernel is None:
        yield Problem("P0103", f"the module has no kernel @{name.name}", f"=@{name.name}")
        return
    given = [value.type for value in (*op.group("ins"), *op.group("states"), *op.results)]
    wanted = [type for index, type in enumerate(signature(kernel).inputs) if not _is_spmd(kernel, index)]
    for words, scalar in (("pointers", False), ("scalars", True)):
        yield from _passed(
            f"@{name.name}",
            words,
            [type for type in given if isinstance(type, ScalarType) == scalar],
            [type for type in wanted if isinstance(type, ScalarType) == scalar],
        )


def _passed(kernel: str, words: str, given: list[Type], wanted: list[Type]) -> Iterator[Problem]:
    if len(given) != len(wanted):
        yield Problem(
            "P0202", f"{kernel} takes {len(wanted)} {words}, the launch has values for {len(given)}"
        )
        return
    for type, argument in zip(given, wanted, strict=True):
        if not _passes(type, argument):
            yield Problem("P0201", f"{kernel} takes {print_type(argument)}, which {print_type(type)} is not")


def _is_spmd(kernel: Op, index: int) -> bool:
    given = kernel.attributes.get("arg_attrs")
    entry = given.items[index] if isinstance(given, ListAttr) and index < len(given.items) else None
    return isinstance(entry, DictAttr) and entry.get("pto.spmd") is not None


def _passes(value: Type, argument: Type) -> bool:
    """Tensors and states go as pointers to their elements, scalars as they are."""
    if isinstance(value, TensorType | StateType):
        return isinstance(argument, PtrType) and argument.space == "gm" and argument.elem == value.elem
    return value == argument


_LAUNCH = OpDef(
    name="core.launch",
    doc="Runs a tile kernel of the module over a grid. Its pointers are the tensors of ins, the states of inout and "
    "the tensors of outs in this order, all row-major; its scalars are those of ins.",
    operands=(
        Operand("blocks", INDEX_SCALAR, arity="optional"),
        Operand("ins", LAUNCHED, arity="many"),
        Operand("states", STATE, "update", "many"),
    ),
    results=(Result("outs", TENSOR, "many"),),
    attributes=(
        Attribute("callee", "symbol", required=True, doc="a tile kernel of the module"),
        Attribute("grid", "any", required=True, doc="the number of blocks: a number, a dim or an index"),
    ),
    format="$callee `grid` mixed($blocks, grid, parentheses) (`ins` `(` $ins^ `:` type($ins) `)`)? "
    "(`outs` `(` type($outs)^ `)`)? (`inout` `(` $states^ `:` type($states) `)`)? attr-dict",
    rules=(known_attributes, checked_by(_grid), _launched),
)

ROWS = table(_PARAMETERS, _STATES, _LAUNCH)
