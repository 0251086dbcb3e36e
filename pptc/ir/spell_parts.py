"""Slices of a type's text: what the spellings of all types are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pptc.ir.suggest import did_you_mean
from pptc.ir.symbols import Dim, DimSyntaxError, parse_dim
from pptc.ir.syntax import SyntaxFault
from pptc.ir.types import SCALARS, ScalarType

DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 15
_DIM = re.compile(r"\s*([0-9]+|\?|\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))\s*x\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a type's text; faults are told in offsets of the whole text."""

    text: str
    start: int

    def stripped(self) -> Part:
        """Without the blanks around it."""
        left = len(self.text) - len(self.text.lstrip())
        return Part(self.text.strip(), self.start + left)

    def fault(self, message: str, hint: str | None = None, code: str = "P0005") -> SyntaxFault:
        """A fault whose caret is under this slice."""
        return SyntaxFault(code, message, self.start, self.start + max(len(self.text), 1), hint)


def split_parts(part: Part, separator: str = ",") -> list[Part]:
    """The slices between separators that stand outside of all brackets."""
    out, depth, begin = [], 0, 0
    for index, char in enumerate(part.text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == separator and depth == 0:
            out.append(Part(part.text[begin:index], part.start + begin))
            begin = index + 1
    out.append(Part(part.text[begin:], part.start + begin))
    return [item.stripped() for item in out]


def scalar_of(part: Part) -> ScalarType:
    """The element type that a slice names."""
    scalar = SCALARS.get(part.text)
    if scalar is None:
        raise part.fault(f"unknown element type `{part.text}`", did_you_mean(part.text, SCALARS))
    return scalar


def shape_of(part: Part) -> tuple[list[Part], ScalarType]:
    """`4x?x(T)xf32` as dims and element."""
    dims, at = [], 0
    while match := _DIM.match(part.text, at):
        dims.append(Part(match[1], part.start + match.start(1)))
        at = match.end()
    return dims, scalar_of(Part(part.text[at:], part.start + at).stripped())


def number_of(part: Part) -> int:
    """The number that a slice spells."""
    if not DIGITS.fullmatch(part.text):
        raise part.fault(f"`{part.text}` is not a number")
    if len(part.text) > _MOST_DIGITS:
        raise part.fault("the number is too large")
    return int(part.text)


def extents_of(parts: list[Part]) -> tuple[int | None, ...]:
    """Numbers, and None for `?`."""
    return tuple(None if part.text == "?" else number_of(part) for part in parts)


def dims_of(parts: list[Part]) -> tuple[Dim, ...]:
    """Symbolic dims."""
    out = []
    for part in parts:
        try:
            out.append(parse_dim(part.text))
        except DimSyntaxError as error:
            at = part.start + error.offset
            raise SyntaxFault("P0005", str(error), at, at + 1) from None
    return tuple(out)


def word_of(part: Part, words: tuple[str, ...]) -> Any:
    """One of the words, which the slice must be."""
    if part.text not in words:
        raise part.fault(f"unknown word `{part.text}`", f"one of {', '.join(words)}")
    return part.text
