"""Files from sections: the PPTF that each carries says where its kernels are."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pptc.diag import CompileError
from pptc.emit.section import KernelCode, Section
from pptc.ir.machine import Machine
from pptc.link import fatfile_reader
from pptc.link.format import EntryFlag, Kind, MachineNumber
from pptc.link.image import fat_file, host_object, shared_object
from tests.link.c_objects import KERNELS, MADE, kernel_section, sections_of, symbols_of


def test_shared_object_carries_its_description(tmp_path: Path) -> None:
    data = shared_object([kernel_section(tmp_path)], KERNELS, MADE)
    section = sections_of(data)["pptfat"]
    file = fatfile_reader.read(section.data)
    (entry,) = file.entries
    assert file.kernels == KERNELS
    assert (entry.kind, entry.machine, entry.target) == (Kind.IMAGE, MachineNumber.X86_64, "x86-64")
    assert (entry.producer, entry.options, entry.strings) == (MADE.producer, MADE.options, MADE.strings)
    assert entry.flags == EntryFlag.NO_HASH and entry.abi_version == 1
    start = section.data.index(entry.payload, 208 + 160)
    for kernel in entry.kernels:
        (distance,) = struct.unpack_from("<q", entry.payload, kernel.address)
        assert section.address + start + kernel.address + distance == symbols_of(data)[kernel.symbol]


def test_only_plain_symbols_are_exported(tmp_path: Path) -> None:
    data = shared_object([kernel_section(tmp_path)], KERNELS, MADE)
    assert sorted(symbols_of(data, ".dynsym", ".dynstr")) == ["vadd", "vadd_scratch_bytes", "vadd_ws"]


def test_fat_file_has_addresses(tmp_path: Path) -> None:
    file = fatfile_reader.read(fat_file([kernel_section(tmp_path)], KERNELS, MADE))
    (entry,) = file.entries
    assert entry.kind == Kind.ELF_SHARED and not entry.flags
    symbols = symbols_of(entry.payload)
    assert [(k.name, k.address, k.scratch_bytes) for k in entry.kernels] == [
        ("vadd", symbols["vadd.kernel"], 0),
        ("blocks", symbols["blocks.kernel"], 4096),
    ]
    assert not symbols_of(entry.payload, ".dynsym", ".dynstr")


def test_requirements_of_the_machine(tmp_path: Path) -> None:
    machine = Machine("sve256", "x86", "", requires=("fma", "avx2"), rank=30, vector_bits=256, scalable=True)
    (entry,) = fatfile_reader.read(fat_file([kernel_section(tmp_path, machine)], KERNELS, MADE)).entries
    assert (entry.rank, entry.features, entry.min_vl, entry.max_vl) == (30, ("avx2", "fma"), 256, 256)


def test_one_target_per_host_object(tmp_path: Path) -> None:
    section = kernel_section(tmp_path)
    for sections in ([], [section, section]):
        for make in (shared_object, host_object):
            with pytest.raises(CompileError) as error:
                make(sections, KERNELS, MADE)
            assert next(iter(error.value.sink)).code == "P0403"


def test_a_kernel_without_code(tmp_path: Path) -> None:
    section = kernel_section(tmp_path)
    broken = Section(section.machine, section.payload, (KernelCode("vadd", "vadd.entry", 0, ()),))
    for make in (shared_object, host_object, fat_file):
        with pytest.raises(CompileError) as error:
            make([broken], KERNELS, MADE)
        assert next(iter(error.value.sink)).message == "undefined symbol vadd.entry"


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    section = kernel_section(tmp_path)
    for make in (shared_object, host_object, fat_file):
        assert make([section], KERNELS, MADE) == make([section], KERNELS, MADE)
