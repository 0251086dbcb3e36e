"""Schemas of the YAML files in configs/, checked on reading: an unknown key, a missing one or a wrong kind of value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pptc.diag import CompileError, Sink, Source, Span, fail

Rule = Any
"""A Python type, a list of one rule for each item, or a Schema."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A mapping with named keys, or with keys of any name whose values follow `each`."""

    required: Mapping[str, Rule] | None = None
    optional: Mapping[str, Rule] | None = None
    each: Rule = None

    def problems(self, value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
        """Each fault with the keys that lead to it."""
        if not isinstance(value, dict):
            yield path, "a mapping of keys is expected"
            return
        for key in self.required or ():
            if key not in value:
                yield path, f"the key '{key}' is missing"
        rules = {**(self.required or {}), **(self.optional or {})}
        for key, item in value.items():
            rule = rules.get(key, self.each)
            if rule is None:
                yield (*path, key), f"the key '{key}' is not known; known are {', '.join(rules)}"
            else:
                yield from _problems(rule, item, (*path, str(key)))


def _problems(rule: Rule, value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(rule, Schema):
        yield from rule.problems(value, path)
    elif isinstance(rule, list):
        if not isinstance(value, list):
            yield path, f"'{path[-1]}' is a list"
            return
        for item in value:
            yield from _problems(rule[0], item, path)
    elif type(value) is not rule:
        yield path, f"'{path[-1]}' is a {rule.__name__}, not {value!r}"


def read_yaml(path: Path, schema: Schema) -> dict[str, Any]:
    """The mapping of a file. Raises CompileError P0302 (unreadable) or P0401 with every fault and its line."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise fail("P0302", f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise fail("P0401", f"{path.name} is not YAML: {error}") from error
    found = list(schema.problems(value))
    if found:
        raise _located(path, text, found)
    return dict(value)


def _located(path: Path, text: str, found: list[tuple[tuple[str, ...], str]]) -> CompileError:
    import yaml

    source, sink, root = Source(str(path), text), Sink(), yaml.compose(text)
    for keys, message in found:
        sink.error("P0401", message, _span(source, root, keys))
    return CompileError(sink)


def _span(source: Source, node: Any, keys: tuple[str, ...]) -> Span:
    """Where the innermost key stands that the file has."""
    mark = node
    for key in keys:
        pairs = node.value if node.id == "mapping" else []
        for name, value in pairs:
            if name.value == key:
                mark, node = name, value
    return Span(source, mark.start_mark.index, mark.end_mark.index)
