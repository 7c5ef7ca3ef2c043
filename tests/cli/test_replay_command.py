"""`nodwyn replay`: the log alone gives the bytes, or says why not."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodwyn_tui.domain.events import LlmRequest
from nodwyn_tui.store.log import Log
from tests.cli.test_run import NODWYN, configure, run
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


@pytest.fixture
def log(tmp_path: Path, home: Path) -> Path:
    """The log of a session with two requests."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with ChatServer([call("fs-list", {}), say("It is \x1b[31m[b]empty[/b].")]) as server:
        configure(home, server)
        run(workspace, "-p", "what is here?")
    (found,) = workspace.rglob("log.jsonl")
    return found


def replay(*options: str, **more: str) -> "subprocess.CompletedProcess[bytes]":
    command = [*NODWYN, "replay", *options]
    return subprocess.run(
        command, capture_output=True, timeout=60, check=False, cwd=Path(__file__).parents[2], **more
    )


def requests(log: Path) -> list[LlmRequest]:
    return [event for event in Log.read(log).events if isinstance(event, LlmRequest)]


def test_window_prints_the_canonical_bytes_and_one_line_end(log: Path, tmp_path: Path) -> None:
    """ENG-26: on a copy, without configuration, workspace or network."""
    elsewhere = tmp_path / "copied.jsonl"
    shutil.copy(log, elsewhere)
    shutil.rmtree(tmp_path / "home")
    for request in requests(log):
        done = replay(str(elsewhere), "--window", str(request.seq))
        assert (done.returncode, done.stderr) == (0, b"")
        assert hashlib.sha256(done.stdout.removesuffix(b"\n")).hexdigest() == request.digest
        assert done.stdout.endswith(b"\n")
        assert not done.stdout.endswith(b"\n\n")
        as_json = json.loads(replay(str(elsewhere), "--window", str(request.seq), "--json").stdout)
        assert as_json["request"] == json.loads(done.stdout)
        assert (as_json["seq"], as_json["digest"]) == (request.seq, request.digest)


def test_mismatch_exits_3_and_says_what_differs(log: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(log.read_bytes().replace(b"what is here?", b"what is there?"))
    done = replay(str(changed), "--window", str(requests(log)[0].seq))
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"does not match: recorded digest" in done.stderr


def test_damaged_log_that_nobody_mended_says_which_event_is_lost(log: Path, tmp_path: Path) -> None:
    """ENG-5: also the one with the recipe; a request that does not need it still replays."""
    lines = log.read_bytes().splitlines(keepends=True)
    said = next(n for n, line in enumerate(lines, 1) if b'"type":"user.message"' in line)
    for seq, needs in ((said, f"needs event {said}, which was lost"), (1, "needs event 1")):
        damaged = tmp_path / f"without-{seq}.jsonl"
        damaged.write_bytes(b"".join([*lines[: seq - 1], b"\0" * 40 + b"\n", *lines[seq:]]))
        done = replay(str(damaged), "--window", str(requests(log)[0].seq))
        assert (done.returncode, done.stdout) == (3, b"")
        assert needs in done.stderr.decode()
    ended = tmp_path / "torn.jsonl"
    ended.write_bytes(log.read_bytes()[:-30])
    assert replay(str(ended), "--window", str(requests(log)[1].seq)).returncode == 0


def test_transcript_is_plain_text_and_inert(log: Path) -> None:
    """SEC-3."""
    done = replay(str(log.parent))
    text = done.stdout.decode()
    assert "what is here?" in text
    assert "[b]empty[/b]" in text
    assert "\x1b" not in text


def test_session_is_found_by_prefix_from_anywhere(log: Path) -> None:
    done = replay(log.parent.name[:-3], "--json")
    assert [event["seq"] for event in json.loads(done.stdout)][:3] == [1, 2, 3]


def test_unknown_session_and_seq_say_what_there_is(log: Path) -> None:
    assert replay("20990101").returncode == 2
    done = replay(str(log), "--window", "2")
    assert done.returncode == 3
    assert b"requests here: 3" in done.stderr


def test_replay_imports_neither_textual_nor_httpx(log: Path) -> None:
    """PERF-1."""
    code = (
        "import sys; from nodwyn_tui.cli.main import run_command_line as run;"
        f"run(['replay', {str(log)!r}, '--window', '{requests(log)[0].seq}']);"
        "bad = {'textual', 'httpx', 'rich'} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_version_imports_next_to_nothing() -> None:
    """PERF-1."""
    code = (
        "import sys; from nodwyn_tui.cli.main import run_command_line as run\n"
        "try: run(['--version'])\n"
        "except SystemExit: pass\n"
        "bad = {'textual', 'httpx', 'pydantic', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"nodwyn ")


def test_sessions_list_names_them(log: Path) -> None:
    workspace = log.parents[3]
    done = subprocess.run(
        [*NODWYN, "sessions", "list", "--workspace", str(workspace), "--json"],
        capture_output=True, timeout=60, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    (listed,) = json.loads(done.stdout)
    assert listed["id"] == log.parent.name
    assert listed["first_message"] == "what is here?"


def test_file_that_is_no_log_is_an_error(tmp_path: Path) -> None:
    """Nothing to print is not the same as nothing there."""
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    done = replay(str(other))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"holds no event" in done.stderr
