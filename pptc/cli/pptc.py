"""The command `pptc`: reads its line, shows what only shows something, and drives the compile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pptc.cli import pptc_flags, render
from pptc.cli.console import Console, run
from pptc.cli.flags import Parsed, parse
from pptc.diag import CODES, Sink, fail


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run(Console("pptc"), command, words)


def command(console: Console, words: Sequence[str]) -> int:
    """Do what the words say."""
    parsed = parse(pptc_flags.COMMAND, words)
    configure(console, parsed)
    for key, answer in _ANSWERS.items():
        if parsed.on(key):
            console.out.write(answer(parsed.value(key) or ""))
            return 0
    from pptc.cli.compile import compile_line

    return compile_line(parsed, console)


def configure(console: Console, parsed: Parsed) -> None:
    """Set how the console shows diagnostics. Raises CompileError P0301."""
    sink = Sink()
    console.color = parsed.value("color") or "auto"
    console.json = parsed.value("format") == "json"
    console.limit = parsed.number("error_limit", 20)
    if parsed.on("warn") or parsed.on("silent"):
        from pptc.cli.plan import policy

        console.policy = policy(parsed, sink)
    sink.check()


def version_text(_value: str = "") -> str:
    """`--version`."""
    from pptc import __version__

    return f"pptc {__version__}\n"


def _help(_value: str) -> str:
    return pptc_flags.COMMAND.help_text()


def _targets(value: str) -> str:
    from pptc.cli import lists

    return lists.targets_json() if value == "json" else lists.targets_text()


def _target_info(value: str) -> str:
    from pptc.cli import lists

    return lists.target_info(value)


def _passes(_value: str) -> str:
    from pptc.cli import lists

    return lists.passes_text()


def _ops(value: str) -> str:
    from pptc.cli import lists

    return lists.ops_text(value)


def _explain(value: str) -> str:
    if value not in CODES:
        from difflib import get_close_matches

        close = get_close_matches(value.upper(), CODES, 1, 0.6)
        raise fail(
            "P0301",
            f"no diagnostic has the code '{value}'",
            hint=f"did you mean {close[0]}?" if close else None,
        )
    return render.explain(value)


_ANSWERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "help": _help,
        "version": version_text,
        "explain": _explain,
        "supported": _targets,
        "target_info": _target_info,
        "list_passes": _passes,
        "list_ops": _ops,
    }
)
"""Flags that print something and end the run."""


if __name__ == "__main__":
    sys.exit(main())
