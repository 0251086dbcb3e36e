"""What the documents say is so: flags, codes, ops, commands, links."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from man import generate
from pptc.cli import pptc_flags, pptc_opt, pptc_run, render
from pptc.cli.flags import Flag

ROOT = Path(__file__).resolve().parent.parent
MAN = ROOT / "man"
PAGES = sorted(path.name for path in MAN.glob("*.[1-9]"))
COMMANDS = {"pptc": pptc_flags.FLAGS, "pptc-run": pptc_run.FLAGS, "pptc-opt": pptc_opt.FLAGS}
BIN = Path(sys.executable).parent


def plain(page: str) -> str:
    """A page as it is shown, without bold and without breaks at hyphens."""
    command = ["groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-P-o", "-rHY=0", str(MAN / page)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("page", PAGES)
def test_pages_render_without_warnings(page: str) -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", str(MAN / page)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name, _ in generate.PAGES])
def test_generated_pages_are_fresh(name: str) -> None:
    assert (MAN / name).read_text() == dict(generate.PAGES)[name](), "run `make man`"


def flag_paragraphs(page: str) -> set[str]:
    """The names that begin a tagged paragraph with a flag."""
    found: set[str] = set()
    lines = (MAN / page).read_text().splitlines()
    for before, line in pairwise(lines):
        if before.startswith(".TP"):
            found |= set(re.findall(r"(?<![\w-])(-{1,2}[#A-Za-z][\w#-]*)", re.sub(r"\\f.|\\", "", line)))
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_flags_and_man_page_agree(command: str) -> None:
    flags: tuple[Flag, ...] = COMMANDS[command]
    names = {name for flag in flags for name in flag.opts}
    assert flag_paragraphs(f"{command}.1") == names


def test_warning_groups_are_named() -> None:
    text = plain("pptc.1")
    assert all(group in text for group in render.warning_groups())


def test_references_to_pages_exist() -> None:
    for page in PAGES:
        for name, section in re.findall(r"^\.BR (pptc[\w\\-]*) \((\d)\)", (MAN / page).read_text(), re.M):
            assert f"{name.replace(chr(92), '')}.{section}" in PAGES, page


def test_rooms_of_internals_exist() -> None:
    named = re.findall(r"[\w./]*\b(?:pptc|runtime_c|configs)/[\w./]*", (MAN / "pptc-internals.7").read_text())
    missing = [name for name in named if "NAME" not in name and not (ROOT / name.rstrip(".")).exists()]
    assert named and not missing


# ---------------------------------------------------------------- README

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_readme_links_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", README, flags=re.S))
    assert links and all((ROOT / link).exists() for link in links)


def test_readme_commands_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = blocks("sh")[1].replace(". .venv/bin/activate\n", f"PATH={shlex.quote(str(BIN))}:$PATH\n")
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"vadd.so", "host", "vadd.o", "vadd.d", "vadd.h"} <= {path.name for path in tmp_path.iterdir()}


def test_readme_python_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (block,) = blocks("python")
    code = block + "assert (z == 2).all()\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_readme_targets_are_all() -> None:
    from pptc.options import supported_targets

    table = README.split("## Targets")[1].split("##")[0]
    assert all(f"`{target.name}" in table for target in supported_targets())


def test_make_targets_are_listed() -> None:
    assert shutil.which("make")
    listed = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in ("demo", "test", "matrix", "lint", "bench"):
        assert f"make {target} " in listed
