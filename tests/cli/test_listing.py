"""Lists: plain lines for scripts, a table for people at a terminal."""

from __future__ import annotations

import io

import pytest

from pptc.cli import lists
from pptc.cli.console import Console
from pptc.cli.listing import Listing, columns


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")


LISTING = columns(("name", "text"), 6, [("a", "one [b]two[/b]"), ("", "  more"), ("long-name", "three")])
PLAIN = "a      one [b]two[/b]\n         more\nlong-name three\n"


def shown(out: io.StringIO, listing: Listing = LISTING, color: str = "auto") -> str:
    Console("pptc", out=out, color=color).show_list(listing)
    return out.getvalue()


def test_plain_lines_for_a_file() -> None:
    assert shown(io.StringIO()) == shown(io.StringIO(), color="always") == PLAIN


def test_a_table_for_a_terminal() -> None:
    table = shown(Terminal())
    assert "\033[1m" in table and "name" in table and "─" in table
    assert "one [b]two[/b]" in table, "brackets are text, not markup"


def test_long_cells_are_folded_not_cut() -> None:
    table = shown(Terminal(), columns(("name", "text"), 6, [("a", "x" * 150)]))
    assert table.count("x") == 151 and max(map(len, table.splitlines())) < 100


def test_no_table_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(Terminal(), color="never") == PLAIN
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(Terminal()) == PLAIN


@pytest.mark.parametrize(
    "listing", [lists.targets(), lists.target_info("avx2"), lists.passes(), lists.ops("pto.tadd")]
)
def test_tables_and_lines_say_the_same(listing: Listing) -> None:
    words = {word for row in listing.rows for cell in row for word in cell.split()}
    assert words == {word.removesuffix(":") if word not in words else word for word in listing.text.split()}
