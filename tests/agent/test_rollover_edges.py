"""Rollover at its edges: what the model and the person are told, and what may not get lost, where
several things come together (ROL-1 to ROL-11).
"""

import json
import re
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

READ_BIG = call("fs-read", {"path": "big.txt"})
REFUSAL = error(400, {"error": {"message": "maximum context length exceeded",
                                "code": "context_length_exceeded"}})  # fmt: skip
SLOW = call("shell", {"command": "sleep 0.4"})
UNCOUNTED = {"context": 65_536, "entry": {"context_length": 16_384}}
"""A server that holds more than it tells, so that the estimate alone decides."""


def content(message: Mapping[str, Any]) -> str:
    return str(message.get("content") or "")


def texts(server: ChatServer, number: int = -1) -> list[str]:
    return [content(message) for message in messages(server, number)[1:]]


def big(rig: Rig, size: int = 30_000) -> None:
    (rig.workspace / "big.txt").write_text(("y" * 59 + "\n") * (size // 60))


async def test_what_is_quoted_stays_as_it_is_at_every_rollover(rig: Rig, tmp_path: Path) -> None:
    """ROL-1, C44: with its item and its images, however often the window is left."""
    with ChatServer([*[READ_BIG] * 16, say("done")], context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover", images=True)
        await rig.open()
        images = await attach(rig, shot(tmp_path, "a.png", (40, 30)))
        assert (await ask_with(rig, "look at it " + "long " * 2_000, *images)).text == "done"
    leads = rig.of(ev.WindowLeadIn)
    assert len(leads) > 3
    assert len({lead.asked for lead in leads}) == 1
    assert 'more characters; session_history {"action": "read_item", "item": "i:' in str(leads)
    assert json.dumps(messages(server)).count("image_url") == 2, "a part, and its field"


async def test_a_smaller_model_holds_less_of_what_a_larger_one_quoted(rig: Rig) -> None:
    """ROL-1, ROL-6: else it could be asked nothing any more, whatever the person shortens."""
    with (
        ChatServer([*[READ_BIG] * 10, error(400, "bad")], context=65_536) as first,
        ChatServer([say("two")], context=8_192) as second,
    ):
        big(rig, 90_000)
        rig.configure(first, second, strategy="rollover")
        await rig.open()
        ask = "read it " + "".join(f"{n:05} " for n in range(6_000))
        assert (await rig.ask(ask)).why == "error"
        (before, *_) = rig.of(ev.WindowLeadIn)
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        assert (await rig.ask("go on")).text == "two"
    after = rig.of(ev.WindowLeadIn)[-1].asked or ""
    assert len(after) < len(before.asked or "") // 2
    kept = after.partition('<asked item="i:2">\n')[2].partition("\n[")[0]
    assert ask.startswith(kept)
    assert f"{len(ask) - len(kept):,} more characters; session_history" in after
    assert f'"offset": {len(kept)}}}' in after


async def test_a_run_that_goes_on_in_a_new_window_knows_that_it_was_interrupted(rig: Rig) -> None:
    """ROL-1, ROL-7: also where the provider refused it, or where the person said to go on."""
    script = [READ_BIG, REFUSAL, READ_BIG, READ_BIG, say("done")]
    with ChatServer(script, context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover", threshold=0.4)
        await rig.open(max_steps=3)
        assert (await rig.ask("read <it>")).why == "limit"
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "done"
    assert [e.reason for e in rig.of(ev.WindowReset)] == ["context-exceeded", "on-send"]
    for lead in rig.of(ev.WindowLeadIn):
        assert "do not begin it anew" in lead.text
        assert "read <it>" in (lead.asked or "")


async def test_a_warning_that_makes_a_request_too_long_is_not_given(rig: Rig) -> None:
    """ROL-3: by characters there is room, by the count there is none; the message is sent."""
    script = [say("one", usage=False), say("two", usage=False)]
    with ChatServer(script, **UNCOUNTED) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("z" * 13_800)
        assert (await rig.ask("字" * 5_930)).text == "two"
    assert rig.of(ev.BudgetWarning) == rig.of(ev.BudgetBlocked) == []


async def test_usage_of_zeros_counts_nothing(rig: Rig) -> None:
    """ROL-2, C08: the reply counts by the estimate then."""
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    script = [say("word " * 4_200, usage=zeros), say("two", usage=zeros)]
    with ChatServer(script, **UNCOUNTED) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("tell")
        await rig.ask("more")
    assert len(rig.of(ev.BudgetWarning)) == 1


async def test_images_of_a_steer_that_fits_no_window_come_back(rig: Rig, tmp_path: Path) -> None:
    """ROL-8: its text is kept where it was said, and can be written anew."""
    with ChatServer([SLOW, say("done")], context=16_384) as server:
        rig.configure(server, strategy="rollover", images=True)
        await rig.open(allow=("shell: *",))
        (image,) = await attach(rig, shot(tmp_path, "a.png", (40, 30)))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.EntryAdded, lambda e: e.entry.tool == "shell")
        rig.tell(commands.Send(text="z" * 60_000, steer=True, images=(image.sha256,)))
        returned = await rig.until(up.Returned)
        assert (await rig.until(up.RunEnded)).text == "done"
    assert (returned.why, [each.sha256 for each in returned.images]) == ("rejected", [image.sha256])
    assert [message.rejected for message in rig.of(ev.UserMessage)] == [False, True]


async def test_a_rewind_brings_the_ask_back_that_a_later_one_took_the_place_of(rig: Rig) -> None:
    """ROL-1, AGT-16: an ask that is open again is quoted again."""
    script = [READ_BIG, call("shell", {"command": "sleep 30"}), say("b"), *[READ_BIG] * 4]
    with ChatServer([*script, say("done")], context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover")
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="the first"))
        await rig.until(up.EntryAdded, lambda e: e.entry.tool == "shell")
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.ask("another")
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        await rig.until(up.Returned)
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "done"
    (lead,) = rig.of(ev.WindowLeadIn)
    assert "the first" in (lead.asked or "")


async def test_windows_are_known_by_what_the_person_said_in_them(rig: Rig) -> None:
    """ROL-11: the program's `Continue.` tells nothing of a window."""
    listing = call("session_history", {"action": "list_windows"})
    with ChatServer([*[READ_BIG] * 5, listing, say("done")], context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("read it all")
    (listed,) = [text for text in texts(server) if text.startswith("[history: 2 windows")]
    assert "begins: read it all" in listed
    assert "begins: Continue" not in listed


async def test_a_model_without_tools_is_not_told_of_any(rig: Rig) -> None:
    """ROL-3: it can neither write notes nor look anything up, and its window is never left."""
    with OllamaServer([say("one"), say("two")], capabilities=("completion",)) as server:
        rig.configure(server, strategy="rollover", num_ctx=8_192)
        await rig.open()
        await rig.ask("z" * 9_500)
        assert (await rig.ask("z" * 1_900)).text == "two"
    assert rig.of(ev.BudgetWarning) == []


@pytest.mark.parametrize("size", [20_000, 29_400])
async def test_what_changed_of_instructions_is_counted_with_the_new_window(
    rig: Rig, size: int
) -> None:
    """ROL-6, ORD-11: it is told in the same append, and once; else the old window stays."""
    file = rig.workspace / "AGENTS.md"
    file.write_text("Be brief.\n")
    script = [say(text, usage=False) for text in ("one", "two", "three")]
    with ChatServer(script, **UNCOUNTED) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("hi")
        await rig.ask("z" * 20_000)
        file.write_text("Be kind.\n" * 700)
        ended = await rig.ask("w" * size)
    told = [note for note in rig.of(ev.Note) if "has changed" in note.text]
    if size == 20_000:
        (reset,) = rig.of(ev.WindowReset)
        assert (ended.text, reset.batch) == ("three", 4)
        assert [note.seq > reset.seq for note in told] == [False, True]
    else:
        assert (ended.why, len(server.bodies)) == ("blocked", 2)
        assert rig.of(ev.WindowReset) == []
        assert rig.of(ev.UserMessage)[-1].rejected


async def test_what_is_advised_can_be_done(rig: Rig) -> None:
    """ROL-6, ROL-11: nothing is to be shortened where nothing was said, and no tool allowed that
    the model has not.
    """
    with OllamaServer([say("one")], capabilities=("completion",)) as server:
        rig.configure(server, strategy="rollover", num_ctx=8_192)
        await rig.open()
        await rig.ask("z" * 9_000)
        assert (await rig.ask("z" * 9_000)).why == "blocked"
        await rig.close()
    assert not any("allow" in remedy for remedy in rig.of(ev.BudgetBlocked)[0].remedies)
    with ChatServer([READ_BIG], repeat=True, context=8_192) as chat:
        big(rig)
        rig.configure(chat, strategy="rollover", threshold=1.0)
        await rig.open()
        assert (await rig.ask("read it")).why == "blocked"
    (blocked,) = rig.of(ev.BudgetBlocked)
    assert not any("shorten" in remedy for remedy in blocked.remedies)
    assert any("/compact" in remedy for remedy in blocked.remedies)
    assert len(rig.of(ev.ToolCall)) == len(rig.of(ev.ToolResult)), "results are kept"


async def test_what_was_taken_back_names_no_window(rig: Rig) -> None:
    """ROL-11: its words are not shown to the model again, not even as a window's beginning."""
    listing = call("session_history", {"action": "list_windows"})
    with ChatServer([say("one"), listing, say("done")], context=16_384) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        await rig.ask("the wrong paste")
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        await rig.until(up.Returned)
        await rig.ask("what I meant")
    (listed,) = [text for text in texts(server) if text.startswith("[history: 1 windows")]
    assert "begins: what I meant" in listed
    assert "wrong paste" not in listed


async def test_images_of_the_ask_that_have_no_room_are_named(rig: Rig, tmp_path: Path) -> None:
    """ROL-1, C44: the latest go along; of the others the name and the size stay."""
    with ChatServer([*[READ_BIG] * 5, say("done")], context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover", images=True)
        await rig.open()
        images = await attach(rig, *[shot(tmp_path, f"{'a' * n}.png") for n in range(1, 5)])
        assert (await ask_with(rig, "look", *images)).text == "done"
    leads = rig.of(ev.WindowLeadIn)
    assert len(leads) == 2
    for lead in leads:
        assert (lead.asked or "").count("a.png (1280x720), aa.png (1280x720)") == 1
        assert "aaa.png" not in (lead.asked or "")
    assert json.dumps(messages(server)).count('"type": "image_url"') == 2


@pytest.mark.parametrize(
    ("line", "count"), [("{n:05}\r\n", 1_500), ("\x1b[31mred\x1b[0m {n:05}\n", 700)]
)
async def test_the_rest_of_a_quote_is_read_without_a_gap(rig: Rig, line: str, count: int) -> None:
    """ROL-1, ROL-11: control codes that reading back leaves out shift no offset."""

    def read_on(body: Mapping[str, Any]) -> Item:
        if body["messages"][-1]["role"] == "tool" and "[history item" in str(body):
            return say("done")
        named = re.findall(r"session_history (\{[^}]*\}) shows them", content(body["messages"][1]))
        return call("session_history", json.loads(named[0])) if named else READ_BIG

    with ChatServer([read_on], repeat=True, context=16_384) as server:
        big(rig)
        rig.configure(server, strategy="rollover")
        await rig.open()
        assert (await rig.ask("".join(line.format(n=n) for n in range(count)))).text == "done"
    (lead,) = rig.of(ev.WindowLeadIn)
    (page,) = [text for text in texts(server) if text.startswith("[history item")]
    kept = re.findall(r"(\d{5})\r?\n", lead.asked or "")
    read = re.findall(r"(\d{5})$", page, re.MULTILINE)
    assert int(read[0]) <= int(kept[-1]) + 1
