"""LLVM may end its process; pptc may not. Names that LLVM would swallow are refused, and output never varies."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pptc.diag import CompileError, fail
from pptc.emit import Section, emit_module, emit_modules
from pptc.emit.names import X86_CPUS, X86_FEATURES
from pptc.emit.worker import run_jobs, value_of
from pptc.options import EmitOptions, load_machine
from tests.emit.harness import lowered, parsed
from tests.emit.test_control import TEXT
from tests.emit.test_vector import DOTS

ROOT = Path(__file__).parents[2]


def test_results_keep_the_order_of_the_jobs():
    jobs = [lambda n=n: bytes([n]) * (3_000_000 if n == 1 else n) for n in range(6)]
    for workers in (1, 2, 6):
        outcomes = run_jobs(jobs, workers)
        assert [value_of(outcome) for outcome in outcomes] == [job() for job in jobs]


def test_a_child_that_dies_leaves_its_words():
    def dies():
        os.write(2, b"LLVM ERROR: Cannot select\n")
        os.abort()

    crashed, fine = run_jobs([dies, lambda: 7], 2)
    assert crashed.crash is not None
    assert crashed.crash.status == "signal 6" and "Cannot select" in crashed.crash.stderr
    assert value_of(fine) == 7
    (left,) = run_jobs([lambda: os._exit(3)])
    assert left.crash is not None and left.crash.status == "exit status 3"


def test_diagnostics_of_a_child_reach_the_parent():
    def refuses():
        raise fail("P0402", "no")

    (outcome,) = run_jobs([refuses])
    with pytest.raises(CompileError) as caught:
        value_of(outcome)
    assert [(d.code, d.message) for d in caught.value.sink] == [("P0402", "no")]


def test_an_abort_of_llvm_is_a_diagnostic_with_a_reproducer(tmp_path):
    """A machine that claims a dot instruction which its CPU lacks: LLVM finds no code and aborts."""
    liar = replace(load_machine("avx2"), native=load_machine("avx512+bf16+vnni").native)
    path = tmp_path / "crash.pptrepro"
    module = parsed(DOTS)
    with pytest.raises(CompileError) as caught:
        emit_module(module, liar, EmitOptions(reproducer=str(path)))
    (found,) = caught.value.sink
    assert found.code == "P0504" and caught.value.exit_status == 70
    assert "LLVM ERROR" in found.message and str(path) in (found.hint or "")
    text = path.read_text()
    assert text.startswith("// target avx2, -O2\n") and "vector.dot" in text
    parsed(text)


def test_a_missing_capability_is_refused_with_its_place():
    with pytest.raises(CompileError) as caught:
        emit_module(parsed(DOTS), load_machine("avx512"), EmitOptions())
    (found,) = caught.value.sink
    assert found.code == "P0402" and "dpbf16ps" in found.message
    assert found.span is not None and found.span.position[0] == 7


def test_an_op_without_code_is_refused():
    text = "func.func @f(%a: f32, %b: f32) {\n  %c = arith.remf %a, %b : f32\n  return\n}"
    with pytest.raises(CompileError) as caught:
        emit_module(parsed(text), load_machine("avx2"), EmitOptions())
    (found,) = caught.value.sink
    assert found.code == "P0402" and "arith.remf" in found.message
    assert found.span is not None and found.span.position == (2, 8)


@pytest.mark.parametrize(
    ("change", "code"),
    [({"cpu": "avx3"}, "P0401"), ({"features": ("avx513",)}, "P0401"), ({"family": "vax"}, "P0402")],
)
def test_names_that_llvm_does_not_know_are_refused(change, code):
    with pytest.raises(CompileError) as caught:
        emit_module(
            parsed("func.func @f(%n: i32) { return }"), replace(load_machine("avx2"), **change), EmitOptions()
        )
    assert [d.code for d in caught.value.sink] == [code]


def test_the_tables_of_names_are_llvms():
    script = """
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
target.create_target_machine(cpu="help").emit_object(llvm.parse_assembly("define void @f() { ret void }"))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stderr
    cpus, features = said.split("Available CPUs")[1].split("Available features")[:2]
    assert {line.split()[0] for line in cpus.splitlines() if " - " in line} == X86_CPUS
    assert {line.split()[0] for line in features.splitlines() if " - " in line} == X86_FEATURES


def digests(workers: int) -> list[str]:
    requests = []
    for name in ("x86-64", "avx2", "avx512"):
        machine = load_machine(name)
        requests.append((lowered(TEXT, machine), machine, EmitOptions()))
    made = emit_modules(requests, workers)
    return [hashlib.sha256(s.payload).hexdigest() for s in made if isinstance(s, Section)]


def test_output_depends_neither_on_jobs_nor_on_hash_seeds():
    script = "from tests.emit.test_worker import digests; print(digests(1))"
    said = [
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]  # fmt: skip
    assert said[0] == said[1] == str(digests(1)) == str(digests(3))


def test_kinds():
    machine = load_machine("avx2")
    module = lowered(TEXT, machine)
    assert ".globl\tcollatz" in str(emit_module(module, machine, EmitOptions("asm")))
    assert "define" in str(emit_module(module, machine, EmitOptions("llvm-ir")))
    bitcode = emit_module(module, machine, EmitOptions("bc"))
    assert isinstance(bitcode, bytes) and bitcode[:2] == b"BC"


def test_the_parent_never_imports_llvmlite():
    script = """
import sys
from pptc.emit import emit_module
from tests.emit.harness import compiled, load_machine
compiled("func.func @f(%n: i32) { return }", load_machine("x86-64"))
print("llvmlite" in sys.modules)
"""
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "False"
