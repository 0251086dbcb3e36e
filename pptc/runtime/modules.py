"""Contexts, modules and kernels as Python objects. A kernel is called with arrays, in place and without copies."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator, Mapping

from pptc.runtime.arguments import Argument, Binding, element_type
from pptc.runtime.library import CONTEXT_IGNORE_ENVIRONMENT, Blocks, ContextOptions, Library
from pptc.runtime.status import PptError, Status

Source = str | os.PathLike[str] | bytes
"""The path of a file, or its bytes."""


class Context:
    """The processor and the threads that run kernels.

    `threads` 0 means one per processor; `cpu_features` takes features away (`-avx512f,-avx2`); `target` admits only
    sections of that target. With `environment`, PPT_THREADS, PPT_CPU_FEATURES and PPT_TARGET fill in what is not given.
    """

    def __init__(
        self, *, threads: int = 0, cpu_features: str = "", target: str = "", environment: bool = True
    ) -> None:
        self.library = Library()
        options = ContextOptions(
            struct_size=ctypes.sizeof(ContextOptions),
            flags=0 if environment else CONTEXT_IGNORE_ENVIRONMENT,
            threads=threads,
            spin_microseconds=100,
            cpu_features=cpu_features.encode() or None,
            target=target.encode() or None,
        )
        self.handle = self.library.create_context(options)
        weakref.finalize(self, self.library.destroy_context, self.handle)

    @property
    def device(self) -> str:
        """The processor in words."""
        return self.library.text("ppt_context_device", self.handle)


class Function:
    """A kernel. Calling it runs it: `function(x, y, n)`, `function(x, y, n=100, grid=8)`."""

    def __init__(self, module: Module, handle: int) -> None:
        library = module.context.library
        self._module = module  # a kernel keeps its module loaded
        self._handle = handle
        self.name = library.text("ppt_function_name", handle)
        self.scratch_bytes = library.number("ppt_function_scratch_bytes", handle)
        self.uses_grid = bool(library.number("ppt_function_uses_grid", handle))
        count = library.number("ppt_function_argument_count", handle)
        self.arguments = tuple(_argument(library, handle, index) for index in range(count))

    def __repr__(self) -> str:
        listed = ", ".join(
            f"{a.name}: {'*' if a.kind == 'pointer' else ''}{a.dtype.name}" for a in self.arguments
        )
        return f"<kernel {self.name}({listed})>"

    def __call__(self, *values: object, grid: int = 1, **named: object) -> None:
        """Run `grid` blocks. Arguments by position or by name, without the block numbers."""
        self.launch_blocks(0, grid, grid, *values, **named)

    def launch_blocks(self, begin: int, end: int, count: int, *values: object, **named: object) -> None:
        """Run the blocks [begin, end) of a grid of `count`."""
        binding = Binding(self.name, self.arguments, self._ordered(values, named))
        if not 0 <= begin <= end <= count < 1 << 31:
            raise PptError(Status.E_INVALID_ARGUMENT, f"{self.name}: {count} blocks are no grid")
        self._module.context.library.launch(self._handle, binding.tensors, Blocks(begin, end, count))

    def _ordered(self, values: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        names = [argument.name for argument in self.arguments]
        given = dict(zip(names, values, strict=False))
        unknown = [name for name in named if name not in names or name in given]
        given.update(named)
        if len(values) > len(names) or unknown or len(given) != len(names):
            raise PptError(
                Status.E_INVALID_ARGUMENT,
                f"{self.name} takes ({', '.join(names)}), not {len(values)} values"
                + (f" and {', '.join(named)}" if named else ""),
            )
        return tuple(given[name] for name in names)


def _argument(library: Library, function: int, index: int) -> Argument:
    info = library.argument(function, index)
    return Argument(
        name=info.name.decode("utf-8", "replace"),
        kind="scalar" if info.kind else "pointer",
        dtype=element_type(info.dtype.code, info.dtype.bits, info.dtype.lanes),
        reads=bool(info.access & 1),
        writes=bool(info.access & 2),
    )


class Module(Mapping[str, Function]):
    """An open file: a mapping from kernel names to kernels, in the order of the source."""

    def __init__(self, source: Source, context: Context) -> None:
        library = context.library
        self.context = context
        if isinstance(source, bytes):
            self.handle = library.open_memory(context.handle, source)
        else:
            self.handle = library.open_file(context.handle, os.fsencode(source))
        weakref.finalize(self, library.close_module, self.handle)
        self._count = library.number("ppt_module_function_count", self.handle)
        handles = [library.function_at(self.handle, index) for index in range(self._count)]
        self._handles = {library.text("ppt_function_name", handle): handle for handle in handles}

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of all kernels."""
        return tuple(self._handles)

    @property
    def target(self) -> str:
        """The target of the section that was loaded."""
        return self.context.library.text("ppt_module_target", self.handle)

    @property
    def report(self) -> str:
        """One line per section: why it was taken or turned down."""
        return self.context.library.text("ppt_module_report", self.handle)

    def __getitem__(self, name: str) -> Function:
        if name not in self._handles:
            raise KeyError(f"no kernel is named '{name}'; the module has: {', '.join(self._handles)}")
        return Function(self, self._handles[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return self._count


def load(source: Source, context: Context | None = None) -> Module:
    """Open a .so or .pptf file that pptc made, or the bytes of one. Raises PptError with a sentence."""
    return Module(source, context or Context())
