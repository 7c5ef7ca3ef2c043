"""Esc, refusals, crashes: every call has exactly one answer, whatever happens."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.system.processes import alive
from tests.agent.rig import Rig, ids, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, call, calls, say

TWO = (("shell", {"command": "sleep 60"}), ("shell", {"command": "ls"}))


def assert_answered(server: ChatServer) -> None:
    asked, answered = ids(server)
    assert asked == answered
    assert server.violations == []


async def test_esc_during_a_tool_answers_every_call_at_once(rig: Rig) -> None:
    """C09, AGT-3: also the one that never began; the session goes on."""
    with ChatServer([calls(*TWO), say("fine")]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        await asyncio.sleep(0.3)
        rig.tell(commands.Interrupt())
        ended = await rig.until(up.RunEnded)
        assert (ended.why, ended.exit_code) == ("interrupted", 130)
        assert [r.text.split(";")[0] for r in rig.of(ev.ToolResult)] == [
            "interrupted by the person",
            "interrupted by the person before it ran",
        ]
        assert (await rig.ask("what now?")).text == "fine"
    assert_answered(server)


async def test_esc_during_an_approval_closes_it(rig: Rig) -> None:
    """C09."""
    with ChatServer([calls(*TWO), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        assert asked.command == "sleep 60"
        rig.tell(commands.Interrupt())
        assert (await rig.until(up.ApprovalClosed)).call_id == asked.call_id
        await rig.until(up.RunEnded)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True))
        await rig.ask("what now?")
    assert_answered(server)
    assert all("before it ran" in result.text for result in rig.of(ev.ToolResult))


async def test_a_count_below_an_estimate_is_no_cut_prompt(rig: Rig) -> None:
    """PRV-7: a reply that was stopped reported nothing; what stands in for that proves nothing."""
    slow = say("one word after another " * 60, thinking="hm " * 40, pause=0.02)
    with ChatServer([slow, say("fine"), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start " * 400))
        await rig.until(up.ReplyPiece, lambda piece: piece.kind == "text")
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.ask("again")
    [_, reply] = rig.of(ev.LlmResponse)
    assert reply.usage.prompt_tokens
    assert reply.usage.prompt_tokens < rig.of(ev.LlmRequest)[0].estimate
    assert rig.of(ev.Note) == []


async def test_esc_while_arguments_stream_drops_the_half_made_call(rig: Rig) -> None:
    """C09, AGT-3: the text so far is kept and marked."""
    gate = threading.Event()
    slow = Say("I will look", calls=call("fs-list", {"path": "x" * 200}).calls, piece=4, pause=0.05)
    with ChatServer([slow, say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.CallPiece)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        reply = rig.of(ev.LlmResponse)[0]
        assert (reply.finish, reply.parts) == ("interrupted", (Text("I will look"),))
        await rig.ask("what now?")
    gate.set()
    assert ids(server) == ([], [])
    assert messages(server)[2]["content"] == "I will look"
    assert server.violations == []


async def test_esc_before_the_first_word_leaves_nothing_blank(rig: Rig) -> None:
    """C17 (a)."""
    gate = threading.Event()
    with ChatServer([say("never", gate=gate), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.RequestSent)
        await asyncio.sleep(0.1)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.ask("ok?")
        gate.set()
    assert [message["role"] for message in messages(server)] == ["system", "user", "user"]
    assert server.violations == []


async def test_interrupt_ends_the_tools_process_group(rig: Rig) -> None:
    """AGT-3, C51."""
    marker = rig.workspace / "pid"
    command = f"echo $$ > {marker}; sleep 100 & sleep 101; wait"
    with ChatServer([call("shell", {"command": command})]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        rig.tell(commands.Send(text="start"))
        async with asyncio.timeout(10):
            while not (marker.exists() and marker.read_text().strip()):
                await asyncio.sleep(0.02)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
    with pytest.raises(ProcessLookupError):
        os.killpg(os.getpgid(int(marker.read_text())), 0)


@pytest.mark.parametrize("refused_first", [True, False])
async def test_refusing_one_of_two_calls_answers_both(rig: Rig, refused_first: bool) -> None:
    """C10: refusal is an answer, and its reason goes to the model."""
    write = ("fs-write", {"path": "note.txt", "text": "x"})
    listing = ("fs-list", {})
    wanted = (write, listing) if refused_first else (listing, write)
    with ChatServer([calls(*wanted), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        assert "+x" in asked.diff
        rig.tell(commands.Answer(call_id=asked.call_id, allow=False, reason="use notes.md"))
        await rig.until(up.RunEnded)
    assert_answered(server)
    assert not (rig.workspace / "note.txt").exists()
    results = [m["content"] for m in messages(server) if m["role"] == "tool"]
    assert sum("refused by the person: use notes.md" in text for text in results) == 1


async def test_mode_change_during_an_approval_lets_it_go_on(rig: Rig) -> None:
    """C10: the mode is switched by key while a call waits."""
    write = call("fs-write", {"path": "note.txt", "text": "x"})
    with ChatServer([write, say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.ApprovalAsked)
        rig.tell(commands.SetMode(mode="edits"))
        assert (await rig.until(up.RunEnded)).why == "done"
    assert (rig.workspace / "note.txt").read_text() == "x"
    assert_answered(server)


async def test_session_scope_asks_once(rig: Rig) -> None:
    """AGT-8: once, this session, always."""
    shell = call("shell", {"command": "echo one"})
    with ChatServer([shell, shell, say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="session"))
        await rig.until(up.RunEnded)
    assert len(rig.told(up.ApprovalAsked)) == 1
    assert [approval.scope for approval in rig.of(ev.Approval)] == ["session", "session"]


async def test_always_is_saved_to_the_persons_config(rig: Rig) -> None:
    """AGT-8: with its comments kept; the next session does not ask."""
    shell = call("shell", {"command": "echo one"})
    with ChatServer([shell, say("fine"), shell, say("fine")]) as server:
        rig.configure(server)
        config = rig.home / "config.toml"
        config.write_text("# mine\n" + config.read_text())
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="always"))
        await rig.until(up.RunEnded)
        await rig.close()
        await rig.open()
        await rig.ask()
    assert len(rig.told(up.ApprovalAsked)) == 1
    assert config.read_text().startswith("# mine\n")
    assert "shell: echo one" in config.read_text()


async def test_an_always_that_cannot_be_saved_is_asked_again(rig: Rig) -> None:
    """AGT-8: the call waits on, and says so."""
    with ChatServer([call("shell", {"command": "echo one"}), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        (rig.home / "config.toml").unlink()
        (rig.home / "config.toml").mkdir()
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="always"))
        assert await rig.until(up.ApprovalAsked) == asked
        assert "still waiting" in (await rig.until(up.Notice)).text
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True))
        assert (await rig.until(up.RunEnded)).why == "done"


async def test_plan_mode_refuses_what_changes_with_the_same_catalogue(rig: Rig) -> None:
    """AGT-8."""
    write = call("fs-write", {"path": "note.txt", "text": "x"})
    with ChatServer([write, say("a plan")]) as server:
        rig.configure(server)
        await rig.open(mode="plan")
        await rig.ask()
    assert "plan mode" in messages(server)[-1]["content"]
    assert not (rig.workspace / "note.txt").exists()
    assert server.bodies[0].body["tools"] == server.bodies[1].body["tools"]


async def test_auto_waits_for_the_sandbox(rig: Rig) -> None:
    """AGT-10."""
    with ChatServer() as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.SetMode(mode="auto"))
        changed = await rig.until(up.ModeChanged)
    assert changed.mode == "ask"
    assert "sandbox" in changed.refused


CRASHING = """
import asyncio, sys
from nodwyn_tui.link import commands
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.wiring import work

async def main():
    link = LocalLink()
    task = asyncio.create_task(work(link))
    link.send(commands.Open(workspace=sys.argv[1], allow=("*",)))
    link.send(commands.Send(text="start"))
    await task

asyncio.run(main())
"""


async def test_killed_process_resumes_with_every_call_answered(rig: Rig, tmp_path: Path) -> None:
    """C09, ENG-5: kill -9 during a tool; nothing runs by itself after the restart."""
    marker = tmp_path / "began"
    slow = call("shell", {"command": f"touch {marker}; sleep 30"})
    with ChatServer([slow, say("fine")]) as server:
        rig.configure(server)
        process = subprocess.Popen([sys.executable, "-c", CRASHING, str(rig.workspace)])
        async with asyncio.timeout(20):
            while not marker.exists():
                await asyncio.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        await rig.open(resume="last")
        await asyncio.sleep(0.3)
        assert len(server.bodies) == 1
        assert rig.of(ev.ToolResult)[0].text.startswith("interrupted: the program ended")
        assert rig.of(ev.RunEnd)[-1].why == "interrupted"
        assert (await rig.ask("what now?")).text == "fine"
    assert_answered(server)


async def test_queued_message_survives_a_crash_as_draft(rig: Rig) -> None:
    """AGT-4: what was typed and never sent comes back into the prompt."""
    gate = threading.Event()
    with ChatServer([say("never", gate=gate)]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="and then this"))
        await rig.until(up.Queued)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.close()
        gate.set()
        opened = await rig.open(resume="last")
    assert opened.draft == "and then this"


async def test_agreed_path_outside_is_read_and_one_not_agreed_is_not(
    rig: Rig, tmp_path: Path
) -> None:
    """AGT-9, C75: the question shows the true path."""
    (tmp_path / "outside.txt").write_text("elsewhere\n")
    (rig.workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
    read = call("fs-read", {"path": "link.txt"})
    with ChatServer([read, read, say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        for allow in (False, True):
            asked = await rig.until(up.ApprovalAsked)
            assert str(tmp_path / "outside.txt") in asked.title
            assert asked.warning == "outside the workspace"
            rig.tell(commands.Answer(call_id=asked.call_id, allow=allow))
        await rig.until(up.RunEnded)
    results = [result.text for result in rig.of(ev.ToolResult)]
    assert "elsewhere" not in results[0]
    assert "elsewhere" in results[1]


async def test_what_an_interrupted_command_had_printed_is_kept(rig: Rig) -> None:
    """AGT-3."""
    with ChatServer([call("shell", {"command": "echo so far; sleep 60"}), say("fine")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.CallOutput, lambda e: "so far" in e.line)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
    assert "so far" in rig.of(ev.ToolResult)[0].text


async def test_background_processes_end_with_the_session(rig: Rig) -> None:
    """C51: also on exit of the app."""
    marker = rig.workspace / "pid"
    command = f"sleep 100 & echo $! > {marker}"
    with ChatServer([call("shell", {"command": command}), say("fine")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask()
        group = os.getpgid(int(marker.read_text()))
        assert alive(group)
        await rig.close()
    assert not alive(group)
