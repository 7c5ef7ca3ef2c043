"""A first run as a program on a real terminal: an empty home, a local Ollama, a key and a word."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import say

ROOT = Path(__file__).parents[2]
MINUTE = 60.0


class Terminal:
    """The program on a pseudo-terminal of the usual size, with a home in which nothing is."""

    def __init__(self, folder: Path, ollama: str) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        (folder / "empty").mkdir(exist_ok=True)
        self.output = b""
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nodwyn_tui", str(folder)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "TERM": "xterm-256color",
                "HOME": str(folder / "empty"),
                "NODWYN_HOME": str(folder / "home"),
                "OLLAMA_HOST": ollama,
            },
            start_new_session=True,
        )
        os.close(slave)

    def until(self, text: str) -> None:
        """Wait until this has been written, escape codes aside."""
        ends = time.monotonic() + MINUTE
        while text not in self.plain():
            assert time.monotonic() < ends, self.plain()[-2000:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536)

    def plain(self) -> str:
        text = self.output.decode(errors="replace")
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^\[]", "", text)

    def type(self, text: str) -> None:
        """Keys; what was written before them is forgotten."""
        self.output = b""
        os.write(self.master, text.encode())

    def close(self) -> None:
        """Leave in order, as when the terminal's window is closed."""
        self.process.terminate()
        ends = time.monotonic() + MINUTE
        while self.process.poll() is None and time.monotonic() < ends:
            if select.select([self.master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):  # the other end is gone
                    os.read(self.master, 65536)
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer([say("An answer at last.")], repeat=True) as server:
        yield server


def test_an_empty_home_answers_within_a_minute(tmp_path: Path, ollama: OllamaServer) -> None:
    """TUI-6: Enter takes the model that was found; the next start just opens."""
    began = time.monotonic()
    terminal = Terminal(tmp_path, ollama.base_url)
    try:
        terminal.until("First things first")
        terminal.until("Ollama, on this machine")
        assert not ollama.bodies, "no model is asked before one is picked"
        terminal.type("\r")
        terminal.until("low")  # the meter of a session
        terminal.type("hello\r")
        terminal.until("An answer at last.")
        assert time.monotonic() - began < MINUTE
    finally:
        terminal.close()
    again = Terminal(tmp_path, ollama.base_url)
    try:
        again.until("low")
        assert "First things first" not in again.plain()
    finally:
        again.close()
