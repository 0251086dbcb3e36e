"""c = a b of 1024 x 1024 x 1024 as a level-3 kernel in the front end's form, for any element type and tile size."""

from __future__ import annotations

SIZE = 1024
BYTES = {"f32": 4, "bf16": 2, "i8": 1}


def _tile(space: str, elem: str, rows: int, columns: int, layouts: str, fractal: int = 512) -> str:
    blayout, slayout = layouts.split()
    return (
        f"!pto.tile_buf<loc={space}, dtype={elem}, rows={rows}, cols={columns}, v_row={rows}, v_col={columns}, "
        f"blayout={blayout}, slayout={slayout}, fractal={fractal}, pad=0>"
    )


def gemm_text(elem: str, out: str, m: int, n: int, k: int) -> str:
    """The kernel `gemm`(a, b, c) with tiles of m x n and slices of k."""
    nz = "col_major row_major"
    stages = _tile("mat", elem, m, k, nz), _tile("mat", elem, k, n, nz)
    factors = (
        _tile("left", elem, m, k, "row_major row_major"),
        _tile("right", elem, k, n, "row_major col_major"),
    )
    acc = _tile("acc", out, m, n, nz, 1024)
    views = [
        f"    %{name}_view = pto.make_tensor_view %{name}, shape = [%c{SIZE}, %c{SIZE}], "
        f"strides = [%c{SIZE}, %c1] {{layout = #pto.layout<nd>}} : !pto.tensor_view<?x?x{kind}>"
        for name, kind in (("a", elem), ("b", elem), ("c", out))
    ]
    constants = [f"    %c{value} = arith.constant {value} : index" for value in sorted({0, 1, m, n, k, SIZE})]
    parts = {
        "a": ("%row, %k", m, k, elem), "b": ("%k, %col", k, n, elem), "c": ("%row, %col", m, n, out),
    }  # fmt: skip
    cut = {
        name: f"%{name}_part = pto.partition_view %{name}_view, offsets = [{at}], sizes = [%c{rows}, %c{columns}] : "
        f"!pto.tensor_view<?x?x{kind}> -> !pto.partition_tensor_view<{rows}x{columns}x{kind}>"
        for name, (at, rows, columns, kind) in parts.items()
    }
    part = {name: f"!pto.partition_tensor_view<{r}x{c}x{kind}>" for name, (_, r, c, kind) in parts.items()}
    return f"""\
module attributes {{pto.target_arch = "a2a3"}} {{
  func.func @gemm(%a: !pto.ptr<{elem}>, %b: !pto.ptr<{elem}>, %c: !pto.ptr<{out}>) \
attributes {{pto.kernel_kind = #pto.kernel_kind<cube>}} {{
    %c0_i64 = arith.constant 0 : i64
    %second = arith.constant {m * k * BYTES[elem]} : i64
{chr(10).join(constants)}
{chr(10).join(views)}
    scf.for %col = %c0 to %c{SIZE} step %c{n} {{
      scf.for %row = %c0 to %c{SIZE} step %c{m} {{
        %sum = pto.alloc_tile addr = %c0_i64 : {acc}
        scf.for %k = %c0 to %c{SIZE} step %c{k} {{
          {cut["a"]}
          {cut["b"]}
          %a_l1 = pto.alloc_tile addr = %c0_i64 : {stages[0]}
          %b_l1 = pto.alloc_tile addr = %second : {stages[1]}
          pto.tload ins(%a_part : {part["a"]}) outs(%a_l1 : {stages[0]})
          pto.tload ins(%b_part : {part["b"]}) outs(%b_l1 : {stages[1]})
          %a_l0 = pto.alloc_tile addr = %c0_i64 : {factors[0]}
          %b_l0 = pto.alloc_tile addr = %c0_i64 : {factors[1]}
          pto.tmov ins(%a_l1 : {stages[0]}) outs(%a_l0 : {factors[0]})
          pto.tmov ins(%b_l1 : {stages[1]}) outs(%b_l0 : {factors[1]})
          %first = arith.cmpi eq, %k, %c0 : index
          scf.if %first {{
            pto.tmatmul ins(%a_l0, %b_l0 : {factors[0]}, {factors[1]}) outs(%sum : {acc})
          }} else {{
            pto.tmatmul.acc ins(%sum, %a_l0, %b_l0 : {acc}, {factors[0]}, {factors[1]}) outs(%sum : {acc})
          }}
        }}
        {cut["c"]}
        pto.tstore ins(%sum : {acc}) outs(%c_part : {part["c"]})
      }}
    }}
    return
  }}
}}
"""
