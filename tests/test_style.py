"""The rules of form that no linter knows: sizes, tables that can't change, no branches on a target's name, no machine paths."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 700
FUNCTION_LINES = 70
TEXT_SUFFIXES = (".py", ".c", ".h", ".lark", ".md", ".yaml", ".toml", ".pto", ".txt", ".1", ".7", ".3", ".5")


def tracked(*suffixes: str) -> list[Path]:
    """Files of the tree that git does not ignore."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = (ROOT / name for name in listing.stdout.split("\0") if name.endswith(suffixes))
    return [path for path in paths if path.is_file()]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


PYTHON = tracked(".py")
PRODUCT = [path for path in PYTHON if relative(path).startswith("pptc/")]


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PYTHON}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_files_are_short() -> None:
    sizes = {relative(p): p.read_text().count("\n") for p in tracked(".py", ".c", ".h", ".lark")}
    assert not {name: lines for name, lines in sizes.items() if lines > FILE_LINES}


def test_functions_are_short(trees: dict[Path, ast.Module]) -> None:
    long = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in functions(tree)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not long


def test_modules_say_what_they_are(trees: dict[Path, ast.Module]) -> None:
    silent = [relative(p) for p, tree in trees.items() if tree.body and not ast.get_docstring(tree)]
    assert not silent


def mutable_globals(tree: ast.Module) -> Iterator[int]:
    """Lines of module-level names bound to something that can be changed in place."""
    makers = {"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque", "bytearray"}
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        made = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in makers
        literal = isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)
        exported = any(isinstance(name, ast.Name) and name.id == "__all__" for name in names)
        if (made or literal) and not exported:
            yield node.lineno


def test_tables_cannot_change(trees: dict[Path, ast.Module]) -> None:
    assert not [f"{relative(p)}:{line}" for p in PRODUCT for line in mutable_globals(trees[p])]


def test_no_global_statement(trees: dict[Path, ast.Module]) -> None:
    assert not [
        f"{relative(p)}:{node.lineno}"
        for p in PRODUCT
        for node in ast.walk(trees[p])
        if isinstance(node, ast.Global)
    ]


def test_no_branch_on_a_target() -> None:
    """A difference between machines is a fact in its YAML, or an override of its emitter."""
    branch = re.compile(
        r"\b(?:if|elif|while|match)\b.*\b(?:target|machine\.name|machine\.family|family)\b *(?:==|!=|in\b)"
    )
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in PRODUCT
        if not relative(path).startswith("pptc/options/")  # reads the YAML: here names are data
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if branch.search(line)
    ]
    assert not found


def test_environment_is_read_by_the_command_line_only() -> None:
    reads = re.compile(r"os\.(?:environ|getenv)")
    outside = [p for p in PRODUCT if not relative(p).startswith("pptc/cli/")]
    assert not [relative(path) for path in outside if reads.search(path.read_text())]


def test_only_the_command_line_prints(trees: dict[Path, ast.Module]) -> None:
    assert not [
        f"{relative(path)}:{node.lineno}"
        for path in PRODUCT
        if not relative(path).startswith("pptc/cli/")
        for node in ast.walk(trees[path])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def test_no_machine_paths() -> None:
    paths = re.compile(
        r"/(?:home|root|work|farm|Users)/[\w.\-]|https?://(?!www\.apache\.org|json-schema\.org)"
    )
    found = [
        f"{relative(path)}:{number}"
        for path in [*tracked(*TEXT_SUFFIXES), ROOT / "Makefile"]
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if paths.search(line)
    ]
    assert not found


def test_no_test_is_left_out() -> None:
    skip = re.compile(r"pytest\.(?:mark\.)?(?:skip|xfail|importorskip)")
    tests = [path for path in PYTHON if relative(path).startswith("tests/") and path != Path(__file__)]
    assert not [relative(path) for path in tests if skip.search(path.read_text())]
