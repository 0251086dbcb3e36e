"""Rows of `memref`: memory of the loop level, rank 1, addressed by a linear element index."""

from __future__ import annotations

from pptc.ir.loop_rules import (
    BOOLEAN,
    INDEX_VALUE,
    MEMORY,
    SCALAR,
    element_like,
    flags_like,
    same_element,
    type_like,
)
from pptc.ir.opdef import OpDef, Operand, Result, table

ROWS = table(
    OpDef(
        name="memref.load",
        doc="Reads element `index`.",
        operands=(Operand("memref", MEMORY, access="read"), Operand("index", INDEX_VALUE)),
        results=(Result("result", SCALAR),),
        format="$memref `[` $index `]` attr-dict `:` type($memref)",
        rules=(same_element("memref", "result"),),
        infer=element_like("memref"),
    ),
    OpDef(
        name="memref.store",
        doc="Writes element `index`.",
        operands=(
            Operand("value", SCALAR),
            Operand("memref", MEMORY, access="write"),
            Operand("index", INDEX_VALUE),
        ),
        format="$value `,` $memref `[` $index `]` attr-dict `:` type($memref)",
        rules=(same_element("memref", "value"),),
    ),
    OpDef(
        name="memref.atomic_load",
        doc="Reads element `index` in one step; what its writer wrote before is seen behind it.",
        operands=(Operand("memref", MEMORY, access="read"), Operand("index", INDEX_VALUE)),
        results=(Result("result", SCALAR),),
        format="$memref `[` $index `]` attr-dict `:` type($memref)",
        rules=(same_element("memref", "result"),),
        infer=element_like("memref"),
    ),
    OpDef(
        name="memref.atomic_exchange",
        doc="Writes element `index` in one step where its bits are those of `expected`; gives whether they were.",
        operands=(
            Operand("expected", SCALAR),
            Operand("value", SCALAR),
            Operand("memref", MEMORY, access="update"),
            Operand("index", INDEX_VALUE),
        ),
        results=(Result("result", BOOLEAN),),
        format="$expected `,` $value `,` $memref `[` $index `]` attr-dict `:` type($memref)",
        rules=(same_element("memref", "expected"), same_element("memref", "value")),
        infer=flags_like("expected"),
    ),
    *(
        OpDef(
            name=f"memref.atomic_{word}",
            doc=doc,
            operands=(
                Operand("value", SCALAR),
                Operand("memref", MEMORY, access="update"),
                Operand("index", INDEX_VALUE),
            ),
            format="$value `,` $memref `[` $index `]` attr-dict `:` type($memref)",
            rules=(same_element("memref", "value"),),
        )
        for word, doc in (
            ("store", "Writes element `index` in one step, behind all that was written before."),
            ("add", "Adds to element `index` in one step, behind all that was written before."),
        )
    ),
    OpDef(
        name="memref.view",
        doc="The memory from byte `byte_offset` on as elements of another type.",
        operands=(Operand("source", MEMORY), Operand("byte_offset", INDEX_VALUE)),
        results=(Result("result", MEMORY),),
        format="$source `[` $byte_offset `]` attr-dict `:` type($source) `to` type($result)",
        pure=True,
    ),
    OpDef(
        name="memref.offset",
        doc="The same memory with element `index` as its element 0.",
        operands=(Operand("source", MEMORY), Operand("index", INDEX_VALUE)),
        results=(Result("result", MEMORY),),
        format="$source `[` $index `]` attr-dict `:` type($source)",
        pure=True,
        rules=(same_element("source", "result"),),
        infer=type_like("source"),
    ),
    OpDef(
        name="memref.extract_aligned_pointer_as_index",
        doc="The address of element 0.",
        operands=(Operand("source", MEMORY),),
        results=(Result("result", INDEX_VALUE),),
        format="$source attr-dict `:` type($source) `->` type($result)",
        pure=True,
    ),
    OpDef(
        name="memref.fence",
        doc="Stores before it, those past the caches too, are seen by others before all stores after it.",
        format="attr-dict",
    ),
    OpDef(
        name="memref.prefetch",
        doc="Asks for the cache line of element `index`, which need not exist, so that a later read is fast.",
        operands=(Operand("memref", MEMORY, access="read"), Operand("index", INDEX_VALUE)),
        format="$memref `[` $index `]` attr-dict `:` type($memref)",
    ),
)
