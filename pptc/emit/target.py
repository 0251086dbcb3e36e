"""TARGETS: the one table of emitters, from a machine's family to the module that generates its code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol, cast

from pptc.diag import fail
from pptc.emit.names import X86_CPUS, X86_FEATURES
from pptc.ir.core import Op
from pptc.ir.machine import Machine
from pptc.options import EmitOptions


class Emitter(Protocol):
    """A module of this package that knows one family."""

    def generate(self, module: Op, machine: Machine, options: EmitOptions) -> bytes | str:
        """Object code or text of a loop-level module."""


TARGETS: Mapping[str, str] = MappingProxyType({"x86": "pptc.emit.x86"})
"""Family -> module, imported in the worker only because llvmlite is heavy."""

_NAMES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = MappingProxyType(
    {"x86": (X86_CPUS, X86_FEATURES)}
)


def emitter(machine: Machine) -> Emitter:
    """The emitter of a machine."""
    return cast("Emitter", importlib.import_module(TARGETS[machine.family]))


def check_machine(machine: Machine) -> None:
    """Raise CompileError P0401 or P0402 for a machine that LLVM would not take or silently misread."""
    if machine.family not in TARGETS:
        raise fail("P0402", f"no code is generated for target {machine.name}")
    cpus, features = _NAMES[machine.family]
    if machine.cpu not in cpus:
        raise fail("P0401", f"target {machine.name}: LLVM knows no CPU '{machine.cpu}'")
    for feature in machine.features:
        if feature not in features:
            raise fail("P0401", f"target {machine.name}: LLVM knows no feature '{feature}'")
