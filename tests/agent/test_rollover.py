"""Rollover in whole sessions: warned, notes written, the window left, an old fact found again, and
nothing lost on the way (ROL-1 to ROL-8).
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, messages
from tests.agent.shots import ask_with, attach, shot
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Item, call, error, say

NOTES = "- the task: read every file; next is the one after the last"


def content(message: Mapping[str, Any]) -> str:
    return str(message.get("content") or "")


class Worker:
    """A model that reads file after file, writes notes where it is warned, and at its last steps
    looks a fact of the first file up.
    """

    def __init__(self, rig: Rig, steps: int, size: int = 3_000) -> None:
        self.rig, self.steps, self.size = rig, steps, size
        self.step = self.warned = 0
        self.found = ""

    def __call__(self, body: Mapping[str, Any]) -> Item:
        last = body["messages"][-1]
        if "write what is worth keeping" in content(last):
            self.warned += 1
            arguments = {"action": "write", "file": "context-notes", "text": NOTES}
            return call("memory", arguments)
        self.step += 1
        if self.step <= self.steps:
            path = self.rig.workspace / f"f{self.step}.txt"
            path.write_text(f"the code of {self.step} is {self.step * 7919}\n" + "x" * self.size)
            return call("fs-read", {"path": path.name})
        if self.step == self.steps + 1:
            return call("session_history", {"action": "search", "query": "the code of 1 is"})
        results = [content(each) for each in body["messages"] if each["role"] == "tool"]
        self.found = next((text for text in results if "7919" in text), "")
        return say("done")


@pytest.mark.parametrize("fresh", ["off", "each_request", "on_change", "run_start"])
@pytest.mark.parametrize("context", [8_192, 16_384])
async def test_small_window_is_warned_of_and_left_again_and_again(
    rig: Rig, context: int, fresh: str
) -> None:
    """ROL-1 to ROL-5: warning, notes, rollover, and an old fact found again. What is to be answered
    stands last, whatever fresh context says (ORD-1).
    """
    model = Worker(rig, steps=40)
    with ChatServer([model], repeat=True, context=context) as server:
        rig.configure(server, strategy="rollover", fresh=fresh)
        await rig.open()
        ended = await rig.ask("read every file")
    assert (ended.why, ended.text) == ("done", "done")
    assert server.violations == []
    resets = rig.of(ev.WindowReset)
    assert len(resets) > 2
    assert all(reset.kind == "rollover" and reset.reason == "mid-run" for reset in resets)
    assert len({reset.rollover_id for reset in resets}) == len(resets)
    assert model.warned == len(rig.of(ev.BudgetWarning)) >= len(resets) - 1
    assert sum(reset.flush_opportunity for reset in resets) >= len(resets) - 1
    assert model.found, "the fact of the first file was looked up"
    ceiling = resets[0].max_tokens or 0
    assert all(request.estimate <= ceiling for request in rig.of(ev.LlmRequest))
    assert not any(request.elided for request in rig.of(ev.LlmRequest))
    reads = json.dumps([e.arguments for e in rig.of(ev.ToolCall) if e.name == "fs-read"])
    assert all(reads.count(f"f{n}.txt") == 1 for n in range(1, 41)), "no call ran twice"


READ_BIG = call("fs-read", {"path": "big.txt"})
LONG = "why " * 1_500


def big(rig: Rig, size: int) -> None:
    """A file that is shown up to twice the cap of a result."""
    (rig.workspace / "big.txt").write_text(("y" * 59 + "\n") * (size // 60))


def kinds(rig: Rig, *wanted: type) -> list[str]:
    return [type(event).__name__ for event in rig.log() if isinstance(event, wanted)]


def texts(server: ChatServer, number: int = -1) -> list[str]:
    return [content(message) for message in messages(server, number)[1:]]


BATCH = (ev.WindowReset, ev.WindowLeadIn, ev.UserMessage, ev.BudgetWarning)


async def test_a_message_carries_the_rollover_that_it_makes_due(rig: Rig) -> None:
    """ROL-1, ROL-4: reset, lead-in and message are one append; the old ask was answered, so nothing
    is quoted.
    """
    with ChatServer([say("read"), say("fresh")], context=16_384) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        assert (await rig.ask("read it" + "z" * 15_000)).text == "read"
        assert (await rig.ask(LONG * 2)).text == "fresh"
    assert kinds(rig, *BATCH) == ["UserMessage", "WindowReset", "WindowLeadIn", "UserMessage"]
    reset, lead = rig.of(ev.WindowReset)[0], rig.of(ev.WindowLeadIn)[0]
    assert (reset.batch, lead.seq, reset.reason) == (3, reset.seq + 1, "on-send")
    assert (reset.previous_window, reset.flush_opportunity) == ("w:0", False)
    shown = texts(server)
    assert len(shown) == 2
    assert "w:0" in shown[0]
    assert "read it" not in shown[0]
    assert LONG.strip() in shown[1]
    assert reset.too_small
    assert rig.of(ev.LlmRequest)[-1].prefix_ended_by == "rollover"


async def test_a_warning_that_is_due_on_send_stands_before_the_message(rig: Rig) -> None:
    """ROL-3."""
    with ChatServer([say("one"), say("two")], context=16_384) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("z" * 17_600)
        await rig.ask("and now")
        (warning,) = rig.of(ev.BudgetWarning)
        assert warning.batch == 2
        assert "% used" in texts(server)[-2]
        assert texts(server)[-1] == "The person asks:\n\nand now"


async def test_what_the_provider_finds_too_long_is_asked_again_in_a_new_window(rig: Rig) -> None:
    """ROL-7: once, without a chance to write notes; the same message."""
    refusal = error(400, {"error": {"message": "maximum context length exceeded",
                                    "code": "context_length_exceeded"}})  # fmt: skip
    script = [say("one"), refusal, call("fs-list", {}), say("two"), refusal, refusal]
    with ChatServer(script) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("first")
        assert (await rig.ask("second")).text == "two"
        reset = rig.of(ev.WindowReset)[0]
        assert (reset.reason, reset.flush_opportunity) == ("context-exceeded", False)
        assert texts(server, 2)[-1] == "The person asks:\n\nsecond"
        assert len(texts(server, 2)) == 2
        assert rig.of(ev.LlmError)[0].retry_in_s == 0
        ended = await rig.ask("third")
        assert (ended.why, ended.kind, ended.exit_code) == ("error", "context_exceeded", 4)
        assert len(rig.of(ev.WindowReset)) == 2
        assert len(server.bodies) == 6, "a second refusal ends the run"


async def test_a_fresh_window_that_is_refused_is_not_left(rig: Rig) -> None:
    """ROL-5, ROL-7: the same would be asked again."""
    refusal = error(400, {"error": {"message": "maximum context length exceeded",
                                    "code": "context_length_exceeded"}})  # fmt: skip
    with ChatServer([refusal]) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        ended = await rig.ask("first")
    assert (ended.why, ended.kind) == ("error", "context_exceeded")
    assert rig.of(ev.WindowReset) == []


async def test_in_mid_run_the_ask_goes_along_and_the_run_goes_on(rig: Rig) -> None:
    """ROL-1, ROL-7: refused in the middle of a run, the ask is quoted and `Continue.` carries."""
    refusal = error(400, {"error": {"message": "maximum context length exceeded",
                                    "code": "context_length_exceeded"}})  # fmt: skip
    with ChatServer([READ_BIG, refusal, say("done")]) as server:
        big(rig, 100)
        rig.configure(server, strategy="rollover")
        await rig.open()
        assert (await rig.ask("read <it>")).text == "done"
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        told = (await rig.until(up.Notice, lambda notice: "of yours" in notice.text)).text
        assert "written anew" in told, "what was asked stands behind the reset"
        asked = rig.of(ev.UserMessage)[0]
        rig.tell(commands.EditWindow(entry_id=f"{asked.seq:08}", action="rewrite"))
        assert (await rig.until(up.Returned)).text == "read <it>"
    assert "read <it>" in texts(server)[0]
    assert texts(server)[-1].endswith("Continue.")


async def test_windows_that_fill_up_at_once_end_in_a_block(rig: Rig) -> None:
    """ROL-5: a second one in a row that holds a single reply; figures and remedies are told."""
    with ChatServer([READ_BIG], repeat=True, context=8_192) as server:
        big(rig, 20_000)
        rig.configure(server, strategy="rollover", threshold=0.3)
        await rig.open()
        ended = await rig.ask("read it again and again")
    assert (ended.why, ended.exit_code) == ("blocked", 5)
    assert "single reply, twice in a row" in ended.message
    (blocked,) = rig.of(ev.BudgetBlocked)
    assert {"tokens", "ceiling", "prefix"} <= blocked.figures.keys()
    assert any("larger context" in remedy for remedy in blocked.remedies)
    assert [reset.too_small for reset in rig.of(ev.WindowReset)].count(True) == 1
    assert len(server.bodies) < 8
    assert len(rig.of(ev.ToolCall)) == len(rig.of(ev.ToolResult)), "results are kept"


@pytest.mark.parametrize("fresh", ["off", "each_request", "on_change"])
async def test_what_a_message_may_still_do_is_foretold(rig: Rig, fresh: str) -> None:
    """ROL-5, TUI-3: where two windows in a row were too small, a run would stop, and a message is
    sent: the meter speaks of the message once no run goes on.
    """
    with ChatServer([say("hi")], repeat=True, context=12_000) as server:
        rig.configure(server, strategy="rollover", threshold=0.02, fresh=fresh)
        await rig.open()
        for text in ("hello", "and again"):
            assert (await rig.ask(text)).why == "done"
        assert [reset.too_small for reset in rig.of(ev.WindowReset)] == [True]
        assert rig.told(up.MeterChanged)[-1].next_event == "rolls over in ~1 step"
        assert (await rig.ask("third")).why == "done"
        assert len(rig.of(ev.WindowReset)) == 1
        assert rig.told(up.MeterChanged)[-1].next_event == "rolls over at the next request"


async def test_without_session_history_no_window_is_left(rig: Rig) -> None:
    """ROL-11: what stands in it could not be looked at; a fresh window is still used."""
    with OllamaServer([say("one")], capabilities=("completion",)) as server:
        rig.configure(server, strategy="rollover", num_ctx=8_192)
        await rig.open()
        assert (await rig.ask("z" * 9_000)).text == "one"
        ended = await rig.ask("z" * 9_000)
    assert (ended.why, len(server.bodies)) == ("blocked", 1)
    assert "offered no session_history" in ended.message
    assert [message.rejected for message in rig.of(ev.UserMessage)] == [False, True]


async def test_a_threshold_of_one_switches_it_off_and_still_nothing_too_long_is_sent(
    rig: Rig,
) -> None:
    """ROL-10."""
    with ChatServer([say("one"), say("short")], context=8_192) as server:
        rig.configure(server, strategy="rollover", threshold=1.0)
        await rig.open()
        await rig.ask("z" * 12_000)
        ended = await rig.ask("z" * 12_000)
        assert (ended.why, ended.exit_code) == ("blocked", 5)
        (blocked,) = rig.of(ev.BudgetBlocked)
        assert "too many" in blocked.reason
        assert any("/clear" in remedy for remedy in blocked.remedies)
        assert (await rig.ask("short")).text == "short"
    assert rig.of(ev.WindowReset) == rig.of(ev.BudgetWarning) == []


async def test_an_unknown_context_is_trimmed_and_that_is_said(rig: Rig) -> None:
    """ROL-6: no share of a guess is gone by."""
    with ChatServer([say("one")], entry={"owned_by": "x"}) as server:
        rig.configure(server, strategy="rollover")
        assert (await rig.open()).strategy == "trim"
        await rig.ask("go")
    (note,) = [note for note in rig.of(ev.Note) if note.why == "rollover"]
    assert "set `context`" in note.text


@pytest.mark.parametrize("filled", [False, True])
async def test_a_message_too_long_for_a_new_window_is_kept_and_changes_nothing(
    rig: Rig, filled: bool
) -> None:
    """ROL-6, ROL-8: it says by how much; the old window is untouched, and nothing is sent."""
    with ChatServer([say("one"), say("two")], context=16_384) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("z" * (22_000 if filled else 30))
        before = messages(server)
        ended = await rig.ask("w" * 60_000)
        assert (ended.why, ended.exit_code, len(server.bodies)) == ("blocked", 5, 1)
        assert "too many" in ended.message
        assert any("shorten" in remedy for remedy in rig.of(ev.BudgetBlocked)[0].remedies)
        assert [message.rejected for message in rig.of(ev.UserMessage)] == [False, True]
        assert rig.of(ev.WindowReset) == []
        assert (await rig.ask("short")).text == "two"
        assert messages(server)[: len(before)] == before
        assert not any("www" in text for text in texts(server))


async def test_what_is_said_meanwhile_carries_the_rollover(rig: Rig) -> None:
    """ROL-2: real input goes first, and no `Continue` is made."""
    slow = call("shell", {"command": "sleep 0.4"})
    with ChatServer([slow, say("done")], context=8_192) as server:
        rig.configure(server, strategy="rollover")
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.EntryAdded, lambda e: e.entry.tool == "shell")
        rig.tell(commands.Send(text="z" * 12_000, steer=True))
        assert (await rig.until(up.RunEnded)).text == "done"
    assert kinds(rig, *BATCH) == ["UserMessage", "WindowReset", "WindowLeadIn", "UserMessage"]
    assert [message.via for message in rig.of(ev.UserMessage)] == ["prompt", "steer"]
    assert "start" in texts(server)[0]


@pytest.mark.parametrize("reads", [1, 4])
async def test_what_was_read_in_a_window_that_was_left_is_forgotten(rig: Rig, reads: int) -> None:
    """ROL-8: before, an edit of what changed since it was read is refused."""
    file = rig.workspace / "a.txt"

    def edit(_body: Mapping[str, Any]) -> Item:
        file.write_text("one\nmore\n")  # by somebody else
        return call("fs-edit", {"path": "a.txt", "old": "one", "new": "two"})

    script = [call("fs-read", {"path": "a.txt"}), *[READ_BIG] * reads, edit, say("done")]
    with ChatServer(script, context=8_192) as server:
        big(rig, 9_000)
        file.write_text("one\n")
        rig.configure(server, strategy="rollover")
        await rig.open(mode="edits")
        assert (await rig.ask("edit")).text == "done"
    left = reads == 4
    assert len(rig.of(ev.WindowReset)) == left
    (result,) = [result for result in rig.of(ev.ToolResult) if result.name == "fs-edit"]
    assert result.is_error != left


async def test_a_smaller_fallback_begins_a_new_window(rig: Rig) -> None:
    """ROL-6: each attempt is counted for the model that it goes to."""
    broken = error(500, "boom")
    with (
        ChatServer([say("one"), broken], context=32_768) as first,
        ChatServer([say("two")], context=8_192) as second,
    ):
        rig.configure(first, second, strategy="rollover")
        file = rig.home / "config.toml"
        file.write_text(f'fallback = "m2"\n{file.read_text()}')
        await rig.open()
        await rig.ask("z" * 15_000)
        assert (await rig.ask("go on")).text == "two"
    assert [reset.reason for reset in rig.of(ev.WindowReset)] == ["context-exceeded"]
    assert texts(second)[-1] == "The person asks:\n\ngo on"
    assert second.violations == []


async def test_the_plan_and_the_images_of_the_ask_go_along(rig: Rig, tmp_path: Path) -> None:
    """ROL-1, C44."""
    plan = call("plan-write", {"items": [{"text": "look closely", "state": "doing"}]})
    with ChatServer([plan, *[READ_BIG] * 4, say("done")], context=16_384) as server:
        big(rig, 30_000)
        rig.configure(server, strategy="rollover", images=True)
        await rig.open()
        images = await attach(rig, shot(tmp_path, "a.png", (40, 30)))
        assert (await ask_with(rig, "look at it", *images)).text == "done"
    assert len(rig.of(ev.WindowReset)) == 1
    assert "[>] look closely" in texts(server)[0]
    assert images[0].sha256 in {event.sha256 for event in rig.of(ev.AttachImage)[1:]}
    assert "image_url" in json.dumps(messages(server))


@pytest.mark.parametrize("fresh", ["off", "each_request", "on_change"])
async def test_notes_are_shown_once_in_the_new_window(rig: Rig, fresh: str) -> None:
    """ROL-12: in the lead-in, so that they are read once, or beside what is recalled where that
    stays; cut by name where they are long.
    """
    notes = "state: " + "half done " * 1_200
    write = call("memory", {"action": "write", "file": "context-notes", "text": notes})
    with ChatServer([write, *[READ_BIG] * 3, say("done")], context=16_384) as server:
        big(rig, 30_000)
        rig.configure(server, strategy="rollover", fresh=fresh)
        await rig.open()
        await rig.ask("read")
        assert len(rig.of(ev.WindowReset)) == 1
        shown = "\n".join(texts(server))
        assert shown.count("state: half done") == 1
        assert "more characters; memory" in shown
        lead = rig.of(ev.WindowLeadIn)[0].text
        assert ("state: half done" in lead) == (fresh != "on_change")
    assert len(shown) < 20_000


async def test_notes_that_cannot_be_read_drop_nothing_else(rig: Rig) -> None:
    """ROL-12."""
    folder = rig.workspace / ".nodwyn" / "memory"
    folder.mkdir(parents=True)
    (folder / "context-notes.md").write_bytes(b"\xff\xfe\x00")
    (folder / "facts.md").write_text("- 2026-01-02 the build wants make\n")
    with ChatServer([say("done")]) as server:
        rig.configure(server, strategy="rollover", fresh="on_change")
        await rig.open()
        await rig.ask("build it with make")
    assert any("the build wants make" in text for text in texts(server))
    assert any("UTF-8" in note.text for note in rig.of(ev.Note))


async def test_fresh_rows_are_counted_once(rig: Rig) -> None:
    """ROL-6: a message that fits to the token beside them is sent; those of the request before are
    in no later one.
    """
    folder = rig.workspace / ".nodwyn" / "memory"
    folder.mkdir(parents=True)
    (folder / "corrections.md").write_text("- " + "say so " * 100 + "\n")
    with ChatServer([say("one", usage=False), say("two")], context=8_192) as server:
        rig.configure(server, strategy="rollover", fresh="each_request", threshold=1.0)
        await rig.open()
        await rig.ask("first")
        request = rig.of(ev.LlmRequest)[-1]
        room = 6_144 - request.estimate - 120
        assert (await rig.ask("z" * (room * 3))).text == "two"
        assert rig.of(ev.LlmRequest)[-1].estimate > 5_950
    assert rig.of(ev.BudgetBlocked) == []


async def test_what_is_said_behind_the_answer_does_not_call_it_unanswered(rig: Rig) -> None:
    """ROL-1: a steer that comes as the answer ends may carry a rollover; nothing goes on then."""
    gate = threading.Event()
    with ChatServer([say("the answer", gate=gate), say("two")], context=8_192) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        rig.tell(commands.Send(text="the first ask " + "z" * 3_000))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="w" * 9_000, steer=True))
        await rig.until(up.Queued)
        gate.set()
        assert (await rig.until(up.RunEnded)).text == "two"
    (lead,) = rig.of(ev.WindowLeadIn)
    assert lead.asked is None
    assert "interrupted" not in lead.text
    assert "not answered" not in lead.text
    assert [reset.reason for reset in rig.of(ev.WindowReset)] == ["on-send"]
