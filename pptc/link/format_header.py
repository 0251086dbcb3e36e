"""Writes runtime_c/include/pptc_fatbin.h from `format.py`: `python -m pptc.link.format_header > pptc_fatbin.h`.

The header is committed; a test fails when it is stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pptc.link import format as pptf
from pptc.link.records import Member, Record

_C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "u8": "uint8_t",
        "u16": "uint16_t",
        "u32": "uint32_t",
        "u64": "uint64_t",
        "i64": "int64_t",
        "bytes": "uint8_t",
    }
)

_ENUMS: tuple[tuple[str, type[pptf.Word] | type[pptf.Flag]], ...] = (
    ("KIND", pptf.Kind),
    ("MACHINE", pptf.MachineNumber),
    ("ENTRY", pptf.EntryFlag),
    ("KERNEL", pptf.KernelFlag),
    ("CODE", pptf.CodeFlag),
    ("ARGUMENT", pptf.ArgumentKind),
    ("ACCESS", pptf.ArgumentAccess),
    ("ROLE", pptf.ArgumentRole),
)

_INTRODUCTION = """\
/* PPTF version {major}, the file format of pptc: records, enumerations and feature bits.
 *
 * Generated from pptc/link/format.py by `python -m pptc.link.format_header`; edit that file instead.
 * Files are little endian. Records are read field by field with pptf_*_read from memory that the
 * caller has checked to hold PPTF_*_SIZE bytes; a record is never cast onto a file.
 */
#ifndef PPTC_FATBIN_H
#define PPTC_FATBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {{
#define PPTF_STATIC_ASSERT(condition, sentence) static_assert(condition, sentence)
#else
#define PPTF_STATIC_ASSERT(condition, sentence) _Static_assert(condition, sentence)
#endif

#define PPTF_VERSION_MAJOR {major}u
#define PPTF_VERSION_MINOR {minor}u
#define PPTF_MAGIC "{magic}"
#define PPTF_MAGIC_SIZE {magic_size}u
#define PPTF_SECTION_NAME "{section}"
#define PPTF_TABLE_ALIGN {table_align}u
#define PPTF_PAYLOAD_ALIGN {payload_align}u
"""

_WORDS = """\
static inline uint16_t pptf_u16(const unsigned char *bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t pptf_u32(const unsigned char *bytes) {
  return pptf_u16(bytes) | (uint32_t)pptf_u16(bytes + 2) << 16;
}

static inline uint64_t pptf_u64(const unsigned char *bytes) {
  return pptf_u32(bytes) | (uint64_t)pptf_u32(bytes + 4) << 32;
}
"""

_END = """\
#ifdef __cplusplus
}
#endif

#endif
"""


def header() -> str:
    """The text of pptc_fatbin.h."""
    magic = "".join(chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in pptf.MAGIC)
    introduction = _INTRODUCTION.format(
        major=pptf.VERSION_MAJOR,
        minor=pptf.VERSION_MINOR,
        magic=magic,
        magic_size=len(pptf.MAGIC),
        section=pptf.SECTION_NAME,
        table_align=pptf.TABLE_ALIGN,
        payload_align=pptf.PAYLOAD_ALIGN,
    )
    blocks = [introduction]
    blocks += [_enumeration(prefix, members) for prefix, members in _ENUMS]
    blocks += [_features(machine, names) for machine, names in pptf.FEATURES.items()]
    blocks.append(_WORDS)
    blocks += [_record(record) for record in pptf.RECORDS]
    return "\n".join([*blocks, _END])


def _enumeration(prefix: str, members: Iterable[pptf.Word | pptf.Flag]) -> str:
    lines = [f"#define PPTF_{prefix}_{m.name} {int(m)}u /* {m.doc} */" for m in members]
    return "\n".join(lines) + "\n"


def _features(machine: pptf.MachineNumber, names: Iterable[str]) -> str:
    """A list macro: X(constant, name, bit)."""
    rows = [f'X({re.sub(r"[^a-z0-9]", "_", n).upper()}, "{n}", {bit})' for bit, n in enumerate(names)]
    return (
        f"/* X(constant, LLVM's name, bit) */\n#define PPTF_{machine.name}_FEATURES(X) \\\n  "
        + " \\\n  ".join(rows)
        + "\n"
    )


def _record(record: type[Record]) -> str:
    name = "pptf_" + re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).lower()
    upper = name.upper()
    doc = (record.__doc__ or "").strip()
    lines = [f"/* {doc} */", f"typedef struct {name} {{", *map(_field, record.MEMBERS), f"}} {name};", ""]
    lines += [f"#define {upper}_SIZE {record.size()}u", ""]
    lines.append(f'PPTF_STATIC_ASSERT(sizeof({name}) == {upper}_SIZE, "layout of {name}");')
    lines += [
        f'PPTF_STATIC_ASSERT(offsetof({name}, {m.name}) == {m.offset}, "layout of {name}");'
        for m in record.MEMBERS
    ]
    lines += ["", f"static inline void {name}_read({name} *out, const unsigned char *bytes) {{"]
    lines += [f"  {_read(m)}" for m in record.MEMBERS]
    return "\n".join([*lines, "}", ""])


def _field(member: Member) -> str:
    count = f"[{member.count}]" if member.count > 1 else ""
    comment = f" /* {member.doc} */" if member.doc else ""
    return f"  {_C_TYPES[member.kind]} {member.name}{count};{comment}"


def _read(member: Member) -> str:
    if member.kind == "bytes":
        return f"memcpy(out->{member.name}, bytes + {member.offset}, {member.count});"
    if member.count > 1:
        word = member.size // member.count
        step = f"bytes + {member.offset} + {word} * i"
        return f"for (int i = 0; i < {member.count}; i++) out->{member.name}[i] = {_word(member, step)};"
    return f"out->{member.name} = {_word(member, f'bytes + {member.offset}' if member.offset else 'bytes')};"


def _word(member: Member, place: str) -> str:
    if member.kind == "u8":
        return f"*({place})"
    return f"pptf_{member.kind}({place})"


if __name__ == "__main__":
    sys.stdout.write(header())
