"""Starts the worker's process. Apart from `pipe.py`, so that it can run before asyncio is imported:
the worker then starts beside the screen (PERF-1).
"""

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

WORKER = (sys.executable, "-P", "-m", "nodwyn_tui", "_worker")
"""`-P`, so that a repository in the current folder cannot shadow a module."""


def spawn(command: Sequence[str] = WORKER, *, log: Path | None = None) -> subprocess.Popen[bytes]:
    """A worker with pipes as its standard input and output, in a session of its own, so that the
    terminal's signals pass it by. Its standard error goes to the end of the file `log`, never to
    the screen. Raises `OSError` where it cannot be started.
    """
    with contextlib.ExitStack() as closing:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=closing.enter_context(log.open("ab")) if log else subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
