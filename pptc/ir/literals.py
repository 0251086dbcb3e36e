"""Number literals: text to bits and back, exactly, without NumPy."""

from __future__ import annotations

import math
import re
import struct
from types import MappingProxyType

from pptc.ir.attrs import FloatAttr, IntAttr
from pptc.ir.integers import wrap
from pptc.ir.spell import print_type
from pptc.ir.syntax import MUTE, SyntaxFault
from pptc.ir.types import F8E4M3FN, F16, F32, F64, I1, POISON, ScalarType, Type

_MANTISSA = MappingProxyType({"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "f8E4M3FN": 3, "f8E5M2": 2})
_PACK = MappingProxyType({F16: ("<e", "<H"), F32: ("<f", "<I"), F64: ("<d", "<Q")})


_NUMBER = re.compile(r"[+-]?(?:0x[0-9A-Fa-f]+|\d+(?P<fraction>\.\d*(?:[eE][+-]?\d+)?)?)")


_MOST_CHARACTERS = 1000


def is_number(text: str) -> bool:
    """True for what the language calls a number."""
    return _NUMBER.fullmatch(text) is not None


def plain_integer(text: str, start: int = 0) -> int:
    """The value of an integer literal that stands at `start`; decimal ones may begin with zeros."""
    if len(text) > _MOST_CHARACTERS:
        raise SyntaxFault("P0009", "the number is too long", start, start + len(text))
    return int(text, 16 if "x" in text else 10)


def parse_integer(text: str, type: ScalarType | None) -> int:
    """The integer of a literal, wrapped to its type; both the signed and the unsigned range are accepted."""
    value = plain_integer(text)
    if type is None:
        return value
    low = -(1 << (type.bits - 1)) if type.kind != "uint" else 0
    if not low <= value < 1 << type.bits:
        raise SyntaxFault("P0009", f"{text} does not fit {type.name}", 0, len(text))
    return wrap(value, type)


def parse_float(text: str, type: ScalarType) -> FloatAttr:
    """A decimal literal rounded to nearest even, or the bits of a hex literal."""
    if text[:2] in ("0x", "0X"):
        bits = int(text, 16)
        if bits >> type.bits:
            raise SyntaxFault("P0009", f"{text} has more bits than {type.name}", 0, len(text))
        return FloatAttr(bits, type)
    if type.name not in _MANTISSA:
        raise SyntaxFault(
            "P0009", f"{type.name} has no decimal literals", 0, len(text), "write its bits in hex"
        )
    return FloatAttr(round_float(float(text), type), type)


def round_float(value: float, type: ScalarType) -> int:
    """The bits of the float of `type` nearest to `value`, ties to even; what is too large becomes infinity (or NaN)."""
    if type == F64:
        return int.from_bytes(struct.pack("<d", value), "little")
    mantissa = _MANTISSA[type.name]
    sign = (math.copysign(1.0, value) < 0) << (type.bits - 1)
    special = _special(type, mantissa)
    if value != value:
        return sign | special | (1 << (mantissa - 1) if type != F8E4M3FN else 0)
    magnitude = abs(value)
    if magnitude == math.inf:
        return sign | special
    exponent_bits = type.bits - 1 - mantissa
    lowest = 2 - (1 << (exponent_bits - 1))
    exponent = max(math.frexp(magnitude)[1] - 1, lowest) if magnitude else lowest
    steps = round(math.ldexp(magnitude, mantissa - exponent))  # exact scaling, ties to even
    bits = ((exponent - lowest) << mantissa) + steps
    return sign | min(bits, special)


def _special(type: ScalarType, mantissa: int) -> int:
    """The bits of infinity, or of NaN where the type has no infinity."""
    if type == F8E4M3FN:
        return 0x7F
    return ((1 << (type.bits - 1 - mantissa)) - 1) << mantissa


def float_value(attribute: FloatAttr) -> float:
    """The exact value as a Python float; NaN loses its payload."""
    bits, type = attribute.bits, attribute.type
    if type in _PACK:
        unpack, pack = _PACK[type]
        return float(struct.unpack(unpack, struct.pack(pack, bits))[0])
    mantissa = _MANTISSA[type.name]
    exponent_bits = type.bits - 1 - mantissa
    sign = -1.0 if bits >> (type.bits - 1) else 1.0
    exponent = bits >> mantissa & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << mantissa) - 1)
    magnitude = bits & ((1 << (type.bits - 1)) - 1)
    if magnitude >= _special(type, mantissa):
        return sign * math.inf if magnitude == _special(type, mantissa) and type != F8E4M3FN else math.nan
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - mantissa)
    return sign * math.ldexp((1 << mantissa) + fraction, exponent - bias - mantissa)


def print_float(attribute: FloatAttr) -> str:
    """Six decimals when they give the same bits, else the shortest digits that do; infinity and NaN by their bits."""
    if attribute.type.name in _MANTISSA:
        value = float_value(attribute)
        if math.isfinite(value):
            short = f"{value:.6e}"
            same = round_float(float(short), attribute.type) == attribute.bits
            return short if same else _with_point(repr(value))
    return f"0x{attribute.bits:0{attribute.type.bits // 4}X}"


def print_shortest(attribute: FloatAttr) -> str:
    """The shortest decimal that reads as the same bits; infinity and NaN by their bits."""
    if attribute.type.name in _MANTISSA:
        value = float_value(attribute)
        if math.isfinite(value):
            texts = (_with_point(repr(float(f"{value:.{digits}g}"))) for digits in range(1, 18))
            return next(text for text in texts if round_float(float(text), attribute.type) == attribute.bits)
    return print_float(attribute)


def _with_point(text: str) -> str:
    """`1e-07` has no point, which the language wants."""
    digits, mark, exponent = text.partition("e")
    return text if "." in digits else f"{digits}.0{mark}{exponent}"


def parse_number(text: str, type: Type | None, start: int = 0) -> IntAttr | FloatAttr | bool:
    """The literal that stands at `start`, of a type; without one an integer stays untyped and a float is f64."""
    try:
        if not is_number(text):
            raise SyntaxFault("P0009", f"`{text}` is not a number", 0, len(text))
        if type is None:
            return parse_float(text, F64) if "." in text else IntAttr(parse_integer(text, None))
        if not isinstance(type, ScalarType):
            code = MUTE if type == POISON else "P0009"
            raise SyntaxFault(code, f"a number cannot have the type {print_type(type)}", 0, len(text))
        return _float_of(text, type) if type.is_float else _integer_of(text, type)
    except SyntaxFault as fault:
        raise fault.moved(start) from None


def _float_of(text: str, type: ScalarType) -> FloatAttr:
    if "." not in text and not text.startswith("0x"):
        message = f"{text} is an integer, not a float as {type.name} needs"
        raise SyntaxFault("P0009", message, 0, len(text), f"write {text}.0")
    return parse_float(text, type)


def _integer_of(text: str, type: ScalarType) -> IntAttr | bool:
    if "." in text:
        raise SyntaxFault("P0009", f"{text} is not an integer, as {type.name} needs", 0, len(text))
    value = parse_integer(text, type)
    return bool(value) if type == I1 else IntAttr(value, type)
