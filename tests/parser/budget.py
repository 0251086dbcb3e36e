"""Seconds from 1 MB of text to a module: `python -m tests.parser.budget`. Measured by hand, asserted nowhere."""

from __future__ import annotations

import re
import time
from pathlib import Path

from pptc.diag import Sink, Source
from pptc.parser import parse

FOLDER = Path(__file__).parent.parent / "files" / "tile"
SIZE = 1_000_000
ROUNDS = 3


def grown(path: Path) -> str:
    """The module of a file, repeated under new names until it has the size."""
    text = path.read_text(encoding="utf-8")
    copies = []
    while sum(map(len, copies)) < SIZE:
        copies.append(re.sub(r"@(\w+)", rf"@\1_{len(copies)}", text))
    return "\n".join(copies)


def seconds(source: Source) -> float:
    start = time.process_time()
    sink = Sink()
    assert parse(source, sink) is not None and not sink.error_count
    return time.process_time() - start


def main() -> None:
    for name in ("scale_and_shift", "long_product", "normal_rows", "running_totals"):
        source = Source(name, grown(FOLDER / f"{name}.pto"))
        parse(Source("warm", "module { }"), Sink())
        print(
            f"{name:16} {len(source.text) / 1e6:.2f} MB {min(seconds(source) for _ in range(ROUNDS)):.2f} s"
        )


if __name__ == "__main__":
    main()
