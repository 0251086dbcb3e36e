"""Records: binary structures declared once, as dataclasses, and packed little endian exactly as declared.

Both ELF and PPTF are made of them. A record knows the offset, the width and the meaning of each member, so that C
headers and man pages can be written from it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import Field, dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

_CODES = MappingProxyType({"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q", "bytes": "s"})


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a record. `count` is the number of words, or of bytes for the kind `bytes`."""

    name: str
    kind: str
    count: int
    offset: int
    doc: str

    @property
    def size(self) -> int:
        """Bytes of the whole member."""
        return self.count * struct.calcsize("<" + _CODES[self.kind])


def _member(kind: str, doc: str, count: int = 1, default: object = 0) -> Any:
    return field(default=default, metadata={"kind": kind, "count": count, "doc": doc})


def u8(doc: str = "") -> Any:
    """An unsigned byte."""
    return _member("u8", doc)


def u16(doc: str = "") -> Any:
    """An unsigned 16-bit word."""
    return _member("u16", doc)


def u32(doc: str = "") -> Any:
    """An unsigned 32-bit word."""
    return _member("u32", doc)


def u64(doc: str = "") -> Any:
    """An unsigned 64-bit word."""
    return _member("u64", doc)


def i64(doc: str = "") -> Any:
    """A signed 64-bit word."""
    return _member("i64", doc)


def u64s(count: int, doc: str = "") -> Any:
    """A tuple of unsigned 64-bit words."""
    return _member("u64", doc, count, (0,) * count)


def octets(count: int, doc: str = "") -> Any:
    """A fixed number of bytes."""
    return _member("bytes", doc, count, bytes(count))


class Record:
    """Base of all records; subclasses are dataclasses whose fields are made by `u8` .. `octets`."""

    MEMBERS: ClassVar[tuple[Member, ...]]
    """The members in order, with their offsets."""
    _CODEC: ClassVar[struct.Struct]

    def __init_subclass__(cls) -> None:
        members: list[Member] = []
        offset = 0
        for name, item in vars(cls).items():
            if isinstance(item, Field):
                data = item.metadata
                members.append(Member(name, data["kind"], data["count"], offset, data["doc"]))
                offset += members[-1].size
        cls.MEMBERS = tuple(members)
        cls._CODEC = struct.Struct("<" + "".join(map(_code, members)))

    @classmethod
    def size(cls) -> int:
        """Bytes of one record."""
        return cls._CODEC.size

    @classmethod
    def unpack(cls, data: bytes | bytearray | memoryview, offset: int = 0) -> Self:
        """The record at `offset`; the caller has checked that it lies within `data`."""
        words = iter(cls._CODEC.unpack_from(data, offset))
        return cls(**{m.name: _take(m, words) for m in cls.MEMBERS})

    def pack(self) -> bytes:
        """The bytes of the record."""
        words: list[object] = []
        for member in self.MEMBERS:
            value = getattr(self, member.name)
            words += value if isinstance(value, tuple) else (value,)
        return self._CODEC.pack(*words)


def _code(member: Member) -> str:
    count = str(member.count) if member.kind == "bytes" or member.count > 1 else ""
    return count + _CODES[member.kind]


def _take(member: Member, words: Iterator[Any]) -> Any:
    if member.kind == "bytes" or member.count == 1:
        return next(words)
    return tuple(next(words) for _ in range(member.count))


class StringTable:
    """Texts ended by NUL, each stored once; offset 0 is the empty text."""

    def __init__(self) -> None:
        self.data = bytearray(1)
        self._offsets = {"": 0}

    def add(self, text: str) -> int:
        """The offset of a text."""
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._offsets[text]
