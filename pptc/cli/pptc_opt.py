"""The command `pptc-opt`: text in, passes, text out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pptc.cli.console import Console, run
from pptc.cli.flags import Command, Flag, Parsed, answer, parse
from pptc.cli.words import Style
from pptc.diag import fail

USAGE = "[FLAG | FILE.pto | -]..."
SUMMARY = "Run passes on a module of any level and print it. Without a file it reads standard input."

_GROUP = "Flags"

FLAGS: tuple[Flag, ...] = (
    Flag("pipeline", ("--pass-pipeline",), _GROUP, "the passes: 'a,b{x=1},c'; default none", Style.LONG, "PASSES"),
    Flag("target", ("-t", "--target", "-arch"), _GROUP, "the machine that passes go by; default host", Style.LONG, "T"),
    Flag("output", ("-o",), _GROUP, "write to FILE instead of standard output", Style.SHORT, "FILE"),
    Flag("verify_each", ("--verify-each",), _GROUP, "verify the module after every pass"),
    Flag("no_verify", ("--no-verify",), _GROUP, "do not verify the input"),
    Flag("dump", ("--dump-ir",), _GROUP, "as in pptc, on standard error", Style.OPTIONAL, "WHEN",
         implied="after-change"),
    Flag("remarks", ("--remarks",), _GROUP, "say what passes did or could not do"),
    Flag("version", ("--version",), _GROUP, "print the version and exit"),
    Flag("help", ("--help", "-h"), _GROUP, "print this text and exit"),
)  # fmt: skip

COMMAND = Command("pptc-opt", USAGE, SUMMARY, FLAGS)


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run(Console("pptc-opt"), command, words)


def command(console: Console, words: Sequence[str]) -> int:
    """Do what the words say."""
    parsed = parse(COMMAND, words)
    text = answer(parsed, COMMAND)
    if text is not None:
        console.out.write(text)
        return 0
    return _optimise(parsed, console)


def _optimise(parsed: Parsed, console: Console) -> int:
    from pptc import driver
    from pptc.cli import dumps, output, timing
    from pptc.ir.printer import print_module
    from pptc.options import CompileOptions

    if len(parsed.inputs) > 1:
        raise fail("P0301", f"pptc-opt takes one file, not {len(parsed.inputs)}")
    options = CompileOptions(
        targets=(parsed.value("target") or "host",),
        pass_pipeline=parsed.value("pipeline") or "",
        verify_each=parsed.on("verify_each"),
    )
    (machine,) = driver.machines(options)
    pipeline = driver.pipeline_of(machine, options)
    journal = driver.Journal(sys.stdin.buffer.read)
    if parsed.on("dump"):
        shown = dumps.make(parsed.value("dump") or "", None, lambda _name, text: _write(console, text))
        journal.watches = (shown.observer,)
    unit = driver.load(parsed.inputs or ("-",), (), options, journal, verified=not parsed.on("no_verify"))
    driver.transform(unit.module, machine, pipeline, options, journal)
    status = console.show(journal.sink)
    timing.show_remarks(parsed, journal, console)
    output.write(output.Product(parsed.value("output") or "-", print_module(unit.module).encode()), console)
    return status


def _write(console: Console, text: str) -> None:
    console.err.write(text)


if __name__ == "__main__":
    sys.exit(main())
