"""A resume reads what its window needs, and tells the latest page; the rest is there when it is
asked for (ENG-23, PERF-3).
"""

import dataclasses
from pathlib import Path

import pytest

from nodwyn_tui.agent.ledger import Ledgers, ledger_of
from nodwyn_tui.agent.pages import PAGE
from nodwyn_tui.agent.standing import standing
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import SystemClock
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


async def grown(rig: Rig, turns: int) -> str:
    """A session of the rig's with many more turns than it had; its id."""
    opened = await rig.open()
    await rig.ask("the first words")
    await rig.close()
    log, _ = Log.open(Path(opened.log_path).parent, SystemClock(), Redactor(), Ledgers())
    with log:
        for number in range(turns):
            log.append(
                ev.UserMessage(text=f"question {number}"),
                ev.LlmResponse(req=0, parts=(Text(f"answer {number}"),), finish="stop"),
                ev.RunEnd(why="done"),
            )
    return opened.session


async def page(rig: Rig, *, before: int = 0, after: int = 0) -> up.PageLoaded:
    rig.tell(commands.FetchPage(before=before, after=after))
    return await rig.until(up.PageLoaded)


def told(entries: tuple[up.Entry, ...]) -> list[up.Entry]:
    """Without what only the latest entries bear."""
    return [dataclasses.replace(entry, body=None) for entry in entries]


def as_read_whole(rig: Rig) -> list[up.Entry]:
    """The transcript of the log, folded from its first line to its last."""
    events = rig.log()
    transcript = Transcript({event.seq: event for event in events}.get)
    return told(transcript.load(events, standing(events)))


async def test_pages_add_up_to_the_whole_transcript(rig: Rig) -> None:
    """PERF-3, AGT-1: from the end to the beginning, and from the beginning to the end."""
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        session = await grown(rig, 2 * PAGE)
        await rig.open(resume=session)
        loaded = await rig.until(up.EntriesLoaded)
        assert loaded.earlier
        assert len(loaded.entries) <= PAGE + 2
        backwards = told(loaded.entries)
        while True:
            earlier = await page(rig, before=backwards[0].seq)
            backwards = told(earlier.entries) + backwards
            if not earlier.more:
                break
        forwards = told((await page(rig, after=0)).entries)
        while (later := await page(rig, after=forwards[-1].seq)).entries:
            forwards += told(later.entries)
        whole = as_read_whole(rig)
    assert backwards == whole
    assert forwards == whole
    assert len(whole) > 4 * PAGE


async def test_bodies_of_a_page_are_read_from_the_log(rig: Rig) -> None:
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        session = await grown(rig, PAGE)
        await rig.open(resume=session)
        await rig.until(up.EntriesLoaded)
        first = (await page(rig, after=0)).entries
        answer = next(entry for entry in first if entry.preview == "answer 7")
        rig.tell(commands.FetchBodies(ids=(answer.id,)))
        assert (await rig.until(up.BodyLoaded)).body.text == "answer 7"


async def test_a_page_that_cannot_be_read_is_asked_for_again(rig: Rig, tmp_path: Path) -> None:
    """PERF-3: the log is out of reach for a while; the person is told."""
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        session = await grown(rig, PAGE)
        opened = await rig.open(resume=session)
        reader = Rig(tmp_path)
        await reader.open(resume=session)
        first = (await reader.until(up.EntriesLoaded)).entries[0].seq
        log = Path(opened.log_path)
        away = log.rename(log.with_name("away"))
        log.mkdir()
        none = await page(reader, before=first)
        assert (none.entries, none.more) == ((), True)
        await reader.until(up.Notice)
        log.rmdir()
        away.rename(log)
        assert (await page(reader, before=first)).entries
        await reader.close()


async def test_a_cleared_session_holds_what_came_since(rig: Rig) -> None:
    """ENG-23: and asks, counts and predicts as if it held all."""
    with ChatServer([say("one"), say("two"), say("three")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("before")
        rig.tell(commands.ClearWindow())
        await rig.ask("after")
        await rig.close()
        folder = Path(opened.log_path).parent
        cleared = rig.of(ev.WindowReset)[0].seq
        log, contents = Log.open(folder, SystemClock(), Redactor(), Ledgers())
        facts = ledger_of(log.archive).facts
        log.close()
        assert [type(event) for event in contents.events[:2]] == [ev.SessionStart, ev.WindowReset]
        assert (facts.requests, facts.floor) == (2, cleared)
        await rig.open(resume=opened.session)
        assert (await rig.ask("again")).why == "done"
    sent = [message["content"] for message in messages(server) if message["role"] == "user"]
    assert not any("before" in text for text in sent)
    assert any("after" in text for text in sent)
    last = rig.of(ev.LlmRequest)[-1]
    assert last.prefix_ended_by is None
    assert last.predicted_cached


@pytest.mark.parametrize("clear", [True, False])
async def test_a_session_that_was_compacted_goes_on_where_it_was(rig: Rig, clear: bool) -> None:
    """ENG-23, ENG-11: after a clear, and after another compaction."""
    with ChatServer([say("one"), say("NOTE"), say("two"), say("NOTE 2"), say("three")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("first words")
        await compacted(rig)
        await rig.ask("second words")
        if clear:
            del server.script[0]
            rig.tell(commands.ClearWindow())
        else:
            await compacted(rig)
        server.script.insert(0, say("two and a half"))
        await rig.ask("third words")
        await rig.close()
        await rig.open(resume=opened.session)
        assert (await rig.ask("last words")).text == "three"
    sent = [message["content"] for message in messages(server)]
    assert [text for text in sent if "third words" in text]
    assert [text for text in sent if "two and a half" in text]
    assert not [text for text in sent if "first words" in text]
    assert rig.of(ev.LlmRequest)[-1].prefix_ended_by is None


async def compacted(rig: Rig) -> None:
    rig.tell(commands.Compact())
    offer = await rig.until(up.CompactionOffered)
    rig.tell(commands.AcceptCompaction(note=offer.note))
    await rig.until(up.CompactionEnded)


async def test_resumed_right_after_a_clear_it_predicts_what_the_prompt_shares(rig: Rig) -> None:
    """ENG-28: the system text and the catalogue are still in the cache."""
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("before")
        rig.tell(commands.ClearWindow())
        await rig.close()
        await rig.open(resume=opened.session)
        await rig.ask("after")
    last = rig.of(ev.LlmRequest)[-1]
    assert last.prefix_ended_by == "clear"
    assert last.predicted_cached


async def test_resumed_after_several_changes_it_names_the_first(rig: Rig) -> None:
    """ENG-28: a rewind and then a clear is a rewind, whoever read what."""
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("before")
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        rig.tell(commands.ClearWindow())
        await rig.close()
        await rig.open(resume=opened.session)
        await rig.ask("after")
    assert rig.of(ev.LlmRequest)[-1].prefix_ended_by == "rewind"


async def test_what_stands_behind_a_clear_says_so_after_a_resume(rig: Rig) -> None:
    """TUI-1: states follow from the window, live and read."""
    (rig.workspace / "a.txt").write_text("x\n" * 9_000)
    with ChatServer([call("fs-read", {"path": "a.txt"}), say("one"), say("two")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("before")
        rig.tell(commands.ClearWindow())
        await rig.ask("after")
        live = {
            entry_id: change.state
            for change in rig.told(up.StatesChanged)
            for entry_id in change.ids
        }
        await rig.close()
        await rig.open(resume=opened.session)
        loaded = await rig.until(up.EntriesLoaded)
    states = {entry.preview[:6] or entry.title: entry.state for entry in loaded.entries}
    assert states["before"] == states["one"] == "behind"
    assert states["after"] == states["two"] == "in"
    assert {entry.id for entry in loaded.entries if entry.state == "behind"} == {
        entry_id for entry_id, state in live.items() if state == "behind"
    }


async def test_a_cut_result_is_told_as_cut(rig: Rig) -> None:
    """TUI-1: as soon as a request shows it so."""
    (rig.workspace / "a.txt").write_text("some line of text\n" * 9_000)
    with ChatServer([call("shell", {"command": "cat a.txt"}), say("done")]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        await rig.ask()
    assert [change.state for change in rig.told(up.StatesChanged)] == ["cut"]


async def test_history_reads_back_what_lies_before_the_window(rig: Rig) -> None:
    """ROL-9, ROL-11: but nothing from before a manual reset."""
    with ChatServer([say("secret plan"), say("hi")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("before")
        said = rig.of(ev.LlmResponse)[0].seq
        rig.tell(commands.ClearWindow())
        await rig.ask("after")
        await rig.close()
        server.script.extend(
            [call("session_history", {"action": "read_item", "item": f"i:{said}"}), say("no")]
        )
        await rig.open(resume=opened.session)
        await rig.ask("what was it?")
    assert "there is no item" in rig.of(ev.ToolResult)[-1].text


async def test_a_second_opener_pages_too(rig: Rig, tmp_path: Path) -> None:
    """ENG-4: the session is read-only there."""
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        session = await grown(rig, PAGE)
        await rig.open(resume=session)
        reader = Rig(tmp_path)
        opened = await reader.open(resume=session)
        assert opened.read_only
        loaded = await reader.until(up.EntriesLoaded)
        first = await page(reader, before=loaded.entries[0].seq)
        assert first.entries
        assert first.entries[-1].seq < loaded.entries[0].seq
        await reader.close()
