"""The commands, called in this process, in a folder of their own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pptc.cli import pptc, pptc_opt, pptc_run

COMMANDS = {"pptc": pptc.main, "pptc-run": pptc_run.main, "pptc-opt": pptc_opt.main}

KERNEL = """\
// z = x + y, n elements, n <= 64
module attributes {pto.target_arch = "a2a3"} {
  func.func @add(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %count = arith.index_cast %n : i32 to index
    %vx = pto.make_tensor_view %x, shape = [%c1, %count], strides = [%count, %c1] : !pto.tensor_view<?x?xf32>
    %vy = pto.make_tensor_view %y, shape = [%c1, %count], strides = [%count, %c1] : !pto.tensor_view<?x?xf32>
    %vz = pto.make_tensor_view %z, shape = [%c1, %count], strides = [%count, %c1] : !pto.tensor_view<?x?xf32>
    %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c1, %count] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x?xf32>
    %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c1, %count] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x?xf32>
    %pz = pto.partition_view %vz, offsets = [%c0, %c0], sizes = [%c1, %count] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x?xf32>
    %a = pto.alloc_tile valid_col = %count : !pto.tile_buf<vec, 1x64xf32, valid=1x?>
    %b = pto.alloc_tile valid_col = %count : !pto.tile_buf<vec, 1x64xf32, valid=1x?>
    %c = pto.alloc_tile valid_col = %count : !pto.tile_buf<vec, 1x64xf32, valid=1x?>
    pto.tload ins(%px : !pto.partition_tensor_view<1x?xf32>) outs(%a : !pto.tile_buf<vec, 1x64xf32, valid=1x?>)
    pto.tload ins(%py : !pto.partition_tensor_view<1x?xf32>) outs(%b : !pto.tile_buf<vec, 1x64xf32, valid=1x?>)
    pto.tadd ins(%a, %b : !pto.tile_buf<vec, 1x64xf32, valid=1x?>, !pto.tile_buf<vec, 1x64xf32, valid=1x?>) outs(%c : !pto.tile_buf<vec, 1x64xf32, valid=1x?>)
    pto.tstore ins(%c : !pto.tile_buf<vec, 1x64xf32, valid=1x?>) outs(%pz : !pto.partition_tensor_view<1x?xf32>)
    return
  }
}
"""
"""A small kernel that every stage knows."""


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


Call = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder that holds k.pto."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "k.pto").write_text(KERNEL)
    return tmp_path


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Calls a command by name with words; `stdin` is its standard input."""

    def run(command: str, *words: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capfdbinary.readouterr()
        status = COMMANDS[command](words)
        out, err = capfdbinary.readouterr()
        return Result(status, out.decode(errors="replace"), err.decode())

    return run
