"""`nodwyn sessions summarize` and `revoke` (ENG-22)."""

import json
from pathlib import Path

import pytest

from nodwyn_tui.domain.events import LlmRequest, UserMessage
from nodwyn_tui.store.log import Log
from tests.cli.test_run import configure, run
from tests.cli.test_sessions_command import sessions
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say


@pytest.fixture
def server(home: Path) -> "ChatServer":
    return ChatServer([say(f"answer {n}") for n in range(8)])


def turns(log: Path) -> list[int]:
    return [event.seq for event in Log.read(log).events if isinstance(event, UserMessage)]


def test_summary_stands_for_its_span_until_it_is_revoked(
    tmp_path: Path, home: Path, server: ChatServer
) -> None:
    """Earlier requests still rebuild exactly: the shared fixture replays them all."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with server:
        configure(home, server)
        run(workspace, "-p", "first")
        for text in ("second", "third", "fourth"):
            run(workspace, "-p", text, "--continue")
        (log,) = workspace.rglob("log.jsonl")
        first, second, third, _ = turns(log)
        span = ["--first", str(first), "--last", str(second - 1)]
        done = sessions("summarize", str(log), *span, "--text", "it began")
        assert done.returncode == 0, done.stderr
        run(workspace, "-p", "fifth", "--continue")
        sent = [message["content"] for message in server.bodies[-1].body["messages"]]
        assert any("Summary of earlier conversation:\n\nit began" in text for text in sent)
        assert not any("answer 0" in text for text in sent)
        summary = json.loads(sessions("export", str(log), "--format", "json").stdout)
        seq = next(event["seq"] for event in summary if event["type"] == "summary.add")
        assert sessions("revoke", str(log), str(seq)).returncode == 0
        run(workspace, "-p", "sixth", "--continue")
        sent = [message["content"] for message in server.bodies[-1].body["messages"]]
        assert any("answer 0" in text for text in sent)
    requests = [event for event in Log.read(log).events if isinstance(event, LlmRequest)]
    assert requests[-2].prefix_ended_by == requests[-1].prefix_ended_by == "summary"
    assert third > second


def test_wrong_bounds_say_which_ones_there_are(
    tmp_path: Path, home: Path, server: ChatServer
) -> None:
    """Whole user turns, and never the latest two."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with server:
        configure(home, server)
        run(workspace, "-p", "first")
        run(workspace, "-p", "second", "--continue")
        run(workspace, "-p", "third", "--continue")
    (log,) = workspace.rglob("log.jsonl")
    first, second, third = turns(log)
    for span in ((first + 1, second - 1), (first, third - 1), (second, third - 1)):
        done = sessions("summarize", str(log), "--first", str(span[0]), "--last", str(span[1]),
                        "--text", "x")  # fmt: skip
        assert done.returncode == 2
        assert f"begin at {first} and end at {second - 1}" in done.stderr
    assert sessions("revoke", str(log), "3").returncode == 2
