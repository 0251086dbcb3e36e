"""Symbolic dims of the core level: integers, symbols and + - * floordiv max min of them, in a normal form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named extent; the same name is the same number within a function. `?N` is an anonymous one."""

    name: str


@dataclass(frozen=True, slots=True)
class DimExpr:
    """`op` is +, -, *, floordiv, max or min over dims; built by the functions below only, so equal means equal."""

    op: str
    args: tuple[Dim, ...]


Dim = int | Symbol | DimExpr
