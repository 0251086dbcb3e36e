"""Element types as files and tensors name them: DLPack's (code, bits, lanes)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pptc.ir.types import SCALARS, ScalarType

INT, UINT, FLOAT, OPAQUE, BFLOAT, BOOL = 0, 1, 2, 3, 4, 6
_CODES = MappingProxyType({"int": INT, "uint": UINT, "index": INT, "float": FLOAT})

_NAMED: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "i1": (BOOL, 8, 1),
        "bf16": (BFLOAT, 16, 1),
        "f8E4M3FN": (10, 8, 1),
        "f8E5M2": (12, 8, 1),
        "!pto.f8E8M0": (14, 8, 1),
        "!pto.f4E2M1x2": (17, 4, 2),
        "!pto.bf16x2": (BFLOAT, 16, 2),
        # types that DLPack has no code for are told apart by their number of lanes
        "!pto.hif8": (OPAQUE, 8, 1),
        "!pto.hif8x2": (OPAQUE, 8, 2),
        "!pto.f4E1M2x2": (OPAQUE, 4, 2),
    }
)


def dlpack_type(dtype: ScalarType) -> tuple[int, int, int]:
    """The DLPack triple of an element type."""
    return _NAMED.get(dtype.name) or (_CODES[dtype.kind], dtype.bits, 1)


def scalar_type(code: int, bits: int, lanes: int) -> ScalarType | None:
    """The element type of a DLPack triple; signless integers for signed ones."""
    return next(
        (t for t in SCALARS.values() if t.kind != "index" and dlpack_type(t) == (code, bits, lanes)), None
    )
