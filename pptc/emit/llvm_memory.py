"""Handlers of `memref` and `vector`: addresses, loads, stores, masks, lanes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llvmlite import ir

from pptc.emit.function_emitter import FunctionEmitter, Handler, result_type
from pptc.emit.llvm_ir import (
    BYTE,
    I32,
    I64,
    VOID,
    Llvm,
    float_constant,
    int_constant,
    memory_type,
    vector_constant,
)
from pptc.ir.core import Op, Value
from pptc.ir.floats import encode
from pptc.ir.ops.vector import shuffle_mask, static_index
from pptc.ir.types import I1, MemRefType, ScalarType, VectorType


def _element(value: Value) -> ScalarType:
    assert isinstance(value.type, MemRefType | VectorType)
    return value.type.elem


# ---------------------------------------------------------------- memory


def _load(e: FunctionEmitter, op: Op) -> Llvm:
    elem = _element(op.operand("memref"))
    address = e.element_address(e.get(op, "memref"), e.get(op, "index"), memory_type(elem), inside=True)
    loaded = e.builder.load(address, align=elem.bytes, typ=memory_type(elem))
    return e.compare("ne", loaded, int_constant(0, BYTE)) if elem == I1 else loaded


def _store(e: FunctionEmitter, op: Op) -> None:
    elem = _element(op.operand("memref"))
    address = e.element_address(e.get(op, "memref"), e.get(op, "index"), memory_type(elem), inside=True)
    value = e.get(op, "value")
    e.builder.store(e.builder.zext(value, BYTE) if elem == I1 else value, address, align=elem.bytes)


def _word_address(e: FunctionEmitter, op: Op) -> tuple[Llvm, ScalarType]:
    elem = _element(op.operand("memref"))
    memory, index = e.get(op, "memref"), e.get(op, "index")
    return e.element_address(memory, index, memory_type(elem), inside=True), elem


def _atomic_load(e: FunctionEmitter, op: Op) -> Llvm:
    address, elem = _word_address(e, op)
    return e.builder.load_atomic(address, "acquire", elem.bytes, typ=memory_type(elem))


def _atomic_store(e: FunctionEmitter, op: Op) -> None:
    address, elem = _word_address(e, op)
    store = ir.instructions.StoreAtomicInstr(
        e.builder.block, e.get(op, "value"), address, "release", elem.bytes
    )
    e.inserted(store)


def _atomic_add(e: FunctionEmitter, op: Op) -> None:
    address, elem = _word_address(e, op)
    e.builder.atomic_rmw("fadd" if elem.is_float else "add", address, e.get(op, "value"), "acq_rel")


def _atomic_exchange(e: FunctionEmitter, op: Op) -> Llvm:
    address, elem = _word_address(e, op)
    bits = ir.IntType(elem.bits)
    old, new = (e.builder.bitcast(e.get(op, name), bits) for name in ("expected", "value"))
    block = e.builder.block
    pair = e.inserted(ir.instructions.CmpXchg(block, address, old, new, "acq_rel", "acquire", ""))
    return e.builder.extract_value(pair, 1)


def _view(e: FunctionEmitter, op: Op) -> Llvm:
    return e.element_address(e.get(op, "source"), e.get(op, "byte_offset"), BYTE, inside=False)


def _offset(e: FunctionEmitter, op: Op) -> Llvm:
    element = memory_type(_element(op.operand("source")))
    return e.element_address(e.get(op, "source"), e.get(op, "index"), element, inside=False)


def _prefetch(e: FunctionEmitter, op: Op) -> None:
    """Into the second cache: the first has no room for a row beside the one that is computed."""
    elem = memory_type(_element(op.operand("memref")))
    address = e.element_address(e.get(op, "memref"), e.get(op, "index"), elem, inside=False)
    for_reading, second, data = (int_constant(value, I32) for value in (0, 2, 1))
    e.intrinsic("prefetch", [address, for_reading, second, data], VOID, (address.type,))


def _address(e: FunctionEmitter, op: Op) -> Llvm:
    return e.builder.ptrtoint(e.get(op, "source"), I64)


def _fence(e: FunctionEmitter, op: Op) -> None:
    e.builder.fence("release")


def _lanes_address(e: FunctionEmitter, op: Op, *, inside: bool) -> Llvm:
    element = memory_type(_element(op.operand("base")))
    return e.element_address(e.get(op, "base"), e.get(op, "index"), element, inside=inside)


def _load_lanes(e: FunctionEmitter, op: Op) -> Llvm:
    elem, type = _element(op.operand("base")), result_type(op)
    stored = ir.VectorType(memory_type(elem), type.count)
    loaded = e.builder.load(_lanes_address(e, op, inside=True), align=elem.bytes, typ=stored)
    return e.compare("ne", loaded, int_constant(0, stored)) if elem == I1 else loaded


def _store_lanes(e: FunctionEmitter, op: Op) -> None:
    elem, value = _element(op.operand("base")), e.get(op, "value")
    if elem == I1:
        value = e.builder.zext(value, ir.VectorType(BYTE, value.type.count))
    alignment = elem.bytes
    if "nontemporal" in op.attributes:
        alignment *= value.type.count
    stored = e.builder.store(value, _lanes_address(e, op, inside=True), align=alignment)
    if "nontemporal" in op.attributes:
        stored.set_metadata("nontemporal", e.module.add_metadata([int_constant(1, I32)]))


def _masked_load(e: FunctionEmitter, op: Op) -> Llvm:
    type, address = result_type(op), _lanes_address(e, op, inside=False)
    alignment = int_constant(_element(op.operand("base")).bytes, I32)
    arguments = [address, alignment, e.get(op, "mask"), e.get(op, "pass")]
    return e.intrinsic("masked.load", arguments, type, (type, address.type))


def _masked_store(e: FunctionEmitter, op: Op) -> None:
    value, address = e.get(op, "value"), _lanes_address(e, op, inside=False)
    alignment = int_constant(_element(op.operand("base")).bytes, I32)
    arguments = [value, address, alignment, e.get(op, "mask")]
    e.intrinsic("masked.store", arguments, VOID, (value.type, address.type))


# ---------------------------------------------------------------- lanes


def _create_mask(e: FunctionEmitter, op: Op) -> Llvm:
    """Lane numbers below the count, in an element width that fills one register of the machine."""
    lanes = result_type(op).count
    fills = 1 << (max(1, e.machine.vector_bits // lanes).bit_length() - 1)
    width = min(64, max(8 if lanes < 128 else 16, fills))
    count = e.intrinsic("smin", [e.get(op, "count"), int_constant(lanes, I64)], I64, (I64,))
    count = e.intrinsic("smax", [count, int_constant(0, I64)], I64, (I64,))
    number = ir.IntType(width)
    narrow = count if width == 64 else e.builder.trunc(count, number)
    numbers = vector_constant([int_constant(lane, number) for lane in range(lanes)])
    return e.compare("slt", numbers, e.splat(narrow, lanes))


def _step(e: FunctionEmitter, op: Op) -> Llvm:
    type = result_type(op)
    return vector_constant([int_constant(lane, type.element) for lane in range(type.count)])


def _broadcast(e: FunctionEmitter, op: Op) -> Llvm:
    return e.splat(e.get(op, "source"), result_type(op).count)


def _shuffle(e: FunctionEmitter, op: Op) -> Llvm:
    lanes = [int_constant(lane, I32) for lane in shuffle_mask(op)]
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), lanes)
    return e.builder.shuffle_vector(e.get(op, "lhs"), e.get(op, "rhs"), mask)


def _extract(e: FunctionEmitter, op: Op) -> Llvm:
    return e.builder.extract_element(e.get(op, "vector"), int_constant(static_index(op, "position"), I32))


def _insert(e: FunctionEmitter, op: Op) -> Llvm:
    position = int_constant(static_index(op, "position"), I32)
    return e.builder.insert_element(e.get(op, "dest"), e.get(op, "source"), position)


def _bitcast(e: FunctionEmitter, op: Op) -> Llvm:
    value, to = e.get(op, "source"), result_type(op)
    return value if value.type == to else e.builder.bitcast(value, to)


_REDUCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "maximumf": "fmaximum",
        "minimumf": "fminimum",
        "maxnumf": "fmax",
        "minnumf": "fmin",
        "maxsi": "smax",
        "minsi": "smin",
        "maxui": "umax",
        "minui": "umin",
    }
)
_FLOAT_STARTS: Mapping[str, tuple[str, float]] = MappingProxyType(
    {"add": ("fadd", -0.0), "mul": ("fmul", 1.0)}
)
_HALVED: Mapping[str, str] = MappingProxyType({"maximumf": "maximum", "minimumf": "minimum"})
"""Reductions of which LLVM combines the last lanes one by one, at many instructions each."""


def _halved(e: FunctionEmitter, vector: Llvm, stem: str) -> Llvm:
    """The upper half onto the lower one until one lane is left; vectors below four lanes keep their width."""
    lanes = vector.type.count
    while lanes > 1:
        lanes //= 2
        width = max(lanes, min(4, vector.type.count))
        lower, upper = _lane_range(e, vector, 0, width), _lane_range(e, vector, lanes, width)
        vector = e.intrinsic(stem, [lower, upper], lower.type, (lower.type,))
    return e.builder.extract_element(vector, int_constant(0, I32))


def _lane_range(e: FunctionEmitter, vector: Llvm, start: int, width: int) -> Llvm:
    """Lanes from `start` on, turned round at the end."""
    count = vector.type.count
    if start == 0 and width == count:
        return vector
    numbers = [int_constant((start + lane) % count, I32) for lane in range(width)]
    return e.builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, width), numbers))


def _reduction(e: FunctionEmitter, op: Op) -> Llvm:
    kind, vector, to = op.attributes["kind"], e.get(op, "vector"), result_type(op)
    assert isinstance(kind, str)
    elem = _element(op.operand("vector"))
    if elem.is_float and kind in _FLOAT_STARTS:
        stem, start = _FLOAT_STARTS[kind]
        arguments = [float_constant(encode(start, elem), elem), vector]
        return e.intrinsic(f"vector.reduce.{stem}", arguments, to, (vector.type,), fastmath=("reassoc",))
    if kind in _HALVED and vector.type.count & (vector.type.count - 1) == 0:
        return _halved(e, vector, _HALVED[kind])
    stem = _REDUCTIONS.get(kind, kind)
    return e.intrinsic(f"vector.reduce.{stem}", [vector], to, (vector.type,))


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "memref.load": _load,
        "memref.store": _store,
        "memref.atomic_load": _atomic_load,
        "memref.atomic_store": _atomic_store,
        "memref.atomic_add": _atomic_add,
        "memref.atomic_exchange": _atomic_exchange,
        "memref.view": _view,
        "memref.offset": _offset,
        "memref.prefetch": _prefetch,
        "memref.extract_aligned_pointer_as_index": _address,
        "memref.fence": _fence,
        "vector.load": _load_lanes,
        "vector.store": _store_lanes,
        "vector.maskedload": _masked_load,
        "vector.maskedstore": _masked_store,
        "vector.create_mask": _create_mask,
        "vector.step": _step,
        "vector.broadcast": _broadcast,
        "vector.shuffle": _shuffle,
        "vector.extract": _extract,
        "vector.insert": _insert,
        "vector.bitcast": _bitcast,
        "vector.reduction": _reduction,
    }
)
