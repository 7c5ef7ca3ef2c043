"""ENG-1 to ENG-6: the open log. Disks that refuse and files that go are under tests/faults."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Text
from nodwyn_tui.errors import SessionLocked, StoreError
from nodwyn_tui.store.log import SYNCED, Log
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.window.build import build
from tests.fakes.credentials import samples
from tests.fakes.sessions import (
    ToldClock,
    called_reply,
    new_log,
    one_of_each,
    open_log,
    recipe,
    session_folder,
    turn,
)

CASES = Path(__file__).parent.parent / "cases" / "files"


def test_new_log_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    """ENG-1, SEC-1: files 0600, folders 0700, `.gitignore` with `*`."""
    with new_log(tmp_path) as log:
        folder = log.path.parent
        assert log.path == tmp_path / ".nodwyn" / "sessions" / folder.name / "log.jsonl"
        for path, mode in [(folder, 0o700), (log.path, 0o600), (folder / "log.lock", 0o600)]:
            assert stat.S_IMODE(path.stat().st_mode) == mode
    assert (tmp_path / ".nodwyn" / ".gitignore").read_text() == "*\n"


def test_events_are_given_back_as_recorded(tmp_path: Path) -> None:
    """ENG-2, ENG-3: what is appended is what is read, by whoever reads."""
    with new_log(tmp_path) as log:
        (log.path.parent / "no-replay").touch()  # its request is made up
        given = [event for draft in one_of_each()[1:] for event in log.append(draft)]
        batch = log.append(*called_reply(3))
        assert [event.batch for event in batch] == [4, None, None, None]
        assert log.next_seq == batch[-1].seq + 1
        read = Log.read(log.path)
        assert read.events[1:] == (*given, *batch)
        assert not read.damage
    reopened, report, events = open_log(tmp_path)
    with reopened:
        assert report is None
        assert events == read.events
        assert reopened.next_seq == log.next_seq
        (more,) = reopened.append(ev.UserMessage(text="hi"))
        assert more.run == max(event.run for event in events) + 1


def test_append_of_nothing_is_nothing(tmp_path: Path) -> None:
    with new_log(tmp_path) as log:
        assert log.append() == ()
        assert log.next_seq == 2


def test_an_append_is_one_write_and_synced_where_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENG-3: one write an append; on the disk at each message, request, response and reset."""
    calls: list[bytes] = []
    write, fsync = os.write, os.fsync
    log = new_log(tmp_path)
    (log.path.parent / "no-replay").touch()  # its request is made up
    earlier = log.path.read_bytes()
    monkeypatch.setattr(os, "write", lambda fd, data: calls.append(bytes(data)) or write(fd, data))
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(b"synced") or fsync(fd))
    with log:
        for draft in one_of_each()[1:]:
            calls.clear()
            log.append(draft)
            assert (calls[1:] == [b"synced"]) == isinstance(draft, SYNCED)
            earlier += calls[0]
        calls.clear()
        log.append(ev.Note(text="n"), *called_reply(2))
        assert calls[0].count(b"\n") == 4
        assert calls[1:] == [b"synced"]
    assert log.path.read_bytes() == earlier + calls[0]


def test_what_is_recorded_is_clean_and_is_what_comes_back(tmp_path: Path) -> None:
    """C55, C77, ENG-6, ENG-8: the redacted form is recorded and used."""
    held = "held-by-this-program"
    secret, _ = samples(Random())["github-token"]
    log = Log.create(session_folder(tmp_path), ToldClock(), Redactor([held]))
    with log:
        keyed = replace(recipe(), system=f"key {held}")
        (started,) = log.append(ev.SessionStart(session="s", workspace="/w", app="0", recipe=keyed))
        (result,) = log.append(
            ev.ToolResult(call_id="c", name="shell", text=f"{secret} \ud83d\0 {held}")
        )
    assert isinstance(started, ev.SessionStart)
    assert started.recipe.system == "key [redacted:key]"
    assert isinstance(result, ev.ToolResult)
    assert result.text == "[redacted:github-token] \ufffd\ufffd [redacted:key]"
    data = log.path.read_bytes()
    assert secret.encode() not in data
    assert held.encode() not in data
    assert Log.read(log.path).events == (started, result)


def test_given_results_are_stored_clean_and_come_back_the_same(tmp_path: Path) -> None:
    """C55: half pairs in results and arguments; the next request is the same after a resume."""
    given = json.loads((CASES / "C55_results.json").read_text(encoding="utf-8"))
    replies: list[ev.Event] = []
    with new_log(tmp_path) as log:
        (said,) = log.append(ev.UserMessage(text=os.fsdecode(b"list \xff.txt")))
        for number, text in enumerate(given["tool_results"]):
            arguments = given["bad_model_arguments"]
            call = Call(f"c{number}", "fs-write", arguments)
            replies += log.append(
                ev.LlmResponse(req=said.seq, parts=(call,), finish="calls"),
                ev.ToolCall(resp=said.seq, call_id=call.id, name=call.name, arguments=arguments),
            )
            replies += log.append(ev.ToolResult(call_id=call.id, name=call.name, text=text))
    log.path.read_bytes().decode("utf-8")
    assert "pair \U0001f600 ok" in [e.text for e in replies if isinstance(e, ev.ToolResult)]
    again, report, events = open_log(tmp_path)
    again.close()
    assert report is None
    assert events[1:] == (said, *replies)
    first = build((events[0], said, *replies), recipe())
    assert first.digest == build(events, recipe()).digest


def test_block_with_a_credential_is_left_out_and_a_note_says_so(tmp_path: Path) -> None:
    """ENG-6: in one batch with the reply, behind its events."""
    secret, _ = samples(Random())["anthropic-key"]
    spoilt = Block("reasoning", "o", f'{{"summary":"{secret}"}}')
    with new_log(tmp_path) as log:
        reply = ev.LlmResponse(ctx=3, req=1, parts=(spoilt, Text("ok")), finish="stop")
        recorded, note = log.append(reply)
    assert isinstance(recorded, ev.LlmResponse)
    assert recorded.parts == (Text("ok"),)
    assert isinstance(note, ev.Note)
    assert (recorded.batch, note.ctx, note.why) == (2, 3, "redaction")
    assert secret.encode() not in log.path.read_bytes()


def test_event_of_another_build_is_no_draft(tmp_path: Path) -> None:
    with new_log(tmp_path) as log, pytest.raises(TypeError, match="no draft"):
        log.append(ev.UnknownEvent(seq=9, kind="x", raw={"seq": 9, "type": "x"}))


def test_second_opener_reads_and_is_told_who_writes(tmp_path: Path) -> None:
    """ENG-4."""
    with new_log(tmp_path) as log:
        with pytest.raises(SessionLocked):
            open_log(tmp_path)
        before = log.path.stat()
        assert len(Log.read(log.path).events) == 1
        assert log.path.stat().st_mtime_ns == before.st_mtime_ns
    log.close()
    again, _, _ = open_log(tmp_path)
    again.close()


def test_reading_a_damaged_log_alters_nothing(tmp_path: Path) -> None:
    with new_log(tmp_path) as log:
        log.append(turn(0))
    data = log.path.read_bytes()[:-9] + b"\0\0\0"
    log.path.write_bytes(data)
    contents = Log.read(log.path)
    assert len(contents.events) == 1
    assert contents.damage.missing == (2,)
    assert log.path.read_bytes() == data
    assert not log.path.with_name("log.damaged").exists()


def test_existing_session_is_not_created_and_a_missing_one_not_opened(tmp_path: Path) -> None:
    with new_log(tmp_path) as log:
        pass
    before = log.path.read_bytes()
    with pytest.raises(StoreError, match=r"log\.jsonl"):
        new_log(tmp_path)
    assert log.path.read_bytes() == before
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(StoreError, match="sessions list"):
        Log.open(empty, ToldClock(), Redactor())
    assert list(empty.iterdir()) == []
    with pytest.raises(StoreError):
        Log.read(empty)
    with pytest.raises(StoreError):
        Log.read(empty / "log.jsonl")
    again, _, _ = open_log(tmp_path)  # the failed ones left no lock behind
    again.close()


def test_log_of_loose_mode_is_closed_to_others(tmp_path: Path) -> None:
    with new_log(tmp_path) as log:
        pass
    log.path.chmod(0o644)
    again, _, _ = open_log(tmp_path)
    again.close()
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_created_but_empty_log_opens(tmp_path: Path) -> None:
    """A process killed between making the file and its first event."""
    Log.create(session_folder(tmp_path), ToldClock(), Redactor()).close()
    log, report, events = open_log(tmp_path)
    with log:
        assert (report, events, log.next_seq) == (None, (), 1)


def test_log_without_its_last_line_end_goes_on_unglued(tmp_path: Path) -> None:
    """C63: the one byte that is missing is no damage, and nothing is reported."""
    with new_log(tmp_path) as log:
        log.append(turn(0))
    log.path.write_bytes(log.path.read_bytes()[:-1])
    again, report, events = open_log(tmp_path)
    with again:
        assert report is None
        assert len(events) == 2
        again.append(turn(1))
    assert [event.seq for event in Log.read(log.path).events] == [1, 2, 3]


def test_a_clock_behind_the_log_repeats_its_last_time(tmp_path: Path) -> None:
    """REL-3: also over a resume, whose clock begins anew here."""
    with new_log(tmp_path) as log:
        for number in range(5):
            (last,) = log.append(turn(number))
    again, _, _ = open_log(tmp_path)
    with again:
        (next_,) = again.append(turn(5))
    assert next_.at == last.at
