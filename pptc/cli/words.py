"""The words of a command line, from the manner of gcc to what click's parser reads without a doubt.

| written                         | handed to click           | style                  |
|---------------------------------|---------------------------|------------------------|
| `-c`                            | `-c`                      | SWITCH                 |
| `-oFILE`, `-MFf`, `-O2`         | `-o FILE`, `-MF f`, `-O 2`| SHORT, JOINED          |
| `-O`, `--dump-ir`               | `-O 1`, `--dump-ir WHEN`  | the value that a lone flag implies |
| `--emit=K`, `-arch=T`, `-t=T`   | `--emit K`, ...           | LONG, OPTIONAL         |
| `a.pto`, `-`, all behind `--`   | moved behind a last `--`  | inputs                 |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from pptc.diag import Sink, fail


class Style(Enum):
    """How a flag takes its value."""

    SWITCH = "-c"
    SHORT = "-o FILE or -oFILE"
    JOINED = "-O2"
    LONG = "--target=T or --target T"
    OPTIONAL = "--dump-ir or --dump-ir=WHEN"


class Row(Protocol):
    """What the translation needs of a flag; `implied` is the value of one that may stand alone."""

    opts: list[str]
    style: Style
    implied: str | None

    @property
    def spelling(self) -> str:
        """The flag as `--help` shows it."""

    @property
    def help(self) -> str | None:
        """What `--help` says of it."""


def translate(words: Sequence[str], rows: Iterable[Row], sink: Sink) -> list[str]:
    """Words for click. Flags that do not exist, lack a value or take none are reported and left out."""
    translation = _Translation(rows, sink)
    translation.read(words)
    return [*translation.flags, "--", *translation.inputs]


class _Translation:
    """One pass over the words of a command line."""

    def __init__(self, rows: Iterable[Row], sink: Sink) -> None:
        self._rows = {name: row for row in rows for name in row.opts}
        self._sink = sink
        self.inputs: list[str] = []
        self.flags: list[str] = []

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
        row = self._rows.get(word)
        if row is not None:
            self._alone(row, word, rest)
        elif equals and (row := self._rows.get(name)) and row.style in (Style.LONG, Style.OPTIONAL):
            self.flags += (name, value)
        elif (prefix := self._prefix(word)) is not None:
            self.flags += (prefix, word[len(prefix) :])
        elif row is not None:
            self._sink.error("P0301", f"'{name}' takes no value")
        else:
            self._sink.error("P0301", f"unknown flag '{name}'", hint=self._suggestion(name))

    def _alone(self, row: Row, word: str, rest: Iterator[str]) -> None:
        if row.style is Style.SWITCH:
            self.flags.append(word)
            return
        value = row.implied
        if value is None and row.style is not Style.JOINED:
            value = next(rest, None)
        if value is None:
            self._sink.error("P0301", f"'{word}' needs a value", hint=f"{row.spelling}: {row.help}")
        else:
            self.flags += (word, value)

    def _prefix(self, word: str) -> str | None:
        glued = (n for n, row in self._rows.items() if row.style in (Style.SHORT, Style.JOINED))
        return max((n for n in glued if word.startswith(n)), key=len, default=None)

    def _suggestion(self, name: str) -> str | None:
        from difflib import get_close_matches

        close = get_close_matches(name, list(self._rows), n=1, cutoff=0.75)
        return f"did you mean '{close[0]}'?" if close else None


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
