"""LLVM IR -> optimised IR, assembly or object, through llvmlite. Runs in a worker only: LLVM may end the process."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as binding

from pptc.emit.llvm_ir import Llvm
from pptc.ir.machine import Machine
from pptc.options import EmitOptions

_ALL_PASSES = 3
"""The -O level from which on LLVM does all that it can."""


def generate_code(built: Llvm, machine: Machine, options: EmitOptions) -> bytes | str:
    """What `options.kind` asks for, made of an llvmlite.ir module."""
    target = _target_machine(machine, options)
    module = binding.parse_assembly(str(built))
    module.triple = machine.triple
    module.data_layout = str(target.target_data)
    module.verify()
    _optimise(module, target, options.opt_level)
    if options.kind == "obj":
        return bytes(target.emit_object(module))
    if options.kind == "asm":
        return str(target.emit_assembly(module))
    return bytes(module.as_bitcode()) if options.kind == "bc" else str(module)


def _target_machine(machine: Machine, options: EmitOptions) -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = ",".join(f"+{feature}" for feature in machine.features)
    return binding.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=features, opt=options.opt_level, reloc="pic", codemodel="default"
    )


def _optimise(module: Any, target: Any, level: int) -> None:
    """O3 runs all of LLVM's passes. Below it they only cost time: loops come rotated, folded and as vectors."""
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = level >= _ALL_PASSES
    tuning.loop_interleaving = tuning.loop_unrolling = level >= _ALL_PASSES
    builder = binding.create_pass_builder(target, tuning)
    if level == 0 or level >= _ALL_PASSES:
        passes = builder.getModulePassManager()
    else:
        passes = binding.create_new_module_pass_manager()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, builder)
