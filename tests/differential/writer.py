"""A writer of kernels that remembers types, so that a kernel of a test says only what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Index = int | str
"""A number or the name of an index value."""

_LAYOUTS = {
    "vec": "",
    "mat": ", blayout=col_major, slayout=row_major",
    "left": ", slayout=row_major",
    "right": ", slayout=col_major",
    "acc": ", blayout=col_major, slayout=row_major, fractal=1024",
    "bias": "",
}


class Writer:
    """One function. Methods that make a value return its name; arguments are like `*f32` or `i32`."""

    def __init__(self, name: str, arguments: dict[str, str]) -> None:
        self.name = name
        self.arguments = arguments
        self.lines: list[str] = []
        self.types = {
            f"%{key}": f"!pto.ptr<{type[1:]}>" if type.startswith("*") else type
            for key, type in arguments.items()
        }
        self._numbers: list[dict[tuple[object, str], str]] = [{}]
        self._count = 0

    def __str__(self) -> str:
        listed = ", ".join(f"%{key}: {self.types['%' + key]}" for key in self.arguments)
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"  func.func @{self.name}({listed}) {{\n{body}    return\n  }}\n"

    # -- statements

    def line(self, text: str) -> None:
        """A statement as it is."""
        self.lines.append("  " * (len(self._numbers) - 1) + text)

    def value(self, text: str, type: str, name: str = "") -> str:
        """A name for the result of a statement."""
        self._count += 1
        name = name or f"%v{self._count}"
        self.types[name] = type
        self.line(f"{name} = {text}")
        return name

    def number(self, value: object, type: str = "index") -> str:
        """A constant."""
        for scope in self._numbers:
            if (value, type) in scope:
                return scope[value, type]
        made = self._numbers[-1][value, type] = self.value(f"arith.constant {value} : {type}", type)
        return made

    def index(self, value: Index) -> str:
        """The name of an index."""
        return self.number(value) if isinstance(value, int) else value

    def cast(self, argument: str, type: str = "index") -> str:
        """An integer as an index, or an index as an integer."""
        return self.value(f"arith.index_cast {argument} : {self.types[argument]} to {type}", type)

    def arith(self, op: str, *operands: Index) -> str:
        """`arith.op` on values of one type, which numbers take from the first name; a predicate follows its comma."""
        type = next((self.types[o] for o in operands if isinstance(o, str)), "index")
        names = ", ".join(o if isinstance(o, str) else self.number(o, type) for o in operands)
        return self.value(f"arith.{op} {names} : {type}", "i1" if op.startswith("cmp") else type)

    # -- global memory

    def view(self, pointer: str, *shape: Index, strides: Sequence[Index] = (), layout: str = "") -> str:
        """A view of the array behind a pointer, dense without strides."""
        dims = [self.index(extent) for extent in shape]
        steps = [self.index(step) for step in strides]
        if not strides:
            steps = [self.number(1)]
            for extent in reversed(shape[1:]):
                last = steps[0]
                steps.insert(0, self.index(extent) if len(steps) == 1 else self.arith("muli", last, extent))
        elem = self.types[f"%{pointer}"].removeprefix("!pto.ptr<").removesuffix(">")
        type = f"!pto.tensor_view<{'?x' * len(shape)}{elem}>"
        word = f" {{layout = #pto.layout<{layout}>}}" if layout else ""
        return self.value(
            f"pto.make_tensor_view %{pointer}, shape = [{', '.join(dims)}], strides = [{', '.join(steps)}]{word} "
            f": {type}",
            type,
        )

    def part(self, view: str, offsets: Sequence[Index], sizes: Sequence[Index]) -> str:
        """A window of a view; numbers among the sizes are dimensions of its type."""
        source = self.types[view]
        elem = source.rsplit("x", 1)[1].removesuffix(">")
        dims = "x".join(str(size) if isinstance(size, int) else "?" for size in sizes)
        type = f"!pto.partition_tensor_view<{dims}x{elem}>"
        starts, extents = (", ".join(map(self.index, row)) for row in (offsets, sizes))
        return self.value(
            f"pto.partition_view {view}, offsets = [{starts}], sizes = [{extents}] : {source} -> {type}", type
        )

    def whole(self, pointer: str, *shape: Index) -> str:
        """A dense array as one partition."""
        return self.part(self.view(pointer, *shape), [0] * len(shape), shape)

    # -- tiles

    def tile(
        self,
        shape: str,
        valid: Sequence[Index] | None = None,
        *,
        space: str = "vec",
        addr: int | None = None,
        column: bool = False,
    ) -> str:
        """A tile; `shape` is like 16x64xf32, names among the valid extents make them dynamic."""
        type = tile_type(shape, valid, space=space, column=column)
        clauses = "" if addr is None else f" addr = {self.number(addr, 'i64')}"
        for word, extent in zip(("valid_row", "valid_col"), valid or (), strict=False):
            clauses += f" {word} = {extent}" if isinstance(extent, str) else ""
        return self.value(f"pto.alloc_tile{clauses} : {type}", type)

    def op(self, name: str, sources: str | Sequence[str], target: str, inside: str = "") -> str:
        """`pto.name ins(sources {inside} : types) outs(target : type)`; returns the target."""
        names = [sources] if isinstance(sources, str) else list(sources)
        types = ", ".join(self.types[source] for source in names)
        inner = f" {{{inside}}}" if inside else ""
        self.line(
            f"pto.{name} ins({', '.join(names)}{inner} : {types}) outs({target} : {self.types[target]})"
        )
        return target

    def load(self, part: str, tile: str) -> str:
        """tload; returns the tile."""
        return self.op("tload", part, tile)

    def store(self, tile: str, part: str) -> None:
        """tstore."""
        self.op("tstore", tile, part)

    def reshape(self, tile: str, shape: str, valid: Sequence[Index] | None = None, **options: bool) -> str:
        """treshape; names among the valid extents make them dynamic."""
        type = tile_type(shape, valid, **options)
        return self.value(f"pto.treshape {tile} : {self.types[tile]} -> {type}", type)

    def window(
        self, tile: str, row: Index, column: Index, shape: str, valid: Sequence[Index] | None = None
    ) -> str:
        """subview of a row-major vec tile; `valid` needs both extents."""
        rows, columns, _ = shape.split("x")
        type = tile_type(shape, valid)
        given = f" valid [{', '.join(map(self.index, valid))}]" if valid and "?" in type else ""
        return self.value(
            f"pto.subview {tile}[{self.index(row)}, {self.index(column)}] sizes [{rows}, {columns}]{given} "
            f": {self.types[tile]} -> {type}",
            type,
        )

    # -- control flow

    @contextmanager
    def nested(self, head: str, tail: str = "}") -> Iterator[None]:
        """A statement with a region."""
        self.line(head + " {")
        self._numbers.append({})
        yield
        self._numbers.pop()
        self.line(tail)

    @contextmanager
    def loop(self, upper: Index, step: Index = 1, lower: Index = 0) -> Iterator[str]:
        """scf.for without carried values; gives the counter."""
        bounds = [self.index(bound) for bound in (lower, upper, step)]
        self._count += 1
        name = f"%i{self._count}"
        self.types[name] = "index"
        with self.nested("scf.for {} = {} to {} step {}".format(name, *bounds)):
            yield name

    def otherwise(self) -> None:
        """The second region of the scf.if around."""
        self._numbers.pop()
        self.line("} else {")
        self._numbers.append({})

    def product(self, lhs: str, rhs: str, acc: str, start: str = "", bias: str = "") -> str:
        """tmatmul, from `start` or with a bias where given; returns the accumulator."""
        name = "tmatmul" + (".acc" if start else ".bias" if bias else "")
        return self.op(name, [value for value in (start, lhs, rhs, bias) if value], acc)


def tile_type(
    shape: str, valid: Sequence[Index] | None = None, *, space: str = "vec", column: bool = False
) -> str:
    """A tile type in the compact spelling."""
    region = "x".join(str(extent) if isinstance(extent, int) else "?" for extent in valid or ())
    layout = ", blayout=col_major" if column else _LAYOUTS[space]
    return f"!pto.tile_buf<{space}, {shape}{', valid=' + region if valid else ''}{layout}>"
