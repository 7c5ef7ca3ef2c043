"""`nodwyn models pull` as a program."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodwyn_tui.cli.main import run_command_line
from tests.fakes.ollama_library import FULL, Library
from tests.fakes.ollama_server import OllamaServer


def test_progress_is_told_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """TUI-6: standard output stays empty; the way to ask the model is told."""
    with OllamaServer(installed=(), library=Library({"small:1b": (2_000_000,)})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        assert run_command_line(["models", "pull", "small:1b"]) == 0
        assert server.installed == ["small:1b"]
    told = capfd.readouterr()
    assert told.out == ""
    for words in ("pulling manifest", "of 2.0 MB", "success", "nodwyn --model ollama/small:1b"):
        assert words in told.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["small:1b"], 4, "Make room"),
        (["small:1b", "--server", "groq"], 2, "only Ollama fetches"),
        (["small:1b", "--server", "nowhere"], 2, "only Ollama fetches"),
    ],
)
def test_what_fails_has_its_exit_code(
    arguments: list[str],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    library = Library({"small:1b": (2_000_000,)}, breaks_after=2, error=FULL)
    with OllamaServer(installed=(), library=library) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        assert run_command_line(["models", "pull", *arguments]) == code
    assert words in capfd.readouterr().err


def test_no_ollama_is_told(capfd: pytest.CaptureFixture[str], home: Path) -> None:
    assert run_command_line(["models", "pull", "small:1b"]) == 4
    assert "Start Ollama" in capfd.readouterr().err
    assert not (home / "config.toml").exists()


def hears_ctrl_c() -> None:
    """Where the tests run in a shell's background, children are born deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_stops_it_at_ollama_too(home: Path) -> None:
    """TUI-6: what came stays there; the exit code says that it was interrupted."""
    library = Library({"large:9b": (600_000_000,)}, pause=0.05)  # half a minute
    with OllamaServer(installed=(), library=library) as server:
        environment = {**os.environ, "OLLAMA_HOST": server.base_url, "NODWYN_HOME": str(home)}
        process = subprocess.Popen(
            [sys.executable, "-m", "nodwyn_tui", "models", "pull", "large:9b"],
            env=environment,
            stderr=subprocess.PIPE,
            preexec_fn=hears_ctrl_c,  # noqa: PLW1509 - no other thread has a lock between the two
        )
        assert process.stderr is not None
        with process.stderr:
            process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        assert server.hung_up.wait(5)


def test_the_small_local_model_is_listed_without_being_started(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PRV-11: its figures are those of its weights."""
    (home / "config.toml").write_text('[models.tiny]\nserver = "local"\nmodel = "tiny"\n')
    assert run_command_line(["models", "list"]) == 0
    assert "8,192 tokens (its weights)" in capfd.readouterr().out
