"""libpptrt through ctypes: where it is, the structures of pptrt.h, and the calls that `modules.py` makes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pptc
from pptc.runtime.status import PptError, Status

LIBRARY_NAME = "libpptrt.so"


class DType(ctypes.Structure):
    """ppt_dtype."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """ppt_tensor, the layout of DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dtype", DType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class ContextOptions(ctypes.Structure):
    """ppt_context_options."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("spin_microseconds", ctypes.c_uint32),
        ("allocator", ctypes.c_void_p),
        ("log", ctypes.c_void_p),
        ("log_user", ctypes.c_void_p),
        ("cpu_features", ctypes.c_char_p),
        ("target", ctypes.c_char_p),
    )


class ArgumentInfo(ctypes.Structure):
    """ppt_argument."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("dtype", DType),
        ("access", ctypes.c_uint32),
    )


class Blocks(ctypes.Structure):
    """ppt_blocks."""

    _fields_ = (("begin", ctypes.c_uint64), ("end", ctypes.c_uint64), ("count", ctypes.c_uint64))


CONTEXT_IGNORE_ENVIRONMENT = 1


def library_candidates() -> Iterator[Path]:
    """Where the built library may be: in the package as installed, and in the build folder of a checkout."""
    for folder in pptc.__path__:
        yield Path(folder, "lib", LIBRARY_NAME)
    checkout = Path(__file__).parents[2]
    yield checkout / "build" / "editable" / LIBRARY_NAME


def find_library() -> Path:
    """The built library. Raises PptError when the package was installed without it."""
    for path in library_candidates():
        if path.is_file():
            return path
    raise PptError(
        Status.E_LOAD, f"{LIBRARY_NAME} is not built: install pptc with pip, or run make in its checkout"
    )


class Library:
    """The C functions with their types. A call that fails raises PptError with the library's sentence."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(str(find_library()))
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        for name, result, arguments in (
            ("ppt_last_error", text, ()),
            ("ppt_context_create", ctypes.c_int, (ctypes.POINTER(ContextOptions), ctypes.POINTER(pointer))),
            ("ppt_context_destroy", None, (pointer,)),
            ("ppt_context_device", text, (pointer,)),
            ("ppt_module_open_file", ctypes.c_int, (pointer, text, pointer, ctypes.POINTER(pointer))),
            ("ppt_module_open_memory", ctypes.c_int, (pointer, text, size, pointer, ctypes.POINTER(pointer))),
            ("ppt_module_close", None, (pointer,)),
            ("ppt_module_target", text, (pointer,)),
            ("ppt_module_report", text, (pointer,)),
            ("ppt_module_function_count", size, (pointer,)),
            ("ppt_module_function_at", pointer, (pointer, size)),
            ("ppt_function_name", text, (pointer,)),
            ("ppt_function_scratch_bytes", ctypes.c_uint64, (pointer,)),
            ("ppt_function_uses_grid", ctypes.c_int, (pointer,)),
            ("ppt_function_argument_count", size, (pointer,)),
            ("ppt_function_argument", ctypes.c_int, (pointer, size, ctypes.POINTER(ArgumentInfo))),
            ("ppt_launch_blocks", ctypes.c_int, (pointer, ctypes.POINTER(Tensor), size, Blocks, pointer)),
        ):
            function = getattr(self._c, name)
            function.restype = result
            function.argtypes = arguments

    def _check(self, status: int) -> None:
        if status:
            raise PptError(Status(status), self._c.ppt_last_error().decode("utf-8", "replace"))

    def text(self, name: str, handle: int) -> str:
        """The result of a call that gives a text about a handle."""
        found: bytes = getattr(self._c, name)(handle)
        return found.decode("utf-8", "replace")

    def number(self, name: str, handle: int) -> int:
        """The result of a call that gives a number about a handle."""
        return int(getattr(self._c, name)(handle))

    def create_context(self, options: ContextOptions) -> int:
        """A new ppt_context."""
        out = ctypes.c_void_p()
        self._check(self._c.ppt_context_create(ctypes.byref(options), ctypes.byref(out)))
        assert out.value is not None
        return out.value

    def destroy_context(self, context: int) -> None:
        """Release a context."""
        self._c.ppt_context_destroy(context)

    def open_file(self, context: int, path: bytes) -> int:
        """A new ppt_module."""
        out = ctypes.c_void_p()
        self._check(self._c.ppt_module_open_file(context, path, None, ctypes.byref(out)))
        assert out.value is not None
        return out.value

    def open_memory(self, context: int, data: bytes) -> int:
        """A new ppt_module of a copy of the bytes."""
        out = ctypes.c_void_p()
        self._check(self._c.ppt_module_open_memory(context, data, len(data), None, ctypes.byref(out)))
        assert out.value is not None
        return out.value

    def close_module(self, module: int) -> None:
        """Release a module."""
        self._c.ppt_module_close(module)

    def function_at(self, module: int, index: int) -> int:
        """The ppt_function of a number below the count."""
        return int(self._c.ppt_module_function_at(module, index))

    def argument(self, function: int, index: int) -> ArgumentInfo:
        """What a launch passes for an argument."""
        out = ArgumentInfo()
        self._check(self._c.ppt_function_argument(function, index, ctypes.byref(out)))
        return out

    def launch(self, function: int, tensors: ctypes.Array[Tensor], blocks: Blocks) -> None:
        """Run a range of blocks."""
        self._check(self._c.ppt_launch_blocks(function, tensors, len(tensors), blocks, None))
