"""Tests of edges compute with NaN and overflow on purpose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def quiet_edges() -> Iterator[None]:
    """No NumPy warnings."""
    with np.errstate(all="ignore"):
        yield
