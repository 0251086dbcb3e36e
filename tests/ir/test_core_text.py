"""The text of the core level: programs print as they are written, in the generic form they mean the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pptc.ir.compare import equal
from pptc.ir.core import Op, Value
from pptc.ir.ops import OPS
from pptc.ir.printer import print_module
from pptc.ir.spell import print_results, print_type
from pptc.ir.spell_attrs import print_dictionary
from pptc.ir.symbols import is_anonymous
from pptc.ir.types import TensorType

from .core_ops import read

FOLDER = Path(__file__).parent.parent / "files" / "core"
PROGRAMS = sorted(FOLDER.glob("*.pto"))
CANONICAL = [path for path in PROGRAMS if path.stem != "spellings"]


@pytest.mark.parametrize("path", CANONICAL, ids=lambda path: path.stem)
def test_programs_print_as_they_are_written(path) -> None:
    text = path.read_text()
    code = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("//"))
    assert print_module(read(text)) == code


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_round_trip(path) -> None:
    module = read(path.read_text())
    text = print_module(module)
    again = read(text)
    assert equal(module, again)
    assert print_module(again) == text


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_generic_form_means_the_same(path) -> None:
    module = read(path.read_text())
    assert print_module(read(generic_text(module))) == print_module(module)


def test_every_core_row_is_spelled_in_a_program() -> None:
    spelled = {op.name for path in PROGRAMS for op in read(path.read_text()).walk()}
    assert {name for name in OPS if name.startswith("core.")} <= spelled


def generic_text(module: Op) -> str:
    """The module with every op that has no regions in MLIR's generic form; made here, from the containers alone."""
    lines = print_module(module).splitlines()
    simple = [op for op in module.walk() if not op.regions and op.name != "func.return"]
    names = Names(module)
    return "\n".join(replaced(lines, simple, names)) + "\n"


class Names:
    """Names of values, as the printer gives them: read back from its lines."""

    def __init__(self, module: Op) -> None:
        self.of: dict[Value, str] = {}
        again = read(print_module(module))
        for mine, theirs in zip(module.walk(), again.walk(), strict=True):
            self.keep(mine.results, theirs.results)
            for region, other in zip(mine.regions, theirs.regions, strict=True):
                for block, twin in zip(region.blocks, other.blocks, strict=True):
                    self.keep(block.args, twin.args)

    def keep(self, mine: list[Value], theirs: list[Value]) -> None:
        for value, twin in zip(mine, theirs, strict=True):
            self.of[value] = f"%{twin.name}"


def replaced(lines: list[str], ops: list[Op], names: Names) -> list[str]:
    """The printed lines with those of `ops`, which stand in the same order, in the generic form."""
    left = list(ops)
    out = []
    for line in lines:
        name = re.match(r"\s*(?:%.*? = )?([a-z_0-9.]*)", line)
        here = bool(left and name and name[1] == left[0].name)
        op = left.pop(0) if here else None
        out.append(line if op is None or any(map(is_open, op.results)) else generic(op, names))
    assert not left
    return out


def is_open(value: Value) -> bool:
    return isinstance(value.type, TensorType) and any(map(is_anonymous, value.type.dims))


def generic(op: Op, names: Names) -> str:
    """`%r = "name"(%a) {..} : (T) -> R`."""
    results = ", ".join(names.of[result] for result in op.results)
    operands = ", ".join(names.of[operand] for operand in op.operands)
    types = ", ".join(print_type(operand.type) for operand in op.operands)
    attributes = dict(op.attributes)
    entries = print_dictionary(attributes)
    if any(operand.arity != "one" for operand in op.definition.operands):
        sizes = ", ".join(map(str, op.segments))
        entries = entries.replace("{", f"{{operandSegmentSizes = array<i32: {sizes}>, ", 1).replace(
            ", }", "}"
        )
    head = f"{results} = " if results else ""
    return f'{head}"{op.name}"({operands}) {entries} : ({types}) -> {print_results(tuple(r.type for r in op.results))}'


TYPES = (
    ("tensor<4x64xf32>", "tensor<4x64xf32>"),
    ("tensor<(B)x(T + P)x64xf32>", "tensor<(B)x(P+T)x64xf32>"),
    ("tensor<( 2 * T + T )xi1>", "tensor<(3*T)xi1>"),
    ("tensor<(4)xf8E5M2>", "tensor<4xf8E5M2>"),
    ("tensor<(T floordiv 2)x(max(T, 16))xbf16>", "tensor<(T floordiv 2)x(max(T, 16))xbf16>"),
    ("tensor<((T+7) floordiv 8)xf32>", "tensor<(T ceildiv 8)xf32>"),
    ("tensor<f32>", "tensor<f32>"),
    ("!core.state<1x2x(C)x256xbf16>", "!core.state<1x2x(C)x256xbf16>"),
)  # fmt: skip


@pytest.mark.parametrize(("written", "printed"), TYPES)
def test_types(written, printed) -> None:
    symbols = "%a: tensor<(B)x(T)x(P)x(C)xf32>"
    text = f"module {{\n  func.func private @f({symbols}, %x: {written})\n}}\n"
    module = read(text)
    assert f", {printed})" in print_module(module)
