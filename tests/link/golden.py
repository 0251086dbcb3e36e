"""The committed fat files that the C tests read: `python -m tests.link.golden` writes them anew."""

from __future__ import annotations

from pathlib import Path

from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.types import BF16, F32, I32, I64
from pptc.link import format as pptf
from pptc.link.fatfile import FatEntry, FatFile, FatKernel, write

FOLDER = Path(__file__).parents[2] / "runtime_c" / "tests" / "data"

_BLOCK = (
    Argument("block_idx", "scalar", I32, role="block_idx"),
    Argument("block_num", "scalar", I32, role="block_num"),
)

KERNELS = (
    KernelSignature(
        "scale",
        (
            Argument("x", "pointer", F32, reads=True),
            Argument("y", "pointer", F32, writes=True),
            Argument("factor", "scalar", F32),
            Argument("n", "scalar", I64),
            *_BLOCK,
        ),
        uses_grid=True,
        in_place=((1, 0),),
    ),
    KernelSignature(
        "count", (*_BLOCK, Argument("counts", "pointer", I32, reads=True, writes=True)), uses_grid=True
    ),
    KernelSignature("single", (Argument("x", "pointer", BF16, reads=True, writes=True),)),
    KernelSignature("faulty", ()),
)


def _entry(target: str, machine: pptf.MachineNumber, rank: int, **more: object) -> FatEntry:
    kernels = (FatKernel("scale", "scale.kernel", 0x100, 64),)
    values: dict[str, object] = {
        "kind": pptf.Kind.ELF_SHARED,
        "payload": target.encode() * 9,
        "kernels": kernels,
    }
    values |= {"abi_version": pptf.KERNEL_ABI_VERSION, **more}
    return FatEntry(machine=machine, target=target, rank=rank, **values)  # type: ignore[arg-type]


def image() -> bytes:
    """The file that an image of the host carries; the C tests put the distances to their own kernels into it."""
    scratch = {"scale": 256, "count": 0, "single": 100_000, "faulty": 0}
    kernels = tuple(
        FatKernel(k.name, f"{k.name}.kernel", 8 * i, scratch[k.name]) for i, k in enumerate(KERNELS)
    )
    entry = FatEntry(
        pptf.Kind.IMAGE,
        pptf.MachineNumber.X86_64,
        "x86-64",
        bytes(8 * len(kernels)),
        kernels,
        flags=pptf.EntryFlag.NO_HASH,
        abi_version=pptf.KERNEL_ABI_VERSION,
    )
    return write(FatFile(KERNELS, (entry,)))


def sections() -> bytes:
    """A file with many sections, none of which is real code."""
    x86, arm = pptf.MachineNumber.X86_64, pptf.MachineNumber.AARCH64
    avx2 = ("avx", "avx2", "fma")
    return write(
        FatFile(
            KERNELS[:1],
            (
                _entry("x86-64", x86, 10),
                _entry("avx512", x86, 40, features=(*avx2, "avx512f", "avx512vl")),
                _entry("avx2", x86, 20, features=avx2, strings=(("source", "a.pto"),)),
                _entry("avx512+bf16", x86, 42, features=(*avx2, "avx512f", "avx512vl", "avx512bf16")),
                _entry("future", x86, 90, abi_version=pptf.KERNEL_ABI_VERSION + 1),
                _entry("neon", arm, 10, features=("neon",)),
                _entry("sve256", arm, 30, features=("neon", "sve"), min_vl=256, max_vl=256),
                _entry("sve", arm, 20, features=("neon", "sve"), min_vl=128),
                _entry("sm_80", pptf.MachineNumber.CUDA, 80, kind=pptf.Kind.PTX, abi_version=0, align=4096),
            ),
        )
    )


def no_baseline() -> bytes:
    """A small file for one kind of machine only."""
    return write(
        FatFile(KERNELS[:1], (_entry("amx", pptf.MachineNumber.X86_64, 50, features=("amx-tile",)),))
    )


FILES = {"image.pptf": image, "sections.pptf": sections, "small.pptf": no_baseline}

if __name__ == "__main__":
    for name, make in FILES.items():
        (FOLDER / name).write_bytes(make())
