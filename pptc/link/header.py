"""--emit=c-header: the plain C symbols of a file, with the memory each needs and what it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pptc.emit.section import KernelCode
from pptc.ir.signature import Argument, KernelSignature
from pptc.ir.types import ScalarType

_C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "index": "int64_t", "i1": "uint8_t", "f32": "float", "f64": "double", "f16": "ppt_f16", "bf16": "ppt_bf16",
        **{f"{prefix}i{bits}": f"int{bits}_t" for prefix in ("", "s") for bits in (8, 16, 32, 64)},
        **{f"ui{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    }
)  # fmt: skip

_RESERVED = (
    " alignas alignof and asm auto bitand bitor bool break case catch char class compl const constexpr continue "
    "default delete do double else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new not nullptr operator or private protected public register restrict return scratch short signed "
    "sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual "
    "void volatile while xor "
)
"""Words of C and C++ that no parameter can be called, and the name that the scratch parameter has."""


def c_type(dtype: ScalarType) -> str:
    """The C type of an element: small floats as 16-bit or 8-bit words."""
    return _C_TYPES.get(dtype.name, f"uint{8 * dtype.bytes}_t")


def c_header(
    kernels: Sequence[KernelSignature], codes: Sequence[KernelCode], name: str, producer: str
) -> str:
    """The header of the kernels of one section. `name` is that of the header, without a folder."""
    guard = (re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "kernels_h").upper() + "_INCLUDED"
    known = {code.name: code for code in codes}
    blocks = [_kernel(kernel, known[kernel.name]) for kernel in kernels if kernel.name in known]
    lines = [
        f"/* {name}: kernels compiled by {producer}. Generated; edit the .pto file instead. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        *_small_floats(kernels),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(line for block in blocks for line in (*block, "")),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _small_floats(kernels: Sequence[KernelSignature]) -> list[str]:
    """Types for 16-bit floats, which C has no portable name for; defined once however many headers there are."""
    used = dict.fromkeys(c_type(a.dtype) for kernel in kernels for a in kernel.arguments)
    lines = []
    for word, what in (("ppt_bf16", "bfloat16"), ("ppt_f16", "IEEE half")):
        if word in used:
            macro = word.upper() + "_DEFINED"
            lines += ["", f"#ifndef {macro}", f"#define {macro}"]
            lines += [f"typedef uint16_t {word}; /* the bits of a {what} */", "#endif"]
    return lines


def _kernel(kernel: KernelSignature, code: KernelCode) -> list[str]:
    if not kernel.name.isidentifier() or _is_reserved(kernel.name):
        return [f"/* {kernel.name} has no name in C: call it through the library. */"]
    if not code.exports:
        return [f"/* {kernel.name} runs on {code.threads} threads: call it through the library. */"]
    names = _parameter_names(kernel.arguments)
    parameters = [_parameter(a, n) for a, n in zip(kernel.arguments, names, strict=True)]
    lines = [f"/* {kernel.name}({', '.join(names)})"]
    lines += [f" *   {n}: {_role(a)}" for a, n in zip(kernel.arguments, names, strict=True)]
    lines.append(f" * Scratch: {_scratch(kernel, code)}.")
    overlap = (
        "Arguments may overlap"
        if kernel.may_alias
        else "An array that is written must not overlap another argument"
    )
    lines.append(f" * Re-entrant. {overlap}. */")
    lines.append(f"#define {kernel.name}_SCRATCH_BYTES {code.scratch_bytes}")
    declarations = {
        kernel.name: f"void {kernel.name}({', '.join(parameters) or 'void'});",
        f"{kernel.name}_ws": f"void {kernel.name}_ws({', '.join([*parameters, 'void *scratch'])});",
        f"{kernel.name}_scratch_bytes": f"size_t {kernel.name}_scratch_bytes(void);",
    }
    return lines + [text for symbol, text in declarations.items() if symbol in code.exports]


def _scratch(kernel: KernelSignature, code: KernelCode) -> str:
    if code.scratch_bytes == 0:
        return "none"
    if kernel.name in code.exports:
        return (
            f"{code.scratch_bytes} bytes, on the stack of {kernel.name}, 64-byte aligned for {kernel.name}_ws"
        )
    return f"{code.scratch_bytes} bytes, 64-byte aligned, too many for the stack"


def _role(argument: Argument) -> str:
    if argument.role:
        return {"block_idx": "number of the block to run", "block_num": "number of blocks"}.get(
            argument.role, "number of the vector sub-block"
        )
    if argument.kind == "scalar":
        return argument.dtype.name
    verbs = {(True, True): "read and written", (True, False): "read", (False, True): "written"}
    return f"{argument.dtype.name} array, {verbs.get((argument.reads, argument.writes), 'not used')}"


def _parameter(argument: Argument, name: str) -> str:
    if argument.kind == "scalar":
        return f"{c_type(argument.dtype)} {name}"
    const = "" if argument.writes else "const "
    return f"{const}{c_type(argument.dtype)} *{name}"


def _parameter_names(arguments: Sequence[Argument]) -> list[str]:
    """Names that C and C++ take, each once."""
    names: list[str] = []
    for argument in arguments:
        name = re.sub(r"\W", "_", argument.role or argument.name, flags=re.ASCII)
        if not name or name[0].isdigit() or _is_reserved(name) or name.startswith("_"):
            name = f"arg{name}" if name[:1].isdigit() else f"arg_{name.strip('_')}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def _is_reserved(name: str) -> bool:
    return f" {name} " in _RESERVED
