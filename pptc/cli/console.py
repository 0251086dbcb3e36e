"""What every command shares: the streams, how diagnostics look, and how an exception becomes an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pptc.cli import render
from pptc.cli.listing import Listing
from pptc.diag import CODES, CompileError, Diagnostic, fail

INTERRUPTED = 130


@dataclass
class Console:
    """Where a command writes, and how it shows findings."""

    program: str
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    color: str = "auto"
    json: bool = False
    limit: int = 20
    policy: render.Policy = field(default_factory=render.Policy)

    def show(self, diagnostics: Iterable[Diagnostic]) -> int:
        """Print the findings that the -W flags leave; returns the exit status that they lead to."""
        left = self.policy.apply(diagnostics)
        if left:
            text = render.as_json(left) if self.json else render.as_text(left, self.paint, self.limit)
            self.err.write(text)
        return next((CODES[found.code].exit for found in left if found.severity == "error"), 0)

    def shows_tables(self, stream: TextIO) -> bool:
        """Whether people read the stream at a terminal and colours are not switched off."""
        return self.color != "never" and not os.environ.get("NO_COLOR") and stream.isatty()

    def show_list(self, listing: Listing) -> None:
        """Print a list on standard output."""
        listing.write(self.out, self.shows_tables(self.out))

    @property
    def paint(self) -> render.Paint:
        """Colours for standard error, as -fdiagnostics-color, NO_COLOR and CLICOLOR_FORCE say."""
        if self.color != "auto":
            return render.painter(self.color == "always")
        if os.environ.get("NO_COLOR"):
            return render.painter(False)
        forced = os.environ.get("CLICOLOR_FORCE", "0") != "0"
        return render.painter(forced or self.err.isatty())


def run(
    console: Console, command: Callable[[Console, Sequence[str]], int], words: Sequence[str] | None
) -> int:
    """Call a command with its arguments; no exception leaves this function."""
    given = sys.argv[1:] if words is None else words
    try:
        status = command(console, given)
        console.out.flush()
        return status
    except CompileError as error:
        return console.show(error.sink)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left; give Python nothing to flush into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CODES["P0303"].exit
    except Exception as error:
        return console.show(_internal(console.program, given, error).sink)


def _internal(program: str, words: Sequence[str], error: Exception) -> CompileError:
    """P9999 for an exception that should not have been, with a file that has all it takes to see it again."""
    message = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        path = write_reproducer(program, words, error)
    except OSError as problem:
        return fail("P9999", message, hint=f"no reproducer could be written: {problem.strerror}")
    return fail("P9999", message, hint=f"please report it with the reproducer {path}")


def write_reproducer(program: str, words: Sequence[str], error: Exception) -> Path:
    """A text file with the command line, the traceback and the inputs, in the folder for temporary files."""
    import shlex
    import tempfile
    import traceback

    from pptc import __version__

    parts = [
        f"// {program} {__version__} failed; this file can be compiled as it is.",
        f"// command: {program} {shlex.join(words)}",
        *(f"// {line}" for line in "".join(traceback.format_exception(error)).splitlines()),
    ]
    for word in words:
        path = Path(word)
        if path.suffix == ".pto" and path.is_file():
            parts += [f"// ----- {word}", path.read_text(encoding="utf-8", errors="replace")]
    handle, name = tempfile.mkstemp(prefix="pptc-", suffix=".pptrepro.pto", text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")
    return Path(name)
