"""Random programs with overlapping buffers, compiled by every level's pipeline, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from pptc.ir.interp import run_kernel
from pptc.options import load_machine
from pptc.passes import PASSES
from pptc.passes.base import parse_pipeline
from tests.passes.lowering import MACHINES, Library, parsed
from tests.passes.random_kernels import random_kernel

SEEDS = (*range(12), 38, 76)


def _all() -> str:
    """One module of the kernels of all seeds."""
    functions = []
    for seed in SEEDS:
        text = random_kernel(seed).replace("@random(", f"@random_{seed}(")
        types, _, body = text.partition("module attributes")
        functions.append(body.split("{\n", 1)[1].rstrip().removesuffix("}"))
    return f'{types}module attributes {{pto.target_arch = "a2a3"}} {{\n{"".join(functions)}}}\n'


@pytest.mark.parametrize(("target", "level"), [*zip(MACHINES, (1, 2, 2), strict=False), (MACHINES[-1], 0)])
def test_random_kernels(target: str, level: int) -> None:
    text = _all()
    reference = parsed(text)
    pipeline = parse_pipeline(load_machine(target).pipelines[f"O{level}"], PASSES)
    library = Library(parsed(text), target, pipeline, opt_level=level)
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        for count in (0, 16):
            given = {name: random.standard_normal((40, 64)).astype(np.float32) for name in "xyz"}
            want = {name: array.copy() for name, array in given.items()}
            run_kernel(reference, f"random_{seed}", want | {"count": count, "s": -0.5})
            library.call(f"random_{seed}", *given.values(), count, -0.5)
            for name in "xyz":
                np.testing.assert_allclose(
                    given[name], want[name], rtol=2e-4, atol=2e-5, err_msg=f"{seed} {count} {name}"
                )
