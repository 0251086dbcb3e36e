"""PASSES: the one table of all passes, from the name in a pipeline to its class."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pptc.passes.base import Pass
from pptc.passes.canonicalize import Canonicalize
from pptc.passes.collapse_k import CollapseK
from pptc.passes.expand_math import ExpandMath
from pptc.passes.expand_pipes import ExpandPipes
from pptc.passes.expand_transfers import ExpandTransfers
from pptc.passes.forward_moves import ForwardMoves
from pptc.passes.hoist_loads import HoistLoads
from pptc.passes.legalize_floats import LegalizeFloats
from pptc.passes.lower_tiles import LowerTiles
from pptc.passes.plan_memory import PlanMemory
from pptc.passes.promote_tiles import PromoteTiles
from pptc.passes.residency import Residency
from pptc.passes.split_grid import SplitGrid
from pptc.passes.stream_stores import StreamStores
from pptc.passes.strip_rows import StripRows

_ALL: tuple[type[Pass], ...] = (
    ExpandPipes,
    ExpandTransfers,
    Canonicalize,
    PromoteTiles,
    ForwardMoves,
    CollapseK,
    HoistLoads,
    StripRows,
    StreamStores,
    SplitGrid,
    Residency,
    PlanMemory,
    LowerTiles,
    ExpandMath,
    LegalizeFloats,
)

PASSES: Mapping[str, type[Pass]] = MappingProxyType({kind.name: kind for kind in _ALL})
