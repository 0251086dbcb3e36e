"""Random tile programs of level 3: buffers at overlapping addresses, read in several shapes, in loops and branches.

Every byte of vector memory is written first, so that every value a program computes is defined and must survive.
"""

from __future__ import annotations

from random import Random

from tests.passes.kernels import column, kernel, load, op, part, store, tile, view

TYPES = {
    "all": tile("vec", "11x64xf32"),
    "tile": tile("vec", "8x16xf32"),
    "half": tile("vec", "4x16xf32"),
    "column": column(8),
    "lying": tile("vec", "1x8xf32"),
    "line": tile("vec", "1x16xf32"),
}
TAME = {
    "tile": (0, 512, 1024, 1536),
    "half": (2304, 2560),
    "column": (2048, 2080),
    "lying": (2048, 2080),
    "line": (2112, 2176),
}
WILD = {
    "tile": (256, 1792, 1600),
    "half": (0, 256, 768, 2048),
    "column": (0, 32, 2112),
    "lying": (0, 512, 2144),
    "line": (64, 2048, 2240),
}


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.wildness = self.random.choice([0.0, 0.0, 0.02, 0.2])
        self.nesting = self.random.choice([0.0, 0.12])
        self.lines: list[str] = []
        self.depth = 0
        self.names = 0
        self.handles: list[dict[tuple[str, int], str]] = [{}]
        self.indices: list[str] = []

    def put(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"%{stem}{self.names}"

    def handle(self, kind: str) -> str:
        """A tile at one of the kind's addresses: a handle made before, or a new one."""
        address = self.random.choice((WILD if self.random.random() < self.wildness else TAME)[kind])
        for scope in self.handles:
            if (kind, address) in scope and self.random.random() < 0.6:
                return scope[kind, address]
        made = self.name(kind)
        self.put(f"{made} = pto.alloc_tile addr = %c{address}_i64 : !{kind}")
        self.handles[-1][kind, address] = made
        return made

    def window(self, source: str, rows: int, columns: int) -> tuple[str, str]:
        row = self.random.choice(["%c0", "%c8", "%c16", *self.indices])
        column_ = self.random.choice(["%c0", "%c16", "%c32"]) if columns == 16 else "%c0"
        made = self.name("part")
        dims = f"{rows}x{columns}xf32"
        self.put(part(made, source, f"{row}, {column_}", f"%c{rows}, %c{columns}", dims))
        return made, dims

    def fill_memory(self) -> None:
        """Write all bytes once, each in the shape that it mostly has."""
        self.put("%all = pto.alloc_tile addr = %c0_i64 : !all")
        self.put("pto.texpands ins(%s : f32) outs(%all : !all)")
        for kind, addresses in TAME.items():
            for address in addresses if kind != "lying" else ():
                made = self.name("start")
                self.put(f"{made} = pto.alloc_tile addr = %c{address}_i64 : !{kind}")
                self.put(f"pto.texpands ins(%s : f32) outs({made} : !{kind})")
                self.handles[0][kind, address] = made

    def body(self, count: int) -> None:
        for _ in range(count):
            roll = self.random.random()
            if roll < self.nesting and self.depth < 3:
                self.loop()
            elif roll < self.nesting + 0.08 and self.indices and self.depth < 4:
                self.branch()
            else:
                self.statement()

    def nested(self, count: int) -> None:
        self.depth += 1
        self.handles.append({})
        self.body(count)
        self.handles.pop()
        self.depth -= 1

    def loop(self) -> None:
        index, upper = self.name("k"), self.random.choice(["%c8", "%c16", "%c24", "%n"])
        self.put(f"scf.for {index} = %c0 to {upper} step %c8 {{")
        self.indices.append(index)
        self.nested(self.random.randint(2, 6))
        self.indices.pop()
        self.put("}")

    def branch(self) -> None:
        test = self.name("test")
        self.put(f"{test} = arith.cmpi eq, {self.indices[-1]}, {self.random.choice(['%c0', '%c8'])} : index")
        self.put(f"scf.if {test} {{")
        self.nested(self.random.randint(1, 3))
        if self.random.random() < 0.6:
            self.put("} else {")
            self.nested(self.random.randint(1, 3))
        self.put("}")

    def statement(self) -> None:
        choice = self.random.choice(
            ["load", "load", "store", "binary", "scalar", "dear", "dear", "reduce", "expand", "expand", "lying",
             "spread", "across", "fill", "move", "half"]
        )  # fmt: skip
        getattr(self, f"do_{choice}")()

    def do_load(self) -> None:
        source, dims = self.window(self.random.choice(["%xv", "%xv", "%yv"]), 8, 16)
        self.put(load(source, dims, self.handle("tile"), "!tile"))

    def do_store(self) -> None:
        made = self.handle("tile")
        target, dims = self.window(self.random.choice(["%yv", "%zv"]), 8, 16)
        self.put(store(made, "!tile", target, dims))

    def do_binary(self) -> None:
        a, b, c = (self.handle("tile") for _ in range(3))
        self.put(op(self.random.choice(["tadd", "tsub", "tmax"]), f"{a}: !tile, {b}: !tile", c, "!tile"))

    def do_scalar(self) -> None:
        a, c = self.handle("tile"), self.handle("tile")
        self.put(f"pto.tmuls ins({a}, %s : !tile, f32) outs({c} : !tile)")

    def do_dear(self) -> None:
        self.put(op("texp", f"{self.handle('tile')}: !tile", self.handle("tile"), "!tile"))

    def do_reduce(self) -> None:
        a, c = self.handle("tile"), self.handle("column")
        self.put(op(self.random.choice(["trowsum", "trowmax"]), f"{a}: !tile", c, "!column"))

    def do_expand(self) -> None:
        a, b, c = self.handle("tile"), self.handle("column"), self.handle("tile")
        self.put(
            op(
                self.random.choice(["trowexpandsub", "trowexpandmax"]),
                f"{a}: !tile, {b}: !column",
                c,
                "!tile",
            )
        )

    def do_lying(self) -> None:
        a, b, c = (self.handle("lying") for _ in range(3))
        self.put(op(self.random.choice(["tsub", "tmax"]), f"{a}: !lying, {b}: !lying", c, "!lying"))

    def do_spread(self) -> None:
        a, b, c = self.handle("tile"), self.handle("line"), self.handle("tile")
        self.put(op("tcolexpandadd", f"{a}: !tile, {b}: !line", c, "!tile"))

    def do_across(self) -> None:
        a, c = self.handle("tile"), self.handle("line")
        self.put(op("tcolmax", f"{a}: !tile", c, "!line"))

    def do_fill(self) -> None:
        kind = self.random.choice(["tile", "column", "lying", "line"])
        self.put(f"pto.texpands ins(%s : f32) outs({self.handle(kind)} : !{kind})")

    def do_move(self) -> None:
        kind = self.random.choice(["tile", "tile", "lying", "line"])
        a, c = self.handle(kind), self.handle(kind)
        self.put(op("tmov", f"{a}: !{kind}", c, f"!{kind}"))

    def do_half(self) -> None:
        a, b, c = (self.handle("half") for _ in range(3))
        self.put(op("tadd", f"{a}: !half, {b}: !half", c, "!half"))


def random_kernel(seed: int, size: int = 14) -> str:
    """The kernel of a seed: arguments x, y, z of [40, 64] f32, a count n and a scalar s."""
    writer = _Writer(seed)
    writer.fill_memory()
    writer.body(size)
    writer.do_store()
    start = [
        "%n = arith.index_cast %count : i32 to index",
        view("%xv", "%x", "%c40", "%c64"),
        view("%yv", "%y", "%c40", "%c64"),
        view("%zv", "%z", "%c40", "%c64"),
    ]
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %count: i32, %s: f32"
    return kernel("random", arguments, "\n".join([*start, *writer.lines]), **TYPES)


class _Rows:
    """A chain of row-wise ops, each into a tile of its own, with loads and stores in between."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.tiles: list[str] = []
        self.columns: list[str] = []
        self.names = 0

    def fresh(self, kind: str) -> str:
        self.names += 1
        name = f"%{kind}{self.names}"
        columns = "%c16" if kind == "tile" else "%c1"
        self.lines.append(f"{name} = pto.alloc_tile valid_row = %height valid_col = {columns} : !{kind}")
        return name

    def part(self, arrays: str) -> str:
        self.names += 1
        name, place = f"%part{self.names}", self.random.choice(["%c0", "%c0", "%c16", "%c32"])
        source = f"%{self.random.choice(arrays)}v"
        self.lines.append(part(name, source, f"%row, {place}", "%height, %c16", "?x16xf32"))
        return name

    def load(self) -> None:
        source = self.part("xxz")
        self.tiles.append(self.fresh("tile"))
        self.lines.append(load(source, "?x16xf32", self.tiles[-1], "!tile"))

    def store(self) -> None:
        target = self.part("xyyz")
        self.lines.append(store(self.random.choice(self.tiles[-4:]), "!tile", target, "?x16xf32"))

    def one(self) -> None:
        a, c = self.random.choice(self.tiles), self.fresh("tile")
        scalar = self.random.random() < 0.4
        self.lines.append(
            f"pto.tmuls ins({a}, %s : !tile, f32) outs({c} : !tile)"
            if scalar
            else op("texp", f"{a}: !tile", c, "!tile")
        )
        self.tiles.append(c)

    def two(self) -> None:
        a, b, c = self.random.choice(self.tiles), self.random.choice(self.tiles), self.fresh("tile")
        self.lines.append(op(self.random.choice(["tmax", "tsub"]), f"{a}: !tile, {b}: !tile", c, "!tile"))
        self.tiles.append(c)

    def reduce(self) -> None:
        a, c = self.random.choice(self.tiles[-3:]), self.fresh("column")
        self.lines.append(op(self.random.choice(["trowsum", "trowmax"]), f"{a}: !tile", c, "!column"))
        self.columns.append(c)

    def expand(self) -> None:
        if not self.columns:
            return self.reduce()
        a, b, c = self.random.choice(self.tiles), self.random.choice(self.columns), self.fresh("tile")
        self.lines.append(op("trowexpandsub", f"{a}: !tile, {b}: !column", c, "!tile"))
        self.tiles.append(c)
        return None

    def column(self) -> None:
        if not self.columns:
            return self.reduce()
        a, b, c = self.random.choice(self.columns), self.random.choice(self.columns), self.fresh("column")
        self.lines.append(
            op(self.random.choice(["tmax", "tsub"]), f"{a}: !column, {b}: !column", c, "!column")
        )
        self.columns.append(c)
        return None


def random_rows(seed: int, size: int = 12) -> str:
    """Rows of x and z in windows of 16 columns, any number of them; x, y and z are [count, 48] and may be written."""
    rows = _Rows(seed)
    rows.load()
    for _ in range(size):
        steps = [
            rows.load,
            rows.store,
            rows.one,
            rows.one,
            rows.two,
            rows.reduce,
            rows.expand,
            rows.expand,
            rows.column,
        ]
        rows.random.choice(steps)()
    rows.store()
    body = "\n".join("  " + line for line in rows.lines)
    arguments = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %count: i32, %s: f32"
    return kernel(
        "random",
        arguments,
        f"""
%n = arith.index_cast %count : i32 to index
{view("%xv", "%x", "%n", "%c48")}
{view("%yv", "%y", "%n", "%c48")}
{view("%zv", "%z", "%n", "%c48")}
scf.for %row = %c0 to %n step %c8 {{
  %rest = arith.subi %n, %row : index
  %height = arith.minsi %rest, %c8 : index
{body}
}}
""",
        tile=tile("vec", "8x16xf32", "?x?"),
        column=column(8, "?x?"),
    )
