"""PPTF: what is written is read, what is damaged is refused, and the C view is that of the declaration."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pptc.diag import CompileError
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.spmd import ROLES
from pptc.ir.types import BF16, F32, I32, I64, SCALARS
from pptc.link import fatfile_reader
from pptc.link import format as pptf
from pptc.link.fatfile import FatEntry, FatFile, FatKernel, write
from pptc.link.format_header import header
from tests.link import golden
from tests.link.c_objects import INCLUDE

WORDS = st.text("abcxyz_.0123é", min_size=1, max_size=9)
TYPES = st.sampled_from([t for t in SCALARS.values() if t.kind != "index" and not t.name.startswith("si")])
ARGUMENTS = st.builds(
    Argument,
    WORDS,
    st.sampled_from(["pointer", "scalar"]),
    TYPES,
    st.booleans(),
    st.booleans(),
    st.sampled_from(ROLES),
)


@st.composite
def files(draw: st.DrawFn) -> FatFile:
    names = draw(st.lists(WORDS, max_size=4, unique=True))
    kernels = []
    for name in names:
        arguments = draw(st.lists(ARGUMENTS, max_size=4))
        number = st.integers(0, max(0, len(arguments) - 1))
        pairs = draw(st.lists(st.tuples(number, number), max_size=2)) if arguments else []
        kernels.append(
            KernelSignature(name, tuple(arguments), draw(st.booleans()), tuple(pairs), draw(st.booleans()))
        )
    return FatFile(tuple(kernels), tuple(draw(st.lists(entries(names), max_size=3))))


@st.composite
def entries(draw: st.DrawFn, names: list[str]) -> FatEntry:
    machine = draw(st.sampled_from(list(pptf.MachineNumber)))
    known = pptf.FEATURES.get(machine, ())
    word, wide = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)
    kernel = (
        st.builds(FatKernel, st.sampled_from(names), WORDS, wide, wide, word, word) if names else st.nothing()
    )
    kind = draw(st.sampled_from(list(pptf.Kind)))
    hashed = 0 if kind != pptf.Kind.IMAGE else int(pptf.EntryFlag.NO_HASH)
    return FatEntry(
        kind=kind,
        machine=machine,
        target=draw(WORDS),
        payload=draw(st.binary(max_size=200)),
        kernels=tuple(draw(st.lists(kernel, max_size=3))) if names else (),
        flags=hashed | draw(st.sampled_from([0, int(pptf.EntryFlag.DEBUG)])),
        rank=draw(word),
        features=tuple(name for name in known if draw(st.booleans())),
        min_vl=draw(st.integers(0, 2048)),
        max_vl=draw(st.integers(0, 2048)),
        arch=draw(word),
        isa_version=draw(word),
        abi_version=draw(word),
        align=draw(st.sampled_from([64, 128, 4096])),
        triple=draw(WORDS),
        producer=draw(WORDS),
        options=draw(WORDS),
        strings=tuple(draw(st.lists(st.tuples(WORDS, WORDS), max_size=2))),
    )


@given(files())
def test_what_is_written_is_read(file: FatFile) -> None:
    data = write(file)
    assert fatfile_reader.read(data) == file
    assert write(fatfile_reader.read(data)) == data
    assert fatfile_reader.read(data + b"more") == file


@given(st.lists(files(), min_size=1, max_size=3))
def test_concatenations_are_walked(several: list[FatFile]) -> None:
    blobs = [write(file) for file in several]
    joined = b"".join(blob + bytes(-len(blob) % 64) for blob in blobs)
    assert fatfile_reader.split(joined) == blobs


def test_offsets_by_hand() -> None:
    """Reads a file with struct alone, as the table in the manual describes it."""
    kernel = KernelSignature(
        "vadd", (Argument("x", "pointer", F32, reads=True), Argument("n", "scalar", I32))
    )
    entry = FatEntry(
        pptf.Kind.PTX,
        pptf.MachineNumber.CUDA,
        "sm_80",
        b"payload",
        (FatKernel("vadd", "vadd", 5, 6),),
        rank=7,
        arch=80,
    )
    data = write(FatFile((kernel,), (entry,)))
    assert data[:8] == b"PPTF\r\n\x1a\0"
    assert struct.unpack_from("<HHIQQIIQ", data, 8) == (1, 0, 208, len(data), 0, 1, 160, 208)
    strings, strings_size, signature = struct.unpack_from("<QQQ", data, 48)
    kind, machine, _, offset, size, raw, align, rank = struct.unpack_from("<HHIQQQII", data, 208)
    assert (kind, machine, size, raw, align, rank) == (4, 190, 7, 7, 64, 7)
    assert offset % 64 == 0 and data[offset:] == b"payload"
    assert data[208 + 128 : 208 + 160] == hashlib.sha256(b"payload").digest()
    assert data[96:128] == hashlib.sha256(data[:96] + bytes(32) + data[128 : 208 + 160]).digest()
    (target,) = struct.unpack_from("<I", data, 208 + 84)
    assert data[strings + target :].startswith(b"sm_80\0") and data[strings + strings_size - 1] == 0
    assert struct.unpack_from("<8I", data, signature) == (32, 24, 1, 16, 2, 4, 0, 0)
    name, kind, role, access, code, bits, lanes = struct.unpack_from("<IBBHBBH", data, signature + 32 + 24)
    assert data[strings + name :].startswith(b"x\0")
    assert (kind, role, access, code, bits, lanes) == (0, 0, 1, 2, 32, 1)


SMALL = golden.no_baseline()


def test_every_truncation_is_refused() -> None:
    for size in range(len(SMALL)):
        with pytest.raises(CompileError):
            fatfile_reader.read(SMALL[:size])


def test_every_flipped_bit_is_refused() -> None:
    for bit in range(8 * len(SMALL)):
        data = bytearray(SMALL)
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CompileError) as error:
            fatfile_reader.read(bytes(data))
        assert error.value.exit_status == 3


def signed(data: bytearray) -> bytes:
    """The file with hashes that fit again."""
    header = pptf.Header.unpack(data)
    start = header.header_size + header.entry_count * header.entry_size
    data[176:208] = hashlib.sha256(data[start : start + header.tables_size]).digest()
    data[96:128] = bytes(32)
    data[96:128] = hashlib.sha256(data[:start]).digest()
    return bytes(data)


@given(st.integers(0, len(SMALL) - 1), st.integers(0, 255))
def test_signed_damage_gives_a_diagnostic(at: int, value: int) -> None:
    data = bytearray(SMALL)
    data[at] = value
    try:
        fatfile_reader.read(signed(data))
    except CompileError as error:
        assert [d.code for d in error.sink] == ["P0304"]


def test_a_feature_without_a_bit() -> None:
    entry = FatEntry(pptf.Kind.ELF_SHARED, pptf.MachineNumber.X86_64, "t", b"", features=("telepathy",))
    with pytest.raises(CompileError) as error:
        write(FatFile((), (entry,)))
    assert "telepathy" in next(iter(error.value.sink)).message


def test_element_types_keep_their_names() -> None:
    arguments = tuple(Argument("x", "pointer", t) for t in (BF16, F32, I64))
    data = write(FatFile((KernelSignature("k", arguments),), ()))
    assert fatfile_reader.read(data).kernels[0].arguments == arguments


@pytest.mark.parametrize("name", golden.FILES)
def test_golden_files_are_current(name: str) -> None:
    assert (golden.FOLDER / name).read_bytes() == golden.FILES[name](), "run python -m tests.link.golden"


def test_c_header_is_current() -> None:
    text = (INCLUDE / "pptc_fatbin.h").read_text()
    assert text == header(), "run python -m pptc.link.format_header > runtime_c/include/pptc_fatbin.h"


def test_abi_version_is_that_of_the_kernel_header() -> None:
    assert (
        f"#define PPT_KERNEL_ABI_VERSION {pptf.KERNEL_ABI_VERSION}u"
        in (INCLUDE / "pptc_kernel.h").read_text()
    )
