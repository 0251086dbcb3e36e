"""Make rules that name the files a compile read, in gcc's spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pptc.cli.flags import Parsed

COLUMNS = 78


def quote(name: str) -> str:
    """A file name as make reads it: spaces and # behind a backslash, $ doubled, backslashes before spaces doubled."""
    out = []
    for position, char in enumerate(name):
        if char in " \t":
            run = len(name[:position]) - len(name[:position].rstrip("\\"))
            out.append("\\" * (run + 1) + char)
        else:
            out.append({"$": "$$", "#": "\\#"}.get(char, char))
    return "".join(out)


def rule(targets: Iterable[str], files: Sequence[str], phony: bool = False) -> str:
    """`targets: files`, the lines broken as gcc does. `phony` adds an empty rule for every file but the first."""
    words = [f"{' '.join(targets)}:", *map(quote, files)]
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > COLUMNS:
            lines[-1] += " \\"
            lines.append("")
        lines[-1] += f" {word}"
    text = "\n".join(lines) + "\n"
    return text + "".join(f"\n{quote(name)}:\n" for name in files[1:]) if phony else text


def targets_of(parsed: Parsed, output: str) -> tuple[str, ...]:
    """What stands before the colon: the -MT and -MQ names, else the output."""
    named = (*parsed.values("deps_target"), *map(quote, parsed.values("deps_quoted")))
    return named or (quote(output),)


def default_path(output: str, source: str) -> str:
    """Where -MD writes without -MF: beside the output, or beside nothing when that is standard output."""
    return str(Path(output).with_suffix(".d")) if output != "-" else Path(source).stem + ".d"
