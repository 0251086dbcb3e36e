"""`did you mean`: the name that a misspelt one is close to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, choices: Iterable[str], likeness: float = 0.6) -> str | None:
    """A hint with the choice that is most like `name`, or None when none is."""
    close = difflib.get_close_matches(name, list(choices), 1, likeness)
    return f"did you mean `{close[0]}`?" if close else None
