"""Sources, spans and diagnostics: where a thing stands in the user's text, and what is wrong with it.

Nothing here prints. Passes and the parser report into a `Sink`; only the command line renders it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType


@dataclass(frozen=True)
class Source:
    """One input text; `name` is the path as the user typed it, or `<stdin>`."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts += [i + 1 for i, char in enumerate(self.text) if char == "\n"]
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a source."""

    source: Source
    start: int
    end: int

    @property
    def position(self) -> tuple[int, int]:
        """Line and column of the first character, from 1."""
        return self.source.position(self.start)

    def to(self, other: Span) -> Span:
        """The span from this one's start to the other's end."""
        return Span(self.source, self.start, max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class UserLocation:
    """A `loc("file":line:column)` of the input: the line that the user really wrote."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Code:
    """A row of the table of diagnostics; `exit` is the process status that it leads to, `group` the -W name of a warning."""

    title: str
    explanation: str
    exit: int = 1
    group: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a diagnostic."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `hint` says what to do next."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[Note, ...] = ()
    location: UserLocation | None = None
    severity: str = "error"
    group: str | None = None  # the -W group of a warning


class CompileError(Exception):
    """Raised when a stage can't go on; the findings are in `sink`."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self.sink = sink

    def __str__(self) -> str:
        return "; ".join(
            f"{found.message} [{found.code}]" for found in self.sink if found.severity == "error"
        )

    @property
    def exit_status(self) -> int:
        """The status of the first error."""
        return CODES[next(d for d in self.sink if d.severity == "error").code].exit


class Sink:
    """Collects diagnostics in the order they are found."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def report(self, diagnostic: Diagnostic) -> None:
        """Add one finding."""
        if diagnostic.code not in CODES:
            raise KeyError(f"unknown diagnostic code {diagnostic.code}")
        self._found.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        hint: str | None = None,
        notes: tuple[Note, ...] = (),
        location: UserLocation | None = None,
    ) -> None:
        """Add an error."""
        self.report(Diagnostic(code, message, span, hint, notes, location))

    def warn(
        self, code: str, group: str, message: str, span: Span | None = None, *, hint: str | None = None
    ) -> None:
        """Add a warning of a -W group."""
        self.report(Diagnostic(code, message, span, hint, severity="warning", group=group))

    @property
    def error_count(self) -> int:
        """How many errors were found."""
        return sum(d.severity == "error" for d in self._found)

    def check(self) -> None:
        """Raise CompileError when an error was found."""
        if self.error_count:
            raise CompileError(self)


def fail(code: str, message: str, span: Span | None = None, *, hint: str | None = None) -> CompileError:
    """A CompileError with one finding, to be raised by the caller."""
    sink = Sink()
    sink.error(code, message, span, hint=hint)
    return CompileError(sink)


# fmt: off
CODES: Mapping[str, Code] = MappingProxyType(
    {
        # P00xx: the text
        "P0001": Code("syntax error", "The text is not a PTO statement: the caret stands at the first token that no rule takes."),
        "P0002": Code("unreadable character", "A character that starts no token of the language."),
        "P0003": Code("empty file", "A .pto file holds at least one module; this one holds none."),
        "P0004": Code("binary input", "PTOBC is the binary form of the dialect; pptc reads text. Print the module as text first."),
        "P0005": Code("malformed type", "The type's spelling is known but a field of it is missing, repeated, misplaced or out of range."),
        "P0006": Code("malformed attribute", "The attribute's spelling or one of its values is not known."),
        "P0007": Code("wrong form", "The op is known, but its operands, brackets or clauses do not stand as its row says."),
        "P0008": Code("not UTF-8", "A .pto file is UTF-8 text."),
        "P0009": Code("malformed number", "The literal does not fit its type."),
        # P01xx: names
        "P0101": Code("unknown value", "The name is used but nothing above defines it."),
        "P0102": Code("value defined twice", "An SSA name has one definition in its function."),
        "P0103": Code("unknown function", "The symbol is called but no function of the module has it."),
        "P0104": Code("symbol defined twice", "Two functions or parameters of a module have one name."),
        "P0105": Code("unknown op", "No dialect that pptc knows has an op of this name."),
        "P0106": Code("op not supported yet", "The op is part of PTO but this version of pptc does not compile it.", 4),
        "P0107": Code("not a tile op", "VPTO micro-instructions and VMI ops share the suffix .pto but are not tile programs.", 4),
        "P0108": Code("op of another dialect version", "The op exists only in other versions of the dialect."),
        "P0109": Code("unknown alias", "A #name or !name is used but not defined."),
        "P0110": Code("unknown symbol of a shape", "A symbolic dim is used that no argument type and no core.dims introduces."),
        "P0111": Code("unknown parameter", "No core.param of the module has the name that core.get asks for."),
        # P02xx: types and rules
        "P0201": Code("type mismatch", "A value is used with another type than it was defined with."),
        "P0202": Code("wrong number of operands", "The op takes another number of operands, results or types."),
        "P0203": Code("wrong operand kind", "The operand's type is of a kind that the op does not take there."),
        "P0204": Code("element types differ", "The op needs one element type where several stand."),
        "P0205": Code("shapes differ", "The shapes or valid regions do not fit each other."),
        "P0206": Code("missing attribute", "A mandatory attribute is missing."),
        "P0207": Code("wrong attribute", "An attribute has a value that the op does not take."),
        "P0208": Code("wrong structure", "A terminator, region or block is missing or misplaced."),
        "P0209": Code("wrong memory space", "The tile is in a space that the op does not take there."),
        "P0210": Code("wrong layout", "The tile's layout is not one that the op takes there."),
        "P0211": Code("address needed", "A kernel whose tiles carry addr (level 3) needs one on every alloc_tile."),
        "P0212": Code("address not allowed", "A kernel planned by the compiler (level 2) carries no addr."),
        "P0213": Code("valid region", "valid_row and valid_col stand exactly where the tile type says `?`."),
        "P0214": Code("misaligned", "A tile's address or row size breaks the alignment rule of its space."),
        "P0215": Code("space overflow", "A tile ends beyond its memory space."),
        "P0216": Code("element type not supported by the op", "The op has no meaning for this element type."),
        "P0217": Code("use before definition", "The definition does not dominate the use."),
        "P0218": Code("window out of range", "A constant window ends outside of its source."),
        # P03xx: the command line and its files
        "P0301": Code("usage", "The command line asks for something that does not exist or does not fit together.", 2),
        "P0302": Code("cannot read", "An input file is missing or unreadable.", 3),
        "P0303": Code("cannot write", "An output file cannot be written.", 3),
        "P0304": Code("damaged module", "The module's bytes do not match its header or hashes.", 3),
        "P0305": Code("unknown pass or pipeline", "The pipeline names a pass or an option that does not exist.", 2),
        "P0306": Code("wrong input value", "A value of the command line does not fit the kernel's argument.", 2),
        # P04xx: targets
        "P0401": Code("unknown target", "No YAML of configs/targets has this name.", 2),
        "P0402": Code("not supported on this target", "The op, type or feature has no lowering on the target.", 4),
        "P0403": Code("targets do not fit one file", "A .so holds CPU targets of one architecture; .pptf holds any.", 2),
        "P0404": Code("no image for this machine", "No section of the module fits the machine.", 4),
        # P05xx: link and tools
        "P0501": Code("undefined symbol", "The object needs a symbol that nothing defines.", 5),
        "P0502": Code("object not understood", "The linker met a relocation or section that it does not know.", 5),
        "P0503": Code("tool failed", "A tool that the command needs is missing or failed.", 5),
        "P0504": Code("code generator failed", "The code generator ended abnormally; a reproducer was written.", 70),
        "P0505": Code("symbol defined twice", "Two objects of one link define the same symbol.", 5),
        # P06xx: runs
        "P0601": Code("comparison failed", "An output differs from the expected values by more than the tolerance.", 6),
        "P0602": Code("fault in the kernel", "The kernel trapped, or read or wrote outside of its arguments.", 1),
        "P0603": Code("accesses without a flag between them", "Two pipes of a core touch the same bytes, one of them writes, and no flag, event or barrier makes the second wait for the first. On a chip they run side by side, so that the result is a matter of luck; found by pptc-run -t ref --check-sync. Put a set_flag behind the first and a wait_flag before the second."),
        "P0604": Code("flag without its partner", "Every set_flag (or record_event) takes one wait_flag (or wait_event) with the same two pipes and id: a wait that nothing raised hangs the chip, and a flag that is raised twice or still raised at the end upsets the next wait for it. In a loop the reverse flag is set once before it and waited for once behind it; found by pptc-run -t ref --check-sync."),
        # W: warnings
        "W0001": Code("space overflow", "A tile ends beyond the memory space of the named chip; other machines do not mind.", group="chip"),
        "W0003": Code("misaligned", "A tile breaks an alignment rule of the named chip; other machines do not mind.", group="chip"),
        "W0004": Code("saturation by default", "A tcvt whose result may be out of range says no satmode, whose default has changed between versions.", group="saturation"),
        "W0005": Code("flag without its partner", "A flag is only raised, or only waited for: a chip would hang, or find it raised in the next kernel; other machines do not mind.", group="sync"),
        "P9999": Code("internal error", "A fault of pptc itself; please report it with the reproducer.", 70),
    }
)
# fmt: on
