"""What the command line prints, where: any locale, closed and full outputs, readers that leave."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from nodwyn_tui.cli.output import inert
from nodwyn_tui.store.log import Log
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, calls, error, say

NODWYN = [sys.executable, "-m", "nodwyn_tui"]
ROOT = Path(__file__).parents[2]
SAID = "größe ✓ 中"
OTHER_LOCALES = [
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def server(home: Path) -> Any:
    with ChatServer([say(SAID)], repeat=True) as made:
        configure(home, made)
        yield made


def configure(home: Path, server: ChatServer) -> None:
    value = {
        "model": "m",
        "servers": {"fake": {"provider": "openai", "base_url": server.base_url}},
        "models": {"m": {"server": "fake", "model": "test-model"}},
    }
    (home / "config.toml").write_bytes(tomli_w.dumps(value).encode())


def nodwyn(workspace: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("variables", {})}
    return subprocess.run(
        [*NODWYN, *arguments], capture_output=True, timeout=60, check=False, cwd=workspace,
        env=environment, **more,
    )  # fmt: skip


def in_shell(workspace: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Runs `nodwyn …` with redirections; its own exit code is what counts."""
    line = f"{sys.executable} -m nodwyn_tui {command}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False,
        cwd=workspace, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def session(workspace: Path) -> str:
    (log,) = workspace.rglob("log.jsonl")
    return log.parent.name


@pytest.mark.parametrize("variables", OTHER_LOCALES, ids=lambda v: "+".join(v.values()))
def test_data_is_utf8_in_every_locale_and_text_is_what_the_locale_can_say(
    workspace: Path, server: ChatServer, variables: dict[str, str]
) -> None:
    """REL-3: a reply that the locale has no letters for is no reason to lose it."""
    done = nodwyn(workspace, "run", "-p", "ä ✓", "--format", "json", variables=variables)
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, SAID)
    (log,) = workspace.rglob("log.jsonl")
    lines = nodwyn(
        workspace, "run", "-p", "✓", "--continue", "--format", "jsonl", variables=variables
    )
    assert lines.returncode == 0
    assert log.read_bytes().endswith(lines.stdout)
    text = nodwyn(workspace, "run", "-p", "✓", "--continue", variables=variables)
    assert (text.returncode, text.stdout.split()[-1]) == (0, b"?")
    for arguments in (("replay", session(workspace)), ("sessions", "list")):
        assert nodwyn(workspace, *arguments, variables=variables).returncode == 0


@pytest.mark.parametrize("command", ["run -p x --format json", "run -p x --format jsonl"])
def test_full_output_is_one_line_and_no_traceback(
    workspace: Path, server: ChatServer, command: str
) -> None:
    done = in_shell(workspace, f"{command} > /dev/full")
    assert done.returncode == 1
    assert "cannot write standard output" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_with_a_full_or_closed_output(workspace: Path, server: ChatServer) -> None:
    nodwyn(workspace, "run", "-p", "x")
    name = session(workspace)
    seq = next(e.seq for e in Log.read(next(workspace.rglob("log.jsonl"))).events
               if e.type == "llm.req")  # fmt: skip
    for command in (f"replay {name}", f"replay {name} --window {seq}", f"cache {name} --json"):
        full = in_shell(workspace, f"{command} > /dev/full")
        assert (full.returncode, "Traceback" in full.stderr) == (1, False), command
        for redirection in (">&-", "| true"):
            done = in_shell(workspace, f"{command} {redirection}")
            assert (done.returncode, done.stderr) == (0, ""), command + redirection


def test_folder_that_is_gone_is_said_to_be(workspace: Path, server: ChatServer) -> None:
    """REL-3: the folder that a command was started in."""
    gone = workspace / "gone"
    for command in ("replay 2026", "sessions list", "run -p x"):
        gone.mkdir()
        done = in_shell(gone, f"--version >/dev/null; rmdir {gone}; {sys.executable} -P -m "
                        f"nodwyn_tui {command} >/dev/null; exit $?")  # fmt: skip
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), command


def test_errors_never_go_to_standard_output(workspace: Path, home: Path) -> None:
    """Standard error closed: what is said is lost, and not printed among the data."""
    done = in_shell(workspace, "run -p x --format json 2>&-")
    assert done.returncode == 2
    assert json.loads(done.stdout)["errors"]


def test_reader_that_left_does_not_hide_a_failure(workspace: Path, home: Path) -> None:
    with ChatServer([error(401, {"error": {"message": "bad key"}})]) as server:
        configure(home, server)
        assert in_shell(workspace, "run -p x --format json | true").returncode == 4


def test_reader_of_jsonl_that_leaves_stops_the_run_in_order(workspace: Path, home: Path) -> None:
    """C09: every call answered, the run ended, and the exit code says that it was cut short."""
    slow = calls(("shell", {"command": "sleep 0.7"}), ("shell", {"command": "sleep 60"}))
    with ChatServer([slow]) as server:
        configure(home, server)
        began = time.monotonic()
        done = in_shell(workspace, "run -p x --format jsonl --allow '*' | head -n 7")
    assert (done.returncode, time.monotonic() - began < 30) == (130, True)
    (log,) = workspace.rglob("log.jsonl")
    kinds = [event.type for event in Log.read(log).events]
    assert kinds.count("tool.call") == kinds.count("tool.result") == 2
    assert kinds[-2:] == ["run.end", "session.end"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_every_signal_to_leave_ends_the_run_in_order(
    workspace: Path, home: Path, number: signal.Signals
) -> None:
    """REL-3, AGT-3: the tool's processes are ended, every call is answered, the JSON is printed."""
    with ChatServer([call("shell", {"command": "echo $$ > began; sleep 60"})]) as server:
        configure(home, server)
        process = start(workspace, "run", "-p", "x", "--allow", "*", "--format", "json")
        group = int(until(workspace / "began"))
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)["stop"]) == (130, "interrupted")
    with pytest.raises(ProcessLookupError):
        os.killpg(os.getpgid(group), 0)
    (log,) = workspace.rglob("log.jsonl")
    assert [e.type for e in Log.read(log).events][-3:] == ["tool.result", "run.end", "session.end"]


def test_interrupt_while_the_session_opens_sends_nothing(workspace: Path, home: Path) -> None:
    """A server that does not answer holds nobody: Ctrl-C leaves at once, and nothing is asked."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        value = {
            "model": "m",
            "servers": {"fake": {"provider": "openai",
                                 "base_url": f"http://127.0.0.1:{listener.getsockname()[1]}"}},
            "models": {"m": {"server": "fake", "model": "t"}},
        }  # fmt: skip
        (home / "config.toml").write_bytes(tomli_w.dumps(value).encode())
        process = start(workspace, "run", "-p", "x", "--format", "json")
        connection, _ = listener.accept()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        connection.close()
    assert time.monotonic() - began < 5
    assert (process.returncode, json.loads(out)["stop"]) == (130, "interrupted")
    assert list(workspace.rglob("log.jsonl")) == []


@pytest.mark.parametrize(
    ("redirection", "words"), [("<&-", "standard input"), ("< /dev/null", "prompt is empty")]
)
def test_prompt_from_an_input_that_gives_none(
    workspace: Path, server: ChatServer, redirection: str, words: str
) -> None:
    done = in_shell(workspace, f"run -p - --format json {redirection}")
    assert done.returncode == 2
    assert words in json.loads(done.stdout)["errors"][0]["message"]


def test_prompt_from_standard_input_of_another_encoding(
    workspace: Path, server: ChatServer
) -> None:
    """C55: bytes that are no UTF-8 become visible stand-ins; a byte order mark is no letter."""
    done = nodwyn(
        workspace, "run", "-p", "-", input=b"\xef\xbb\xbfcaf\xe9 \xff\n",
        variables={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0
    sent = server.bodies[0].body["messages"][-1]["content"]
    assert sent.endswith("caf\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}\n")


def test_text_for_eyes_is_inert_and_keeps_its_letters() -> None:
    """SEC-3: no code reaches the terminal; joiners that letters need stay."""
    assert inert("a\x1b[2Jb\x07\x9bc\r\n\td") == "a�[2Jb��c�\n\td"
    assert inert("\u202eabc\u2066") == "�abc�"
    assert inert("👨‍👩‍👧 می‌خواهم") == "👨‍👩‍👧 می‌خواهم"


def start(workspace: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*NODWYN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=workspace, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def until(path: Path) -> str:
    """A file's text once it is there."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        if path.exists() and (text := path.read_text().strip()):
            return text
        time.sleep(0.02)
    raise AssertionError(f"{path} never came")
