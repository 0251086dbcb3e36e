"""Our linker against GNU ld and lld, readelf, objdump and the system's loader."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from pptc.diag import CompileError
from pptc.link.elf import ExtraSection, link_shared, relocatable
from tests.link.c_objects import compile_c, relative_relocations, run, sections_of, symbols_of

SOURCE = """
static const float table[4] = {1, 2, 3, 4};
static long state = 5;
static long big[100];
static long triple(long x) { return 3 * x; }
static long twice(long x) { return 2 * x; }
static long (*const functions[2])(long) = {triple, twice};
static const char *const words[2] = {"one", "three"};
__attribute__((visibility("hidden"), noinline)) long nine_more(long x) { return x + 9; }
float lookup(long i) { return table[i & 3] * 1.25f; }
long count(long x) { big[x & 63] += x; state += nine_more(x); return state + big[x & 63]; }
long through(long i, long x) { return functions[i & 1](x); }
const char *word(long i) { return words[i & 1]; }
"""
FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-ffreestanding", "-fno-asynchronous-unwind-tables")
EXPORTS = ("lookup", "count", "through", "word")


@pytest.fixture
def obj(tmp_path: Path) -> bytes:
    return compile_c(SOURCE, tmp_path, *FLAGS)


def written(folder: Path, data: bytes, name: str = "out.so") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def code_of(error: pytest.ExceptionInfo[CompileError]) -> tuple[str, str]:
    (finding,) = error.value.sink
    return finding.code, finding.message


# ---------------------------------------------------------------- the tools agree


def test_the_loader_runs_it(obj: bytes, tmp_path: Path) -> None:
    library = ctypes.CDLL(str(written(tmp_path, link_shared([obj], EXPORTS).data)))
    library.lookup.restype = ctypes.c_float
    library.word.restype = ctypes.c_char_p
    assert [library.lookup(i) for i in range(4)] == [1.25, 2.5, 3.75, 5.0]
    assert [library.count(3), library.count(3)] == [5 + 12 + 3, 17 + 12 + 6]
    assert [library.through(0, 7), library.through(1, 7)] == [21, 14]
    assert [library.word(0), library.word(1)] == [b"one", b"three"]
    with pytest.raises(AttributeError):
        _ = library.nine_more


def test_a_program_links_against_it(obj: bytes, tmp_path: Path) -> None:
    written(tmp_path, link_shared([obj], EXPORTS).data)
    host = tmp_path / "host.c"
    host.write_text("long through(long, long); int main(void) { return (int)through(1, 21); }")
    subprocess.run(["gcc", host, "./out.so", "-o", "host"], cwd=tmp_path, check=True)
    assert subprocess.run(["./host"], cwd=tmp_path).returncode == 42


def test_soname_is_what_the_program_asks_for(obj: bytes, tmp_path: Path) -> None:
    image = written(tmp_path, link_shared([obj], EXPORTS, soname="libkernels.so.1").data)
    assert "Library soname: [libkernels.so.1]" in run("readelf", "-dW", image)
    assert "NEEDED" not in run("readelf", "-dW", image)


def test_readelf_and_objdump_understand_it(obj: bytes, tmp_path: Path) -> None:
    image = written(tmp_path, link_shared([obj], EXPORTS).data)
    listing = run("readelf", "-aW", image)
    assert "RWE" not in listing and "TEXTREL" not in listing
    dynamic = listing.split("Symbol table '.dynsym'")[1].split("Symbol table")[0]
    assert [line.split()[-1] for line in dynamic.splitlines() if " GLOBAL " in line] == sorted(EXPORTS)
    assert "<nine_more>:" in run("objdump", "-d", image)
    assert "out.so:     file format elf64-x86-64" in run("objdump", "-x", image)


def test_segments_have_one_protection(obj: bytes, tmp_path: Path) -> None:
    listing = run("readelf", "-lW", written(tmp_path, link_shared([obj], EXPORTS).data))
    flags = ["".join(line.split()[6:-1]) for line in listing.splitlines() if line.strip().startswith("LOAD")]
    assert [line.split()[-2] for line in listing.splitlines() if "GNU_STACK" in line] == ["RW"]
    assert flags == ["R", "RE", "RW", "RW"]


# ---------------------------------------------------------------- relocations: a linker script as oracle


def linkers(machine: str) -> list[list[str]]:
    found = [["ld.lld-19", "--no-relax", "-m", machine]] if shutil.which("ld.lld-19") else []
    return [*found, ["ld"]] if machine == "elf_x86_64" else found


def linked_at_same_places(linker: list[str], obj: bytes, ours: bytes, folder: Path) -> bytes:
    """What another linker makes of the object when a script puts every section where ours stands."""
    places = [
        s
        for s in sections_of(ours).values()
        if s.name in sections_of(obj) and s.flags & 2 and s.name != "pptfat"
    ]
    script = "".join(
        f"{s.name} {s.address:#x} : {{ *({s.name}) }}\n" for s in sorted(places, key=lambda s: s.address)
    )
    tables = (".dynsym", ".dynstr", ".hash", ".gnu.hash", ".rela.dyn", ".dynamic")
    script += "".join(
        f"{name} {0x400000 + 0x10000 * i:#x} : {{ *({name}) }}\n" for i, name in enumerate(tables)
    )
    keep = "SECTIONS {\n" + script + "/DISCARD/ : { *(.comment) *(.note*) *(.eh_frame) }\n}\n"
    written(folder, keep.encode(), "script.ld")
    source = written(folder, obj, "in.o")
    run(*linker, "-shared", "-z", "norelro", "-T", folder / "script.ld", "-o", folder / "theirs.so", source)
    return (folder / "theirs.so").read_bytes()


def compare_with(linker: list[str], obj: bytes, exports: tuple[str, ...], folder: Path) -> None:
    ours = link_shared([obj], exports).data
    theirs = linked_at_same_places(linker, obj, ours, folder)
    mine, other = sections_of(ours), sections_of(theirs)
    common = [
        name for name in mine if name in sections_of(obj) and mine[name].flags & 2 and name != ".eh_frame"
    ]
    assert ".text" in common
    for name in common:
        if not name.startswith(".data.rel.ro"):  # the loader writes there; the entries are compared below
            assert mine[name].data == other[name].data, name
        assert mine[name].address == other[name].address, name
    assert relative_relocations(ours) == relative_relocations(theirs)


@pytest.mark.parametrize("linker", linkers("elf_x86_64"), ids=lambda linker: linker[0])
def test_x86_relocations(linker: list[str], obj: bytes, tmp_path: Path) -> None:
    compare_with(linker, obj, EXPORTS, tmp_path)


AARCH64_IR = """
@table = internal constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], align 16
@bytes = internal constant [4 x i8] c"abcd"
@halves = internal constant [4 x i16] [i16 1, i16 2, i16 3, i16 4]
@state = internal global i64 0, align 8
@pointers = internal constant [2 x ptr] [ptr @triple, ptr @more], align 8
define internal i64 @triple(i64 %x) noinline {
  %r = mul i64 %x, 3
  ret i64 %r
}
define dso_local i64 @more(i64 %x) {
  %y = call i64 @triple(i64 %x)
  %s = load i64, ptr @state
  %t = add i64 %s, %y
  store i64 %t, ptr @state
  ret i64 %t
}
define dso_local i64 @tail(i64 %x) section ".text.tail" {
  %y = musttail call i64 @more(i64 %x)
  ret i64 %y
}
define dso_local float @lookup(i64 %i) {
  %p = getelementptr [4 x float], ptr @table, i64 0, i64 %i
  %v = load float, ptr %p
  ret float %v
}
define dso_local <4 x float> @whole() {
  %v = load <4 x float>, ptr @table
  ret <4 x float> %v
}
define dso_local i32 @narrow() {
  %b = load volatile i8, ptr @bytes
  %h = load volatile i16, ptr @halves
  %c = zext i8 %b to i32
  %d = zext i16 %h to i32
  %r = add i32 %c, %d
  ret i32 %r
}
define dso_local i64 @call(i64 %x) section ".text.tail" {
  %a = call i64 @more(i64 %x)
  %b = call i64 @tail(i64 %a)
  %r = add i64 %a, %b
  ret i64 %r
}
define dso_local i64 @through(i64 %i, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @pointers, i64 0, i64 %i
  %f = load ptr, ptr %p
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
"""
AARCH64_EXPORTS = ("more", "tail", "call", "lookup", "whole", "narrow", "through")


@pytest.fixture(scope="module")
def aarch64_object() -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    machine = target.create_target_machine(opt=2, reloc="pic")
    return bytes(machine.emit_object(llvm.parse_assembly(AARCH64_IR)))


def test_aarch64_relocations_as_lld(aarch64_object: bytes, tmp_path: Path) -> None:
    """Where lld is there; the next test needs no other linker."""
    for linker in linkers("aarch64linux"):
        compare_with(linker, aarch64_object, AARCH64_EXPORTS, tmp_path)


def test_aarch64_relocations_by_the_manual(aarch64_object: bytes) -> None:
    """Decodes the patched instructions as the architecture manual says."""
    ours = link_shared([aarch64_object], AARCH64_EXPORTS).data
    image, places, theirs = sections_of(ours), symbols_of(ours), sections_of(aarch64_object)
    names, strings, seen = list(theirs), theirs[".strtab"].data, set()
    for section in (".text", ".text.tail"):
        rela = theirs[".rela" + section].data
        for i in range(0, len(rela), 24):
            offset, info, addend = struct.unpack_from("<QQq", rela, i)
            name, kind, _, index, value, _ = struct.unpack_from(
                "<IBBHQQ", theirs[".symtab"].data, 24 * (info >> 32)
            )
            label = strings[name : strings.index(b"\0", name)].decode()
            target = addend + (image[names[index - 1]].address + value if kind & 15 == 3 else places[label])
            (word,) = struct.unpack_from("<I", image[section].data, offset)
            seen.add(info & 0xFFFFFFFF)
            assert decoded(word, image[section].address + offset, info & 0xFFFFFFFF) == wanted(
                target, info & 0xFFFFFFFF
            )
    assert seen == {275, 277, 278, 282, 283, 284, 286, 299}


def decoded(word: int, place: int, kind: int) -> int:
    """The address, or the low bits of one, that a patched instruction holds."""
    if kind == 275:  # ADRP: immhi:immlo pages from the page of the place
        pages = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
        return (place >> 12) + (pages - (1 << 21) if pages >> 20 else pages)
    if kind in (282, 283):  # B, BL: imm26 words
        words = word & 0x3FFFFFF
        return place + 4 * (words - (1 << 26) if words >> 25 else words)
    return word >> 10 & 0xFFF  # ADD, LDR, STR: imm12


def wanted(target: int, kind: int) -> int:
    if kind == 275:
        return target >> 12
    if kind in (282, 283):
        return target
    return (target & 0xFFF) >> {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}[kind]


def test_readelf_understands_aarch64(aarch64_object: bytes, tmp_path: Path) -> None:
    image = written(tmp_path, link_shared([aarch64_object], AARCH64_EXPORTS).data)
    listing = run("readelf", "-aW", image)
    assert "AArch64" in listing and "R_AARCH64_RELATIV" in listing
    assert all(f"0x{0x10000:x}" in line for line in listing.splitlines() if line.strip().startswith("LOAD"))


# ---------------------------------------------------------------- extra sections and several objects


def test_extra_section_knows_distances(obj: bytes, tmp_path: Path) -> None:
    extra = ExtraSection("pptfat", b"head" + bytes(20), 64, ((8, "lookup"), (16, "nine_more")))
    image = link_shared([obj], EXPORTS, extra=[extra])
    found = sections_of(image.data)["pptfat"]
    assert found.address % 64 == 0 and found.flags == 2
    for offset, name in extra.references:
        (distance,) = struct.unpack_from("<q", found.data, offset)
        assert found.address + offset + distance == image.addresses[name] == symbols_of(image.data)[name]


def test_relocatable_is_taken_by_the_system_linker(obj: bytes, tmp_path: Path) -> None:
    extra = ExtraSection("pptfat", b"head" + bytes(12), 64, ((8, "through"),))
    written(tmp_path, relocatable(obj, [extra]), "kernels.o")
    host = tmp_path / "host.c"
    host.write_text(
        "#include <string.h>\n#include <stdint.h>\nextern const char __start_pptfat[], __stop_pptfat[];\n"
        "int main(void) { int64_t d; const char *at = __start_pptfat + 8; memcpy(&d, at, 8);\n"
        "long (*f)(long, long) = (long (*)(long, long))((uintptr_t)at + (uintptr_t)d);\n"
        'return __stop_pptfat - __start_pptfat == 16 && !memcmp(__start_pptfat, "head", 4) ? (int)f(1, 21) : 1; }'
    )
    for flags in ([], ["-Wl,--gc-sections"], ["-static"], ["-no-pie"]):
        subprocess.run(["gcc", *flags, host, "kernels.o", "-o", "host"], cwd=tmp_path, check=True)
        assert subprocess.run(["./host"], cwd=tmp_path).returncode == 42, flags
    listing = run("readelf", "-SW", tmp_path / "kernels.o")
    assert "pptfat" in listing and ".relapptfat" in listing


def test_retained_without_a_reference(obj: bytes, tmp_path: Path) -> None:
    written(tmp_path, relocatable(obj, [ExtraSection("pptfat", b"PPTF" * 4, 64)]), "kernels.o")
    host = tmp_path / "host.c"
    host.write_text("long through(long, long); int main(void) { return (int)through(1, 21); }")
    subprocess.run(["gcc", "-Wl,--gc-sections", host, "kernels.o", "-o", "host"], cwd=tmp_path, check=True)
    assert sections_of((tmp_path / "host").read_bytes())["pptfat"].data == b"PPTF" * 4


def test_objects_refer_to_each_other(tmp_path: Path) -> None:
    hidden = '__attribute__((visibility("hidden")))'
    one = compile_c(
        f"{hidden} long other(long); long entry(long x) {{ return other(x) + 1; }}", tmp_path, *FLAGS
    )
    two = compile_c(f"{hidden} long other(long x) {{ return 2 * x; }}", tmp_path, *FLAGS)
    library = ctypes.CDLL(str(written(tmp_path, link_shared([one, two], ["entry"]).data)))
    assert library.entry(20) == 41
    with pytest.raises(CompileError) as error:
        link_shared([two, two], [])
    assert code_of(error) == ("P0505", "object 1: symbol other is defined twice")


def test_the_same_bytes_every_time(obj: bytes) -> None:
    extra = [ExtraSection("pptfat", bytes(16), 64, ((8, "count"),))]
    first = link_shared([obj], EXPORTS, extra=extra).data
    assert first == link_shared([obj], tuple(reversed(EXPORTS)), extra=extra).data


# ---------------------------------------------------------------- refusals

REFUSED = {
    "undefined symbol": ("float expf(float); float f(float x) { return expf(x); }", "P0501", "undefined symbol expf"),
    "table of addresses": (
        "extern int other; int other; int *f(void) { return &other; }",
        "P0501",
        "undefined symbol _GLOBAL_OFFSET_TABLE_",
    ),
    "short address": (
        '__asm__(".text\\n.globl f\\nf: ret\\n.data\\n.long f\\n");',
        "P0502",
        "section .data at 0x0, symbol f: unknown x86-64 relocation 10",
    ),
    "thread-local": ("static __thread int x; int f(void) { return x++; }", "P0502", "section .tbss has the unknown flags 0x400"),
    "common": ("int shared; int f(void) { return shared; }", "P0502", "symbol shared lies in the unknown section 0xfff2"),
    "constructor": (
        "static volatile int x; __attribute__((constructor)) void f(void) { x++; }",
        "P0502",
        "section .init_array has the unknown type 0xe",
    ),
    "group": (
        '__asm__(".section .text.f,\\"axG\\",@progbits,f,comdat\\n.globl f\\nf: ret\\n");',
        "P0502",
        "section .group has the unknown type 17",
    ),
    "writable code": (
        '__asm__(".section .both,\\"awx\\",@progbits\\n.globl f\\nf: ret\\n");',
        "P0502",
        "section .both is writable and executable",
    ),
    "address in code": (
        '__asm__(".text\\n.globl f\\nf: ret\\n.quad f\\n");',
        "P0502",
        "section .text at 0x1, symbol f: R_X86_64_64 in read-only memory",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_name(what: str, tmp_path: Path) -> None:
    source, code, message = REFUSED[what]
    flags = [*(f for f in FLAGS if f != "-fvisibility=hidden"), *(["-fcommon"] if what == "common" else [])]
    data = compile_c(source, tmp_path, *flags)
    with pytest.raises(CompileError) as error:
        link_shared([data], ["f"])
    found, text = code_of(error)
    assert found == code and message in text
    assert error.value.exit_status == 5


def test_missing_export(obj: bytes) -> None:
    with pytest.raises(CompileError) as error:
        link_shared([obj], ["lookup", "nowhere"])
    assert code_of(error) == ("P0501", "undefined symbol nowhere")
    with pytest.raises(CompileError) as error:
        relocatable(obj, [ExtraSection("pptfat", bytes(16), 8, ((8, "nowhere"),))])
    assert code_of(error) == ("P0501", "undefined symbol nowhere")


def test_other_files_are_refused(obj: bytes) -> None:
    shared = link_shared([obj], EXPORTS).data
    for data, message in (
        (b"", "not a 64-bit little-endian ELF file"),
        (b"\x7fELF" + bytes(100), "not a 64-bit little-endian ELF file"),
        (shared, "not a relocatable object"),
        (obj[:18] + b"\xf3\x00" + obj[20:], "unknown machine 243"),
    ):
        with pytest.raises(CompileError) as error:
            link_shared([data], [])
        assert code_of(error) == ("P0502", f"object: {message}")


def test_damage_gives_a_diagnostic(obj: bytes) -> None:
    """Truncations and flipped bits never end in anything but a file or a coded error."""
    refused = 0
    damaged = [obj[:size] for size in range(0, len(obj), 37)]
    damaged += [obj[:i] + bytes([obj[i] ^ 1 << i % 8]) + obj[i + 1 :] for i in range(0, len(obj), 3)]
    for data in damaged:
        try:
            link_shared([data], EXPORTS)
        except CompileError as error:
            refused += all(d.code in ("P0501", "P0502", "P0505") for d in error.sink)
    assert refused > len(damaged) // 3
