"""`nodwyn sessions`: facts, export, title, removal, repair."""

import json
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.events import SessionTitle
from nodwyn_tui.store.log import Log
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import Warn
from tests.builders import LogBuilder
from tests.cli.test_run import NODWYN, configure, run
from tests.fakes.archives import written
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


@pytest.fixture
def log(tmp_path: Path, home: Path) -> Path:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with ChatServer([call("fs-list", {}, thinking="hm"), say("It has ```code```.")]) as server:
        configure(home, server, price={"input": 1.0, "output": 1.0})
        run(workspace, "-p", "what is here?")
    (found,) = workspace.rglob("log.jsonl")
    return found


def sessions(*options: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*NODWYN, "sessions", *options], capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(__file__).parents[2], **more,
    )  # fmt: skip


def test_show_tells_the_facts_of_a_session(log: Path) -> None:
    value = json.loads(sessions("show", str(log), "--json").stdout)
    assert (value["requests"], value["runs"], value["models"]) == (2, 1, ["m"])
    assert value["prompt_tokens"] > 0
    assert value["cost_usd"] > 0


def test_show_and_list_are_for_eyes(log: Path) -> None:
    """Figures are rounded, times are those of the clock on the wall, columns have names."""
    more = {"env": {**os.environ, "TZ": "UTC-5"}}
    value = json.loads(sessions("show", str(log), "--json").stdout)
    told = sessions("show", str(log), **more).stdout.splitlines()
    width = max(map(len, ("replies of unknown cost", *value)))
    shown = {line[:width].strip(): line[width + 1 :] for line in told}
    began = datetime.fromisoformat(value["began"]) + timedelta(hours=5)
    assert shown["began"] == f"{began:%Y-%m-%d %H:%M}"
    assert shown["cost"] == f"${value['cost_usd']:.4f}"
    assert shown["cache rate"] == f"{value['cache_rate']:.1%}"
    assert shown["title"].startswith("none")
    listing = sessions("list", "--workspace", str(log.parents[3]), **more)
    head, row = listing.stdout.splitlines()
    used = datetime.fromisoformat(value["last_event"]) + timedelta(hours=5)
    assert head.split() == ["session", "last", "used", "events", "title"]
    assert head.index("last used") == row.index(f"{used:%Y-%m-%d %H:%M}")
    assert head.index("title") == row.index("what is here?")
    assert sessions("list", "--workspace", str(log.parent)).stderr == "no session here yet\n"


def test_export_holds_the_whole_conversation(log: Path) -> None:
    text = sessions("export", str(log)).stdout
    for part in ("## You\n\nwhat is here?", "<summary>Thinking</summary>\n\nhm", "### fs-list",
                 "It has ```code```."):  # fmt: skip
        assert part in text
    as_json = json.loads(sessions("export", str(log), "--format", "json").stdout)
    assert len(as_json) == len(Log.read(log).events)


def test_export_tells_rollovers_and_what_was_not_sent(tmp_path: Path) -> None:
    """ROL-8, ROL-14: rejected input, the reasons and figures, what the model was told."""
    session = LogBuilder(strategy="rollover")
    session.user("Fix it.")
    session.exchange("a", "found")
    session.add(lead_in.warning(Warn(1_860, 3_000), notes=True))
    session.roll_over()
    session.add(ev.UserMessage(text="far\ntoo much", rejected=True))
    session.add(ev.BudgetBlocked(reason="it does not fit", remedies=("shorten it",)))
    text = sessions("export", str(written(tmp_path, session.events))).stdout
    for part in (
        "## You\n\nFix it.\n",
        "> **told the model: the window is ~62 % full** Note from the program: context ~62 % used",
        "---\n*rolled over in mid-run · at 2.3k of 3k tokens",
        "> **told the model: how it looks into w:0, what you asked** Note from the program: A new",
        '\n> <asked item="i:2">\n> Fix it.\n',
        "## You (not sent)\n\nfar\ntoo much\n",
        "> **error** nothing was sent: it does not fit\n> · shorten it\n",
    ):
        assert part in text


def test_rename_is_an_event_and_shows_in_the_list(log: Path) -> None:
    assert sessions("rename", log.parent.name, "A  better\nname").returncode == 0
    titles = [event for event in Log.read(log).events if isinstance(event, SessionTitle)]
    assert [event.title for event in titles] == ["A better name"]
    listed = sessions("list", "--workspace", str(log.parents[3])).stdout
    assert "A better name" in listed
    assert sessions("rename", log.parent.name, "  ").returncode == 2


def test_delete_wants_to_be_sure(log: Path) -> None:
    kept = sessions("delete", log.parent.name, stdin=subprocess.DEVNULL)
    assert kept.returncode == 2
    assert log.exists()
    assert sessions("delete", log.parent.name, "--yes").returncode == 0
    assert not log.parent.exists()


def test_delete_leaves_a_copy_elsewhere_alone(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copies"
    copy.mkdir()
    (copy / "log.jsonl").write_bytes(log.read_bytes())
    assert sessions("delete", str(copy / "log.jsonl"), "--yes").returncode == 2
    assert (copy / "log.jsonl").exists()


def test_repair_lists_and_mends(log: Path) -> None:
    """ENG-5: without a session; once it is mended there is nothing to report."""
    (log.parent / "no-replay").touch()
    whole = log.read_bytes()
    lines = whole.split(b"\n")
    lines[4] = lines[4][:10]
    log.write_bytes(b"\n".join(lines) + b'{"seq": 99, "torn')
    looked = sessions("repair", str(log), "--dry-run").stdout
    assert "part of a batch that is not whole" in looked
    assert "lost events: 4, 5" in looked
    assert not (log.parent / "log.damaged").exists()
    assert "mended" in sessions("repair", str(log)).stdout
    assert sessions("repair", str(log)).stdout == "nothing is damaged\n"
    assert b"torn" in (log.parent / "log.damaged").read_bytes()


def test_title_holds_no_key_of_the_person(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-1: nor any text that a command appends."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-key-without-a-shape")
    assert sessions("rename", log.parent.name, "for a-key-without-a-shape").returncode == 0
    assert b"a-key-without-a-shape" not in log.read_bytes()


def test_copy_of_a_log_is_not_changed_in_the_sessions_place(log: Path) -> None:
    """A path that names a copy never means the log that lies beside it."""
    copy = log.with_name("log.replaced-1")
    copy.write_bytes(log.read_bytes())
    before = log.read_bytes()
    for options in (("rename", str(copy), "x"), ("delete", "--yes", str(copy))):
        assert sessions(*options).returncode == 2
    assert log.read_bytes() == before
