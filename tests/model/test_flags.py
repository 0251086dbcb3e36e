"""The model kernels leave flags to the assembler; with barriers between all of their ops they are in order."""

from __future__ import annotations

import re

import pytest

from pptc.ir.interp import run_kernel
from pptc.ir.sync_check import SyncCheck
from tests.model.front import Model
from tests.model.kernel_pair import ATTENTION
from tests.model.test_model_kernels import MODELS, _arguments
from tests.passes.lowering import parsed

TILE_OP = re.compile(r"^( *)((?:%\w+ = )?pto\.t\w+)", re.M)


def _checked(model: Model, text: str) -> SyncCheck:
    module = parsed(f'module attributes {{pto.target_arch = "a2a3"}} {{\n{text}}}\n')
    watched = SyncCheck(module)
    run_kernel(module, model.name, _arguments(model), model.grid, watch=watched.core)
    return watched


@pytest.mark.parametrize("model", (*MODELS, ATTENTION), ids=lambda model: model.name)
def test_a_model_kernel(model: Model) -> None:
    assert "orders no two pipes" in _checked(model, model.text).summary
    text, count = TILE_OP.subn(r"\1pto.barrier <PIPE_ALL>\n\1\2", model.text)
    assert count > 3
    assert _checked(model, text).summary == "checked, 0 findings"
    # Without one barrier before a store, what it stores is not ready.
    at = text.rindex("pto.barrier <PIPE_ALL>", 0, text.rindex("pto.tstore"))
    found = _checked(model, text[:at] + text[at + len("pto.barrier <PIPE_ALL>") :]).findings()
    assert found and {one.code for one in found} == {"P0603"}
    assert all("pto.tstore" in one.message for one in found)
