"""Rows of the tile dialect that touch single elements, ask for the block's place, or order pipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pptc.ir.attrs import EnumAttr
from pptc.ir.core import Op
from pptc.ir.kinds import (
    INDEX_VALUE,
    LONG,
    PTR,
    SCALAR,
    TILE_OR_PART,
    VEC,
    attribute,
    choice,
    in_spaces,
    plain,
    same_elements,
    source,
    target,
)
from pptc.ir.opdef import Attribute, OpDef, Operand, Problem, Result, dps, table
from pptc.ir.types import I64, Type, element_type


def _element_of(name: str) -> Any:
    def infer(op: Op) -> tuple[Type, ...]:
        elem = element_type(op.operand(name).type)
        return (elem,) if elem else ()

    return infer


def _result_element(name: str) -> Any:
    def check(op: Op) -> Iterator[Problem]:
        elem = element_type(op.operand(name).type)
        if elem is not None and op.result.type != elem:
            yield Problem("P0204", f"the result is not the {elem.name} of {name}", name)

    return check


_OFFSET = Operand("offset", INDEX_VALUE, doc="in elements")

ELEMENTS = (
    OpDef(
        name="pto.load_scalar",
        doc="Element `offset` behind a pointer.",
        operands=(source("ptr", PTR), _OFFSET),
        results=(Result("result", SCALAR),),
        format="$ptr `[` $offset `]` attr-dict `:` type($ptr) `->` type($result)",
        rules=(_result_element("ptr"),),
        infer=_element_of("ptr"),
    ),
    OpDef(
        name="pto.store_scalar",
        doc="Writes element `offset` behind a pointer.",
        operands=(Operand("value", SCALAR), target("ptr", PTR), _OFFSET),
        format="$value `,` $ptr `[` $offset `]` attr-dict `:` type($ptr, $value)",
        rules=(same_elements("ptr", "value"),),
    ),
    OpDef(
        name="pto.tgetval",
        doc="Element `offset` of a tile, counted in memory order.",
        operands=(source("src"), _OFFSET),
        results=(Result("result", SCALAR),),
        format="`ins` `(` $src `,` $offset `:` type($src) `,` type($offset) `)` `outs` `:` type($result) attr-dict",
        rules=(in_spaces, _result_element("src")),
        infer=_element_of("src"),
    ),
    OpDef(
        name="pto.tsetval",
        doc="Writes element `offset` of a tile, counted in memory order.",
        operands=(_OFFSET, Operand("val", SCALAR), target(kind=VEC, access="update")),
        format=dps(("offset", "val")),
        rules=(in_spaces, same_elements("val", "dst")),
    ),
)

PLACE = tuple(
    OpDef(
        name=f"pto.get_{word}",
        doc=doc,
        results=(Result("result", LONG),),
        format="attr-dict",
        pure=True,
        infer=lambda op: (I64,),
    )
    for word, doc in (
        ("block_idx", "This block's number in the grid, from 0."),
        ("block_num", "How many blocks the grid has."),
        ("subblock_idx", "This vector core's number within its block, from 0."),
        ("subblock_num", "How many vector cores run the block."),
    )
)

_PIPES = (
    "PIPE_S", "PIPE_V", "PIPE_M", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_ALL", "PIPE_MTE4", "PIPE_MTE5",
    "PIPE_V2", "PIPE_FIX", "VIRTUAL_PIPE_MTE2_L1A", "VIRTUAL_PIPE_MTE2_L1B",
)  # fmt: skip
_STAGES = (
    "TLOAD", "TSTORE_ACC", "TSTORE_VEC", "TMOV_M2L", "TMOV_M2S", "TMOV_M2B", "TMOV_M2V", "TMOV_V2M", "TMATMUL",
    "TVEC", "TVECWAIT_EVENT",
)  # fmt: skip


def _pipe(name: str) -> Attribute:
    return Attribute(name, "enum", "pipe", values=_PIPES, required=True)


def _stage(name: str) -> Attribute:
    """An op class; printed in full, and known under the older name of its enum too."""
    return Attribute(name, "any", required=True, doc="#pto.pipe_event_type<..> or #pto.sync_op_type<..>")


_EVENT = Attribute("event_id", "enum", "event", values=tuple(f"EVENT_ID{n}" for n in range(8)), required=True)


def _known_stages(op: Op) -> Iterator[Problem]:
    for name in ("src_op", "dst_op"):
        value = op.attributes.get(name)
        known = isinstance(value, EnumAttr) and value.name in ("pipe_event_type", "sync_op_type")
        if not (known and isinstance(value, EnumAttr) and value.value in _STAGES):
            yield Problem("P0207", f"{name} is none of {', '.join(_STAGES)}")


_ORDER = "program order satisfies it on machines without pipes"

SYNC = (
    *(
        OpDef(
            name=f"pto.{word}_flag",
            doc=f"{doc}; {_ORDER}.",
            attributes=(_pipe("src_pipe"), _pipe("dst_pipe"), _EVENT),
            format="`` `[` $src_pipe `,` $dst_pipe `,` $event_id `]` attr-dict",
        )
        for word, doc in (
            ("set", "Pipe src raises an event for pipe dst"),
            ("wait", "Pipe dst waits for the event"),
        )
    ),
    *(
        OpDef(
            name=f"pto.{word}_event",
            doc=f"{doc}; {_ORDER}.",
            attributes=(_stage("src_op"), _stage("dst_op"), _EVENT),
            format="`` `[` $src_op `,` $dst_op `,` $event_id `]` attr-dict",
            rules=(_known_stages,),
        )
        for word, doc in (
            ("record", "Ops of class src raise an event"),
            ("wait", "Ops of class dst wait for it"),
        )
    ),
    OpDef(
        name="pto.barrier",
        doc=f"Waits until the pipe is empty; {_ORDER}.",
        attributes=(_pipe("pipe"),),
        format="$pipe attr-dict",
    ),
)

_PRINT_LAYOUTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"width8_precision4": (8, 4), "width8_precision2": (8, 2), "width10_precision6": (10, 6)}
)


def print_layout(op: Op) -> tuple[int, int]:
    """The width of a number that tprint shows, and the digits behind the point of a float."""
    return _PRINT_LAYOUTS[str(plain(attribute(op, "printFormat")))]


OUTPUT = (
    OpDef(
        name="pto.tprint",
        doc="Prints the valid region of a tile, or a part, on standard error, a row in a line. Lines of blocks that "
        "run at once may mix; a program that calls the plain C symbol gets no output.",
        operands=(source("src", TILE_OR_PART),),
        attributes=(
            choice(
                "printFormat", "print_format", "width8_precision4", "width8_precision2", "width10_precision6",
                default="width8_precision4", doc="width and digits of a number",
            ),
        ),
        format="`ins` `(` $src `:` type($src) `)` attr-dict",
    ),
    OpDef(
        name="pto.trap",
        doc="Ends the kernel with a fault.",
        format="attr-dict",
    ),
)  # fmt: skip

ROWS = table(ELEMENTS, PLACE, SYNC, OUTPUT)
