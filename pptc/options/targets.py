"""configs/targets/*.yaml -> Machine: one schema, checked with the line of the fault; variants named after a plus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from pptc.diag import fail
from pptc.ir.machine import Machine, MatrixTile
from pptc.options.schema import Schema, read_yaml

_MATRIX_ROW = Schema(
    required={"rows": int, "vectors": int}, optional={"group": int, "instruction": str, "unsigned_left": bool}
)
_PIPELINES = Schema(each=str)
_VARIANT = MappingProxyType({"doc": str, "features": [str], "requires": [str], "native": [str], "rank": int})
_TARGET = Schema(
    required={"name": str, "family": str, "doc": str, "pipelines": str},
    optional={
        "aliases": [str],
        "triple": str,
        "cpu": str,
        "features": [str],
        "requires": [str],
        "rank": int,
        "vector_bits": int,
        "scalable": bool,
        "native": [str],
        "matrix": Schema(each=_MATRIX_ROW),
        "facts": Schema(each=int),
        "variants": Schema(
            each=Schema(required={}, optional={**_VARIANT, "matrix": Schema(each=_MATRIX_ROW)})
        ),
    },
)


@dataclass(frozen=True, slots=True)
class Variant:
    """What a `+NAME` behind a target adds; `rank` is added to the target's."""

    doc: str = ""
    features: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    rank: int = 0
    matrix: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TargetFile:
    """One YAML file as it stands."""

    name: str
    family: str
    doc: str
    pipelines: str
    aliases: tuple[str, ...] = ()
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    rank: int = 0
    vector_bits: int = 0
    scalable: bool = False
    native: tuple[str, ...] = ()
    matrix: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A line of --print-supported-targets."""

    name: str
    doc: str
    aliases: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]  # name and doc


def configs_folder() -> Path:
    """configs/ inside the installed package, or at the top of the checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def target_files(folder: Path | None = None) -> tuple[TargetFile, ...]:
    """All targets, by rank and name."""
    found = [_read(path) for path in (folder or configs_folder()).joinpath("targets").glob("*.yaml")]
    return tuple(sorted(found, key=lambda target: (target.family, target.rank, target.name)))


def supported_targets(folder: Path | None = None) -> tuple[TargetInfo, ...]:
    """What --print-supported-targets lists; `host` is not in it."""
    return tuple(
        TargetInfo(t.name, t.doc, t.aliases, tuple((name, v.doc) for name, v in t.variants.items()))
        for t in target_files(folder)
    )


def load_machine(name: str, folder: Path | None = None) -> Machine:
    """The machine of a target name, an alias, or one of them with variants. Raises CompileError P0401."""
    folder = folder or configs_folder()
    base, *variants = name.split("+")
    target = _find(base, folder)
    machine = _machine(target, folder)
    for variant in variants:
        if variant not in target.variants:
            listed = ", ".join(f"+{known}" for known in target.variants) or "none"
            message = f"target '{name}': {target.name} has no variant '{variant}'"
            raise fail("P0401", message, hint=f"its variants: {listed}")
    for variant, added in target.variants.items():
        if variant in variants:
            machine = _extend(machine, variant, added)
    return machine


def _find(name: str, folder: Path) -> TargetFile:
    path = folder / "targets" / f"{name}.yaml"
    if name and "/" not in name and path.is_file():
        return _read(path)
    targets = target_files(folder)
    for target in targets:
        if name in target.aliases:
            return target
    names = [word for target in targets for word in (target.name, *target.aliases)]
    close = get_close_matches(name, names, 1, 0.6)
    hint = f"did you mean '{close[0]}'?" if close else f"targets: host, {', '.join(t.name for t in targets)}"
    raise fail("P0401", f"no target is named '{name}'", hint=hint)


def _read(path: Path) -> TargetFile:
    values = read_yaml(path, _TARGET)
    if values["name"] != path.stem:
        raise fail("P0401", f"{path.name}: the target's name is '{values['name']}'")
    values["variants"] = {
        name: Variant(**_frozen(variant)) for name, variant in values.get("variants", {}).items()
    }
    return TargetFile(**_frozen(values))


def _frozen(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _machine(target: TargetFile, folder: Path) -> Machine:
    shared = {f.name: getattr(target, f.name) for f in fields(TargetFile) if f.name in _COPIED}
    pipelines = read_yaml(folder / "pipelines" / f"{target.pipelines}.yaml", _PIPELINES)
    return Machine(
        **shared,
        native=frozenset(target.native),
        matrix=MappingProxyType(_matrix(target.matrix)),
        facts=MappingProxyType(dict(target.facts)),
        pipelines=MappingProxyType(cast("dict[str, str]", pipelines)),
    )


_COPIED = (
    "name", "family", "doc", "aliases", "triple", "cpu", "features", "requires", "rank", "vector_bits", "scalable",
)  # fmt: skip


def _matrix(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, MatrixTile]:
    return {dtype: MatrixTile(**row) for dtype, row in rows.items()}


def _extend(machine: Machine, name: str, variant: Variant) -> Machine:
    return replace(
        machine,
        name=f"{machine.name}+{name}",
        features=machine.features + variant.features,
        requires=machine.requires + variant.requires,
        rank=machine.rank + variant.rank,
        native=machine.native | set(variant.native),
        matrix=MappingProxyType({**machine.matrix, **_matrix(variant.matrix)}),
    )
