"""The command `pptc-run`: calls one kernel with arrays from the command line, saves, compares and times."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pptc.cli.console import Console, run
from pptc.cli.flags import Command, Flag, OneOf, WholeNumber, answer, parse
from pptc.cli.words import Style

USAGE = "MODULE [--entry F] [-i NAME=VALUE]... [-o NAME=FILE.npy]... [--expect NAME=FILE.npy]..."
SUMMARY = (
    "Run a kernel. MODULE is a .pto file, compiled on the fly, or a .so. VALUE is x.npy, 4x8xf32=random:SEED, "
    "4x8xf32=zeros, 2x2xf32=1,2,3,4 or a number. A pointer argument is an array: -i is its start, -o saves its end."
)

_RUN, _DATA, _REPORT = "Run", "Arguments", "Report"

FLAGS: tuple[Flag, ...] = (
    Flag("entry", ("--entry",), _RUN, "which kernel, when the module has several", Style.LONG, "KERNEL"),
    Flag("target", ("-t", "--target", "-arch"), _RUN, "target of a .pto, ref interprets it; section of a .so",
         Style.LONG, "T"),
    Flag("level", ("-O",), _RUN, "effort for a .pto, 0 to 3; default 2", Style.JOINED, "LEVEL", OneOf("0123"), "1"),
    Flag("grid", ("--grid",), _RUN, "blocks of an SPMD kernel; default 1", Style.LONG, "N",
         WholeNumber(1)),
    Flag("threads", ("--threads",), _RUN, "threads that the blocks are spread over; default 1", Style.LONG, "N",
         WholeNumber(1)),
    Flag("cpu_features", ("--cpu-features",), _RUN, "take features of this machine away: -avx512f,-avx2",
         Style.LONG, "LIST"),
    Flag("repeat", ("--repeat",), _RUN, "call it N times, each on the given start; default 1", Style.LONG, "N",
         WholeNumber(1)),
    Flag("input", ("-i",), _DATA, "the start of an argument", Style.SHORT, "NAME=VALUE"),
    Flag("output", ("-o",), _DATA, "save the end of an array", Style.SHORT, "NAME=FILE.npy"),
    Flag("expect", ("--expect",), _DATA, "compare the end of an array", Style.LONG, "NAME=FILE.npy"),
    Flag("rtol", ("--rtol",), _DATA, "relative tolerance; default 1e-5", Style.LONG, "R"),
    Flag("atol", ("--atol",), _DATA, "absolute tolerance; default 1e-8", Style.LONG, "A"),
    Flag("check_sync", ("--check-sync",), _REPORT, "with -t ref: report what flags between pipes are missing"),
    Flag("json", ("--json",), _REPORT, "print one JSON object"),
    Flag("report", ("--report",), _REPORT, "write that object to FILE", Style.LONG, "FILE"),
    Flag("version", ("--version",), _REPORT, "print the version and exit"),
    Flag("help", ("--help", "-h"), _REPORT, "print this text and exit"),
)  # fmt: skip

COMMAND = Command("pptc-run", USAGE, SUMMARY, FLAGS)


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run(Console("pptc-run"), command, words)


def command(console: Console, words: Sequence[str]) -> int:
    """Do what the words say."""
    parsed = parse(COMMAND, words)
    text = answer(parsed, COMMAND)
    if text is not None:
        console.out.write(text)
        return 0
    from pptc.cli.launch import launch

    return launch(parsed, console)


if __name__ == "__main__":
    sys.exit(main())
