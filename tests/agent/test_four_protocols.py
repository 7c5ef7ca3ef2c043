"""One session that goes round all four protocols, and back to the first (C13)."""

import json

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.anthropic_server import AnthropicServer, Thought, turn
from tests.fakes.details_server import DetailsServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import ScriptedCall, call, say

LIST = ScriptedCall("shell", '{"command": "ls"}')


async def test_reasoning_goes_home_and_words_go_anywhere(rig: Rig) -> None:
    """C13, PRV-6: a turn with a call on each, no foreign field or id, nothing refused; back on the
    first, its own signed thinking stands again where it was.
    """
    claude = AnthropicServer(
        [turn(Thought("Claude's."), LIST), turn(Thought("More."), "One.")] * 2, context=60_000
    )
    gpt = ResponsesServer(
        [Output(items=(Reason(("GPT's.",)), LIST)), Output(items=(Reason(()), Said("Two.")))]
    )
    chat = DetailsServer([call("shell", {"command": "ls"}, thinking="Routed."), say("Three.")])
    local = OllamaServer([call("shell", {"command": "ls"}, thinking="Local."), say("Four.")])
    servers = (claude, gpt, chat, local)
    with claude, gpt, chat, local:
        rig.configure(*servers, context=60_000, num_ctx=60_000, keep_reasoning=True, fresh="auto")
        await rig.open(allow=("shell: *",))
        for name in ("m", "m2", "m3", "m4", "m"):
            rig.tell(commands.SwitchModel(model=name))
            await rig.until(up.ModelChanged)
            assert (await rig.ask(f"for {name}")).why == "done"
    assert [server.violations for server in servers] == [[]] * 4
    replies = rig.of(ev.LlmResponse)
    blocks = [part for reply in replies for part in reply.parts if isinstance(part, Block)]
    kinds = [(block.block, block.origin.partition("/")[0]) for block in blocks]
    assert kinds == [
        ("thinking", "fake1"), ("thinking", "fake1"), ("reasoning", "fake2"),
        ("reasoning", "fake2"), ("reasoning_details", "fake3"), ("thinking", "fake1"),
        ("thinking", "fake1"),
    ]  # fmt: skip
    for number, server in enumerate(servers, 1):
        sent = server.bodies[-1].content.decode()
        foreign = [b for b in blocks[:-1] if not b.origin.startswith(f"fake{number}/")]
        for block in foreign:
            secret = max(_strings(json.loads(block.data)), key=len)
            assert secret not in sent
        ids = [prefix for prefix in ('"rs_', '"msg_', '"fc_', '"resp_') if prefix in sent]
        assert ids == (['"rs_'] if server is chat else []), "in its own details, as they came"
    given = [part["signature"] for message in claude.bodies[-1].body["messages"]
             for part in message["content"] if part["type"] == "thinking"]  # fmt: skip
    assert len(given) == 3
    assert claude.dropped[-1] == []
    assert all(word in claude.bodies[-1].content.decode() for word in ("Two.", "Three.", "Four."))


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in _strings(inner)]
        case list():
            return [text for inner in value for text in _strings(inner)]
        case _:
            return []
