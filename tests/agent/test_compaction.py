"""Compaction by itself: in mid-run, from a note that the model writes, and with no way to be stuck
(AGT-16, ENG-23).
"""

import json
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import request_bytes
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window.replay import replay
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Say, call, calls, error, say

SMALL = 8_192
NOTE = "The facts are read one by one; the next step is the next file."
ASKS = ("Write a handover note", "only the handover note is wanted")


def content(message: Mapping[str, Any]) -> str:
    return str(message.get("content") or "")


def asks_for_a_note(body: Mapping[str, Any]) -> bool:
    return any(words in content(body["messages"][-1]) for words in ASKS)


class Reader:
    """A model that reads file after file, looking back now and then at what has left its window;
    it writes `note` where a note is wanted.
    """

    def __init__(self, rig: Rig, steps: int, note: Callable[[], Item] = lambda: say(NOTE)) -> None:
        self.rig, self.steps, self.note = rig, steps, note
        self.step = self.notes = 0
        self.looked: list[str] = []
        self.found: list[bool] = []

    def __call__(self, body: Mapping[str, Any]) -> Item:
        last = [content(message) for message in body["messages"][-2:] if message["role"] == "tool"]
        if len(self.found) < len(self.looked):
            self.found.append(any(self.looked[-1] in text for text in last))
        if asks_for_a_note(body):
            self.notes += 1
            return self.note()
        self.step += 1
        if self.step > self.steps:
            return say("all read")
        if self.step % 25 == 0:
            return self.look_back()
        return call("fs-read", {"path": f"fact{self.step % 40}.txt"})

    def look_back(self) -> Item:
        """Asks for one of the first results again."""
        results = [e for e in self.rig.of(ev.ToolResult) if e.name == "fs-read"]
        result = results[len(self.looked) * 7 % (len(results) // 2)]
        self.looked.append(result.text.split("the fact is ")[1].split(".")[0])
        return call("session_history", {"action": "read_item", "item": f"i:{result.seq}"})


def facts(rig: Rig, size: int = 600) -> None:
    for number in range(40):
        text = f"the fact is number {number} of forty.\n" + f"filler {number}\n" * (size // 10)
        (rig.workspace / f"fact{number}.txt").write_text(text)


def opened(rig: Rig) -> list[ev.ContextOpen]:
    return rig.of(ev.ContextOpen)


async def test_a_long_run_in_a_small_window_is_never_blocked(rig: Rig) -> None:
    """C05: 320 steps in 8,192 tokens; no request is over the limit, and what has left the window is
    found again (ROL-11).
    """
    facts(rig)
    with ChatServer([], context=SMALL) as server:
        model = Reader(rig, 320)
        server.script, server.repeat = [model], True
        rig.configure(server, strategy="compact")
        assert (await rig.open()).strategy == "compact"
        ended = await rig.ask("read all the facts, and forget none")
        assert (ended.why, ended.text) == ("done", "all read")
        assert server.violations == []
        ceiling = SMALL * 3 // 4
        assert len(server.bodies) == ended.requests == 321 + model.notes
        assert model.notes == len(opened(rig)) > 10
        for request in rig.of(ev.LlmRequest):
            assert request.estimate <= ceiling
            assert not request.elided, "it compacts before it would trim"
        meters = rig.told(up.MeterChanged)
        assert any(m.next_event.startswith("next compaction in ~") for m in meters)
        assert meters[0].next_event == "compacts at 75%", "before anything tells the pace"
        assert {s.kind for m in meters for s in m.segments if s.tokens} >= {"summary", "new"}
        assert len(model.found) == len(model.looked) == 12
        assert all(model.found)
    for one in opened(rig):
        assert one.context_tokens is not None
        assert one.start_tokens is not None
        assert one.start_tokens < one.context_tokens / 2
    purposes = [request.purpose for request in rig.of(ev.LlmRequest)]
    assert purposes.count("handover") == model.notes


async def test_the_request_for_the_note_is_appended_and_the_new_window_carries_the_ask(
    rig: Rig,
) -> None:
    """AGT-16: same system text, tools and history, one message more; then the note, the person's
    request word for word and the plan, and the run goes on.
    """
    facts(rig, 1_200)
    plan = call("plan-write", {"items": [{"text": "read on", "state": "doing"}]})
    reader = Reader(rig, 7)

    def model(body: Mapping[str, Any]) -> Item:
        return reader(body) if len(body["messages"]) > 2 or reader.step else plan

    with ChatServer([model], context=SMALL, repeat=True) as server:
        rig.configure(server, strategy="compact", max_result_tokens=700)
        await rig.open()
        ended = await rig.ask("read <all> the facts & forget none")
        assert (ended.why, ended.text) == ("done", "all read")
        at = next(n for n, got in enumerate(server.bodies) if asks_for_a_note(got.body))
        before, asked, after = (messages(server, n) for n in (at - 1, at, at + 1))
        assert asked[: len(before)] == before
        assert asked[-1]["role"] == "user"
        assert server.bodies[at].body["tools"] == server.bodies[at - 1].body["tools"]
    system, *rows = after
    assert [row["role"] for row in rows] == ["user"] * len(rows)
    text = "\n".join(content(row) for row in rows)
    assert NOTE in content(rows[0])
    assert "read <all> the facts & forget none" in text
    assert "[>] read on" in text
    assert system == before[0]
    requests = rig.of(ev.LlmRequest)
    assert requests[at].purpose == "handover"
    assert requests[at].prefix_ended_by is None, "the prompt was read from the cache"
    assert requests[at + 1].prefix_ended_by == "compaction"
    replies = rig.of(ev.LlmResponse)
    usage = replies[at].usage
    assert usage.cached_tokens is not None
    assert usage.prompt_tokens is not None
    assert usage.cached_tokens > 0.75 * usage.prompt_tokens
    labels = [e.entry.title for e in rig.told(up.EntryAdded) if e.entry.kind == "divider"]
    (one,) = opened(rig)
    assert one.context_tokens is not None
    assert labels == [
        f"compacted: {one.context_tokens / 1000:.1f}k → {one.start_tokens / 1000:.1f}k tokens"
    ]
    assert ended.requests == len(requests)
    assert {event.run for event in rig.log() if event.seq > 2} == {1}, "it is one run"


BAD: dict[str, tuple[Callable[[], Item], str]] = {
    "empty": (lambda: say("  "), "empty"),
    "cut": (lambda: say("half a no", finish="length"), "cut at the reply's length limit"),
    "filtered": (lambda: say("", finish="content_filter"), "withheld"),
    "calls": (lambda: call("fs-list", {}), "made calls in place of its note"),
    "refused": (lambda: error(403, {"error": {"message": "not allowed"}}), "not allowed"),
}


@pytest.mark.parametrize("how", BAD)
async def test_a_failed_one_changes_nothing(rig: Rig, tmp_path: Path, how: str) -> None:
    """AGT-16: the next request is, byte for byte, the one that a session without compaction makes;
    it falls back to a trim, says so, and does not try at every step.
    """
    note, why = BAD[how]
    sent: dict[str, list[bytes]] = {}
    for strategy in ("trim", "compact"):
        folder = tmp_path / strategy
        folder.mkdir()
        one = Rig(folder)
        one.home = rig.home
        facts(one)
        with ChatServer([], context=SMALL) as server:
            model = Reader(one, 24, note)
            server.script, server.repeat = [model], True
            one.configure(server, strategy=strategy)
            await one.open()
            ended = await one.ask("read")
            assert (ended.why, ended.text) == ("done", "all read")
            await one.close()
            assert server.violations == []
            turns = [r for r in one.of(ev.LlmRequest) if r.purpose == "turn"]
            sent[strategy] = [request_bytes(replay(one.log(), r.seq).request) for r in turns]
            if strategy == "compact":
                assert opened(one) == []
                assert 0 < len(one.of(ev.WindowRewind)) <= 4
                told = [e.text for e in one.of(ev.Note) if e.why == "compaction"]
                assert told
                assert all(why in text and "trimmed instead" in text for text in told)
                assert any(request.elided for request in turns)
    same = [json.loads(request)["messages"] for request in sent["trim"]]
    for number, request in enumerate(sent["compact"]):
        assert _without_seqs(json.loads(request)["messages"]) == _without_seqs(same[number])


def _without_seqs(value: Any) -> str:
    """Seqs count the lines of a failed try too; ids of calls its requests."""
    return re.sub(r"seq=\d+|call_\d+_\d+|i:\d+", "N", json.dumps(value))


async def test_calls_in_place_of_the_note_are_refused_once_and_asked_again(rig: Rig) -> None:
    facts(rig)
    answers = iter([calls(("shell", {"command": "touch ran"}), ("fs-list", {})), say(NOTE)])
    with ChatServer([], context=SMALL) as server:
        model = Reader(rig, 16, lambda: next(answers))
        server.script, server.repeat = [model], True
        rig.configure(server, strategy="compact")
        await rig.open()
        assert (await rig.ask("read")).why == "done"
        assert len(opened(rig)) == 1
        assert server.violations == []
    assert not (rig.workspace / "ran").exists()
    refused = [e for e in rig.of(ev.ToolResult) if "only the handover note" in e.text]
    assert [e.name for e in refused] == ["shell", "fs-list"]
    decided = {e.call_id: e.decision for e in rig.of(ev.Approval)}
    assert [decided[e.call_id] for e in refused] == ["refused", "refused"]


async def test_an_interrupted_one_changes_nothing(rig: Rig) -> None:
    """AGT-3: Esc while the note is written; the next request is the old window's."""
    facts(rig)
    gate = threading.Event()
    with ChatServer([], context=SMALL) as server:
        model = Reader(rig, 30, lambda: Say("half a note", gate=gate, pause=0.01))
        server.script, server.repeat = [model], True
        rig.configure(server, strategy="compact")
        await rig.open()
        rig.tell(commands.Send(text="read"))
        await rig.until(up.RequestSent, lambda sent: sent.purpose == "handover")
        rig.tell(commands.Interrupt())
        assert (await rig.until(up.RunEnded)).why == "interrupted"
        gate.set()
        assert opened(rig) == []
        (rewind,) = rig.of(ev.WindowRewind)
        server.script, server.repeat = [say("on")], True
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "on"
        assert not any(ASKS[0] in content(message) for message in messages(server))
        assert "half a note" not in str(messages(server))
        assert rewind.seq < rig.of(ev.LlmRequest)[-1].seq


async def test_a_disk_that_refuses_the_new_window_leaves_the_old_one(rig: Rig) -> None:
    """ENG-3: the append stands or falls as a whole; what was asked is taken back."""
    facts(rig)

    def note() -> Item:
        shutil.rmtree(rig.workspace)
        return say(NOTE)

    with ChatServer([], context=SMALL) as server:
        model = Reader(rig, 30, note)
        server.script, server.repeat = [model], True
        rig.configure(server, strategy="compact")
        await rig.open()
        ended = await rig.ask("read")
        assert ended.why == "error"
        assert str(rig.workspace) in ended.message
        rig.workspace.mkdir()
        await rig.until(up.Unsaved, lambda unsaved: unsaved.count == 0)
        assert opened(rig) == []
        old = messages(server)[:-1]
        model.note, model.steps = (lambda: say(NOTE)), 0
        assert (await rig.ask("go on")).why == "done"
        assert messages(server, -2)[: len(old)] == old
        assert len(opened(rig)) == 1


async def test_the_requests_for_notes_count_in_the_runs_limits(rig: Rig) -> None:
    """AGT-5: a request for a note is a step, and what it costs is the run's."""
    facts(rig)
    price = {"input": 1000.0, "output": 1000.0}
    with ChatServer([], context=SMALL) as server:
        model = Reader(rig, 100)
        server.script, server.repeat = [model], True
        rig.configure(server, strategy="compact", price=price)
        await rig.open(max_steps=10)
        ended = await rig.ask("read")
        assert (ended.why, ended.requests) == ("limit", 10)
        assert server.violations == []
        assert asks_for_a_note(server.bodies[-1].body)
        assert ended.text == "", "a handover note is no answer"
        assert model.notes > 0
        assert ended.usage is not None
        whole = sum(reply.usage.cost_usd or 0 for reply in rig.of(ev.LlmResponse))
        assert ended.usage.cost_usd == pytest.approx(whole)


async def test_a_request_for_a_note_that_does_not_fit_is_trimmed_hard(rig: Rig) -> None:
    """C05: a session of a large window goes on with a small model. Its first request fits already,
    by a trim line of its own; no request is over the limit.
    """
    facts(rig, 3_000)
    with (
        ChatServer([], context=64_000) as large,
        ChatServer([], context=SMALL, model="small") as small,
    ):
        large.script, large.repeat = [Reader(rig, 24)], True
        model = Reader(rig, 6)
        small.script, small.repeat = [model], True
        rig.configure(large, small, strategy="compact")
        await rig.open()
        assert (await rig.ask("read")).why == "done"
        assert rig.of(ev.LlmRequest)[-1].estimate > 2 * SMALL
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        assert (await rig.ask("continue")).why == "done"
        assert small.violations == large.violations == []
    asked = [r for r in rig.of(ev.LlmRequest) if r.purpose == "handover"]
    assert asked[0].high_water == SMALL * 3 // 4
    assert asked[0].elided
    assert asked[0].estimate <= SMALL * 3 // 4
    assert len(opened(rig)) >= 1


async def test_where_no_request_fits_the_program_writes_the_note(rig: Rig) -> None:
    """C05: the step that makes room never depends on room that is not there."""
    with ChatServer([], context=SMALL) as server:
        server.script, server.repeat = [lambda body: say("noted " + "y " * 40)], True
        rig.configure(server, strategy="trim")
        await rig.open()
        for number in range(40):
            ended = await rig.ask(f"message {number}: " + "x" * 420)
            if ended.why == "blocked":
                break
        assert ended.why == "blocked"
        await rig.close()
        rig.configure(server, strategy="compact")
        await rig.open(resume="last")
        ended = await rig.ask("short")
        assert (ended.why, server.violations) == ("done", [])
    (one,) = opened(rig)
    assert one.start_tokens is not None
    assert one.start_tokens < SMALL / 2
    note = next(e for e in rig.of(ev.Note) if e.why == "handover")
    assert "the program made this one" in note.text
    assert "message 2" in note.text
    assert not [r for r in rig.of(ev.LlmRequest) if r.purpose == "handover"]


async def test_a_server_that_counts_more_is_asked_for_a_note_in_time(rig: Rig) -> None:
    """PRV-7: by its own counts the request for the note still has its headroom, untrimmed."""
    facts(rig)

    def counted(body: Mapping[str, Any]) -> Item:
        reply = model(body)
        assert isinstance(reply, Say)
        prompt = len(json.dumps(body)) * 2 // 5
        return replace(reply, usage={"prompt_tokens": prompt, "completion_tokens": 20})

    with ChatServer([counted], context=SMALL, repeat=True) as server:
        model = Reader(rig, 24)
        rig.configure(server, strategy="compact")
        await rig.open()
        assert (await rig.ask("read")).why == "done"
        assert server.violations == []
    replies = {reply.req: reply.usage.prompt_tokens for reply in rig.of(ev.LlmResponse)}
    requests = rig.of(ev.LlmRequest)
    assert max(replies.values()) <= SMALL * 3 // 4
    assert any(replies[r.seq] > r.estimate for r in requests)
    asked = [request for request in requests if request.purpose == "handover"]
    assert len(asked) > 1
    assert all(request.elided == () for request in asked)


async def test_a_long_first_message_is_read_before_it_is_shortened(rig: Rig) -> None:
    """Nothing was done yet: there is nothing to hand over, and the person's words go whole."""
    with ChatServer([], context=SMALL) as server:
        server.script = [say("read"), say(NOTE), say("on")]
        rig.configure(server, strategy="compact")
        await rig.open()
        words = "w" * 3 * 3_500
        assert (await rig.ask(words)).text == "read"
        assert words in content(messages(server)[-1])
        assert (await rig.ask("go on")).text == "on"
        assert len(opened(rig)) == 1
        assert server.violations == []
