"""`--pass-timing` and `--remarks`: what a compile took, and what passes have to say."""

from __future__ import annotations

import json

from pptc.cli.console import Console
from pptc.cli.flags import Parsed
from pptc.cli.listing import columns
from pptc.driver import Journal


def show_seconds(parsed: Parsed, journal: Journal, console: Console) -> None:
    """Print the steps in the order they ran, or one JSON object."""
    form = parsed.value("timing")
    if form is None:
        return
    if form == "json":
        console.err.write(json.dumps(journal.seconds, indent=1) + "\n")
        return
    rows = [(f"{seconds:9.4f} s", f" {step}") for step, seconds in journal.seconds.items()]
    columns(("seconds", "step"), 11, rows).write(console.err, console.shows_tables(console.err))


def show_remarks(parsed: Parsed, journal: Journal, console: Console) -> None:
    """Print each remark with the place that it is about."""
    if not parsed.on("remarks"):
        return
    for remark in journal.remarks:
        place = ""
        if remark.span is not None:
            line, column = remark.span.position
            place = f"{remark.span.source.name}:{line}:{column}: "
        console.err.write(
            f"{place}{console.paint('remark', 'remark:')} {remark.message} [{remark.pass_name}]\n"
        )
