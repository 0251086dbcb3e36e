"""Random programs whose buffers overlap: no pass may change a bit of what they store."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.harness import TILE_LEVEL, check_same
from tests.passes.random_kernels import random_kernel, random_rows


@pytest.mark.parametrize("seed", range(40))
def test_random_kernel(seed: int) -> None:
    random = np.random.default_rng(seed)
    arguments = {name: random.standard_normal((40, 64)).astype(np.float32) for name in "xyz"}
    for count in (0, 16):
        check_same(random_kernel(seed), TILE_LEVEL, "random", arguments | {"count": count, "s": -0.5})


@pytest.mark.parametrize("seed", [*range(20), 45, 178, 227, 328])
def test_random_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    arguments = {name: random.standard_normal((11, 48)).astype(np.float32) for name in "xyz"}
    check_same(random_rows(seed), TILE_LEVEL, "random", arguments | {"count": 11, "s": -0.5})
