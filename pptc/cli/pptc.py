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
            answer(console, parsed.value(key) or "")
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


def _version(console: Console, _value: str) -> None:
    from pptc import __version__

    console.out.write(f"{console.program} {__version__}\n")


def _help(console: Console, _value: str) -> None:
    console.out.write(pptc_flags.COMMAND.help_text())


def _targets(console: Console, value: str) -> None:
    from pptc.cli import lists

    if value == "json":
        console.out.write(lists.targets_json())
    else:
        console.show_list(lists.targets())


def _target_info(console: Console, value: str) -> None:
    from pptc.cli import lists

    console.show_list(lists.target_info(value))


def _passes(console: Console, _value: str) -> None:
    from pptc.cli import lists

    console.show_list(lists.passes())


def _ops(console: Console, value: str) -> None:
    from pptc.cli import lists

    console.show_list(lists.ops(value))


def _explain(console: Console, value: str) -> None:
    if value not in CODES:
        from difflib import get_close_matches

        close = get_close_matches(value.upper(), CODES, 1, 0.6)
        raise fail(
            "P0301",
            f"no diagnostic has the code '{value}'",
            hint=f"did you mean {close[0]}?" if close else None,
        )
    console.out.write(render.explain(value))


_ANSWERS: Mapping[str, Callable[[Console, str], None]] = MappingProxyType(
    {
        "help": _help,
        "version": _version,
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
