"""A command of the command line, run in this process: what it prints, and its exit code."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from nodwyn_tui.cli.main import run_command_line

Nodwyn = Callable[..., "Done"]


@dataclass(frozen=True)
class Done:
    """What a process would have left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def nodwyn(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Nodwyn:
    """`nodwyn("models", "list")`; `given` is its standard input, which is no terminal."""

    def run(*options: str, given: str = "") -> Done:
        capfd.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        try:
            code = run_command_line(options)
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run
