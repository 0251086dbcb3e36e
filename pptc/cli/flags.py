"""Flags as rows of a table, each an option of click, and the command that reads a line by them and prints `--help`.

A line is read to its end: every flag that does not exist and every value that does not fit is reported, not the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from pptc.cli.words import Style, expand, translate
from pptc.diag import Sink

HELP_WIDTH = 112
"""Columns of `--help`; the same on every terminal."""

NAME_WIDTH = 29
"""Columns of a flag in `--help`; the text of a longer one begins on the next line."""


class OneOf(click.ParamType[str]):
    """One of a few words. A wrong one goes to the sink, for click would stop at the first."""

    name = "one of"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word as it is."""
        if value not in self.words:
            _wrong(ctx, f"'{_name(param)}' does not take '{value}'", f"one of {', '.join(self.words)}")
        return value


class WholeNumber(click.ParamType[str]):
    """A whole number from `lowest`."""

    name = "whole number"

    def __init__(self, lowest: int) -> None:
        self.lowest = lowest

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The digits as they are."""
        if not value.isdecimal() or int(value) < self.lowest:
            _wrong(ctx, f"'{_name(param)}' takes a whole number from {self.lowest}, not '{value}'")
        return value


def _name(param: click.Parameter | None) -> str:
    return param.opts[0] if param is not None else "value"


def _wrong(ctx: click.Context | None, message: str, hint: str | None = None) -> None:
    sink = ctx.find_object(Sink) if ctx is not None else None
    if sink is None:
        raise click.BadParameter(message, ctx)
    sink.error("P0301", message, hint=hint)


class Flag(click.Option):
    """One row. `names` are its spellings; a row without help stands on the help line of the row before it.

    `implied` is the value of an OPTIONAL flag, or a JOINED one, that stands alone.
    """

    def __init__(
        self,
        key: str,
        names: tuple[str, ...],
        group: str,
        help: str = "",
        style: Style = Style.SWITCH,
        metavar: str = "",
        type: click.ParamType[str] = click.UNPROCESSED,
        implied: str | None = None,
    ) -> None:
        if style is Style.SWITCH:
            super().__init__([*names, key], help=help, is_flag=True)
        else:
            super().__init__([*names, key], help=help, metavar=metavar, type=type, multiple=True)
        self.key, self.group, self.style, self.implied = key, group, style, implied

    @property
    def spelling(self) -> str:
        """The flag as `--help` shows it."""
        value = {
            Style.SWITCH: "",
            Style.SHORT: f" {self.metavar}",
            Style.JOINED: self.metavar,
            Style.LONG: f"={self.metavar}",
            Style.OPTIONAL: f"[={self.metavar}]",
        }[self.style]
        return f"{', '.join(self.opts)}{value}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """The two columns of `--help`."""
        return self.spelling, self.help or ""


class Command(click.Command):
    """A command of flags and inputs."""

    def __init__(
        self, name: str, usage: str, summary: str, flags: Sequence[Flag], footer: str | None = None
    ) -> None:
        self.flags = tuple(flags)
        super().__init__(
            name,
            context_settings={"terminal_width": HELP_WIDTH},
            params=[*flags, click.Argument(["inputs"], nargs=-1, type=click.UNPROCESSED)],
            help=summary,
            epilog=footer,
            options_metavar=usage,
            add_help_option=False,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Translate the words, then let click read them."""
        return super().parse_args(ctx, translate(expand(args), self.flags, ctx.ensure_object(Sink)))

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage says itself where inputs stand."""
        return [self.options_metavar or ""]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """`usage:` as every line of a diagnostic begins: in small letters."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), "usage: ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does; no empty line, for all is to fit a screen."""
        formatter.write_text(self.help or "")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags by group, in the order of the table."""
        for group in dict.fromkeys(flag.group for flag in self.flags):
            formatter.write_heading(group)
            with formatter.indentation():
                formatter.write_dl(self._records(ctx, group), NAME_WIDTH, 1)

    def _records(self, ctx: click.Context, group: str) -> list[tuple[str, str]]:
        records: list[tuple[str, str]] = []
        for spelling, text in (flag.get_help_record(ctx) for flag in self.flags if flag.group == group):
            if text or not records:
                records.append((f"{spelling:<{NAME_WIDTH}}", text))
            else:
                first, shared = records[-1]
                records[-1] = (f"{f'{first.rstrip()}, {spelling}':<{NAME_WIDTH}}", shared)
        return records

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The last line."""
        if self.epilog:
            formatter.write_text(self.epilog)

    def help_text(self) -> str:
        """The text of `--help`."""
        return self.get_help(click.Context(self, info_name=self.name, terminal_width=HELP_WIDTH)) + "\n"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a command line said: input names in order, and per key the values in order (`True` for a switch)."""

    inputs: tuple[str, ...]
    given: Mapping[str, Any] = field(default_factory=dict)

    def on(self, key: str) -> bool:
        """Whether the flag was given at all."""
        return bool(self.given.get(key))

    def value(self, key: str) -> str | None:
        """The last value of the flag, or None."""
        values = self.values(key)
        return values[-1] if values else None

    def values(self, key: str) -> tuple[str, ...]:
        """All values of the flag, in order."""
        values = self.given.get(key)
        return values if isinstance(values, tuple) else ()

    def number(self, key: str, default: int) -> int:
        """The last value of a flag whose type is a whole number."""
        text = self.value(key)
        return default if text is None else int(text)


def parse(command: Command, words: Sequence[str]) -> Parsed:
    """Read a command line. Raises CompileError (P0301) with all of its faults."""
    sink = Sink()
    given = dict(command.make_context(command.name, list(words), obj=sink).params)
    sink.check()
    return Parsed(given.pop("inputs"), given)


def answer(parsed: Parsed, command: Command) -> str | None:
    """What `--help` or `--version` of a companion program prints; None when neither was given."""
    if parsed.on("help"):
        return command.help_text()
    if parsed.on("version"):
        from pptc import __version__

        return f"{command.name} {__version__}\n"
    return None
