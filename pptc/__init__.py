"""pptc: the compiler of PTO tile kernels and Core IR tensor models."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else before an entry point runs

if TYPE_CHECKING:
    import os

    from pptc.runtime import Context, Module

__version__ = "0.1.0"

__all__ = ["__version__", "compile", "load"]


def compile(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    target: str = "host",
    opt_level: int = 2,
) -> None:
    """Compile a .pto file to a shared object, or to an object file when `output` ends in .o.

    Raises pptc.diag.CompileError, whose `sink` holds the diagnostics; `output` is then left as it was.
    """
    from pptc.driver import compile_file

    compile_file(str(source), str(output), target, opt_level)


def load(source: str | os.PathLike[str] | bytes, context: Context | None = None) -> Module:
    """Open a module that pptc made; `load(path)["name"]` is a kernel to be called with arrays and scalars.

    Bytes are the contents of a file instead of its path. `context` is a pptc.runtime.Context, which says how many
    threads run a grid and what the processor may use.
    """
    from pptc.runtime import load as open_module

    return open_module(source, context)
