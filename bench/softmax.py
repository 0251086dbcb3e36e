"""Softmax over 4096 rows of 4096 f32, one thread: softmax.pto against torch and ONNX Runtime.

python -m bench.softmax [target]
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from bench.harness import Call, aligned, compare, compile_kernel, restart_with

SIZE = 4096


def torch_softmax(x: np.ndarray, y: np.ndarray) -> Call:  # noqa: F821
    """torch.softmax into a given output."""
    import torch

    torch.set_num_threads(1)
    source, target = torch.from_numpy(x), torch.from_numpy(y)
    return lambda: torch.softmax(source, dim=1, out=target)


def onnxruntime_softmax(x: np.ndarray, y: np.ndarray) -> Call:  # noqa: F821
    """An ONNX model of one Softmax node, its input and output bound to given arrays."""
    import onnxruntime
    from onnx import TensorProto, helper

    tensor = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["y"], axis=1)], "softmax", tensor[:1], tensor[1:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for bind, name, array in ((binding.bind_input, "x", x), (binding.bind_output, "y", y)):
        bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    return lambda: session.run_with_iobinding(binding)


def main(target: str) -> None:
    """Check all three against f64, then print the ratios."""
    restart_with(1)
    import numpy as np

    x, *outputs = (aligned((SIZE, SIZE), np.float32) for _ in range(4))
    np.random.default_rng(1).standard_normal(out=x, dtype=np.float32)
    library = ctypes.CDLL(str(compile_kernel(Path(__file__).with_name("softmax.pto"), target)))
    arguments = [
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(outputs[0].ctypes.data),
        ctypes.c_int32(SIZE),
    ]

    def ours() -> None:
        library.softmax(*arguments)

    peers = {"torch": torch_softmax(x, outputs[1]), "ONNX Runtime": onnxruntime_softmax(x, outputs[2])}
    grown = np.exp(x.astype(np.float64))
    exact = grown / grown.sum(axis=1, keepdims=True)
    for name, call, output in zip(("ours", *peers), (ours, *peers.values()), outputs, strict=True):
        call()
        error = np.abs(output / exact - 1).max()
        assert error < 1e-5, f"{name}: wrong result, {error}"
        print(f"  {name}: largest relative error {error:.1e}")
    del grown, exact
    print(f"softmax f32 {SIZE}x{SIZE} on {target}, one thread")
    for ratio in compare(ours, peers):
        print(f"  {ratio}; {2 * x.nbytes / ratio.ours_seconds / 1e9:.1f} GB/s of input and output")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "avx512")
