"""PPTF version 1, the single declaration: records, enumerations and feature words, all little endian.

A file is: header, entry table, tables (strings, string map, kernel rows, signature), then the payloads, aligned and in
the order of the entries, with zeros between. The content id covers header and entry table, the header holds the hash of
the tables, each entry that of its payload; so no bit of a stand-alone file is outside of a hash. The C header
`pptc_fatbin.h` is written from this file by `format_header.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from types import MappingProxyType
from typing import Self

from pptc.link.records import Record, octets, u8, u16, u32, u64, u64s

MAGIC = b"PPTF\r\n\x1a\0"
VERSION_MAJOR, VERSION_MINOR = 1, 0
SECTION_NAME = "pptfat"
"""The ELF section that carries a PPTF in a host object; a C identifier, so that __start_pptfat exists."""

KERNEL_ABI_VERSION = 1
"""Version of the interface of `pptc_kernel.h`."""

TABLE_ALIGN = 8
PAYLOAD_ALIGN = 64
"""Least alignment of a payload, of a stand-alone file in memory and of the section pptfat."""


class Word(IntEnum):
    """An enumeration whose members say what they mean."""

    doc: str

    def __new__(cls, value: int, doc: str) -> Self:
        """A member with its sentence."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.doc = doc
        return member


class Flag(IntFlag):
    """Flags that say what they mean."""

    doc: str

    def __new__(cls, value: int, doc: str = "") -> Self:
        """A member with its sentence."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.doc = doc
        return member


class Kind(Word):
    """What an entry's payload is."""

    IMAGE = 1, "Code in the image that carries the file; the payload is a table of distances to its kernels."
    ELF_SHARED = 2, "A shared image for a CPU."
    ELF_OBJECT = 3, "A relocatable object."
    PTX = 4, "Text for a CUDA driver."
    CUBIN = 5, "Machine code for a CUDA driver."
    HSACO = 6, "A code object for a HIP driver."
    SPIRV = 7, "SPIR-V."
    LLVM_BITCODE = 8, "LLVM bitcode."
    CCE_SOURCE = 9, "C++ for Ascend's compiler."
    CCE_BINARY = 10, "Machine code for an Ascend driver."
    PLAN = 11, "Launch plan of core entries."
    PARAMETERS = 12, "Weights."
    METADATA = 13, "Text about the file."
    ASSEMBLY = 14, "Assembly text, for simulation."


class MachineNumber(Word):
    """The machine of an entry: numbers of ELF's e_machine, 0 for entries that fit any."""

    ANY = 0, "Fits any machine."
    X86_64 = 62, "x86-64."
    AARCH64 = 183, "AArch64."
    CUDA = 190, "NVIDIA."
    AMDGPU = 224, "AMD."


class EntryFlag(Flag):
    """Flags of an entry."""

    REQUIRED = 1, "A reader that does not know this entry's kind or flags must refuse the file."
    COMPRESSED = 2, "The payload is a zstd frame of raw_size bytes."
    DEBUG = 4, "The payload carries debug information."
    NO_HASH = 8, "The payload is finished by a system linker and has no hash (entries of kind IMAGE)."


class KernelFlag(Flag):
    """Flags of a kernel in the signature."""

    USES_GRID = 1, "Blocks of a grid do different work; other kernels run as one block."
    MAY_ALIAS = 2, "Arguments may overlap each other in any way."


class CodeFlag(Flag):
    """Flags of a kernel's code."""

    DIVISIBLE = 1, "One block may run as any number of blocks, which share its work."
    CONCURRENT = 2, "Blocks wait for each other: all of a launch run at the same time."


class ArgumentKind(Word):
    """What is passed for an argument."""

    POINTER = 0, "The address of an array."
    SCALAR = 1, "A value."


class ArgumentAccess(Flag):
    """What a kernel does to the memory behind a pointer."""

    READ = 1, "It may read."
    WRITE = 2, "It may write."


class ArgumentRole(Word):
    """Arguments that the launch fills in by itself."""

    PASSED = 0, "An ordinary argument, passed by the caller."
    BLOCK_IDX = 1, "The number of the block."
    BLOCK_NUM = 2, "The number of blocks."
    SUBBLOCK_IDX = 3, "The number of the vector sub-block."


@dataclass
class Header(Record):
    """The first bytes of a PPTF."""

    magic: bytes = octets(8, "PPTF CR LF ^Z NUL: shows damage by text mode")
    version_major: int = u16("a reader refuses other major versions")
    version_minor: int = u16("higher ones only append")
    header_size: int = u32("bytes of this record")
    total_size: int = u64("bytes of the whole file")
    flags: int = u64("none is defined")
    entry_count: int = u32("rows of the entry table")
    entry_size: int = u32("bytes of a row")
    entries_offset: int = u64("equals header_size")
    strings_offset: int = u64("string table: NUL-terminated UTF-8, first byte NUL")
    strings_size: int = u64()
    signature_offset: int = u64("kernels and their arguments")
    signature_size: int = u64()
    parameters_offset: int = u64("weights in this file, 0 when they are external")
    parameters_size: int = u64()
    content_id: bytes = octets(32, "sha256 of this record with this field zero, followed by the entry table")
    kernels_offset: int = u64("table of kernel rows, all entries' in order")
    kernels_size: int = u64()
    map_offset: int = u64("string map: pairs of u32 offsets of strings")
    map_size: int = u64()
    tables_size: int = u64("bytes between the entry table and the first payload, padding left out")
    reserved: int = u64("zero")
    tables_hash: bytes = octets(32, "sha256 of these bytes")


@dataclass
class Entry(Record):
    """A row of the entry table: one payload and what it needs."""

    kind: int = u16("PPTF_KIND_*")
    machine: int = u16("PPTF_MACHINE_*")
    flags: int = u32("PPTF_ENTRY_*")
    offset: int = u64("of the payload")
    payload_size: int = u64("bytes in the file")
    raw_size: int = u64("bytes after decompression")
    align: int = u32("of the payload, in the file and in memory")
    rank: int = u32("of the entries that fit a machine, the highest runs")
    features: tuple[int, ...] = u64s(4, "feature bits that the machine must have")
    min_vl: int = u16("least vector length in bits, 0: any")
    max_vl: int = u16("largest vector length in bits, 0: any")
    arch: int = u32("number of the GPU architecture")
    isa_version: int = u32("78 for PTX 7.8")
    target: int = u32("string: name of the target")
    triple: int = u32("string: LLVM triple")
    producer: int = u32("string: the compiler")
    options: int = u32("string: options that shaped the code")
    map_first: int = u32("first pair of the string map")
    map_count: int = u32("number of pairs")
    kernel_first: int = u32("first row of the kernel table")
    kernel_count: int = u32("number of rows")
    abi_version: int = u32("kernel ABI of CPU code, PPT_KERNEL_ABI_VERSION")
    reserved: int = u64("zero")
    payload_hash: bytes = octets(32, "sha256 of the raw payload")


@dataclass
class Kernel(Record):
    """A row of the kernel table: where an entry's code has a kernel."""

    signature: int = u32("number of the kernel in the signature")
    symbol: int = u32("string: its symbol in the payload")
    address: int = u64("relative to the image; for IMAGE the offset of a distance in the payload")
    scratch_bytes: int = u64("memory that one running block needs; of a pair, each of its threads")
    threads: int = u32("that run one block: of a GPU, or the cores of a pair")
    shared_bytes: int = u32("of memory that they share")
    flags: int = u32("CodeFlag")
    reserved: int = u32("zero")


@dataclass
class SignatureHeader(Record):
    """The first bytes of the signature; the rows of the three tables follow in this order."""

    header_size: int = u32("bytes of this record")
    kernel_size: int = u32("bytes of a kernel row")
    kernel_count: int = u32()
    argument_size: int = u32("bytes of an argument row")
    argument_count: int = u32()
    pair_size: int = u32("bytes of an in-place pair")
    pair_count: int = u32()
    reserved: int = u32("zero")


@dataclass
class SignatureKernel(Record):
    """A kernel, the same in all entries."""

    name: int = u32("string")
    flags: int = u32("PPTF_KERNEL_*")
    argument_first: int = u32()
    argument_count: int = u32()
    pair_first: int = u32()
    pair_count: int = u32()


@dataclass
class SignatureArgument(Record):
    """An argument of a kernel."""

    name: int = u32("string")
    kind: int = u8("PPTF_ARGUMENT_*")
    role: int = u8("PPTF_ROLE_*")
    access: int = u16("PPTF_ACCESS_*")
    dtype_code: int = u8("DLPack type code")
    dtype_bits: int = u8()
    dtype_lanes: int = u16()
    reserved: int = u32("zero")


@dataclass
class SignaturePair(Record):
    """Two arguments that may be the very same memory."""

    written: int = u16("number of an argument of the kernel")
    read: int = u16("number of an argument of the kernel")


RECORDS: tuple[type[Record], ...] = (
    Header, Entry, Kernel, SignatureHeader, SignatureKernel, SignatureArgument, SignaturePair,
)  # fmt: skip

# Feature bits by machine, named in LLVM's spelling; a name keeps its position for ever, new ones are appended.
_X86 = (
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt",
    "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512bf16", "avx512vnni", "avx512fp16",
    "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "avxvnni", "avxifma", "avxvnniint8",
    "avxneconvert", "gfni", "aes", "vaes", "pclmul", "vpclmulqdq", "sha", "amx-tile", "amx-int8", "amx-bf16",
    "amx-fp16",
)  # fmt: skip
_AARCH64 = (
    "neon", "fullfp16", "dotprod", "bf16", "i8mm", "sve", "sve2", "fp16fml", "lse", "rdm", "f32mm", "f64mm", "sme",
)  # fmt: skip

FEATURES: Mapping[MachineNumber, tuple[str, ...]] = MappingProxyType(
    {MachineNumber.X86_64: _X86, MachineNumber.AARCH64: _AARCH64}
)
"""The names of the feature bits of each machine, bit 0 first."""
