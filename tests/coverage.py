"""Which ops of the tile dialect are compiled and compared on every target: the page pptc-coverage.7.

An op counts when a kernel of tests/differential has it: each of these runs in the interpreter, on x86-64, avx2 and
avx512 and on several levels, and is compared with NumPy. What has no such kernel is listed with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from pptc import __version__
from pptc.ir.ops import OPS
from pptc.ir.ops.known import KNOWN
from tests.differential import kernels_comm, kernels_pairs
from tests.differential.random_programs import DRAWN
from tests.differential.test_kernels import CASES
from tests.passes.lowering import parsed

FILES = Path(__file__).parent / "files"

TARGETS = ("ref", "x86-64", "avx2", "avx512")

MODEL_OPS = tuple((FILES / "model_ops.txt").read_text().split())
"""The ops that the public model files of the dialect use."""

_DIALECTS = ("pto", "arith", "scf", "func", "cf")

_REASONS: Mapping[str, str] = {
    "pto.comm.": "needs several chips",
    "pto.tmatmul.mx": "microscaling formats exist on a5 only",
    "pto.tgemv.mx": "microscaling formats exist on a5 only",
    "pto.tquant.mx": "microscaling formats exist on a5 only",
    "pto.tget_scale_addr": "microscaling formats exist on a5 only",
    "pto.section.simt": "single threads of a vector core exist on a5 only",
    "pto.trap": "ends the kernel",
    "arith.remf": "no machine has an instruction for it",
    "memref.": "older texts only; tile ops of 0.60 take no memref",
    "cf.": "tile programs are structured: scf.for, scf.if, scf.while",
}
"""Why ops of a prefix are not compiled."""


def tested() -> Counter[str]:
    """The ops of the differential kernels, with the number of kernels that have each."""
    found: Counter[str] = Counter()
    odd = (path.read_text() for path in sorted((FILES / "odd").glob("*.pto")))
    texts = ["".join(case.text for case in (*CASES, *kernels_pairs.CASES, *kernels_comm.CASES)), *odd]
    for text in texts:
        whole = text if "module" in text else f"module {{\n{text}}}\n"
        for function in (op for op in parsed(whole).walk() if op.name == "func.func"):
            found.update({op.name for op in function.walk()})
    return found


def _names() -> list[str]:
    """All ops of tile programs: those with rows, and those that are only known by name."""
    rows = [name for name in OPS if name.split(".")[0] in _DIALECTS]
    return sorted(dict.fromkeys((*rows, *KNOWN)))


def _reason(name: str) -> str:
    known = next((why for prefix, why in _REASONS.items() if name.startswith(prefix)), "")
    return known or ("compiled, but no kernel of these tests has it" if name in OPS else "not compiled yet")


def page() -> str:
    """pptc-coverage.7."""
    from man.generate import head, item, roff

    counts = tested()
    random = {row.name for row in DRAWN}
    there = [name for name in _names() if counts[name] or name in random]
    models = sum(name in there for name in MODEL_OPS)
    return (
        "\n".join(
            [
                *head("pptc-coverage", 7, "which ops are compiled for which target, and tested there"),
                ".SH DESCRIPTION",
                roff(f"Of pptc {__version__}, by `make man`: {len(there)} of {len(_names())} ops."),
                roff(
                    f"Of the {len(MODEL_OPS)} ops that the public model files use, {models} are among them."
                ),
                roff(
                    f"Every op of the first list runs on {', '.join(TARGETS)}, each with its tiles in memory and without."
                ),
                ".SH COMPILED AND COMPARED",
                "The number of kernels that have the op;",
                ".B random",
                "where it is drawn into the two thousand random programs too.",
                *_table(
                    (name, f"{counts[name] or ''} {'random' if name in random else ''}".strip())
                    for name in there
                ),
                ".SH NOT COMPARED",
                *(line for name in _names() if name not in there for line in item(name, _reason(name))),
            ]
        )
        + "\n"
    )


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    from man.generate import roff

    return [".nf", *(roff(f"  {name:<28}{text}") for name, text in rows), ".fi"]
