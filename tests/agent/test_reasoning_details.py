"""`reasoning_details` of chat completions over whole sessions: untouched, or not at all."""

import random
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import request_bytes
from nodwyn_tui.domain.parts import Block, Thinking
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window.replay import replay
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.credentials import samples
from tests.fakes.details_server import DetailsServer
from tests.fakes.script import call, calls, say


def step(number: int, *, size: int = 200) -> Any:
    command = {"command": f"seq {number} {number + size}"}
    return call("shell", command, thinking=f"Thought {number}: a plan.")


def details(server: ChatServer, number: int = -1) -> list[Any]:
    return [m["reasoning_details"] for m in messages(server, number) if "reasoning_details" in m]


async def test_every_reply_bears_its_own_in_every_later_request(rig: Rig) -> None:
    """PRV-5, ENG-26: three rounds of tools, another turn, a resume."""
    two = calls(("shell", {"command": "ls"}), ("shell", {"command": "pwd"}), thinking="Both.")
    script = [step(1), two, step(3), say("Done.", thinking="Enough."), step(5), say("Again.")]
    with DetailsServer(script, cache="blocks") as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
        await rig.close()
        await rig.open(resume="last", allow=("shell: *",))
        assert (await rig.ask("again")).text == "Again."
    assert server.violations == []
    given = [each.details for each in server.given]
    for number in range(len(server.bodies)):
        assert details(server, number) == given[:number]
    blocks = [p for r in rig.of(ev.LlmResponse) for p in r.parts if isinstance(p, Block)]
    assert {(block.block, block.origin) for block in blocks} == {
        ("reasoning_details", f"fake1/{server.model}")
    }
    assert all(each.prefix_ended_by in {None, "first"} for each in rig.of(ev.LlmRequest))
    last = rig.of(ev.LlmRequest)[-1]
    assert request_bytes(replay(rig.log(), last.seq).request).count(b'"reasoning_details"') == 5


async def test_server_that_gives_none_is_sent_what_it_was_before(rig: Rig) -> None:
    """PRV-5: nothing is asked for."""
    with ChatServer([step(1), say("Done.", thinking="hm")]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
    assert b"reasoning_details" not in server.bodies[-1].content
    assert messages(server)[2]["reasoning_content"] == "Thought 1: a plan."


async def test_trim_takes_stale_details_along(rig: Rig) -> None:
    """ENG-20: a reply made before the trim goes back with its thinking, one made after with its
    details.
    """
    script = [step(n, size=900) for n in range(16)] + [say("Done.")]
    with DetailsServer(script) as server:
        rig.configure(server, context=24_000)
        await rig.open(allow=("shell: *",))
        assert (await rig.ask("count")).why == "done"
    assert server.violations == []
    trims = [n for n, event in enumerate(rig.of(ev.LlmRequest)) if event.elided]
    assert trims
    at = trims[0]
    assert len(details(server, at)) < len(details(server, at - 1))
    assert details(server, at + 1) == [*details(server, at), server.given[at].details]
    stale = [m for m in messages(server, at) if "reasoning_content" in m]
    assert stale, "the thinking goes in their place"


async def test_switch_of_model_away_and_back(rig: Rig) -> None:
    """PRV-6, C13: another model is sent the thinking; the first one gets its own again."""
    with (
        DetailsServer([step(1), say("One.", thinking="hm"), say("Back.")]) as one,
        DetailsServer([say("Two.", thinking="so")], model="other") as two,
    ):
        rig.configure(one, two)
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        await rig.ask("and you?")
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged)
        await rig.ask("back")
    assert one.violations == two.violations == []
    assert details(two) == []
    assert messages(two)[2]["reasoning_content"] == "Thought 1: a plan."
    assert details(one) == [each.details for each in one.given[:2]]
    assert messages(one)[-2]["reasoning_content"] == "so"


async def test_dialect_that_takes_none_gets_the_thinking(rig: Rig) -> None:
    """PRV-2."""
    with ChatServer([step(1), say("Done.")], flavour="vllm") as server:
        rig.configure(server, dialect="vllm")
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
    assert server.violations == []
    assert messages(server)[2]["reasoning"] == "Thought 1: a plan."


async def test_details_that_the_log_would_alter_are_left_out(rig: Rig) -> None:
    """ENG-6: a credential in them; a note says so, and the reply goes back with its thinking."""
    secret = samples(random.Random(7))["groq-key"][1]
    thought = call("shell", {"command": "ls"}, thinking=f"The key is {secret} here.")
    with DetailsServer([thought, step(2), say("Done.")]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        await rig.ask("look")
    assert server.violations == []
    assert details(server) == [server.given[1].details]
    sent = messages(server)[2]["reasoning_content"]
    assert "[redacted:" in sent
    assert secret not in sent
    notes = [note.text for note in rig.of(ev.Note) if note.why == "redaction"]
    assert len(notes) == 1
    first = rig.of(ev.LlmResponse)[0]
    assert isinstance(first.parts[0], Thinking)
    assert secret.encode() not in b"".join(request.content for request in server.bodies)
