"""Python values -> ppt_tensor: NumPy arrays, objects that speak DLPack, and numbers. Nothing is copied."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from pptc.ir.dlpack import dlpack_type, scalar_type
from pptc.ir.lazy import ml_dtypes, np
from pptc.ir.types import ScalarType
from pptc.runtime.library import DType, Tensor
from pptc.runtime.status import PptError, Status

CPU = 1


@dataclass(frozen=True)
class Argument:
    """One argument that a call takes."""

    name: str
    kind: Literal["pointer", "scalar"]
    dtype: ScalarType
    reads: bool
    writes: bool

    @cached_property
    def numpy_dtype(self) -> Any:
        """The NumPy dtype of an array for it."""
        return numpy_dtype(self.dtype)

    @cached_property
    def tensor_dtype(self) -> DType:
        """The element type as the library wants it."""
        return DType(*dlpack_type(self.dtype))


_SMALL_FLOATS: Mapping[str, str] = MappingProxyType(
    {"bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}
)
"""Element types that NumPy gets from ml_dtypes."""

_FORMATS: Mapping[str, str] = MappingProxyType({"f16": "<e", "f32": "<f", "f64": "<d"})


def element_type(code: int, bits: int, lanes: int) -> ScalarType:
    """The element type that the library names by a DLPack triple."""
    found = scalar_type(code, bits, lanes)
    if found is None:
        raise PptError(
            Status.E_VERSION, f"the library knows a type ({code}, {bits}, {lanes}) that this package lacks"
        )
    return found


def numpy_dtype(dtype: ScalarType) -> Any:
    """The NumPy dtype of an element type; types that NumPy cannot say are unsigned words of their size."""
    if dtype.name in _SMALL_FLOATS:
        return np.dtype(getattr(ml_dtypes, _SMALL_FLOATS[dtype.name]))
    if dtype.name == "i1":
        return np.dtype("bool")
    kinds = {"int": "i", "uint": "u", "index": "i", "float": "f"}
    if dtype.kind == "float" and dtype.name not in _FORMATS:
        return np.dtype(f"u{dtype.bytes}")
    return np.dtype(f"{kinds[dtype.kind]}{dtype.bytes}")


class Binding:
    """The tensors of one call, and what must live until it returns."""

    def __init__(self, function: str, arguments: tuple[Argument, ...], values: tuple[object, ...]) -> None:
        self.function = function
        self.tensors = (Tensor * len(arguments))()
        self._kept: list[object] = []
        for index, (argument, value) in enumerate(zip(arguments, values, strict=True)):
            bind = self._scalar if argument.kind == "scalar" else self._array
            self.tensors[index] = bind(argument, value)

    def _wrong(self, argument: Argument, what: str) -> PptError:
        return PptError(Status.E_TYPE, f"{self.function}: argument {argument.name} {what}")

    # -- numbers

    def _scalar(self, argument: Argument, value: object) -> Tensor:
        number = getattr(value, "item", lambda: value)() if getattr(value, "shape", None) == () else value
        if not isinstance(number, (int, float)):
            raise self._wrong(argument, f"is a number of type {argument.dtype.name}, not {_kind_of(value)}")
        data = ctypes.create_string_buffer(self._bytes(argument, number), 8)
        self._kept.append(data)
        return _tensor(ctypes.addressof(data), argument)

    def _bytes(self, argument: Argument, number: int | float) -> bytes:
        dtype = argument.dtype
        if dtype.is_float:
            if dtype.name in _FORMATS:
                try:
                    return struct.pack(_FORMATS[dtype.name], number)
                except OverflowError:
                    return struct.pack(_FORMATS[dtype.name], float("inf") if number > 0 else float("-inf"))
            return bytes(np.asarray(number, numpy_dtype(dtype)).tobytes())
        low, high = -(1 << (8 * dtype.bytes - 1)), 1 << 8 * dtype.bytes
        if not isinstance(number, int) or not (0 if dtype.kind == "uint" else low) <= number < high:
            raise self._wrong(argument, f"is an integer of type {dtype.name}; {number} does not fit")
        return (number % high).to_bytes(dtype.bytes, "little")

    # -- arrays

    def _array(self, argument: Argument, value: object) -> Tensor:
        if isinstance(value, np.ndarray):
            return self._numpy(argument, value)
        if hasattr(value, "__dlpack__"):
            return self._dlpack(argument, value)
        raise self._wrong(argument, f"is an array of {argument.dtype.name}, not {_kind_of(value)}")

    def _numpy(self, argument: Argument, array: Any) -> Tensor:
        if array.dtype != argument.numpy_dtype and not _is_raw(argument, array.dtype):
            raise self._wrong(argument, f"is an array of {argument.dtype.name}, not of {array.dtype}")
        flags = array.flags
        if not flags.c_contiguous:
            raise self._wrong(argument, "must be dense: pass numpy.ascontiguousarray(..) or the whole array")
        if argument.writes and not flags.writeable:
            raise self._wrong(argument, "is written by the kernel, but the array is read-only")
        self._kept.append(array)
        return self._shaped(_tensor(array.ctypes.data, argument), array.shape or (1,))

    def _shaped(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        extents = (ctypes.c_int64 * len(shape))(*shape)
        self._kept.append(extents)
        tensor.rank = len(shape)
        tensor.shape = ctypes.addressof(extents)
        return tensor

    def _dlpack(self, argument: Argument, value: Any) -> Tensor:
        """The DLTensor inside of a capsule has the layout of ppt_tensor."""
        capsule = value.__dlpack__()
        self._kept.append(capsule)
        pointer = _capsule_pointer(capsule, b"dltensor")
        tensor = Tensor.from_buffer_copy((ctypes.c_char * ctypes.sizeof(Tensor)).from_address(pointer))
        if tensor.device_kind != CPU:
            raise self._wrong(argument, "is not in the memory of the CPU")
        if tensor.rank == 0:
            return self._shaped(tensor, (1,))
        if not _is_dense(tensor):
            raise self._wrong(argument, "must be dense: make it contiguous first")
        return tensor


def _tensor(address: int, argument: Argument) -> Tensor:
    return Tensor(data=address, device_kind=CPU, dtype=argument.tensor_dtype)


def _is_raw(argument: Argument, given: Any) -> bool:
    """True for integers that may stand for the element type: of the other sign, or the bits of a small float."""
    wanted = argument.numpy_dtype
    small = argument.dtype.name not in _FORMATS
    return bool(wanted.itemsize == given.itemsize and given.kind in "iu" and (wanted.kind in "iu" or small))


def _kind_of(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _capsule_pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name))


def _is_dense(tensor: Tensor) -> bool:
    if not tensor.strides:
        return True
    shape, strides = (
        (ctypes.c_int64 * tensor.rank).from_address(at) for at in (tensor.shape, tensor.strides)
    )
    dense = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != dense:
            return False
        dense *= max(extent, 1)
    return True
