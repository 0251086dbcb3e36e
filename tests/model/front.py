"""Kernels as the dialect's usual front end prints them: level 3, constants first, keyed types, grid arguments, places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.writer import Writer

GRID = ("__pypto_spmd_block_idx", "__pypto_spmd_block_num")

_COMPACT = re.compile(r"!pto\.tile_buf<(\w+), (\d+)x(\d+)x(\w+)((?:, \w+=[\w?]+)*)>")


def _keyed(found: re.Match[str]) -> str:
    space, rows, columns, elem, rest = found.groups()
    given = dict(item.split("=") for item in rest.split(", ") if item)
    valid = given.get("valid", f"{rows}x{columns}").split("x")
    return (
        f"!pto.tile_buf<loc={space}, dtype={elem}, rows={rows}, cols={columns}, v_row={valid[0]}, v_col={valid[1]}, "
        f"blayout={given.get('blayout', 'row_major')}, slayout={given.get('slayout', 'none_box')}, "
        f"fractal={given.get('fractal', '512')}, pad=0>"
    )


class Front(Writer):
    """One kernel. Its grid arguments come last; `block` is this block's number as an index."""

    def __init__(self, name: str, kind: str, arguments: Mapping[str, str]) -> None:
        self._constants: dict[tuple[object, str], str] = {}
        self._kind = kind
        super().__init__(name, {**arguments, **dict.fromkeys(GRID, "i32")})
        self.block = self.cast(f"%{GRID[0]}")

    def number(self, value: object, type: str = "index") -> str:
        """A constant at the top of the kernel, named by its value."""
        if (value, type) not in self._constants:
            plain = isinstance(value, int)
            name = (
                f"%c{value}{'' if type == 'index' else '_' + type}"
                if plain
                else f"%cst_{len(self._constants)}"
            )
            self._constants[value, type] = name
            self.types[name] = type
        return self._constants[value, type]

    def line(self, text: str) -> None:
        """A statement; tile ops say which line of the model they come from."""
        place = f' loc("model.py":{10 + len(self.lines)}:4)' if text.startswith("pto.t") else ""
        super().line(text + place)

    def __str__(self) -> str:
        listed = ", ".join(f"%{key}: {self.types['%' + key]}" for key in self.arguments)
        constants = [
            f"{name} = arith.constant {value} : {type}" for (value, type), name in self._constants.items()
        ]
        body = "".join(f"    {line}\n" for line in [*sorted(constants), *self.lines])
        text = (
            f"  func.func @{self.name}({listed}) attributes {{pto.kernel_kind = #pto.kernel_kind<{self._kind}>}} {{\n"
            f"{body}    return\n  }}\n"
        )
        return _COMPACT.sub(_keyed, text)

    # -- what many kernels do

    def rows_of_block(self, count: str, step: int) -> tuple[str, str]:
        """The first row of this block and how many rows it has: `step`, or what is left of `count`."""
        first = self.arith("muli", self.block, step)
        left = self.arith("maxsi", self.arith("subi", count, first), 0)
        return first, self.arith("minsi", left, step)

    def lying(self, column: str, rows: int) -> str:
        """A column vector of f32 as one row on the same bytes."""
        return self.reshape(column, f"1x{rows}xf32", (1, rows))

    def standing(self, row: str, rows: int, valid: Sequence[int | str]) -> str:
        """The same back."""
        return self.reshape(row, f"{rows}x1xf32", valid, column=True)


@dataclass(frozen=True)
class Model:
    """A kernel with the shapes of its arrays, its scalars, its grid, and what NumPy makes of its arguments.

    Floats may be `relative` away from that, and `absolute`.
    """

    name: str
    arguments: Mapping[str, str]
    text: str
    shapes: Mapping[str, Sequence[int]]
    want: Callable[..., Mapping[str, Any]]
    scalars: Mapping[str, Any]
    grid: int
    relative: float
    absolute: float


def model(
    kind: str = "vector",
    *,
    relative: float = 1e-5,
    absolute: float = 1e-5,
    **arguments: str,
) -> Callable[[Callable[[Front], tuple[Any, ...]]], Model]:
    """Makes a model of a function that writes a kernel and returns (shapes, scalars, grid, want)."""

    def make(write: Callable[[Front], tuple[Any, ...]]) -> Model:
        front = Front(write.__name__, kind, arguments)
        shapes, scalars, grid, want = write(front)
        return Model(
            write.__name__, front.arguments, str(front), shapes, want, scalars, grid, relative, absolute
        )

    return make
