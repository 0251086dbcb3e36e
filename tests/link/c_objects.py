"""C sources compiled by the host's gcc, and a reader of ELF that shares nothing with pptc's."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pptc.emit.section import KernelCode, Section
from pptc.ir.machine import Machine
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.types import F32, I64
from pptc.link.image import Provenance

INCLUDE = Path(__file__).parents[2] / "runtime_c" / "include"
FREESTANDING = ("-O2", "-fPIC", "-ffreestanding", "-fno-asynchronous-unwind-tables", "-fno-stack-protector")


def run(*command: str | Path) -> str:
    """The output of a tool that must succeed and say nothing on stderr."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (
        f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done.stdout


def compile_c(source: str, folder: Path, *flags: str, compiler: str = "gcc") -> bytes:
    """A relocatable object."""
    file = folder / "source.c"
    file.write_text(source)
    run(compiler, "-c", *(flags or FREESTANDING), f"-I{INCLUDE}", file, "-o", folder / "source.o")
    return (folder / "source.o").read_bytes()


@dataclass(frozen=True)
class ElfSection:
    name: str
    type: int
    flags: int
    address: int
    data: bytes


def sections_of(data: bytes) -> dict[str, ElfSection]:
    """The sections of an ELF file by name; of two of one name the last."""
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    strings = data[rows[names][4] :][: rows[names][5]]
    out = {}
    for name, kind, flags, address, start, length in rows[1:]:
        text = strings[name : strings.index(b"\0", name)].decode()
        out[text] = ElfSection(text, kind, flags, address, b"" if kind == 8 else data[start : start + length])
    return out


def relative_relocations(data: bytes) -> dict[int, int]:
    """place -> value of the entries of .rela.dyn."""
    found = sections_of(data).get(".rela.dyn")
    words = (
        [struct.unpack_from("<QQq", found.data, i) for i in range(0, len(found.data), 24)] if found else []
    )
    return {place: addend for place, _, addend in words}


def symbols_of(data: bytes, table: str = ".symtab", names: str = ".strtab") -> dict[str, int]:
    """The values of named symbols."""
    found = sections_of(data)
    strings, out = found[names].data, {}
    for i in range(0, len(found[table].data), 24):
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", found[table].data, i)
        out[strings[name : strings.index(b"\0", name)].decode()] = value
    return {name: value for name, value in out.items() if name}


# ---------------------------------------------------------------- two kernels as the emitter would make them

KERNELS_C = """
#include "pptc_kernel.h"
#define HIDDEN __attribute__((visibility("hidden")))

static const float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};

static void add(const float *x, const float *y, float *z, int64_t n) {
  for (int64_t i = 0; i < n; i++) z[i] = x[i] + y[i];
}
void vadd(const float *x, const float *y, float *z, int64_t n) { add(x, y, z, n); }
void vadd_ws(const float *x, const float *y, float *z, int64_t n, void *scratch) { (void)scratch; add(x, y, z, n); }
size_t vadd_scratch_bytes(void) { return 0; }
HIDDEN void vadd_kernel(const ppt_args *args, const ppt_group *group) __asm__("vadd.kernel");
void vadd_kernel(const ppt_args *args, const ppt_group *group) {
  (void)group;
  add(args->pointers[0], args->pointers[1], args->pointers[2], (int64_t)args->scalars[0]);
}

HIDDEN void blocks_kernel(const ppt_args *args, const ppt_group *group) __asm__("blocks.kernel");
void blocks_kernel(const ppt_args *args, const ppt_group *group) {
  float *out = args->pointers[0];
  for (uint64_t block = group->block_begin; block < group->block_end; block++)
    out[block] = table[block % 4] * (float)group->block_count;
}
"""

MACHINE = Machine("x86-64", "x86", "any x86-64", triple="x86_64-unknown-linux-gnu", rank=10)
MADE = Provenance("pptc test", "-O2", (("source", "kernels.pto"),))
KERNELS = (
    KernelSignature(
        "vadd",
        (
            Argument("x", "pointer", F32, reads=True),
            Argument("y", "pointer", F32, reads=True),
            Argument("z", "pointer", F32, writes=True),
            Argument("n", "scalar", I64),
        ),
        in_place=((2, 0), (2, 1)),
    ),
    KernelSignature(
        "blocks",
        (
            Argument("out", "pointer", F32, writes=True),
            Argument("block_idx", "scalar", I64, role="block_idx"),
        ),
        uses_grid=True,
    ),
)


def kernel_section(folder: Path, machine: Machine = MACHINE) -> Section:
    """vadd and blocks, compiled for the host."""
    return Section(
        machine,
        compile_c(KERNELS_C, folder),
        (
            KernelCode("vadd", "vadd.kernel", 0, ("vadd", "vadd_ws", "vadd_scratch_bytes")),
            KernelCode("blocks", "blocks.kernel", 4096, ()),
        ),
    )
