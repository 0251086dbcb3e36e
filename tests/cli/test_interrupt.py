"""A compile that is stopped: exit status 130, and the output of an earlier run stays as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import KERNEL

PPTC = str(Path(sys.executable).with_name("pptc"))


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_compile_leaves_the_output_alone(tmp_path: Path, sent: signal.Signals, status: int) -> None:
    output = tmp_path / "k.so"
    output.write_bytes(b"from before")
    command = [PPTC, "-v", "-", "-o", str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        # Half a module: pptc has started and waits for the rest.
        process.stdin.write(KERNEL[: len(KERNEL) // 2].encode())
        process.stdin.flush()
        process.stderr.readline()
        process.send_signal(sent)
        assert process.wait() == status
        assert b"Traceback" not in process.stderr.read()
    assert output.read_bytes() == b"from before"
    assert list(tmp_path.iterdir()) == [output]
