"""Lists for people: a table of rich on a terminal, lines of plain text for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Listing:
    """Two columns with their headings. `text` is the same as plain lines, which scripts read."""

    headings: tuple[str, str]
    rows: Sequence[tuple[str, str]]
    text: str

    def write(self, stream: TextIO, as_table: bool) -> None:
        """Print the list."""
        if as_table:
            self._table(stream)
        else:
            stream.write(self.text)

    def _table(self, stream: TextIO) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column(self.headings[0], style="bold", no_wrap=True)
        table.add_column(self.headings[1], overflow="fold")
        for name, text in self.rows:
            table.add_row(Text(name), Text(text))
        Console(file=stream, highlight=False).print(table)


def columns(headings: tuple[str, str], width: int, rows: Sequence[tuple[str, str]]) -> Listing:
    """A list whose plain lines have the second column behind `width` characters."""
    return Listing(headings, rows, "".join(f"{name:<{width}} {text}\n" for name, text in rows))
