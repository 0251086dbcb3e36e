"""Modules compiled on one road and opened by the library."""

from __future__ import annotations

from pptc.diag import Sink
from pptc.emit import Section, emit_module
from pptc.ir.core import Op
from pptc.ir.signature import signatures
from pptc.link.image import Provenance, fat_file
from pptc.options import EmitOptions, load_machine
from pptc.passes import PASSES
from pptc.passes.base import PassContext, parse_pipeline, run_pipeline
from pptc.runtime import Context, Module


def opened(module: Op, target: str, level: str, threads: int = 0) -> Module:
    """The module's kernels for a target at a level, on a context of so many threads."""
    machine = load_machine(target)
    known = signatures(module)
    run_pipeline(parse_pipeline(machine.pipelines[level], PASSES), module, PassContext(machine, Sink()))
    section = emit_module(module, machine, EmitOptions(opt_level=0 if level == "O0" else 2))
    assert isinstance(section, Section)
    return Module(fat_file([section], known, Provenance("tests", level)), Context(threads=threads))
