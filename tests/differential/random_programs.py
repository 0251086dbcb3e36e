"""Random tile programs of level 3, drawn from the rows of the ops: any element type, any region, any overlap of tiles.

A program computes only what the dialect defines: `Memory` follows every byte. Ops come from the table, so that a new
row of element work is drawn from the day it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pptc.ir.opdef import EXACT, ColumnReduce, Map, OpDef, RowReduce, Spread
from pptc.ir.ops import OPS, quantize
from tests.differential.random_memory import BYTES, Memory, Region, is_float
from tests.differential.writer import Writer

ROWS, COLUMNS = 70, 100
"""The shape of every array."""

TRIPS = 3
"""The most trips of a loop."""

_JUMPS = frozenset({"pto.trem", "pto.trems", "pto.tfmod", "pto.tfmods", "pto.tpow", "pto.tpows"})
_RECIPROCAL = frozenset({"pto.trowexpanddiv", "pto.tdivs"})
_APART = frozenset({"pto.tcvt", "pto.texpands", *quantize.ROWS})
"""Rows whose operands do not all have one element type, or which have none; they are written by hand."""
_RESULTS: Mapping[type, Spread] = {RowReduce: Spread.ROW, ColumnReduce: Spread.COLUMN}


def _drawn() -> tuple[OpDef, ...]:
    rows = [row for row in OPS.values() if row.name.startswith("pto.t") and row.name not in _APART]
    return tuple(
        row for row in rows if row.dtypes and isinstance(row.meaning, Map | RowReduce | ColumnReduce)
    )


DRAWN = _drawn()
"""The rows that programs are made of."""


def is_exact(row: OpDef, elem: str) -> bool:
    """Whether every road gives the same bits."""
    return not is_float(elem) or (row.tolerance == EXACT and row.name not in _RECIPROCAL)


@dataclass(frozen=True)
class Program:
    """A kernel `name`(x0, x1, y0, y1, rows, columns): its text, the arrays' types and the extents of its run."""

    name: str
    text: str
    elems: dict[str, str]
    rows: int
    columns: int


@dataclass(frozen=True)
class _Statement:
    """What a statement reads, spoils and writes, so that it can be tried from another state too."""

    reads: Sequence[Region] = ()
    write: Region | None = None
    inexact: bool = False
    spoils: Sequence[Region] = ()
    jumps: bool = False

    def run(self, memory: Memory) -> bool:
        """Whether it is defined in a state; then it has changed it."""
        near = memory.is_near(self.reads)
        if not all(map(memory.is_defined, self.reads)) or (self.jumps and near):
            return False
        for region in self.spoils:
            memory.spoil(region)
        if self.write is not None:
            memory.write(self.write, near or self.inexact)
        return True


@dataclass(frozen=True)
class _Choice:
    """Either list of statements."""

    then: Sequence[_Statement | _Choice]
    otherwise: Sequence[_Statement | _Choice]

    def run(self, memory: Memory) -> bool:
        """Whether both are defined in a state; then what holds after either is the new state."""
        other = memory.copy()
        if not all(step.run(memory) for step in self.then) or not all(
            step.run(other) for step in self.otherwise
        ):
            return False
        memory.join(other)
        return True


def _meets(a: Region, b: Region) -> bool:
    return a.whole.start < b.whole.stop and b.whole.start < a.whole.stop


class Generator:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.first, self.second = random.sample(list(BYTES), 2)
        self.elems = {"x0": self.first, "x1": self.second, "y0": self.first, "y1": self.second}
        unit = 32 // min(BYTES[self.first], BYTES[self.second])
        self.height, self.width = unit * random.choice((1, 1, 2)), unit * random.choice((1, 2, 3))
        self.rows = random.choice((self.height, random.randint(0, self.height)))
        self.columns = random.choice((self.width, random.randint(1, self.width)))
        self.dynamic = random.random() < 0.5, random.random() < 0.5
        self.memory = Memory(self.height * (3 * self.width + 2) * 4)
        self.writer = Writer(
            f"k{seed}", {name: f"*{elem}" for name, elem in self.elems.items()} | {"r": "i32", "c": "i32"}
        )
        self.extents = self.writer.cast("%r"), self.writer.cast("%c")
        self.slots = [32 * random.randrange(len(self.memory.kind) // 32) for _ in range(6)]
        self.handles: dict[Region, str] = {}
        self.indices: list[str] = []
        self.log: list[_Statement | _Choice] = []

    def program(self, count: int = 14) -> Program:
        """The program of the seed."""
        for elem in (self.first, self.second):
            for spread in (Spread.FULL, Spread.ROW, Spread.COLUMN):
                self.load(elem, spread)
        self.body(count)
        for elem in (self.first, self.second):
            self.store(elem)
        return Program(self.writer.name, str(self.writer), self.elems, self.rows, self.columns)

    # -- regions and handles

    def region(self, elem: str, spread: Spread = Spread.FULL) -> Region:
        """A tile somewhere."""
        height, rows = (1, 1) if spread is Spread.COLUMN else (self.height, self.rows)
        width, columns = (1, 1) if spread is Spread.ROW else (self.width, self.columns)
        size = height * width * BYTES[elem]
        fitting = [slot for slot in self.slots if slot + size <= len(self.memory.kind)] or [0]
        return Region(self.random.choice(fitting), elem, height, width, rows, columns)

    def readable(self, elem: str, spread: Spread = Spread.FULL) -> Region | None:
        """A defined tile, if some tries find one."""
        tries = (self.region(elem, spread) for _ in range(12))
        return next(filter(self.memory.is_defined, tries), None)

    def valid(self, region: Region) -> tuple[int | str, int | str]:
        """The valid extents: numbers, or the kernel's arguments."""
        rows = self.extents[0] if self.dynamic[0] and region.height > 1 else region.rows
        columns = self.extents[1] if self.dynamic[1] and region.width > 1 else region.columns
        return rows, columns

    def handle(self, region: Region) -> str:
        """An alloc_tile for a region, now and then a second one."""
        if region not in self.handles or self.random.random() < 0.2:
            shape = f"{region.height}x{region.width}x{region.elem}"
            self.handles[region] = self.writer.tile(
                shape, self.valid(region), addr=region.address, column=region.width == 1
            )
        return self.handles[region]

    def window(self, name: str, region: Region) -> str:
        """Where a tile is loaded from or stored to."""
        row = self.random.choice([0, self.random.randint(0, ROWS - self.height - TRIPS), *self.indices])
        column = self.random.choice([0, self.random.randint(0, COLUMNS - self.width)])
        return self.writer.part(self.writer.view(name, ROWS, COLUMNS), (row, column), self.valid(region))

    # -- statements

    def does(self, statement: _Statement) -> bool:
        """Whether the statement is defined here; then it is part of the program."""
        if any(
            _meets(spoilt, other)
            for spoilt in statement.spoils
            for other in (*statement.reads, statement.write)
            if other
        ):
            return False
        if not statement.run(self.memory):
            return False
        self.log.append(statement)
        return True

    def load(self, elem: str, spread: Spread = Spread.FULL) -> None:
        """From an input, or from what was stored."""
        region = self.region(elem, spread)
        name = self.random.choice([name for name, type in self.elems.items() if type == elem])
        if self.does(_Statement(write=region, inexact=is_float(elem) and name.startswith("y"))):
            self.writer.load(self.window(name, region), self.handle(region))

    def store(self, elem: str) -> None:
        """A whole tile to the output of its type."""
        region = self.readable(elem)
        if region is not None and self.does(_Statement((region,))):
            name = "y0" if elem == self.first else "y1"
            self.writer.store(self.handle(region), self.window(name, region))

    def fill(self, elem: str) -> None:
        """texpands."""
        region = self.region(elem)
        if self.does(_Statement(write=region)):
            self.writer.op("texpands", self.scalar(elem), self.handle(region))

    def convert(self, elem: str) -> None:
        """tcvt from the program's other type."""
        other = self.second if elem == self.first else self.first
        source, target = self.readable(other), self.region(elem)
        jumps = is_float(other)  # rounding to fewer digits may jump by a whole unit
        if source is not None and self.does(_Statement((source,), target, jumps=jumps)):
            mode = self.random.choice(("RINT", "ROUND", "FLOOR", "CEIL", "TRUNC"))
            saturation = self.random.choice(("ON", "OFF"))
            words = f"rmode = #pto<round_mode {mode}>, satmode = #pto<saturation_mode {saturation}>"
            self.writer.op("tcvt", self.handle(source), self.handle(target), words)

    def work(self, elem: str) -> None:
        """An op of the table on tiles that are defined, if there are any."""
        row = self.random.choice([row for row in DRAWN if any(type.name == elem for type in row.dtypes)])
        meaning = row.meaning
        spreads = dict(meaning.sources) if isinstance(meaning, Map) else {}
        if row.name == "pto.tdivs":  # either side may be the scalar
            spreads[self.random.choice(list(spreads))] = Spread.SCALAR
        target = self.region(elem, _RESULTS.get(type(meaning), Spread.FULL))
        regions = {}
        for operand in row.operands:
            if operand.access == "read" and spreads.get(operand.name) is not Spread.SCALAR:
                found = self.readable(elem, spreads.get(operand.name, Spread.FULL))
                if found is None:
                    return
                regions[operand.name] = found
            elif operand.access == "scratch":
                regions[operand.name] = self.region(elem)
        reads = [regions[o.name] for o in row.operands if o.access == "read" and o.name in regions]
        reads += [target for operand in row.operands if operand.access == "update"]
        spoils = [regions[operand.name] for operand in row.operands if operand.access == "scratch"]
        if self.does(_Statement(reads, target, not is_exact(row, elem), spoils, row.name in _JUMPS)):
            given = [
                self.handle(regions[operand.name]) if operand.name in regions else self.scalar(elem)
                for operand in row.operands
                if operand.access != "write" and operand.access != "update"
            ]
            self.writer.op(row.name.removeprefix("pto."), given, self.handle(target))

    def scalar(self, elem: str) -> str:
        """A constant of a type."""
        value = self.random.choice((1, 2, 3, 5))
        return self.writer.number(f"{value}.5" if is_float(elem) else value, elem)

    # -- control flow

    def body(self, count: int) -> None:
        """So many statements; a loop or a branch with all it holds counts as one."""
        for _ in range(count):
            elem = self.random.choice((self.first, self.second))
            spread = self.random.choice((Spread.FULL, Spread.FULL, Spread.ROW, Spread.COLUMN))
            match self.random.choice("lscfwwwwwwwwoi"):
                case "l":
                    self.load(elem, spread)
                case "s":
                    self.store(elem)
                case "c":
                    self.convert(elem)
                case "f":
                    self.fill(elem)
                case "w":
                    self.work(elem)
                case "o" if len(self.indices) < 2:
                    self.loop()
                case "i" if len(self.indices) < 2:
                    self.branch()

    def scope(self, count: int) -> None:
        """Statements whose handles end with them."""
        handles = dict(self.handles)
        self.body(count)
        self.handles = handles

    def loop(self) -> None:
        """A loop whose every trip finds what the first one found; given up when it does not."""
        trips = self.random.choice((1, 2, TRIPS) if self.indices else (0, 1, 2, TRIPS))
        for bound in (0, 1, trips):
            self.writer.index(bound)  # outside of what may be given up
        start, lines, logged = self.memory.copy(), len(self.writer.lines), len(self.log)
        with self.writer.loop(trips) as index:
            self.indices.append(index)
            self.scope(self.random.randint(2, 5))
            self.indices.pop()
        again = self.memory.copy()
        stays = all(statement.run(again) for statement in self.log[logged:])
        again.join(self.memory)
        if not stays or (again.kind != self.memory.kind).any() or (again.near != self.memory.near).any():
            del self.writer.lines[lines:], self.log[logged:]
            self.memory = start
        elif trips == 0:
            self.memory.join(start)

    def branch(self) -> None:
        """A choice by a run-time value; what is known after it holds on both sides."""
        before, other, logged = self.memory.copy(), self.memory.copy(), len(self.log)
        value = self.random.choice([*self.indices, self.extents[0]])
        test = self.writer.arith("cmpi slt,", value, self.random.choice((0, 1, 2, 8)))
        with self.writer.nested(f"scf.if {test}"):
            self.scope(self.random.randint(1, 3))
            then, self.log[logged:] = self.log[logged:], []
            self.memory, other = other, self.memory
            self.writer.otherwise()
            self.scope(self.random.randint(0, 2))
        choice = _Choice(then, self.log[logged:])
        self.memory = before
        assert choice.run(self.memory)
        self.log[logged:] = [choice]
