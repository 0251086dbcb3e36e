"""Bytes of PPTF -> FatFile. The file is believed in nothing: every offset is bounded, every hash is checked (P0304)."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TypeVar

from pptc.diag import CompileError, fail
from pptc.ir.dlpack import scalar_type
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.spmd import ROLES
from pptc.link import format as pptf
from pptc.link.elf_format import align_up
from pptc.link.fatfile import FatEntry, FatFile, FatKernel, content_id
from pptc.link.records import Record

R = TypeVar("R", bound=Record)
E = TypeVar("E", bound=IntEnum)


def read(data: bytes) -> FatFile:
    """The file at the start of `data`. Raises CompileError P0304 with what is wrong."""
    return _Reader(data).read()


def split(data: bytes) -> list[bytes]:
    """The files that a linker has put one after the other, zeros between them."""
    files = []
    offset = 0
    while offset < len(data):
        if data[offset] == 0:
            offset += pptf.PAYLOAD_ALIGN - offset % pptf.PAYLOAD_ALIGN
            continue
        size = _header(data[offset:]).total_size
        files.append(data[offset : offset + size])
        offset += size
    return files


def _damaged(what: str) -> CompileError:
    return fail("P0304", f"damaged fat file: {what}")


def _header(data: bytes) -> pptf.Header:
    if data[: len(pptf.MAGIC)] != pptf.MAGIC:
        raise _damaged("it does not begin with the magic of PPTF")
    if len(data) < pptf.Header.size():
        raise _damaged("it ends within the header")
    header = pptf.Header.unpack(data)
    if header.version_major != pptf.VERSION_MAJOR:
        raise _damaged(f"version {header.version_major}, this reader knows {pptf.VERSION_MAJOR}")
    if header.header_size < pptf.Header.size() or header.entry_size < pptf.Entry.size():
        raise _damaged("header or entry table row are shorter than those of version 1.0")
    if not header.header_size <= header.total_size <= len(data):
        raise _damaged(f"{header.total_size} bytes are announced, {len(data)} are there")
    return header


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.header = _header(data)
        self.data = data[: self.header.total_size]

    def read(self) -> FatFile:
        header = self.header
        rows = self.entry_rows()
        self.strings = self.slice(header.strings_offset, header.strings_size, "string table")
        self.check_payloads(rows)
        signatures = self.signatures()
        table = self.rows(
            pptf.Kernel, header.kernels_offset, header.kernels_size // pptf.Kernel.size(), "kernels"
        )
        names = [signature.name for signature in signatures]
        return FatFile(signatures, tuple(self.entry(row, table, names) for row in rows))

    # -- hashes and bounds

    def entry_rows(self) -> list[pptf.Entry]:
        header = self.header
        size, stride = header.header_size, header.entry_size
        end = size + header.entry_count * stride
        table = self.slice(size, end - size, "entry table")
        if header.entries_offset != size or header.flags or header.reserved:
            raise _damaged("unknown flags or layout")
        if content_id(self.data[:size], table) != header.content_id:
            raise _damaged("header or entry table do not match the content id")
        tables = self.slice(end, header.tables_size, "tables")
        if hashlib.sha256(tables).digest() != header.tables_hash:
            raise _damaged("the tables do not match their hash")
        return [pptf.Entry.unpack(table, i * stride) for i in range(header.entry_count)]

    def check_payloads(self, rows: list[pptf.Entry]) -> None:
        header = self.header
        end = header.header_size + len(rows) * header.entry_size + header.tables_size
        for number, row in enumerate(rows):
            align = row.align
            if (
                align & (align - 1)
                or not pptf.PAYLOAD_ALIGN <= align <= 1 << 20
                or row.offset != align_up(end, align)
            ):
                raise _damaged(f"entry {number} does not follow the one before it")
            payload = self.slice(row.offset, row.payload_size, f"payload of entry {number}")
            hashed = row.kind != pptf.Kind.IMAGE
            if hashed == bool(row.flags & pptf.EntryFlag.NO_HASH):
                raise _damaged(f"entry {number} says the wrong thing about its hash")
            if hashed and hashlib.sha256(payload).digest() != row.payload_hash:
                raise _damaged(f"the payload of entry {number} does not match its hash")
            if any(self.data[end : row.offset]):
                raise _damaged(f"bytes before entry {number} belong to nothing")
            end = row.offset + row.payload_size
        if end != header.total_size:
            raise _damaged("bytes at the end belong to nothing")

    def slice(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self.data):
            raise _damaged(f"the {what} ends beyond the file")
        return self.data[offset : offset + size]

    def rows(self, record: type[R], offset: int, count: int, what: str) -> list[R]:
        data = self.slice(offset, count * record.size(), what)
        return [record.unpack(data, i * record.size()) for i in range(count)]

    def text(self, offset: int) -> str:
        end = self.strings.find(b"\0", offset)
        if end < 0:
            raise _damaged("a string ends beyond the string table")
        return self.strings[offset:end].decode("utf-8", "replace")

    # -- entries

    def entry(self, row: pptf.Entry, kernels: list[pptf.Kernel], names: list[str]) -> FatEntry:
        if row.kernel_first + row.kernel_count > len(kernels):
            raise _damaged("an entry has kernels that do not exist")
        own = kernels[row.kernel_first : row.kernel_first + row.kernel_count]
        if any(kernel.signature >= len(names) for kernel in own):
            raise _damaged("a kernel has a signature that does not exist")
        return FatEntry(
            kind=_member(pptf.Kind, row.kind, "kind"),
            machine=_member(pptf.MachineNumber, row.machine, "machine"),
            target=self.text(row.target),
            payload=self.data[row.offset : row.offset + row.payload_size],
            kernels=tuple(
                FatKernel(
                    names[kernel.signature],
                    self.text(kernel.symbol),
                    kernel.address,
                    kernel.scratch_bytes,
                    kernel.threads,
                    kernel.shared_bytes,
                    bool(kernel.flags & pptf.CodeFlag.DIVISIBLE),
                )
                for kernel in own
            ),
            flags=row.flags,
            rank=row.rank,
            features=_feature_names(row),
            min_vl=row.min_vl,
            max_vl=row.max_vl,
            arch=row.arch,
            isa_version=row.isa_version,
            abi_version=row.abi_version,
            align=row.align,
            triple=self.text(row.triple),
            producer=self.text(row.producer),
            options=self.text(row.options),
            strings=self.pairs(row.map_first, row.map_count),
        )

    def pairs(self, first: int, count: int) -> tuple[tuple[str, str], ...]:
        if 8 * (first + count) > self.header.map_size:
            raise _damaged("an entry has strings that do not exist")
        data = self.slice(self.header.map_offset + 8 * first, 8 * count, "string map")
        words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
        return tuple(
            (self.text(key), self.text(value)) for key, value in zip(words[::2], words[1::2], strict=True)
        )

    # -- signature

    def signatures(self) -> tuple[KernelSignature, ...]:
        start = self.header.signature_offset
        self.slice(start, max(self.header.signature_size, pptf.SignatureHeader.size()), "signature")
        head = pptf.SignatureHeader.unpack(self.data, start)
        sizes = (pptf.SignatureKernel.size(), pptf.SignatureArgument.size(), pptf.SignaturePair.size())
        if (head.kernel_size, head.argument_size, head.pair_size) != sizes:
            raise _damaged("the rows of the signature have unknown sizes")
        offset = start + head.header_size
        kernels = self.rows(pptf.SignatureKernel, offset, head.kernel_count, "signature")
        offset += head.kernel_count * head.kernel_size
        arguments = self.rows(pptf.SignatureArgument, offset, head.argument_count, "signature")
        offset += head.argument_count * head.argument_size
        pairs = self.rows(pptf.SignaturePair, offset, head.pair_count, "signature")
        return tuple(self.signature(kernel, arguments, pairs) for kernel in kernels)

    def signature(
        self,
        kernel: pptf.SignatureKernel,
        arguments: list[pptf.SignatureArgument],
        pairs: list[pptf.SignaturePair],
    ) -> KernelSignature:
        last_argument = kernel.argument_first + kernel.argument_count
        last_pair = kernel.pair_first + kernel.pair_count
        if last_argument > len(arguments) or last_pair > len(pairs):
            raise _damaged("a kernel has arguments that do not exist")
        return KernelSignature(
            self.text(kernel.name),
            tuple(self.argument(row) for row in arguments[kernel.argument_first : last_argument]),
            bool(kernel.flags & pptf.KernelFlag.USES_GRID),
            tuple((pair.written, pair.read) for pair in pairs[kernel.pair_first : last_pair]),
            bool(kernel.flags & pptf.KernelFlag.MAY_ALIAS),
        )

    def argument(self, row: pptf.SignatureArgument) -> Argument:
        dtype = scalar_type(row.dtype_code, row.dtype_bits, row.dtype_lanes)
        if dtype is None or row.role >= len(ROLES):
            raise _damaged("an argument of unknown type or role")
        return Argument(
            name=self.text(row.name),
            kind="pointer" if row.kind == pptf.ArgumentKind.POINTER else "scalar",
            dtype=dtype,
            reads=bool(row.access & pptf.ArgumentAccess.READ),
            writes=bool(row.access & pptf.ArgumentAccess.WRITE),
            role=ROLES[row.role],
        )


def _member(enumeration: type[E], value: int, what: str) -> E:
    found = next((member for member in enumeration if member == value), None)
    if found is None:
        raise _damaged(f"an entry of the unknown {what} {value}")
    return found


def _feature_names(row: pptf.Entry) -> tuple[str, ...]:
    known = pptf.FEATURES.get(_member(pptf.MachineNumber, row.machine, "machine"), ())
    bits = sum(word << 64 * i for i, word in enumerate(row.features))
    return tuple(known[i] if i < len(known) else f"feature-{i}" for i in range(256) if bits >> i & 1)
