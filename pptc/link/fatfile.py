"""FatFile: a PPTF file in memory, and its bytes. Writing is deterministic; `fatfile_reader.py` reads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from pptc.diag import fail
from pptc.ir.dlpack import dlpack_type
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.spmd import ROLES
from pptc.link import format as pptf
from pptc.link.elf_format import align_up
from pptc.link.records import Record, StringTable


@dataclass(frozen=True, slots=True)
class FatKernel:
    """Where an entry has a kernel: `address` as in `format.Kernel`."""

    name: str
    symbol: str
    address: int = 0
    scratch_bytes: int = 0
    threads: int = 0
    shared_bytes: int = 0
    divisible: bool = False
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class FatEntry:
    """One payload and what it needs. `flags` are `format.EntryFlag`, `features` names of `format.FEATURES`."""

    kind: pptf.Kind
    machine: pptf.MachineNumber
    target: str
    payload: bytes = field(repr=False)
    kernels: tuple[FatKernel, ...] = ()
    flags: int = 0
    rank: int = 0
    features: tuple[str, ...] = ()
    min_vl: int = 0
    max_vl: int = 0
    arch: int = 0
    isa_version: int = 0
    abi_version: int = 0
    align: int = pptf.PAYLOAD_ALIGN
    triple: str = ""
    producer: str = ""
    options: str = ""
    strings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FatFile:
    """A whole file: the kernels, and the entries that hold them."""

    kernels: tuple[KernelSignature, ...]
    entries: tuple[FatEntry, ...]


# ---------------------------------------------------------------- writing


def write(file: FatFile) -> bytes:
    """The bytes of the file."""
    writer = _Writer()
    signature = writer.signature(file.kernels)
    numbers = {kernel.name: i for i, kernel in enumerate(file.kernels)}
    rows = [writer.entry(entry, numbers) for entry in file.entries]
    return writer.finish(rows, [entry.payload for entry in file.entries], signature)


class _Writer:
    """Collects the tables that entries and signature point into."""

    def __init__(self) -> None:
        self.strings = StringTable()
        self.pairs: list[int] = []
        self.kernels: list[pptf.Kernel] = []

    def signature(self, kernels: Sequence[KernelSignature]) -> bytes:
        rows: list[Record] = []
        arguments: list[Record] = []
        pairs: list[Record] = []
        for kernel in kernels:
            row = pptf.SignatureKernel(
                name=self.strings.add(kernel.name),
                flags=pptf.KernelFlag.USES_GRID * kernel.uses_grid
                | pptf.KernelFlag.MAY_ALIAS * kernel.may_alias,
                argument_first=len(arguments),
                argument_count=len(kernel.arguments),
                pair_first=len(pairs),
                pair_count=len(kernel.in_place),
            )
            rows.append(row)
            arguments += [self.argument(argument) for argument in kernel.arguments]
            pairs += [pptf.SignaturePair(*pair) for pair in kernel.in_place]
        header = pptf.SignatureHeader(
            header_size=pptf.SignatureHeader.size(),
            kernel_size=pptf.SignatureKernel.size(),
            kernel_count=len(rows),
            argument_size=pptf.SignatureArgument.size(),
            argument_count=len(arguments),
            pair_size=pptf.SignaturePair.size(),
            pair_count=len(pairs),
        )
        return b"".join(record.pack() for record in [header, *rows, *arguments, *pairs])

    def argument(self, argument: Argument) -> pptf.SignatureArgument:
        code, bits, lanes = dlpack_type(argument.dtype)
        kinds = pptf.ArgumentKind
        access = pptf.ArgumentAccess
        return pptf.SignatureArgument(
            name=self.strings.add(argument.name),
            kind=kinds.POINTER if argument.kind == "pointer" else kinds.SCALAR,
            role=ROLES.index(argument.role),
            access=(access.READ if argument.reads else 0) | (access.WRITE if argument.writes else 0),
            dtype_code=code,
            dtype_bits=bits,
            dtype_lanes=lanes,
        )

    def entry(self, entry: FatEntry, numbers: dict[str, int]) -> pptf.Entry:
        row = pptf.Entry(
            kind=entry.kind,
            machine=entry.machine,
            flags=entry.flags,
            payload_size=len(entry.payload),
            raw_size=len(entry.payload),
            align=entry.align,
            rank=entry.rank,
            features=_feature_words(entry),
            min_vl=entry.min_vl,
            max_vl=entry.max_vl,
            arch=entry.arch,
            isa_version=entry.isa_version,
            abi_version=entry.abi_version,
            target=self.strings.add(entry.target),
            triple=self.strings.add(entry.triple),
            producer=self.strings.add(entry.producer),
            options=self.strings.add(entry.options),
            map_first=len(self.pairs) // 2,
            map_count=len(entry.strings),
            kernel_first=len(self.kernels),
            kernel_count=len(entry.kernels),
        )
        if not entry.flags & pptf.EntryFlag.NO_HASH:
            row.payload_hash = hashlib.sha256(entry.payload).digest()
        self.pairs += [self.strings.add(text) for pair in entry.strings for text in pair]
        self.kernels += [
            pptf.Kernel(
                signature=numbers[kernel.name],
                symbol=self.strings.add(kernel.symbol),
                address=kernel.address,
                scratch_bytes=kernel.scratch_bytes,
                threads=kernel.threads,
                shared_bytes=kernel.shared_bytes,
                flags=pptf.CodeFlag.DIVISIBLE * kernel.divisible
                | pptf.CodeFlag.CONCURRENT * kernel.concurrent,
            )
            for kernel in entry.kernels
        ]
        return row

    def finish(self, rows: list[pptf.Entry], payloads: list[bytes], signature: bytes) -> bytes:
        header = pptf.Header(
            magic=pptf.MAGIC,
            version_major=pptf.VERSION_MAJOR,
            version_minor=pptf.VERSION_MINOR,
            header_size=pptf.Header.size(),
            entry_count=len(rows),
            entry_size=pptf.Entry.size(),
            entries_offset=pptf.Header.size(),
        )
        tables = self.tables(header, pptf.Header.size() + len(rows) * pptf.Entry.size(), signature)
        body = bytearray()
        start = header.entries_offset + len(rows) * pptf.Entry.size() + len(tables)
        for row, payload in zip(rows, payloads, strict=True):
            end = start + len(body)
            body += bytes(align_up(end, row.align) - end)
            row.offset = start + len(body)
            body += payload
        header.total_size = start + len(body)
        table = b"".join(row.pack() for row in rows)
        header.content_id = content_id(header.pack(), table)
        return header.pack() + table + tables + bytes(body)

    def tables(self, header: pptf.Header, start: int, signature: bytes) -> bytes:
        """The bytes between the entry table and the payloads; their places and hash go into the header."""
        out = bytearray()

        def put(data: bytes | bytearray) -> tuple[int, int]:
            out.extend(bytes(-(start + len(out)) % pptf.TABLE_ALIGN))
            offset = start + len(out)
            out.extend(data)
            return offset, len(data)

        pairs = b"".join(offset.to_bytes(4, "little") for offset in self.pairs)
        header.kernels_offset, header.kernels_size = put(b"".join(row.pack() for row in self.kernels))
        header.map_offset, header.map_size = put(pairs)
        header.signature_offset, header.signature_size = put(signature)
        header.strings_offset, header.strings_size = put(self.strings.data)
        header.tables_size = len(out)
        header.tables_hash = hashlib.sha256(out).digest()
        return bytes(out)


def content_id(header: bytes, entry_table: bytes) -> bytes:
    """The identity of a file: the hash of its header, with zeros for the id, and of the entry table."""
    member = next(m for m in pptf.Header.MEMBERS if m.name == "content_id")
    blank = header[: member.offset] + bytes(member.size) + header[member.offset + member.size :]
    return hashlib.sha256(blank + entry_table).digest()


def _feature_words(entry: FatEntry) -> tuple[int, ...]:
    known = pptf.FEATURES.get(entry.machine, ())
    bits = 0
    for name in entry.features:
        if name not in known:
            raise fail(
                "P0402", f"target {entry.target} requires '{name}', a feature that PPTF has no bit for"
            )
        bits |= 1 << known.index(name)
    return tuple(bits >> 64 * i & (1 << 64) - 1 for i in range(4))
