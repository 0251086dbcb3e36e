"""Samples of ops made from nothing but their rows, for the law that text and module say the same."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from pptc.ir.attrs import UNIT, Attr, EnumAttr, IntAttr, ListAttr, SymbolAttr, TypeAttr
from pptc.ir.core import Block, Op, Region, Value
from pptc.ir.literals import parse_float
from pptc.ir.opdef import Attribute, Kind, OpDef
from pptc.ir.ops import OPS
from pptc.ir.symbols import parse_dim
from pptc.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    UI8,
    UI16,
    UI32,
    FunctionType,
    LocalArrayType,
    MemRefType,
    PartType,
    PtrType,
    StateType,
    TensorType,
    TileType,
    Type,
    VectorType,
    ViewType,
)  # fmt: skip

SCALARS: tuple[Type, ...] = (INDEX, I1, I8, I16, I32, I64, UI8, UI16, UI32, F16, BF16, F32, F64)
DIMS = (4, parse_dim("(B)"), parse_dim("(P+T)"), 16)
POOL: tuple[Type, ...] = (
    TileType("vec", F32, 8, 64, 8, 64),
    TileType("vec", I32, 16, 16, None, 3, pad=2),
    TileType("left", BF16, 32, 32, 32, 32, "row_major", "row_major"),
    TileType("right", F16, 32, 64, 32, None, "row_major", "col_major"),
    TileType("acc", F32, 32, 64, 32, 64, "col_major", "row_major", 1024),
    TileType("mat", F16, 64, 64, 64, 64, "col_major", "row_major", compact=1),
    PtrType(F32), PtrType(I32, "ub"), ViewType((None, 64), F32), PartType((8, None), F32),
    *SCALARS,
    VectorType(16, F32), VectorType(4, I32), VectorType(4, I1), VectorType(2, INDEX), VectorType(8, F16, scalable=True),
    LocalArrayType((8,), I32), MemRefType((None,), F32), MemRefType((None,), I8), MemRefType((32,), BF16),
    TensorType(DIMS[:2], F32), *(TensorType((4, 16), elem) for elem in (I1, I8, I32, I64)), TensorType((), F32), StateType(DIMS, BF16),
)  # fmt: skip


def types_of(kind: Kind) -> list[Type]:
    """The types of the pool that a kind accepts."""
    return [type for type in POOL if kind.accepts(type)]


def attributes(declared: Attribute) -> st.SearchStrategy[Attr]:
    """Values that an attribute may have."""
    if declared.kind == "enum":
        words = st.sampled_from(declared.values)
        return (
            words.map(lambda word: EnumAttr(declared.enum, word, declared.spaced)) if declared.enum else words
        )
    return {
        "int": st.integers(0, 1000).map(lambda value: IntAttr(value, None)),
        "float": st.floats(allow_nan=False, allow_infinity=False).map(
            lambda value: parse_float(f"{value:.9e}", F64)
        ),
        "bool": st.booleans(),
        "string": st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12),
        "type": st.sampled_from(POOL).map(TypeAttr),
        "symbol": st.just(SymbolAttr("callee")),
        "ints": st.lists(st.integers(-5, 99), max_size=4).map(lambda vs: ListAttr(tuple(map(IntAttr, vs)))),
        "unit": st.just(UNIT),
        "any": st.sampled_from([IntAttr(7, I32), parse_float("0x7FC00001", F32), True]),
    }[declared.kind]


@st.composite
def samples(draw: st.DrawFn, row: OpDef) -> Op:
    """A function whose body is one op of the row, its operands the function's arguments."""
    favourite = draw(st.sampled_from(POOL))
    operands: list[Type] = []
    segments: list[int] = []
    absent: set[Kind] = set()
    listed = {operand.arity for operand in row.operands if operand.access == "read"} == {"many"}
    for operand in row.operands:
        choices = types_of(operand.kind)
        most = {"one": 1, "optional": 0 if operand.kind in absent else 1, "many": 3}[operand.arity]
        # the last tile of a list is its scratch, so that a list with scratch has both
        least = operand.arity == "one" or (listed and operand.access in ("read", "scratch"))
        segments.append(draw(st.integers(int(least), most)))
        if not segments[-1]:
            absent.add(operand.kind)  # a list says that a later one is missing, not which one
        operands += [_choose(draw, choices, favourite) for _ in range(segments[-1])]
    given: dict[str, Attr] = {}
    for declared in row.attributes:
        if declared.required or draw(st.booleans()):
            given[declared.name] = draw(attributes(declared))
    block = Block(operands)
    op = Op(row, block.args, (), given, segments=tuple(segments))
    results = list(row.infer(op)) if row.infer else []
    if len(results) != len(row.results):
        results = [
            _choose(draw, types_of(result.kind), favourite) for result in row.results if result.arity == "one"
        ]
    op.results = [Value(type, op, index) for index, type in enumerate(results)]
    block.append(op)
    return function(block)


def _choose(draw: st.DrawFn, choices: list[Type], favourite: Type) -> Type:
    return favourite if favourite in choices else draw(st.sampled_from(choices))


def function(block: Block, name: str = "f", attributes: Mapping[str, Attr] | None = None) -> Op:
    """A func.func around a block."""
    type = TypeAttr(FunctionType(tuple(value.type for value in block.args), ()))
    return Op(
        OPS["func.func"],
        (),
        (),
        {"sym_name": name, "function_type": type, **(attributes or {})},
        [Region([block])],
    )


def module(*functions: Op) -> Op:
    """A builtin.module around functions."""
    block = Block()
    for op in functions:
        block.append(op)
    return Op(OPS["builtin.module"], regions=[Region([block])])


def plain_rows() -> list[OpDef]:
    """The rows whose ops are free: no regions, no tie to what stands around them or between operands and attributes."""
    return [row for row in OPS.values() if row.regions == 0 and not row.terminator and _is_free(row)]


def _is_free(row: OpDef) -> bool:
    tied = "mixed(" in row.format or "custom<" in row.format
    return not tied and not any(declared.required and declared.kind == "any" for declared in row.attributes)
