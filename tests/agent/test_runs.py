"""A run from message to reply, on a strict fake: what is sent, recorded and told."""

import asyncio
import itertools

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Thinking
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, ids, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Say, call, calls, say
from tests.fakes.server import FakeServer

READ = ("fs-read", {"path": "a.txt"})


@pytest.mark.parametrize("protocol", [ChatServer, OllamaServer])
async def test_model_reads_a_file_and_answers(rig: Rig, protocol: type[FakeServer]) -> None:
    """AGT-2, ENG-24: build, record, send, stream, record, run the calls, repeat."""
    (rig.workspace / "a.txt").write_text("hello\n")
    with protocol([call(*READ, thinking="let me look"), say("It says **hello**.")]) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask("what is in a.txt?")
    assert (ended.why, ended.text, ended.requests) == ("done", "It says **hello**.", 2)
    assert server.violations == []
    kinds = [event.type for event in rig.log()]
    assert kinds == [
        "session.start", "user.message", "llm.req", "llm.resp", "tool.call", "approval",
        "tool.result", "llm.req", "llm.resp", "run.end",
    ]  # fmt: skip
    assert rig.of(ev.ToolResult)[0].text.endswith("hello")
    assert rig.of(ev.LlmResponse)[0].parts[0] == Thinking("let me look")
    sent = messages(server)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[1]["content"].endswith("what is in a.txt?")


async def test_second_request_is_the_first_with_messages_appended(rig: Rig) -> None:
    """ENG-19, PERF-5: and the cache holds what the engine says it holds."""
    with ChatServer([call(*READ), call(*READ), say("ok"), say("bye")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        await rig.ask("and now?")
    sent = [messages(server, number) for number in range(4)]
    for was, now in itertools.pairwise(sent):
        assert now[: len(was)] == was
    requests, replies = rig.of(ev.LlmRequest), rig.of(ev.LlmResponse)
    assert [request.prefix_ended_by for request in requests] == ["first", None, None, None]
    assert requests[0].predicted_cached is None
    for request, was, now in zip(requests[1:], replies, replies[1:], strict=False):
        assert request.predicted_cached == was.usage.prompt_tokens
        assert abs((now.usage.cached_tokens or 0) - (request.predicted_cached or 0)) <= 4


async def test_reads_run_side_by_side_and_a_write_is_a_barrier(rig: Rig) -> None:
    """AGT-2: calls before a write end first, calls after it wait; results stand in call order."""
    wanted = [
        READ,
        ("fs-list", {}),
        ("fs-write", {"path": "new.txt", "text": "made\n"}),
        ("fs-read", {"path": "new.txt"}),
    ]
    (rig.workspace / "a.txt").write_text("first\n")
    with ChatServer([calls(*wanted), say("done")]) as server:
        rig.configure(server)
        await rig.open(mode="edits")
        ended = await rig.ask()
    assert ended.changed_files == ("new.txt",)
    assert (rig.workspace / "new.txt").read_text() == "made\n"
    assert "made" in messages(server)[-1]["content"]
    asked, answered = ids(server)
    assert asked == answered
    assert len(set(asked)) == 4


async def test_steer_is_told_after_the_tool_batch_and_queue_after_the_run(rig: Rig) -> None:
    """AGT-4."""
    slow = call("shell", {"command": "sleep 0.5"})
    with ChatServer([slow, say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.EntryAdded, lambda e: e.entry.tool == "shell")
        rig.tell(commands.Send(text="hurry", steer=True))
        rig.tell(commands.Send(text="then this"))
        assert (await rig.until(up.Queued)).texts == ("hurry",)
        await rig.until(up.RunEnded)
        await rig.until(up.RunEnded)
    roles = [(m["role"], (m["content"] or "")[-9:]) for m in messages(server)[1:]]
    assert roles[2:] == [
        ("tool", roles[2][1]), ("user", "hurry"), ("assistant", "one"), ("user", "then this"),
    ]  # fmt: skip


async def test_clear_starts_a_new_window_in_the_same_session(rig: Rig) -> None:
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("first")
        rig.tell(commands.ClearWindow())
        await rig.ask("second")
    assert len(messages(server)) == 2
    assert rig.of(ev.LlmRequest)[-1].prefix_ended_by == "clear"
    assert rig.told(up.StatesChanged)[-1].state == "behind"


async def test_resume_keeps_prompt_and_catalogue_and_the_prefix(rig: Rig) -> None:
    """ENG-11, C30: in a new process the next request is the last one with messages appended."""
    with ChatServer([call(*READ), say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("first")
        before = messages(server)
        await rig.close()
        opened = await rig.open(resume="last")
        await rig.ask("second")
        assert messages(server)[: len(before)] == before
    assert opened.history == ("first",)
    request = rig.of(ev.LlmRequest)[-1]
    assert request.prefix_ended_by is None
    assert request.predicted_cached == rig.of(ev.LlmResponse)[-2].usage.prompt_tokens


async def test_entries_of_a_read_log_are_those_told_live(rig: Rig) -> None:
    """Resumed and live are drawn from the same entries."""
    (rig.workspace / "a.txt").write_text("x\n")
    with ChatServer([call(*READ, thinking="hm"), say("one", thinking="so")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("first")
        live: dict[str, up.Entry] = {}
        for event in rig.events:
            if isinstance(event, up.EntryAdded | up.EntryChanged):
                live[event.entry.id] = event.entry
        await rig.close()
        await rig.open(resume="last")
        loaded = (await rig.until(up.EntriesLoaded)).entries
    assert list(live.values()) == [entry for entry in loaded if entry.title != "resumed"]


async def test_same_failing_call_is_stopped(rig: Rig) -> None:
    """AGT-5: after three a note to the model, after six the run ends."""
    missing = call("fs-read", {"path": "nowhere"})
    with ChatServer([missing], repeat=True) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask()
    assert ended.why == "limit"
    assert "fs-read failed 6 times" in ended.message
    assert len(server.bodies) == 6
    assert "failed 3 times" in messages(server, 3)[-1]["content"]


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"max_steps": 2}, "2 requests"), ({"max_cost": 0.5}, "cost is unknown")],
)
async def test_limits_end_the_run(rig: Rig, limit: dict[str, float], words: str) -> None:
    """AGT-5."""
    with ChatServer([call("fs-list", {})], repeat=True) as server:
        rig.configure(server)
        await rig.open(**limit)
        ended = await rig.ask()
    assert ended.why == "limit"
    assert words in ended.message


async def test_cost_limit_counts_the_price_table(rig: Rig) -> None:
    """PRV-10."""
    with ChatServer([call("fs-list", {})], repeat=True) as server:
        rig.configure(server, price={"input": 1_000.0, "output": 1_000.0})
        await rig.open(max_cost=2.0)
        ended = await rig.ask()
    assert "limit of $2" in ended.message
    assert ended.usage is not None
    assert (ended.usage.cost_usd or 0) >= 2.0


async def test_a_call_runs_only_once_it_was_allowed(rig: Rig) -> None:
    """AGT-8: until then, and behind another that waits, it is not shown as running."""
    write = ("fs-write", {"path": "a.txt", "text": "x"})
    with ChatServer([calls(("shell", {"command": "true"}), write), say("done")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        asked = await rig.until(up.ApprovalAsked)
        seen = {e.entry.tool: e.entry.status for e in rig.told(up.EntryAdded)}
        assert (seen["shell"], seen["fs-write"]) == ("", "")
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True))
        asked = await rig.until(up.ApprovalAsked)
        await asyncio.sleep(0.6)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True))
        await rig.until(up.RunEnded)
    assert (rig.of(ev.ToolResult)[1].ms or 0) < 500, "the person's own time is not the call's"
    shell, written = (
        [e.entry.status for e in rig.told(up.EntryChanged) if e.entry.tool == tool]
        for tool in ("shell", "fs-write")
    )
    assert shell == written == ["waiting", "running", "ok"]
    title = rig.told(up.EntryChanged)[-1].entry.title
    assert title == "fs-write a.txt", "a change tells its own size, not its answer's"


async def test_thinking_is_told_without_a_time_that_nobody_took(rig: Rig) -> None:
    """TUI-16: the time to the first token is not the time that was thought."""
    with ChatServer([Say("done", thinking="hm, " * 30, pause=0.01)]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    [thought] = [e.entry for e in rig.told(up.EntryAdded) if e.entry.kind == "thinking"]
    assert (thought.ms, thought.size) == (None, 119)
