"""`nodwyn sessions summarize` and `revoke` (ENG-22)."""

import json
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.events import LlmRequest, UserMessage
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.build import build
from tests.builders import LogBuilder, texts
from tests.cli.test_run import configure, run
from tests.cli.test_sessions_command import sessions
from tests.fakes.archives import written
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


def stored(workspace: Path, log: LogBuilder) -> str:
    """A session of these events, by its id."""
    name = "20260102T030405Z-00c0ffee"
    folder = workspace / ".nodwyn" / "sessions" / name
    written(folder, log.events)
    (folder / "no-replay").touch()  # its model's parameters are made up
    return str(folder)


def said(log: LogBuilder, text: str) -> int:
    """A turn; its message's seq."""
    message = log.user(text)
    request, _ = log.request()
    log.reply(f"answer to {text}", req=request.seq)
    log.add(ev.RunEnd(why="done"))
    return message.seq


def test_only_turns_of_the_window_can_be_summed_up(tmp_path: Path) -> None:
    """What a clear, a compaction or a rewind took out of the window needs no summary."""
    log = LogBuilder(high_water=90_000, low_water=50_000)
    before = said(log, "before the clear")
    log.clear()
    first = said(log, "one")
    wrong = said(log, "tow")
    log.rewind(wrong)
    for text in ("two", "three", "four"):
        said(log, text)
    folder = stored(tmp_path, log)
    for span in ((before, first - 1), (first, wrong + 3), (wrong, wrong + 3)):
        bounds = ("--first", str(span[0]), "--last", str(span[1]))
        done = sessions("summarize", folder, *bounds, "--text", "in short")
        assert done.returncode == 2, span
        assert f"begin at {first}, {wrong + 5}" in done.stderr
        assert f"end at {wrong - 1}, " in done.stderr
    bounds = ("--first", str(first), "--last", str(wrong - 1))
    assert sessions("summarize", folder, *bounds, "--text", "in short").returncode == 0
    events = Log.read(Path(folder) / "log.jsonl").events
    shown = texts(build(events, log.recipe))
    assert "in short" in shown[0]
    assert not any("answer to one" in text for text in shown)


def test_a_turn_of_which_a_part_was_taken_back_is_refused(tmp_path: Path) -> None:
    """A note that was asked for in vain in the middle of a run."""
    log = LogBuilder(high_water=90_000, low_water=50_000)
    first = log.user("one").seq
    log.reply("on my way")
    asked = log.add(ev.Note(text="write a note", audience="model", why="handover ask"))
    log.reply("no")
    log.rewind(asked.seq, "undo")
    log.reply("answer")
    for text in ("two", "three"):
        said(log, text)
    folder = stored(tmp_path, log)
    bounds = ("--first", str(first), "--last", str(asked.seq + 3))
    done = sessions("summarize", folder, *bounds, "--text", "in short")
    assert done.returncode == 2
    assert "was taken back" in done.stderr


def test_a_window_of_few_turns_says_that_there_is_nothing_to_sum_up(tmp_path: Path) -> None:
    log = LogBuilder()
    said(log, "before")
    log.clear()
    first = said(log, "one")
    done = sessions("summarize", stored(tmp_path, log), "--first", str(first), "--last", "9",
                    "--text", "x")  # fmt: skip
    assert done.returncode == 2
    assert "nothing to sum up" in done.stderr
