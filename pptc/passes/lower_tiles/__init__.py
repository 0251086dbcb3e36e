"""The pass `lower-tiles`, from tiles to loops over memory."""

from pptc.passes.lower_tiles.lowering import LowerTiles

__all__ = ["LowerTiles"]
