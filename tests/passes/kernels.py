"""Tile kernels as front ends print them, with type aliases so that they can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass

KIND = "attributes {pto.kernel_kind = #pto.kernel_kind<vector>}"
CUBE = "attributes {pto.kernel_kind = #pto.kernel_kind<cube>}"


def tile(space: str, shape: str, valid: str = "", blayout: str = "", slayout: str = "") -> str:
    """A tile type in keyed spelling; `shape` is like 16x64xf32, `valid` like ?x64. Layouts are the space's usual ones."""
    rows, cols, dtype = re.fullmatch(r"(\d+)x(\d+)x(\w+)", shape).groups()  # type: ignore[union-attr]
    usual = {
        "vec": ("row_major", "none_box"),
        "mat": ("col_major", "row_major"),
        "left": ("row_major", "row_major"),
        "right": ("row_major", "col_major"),
        "acc": ("col_major", "row_major"),
    }[space]
    v_row, v_col = (valid or f"{rows}x{cols}").split("x")
    return (
        f"!pto.tile_buf<loc={space}, dtype={dtype}, rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}, "
        f"blayout={blayout or usual[0]}, slayout={slayout or usual[1]}, fractal={1024 if space == 'acc' else 512}, pad=0>"
    )


def column(rows: int, valid: str = "", dtype: str = "f32") -> str:
    """An N x 1 column vector."""
    return tile("vec", f"{rows}x1x{dtype}", valid, "col_major")


def kernel(name: str, arguments: str, body: str, kind: str = KIND, **types: str) -> str:
    """A module of one function. `!name` in the body stands for a type; %c12 and %c12_i64 are constants."""
    constants = []
    for number, suffix in dict.fromkeys(re.findall(r"%c(\d+)(_i64)?\b", body)):
        constants.append(f"    %c{number}{suffix} = arith.constant {number} : {'i64' if suffix else 'index'}")
    constants.sort(key=lambda line: ("index" in line, len(line), line))
    aliases = "\n".join(f"!{key} = {value}" for key, value in types.items())
    inner = "\n".join("    " + line for line in body.strip("\n").splitlines())
    text = "\n".join(constants) + "\n" + inner
    return (
        f'{aliases}\nmodule attributes {{pto.target_arch = "a2a3"}} {{\n'
        f"  func.func @{name}({arguments}) {kind} {{\n{text}\n    return\n  }}\n}}\n"
    )


def view(name: str, pointer: str, rows: object, cols: object, elem: str = "f32") -> str:
    """A dense matrix view."""
    return (
        f"{name} = pto.make_tensor_view {pointer}, shape = [{rows}, {cols}], strides = [{cols}, %c1] "
        f"{{layout = #pto.layout<nd>}} : !pto.tensor_view<?x?x{elem}>"
    )


def part(name: str, source: str, offsets: str, sizes: str, dims: str) -> str:
    """A partition; `dims` is like ?x64xf32."""
    elem = dims.rsplit("x", 1)[1]
    return (
        f"{name} = pto.partition_view {source}, offsets = [{offsets}], sizes = [{sizes}] : "
        f"!pto.tensor_view<?x?x{elem}> -> !pto.partition_tensor_view<{dims}>"
    )


def load(source: str, dims: str, target: str, type: str) -> str:
    return f"pto.tload ins({source} : !pto.partition_tensor_view<{dims}>) outs({target} : {type})"


def store(source: str, type: str, target: str, dims: str) -> str:
    return f"pto.tstore ins({source} : {type}) outs({target} : !pto.partition_tensor_view<{dims}>)"


def op(name: str, sources: str, target: str, type: str, inside: str = "") -> str:
    """`sources` is like `%a: !t, %b: !u`."""
    pairs = [item.split(":") for item in sources.split(",")]
    names, types = (", ".join(pair[i].strip() for pair in pairs) for i in (0, 1))
    return f"pto.{name} ins({names}{inside} : {types}) outs({target} : {type})"


# ---------------------------------------------------------------- row-wise kernels

SCALE_BIAS = kernel(
    "scale_bias",
    "%x: !pto.ptr<f32>, %b: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32, %s: f32",
    f"""
%rows = arith.index_cast %n : i32 to index
{view("%x_view", "%x", "%rows", "%c128")}
{view("%b_view", "%b", "%c1", "%c128")}
{view("%y_view", "%y", "%rows", "%c128")}
%bias = pto.alloc_tile addr = %c8192_i64 valid_row = %c1 valid_col = %c128 : !bias
{part("%b_part", "%b_view", "%c0, %c0", "%c1, %c128", "1x128xf32")}
{load("%b_part", "1x128xf32", "%bias", "!bias")}
scf.for %row = %c0 to %rows step %c16 {{
  %left = arith.subi %rows, %row : index
  %height = arith.minsi %left, %c16 : index
  %from = arith.maxsi %row, %c0 : index
  %x_tile = pto.alloc_tile addr = %c0_i64 valid_row = %height valid_col = %c128 : !tile
  {part("%x_part", "%x_view", "%from, %c0", "%height, %c128", "?x128xf32")}
  {load("%x_part", "?x128xf32", "%x_tile", "!tile")}
  %y_tile = pto.alloc_tile addr = %c8704_i64 valid_row = %height valid_col = %c128 : !tile
  pto.tmuls ins(%x_tile, %s : !tile, f32) outs(%x_tile : !tile)
  {op("tcolexpandadd", "%x_tile: !tile, %bias: !bias", "%y_tile", "!tile")}
  {part("%y_part", "%y_view", "%from, %c0", "%height, %c128", "?x128xf32")}
  {store("%y_tile", "!tile", "%y_part", "?x128xf32")}
}}
""",
    tile=tile("vec", "16x128xf32", "?x?"),
    bias=tile("vec", "1x128xf32", "?x?"),
)
"""A tile that is overwritten in place, and a row for all rows."""

RMS_NORM = kernel(
    "rms_norm",
    "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32",
    f"""
%mean = arith.constant 1.56250000000000000e-02 : f32
%eps = arith.constant 1.00000000000000000e-05 : f32
%rows = arith.index_cast %n : i32 to index
{view("%x_view", "%x", "%rows", "%c64")}
{view("%y_view", "%y", "%rows", "%c64")}
scf.for %row = %c0 to %rows step %c8 {{
  %left = arith.subi %rows, %row : index
  %height = arith.minsi %left, %c8 : index
  {part("%x_part", "%x_view", "%row, %c0", "%height, %c64", "?x64xf32")}
  %x_tile = pto.alloc_tile addr = %c0_i64 valid_row = %height valid_col = %c64 : !tile
  {load("%x_part", "?x64xf32", "%x_tile", "!tile")}
  %square = pto.alloc_tile addr = %c2048_i64 valid_row = %height valid_col = %c64 : !tile
  {op("tmul", "%x_tile: !tile, %x_tile: !tile", "%square", "!tile")}
  %scratch = pto.alloc_tile addr = %c4096_i64 valid_row = %height valid_col = %c64 : !tile
  %sum = pto.alloc_tile addr = %c6144_i64 valid_row = %height valid_col = %c1 : !column
  {op("trowsum", "%square: !tile, %scratch: !tile", "%sum", "!column")}
  %lying = pto.alloc_tile addr = %c6144_i64 valid_row = %c1 valid_col = %height : !lying
  pto.tmuls ins(%lying, %mean : !lying, f32) outs(%lying : !lying)
  pto.tadds ins(%lying, %eps : !lying, f32) outs(%lying : !lying)
  {op("trsqrt", "%lying: !lying", "%lying", "!lying")}
  %scale = pto.alloc_tile addr = %c6144_i64 valid_row = %height valid_col = %c1 : !column
  {op("trowexpandmul", "%x_tile: !tile, %scale: !column", "%x_tile", "!tile")}
  {part("%y_part", "%y_view", "%row, %c0", "%height, %c64", "?x64xf32")}
  {store("%x_tile", "!tile", "%y_part", "?x64xf32")}
}}
""",
    tile=tile("vec", "8x64xf32", "?x?"),
    column=column(8, "?x?"),
    lying=tile("vec", "1x8xf32", "?x?"),
)
"""8x1 is read as 1x8 at the same address, and back."""

ONLINE_MAX = kernel(
    "online",
    "%x: !pto.ptr<f32>, %top: !pto.ptr<f32>, %total: !pto.ptr<f32>",
    f"""
%low = arith.constant 0xFF800000 : f32
%zero = arith.constant 0.00000000000000000e+00 : f32
{view("%x_view", "%x", "%c8", "%c256")}
{view("%top_view", "%top", "%c8", "%c1")}
{view("%total_view", "%total", "%c8", "%c1")}
%m = pto.alloc_tile addr = %c8192_i64 : !lying
%l = pto.alloc_tile addr = %c8224_i64 : !lying
pto.texpands ins(%low : f32) outs(%m : !lying)
pto.texpands ins(%zero : f32) outs(%l : !lying)
scf.for %k = %c0 to %c256 step %c64 {{
  {part("%part", "%x_view", "%c0, %k", "%c8, %c64", "8x64xf32")}
  %s = pto.alloc_tile addr = %c0_i64 : !tile
  {load("%part", "8x64xf32", "%s", "!tile")}
  %scratch = pto.alloc_tile addr = %c2048_i64 : !tile
  %here = pto.alloc_tile addr = %c8256_i64 : !column
  {op("trowmax", "%s: !tile, %scratch: !tile", "%here", "!column")}
  %here_row = pto.alloc_tile addr = %c8256_i64 : !lying
  %m_old = pto.alloc_tile addr = %c8192_i64 : !lying
  %m_new = pto.alloc_tile addr = %c8288_i64 : !lying
  {op("tmax", "%m_old: !lying, %here_row: !lying", "%m_new", "!lying")}
  %alpha = pto.alloc_tile addr = %c8320_i64 : !lying
  {op("tsub", "%m_old: !lying, %m_new: !lying", "%alpha", "!lying")}
  {op("texp", "%alpha: !lying", "%alpha", "!lying")}
  %m_column = pto.alloc_tile addr = %c8288_i64 : !column
  {op("trowexpandsub", "%s: !tile, %m_column: !column", "%s", "!tile")}
  %p = pto.alloc_tile addr = %c4096_i64 : !tile
  {op("texp", "%s: !tile", "%p", "!tile")}
  %sum = pto.alloc_tile addr = %c8352_i64 : !column
  {op("trowsum", "%p: !tile, %scratch: !tile", "%sum", "!column")}
  %sum_row = pto.alloc_tile addr = %c8352_i64 : !lying
  {op("tmul", "%l: !lying, %alpha: !lying", "%l", "!lying")}
  {op("tadd", "%l: !lying, %sum_row: !lying", "%l", "!lying")}
  {op("tmov", "%m_new: !lying", "%m_old", "!lying")}
}}
%m_end = pto.alloc_tile addr = %c8192_i64 : !column
%l_end = pto.alloc_tile addr = %c8224_i64 : !column
{part("%top_part", "%top_view", "%c0, %c0", "%c8, %c1", "8x1xf32")}
{part("%total_part", "%total_view", "%c0, %c0", "%c8, %c1", "8x1xf32")}
{store("%m_end", "!column", "%top_part", "8x1xf32")}
{store("%l_end", "!column", "%total_part", "8x1xf32")}
""",
    tile=tile("vec", "8x64xf32"),
    column=column(8),
    lying=tile("vec", "1x8xf32"),
)
"""Running maximum and sum, carried around a loop in tiles, as online softmax does."""


# ---------------------------------------------------------------- products


@dataclass(frozen=True)
class _Slices:
    """The operands of one trip of a loop over k in steps."""

    k: int
    step: int
    rows: int
    cols: int
    dtype: str
    whole_k: bool

    @property
    def is_dynamic(self) -> bool:
        """Whether the last trip is shorter."""
        return self.k % self.step != 0

    def types(self) -> dict[str, str]:
        """The aliases of the tile types."""
        rows, cols, step, dtype = self.rows, self.cols, self.step, self.dtype
        depth = self.k if self.whole_k else step
        row_cut, column_cut = (f"{rows}x?", f"?x{cols}") if self.is_dynamic else ("", "")
        return {
            "am": tile("mat", f"{rows}x{depth}x{dtype}", row_cut),
            "bm": tile("mat", f"{depth}x{cols}x{dtype}", column_cut),
            "al": tile("left", f"{rows}x{step}x{dtype}", row_cut),
            "br": tile("right", f"{step}x{cols}x{dtype}", column_cut),
            "acc": tile("acc", f"{rows}x{cols}xf32"),
        }

    def alloc(self, name: str, type: str, addr: int) -> str:
        """An alloc_tile at an address."""
        valid = {"am": "valid_col", "bm": "valid_row", "al": "valid_col", "br": "valid_row"}[type]
        extent = f" {valid} = %size" if self.is_dynamic else ""
        return f"{name} = pto.alloc_tile addr = %c{addr}_i64{extent} : !{type}"

    def operands(self, at: str, tag: str) -> str:
        """The left and the right operand of the trip that begins at `at`."""
        made = [self.alloc(f"%al{tag}", "al", 0), self.alloc(f"%br{tag}", "br", 0)]
        return "\n".join(self._extracted(at, tag, made) if self.whole_k else self._loaded(at, tag, made))

    def _extracted(self, at: str, tag: str, made: list[str]) -> list[str]:
        return [
            *made,
            f"pto.textract ins(%am, %c0, {at} : !am, index, index) outs(%al{tag} : !al)",
            f"pto.textract ins(%bm, {at}, %c0 : !bm, index, index) outs(%br{tag} : !br)",
        ]

    def _loaded(self, at: str, tag: str, made: list[str]) -> list[str]:
        size, dim = ("%size", "?") if self.is_dynamic else (f"%c{self.step}", str(self.step))
        cut = [
            f"%rest = arith.subi %c{self.k}, {at} : index",
            f"%size = arith.minsi %c{self.step}, %rest : index",
        ]
        left, right = f"{self.rows}x{dim}x{self.dtype}", f"{dim}x{self.cols}x{self.dtype}"
        return [
            *(cut if self.is_dynamic else []),
            part(f"%ap{tag}", "%a_view", f"%c0, {at}", f"%c{self.rows}, {size}", left),
            part(f"%bp{tag}", "%b_view", f"{at}, %c0", f"{size}, %c{self.cols}", right),
            self.alloc(f"%am{tag}", "am", 0),
            self.alloc(f"%bm{tag}", "bm", 262144),
            *made,
            load(f"%ap{tag}", left, f"%am{tag}", "!am"),
            load(f"%bp{tag}", right, f"%bm{tag}", "!bm"),
            op("tmov", f"%am{tag}: !am", f"%al{tag}", "!al"),
            op("tmov", f"%bm{tag}: !bm", f"%br{tag}", "!br"),
        ]

    def whole(self) -> str:
        """The loads of mat tiles that hold all of k."""
        if not self.whole_k:
            return ""
        left, right = f"{self.rows}x{self.k}x{self.dtype}", f"{self.k}x{self.cols}x{self.dtype}"
        return "\n".join(
            [
                "%am = pto.alloc_tile addr = %c0_i64 : !am\n%bm = pto.alloc_tile addr = %c262144_i64 : !bm",
                part("%ap", "%a_view", "%c0, %c0", f"%c{self.rows}, %c{self.k}", left),
                part("%bp", "%b_view", "%c0, %c0", f"%c{self.k}, %c{self.cols}", right),
                load("%ap", left, "%am", "!am"),
                load("%bp", right, "%bm", "!bm"),
            ]
        )


def product(
    k: int,
    step: int,
    first: str,
    *,
    rows: int = 64,
    cols: int = 128,
    dtype: str = "f32",
    whole_k: bool = False,
) -> str:
    """c = a b by a loop over k. `first` is how the first trip is told: `if`, `peeled`, or `zero` (never: acc starts at
    what is in c's tile). With `whole_k` the operands are extracted from mat tiles that hold all of k."""
    assert not (whole_k and k % step)
    slices = _Slices(k, step, rows, cols, dtype, whole_k)
    plain = op("tmatmul", "%al{0}: !al, %br{0}: !br", "%acc", "!acc")
    more = op("tmatmul.acc", "%acc: !acc, %al: !al, %br: !br", "%acc", "!acc")
    start, body, before = "%c0", more, ""
    if first == "if":
        body = f"%first = arith.cmpi eq, %k, %c0 : index\nscf.if %first {{\n{plain.format('')}\n}} else {{\n{more}\n}}"
    elif first == "peeled":
        start, before = f"%c{step}", slices.operands("%c0", "_0") + "\n" + plain.format("_0")
    return kernel(
        "product",
        f"%a: !pto.ptr<{dtype}>, %b: !pto.ptr<{dtype}>, %c: !pto.ptr<f32>",
        f"""
{view("%a_view", "%a", f"%c{rows}", f"%c{k}", dtype)}
{view("%b_view", "%b", f"%c{k}", f"%c{cols}", dtype)}
{view("%c_view", "%c", f"%c{rows}", f"%c{cols}")}
{slices.whole()}
%acc = pto.alloc_tile addr = %c0_i64 : !acc
{before}
scf.for %k = {start} to %c{k} step %c{step} {{
{slices.operands("%k", "")}
{body}
}}
{part("%c_part", "%c_view", "%c0, %c0", f"%c{rows}, %c{cols}", f"{rows}x{cols}xf32")}
{store("%acc", "!acc", "%c_part", f"{rows}x{cols}xf32")}
""",
        CUBE,
        **slices.types(),
    )
