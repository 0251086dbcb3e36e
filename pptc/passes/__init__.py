"""PASSES: the one table of all passes, from the name in a pipeline to its class."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pptc.passes.base import Pass

_ALL: tuple[type[Pass], ...] = ()

PASSES: Mapping[str, type[Pass]] = MappingProxyType({kind.name: kind for kind in _ALL})
