"""The op row: the single truth about an op, from which parser, verifier, printer, docs and tests are derived.

An assembly format is a string in MLIR's declarative notation: `` `word` `` a literal, `$name` an operand group,
`type($name)` its types, `attr-dict` the attributes not spelled elsewhere, `(..)?` an optional part anchored by `^`,
`custom<Name>` a spelling that `forms.py` holds. Rows of one family get theirs from a function such as `dps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pptc.ir.attrs import Attr
from pptc.ir.scalars import Recipe
from pptc.ir.types import ScalarType, Type

if TYPE_CHECKING:
    from pptc.ir.core import Op

WAITS = "waits"
"""The trait of ops that wait for what another core does: nothing that stands behind one may be read before it."""

SIGNALS = "signals"
"""The trait of ops by which a core lets others go on: nothing that stands before one may be read or written later."""

Access = Literal["value", "read", "write", "update", "scratch"]
"""What an op does to the memory behind an operand: nothing (`value`), or reads, writes, both, or spoils it."""

Arity = Literal["one", "optional", "many"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A constraint on a type, with the words that a diagnostic and the man page use for it."""

    words: str
    accepts: Callable[[Type], bool] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Operand:
    """A named operand group."""

    name: str
    kind: Kind
    access: Access = "value"
    arity: Arity = "one"
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A named result group."""

    name: str
    kind: Kind
    arity: Arity = "one"
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute. `values` are the words of an enum; `default` is what an absent one means."""

    name: str
    kind: Literal["int", "float", "bool", "string", "enum", "type", "symbol", "ints", "unit", "any"]
    enum: str | None = None  # the NAME of #pto.NAME<..> or #pto<NAME ..>
    spaced: bool = False
    values: tuple[str, ...] = ()
    default: Attr | None = None
    required: bool = False
    aliases: tuple[str, ...] = ()  # older keys, accepted and normalised
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a type rule finds: a code of diag.CODES, a sentence, and the operand group to point at."""

    code: str
    message: str
    operand: str | None = None
    hint: str | None = None
    where: Op | None = None  # an op inside of the checked one to point at


Rule = Callable[["Op"], Iterable[Problem]]
"""A check beyond the operand kinds; yields every problem it finds."""


# ---------------------------------------------------------------- meaning: what lowering and the reference go by


class Spread(Enum):
    """How a source lies over the destination's (row, column)."""

    FULL = "full"  # element (r, c)
    ROW = "row"  # one value per row: element (r, 0)
    COLUMN = "column"  # one value per column: element (0, c)
    SCALAR = "scalar"  # an SSA scalar operand


@dataclass(frozen=True, slots=True)
class Map:
    """Every destination element is `recipe` of the source elements at its place.

    `sources` are the operand groups in the recipe's order. `keywords` are attributes passed by name, words or numbers;
    the keyword `to` is the destination's element type.
    """

    recipe: Recipe
    sources: Mapping[str, Spread]
    keywords: tuple[str, ...] = ()
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class RowReduce:
    """dst[r, 0] = combine over the valid columns of `source`, from `identity(dtype)`."""

    combine: Recipe
    identity: Callable[[ScalarType], float | int]
    kind: Literal["add", "mul", "max", "min"]
    source: str = "src"
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class ColumnReduce:
    """dst[0, c] = combine over the valid rows of `source`."""

    combine: Recipe
    identity: Callable[[ScalarType], float | int]
    kind: Literal["add", "mul", "max", "min"]
    source: str = "src"
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class Window:
    """dst[r, c] = src[r + row, c + column], or with `into` dst[r + row, c + column] = src[r, c]."""

    source: str = "src"
    row: str = "row"
    column: str = "column"
    destination: str = "dst"
    into: bool = False


@dataclass(frozen=True, slots=True)
class Contract:
    """dst = lhs x rhs in the accumulator's type, plus `start` (a tile of dst's shape) or `bias` (one row)."""

    lhs: str = "lhs"
    rhs: str = "rhs"
    destination: str = "dst"
    start: str | None = None
    bias: str | None = None


@dataclass(frozen=True, slots=True)
class Generate:
    """Every destination element is `recipe` of its row, its column, the number of valid columns and `scalars`.

    The first three are i64; `keywords` are those of a Map. The reference gets the numbers of rows and columns instead.
    """

    recipe: Recipe
    scalars: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class Transpose:
    """dst[r, c] = src[c, r], over the source's valid region."""

    source: str = "src"
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class Concatenate:
    """dst = columns of `left`, then columns of `right`: the valid ones, or as many as column 0 of `counts` says."""

    left: str = "src0"
    right: str = "src1"
    destination: str = "dst"
    counts: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Pad:
    """dst = the source's valid elements, and its pad value in all others of the physical tile."""

    source: str = "src"
    destination: str = "dst"


@dataclass(frozen=True, slots=True)
class Compare:
    """Bit c of row r of dst, the lowest of a byte first, says how `lhs` compares with `rhs`, a tile or a scalar."""

    lhs: str
    rhs: str


@dataclass(frozen=True, slots=True)
class Select:
    """dst = `yes` where the operand `mask` has a 1, else `no`, which may be a scalar."""

    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class ArgReduce:
    """dst = where src has its largest (or smallest) element: the column of each row, or the row of each column."""

    of_rows: bool
    largest: bool


@dataclass(frozen=True, slots=True)
class Partial:
    """dst = `recipe` of src0 and src1 where both are valid, and the one that is valid elsewhere."""

    recipe: Recipe


@dataclass(frozen=True, slots=True)
class ArgPartial:
    """Like Partial with the larger (or smaller) one, and dst_idx = its number from src0_idx or src1_idx."""

    largest: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """dst = elements of src: those that `numbers` say, in elements or bytes, or those at the ones of maskPattern."""

    numbers: str = "indices"
    in_bytes: bool = False


@dataclass(frozen=True, slots=True)
class MemoryGather:
    """dst = rows or elements of `mem` by the numbers in `idx`."""


@dataclass(frozen=True, slots=True)
class MemoryScatter:
    """Rows or elements of `mem` = src, by the numbers in `idx`."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """dst[indexes[r, c], c] = src[r, c]."""


@dataclass(frozen=True, slots=True)
class SortRuns:
    """Every 32 columns of `src` sorted down; dst gets pairs of value and `idx`."""


@dataclass(frozen=True, slots=True)
class Merge:
    """dst = the sorted pairs of `srcs` in one order, or of each four runs of `blockLen` columns of one tile."""


@dataclass(frozen=True, slots=True)
class Handle:
    """Makes or changes a tile handle or a view without touching elements."""


Meaning = (
    Map
    | RowReduce
    | ColumnReduce
    | Window
    | Contract
    | Generate
    | Transpose
    | Concatenate
    | Pad
    | Compare
    | Select
    | ArgReduce
    | Partial
    | ArgPartial
    | Pick
    | MemoryGather
    | MemoryScatter
    | Scatter
    | SortRuns
    | Merge
    | Handle
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two right implementations may differ: |a - b| <= absolute + relative * |b|, plus `ulps` of the dtype."""

    relative: float = 0.0
    absolute: float = 0.0
    ulps: float = 0.0
    reason: str = "one IEEE operation in the destination's type"


EXACT = Tolerance()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """One row. See the module docstring for `format`; `reference` is NumPy and never calls the recipe."""

    name: str
    doc: str
    operands: tuple[Operand, ...] = ()
    results: tuple[Result, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    format: str = "operands attr-dict `:` types"
    regions: int | None = 0  # None: any number
    terminator: bool = False
    pure: bool = False  # no memory, no effect: may be folded, shared and dropped
    dtypes: tuple[
        ScalarType, ...
    ] = ()  # element types that the op has a meaning for; empty: the kinds decide
    rules: tuple[Rule, ...] = ()
    infer: Callable[[Op], tuple[Type, ...]] | None = None  # result types, where the text may leave them out
    reference: Callable[..., Any] | None = None
    meaning: Meaning | None = None
    tolerance: Tolerance = EXACT
    commutative: bool = False
    since: str = "0.27"
    until: str | None = None  # first version that no longer has the op
    traits: frozenset[str] = frozenset()

    def operand_index(self, name: str) -> int:
        """The position of a group among the row's operands."""
        for index, operand in enumerate(self.operands):
            if operand.name == name:
                return index
        raise KeyError(f"{self.name} has no operand {name}")

    def attribute(self, name: str) -> Attribute | None:
        """The declaration of an attribute, by its name or an alias."""
        return next((a for a in self.attributes if name == a.name or name in a.aliases), None)

    def segments(self, count: int) -> tuple[int, ...]:
        """Operand counts per group when `count` operands stand in a row: greedy, from the left.

        Rows with two groups of unknown size must be given their segments.
        """
        left = count - sum(o.arity == "one" for o in self.operands)
        out = []
        for operand in self.operands:
            here = (
                1 if operand.arity == "one" else min(left, 1) if operand.arity == "optional" else max(left, 0)
            )
            left -= here if operand.arity != "one" else 0
            out.append(here)
        return tuple(out)

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.split(".", 1)[0]


def table(*rows: OpDef | Iterable[OpDef]) -> Mapping[str, OpDef]:
    """One immutable table of rows; a name given twice is an error."""
    out: dict[str, OpDef] = {}
    for row in _flatten(rows):
        if row.name in out:
            raise ValueError(f"op {row.name} is declared twice")
        out[row.name] = row
    return MappingProxyType(out)


def _flatten(rows: Iterable[OpDef | Iterable[OpDef]]) -> Iterator[OpDef]:
    for row in rows:
        if isinstance(row, OpDef):
            yield row
        else:
            yield from row


# ---------------------------------------------------------------- operand kinds and formats of the families


def dps(
    ins: tuple[str, ...], outs: tuple[str, ...] = ("dst",), inside: bool = False, once_inside: bool = False
) -> str:
    """The format `ins(%a, %b : TA, TB) outs(%d : TD) {attributes}`; `inside` puts the dictionary into `ins`.

    With `once_inside` it is read there too. Groups of optional operands may stand anywhere among the others.
    """

    inner = " attr-dict" if inside else " older-attr-dict" if once_inside else ""
    outer = "" if inside else " attr-dict"
    sources, targets = (", ".join(f"${name}" for name in names) for names in (ins, outs))
    return (
        f"`ins` `(` list({sources}){inner} `:` type({sources}) `)` "
        f"`outs` `(` list({targets}) `:` type({targets}) `)`{outer}"
    )
