"""Children that are killed, and disks that are full."""

import gc
import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def in_child() -> Callable[[Callable[[], None]], int]:
    """Runs a function in a process of its own (a fork, so that it starts at once); its pid."""

    def run(work: Callable[[], None]) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            gc.disable()
            work()
            code = 0
        except Exception:  # noqa: BLE001 - whatever it is, the child ends here
            traceback.print_exc()
        finally:
            os._exit(code)

    return run


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 1 MB, as root on Linux; else the test is skipped."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        try:
            mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            mounted = False
        if not mounted:
            pytest.skip("needs the right to mount a small disk")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
