"""From sections to files: a shared object, an object for the user's own link, or a stand-alone fat file.

All three carry the same PPTF: the kernels' signatures and an entry per section. In a host object the CPU entry means
"this image" and holds the distance from a word of its own to each kernel, so that no symbol is exported for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pptc.diag import fail
from pptc.emit.section import KernelCode, Section
from pptc.ir.signature import KernelSignature
from pptc.link import fatfile
from pptc.link import format as pptf
from pptc.link.elf import ExtraSection, link_shared, relocatable
from pptc.link.elf_object import read_object
from pptc.link.fatfile import FatEntry, FatFile, FatKernel


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a file says about its making; part of the bytes, so it holds no path, time or machine."""

    producer: str
    options: str = ""
    strings: tuple[tuple[str, str], ...] = ()


def shared_object(
    sections: Sequence[Section],
    kernels: Sequence[KernelSignature],
    made: Provenance,
    soname: str | None = None,
) -> bytes:
    """A .so that exports the plain symbols. Without `soname` a program finds it by the path given to its linker."""
    section = _only(sections)
    extra = _carried(section, kernels, made)
    exports = [name for kernel in section.kernels for name in kernel.exports]
    return link_shared([section.payload], exports, extra=[extra], soname=soname).data


def host_object(sections: Sequence[Section], kernels: Sequence[KernelSignature], made: Provenance) -> bytes:
    """A .o for a system linker: the code, the plain symbols, and the retained section pptfat."""
    section = _only(sections)
    return relocatable(section.payload, [_carried(section, kernels, made)])


def fat_file(sections: Sequence[Section], kernels: Sequence[KernelSignature], made: Provenance) -> bytes:
    """A .pptf with a shared image per CPU section."""
    return fatfile.write(FatFile(tuple(kernels), tuple(_entry(section, made) for section in sections)))


def _only(sections: Sequence[Section]) -> Section:
    if len(sections) != 1:
        names = ", ".join(section.machine.name for section in sections) or "none"
        raise fail(
            "P0403", f"one CPU target fits this file, not {names}", hint="write a .pptf for several targets"
        )
    return sections[0]


def _machine(section: Section) -> pptf.MachineNumber:
    number = read_object(section.payload).machine.number
    return next(machine for machine in pptf.MachineNumber if machine == number)


def _placed(kernel: KernelCode, address: int) -> FatKernel:
    return FatKernel(
        kernel.name,
        kernel.entry,
        address,
        kernel.scratch_bytes,
        kernel.threads,
        kernel.shared_bytes,
        kernel.divisible,
        kernel.concurrent,
    )


def _entry(section: Section, made: Provenance) -> FatEntry:
    """The entry of a section that is linked on its own."""
    image = link_shared([section.payload], [], entries=[kernel.entry for kernel in section.kernels])
    kernels = tuple(_placed(kernel, image.addresses[kernel.entry]) for kernel in section.kernels)
    return _described(section, made, pptf.Kind.ELF_SHARED, image.data, kernels)


def _carried(section: Section, kernels: Sequence[KernelSignature], made: Provenance) -> ExtraSection:
    """The section pptfat of an image that holds the code itself."""
    own = tuple(_placed(kernel, 8 * number) for number, kernel in enumerate(section.kernels))
    entry = _described(section, made, pptf.Kind.IMAGE, bytes(8 * len(own)), own, pptf.EntryFlag.NO_HASH)
    data = fatfile.write(FatFile(tuple(kernels), (entry,)))
    start = pptf.Entry.unpack(data, pptf.Header.size()).offset
    references = tuple((start + kernel.address, kernel.symbol) for kernel in own)
    return ExtraSection(pptf.SECTION_NAME, data, pptf.PAYLOAD_ALIGN, references)


def _described(
    section: Section,
    made: Provenance,
    kind: pptf.Kind,
    payload: bytes,
    kernels: tuple[FatKernel, ...],
    flags: int = 0,
) -> FatEntry:
    machine = section.machine
    bits = machine.vector_bits if machine.scalable else 0
    return FatEntry(
        kind=kind,
        machine=_machine(section),
        target=machine.name,
        payload=payload,
        kernels=kernels,
        flags=flags,
        rank=machine.rank,
        features=tuple(sorted(machine.requires)),
        min_vl=bits,
        max_vl=bits,
        abi_version=pptf.KERNEL_ABI_VERSION,
        triple=machine.triple,
        producer=made.producer,
        options=made.options,
        strings=made.strings,
    )
