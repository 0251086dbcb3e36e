"""The flags that print something and exit: targets, passes, ops, codes."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pptc.cli.listing import Listing, columns
from pptc.diag import fail
from pptc.ir.machine import MatrixTile


def targets() -> Listing:
    """`--print-supported-targets`."""
    from pptc.options import host_target, supported_targets

    rows = []
    for target in supported_targets():
        rows.append((target.name, target.doc))
        if target.aliases:
            rows.append(("", f"  also: {', '.join(target.aliases)}"))
        rows += [("", f"  +{name}: {doc}") for name, doc in target.variants]
    rows.append(("host", f"this machine: {host_target()}"))
    return columns(("target", "what it is"), 10, rows)


def targets_json() -> str:
    """`--print-supported-targets=json`."""
    from pptc.options import host_target, supported_targets

    rows = [
        {"name": t.name, "doc": t.doc, "aliases": list(t.aliases), "variants": dict(t.variants)}
        for t in supported_targets()
    ]
    return json.dumps({"host": host_target(), "targets": rows}, indent=1) + "\n"


def target_info(name: str) -> Listing:
    """`--print-target-info=T`: every fact of a machine."""
    from pptc.options import host_target, load_machine

    machine = load_machine(host_target() if name == "host" else name)
    facts = [
        (field.name, _fact(getattr(machine, field.name)))
        for field in dataclasses.fields(machine)
        if field.name not in ("matrix", "pipelines", "facts")
    ]
    blocks = {
        "matrix": {key: _register_block(tile) for key, tile in machine.matrix.items()},
        "facts": {key: str(value) for key, value in machine.facts.items()},
        "pipelines": dict(machine.pipelines),
    }
    rows, lines = list(facts), [f"{key}: {value}" for key, value in facts]
    for title, block in blocks.items():
        rows += [(title, ""), *((f"  {key}", value) for key, value in block.items())]
        lines += [f"{title}:", *(f"  {key}: {value}" for key, value in block.items())]
    return Listing(("fact", "value"), rows, "\n".join(lines) + "\n")


def _register_block(tile: MatrixTile) -> str:
    dot = f", groups of {tile.group} by {tile.instruction}" if tile.instruction else ""
    return f"{tile.rows} rows x {tile.vectors} vectors{dot}"


def _fact(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def passes() -> Listing:
    """`--list-passes`: each pass with what its module says of it, and its options."""
    from pptc.passes import PASSES

    rows = [row for name in sorted(PASSES) for row in _pass_rows(name, PASSES[name])]
    return columns(("pass", "what it does"), 18, rows)


def _pass_rows(name: str, kind: type[Any]) -> Iterator[tuple[str, str]]:
    doc = _summary(sys.modules[kind.__module__].__doc__).split(". ")[0].removesuffix(".")
    yield name, doc.split(": ", 1)[-1] if name in doc else doc
    for field in dataclasses.fields(kind):
        default = ("off", "on")[field.default] if isinstance(field.default, bool) else field.default
        yield "", f"  {field.name.replace('_', '-')}={default}"


def _summary(doc: str | None) -> str:
    return " ".join((doc or "").strip().split("\n\n")[0].split())


def ops(prefix: str) -> Listing:
    """`--list-ops[=PREFIX]`, the form too for a whole name. Raises CompileError P0301 when no op has the prefix."""
    from pptc.ir.catalog import synopsis
    from pptc.ir.ops import OPS

    rows = [OPS[name] for name in sorted(OPS) if name.startswith(prefix)]
    if not rows:
        dialects = dict.fromkeys(f"{OPS[name].dialect}." for name in sorted(OPS))
        raise fail("P0301", f"no op's name begins with '{prefix}'", hint=f"dialects: {', '.join(dialects)}")
    listing = columns(("op", "what it does"), 28, [(row.name, _summary(row.doc)) for row in rows])
    if prefix not in OPS:
        return listing
    form = f"  {synopsis(OPS[prefix])}"
    return replace(listing, rows=[*listing.rows, ("", form)], text=f"{listing.text}\n{form}\n")
