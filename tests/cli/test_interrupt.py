"""A compile that is stopped: exit status 130, and the output of an earlier run stays as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import KERNEL

PPTC = str(Path(sys.executable).with_name("pptc"))


def _hear_interrupts() -> None:
    """A shell starts what runs in its background with interrupts ignored, and pptc goes on ignoring them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_compile_leaves_the_output_alone(tmp_path: Path, sent: signal.Signals, status: int) -> None:
    output = tmp_path / "k.so"
    output.write_bytes(b"from before")
    command = [PPTC, "-v", "-", "-o", str(output)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hear_interrupts,
    ) as process:
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


@pytest.mark.parametrize("moment", ["before a command is imported", "while one is imported"])
def test_an_interrupt_of_the_start_says_nothing(moment: str) -> None:
    interrupt = "import os, signal, pptc.cli.start as start; os.kill(os.getpid(), signal.SIGINT)"
    if moment.startswith("while"):
        # click is what the import of every command begins with.
        interrupt = (
            "import os, signal, sys, pptc.cli.start as start\n"
            "class Finder:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Finder())\n"
            "start.pptc()"
        )
    done = subprocess.run([sys.executable, "-c", interrupt], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_ignored_interrupts_stay_ignored() -> None:
    code = "import os, signal, pptc.cli.start; os.kill(os.getpid(), signal.SIGINT); print('alive')"
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", code]
    done = subprocess.run(shell, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"alive\n")
