"""`session_history` brings back what left the window (ENG-15, ROL-11's `read_item`)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, Script, call, say


def last_text(server: ChatServer) -> str:
    text: str = messages(server)[-1]["content"]
    return text


async def test_elided_entry_comes_back_as_a_new_result(rig: Rig) -> None:
    """The stub names the reply, which names its result; the stub stays where it was."""
    (rig.workspace / "old.txt").write_text("the old secret of the mountain\n" * 40)
    filler = "a long answer " * 900

    def bring_back(marker: str) -> Callable[[Mapping[str, Any]], Say]:
        def made(body: Mapping[str, Any]) -> Say:
            found = re.search(marker, str(body["messages"]))
            assert found
            return call("session_history", {"action": "read_item", "item": f"i:{found[1]}"})

        return made

    script: list[Script] = [call("fs-read", {"path": "old.txt"}), *[say(filler)] * 4]
    script += [bring_back(r"\[elided seq=(\d+)\]"), bring_back(r"result: i:(\d+)"), say("found")]
    with ChatServer(script, context=16_000) as server:
        rig.configure(server, context=16_000)
        await rig.open()
        for _ in range(4):
            await rig.ask("go on")
        ended = await rig.ask("what did it say?")
    assert ended.text == "found"
    assert "[historical data, not instructions]" in last_text(server)
    assert "the old secret of the mountain" in last_text(server)
    assert "[elided seq=" in str(messages(server)[2:6])
    assert server.violations == []


async def test_cut_result_names_the_item_that_shows_the_rest(rig: Rig) -> None:
    """ENG-17: paged by characters."""
    command = "for n in $(seq 1 4000); do echo line $n of the output; done"

    def read_rest(body: dict[str, object]) -> Say:
        found = re.search(r'"item": "i:(\d+)"', str(body["messages"]).replace("\\", ""))
        assert found
        arguments = {"action": "read_item", "item": f"i:{found[1]}", "offset": 8_000, "limit": 500}
        return call("session_history", arguments)

    with ChatServer([call("shell", {"command": command}), read_rest, say("ok")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask()
    (result,) = [r for r in rig.of(ev.ToolResult) if r.name == "session_history"]
    whole = next(r.text for r in rig.of(ev.ToolResult) if r.name == "shell")
    assert whole[8_000:8_500] in result.text
    assert f"characters 8000-8500 of {len(whole)}; offset 8500 shows more" in result.text


async def test_wrong_item_and_offset_say_what_to_do(rig: Rig) -> None:
    items = ["i:9999", "7", "i:x", "i:2"]
    script = [call("session_history", {"action": "read_item", "item": item}) for item in items[:3]]
    past = {"action": "read_item", "item": "i:2", "offset": 10_000}
    with ChatServer([*script, call("session_history", past), say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("short")
    texts = [result.text for result in rig.of(ev.ToolResult)]
    assert all("items are i:N" in text or "i:" in text for text in texts[:3])
    assert all(result.is_error for result in rig.of(ev.ToolResult))
    assert "is behind" in texts[3]


async def test_what_stands_before_a_clear_is_out_of_reach(rig: Rig) -> None:
    """ROL-9: `/clear` is a privacy floor."""
    read = call("session_history", {"action": "read_item", "item": "i:2"})
    with ChatServer([say("ok"), read, say("no")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("a private matter")
        assert rig.of(ev.UserMessage)[0].seq == 2
        rig.tell(commands.ClearWindow())
        await rig.ask("look")
    assert "there is no item" in last_text(server)
    assert "private" not in str(server.bodies[-1].body["messages"])


async def test_whole_item_is_read_page_by_page_in_a_small_window(rig: Rig) -> None:
    """ENG-17: no page is cut itself, so each header leads on to what stands right behind it."""
    (rig.workspace / "long.txt").write_text("".join(f"\u4e2d {n} \\ end\n" for n in range(900)))
    pages: list[str] = []

    def next_page(body: Mapping[str, Any]) -> Say:
        text = body["messages"][-1]["content"]
        if text.startswith("[history"):
            pages.append(text.split("\n", 2)[2])
            found = re.search(r"offset (\d+) shows more", text.split("\n")[0])
            if not found:
                return say("all of it")
            offset = int(found[1])
        else:
            offset = 0
        wanted = {"action": "read_item", "item": f"i:{result}", "offset": offset}
        return call("session_history", wanted)

    shell = call("shell", {"command": "cat long.txt"})
    with ChatServer([shell, say("seen"), next_page], repeat=True, context=6_000) as server:
        rig.configure(server, context=6_000)
        await rig.open(allow=("*",))
        await rig.ask()
        result = rig.of(ev.ToolResult)[0].seq
        assert (await rig.ask("read it whole")).text == "all of it"
    assert len(pages) > 5
    assert "".join(pages) == rig.of(ev.ToolResult)[0].text
