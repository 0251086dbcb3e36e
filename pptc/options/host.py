"""The target `host`: which target and variants this machine can run, by the feature flags that Linux reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from pptc.diag import fail
from pptc.options.targets import TargetFile, target_files

CPUINFO = Path("/proc/cpuinfo")

_LINUX_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "abm": "lzcnt",
        "avx512_bf16": "avx512bf16",
        "avx512_vnni": "avx512vnni",
        "bmi1": "bmi",
        "pni": "sse3",
        "sse4_1": "sse4.1",
        "sse4_2": "sse4.2",
    }
)
"""Flags of /proc/cpuinfo whose name is another one in LLVM."""


def host_features(cpuinfo: str) -> frozenset[str]:
    """The CPU features, in LLVM's spelling, that a /proc/cpuinfo text lists for its first processor."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(_LINUX_NAMES.get(flag, flag) for flag in value.split())
    return frozenset()


def host_target(cpuinfo: str | None = None, folder: Path | None = None) -> str:
    """The name of the best target of this machine with every variant that it has, such as `avx512+bf16`."""
    if cpuinfo is None:
        cpuinfo = _read_cpuinfo()
    features = host_features(cpuinfo)
    if not features:
        raise fail("P0401", "the features of this machine are unknown", hint="name the target with -t")
    family = "x86" if "sse2" in features else "aarch64"
    fitting = [t for t in target_files(folder) if t.family == family and features.issuperset(t.requires)]
    if not fitting:
        raise fail("P0401", "no target fits this machine", hint="name one with -t")
    best = max(fitting, key=lambda target: target.rank)
    return "+".join((best.name, *_variants(best, features)))


def _variants(target: TargetFile, features: Iterable[str]) -> list[str]:
    have = frozenset(features)
    return [name for name, variant in target.variants.items() if have.issuperset(variant.requires)]


def _read_cpuinfo() -> str:
    try:
        return CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
