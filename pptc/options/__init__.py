"""Option dataclasses of a compile, and targets by name: configs/targets/*.yaml -> Machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pptc.ir.dialect import Saturation
from pptc.options.host import host_features, host_target
from pptc.options.targets import (
    TargetInfo,
    configs_folder,
    load_machine,
    supported_targets,
)

__all__ = [
    "CompileOptions",
    "EmitKind",
    "EmitOptions",
    "TargetInfo",
    "configs_folder",
    "host_features",
    "host_target",
    "load_machine",
    "supported_targets",
]

EmitKind = Literal["obj", "asm", "llvm-ir", "bc"]
"""What the emitter makes of a loop-level module."""


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What the emitter may know besides the module and the machine."""

    kind: EmitKind = "obj"
    opt_level: int = 2
    may_alias: bool = False
    symbol_prefix: str = ""
    reproducer: str | None = None  # where the module's text goes when the code generator ends abnormally


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The options of one compile that stages below the command line ask for."""

    targets: tuple[str, ...] = ("host",)
    opt_level: int = 2
    may_alias: bool = False
    numeric: Literal["default", "strict"] = "default"
    jobs: int = 1
    symbol_prefix: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    include_paths: tuple[str, ...] = ()
    pass_pipeline: str | None = None
    verify_each: bool = False
    pto_arch: str | None = None  # overrules the modules' pto.target_arch
    pto_version: str | None = None  # the dialect's version that the text keeps to
    tcvt_default_sat: Saturation | None = None  # what a tcvt without satmode does; None: on, with a warning
    pto_level: str | None = None  # level2 or level3: what the kernels must be

    @property
    def pipeline(self) -> str:
        """Which of a machine's pipelines runs."""
        return "may-alias" if self.may_alias and self.opt_level else f"O{self.opt_level}"

    def emit(self, kind: EmitKind = "obj", reproducer: str | None = None) -> EmitOptions:
        """The part that the emitter is given."""
        return EmitOptions(kind, self.opt_level, self.may_alias, self.symbol_prefix, reproducer)
