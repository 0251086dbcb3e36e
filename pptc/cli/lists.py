"""The flags that print something and exit: targets, passes, ops, codes."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from typing import Any

from pptc.diag import fail
from pptc.ir.machine import MatrixTile


def targets_text() -> str:
    """`--print-supported-targets`."""
    from pptc.options import host_target, supported_targets

    lines = []
    for target in supported_targets():
        lines.append(f"{target.name:<10} {target.doc}")
        if target.aliases:
            lines.append(f"{'':<10}   also: {', '.join(target.aliases)}")
        lines += [f"{'':<10}   +{name}: {doc}" for name, doc in target.variants]
    lines.append(f"{'host':<10} this machine: {host_target()}")
    return "\n".join(lines) + "\n"


def targets_json() -> str:
    """`--print-supported-targets=json`."""
    from pptc.options import host_target, supported_targets

    rows = [
        {"name": t.name, "doc": t.doc, "aliases": list(t.aliases), "variants": dict(t.variants)}
        for t in supported_targets()
    ]
    return json.dumps({"host": host_target(), "targets": rows}, indent=1) + "\n"


def target_info(name: str) -> str:
    """`--print-target-info=T`: every fact of a machine."""
    from pptc.options import host_target, load_machine

    machine = load_machine(host_target() if name == "host" else name)
    rows = (
        (field.name, _fact(getattr(machine, field.name)))
        for field in dataclasses.fields(machine)
        if field.name not in ("matrix", "pipelines", "facts")
    )
    blocks = {
        "matrix": {key: _register_block(tile) for key, tile in machine.matrix.items()},
        "facts": {key: str(value) for key, value in machine.facts.items()},
        "pipelines": dict(machine.pipelines),
    }
    nested = (
        f"{title}:\n" + "".join(f"  {k}: {v}\n" for k, v in block.items()) for title, block in blocks.items()
    )
    return "".join(f"{key}: {value}\n" for key, value in rows) + "".join(nested)


def _register_block(tile: MatrixTile) -> str:
    dot = f", groups of {tile.group} by {tile.instruction}" if tile.instruction else ""
    return f"{tile.rows} rows x {tile.vectors} vectors{dot}"


def _fact(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def passes_text() -> str:
    """`--list-passes`: each pass with what its module says of it, and its options."""
    from pptc.passes import PASSES

    return "".join(line + "\n" for name in sorted(PASSES) for line in _pass_lines(name, PASSES[name]))


def _pass_lines(name: str, kind: type[Any]) -> Iterator[str]:
    doc = _summary(sys.modules[kind.__module__].__doc__).split(". ")[0].removesuffix(".")
    yield f"{name:<18} {doc.split(': ', 1)[-1] if name in doc else doc}"
    for field in dataclasses.fields(kind):
        default = ("off", "on")[field.default] if isinstance(field.default, bool) else field.default
        yield f"{'':<18}   {field.name.replace('_', '-')}={default}"


def _summary(doc: str | None) -> str:
    return " ".join((doc or "").strip().split("\n\n")[0].split())


def ops_text(prefix: str) -> str:
    """`--list-ops[=PREFIX]`, the form too for a whole name. Raises CompileError P0301 when no op has the prefix."""
    from pptc.ir.catalog import synopsis
    from pptc.ir.ops import OPS

    rows = [OPS[name] for name in sorted(OPS) if name.startswith(prefix)]
    if not rows:
        dialects = dict.fromkeys(f"{OPS[name].dialect}." for name in sorted(OPS))
        raise fail("P0301", f"no op's name begins with '{prefix}'", hint=f"dialects: {', '.join(dialects)}")
    text = "".join(f"{row.name:<28} {_summary(row.doc)}\n" for row in rows)
    return text + (f"\n  {synopsis(OPS[prefix])}\n" if prefix in OPS else "")
