"""Whole sessions over the Anthropic protocol: loops, resumes, switches, trims, the cache (PRV-5).

The fake holds each thinking block to all that came before it; `dropped` is what did not fit.
"""

import asyncio
import itertools
import json
import threading
from typing import Any

import pytest
import tomli_w

from nodwyn_tui.agent.reasoning import REASONING
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.providers.anthropic import SILENT
from tests.agent.rig import Rig, messages
from tests.fakes.anthropic_server import AnthropicServer, Thought, Turn, turn
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Raw, ScriptedCall, call, cut, say

KEEPS = {"cache_control": "ephemeral", "effort": "high"}


def look(path: str = ".") -> ScriptedCall:
    return ScriptedCall("fs-list", json.dumps({"path": path}))


def step(number: int) -> Turn:
    """A reply that thinks, says something and calls twice, thinking in between."""
    return turn(
        Thought(f"thought {number}"), f"step {number}", look(), Thought(redacted=True), look()
    )


def signatures(server: AnthropicServer, number: int = -1) -> list[str]:
    """The thinking blocks of a request, in order."""
    return [
        block.get("signature") or block["data"]
        for message in messages(server, number)
        for block in message["content"]
        if block["type"] in {"thinking", "redacted_thinking"}
    ]


def clean(server: AnthropicServer) -> bool:
    """Whether nothing was refused, and no block was left out."""
    assert server.violations == []
    return not any(server.dropped)


async def test_a_loop_gives_all_of_its_thinking_back(rig: Rig) -> None:
    """PRV-5, C12: as it was made, each block at its place among the calls."""
    with AnthropicServer(
        [step(1), step(2), turn(Thought("done"), "all done"), say("ok")]
    ) as server:
        rig.configure(server, **KEEPS)
        await rig.open()
        assert (await rig.ask()).text == "all done"
        await rig.ask("thanks")
    assert clean(server)
    issued = list(server.signatures.issued)
    assert [len(signatures(server, n)) for n in range(4)] == [0, 2, 4, 5]
    assert signatures(server) == issued[:5]
    kinds = [block["type"] for block in messages(server)[1]["content"]]
    assert kinds == ["thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
    assert "thought 1" in [e.entry.body.text for e in rig.told(up.EntryAdded) if e.entry.body]


async def test_another_worker_goes_on_with_it(rig: Rig) -> None:
    """C12: what the log kept goes back to the byte, in a session with a resume in each pause."""
    with AnthropicServer([step(1), say("a"), step(2), say("b"), say("c")]) as server:
        rig.configure(server, **KEEPS)
        await rig.open()
        await rig.ask("one")
        for text in ("two", "three"):
            await rig.close()
            await rig.open(resume="last")
            await rig.ask(text)
    assert clean(server)
    assert len(signatures(server)) == 4
    assert all(request.prefix_ended_by in (None, "first") for request in rig.of(ev.LlmRequest))


async def test_a_switch_sends_no_block_and_the_way_back_all(rig: Rig) -> None:
    """PRV-6, C13: the other protocol sees text, calls and results; no foreign field."""
    with (
        AnthropicServer([step(1), say("a"), step(2), say("c")]) as claude,
        ChatServer([call("fs-list", {}), say("b")]) as other,
    ):
        rig.configure(claude, other)
        await rig.open()
        await rig.ask("one")
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        await rig.ask("two")
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged)
        await rig.ask("three")
    assert other.violations == []
    assert clean(claude)
    assert len(signatures(claude)) == 4
    sent = json.dumps(messages(other))
    assert not any(signature in sent for signature in claude.signatures.issued)
    assert "thought 1" in sent, "as reasoning that the other one can read"


@pytest.mark.parametrize(
    ("keep", "counts"),
    [(None, [0, 2, 4]), (True, [0, 2, 4]), ("latest", [0, 2, 2]), (False, [0] * 3)],
)
async def test_keep_reasoning(rig: Rig, keep: Any, counts: list[int]) -> None:
    """ORD-7: unset, it is on (PRV-5)."""
    more = {} if keep is None else {"keep_reasoning": keep}
    with AnthropicServer([step(1), step(2), say("done")], binding=keep != "latest") as server:
        rig.configure(server, **more)
        await rig.open()
        await rig.ask()
    assert clean(server)
    assert [len(signatures(server, n)) for n in range(3)] == counts
    assert rig.of(ev.SessionStart)[0].recipe.keep_reasoning == (True if keep is None else keep)


async def test_a_trim_leaves_out_the_blocks_that_it_made_stale(rig: Rig) -> None:
    """ENG-20, C14: the window's own rule misses none, so that nothing is dropped; thinking stays
    on, and the person is told.
    """
    for number in range(8):
        (rig.workspace / f"{number}.txt").write_text("\n".join(f"{number} {n}" for n in range(900)))
    steps = [
        turn(Thought(f"t{n}"), ScriptedCall("fs-read", json.dumps({"path": f"{n}.txt"})))
        for n in range(8)
    ]
    with AnthropicServer([*steps, say("done")]) as server:
        rig.configure(server, high_water=9_000, low_water=6_500, folds=False, **KEEPS)
        await rig.open()
        assert (await rig.ask()).why == "done"
    assert any(request.elided for request in rig.of(ev.LlmRequest))
    assert clean(server)
    counts = [len(signatures(server, n)) for n in range(9)]
    assert any(after < before for before, after in itertools.pairwise(counts))
    assert all(json.loads(r.content)["thinking"]["type"] == "adaptive" for r in server.bodies)
    told = [note.text for note in rig.of(ev.Note) if note.why == REASONING]
    assert told
    assert "can't go back to fake1" in told[0]


async def test_a_fold_does_so_too(rig: Rig) -> None:
    """ENG-21: a later edit makes an earlier read stale."""
    (rig.workspace / "a.txt").write_text("\n".join(f"line {n}" for n in range(900)))
    read = ScriptedCall("fs-read", '{"path": "a.txt"}')
    edit = ScriptedCall("fs-edit", '{"path": "a.txt", "old": "line 7\\n", "new": "seven\\n"}')
    script = [
        turn(Thought("one"), read),
        turn(Thought("two"), edit),
        turn(Thought("three"), read),
        turn(Thought("four"), look()),
        say("done"),
    ]
    with AnthropicServer(script) as server:
        rig.configure(server, **KEEPS)
        await rig.open(mode="edits")
        assert (await rig.ask()).why == "done"
    assert clean(server)
    assert len(server.bodies) == 5


async def test_blocks_that_the_server_leaves_out_are_told_of(rig: Rig) -> None:
    """Once, in words: the model has become another one that cannot read them."""
    with AnthropicServer([step(1), say("a"), say("b"), say("c")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("one")
        server.signatures.issued = {
            name: issued.__class__(issued.text, issued.prefix, "older")
            for name, issued in server.signatures.issued.items()
        }
        await rig.ask("two")
        await rig.ask("three")
    assert server.dropped[-1] == ["model_binding_mismatch"] * 2
    told = [note.text for note in rig.of(ev.Note)]
    assert told == [
        "fake1 leaves earlier reasoning out of what the model sees: another model thought it."
    ]


async def test_a_credential_in_thinking_costs_that_block_only(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENG-6, C12: a block is never altered, so it is not kept; the ones made after it hold. A call
    that goes back with a marker in its place costs the block behind it, and the server says so.
    """
    key = "k3y" * 9
    monkeypatch.setenv("OUR_KEY", key)
    told_key = ScriptedCall("fs-list", json.dumps({"path": key}))
    script = [
        turn(Thought(f"the key is {key}"), look()),
        turn(Thought("go on"), look()),
        turn(Thought("look"), told_key, Thought("and again"), look()),
        say("done"),
    ]
    with AnthropicServer(script, key=key) as server:
        rig.configure(server, **KEEPS)
        settings = rig.home / "config.toml"
        entry = "[servers.fake1]\n"
        settings.write_text(
            settings.read_text().replace(entry, entry + 'credential = "env:OUR_KEY"\n')
        )
        await rig.open()
        assert (await rig.ask()).text == "done"
    assert server.violations == []
    assert [len(signatures(server, n)) for n in range(4)] == [0, 0, 1, 3]
    assert server.dropped == [[], [], [], ["prefix_binding_mismatch"]]
    assert [note.why for note in rig.of(ev.Note)] == ["redaction", REASONING]
    assert key not in json.dumps([messages(server, n) for n in range(4)])


async def test_thinking_switched_on_in_a_loop_that_began_without(rig: Rig) -> None:
    """C14: the loop's first reply has no block; the request is valid, and thinking comes."""
    with AnthropicServer(
        [turn("I look.", look()), turn(Thought("now"), look()), say("done")]
    ) as server:
        rig.configure(server, server, **KEEPS)
        settings = (
            (rig.home / "config.toml").read_text().replace('effort = "high"', 'effort = "off"', 1)
        )
        (rig.home / "config.toml").write_text(settings)
        await rig.open(max_steps=1)
        assert (await rig.ask()).why == "limit"
        await rig.close()
        await rig.open(resume="last", model="m2")
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text.endswith("done")
    assert clean(server)
    kinds = [json.loads(r.content)["thinking"]["type"] for r in server.bodies]
    assert kinds == ["disabled", "adaptive", "adaptive"]
    assert len(signatures(server)) == 1


async def test_an_interrupted_reply_goes_back_without_its_half_thinking(rig: Rig) -> None:
    """AGT-3, C09, C17: Esc while it thinks, while it speaks, and before its first word."""
    gate = threading.Event()
    long = "word " * 400
    script = [
        turn(Thought(long), "never", pause=0.02),
        turn(Thought("hm"), long, pause=0.02),
        say("never", gate=gate),
        say("so"),
    ]
    with AnthropicServer(script) as server:
        rig.configure(server, **KEEPS)
        await rig.open()
        for kind in ("thinking", "text", None):
            rig.tell(commands.Send(text="go"))
            if kind:
                await rig.until(up.ReplyPiece, lambda piece, kind=kind: piece.kind == kind)
            while len(server.bodies) < (3 if kind is None else 1):
                await asyncio.sleep(0.01)
            rig.tell(commands.Interrupt())
            assert (await rig.until(up.RunEnded)).why == "interrupted"
        gate.set()
        assert (await rig.ask("and now?")).text == "so"
    assert clean(server)
    assert signatures(server) == []


@pytest.mark.parametrize("middle", [cut(say("half")), "overloaded"])
async def test_a_stream_that_fails_is_asked_again(rig: Rig, middle: Any) -> None:
    """C20, PRV-8, PRV-9: visibly; the same bytes, and what had come is partial."""
    overloaded = (
        b'event: message_start\ndata: {"type": "message_start", "message": {"usage": {}}}\n\n'
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error",'
        b' "message": "Overloaded"}}\n\n'
    )
    item = Raw(overloaded) if middle == "overloaded" else middle
    with AnthropicServer([item, say("whole")]) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask()).text == "whole"
    assert rig.told(up.RetryWaiting)
    assert server.bodies[0].content == server.bodies[1].content
    assert clean(server)


async def test_a_refusal_ends_the_run_and_the_session_goes_on(rig: Rig) -> None:
    with AnthropicServer([turn("I", finish="refusal"), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask()
        assert (ended.why, ended.kind, ended.exit_code) == ("error", "refused_content", 4)
        assert (await rig.ask("something else")).text == "fine"
    assert clean(server)


async def test_a_server_with_its_own_header_and_version(rig: Rig, monkeypatch: Any) -> None:
    """PRV-16: the key goes in the header that the entry names, never in both."""
    key = "k" * 24
    monkeypatch.setenv("OUR_KEY", key)
    entry = {"provider": "anthropic", "credential": "env:OUR_KEY"}
    with AnthropicServer([say("hi")], key=key, auth="x-api-key") as server:
        other = {"auth": "x-api-key", "api_version": "2023-06-01", "base_url": server.base_url}
        value = {
            "model": "m",
            "servers": {"ours": {**entry, **other}},
            "models": {"m": {"server": "ours", "model": "test-model", "effort": "off"}},
        }
        (rig.home / "config.toml").write_bytes(tomli_w.dumps(value).encode())
        await rig.open()
        assert (await rig.ask()).text == "hi"
    sent = server.bodies[0].headers
    assert (sent["x-api-key"], sent["anthropic-version"]) == (key, "2023-06-01")
    assert "authorization" not in sent
    assert server.violations == []


async def test_a_refused_setting_is_named(rig: Rig) -> None:
    """PRV-9: an older model that does not think by itself."""
    with AnthropicServer([say("hi")], thinks=("disabled", "enabled")) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask()
        assert ended.kind == "invalid_request"
        assert 'effort = "off"' in ended.message
        rig.configure(server, effort="off")
        await rig.close()
        await rig.open(resume="last")
        assert (await rig.ask("again")).text == "hi"


async def test_an_older_model_thinks_with_a_budget(rig: Rig) -> None:
    """PRV-1, C14: the refusal names it; then every request asks the same, and a loop whose later
    replies do not think goes on.
    """
    script = [
        turn(Thought("first"), look()),
        turn(look()),
        say("done"),
        turn(Thought("again"), "so"),
    ]
    with AnthropicServer(script, thinks=("disabled", "enabled")) as server:
        rig.configure(server, cache_control="ephemeral", max_output=8192)
        await rig.open()
        assert 'effort = "4096"' in (await rig.ask()).message
        server.violations.clear()
        rig.configure(server, cache_control="ephemeral", max_output=8192, effort=4096)
        await rig.close()
        await rig.open(resume="last")
        assert (await rig.ask()).text.endswith("done")
        assert (await rig.ask("and now?")).text == "so"
    assert clean(server)
    asks = [json.loads(request.content)["thinking"] for request in server.bodies[1:]]
    assert asks == [{**asks[0], "type": "enabled", "budget_tokens": 4096}] * 4
    assert [len(signatures(server, n)) for n in range(1, 5)] == [0, 1, 1, 1]


async def test_a_run_that_cannot_think_with_its_budget_says_so(rig: Rig) -> None:
    """C14: thinking is switched on in mid-run; it waits for the next message, and this is told
    once.
    """
    script = [
        turn("I look.", look()),
        turn(look()),
        turn(look()),
        say("done"),
        turn(Thought("so"), "ok"),
    ]
    with AnthropicServer(script, thinks=("disabled", "enabled")) as server:
        rig.configure(server, effort="off", max_output=8192)
        await rig.open(max_steps=1)
        assert (await rig.ask()).why == "limit"
        await rig.close()
        rig.configure(server, effort=2048, max_output=8192)
        await rig.open(resume="last")
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text.endswith("done")
        await rig.ask("and?")
    assert clean(server)
    kinds = [json.loads(r.content)["thinking"]["type"] for r in server.bodies]
    assert kinds == [*["disabled"] * 4, "enabled"]
    assert [note.text for note in rig.of(ev.Note) if note.why == REASONING] == [SILENT]
