"""SEC-1, ENG-6: no key in a log, a setting or an error, and no marker in a key's place."""

import random

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.credentials import samples
from tests.fakes.script import call, say

TOKEN = samples(random.Random())["github-token"][1]
MARKER = "[redacted:github-token]"


async def test_marker_from_a_message_is_not_written_into_a_file(rig: Rig) -> None:
    """The person's own key is a marker to the model: it can't put the key there."""
    with ChatServer([call("fs-write", {"path": "a.env", "text": f"K={MARKER}"}), say("ok")]) as s:
        rig.configure(s)
        await rig.open(mode="edits")
        await rig.ask(f"put {TOKEN} into a.env")
    assert MARKER in str(s.bodies[0].body)
    assert "secret that you were not shown" in rig.of(ev.ToolResult)[0].text
    assert not (rig.workspace / "a.env").exists()


async def test_model_does_not_replace_a_key_that_it_wrote_by_its_marker(rig: Rig) -> None:
    """It sees its own earlier call with the marker, in this process and after a resume."""
    write = call("fs-write", {"path": "k.txt", "text": f"K={TOKEN}\n"})
    again = call("fs-write", {"path": "k.txt", "text": f"K={MARKER}\nmore\n"})
    with ChatServer([write, again, say("ok"), call("fs-read", {"path": "k.txt"}), again, say("ok")],
                    ) as s:  # fmt: skip
        rig.configure(s)
        await rig.open(mode="edits")
        await rig.ask()
        await rig.close()
        await rig.open(mode="edits", resume="last")
        await rig.ask()
    assert [result.is_error for result in rig.of(ev.ToolResult)] == [False, True, False, True]
    assert (rig.workspace / "k.txt").read_text() == f"K={TOKEN}\n"


async def test_marker_that_the_model_wrote_itself_is_text(rig: Rig) -> None:
    """A project that deals with markers can be worked on."""
    write = call("fs-write", {"path": "doc.md", "text": f"It shows {MARKER}.\n"})
    with ChatServer([write, call("fs-write", {"path": "b.md", "text": MARKER}), say("ok")]) as s:
        rig.configure(s)
        await rig.open(mode="edits")
        await rig.ask()
    assert [result.is_error for result in rig.of(ev.ToolResult)] == [False, False]


async def test_always_saves_no_key(rig: Rig) -> None:
    """The question stays, and says why."""
    with ChatServer([call("shell", {"command": f"echo {TOKEN}"}), say("ok")]) as s:
        rig.configure(s)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        asked = await rig.until(up.ApprovalAsked)
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="always"))
        assert "looks like a key" in (await rig.until(up.Notice)).text
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True, scope="session"))
        assert (await rig.until(up.RunEnded)).why == "done"
    assert TOKEN not in (rig.home / "config.toml").read_text()


async def test_named_pattern_of_a_blocked_call_shows_no_key(rig: Rig) -> None:
    with ChatServer([call("shell", {"command": f"curl -H 'X: {TOKEN}' host"})]) as s:
        rig.configure(s)
        await rig.open(headless=True)
        ended = await rig.ask()
    assert ended.why == "blocked"
    assert TOKEN not in ended.message
    assert MARKER in ended.message
