"""The assembly form of an op as people write it, made from its row: for the man page and for hints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pptc.ir.opdef import OpDef, Operand

_TOKEN = re.compile(
    r"`(?P<literal>[^`]*)`|\$(?P<name>\w+)|(?P<word>[\w-]+)(?:<(?P<custom>\w+)>)?(?:\((?P<inside>[^()]*)\))?|(?P<sign>[(^]|\)\?)"
)
_FIXED: Mapping[str, str] = MappingProxyType(
    {
        "attr-dict": "{..}",
        "older-attr-dict": "",
        "attr-dict-with-keyword": "attributes {..}",
        "functional-type": "(T, ..) -> (T, ..)",
        "region": "{ .. }",
        "custom": "..",
        "types": "T",
        "SymbolName": "@NAME",
        "DenseOfType": "dense<..>",
    }
)
_TIGHT = (
    (r" ([,)\]>])", r"\1"),
    (r"([(\[<]) ", r"\1"),
    (r"(ins|outs|inout|grid) \(", r"\1("),
    (r"(%\w+) \[(?!,)", r"\1["),
    (r" \[, ", "[, "),
)
"""Blanks that the text does not have: before a closing mark, behind an opening one."""


def synopsis(row: OpDef) -> str:
    """The op as it is written: `%x` an operand, `T` a type, `NAME` an attribute, `[..]` an optional part."""
    operands = {operand.name: operand for operand in row.operands}
    words = [_spelled(match, operands) for match in _TOKEN.finditer(row.format)]
    text = " ".join(word for word in (row.name, *words) if word)
    for pattern, replacement in _TIGHT:
        text = re.sub(pattern, replacement, text)
    results = ", ".join(f"%{result.name}" for result in row.results)
    return f"{results} = {text}" if results else text


def _spelled(match: re.Match[str], operands: Mapping[str, Operand]) -> str:
    if match["literal"] is not None:
        return match["literal"].strip()
    if match["name"]:
        return _listed((match["name"],), operands, "%")
    if match["sign"]:
        return {"(": "[", ")?": "]", "^": ""}[match["sign"]]
    inside = match["inside"] or ""
    names = tuple(re.findall(r"\$(\w+)", inside)) or tuple(
        operands if "operands" in (match["word"], inside) else ()
    )
    if match["word"] == "type":
        return _listed(names, operands, "") or "T"
    if match["word"] == "mixed":
        items = _listed(names, operands, "%").removeprefix("[").removesuffix("]")
        return f"({items})" if inside.endswith("parentheses") else f"[{items}]"
    if match["word"] == "keyed":
        return ", ".join(f"{name} = %{name} : T" for name in names)
    plain = _FIXED.get(match["word"], match["word"])
    return _listed(names, operands, "%") or _FIXED.get(match["custom"], plain)


def _listed(names: tuple[str, ...], operands: Mapping[str, Operand], mark: str) -> str:
    """Operands in a comma list, or with no mark their types; other names are attributes."""
    fixed = any(operands[name].arity == "one" for name in names if name in operands)
    text = ""
    for name in names:
        operand = operands.get(name)
        item = f"%{name}" if operand else name.upper()
        item = item if mark else "T"
        item += ", .." if operand and operand.arity == "many" else ""
        comma = ", " if text else ""
        text += f"[{comma}{item}]" if fixed and operand and operand.arity == "optional" else f"{comma}{item}"
    return text
