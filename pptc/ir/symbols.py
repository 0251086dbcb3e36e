"""Symbolic dims of the core level and their text; the algebra behind them is in `dims.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.dims import (
    ANONYMOUS,
    Bounds,
    Dim,
    DimExpr,
    DimTooLarge,
    Ranges,
    Symbol,
    add,
    bounds,
    ceildiv,
    evaluate,
    factor_of,
    floordiv,
    is_anonymous,
    maximum,
    minimum,
    mul,
    sub,
    substitute,
    symbols,
)

__all__ = [
    "ANONYMOUS", "Bounds", "Dim", "DimExpr", "DimSyntaxError", "DimTooLarge", "Ranges", "Symbol", "add",
    "bounds", "ceildiv", "evaluate", "floordiv", "is_anonymous", "maximum", "minimum", "mul", "parse_dim",
    "print_dim", "print_expression", "sub", "substitute", "symbols",
]  # fmt: skip


def print_dim(dim: Dim) -> str:
    """The text of a dim in a shape: `64`, `?`, `(T)`, `(P+T)`, `((T+15) floordiv 16)`."""
    return str(dim) if isinstance(dim, int) else "?" if is_anonymous(dim) else f"({_expression(dim)})"


def print_expression(dim: Dim) -> str:
    """The text of a dim without the parentheses of a shape."""
    return _expression(dim)


def _expression(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    if isinstance(dim, Symbol):
        return dim.name
    if dim.op == "+":
        return _sum(dim.args)
    if dim.op == "*":
        return "*".join(map(_operand, dim.args))
    if dim.op == "floordiv":
        return _quotient(*dim.args)
    return f"{dim.op}({', '.join(map(_expression, dim.args))})"


def _quotient(dividend: Dim, divisor: Dim) -> str:
    """Rounded up where the dividend holds one less than the divisor."""
    last = dividend.args[-1] if isinstance(dividend, DimExpr) and dividend.op == "+" else None
    if isinstance(divisor, int) and last == divisor - 1:
        return f"{_operand(sub(dividend, last))} ceildiv {divisor}"
    return f"{_operand(dividend)} floordiv {_operand(divisor)}"


def _operand(dim: Dim) -> str:
    """A factor, in parentheses where the expression would read otherwise."""
    nested = isinstance(dim, DimExpr) and dim.op in ("+", "*", "floordiv")
    return f"({_expression(dim)})" if nested else _expression(dim)


def _sum(terms: tuple[Dim, ...]) -> str:
    text = ""
    for term in sorted(terms, key=lambda term: factor_of(term) < 0):
        negative = factor_of(term) < 0
        text += ("-" if negative else "+" if text else "") + _expression(mul(-1, term) if negative else term)
    return text


class DimSyntaxError(ValueError):
    """A text that is no dim; `offset` is where it stops making sense."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


MAXIMUM_TEXT = 1000
MAXIMUM_DEPTH = 50
MAXIMUM_INTEGER = 2**63 - 1
_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|\?\d+|[-+*(),]|$)", re.ASCII)
_PRODUCTS: Mapping[str, Callable[[Dim, Dim], Dim]] = MappingProxyType(
    {"*": mul, "floordiv": floordiv, "ceildiv": ceildiv}
)
_EXTREMA: Mapping[str, Callable[..., Dim]] = MappingProxyType({"max": maximum, "min": minimum})


def parse_dim(text: str) -> Dim:
    """The dim that `64`, `?`, `(T)` or `(P+T)` says. DimSyntaxError on anything else."""
    if text.strip() == "?":
        return ANONYMOUS
    if len(text) > MAXIMUM_TEXT:
        raise DimSyntaxError(f"a dim of more than {MAXIMUM_TEXT} characters", 0)
    reader = _Reader(text)
    dim = reader.sum(0)
    reader.expect("", "an operator")
    if (high := bounds(dim)[1]) is not None and high < 0:
        raise DimSyntaxError(f"the dim {_expression(dim)} is negative", 0)
    return dim


class _Reader:
    """Recursive descent over one dim; `token` starts at `offset`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.token = ""
        self.offset = self.end = 0
        self.advance()

    def advance(self) -> str:
        """Step to the next token; the one left behind."""
        left = self.token
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            at = self.end + len(self.text[self.end :]) - len(self.text[self.end :].lstrip())
            raise DimSyntaxError(f"no dim has the character '{self.text[at]}'", at)
        self.offset, self.end, self.token = match.start(1), match.end(), match[1]
        return left

    def expect(self, token: str, words: str) -> None:
        """Step over `token`, or say that `words` were expected."""
        if self.token != token:
            found = f"'{self.token}'" if self.token else "the end"
            raise DimSyntaxError(f"expected {words}, found {found}", self.offset)
        self.advance()

    def sum(self, depth: int) -> Dim:
        """Products joined by + and -."""
        total = self.product(depth)
        while self.token in ("+", "-"):
            total = self.combine(add if self.advance() == "+" else sub, total, self.product, depth)
        return total

    def product(self, depth: int) -> Dim:
        """Factors joined by *, floordiv and ceildiv."""
        total = self.factor(depth)
        while self.token in _PRODUCTS:
            total = self.combine(_PRODUCTS[self.advance()], total, self.factor, depth)
        return total

    def combine(
        self, operation: Callable[[Dim, Dim], Dim], left: Dim, right: Callable[[int], Dim], depth: int
    ) -> Dim:
        """One operation, whose refusal points at the right side."""
        at = self.offset
        operand = right(depth)
        try:
            return operation(left, operand)
        except DimSyntaxError:
            raise
        except ValueError as refusal:
            raise DimSyntaxError(str(refusal), at) from refusal

    def factor(self, depth: int) -> Dim:
        """A number, a name, max or min of sums, a sum in parentheses, or the negative of a factor."""
        if depth > MAXIMUM_DEPTH:
            raise DimSyntaxError("a dim nested too deep", self.offset)
        token = self.token
        if token == "-":
            self.advance()
            return mul(-1, self.factor(depth + 1))
        if token in _EXTREMA:
            self.advance()
            return _EXTREMA[token](*self.parenthesised(depth))
        if token == "(":
            (inner,) = self.parenthesised(depth, 1)
            return inner
        if token.isdigit():
            return self.number()
        if token.startswith("?") or (token.isidentifier() and token not in _PRODUCTS):
            return Symbol(self.advance())
        raise DimSyntaxError("expected a number, a symbol, max, min or '('", self.offset)

    def number(self) -> int:
        """A decimal that fits the extents of the C library."""
        if len(self.token) > 19 or int(self.token) > MAXIMUM_INTEGER:
            raise DimSyntaxError("a number beyond 2^63-1", self.offset)
        return int(self.advance())

    def parenthesised(self, depth: int, most: int | None = None) -> list[Dim]:
        """`(a, b, ..)`."""
        self.expect("(", "'('")
        dims = [self.sum(depth + 1)]
        while self.token == "," and len(dims) != most:
            self.advance()
            dims.append(self.sum(depth + 1))
        self.expect(")", "')'")
        return dims
