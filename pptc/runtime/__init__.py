"""The Python face of the C library: `load(path)[name](arrays...)`."""

from pptc.runtime.arguments import Argument
from pptc.runtime.modules import Context, Function, Module, load
from pptc.runtime.status import PptError, Status

__all__ = ["Argument", "Context", "Function", "Module", "PptError", "Status", "load"]
