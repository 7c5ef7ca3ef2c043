"""`/compact`: looked at, edited, accepted, dropped, undone (AGT-16, TUI-15)."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import request_bytes
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window.replay import replay
from tests.agent.rig import Rig, messages
from tests.agent.test_compaction import ASKS, BAD, NOTE, content
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Say, call, say

PLAN = {"items": [{"text": "look", "state": "doing"}]}


@asynccontextmanager
async def talked(rig: Rig, *script: Item, **model: object) -> AsyncIterator[ChatServer]:
    """A session in which a run with a plan and a long result is over."""
    (rig.workspace / "a.txt").write_text("line\n" * 900)
    before = [call("plan-write", PLAN), call("fs-read", {"path": "a.txt"}), say("it is read")]
    with ChatServer([*before, *script]) as server:
        rig.configure(server, **model)
        await rig.open()
        assert (await rig.ask("read a.txt")).why == "done"
        yield server
        assert server.violations == []


async def offered(rig: Rig, wish: str = "") -> up.CompactionOffered:
    rig.tell(commands.Compact(wish=wish))
    return await rig.until(up.CompactionOffered)


def last_request(rig: Rig) -> bytes:
    log = rig.log()
    request = [event for event in log if isinstance(event, ev.LlmRequest)][-1]
    return request_bytes(replay(log, request.seq).request)


async def test_the_note_is_offered_with_what_goes_and_what_stays(rig: Rig) -> None:
    price = {"input": 1000.0, "cached": 100.0, "output": 2000.0}
    async with talked(rig, say(NOTE), price=price) as server:
        offer = await offered(rig, "the migration comes first")
        assert offer.note == NOTE
        assert not offer.own
        assert offer.before > 2 * offer.after
        goes = {portion.label: portion for portion in offer.goes}
        assert goes["results"].count == 2
        assert goes["message of yours"].count == 1
        assert goes["replies"].count == 3
        stays = {portion.label: portion.tokens for portion in offer.stays}
        assert list(stays) == ["system prompt and tools", "the handover note", "the plan"]
        assert sum(stays.values()) == offer.after
        assert offer.usage is not None
        assert offer.usage.cost_usd
        assert content(messages(server)[-1]).endswith("The person adds: the migration comes first")
        assert not rig.of(ev.ContextOpen), "nothing happens before it is accepted"


async def test_accepted_the_conversation_goes_on_from_the_note(rig: Rig) -> None:
    async with talked(rig, say(NOTE), say("on I go")) as server:
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        ended = await rig.until(up.CompactionEnded)
        assert ended.taken
        assert "/compact undo" in ended.text
        assert (await rig.ask("and now?")).text == "on I go"
        _, note, plan, asked = messages(server)
        assert NOTE in content(note)
        assert "[>] look" in content(plan)
        assert content(asked) == "The person asks:\n\nand now?"
        runs = [event.run for event in rig.of(ev.UserMessage)]
        assert runs == [1, 2], "asking for a note is no run"
        assert rig.of(ev.LlmRequest)[-1].prefix_ended_by == "compaction"
        said = [event.entry for event in rig.told(up.EntryAdded)]
        assert next(e.title for e in said if e.kind == "divider").startswith("compacted: ")
        assert [e.title for e in said if e.kind == "note"] == [
            "asks the model for a handover note",
            "the handover note",
        ]


async def test_the_note_as_the_person_edited_it(rig: Rig) -> None:
    async with talked(rig, say(NOTE), say("on")) as server:
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note="my own words"))
        await rig.until(up.CompactionEnded)
        await rig.ask("go on")
        note = content(messages(server)[1])
        assert "as the person edited it:\n\nmy own words" in note
        assert NOTE not in note


@pytest.mark.parametrize("note", ["   ", "x" * 200_000])
async def test_a_note_that_cannot_be_taken_is_offered_again(rig: Rig, note: str) -> None:
    async with talked(rig, say(NOTE)):
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note=note))
        told = await rig.until(up.Notice)
        assert "empty" in told.text or "shorten the note" in told.text
        again = await rig.until(up.CompactionOffered)
        assert again.note == (note.strip() or NOTE)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        assert (await rig.until(up.CompactionEnded)).taken


@pytest.mark.parametrize("end", ["drop", "undo", "undo after a restart", "say on", "leave"])
async def test_without_it_the_next_request_is_what_it_would_have_been(rig: Rig, end: str) -> None:
    """AGT-16: byte for byte, however it came to nothing."""
    async with talked(rig, say(NOTE), say("on")) as server:
        expected = [*messages(server), {"role": "assistant", "content": "it is read"}]
        await offered(rig)
        match end:
            case "drop":
                rig.tell(commands.DropCompaction())
                assert not (await rig.until(up.CompactionEnded)).taken
            case "undo" | "undo after a restart":
                rig.tell(commands.AcceptCompaction(note=NOTE))
                assert (await rig.until(up.CompactionEnded)).taken
                if end != "undo":
                    await rig.close()
                    await rig.open(resume="last")
                rig.tell(commands.UndoCompaction())
                assert (await rig.until(up.CompactionEnded)).taken
            case "leave":
                await rig.close()
                await rig.open(resume="last")
        await rig.ask("go on")
        asked = {"role": "user", "content": "The person asks:\n\ngo on"}
        assert messages(server) == [*expected, asked]
        assert ASKS[0] not in last_request(rig).decode()
        assert rig.of(ev.LlmRequest)[-1].elided == ()


async def test_it_can_be_undone_until_the_person_speaks(rig: Rig) -> None:
    async with talked(rig, say(NOTE), say("on")):
        rig.tell(commands.UndoCompaction())
        assert not (await rig.until(up.CompactionEnded)).taken
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        await rig.until(up.CompactionEnded)
        await rig.ask("go on")
        rig.tell(commands.UndoCompaction())
        ended = await rig.until(up.CompactionEnded)
        assert (ended.taken, ended.level) == (False, "warning")
        assert not rig.of(ev.ContextClose)


@pytest.mark.parametrize("how", BAD)
async def test_a_failed_one_says_why_and_changes_nothing(rig: Rig, how: str) -> None:
    note, why = BAD[how]
    async with talked(rig, note(), *([note()] if how == "calls" else []), say("on")) as server:
        expected = [*messages(server), {"role": "assistant", "content": "it is read"}]
        rig.tell(commands.Compact())
        ended = await rig.until(up.CompactionEnded)
        assert (ended.level, ended.taken) == ("error", False)
        assert why in ended.text
        await rig.ask("go on")
        assert messages(server)[:-1] == expected


async def test_an_interrupted_one_changes_nothing(rig: Rig) -> None:
    gate = threading.Event()
    async with talked(rig, Say("half", gate=gate), say("on")) as server:
        expected = [*messages(server), {"role": "assistant", "content": "it is read"}]
        rig.tell(commands.Compact())
        await rig.until(up.RequestSent)
        rig.tell(commands.Interrupt())
        assert (await rig.until(up.CompactionEnded)).text.startswith("not compacted")
        gate.set()
        await rig.ask("go on")
        assert messages(server)[:-1] == expected


async def test_a_message_typed_meanwhile_waits_for_the_decision(rig: Rig) -> None:
    gate = threading.Event()
    async with talked(rig, Say(NOTE, gate=gate), say("done")) as server:
        rig.tell(commands.Compact())
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="then this"))
        await rig.until(up.Queued)
        gate.set()
        await rig.until(up.CompactionOffered)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        assert (await rig.until(up.RunEnded)).text == "done"
        assert NOTE in content(messages(server)[1])
        assert content(messages(server)[-1]).endswith("then this")


async def test_there_must_be_something_to_compact(rig: Rig) -> None:
    with ChatServer([]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Compact())
        assert "nothing to compact" in (await rig.until(up.Notice)).text
        rig.tell(commands.AcceptCompaction(note="x"))
        assert "no handover note is on offer" in (await rig.until(up.Notice)).text
        assert server.bodies == []


async def test_it_waits_for_the_end_of_a_run(rig: Rig) -> None:
    gate = threading.Event()
    with ChatServer([Say("slow", gate=gate)]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Compact())
        assert "once this run has ended" in (await rig.until(up.Notice)).text
        gate.set()
        assert (await rig.until(up.RunEnded)).text == "slow"


async def test_a_run_that_was_stopped_goes_on_after_it(rig: Rig) -> None:
    """The ask is never lost: it is quoted, and `/continue` goes on with it."""
    gate = threading.Event()
    async with talked(rig, Say("wait", gate=gate), say(NOTE), say("done")) as server:
        rig.tell(commands.Send(text="do <this> & that"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        gate.set()
        offer = await offered(rig)
        assert "your unanswered request" in [portion.label for portion in offer.stays]
        rig.tell(commands.AcceptCompaction(note=NOTE))
        await rig.until(up.CompactionEnded)
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "done"
        assert "do <this> & that" in content(messages(server)[2])


async def test_what_stood_before_can_be_read_back(rig: Rig) -> None:
    """ROL-9: a compaction is no floor; a manual reset is."""
    async with talked(rig, say(NOTE)) as server:
        result = next(e for e in rig.of(ev.ToolResult) if e.name == "fs-read")
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        await rig.until(up.CompactionEnded)
        look = call("session_history", {"action": "read_item", "item": f"i:{result.seq}"})
        server.script += [look, say("there"), look, say("not there")]
        await rig.ask("look back")
        assert "line\\n" in str(messages(server)[-1])
        rig.tell(commands.ClearWindow())
        await rig.ask("look back")
        assert "there is no item" in str(messages(server)[-1])


async def test_what_was_allowed_stays_allowed(rig: Rig) -> None:
    """AGT-8: an answer for the session holds in the new window too."""
    shell = call("shell", {"command": "echo one > one.txt"})
    async with talked(rig, shell, say("ran"), say(NOTE), shell, say("ran again")):
        rig.tell(commands.Send(text="run it"))
        asked = await rig.until(up.ApprovalAsked)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="session"))
        assert (await rig.until(up.RunEnded)).text == "ran"
        await offered(rig)
        rig.tell(commands.AcceptCompaction(note=NOTE))
        await rig.until(up.CompactionEnded)
        assert (await rig.ask("again")).text == "ran again"
        assert len(rig.told(up.ApprovalAsked)) == 1
