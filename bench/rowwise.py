"""Kernels at the speed of memory, over 4096 x 4096 f32: pptc against torch and ONNX Runtime.

python -m bench.rowwise [--target T] [--threads N] [--kernels softmax,exp,gelu,rmsnorm,transpose]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import Call, aligned, compare, kernel, options

SIZE = 4096
EPSILON = 1e-6

Array = Any


@dataclass(frozen=True)
class Case:
    """What a kernel computes, in f64, and how its peers say it; with `weights`, all rows are scaled by w.

    torch gives its result, which is the given output where it takes one.
    """

    exact: Callable[[Array, Array], Array]
    torch: Callable[..., Any]  # of torch itself, input, output, weights
    node: Mapping[str, Any]
    opset: int = 20
    rows: bool = True
    weights: bool = False


def _softmax(x: Array, _: Array) -> Array:
    import numpy as np

    grown = np.exp(x - x.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def _exp(x: Array, _: Array) -> Array:
    import numpy as np

    return np.exp(x)


def _gelu(x: Array, _: Array) -> Array:
    import numpy as np

    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def _rmsnorm(x: Array, w: Array) -> Array:
    import numpy as np

    return x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * w


CASES: Mapping[str, Case] = {
    "softmax": Case(_softmax, lambda t, x, y, w: t.softmax(x, dim=1, out=y), {"op_type": "Softmax", "axis": 1}),
    "exp": Case(_exp, lambda t, x, y, w: t.exp(x, out=y), {"op_type": "Exp"}),
    "gelu": Case(
        _gelu, lambda t, x, y, w: t.ops.aten.gelu.out(x, approximate="tanh", out=y),
        {"op_type": "Gelu", "approximate": "tanh"},
    ),
    "rmsnorm": Case(
        _rmsnorm, lambda t, x, y, w: t.nn.functional.rms_norm(x, (SIZE,), w, EPSILON),
        {"op_type": "RMSNormalization", "axis": -1, "epsilon": EPSILON}, opset=23, weights=True,
    ),
    "transpose": Case(
        lambda x, _: x.T, lambda _, x, y, w: y.copy_(x.t()), {"op_type": "Transpose", "perm": [1, 0]}, rows=False
    ),
}  # fmt: skip


def onnxruntime_call(case: Case, x: Array, w: Array, y: Array, threads: int) -> Call:
    """An ONNX model of one node, its inputs and output bound to given arrays."""
    import onnxruntime
    from onnx import TensorProto, helper

    arrays = {"x": x, **({"w": w} if case.weights else {}), "y": y}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in arrays.items()]
    node = helper.make_node(inputs=list(arrays)[:-1], outputs=["y"], **case.node)
    graph = helper.make_graph([node], "bench", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), session_options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for name, array in arrays.items():
        bind = binding.bind_output if name == "y" else binding.bind_input
        bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    return lambda: session.run_with_iobinding(binding)


def run(name: str, target: str, threads: int) -> None:
    """Check all three against f64, then print the ratios."""
    import numpy as np
    import torch

    case = CASES[name]
    torch.set_num_threads(threads)
    x, *outputs = (aligned((SIZE, SIZE), np.float32) for _ in range(4))
    w = aligned((SIZE,), np.float32)
    np.random.default_rng(1).standard_normal(out=x, dtype=np.float32)
    w[:] = 1.5
    ours = kernel(Path(__file__).with_name(f"{name}.pto"), target, threads)
    arguments = [x, *([w] if case.weights else []), outputs[0], *([SIZE] if case.rows else [])]
    tensors = [torch.from_numpy(array) for array in (x, outputs[1], w)]
    calls: dict[str, Call] = {
        "ours": lambda: ours(*arguments),
        "torch": lambda: case.torch(torch, *tensors),
        "ONNX Runtime": onnxruntime_call(case, x, w, outputs[2], threads),
    }
    exact = case.exact(x.astype(np.float64), w.astype(np.float64))
    print(f"{name} f32 {SIZE}x{SIZE} on {target}, threads: {threads}")
    for (peer, call), output in zip(calls.items(), outputs, strict=True):
        made = call()
        output = output if made is None else np.asarray(made)
        error = np.abs(output - exact).max() / np.abs(exact).max()
        assert error < 1e-5, f"{peer}: wrong result, {error}"
        print(f"  {peer}: largest error {error:.1e} of the largest element")
    del exact
    for ratio in compare(calls.pop("ours"), calls):
        print(f"  {ratio}; {2 * x.nbytes / ratio.ours_seconds / 1e9:.1f} GB/s of input and output")


def main() -> None:
    """All cases that the command line names."""
    given = options(__doc__ or "", ("--kernels", ",".join(CASES), "which"))
    for name in given.kernels.split(","):
        run(name, given.target, given.threads)


if __name__ == "__main__":
    main()
