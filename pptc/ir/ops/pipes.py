"""Rows of the pipes between the cube and the vector core of a block, and of the slots that they become.

A pipe has an id and one or two directions, each a queue of slots. What a core pushes, the others pop in order; a popped
tile is theirs until they free it. With `split` the two vector cores of a block take, or give, one half of the tile
each; the second half begins behind the physical extent of the first. `expand-pipes` turns tiles into loads and stores
of slots: `tile.claim_slot` waits for a free one and `tile.send_slot` hands it over; `tile.receive_slot` waits for a
full one and `tile.free_slot` gives it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from pptc.ir.core import Op
from pptc.ir.kinds import INDEX_VALUE, LONG, PTR, VIEW, only, plain
from pptc.ir.opdef import SIGNALS, WAITS, Access, Attribute, Kind, OpDef, Operand, Problem, Result, table
from pptc.ir.pairs import CUBE, VECTOR
from pptc.ir.types import I32, MemRefType, PtrType, TileType, ViewType

_WORD = only("an i32", I32)
_ENTRY = Kind("a tile or a tensor view", lambda type: isinstance(type, TileType | ViewType))
_SLOT = Kind("a pointer, or a memref at the loop level", lambda type: isinstance(type, PtrType | MemRefType))
_ID = Attribute("id", "int", doc="number of the pipe; 0 where it is left out")
_SPLIT = Attribute(
    "split",
    "int",
    required=True,
    doc="0 none, 1 upper and lower half, 2 left and right half, 3 and 4 the same for an odd extent",
)


def _side(core: str) -> frozenset[str]:
    return frozenset({f"pipe:{core}", WAITS, SIGNALS})


def _known_split(op: Op) -> Iterator[Problem]:
    if plain(op.attributes["split"]) not in range(5):
        yield Problem("P0207", "split is 0, 1, 2, 3 or 4")


def _valid_operands(op: Op) -> Iterator[Problem]:
    """valid_row and valid_col stand exactly where the type says `?`."""
    type = op.result.type
    extents = (type.v_row, type.v_col) if isinstance(type, TileType) else (0, 0)
    for name, extent in zip(("valid_row", "valid_col"), extents, strict=True):
        if (extent is None) != (op.optional(name) is not None):
            yield Problem("P0213", f"{name} is given exactly where the type of the result has ? for it")


def _geometry(op: Op) -> Iterator[Problem]:
    """Positive sizes, a known direction, one place for global slots."""
    for name in ("slot_size", "slot_num", "local_slot_num"):
        if name in op.attributes and plain(op.attributes[name]) < 1:
            yield Problem("P0207", f"{name} must be positive")
    if plain(op.attributes["dir_mask"]) not in (1, 2, 3):
        yield Problem("P0207", "dir_mask is 1 (cube to vector), 2 (vector to cube) or 3 (both)")
    if op.group("gm_slot_buffer") and op.group("gm_slot_tensor"):
        yield Problem("P0202", "a pipe has a gm_slot_buffer or a gm_slot_tensor, not both", "gm_slot_tensor")


def _base(op: Op) -> Iterator[Problem]:
    placed = plain(op.attributes["auto"]) is False
    if placed != ("base" in op.attributes):
        yield Problem("P0206", "base is given exactly where auto = false")
    if plain(op.attributes["size"]) < 1:
        yield Problem("P0207", "size must be positive")


def _initialize(core: str, name: str) -> OpDef:
    return OpDef(
        name=name,
        doc=f"Opens a pipe on the {core} side; the other side opens it with the same numbers.",
        operands=(
            Operand("gm_slot_buffer", PTR, arity="optional", doc="memory for slots, on chips that need it"),
            Operand("gm_slot_tensor", VIEW, arity="optional", doc="the same as a view"),
            Operand(
                "c2v_consumer_buf", _WORD, arity="optional", doc="where popped tiles of vector cores lie"
            ),
            Operand("v2c_consumer_buf", _WORD, arity="optional", doc="where popped tiles of the cube lie"),
        ),
        attributes=(
            _ID,
            Attribute("dir_mask", "int", required=True, doc="1 cube to vector, 2 vector to cube, 3 both"),
            Attribute("slot_size", "int", required=True, doc="bytes of a slot, which holds a whole tile"),
            Attribute("slot_num", "int", doc="slots per direction: 8, or 4 where there are two"),
            Attribute("local_slot_num", "int", doc="slots in the consumer's own memory; here all are"),
            Attribute("nosplit", "bool", doc="one vector core works on the pipe"),
            Attribute("acc_push_epilogue", "any", doc="what is done to accumulators on the way"),
        ),
        format="attr-dict `(` (keyed($gm_slot_buffer, $gm_slot_tensor, $c2v_consumer_buf, $v2c_consumer_buf)^)? `)`",
        rules=(_geometry,),
        traits=_side(core),
    )


_SUBBLOCK = Operand(
    "aiv_subblockid", LONG, arity="optional", doc="number of the vector core; its own by default"
)


def _push(core: str, name: str, access: Access = "read") -> OpDef:
    return OpDef(
        name=name,
        doc="Waits for a free slot and puts a tile there; a view made by talloc is handed over as it is.",
        operands=(Operand("tile", _ENTRY, access), *((_SUBBLOCK,) if core == VECTOR else ())),
        attributes=(_ID, _SPLIT),
        format="`` `(` $tile `:` type($tile) `)` attr-dict"
        + (" (`aiv_subblockid` `` `(` $aiv_subblockid^ `)`)?" if core == VECTOR else ""),
        rules=(_known_split,),
        traits=_side(core),
    )


def _pop(core: str, name: str) -> OpDef:
    return OpDef(
        name=name,
        doc="Waits for the next tile of the pipe, which stays until it is freed.",
        operands=(
            Operand("valid_row", INDEX_VALUE, arity="optional", doc="valid rows, where the type says ?"),
            Operand("valid_col", INDEX_VALUE, arity="optional", doc="valid columns, where the type says ?"),
            *((_SUBBLOCK,) if core == VECTOR else ()),
        ),
        results=(Result("result", _ENTRY),),
        attributes=(_ID, _SPLIT),
        format="(`` `(` list($valid_row, $valid_col)^ `)`)? attr-dict "
        + ("(`aiv_subblockid` `` `(` $aiv_subblockid^ `)`)? " if core == VECTOR else "")
        + "`->` type($result)",
        rules=(_known_split, _valid_operands),
        traits=_side(core),
    )


def _free(core: str, name: str) -> OpDef:
    return OpDef(
        name=name,
        doc="Gives back the slot of the oldest tile that was popped and not freed yet.",
        operands=(
            Operand("entry", VIEW, arity="optional", doc="the view, where the pipe's entries are views"),
        ),
        attributes=(_ID, _SPLIT),
        format="(`` `(` $entry^ `:` type($entry) `)`)? attr-dict",
        rules=(_known_split,),
        traits=_side(core),
    )


def _allocate(core: str, name: str) -> OpDef:
    return OpDef(
        name=name,
        doc="Waits for a free slot, to be filled through a view and pushed.",
        results=(Result("result", VIEW),),
        attributes=(_ID, _SPLIT),
        format="attr-dict `->` type($result)",
        rules=(_known_split,),
        traits=_side(core),
        since="0.57",
    )


BUFFERS = (
    OpDef(
        name="pto.reserve_buffer",
        doc="The address of memory in a space that holds the slots of a pipe.",
        results=(Result("result", _WORD),),
        attributes=(
            Attribute("name", "string", required=True, doc="by which the other side finds it"),
            Attribute("size", "int", required=True, doc="in bytes"),
            Attribute("location", "enum", "address_space", values=("vec", "mat"), required=True),
            Attribute("auto", "bool", required=True, doc="whether the compiler places it"),
            Attribute("base", "int", doc="the address, where it does not"),
        ),
        format="attr-dict `->` type($result)",
        rules=(_base,),
    ),
    OpDef(
        name="pto.import_reserved_buffer",
        doc="The address of a buffer that the other function of a pair reserves.",
        results=(Result("result", _WORD),),
        attributes=(
            Attribute("name", "string", required=True),
            Attribute("peer_func", "symbol", required=True, doc="the function that reserves it"),
        ),
        format="attr-dict `->` type($result)",
    ),
)

PIPES = (
    _initialize(CUBE, "pto.aic_initialize_pipe"),
    _initialize(VECTOR, "pto.aiv_initialize_pipe"),
    _allocate(CUBE, "pto.talloc_to_aiv"),
    _allocate(VECTOR, "pto.talloc_to_aic"),
    _push(CUBE, "pto.tpush_to_aiv"),
    _push(VECTOR, "pto.tpush_to_aic"),
    _pop(CUBE, "pto.tpop_from_aiv"),
    _pop(VECTOR, "pto.tpop_from_aic"),
    _free(CUBE, "pto.tfree_from_aiv"),
    _free(VECTOR, "pto.tfree_from_aic"),
)

_CHANNEL = Attribute(
    "channel", "int", required=True, doc="number of the queue: even ones lead to the vector cores"
)


def _slot(name: str, doc: str, access: Access | None) -> OpDef:
    """An op that waits for a slot, or with `access` one that passes a slot on."""
    waits = access is None
    return OpDef(
        name=name,
        doc=doc,
        operands=() if access is None else (Operand("slot", _SLOT, access),),
        results=(Result("result", _SLOT),) if waits else (),
        attributes=(
            _CHANNEL,
            *(
                (
                    Attribute("slots", "int", required=True, doc="how many the queue has"),
                    Attribute("bytes", "int", required=True, doc="of a slot"),
                    Attribute("offset", "int", required=True, doc="of the first slot in the shared memory"),
                )
                if waits
                else ()
            ),
        ),
        format="attr-dict `->` type($result)" if waits else "$slot attr-dict `:` type($slot)",
        traits=frozenset({WAITS if waits else SIGNALS}),
    )


SLOTS = (
    _slot("tile.claim_slot", "Waits for a free slot of a queue between the cores of a block.", None),
    _slot("tile.send_slot", "Hands a claimed slot over to those who receive it.", "read"),
    _slot("tile.receive_slot", "Waits for the next slot that was sent.", None),
    _slot("tile.free_slot", "Gives a received slot back; its content is undefined afterwards.", "update"),
)

ROWS = table(BUFFERS, PIPES, SLOTS)
