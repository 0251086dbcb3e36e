"""NumPy on first use: rows speak of it, and a plain compile never pays for its import."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module until an attribute of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


np: Any = LazyModule("numpy")
ml_dtypes: Any = LazyModule("ml_dtypes")
