"""Flags as a table: a command declares its rows; parsing, `--help` and the tests of the man pages read them.

A line is read to its end: every flag that does not exist and every value that does not fit is reported, not the first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pptc.diag import Sink, fail


class Style(Enum):
    """How a flag takes its value."""

    SWITCH = "-c"
    SHORT = "-o FILE or -oFILE"
    JOINED = "-O2"
    LONG = "--target=T or --target T"
    OPTIONAL = "--dump-ir or --dump-ir=WHEN"


@dataclass(frozen=True, slots=True)
class Flag:
    """One row. `names` are its spellings; a row without help stands on the help line of the row before it.

    `implied` is the value of an OPTIONAL flag, or a JOINED one, that stands alone.
    """

    key: str
    names: tuple[str, ...]
    group: str
    help: str = ""
    style: Style = Style.SWITCH
    metavar: str = ""
    choices: tuple[str, ...] = ()
    implied: str = ""

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
        return ", ".join(self.names) + value


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a command line said: input names in order, and per key the values in order (`""` for a switch)."""

    inputs: tuple[str, ...]
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def on(self, key: str) -> bool:
        """Whether the flag was given at all."""
        return key in self.given

    def value(self, key: str) -> str | None:
        """The last value of the flag, or None."""
        values = self.given.get(key)
        return values[-1] if values else None

    def values(self, key: str) -> tuple[str, ...]:
        """All values of the flag, in order."""
        return self.given.get(key, ())


class _Reader:
    """One pass over the words of a command line."""

    def __init__(self, flags: Sequence[Flag], sink: Sink) -> None:
        self._flags = flags
        self._by_name = {name: flag for flag in flags for name in flag.names}
        self._sink = sink
        self.inputs: list[str] = []
        self.given: dict[str, list[str]] = {}

    def read(self, words: Sequence[str]) -> None:
        """Take the words one by one."""
        queue = iter(words)
        for word in queue:
            if word == "--":
                self.inputs += queue
            elif word == "-" or not word.startswith("-"):
                self.inputs.append(word)
            else:
                self._flag(word, queue)

    def _flag(self, word: str, rest: Iterator[str]) -> None:
        name, equals, value = word.partition("=")
        flag = self._by_name.get(word)
        if flag is not None:
            self._alone(flag, word, rest)
        elif equals and (flag := self._by_name.get(name)) and flag.style in (Style.LONG, Style.OPTIONAL):
            self._store(flag, name, value)
        elif (prefix := self._prefix(word)) is not None:
            self._store(self._by_name[prefix], prefix, word[len(prefix) :])
        elif flag is not None:
            self._sink.error("P0301", f"'{name}' takes no value")
        else:
            self._sink.error("P0301", f"unknown flag '{name}'", hint=self._suggestion(name))

    def _alone(self, flag: Flag, word: str, rest: Iterator[str]) -> None:
        if flag.style in (Style.SWITCH, Style.OPTIONAL) or (flag.style is Style.JOINED and flag.implied):
            self.given.setdefault(flag.key, []).append(flag.implied)
            return
        value = None if flag.style is Style.JOINED else next(rest, None)
        if value is None:
            self._sink.error("P0301", f"'{word}' needs a value", hint=f"{flag.spelling}: {flag.help}")
        else:
            self._store(flag, word, value)

    def _store(self, flag: Flag, name: str, value: str) -> None:
        if flag.choices and value not in flag.choices:
            hint = f"one of {', '.join(flag.choices)}"
            self._sink.error("P0301", f"'{name}' does not take '{value}'", hint=hint)
        else:
            self.given.setdefault(flag.key, []).append(value)

    def _prefix(self, word: str) -> str | None:
        glued = (n for f in self._flags if f.style in (Style.SHORT, Style.JOINED) for n in f.names)
        return max((n for n in glued if word.startswith(n)), key=len, default=None)

    def _suggestion(self, name: str) -> str | None:
        from difflib import get_close_matches

        close = get_close_matches(name, list(self._by_name), n=1, cutoff=0.75)
        return f"did you mean '{close[0]}'?" if close else None


def parse(words: Sequence[str], flags: Sequence[Flag]) -> Parsed:
    """Read a command line. Raises CompileError (P0301) with all of its faults."""
    sink = Sink()
    reader = _Reader(flags, sink)
    reader.read(expand(words))
    sink.check()
    return Parsed(tuple(reader.inputs), {key: tuple(values) for key, values in reader.given.items()})


def expand(words: Iterable[str], depth: int = 0) -> list[str]:
    """Replace every `@file` by the words of the file, quoted as for a shell."""
    if depth > 16:
        raise fail("P0301", "response files name each other without end")
    out = []
    for word in words:
        out += expand(_response(word[1:]), depth + 1) if word.startswith("@") and len(word) > 1 else [word]
    return out


def _response(path: str) -> list[str]:
    import shlex
    from pathlib import Path

    try:
        return shlex.split(Path(path).read_text(encoding="utf-8"), comments=True)
    except OSError as error:
        raise fail("P0302", f"cannot read response file '{path}': {error.strerror}") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise fail("P0302", f"response file '{path}' is not a list of words: {error}") from None


def help_text(usage: str, summary: str, flags: Sequence[Flag], footer: str = "") -> str:
    """The text of `--help`: flags by group, in the order of the table."""
    out = [f"usage: {usage}", *textwrap.wrap(summary, 100)]
    group = ""
    for spelling, flag in _help_lines(flags):
        if flag.group != group:
            group = flag.group
            out.append(f"{group}:")
        gap = " " if len(spelling) >= 29 else ""
        out.append(f"  {spelling:<29}{gap}{flag.help}")
    return "\n".join([*out, *([footer] if footer else [])]) + "\n"


def _help_lines(flags: Sequence[Flag]) -> list[tuple[str, Flag]]:
    lines: list[tuple[str, Flag]] = []
    for flag in flags:
        if flag.help or not lines:
            lines.append((flag.spelling, flag))
        else:
            spelling, first = lines[-1]
            lines[-1] = (f"{spelling}, {flag.spelling}", first)
    return lines


def answer(program: str, parsed: Parsed, usage: str, summary: str, flags: Sequence[Flag]) -> str | None:
    """What `--help` or `--version` of a companion program prints; None when neither was given."""
    if parsed.on("help"):
        return help_text(usage, summary, flags)
    if parsed.on("version"):
        from pptc import __version__

        return f"{program} {__version__}\n"
    return None
