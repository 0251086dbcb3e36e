"""One function of any length, as front ends print whole layers: the kernels of tests/model, again and again.

Their ops are those that the public model files use most; every stage has names of its own and shares the arguments.
"""

from __future__ import annotations

import re
from itertools import count

from tests.model import kernels_cube, kernels_vector
from tests.model.front import Model

MODELS = (*kernels_vector.MODELS, *kernels_cube.MODELS)
_GRID = "__pypto_spmd_"
_NAME = re.compile(r"%(\w+)")


def _arguments(model: Model) -> dict[str, str]:
    """The arguments with their types, by the names that they have in the large function."""
    return {_shared(model, name): type for name, type in re.findall(r"%(\w+): ([^,)]+)", _signature(model))}


def _signature(model: Model) -> str:
    return next(line for line in model.text.splitlines() if "func.func" in line)


def _shared(model: Model, name: str) -> str:
    return name if name.startswith(_GRID) else f"{model.name}_{name}"


def _stage(model: Model, number: int) -> list[str]:
    """The lines of a model kernel's body, without its return."""
    lines = [line for line in model.text.splitlines() if line.strip()]
    given = set(re.findall(r"%(\w+):", lines[0]))

    def renamed(match: re.Match[str]) -> str:
        name = match[1]
        return f"%{_shared(model, name)}" if name in given else f"%{name}_{number}"

    return [_NAME.sub(renamed, line) for line in lines[1:-2]]


def large_kernel(least: int) -> str:
    """A module with one function of at least so many lines."""
    arguments: dict[str, str] = {}
    for model in MODELS:
        arguments |= _arguments(model)
    ordered = sorted(arguments, key=lambda name: name.startswith(_GRID))
    body: list[str] = []
    for number in count():
        if len(body) >= least:
            break
        body += _stage(MODELS[number % len(MODELS)], number)
    listed = ", ".join(f"%{name}: {arguments[name]}" for name in ordered)
    text = "\n".join(body)
    return (
        f'module attributes {{pto.target_arch = "a2a3"}} {{\n  func.func @layer({listed}) {{\n{text}\n'
        "    return\n  }\n}\n"
    )
