"""`nodwyn sessions search` (ENG-7), by the real command."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.places import new_id, new_session
from nodwyn_tui.store.redact import Redactor
from tests.cli.test_run import NODWYN
from tests.fakes.sessions import ToldClock, start


def search(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*NODWYN, "sessions", "search", *options], capture_output=True, text=True, timeout=60,
        check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip


def session(home: Path, workspace: Path, *drafts: ev.Event) -> Log:
    """An open session of a workspace."""
    workspace.mkdir(exist_ok=True)
    folder = new_session(workspace, home / "state", new_id(ToldClock().now()))
    log = Log.create(folder, ToldClock(), Redactor())
    log.append(start())
    for draft in drafts:
        log.append(draft)
    return log


def test_search_finds_in_a_workspace_or_in_all(home: Path, tmp_path: Path) -> None:
    """Also in a session at work elsewhere and in a damaged one; shown inert (SEC-3)."""
    here, there = tmp_path / "here", tmp_path / "there"
    said = ev.UserMessage(text="why does\nlistSessions\x1b]0;title\x07 fail?")
    with session(home, here, said) as at_work:
        session(home, here, ev.Note(text="the sessions list")).close()
        cut = session(home, here, ev.UserMessage(text="Sessions, cut"))
        cut.close()
        cut.path.write_bytes(cut.path.read_bytes() + b'garbage\n{"seq":9,"at')
        session(home, there, ev.ToolResult(call_id="c", name="t", text="sessions there")).close()
        done = search("SESSIONS", "--workspace", str(here))
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == 3
        assert f"{at_work.path.parent.name}       2  user.message " in done.stdout
        assert "why does listSessions\N{REPLACEMENT CHARACTER}]0;title" in done.stdout
        assert "\x1b" not in done.stdout
        assert "sessions there" not in done.stdout
        everywhere = json.loads(search("sessions", "--all", "--json").stdout)
        assert [hit["type"] for hit in everywhere].count("tool.result") == 1
        assert len(everywhere) == 4
        assert everywhere[0].keys() == {"session", "folder", "seq", "type", "snippet"}


def test_search_shows_the_latest_finds_and_is_quiet_about_none(home: Path, tmp_path: Path) -> None:
    turns = [ev.UserMessage(text=f"turn number {n}") for n in range(30)]
    session(home, tmp_path / "ws", *turns).close()
    place = "--workspace", str(tmp_path / "ws")
    found = json.loads(search("turn numb", "--json", "--limit", "3", *place).stdout)
    assert [hit["snippet"] for hit in found] == [f"turn number {n}" for n in (29, 28, 27)]
    assert len(search("turn", *place).stdout.splitlines()) == 20
    none = search("nowhere", *place)
    assert (none.returncode, none.stdout) == (0, "")
    assert "nothing found" in none.stderr
    assert search("nowhere", "--json", *place).stdout == "[]\n"
    assert search("  ", *place).returncode == 2
    assert search("turn", "--limit", "0", *place).returncode == 2
    assert search(b"\xff\xfe".decode("utf-8", "surrogateescape"), *place).returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_log_that_cannot_be_read_is_named_and_the_others_searched(
    home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "ws"
    session(home, place, ev.UserMessage(text="one")).close()
    closed = session(home, place, ev.UserMessage(text="one"))
    closed.close()
    closed.path.chmod(0)
    done = search("one", "--workspace", str(place))
    closed.path.chmod(0o600)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert f"{closed.path.parent.name} was not searched: cannot read" in done.stderr
