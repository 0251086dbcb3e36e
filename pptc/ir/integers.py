"""Two's-complement arithmetic on Python integers: the meaning of arith's integer ops.

A value of n bits stands as its signed value, of i1 as False or True. Nothing traps: a zero divisor gives 0, a
quotient too large wraps, and a shift by n or more moves every bit out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pptc.ir.types import ScalarType


def wrap(value: int, type: ScalarType) -> int:
    """The value modulo 2^bits: signed, unsigned for `ui` types, a bool for i1."""
    low = value & ((1 << type.bits) - 1)
    if type.bits == 1:
        return bool(low)
    if type.kind != "uint" and low >> (type.bits - 1):
        return low - (1 << type.bits)
    return low


def unsigned(value: int, bits: int) -> int:
    """The bits of a value read as an unsigned number."""
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    """The bits of a value read as a signed number; True of i1 is -1."""
    low = unsigned(value, bits)
    return low - (1 << bits) if low >> (bits - 1) else low


def divide_toward_zero(a: int, b: int) -> int:
    """a / b without its fraction; 0 when b is 0."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """What `divide_toward_zero` leaves, with the sign of a; 0 when b is 0."""
    return a - divide_toward_zero(a, b) * b if b else 0


def divide_floor(a: int, b: int) -> int:
    """a / b rounded down; 0 when b is 0."""
    return a // b if b else 0


def divide_ceil(a: int, b: int) -> int:
    """a / b rounded up; 0 when b is 0."""
    return -(-a // b) if b else 0


def shift_left(a: int, b: int, bits: int) -> int:
    """a * 2^b; 0 when every bit leaves."""
    return a << b if b < bits else 0


def shift_right(a: int, b: int, bits: int) -> int:
    """a / 2^b rounded down; the sign when every bit leaves."""
    return a >> min(b, bits)


Predicate = Callable[[int, int], bool]

COMPARE: Mapping[str, Predicate] = MappingProxyType(
    {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
)
"""The six orders, without the s or u that says how to read the bits."""


def compare(predicate: str, a: int, b: int, bits: int) -> bool:
    """An arith.cmpi predicate (eq ne slt .. uge) on two values of `bits`."""
    if predicate in COMPARE:
        return COMPARE[predicate](unsigned(a, bits), unsigned(b, bits))
    read = signed if predicate[0] == "s" else unsigned
    return COMPARE[predicate[1:]](read(a, bits), read(b, bits))
