"""Whole sessions over the Responses protocol, with a server that refuses what the real one does."""

import asyncio
import math
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Text, Thinking
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.credentials import samples
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_rules import Issued
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Raw, ScriptedCall, call, cut, error, say

STREAMS = Path(__file__).parent.parent / "providers" / "streams"
STEP = 128
"""Tokens in which the automatic cache is read."""


def reasoned(number: int, *, size: int = 300) -> Output:
    """A step: reasoning, a word, reasoning, a call."""
    return Output(
        items=(
            Reason((f"Step {number}: ", "a plan.")),
            Said(f"Now {number}.", "commentary"),
            Reason(()),
            ScriptedCall("shell", f'{{"command": "seq {number} {number + size}"}}'),
        )
    )


def done(text: str = "All done.") -> Output:
    return Output(items=(Reason(("Enough.",)), Said(text, "final_answer")))


def kinds(server: ResponsesServer, number: int = -1) -> list[str]:
    return [item["type"] for item in server.bodies[number].body["input"]]


def reasoning(server: ResponsesServer) -> list[int]:
    """How many reasoning items each request gave back."""
    return [kinds(server, n).count("reasoning") for n in range(len(server.bodies))]


def forecasts(rig: Rig) -> list[tuple[int | None, int | None, str | None]]:
    """Predicted and reported cached tokens of each request, and what ended its prefix."""
    replies = {event.req: event for event in rig.of(ev.LlmResponse)}
    return [
        (asked.predicted_cached, replies[asked.seq].usage.cached_tokens, asked.prefix_ended_by)
        for asked in rig.of(ev.LlmRequest)
        if asked.seq in replies
    ]


@pytest.mark.parametrize(
    ("keep", "given_back"),
    [(None, [0] * 6), (False, [0] * 6), ("latest", [0, 2, 2, 1, 2, 1]), (True, [0, 2, 4, 5, 7, 8])],
)
async def test_tool_loop_with_reasoning(
    rig: Rig, keep: bool | str | None, given_back: list[int]
) -> None:
    """PRV-5, C15, ENG-20: each reasoning before what it came before, in every later request, or
    only till the next reply, or never; over a resume too.
    """
    script = [reasoned(1), reasoned(2), done(), reasoned(4), done("Again."), done("Bye.")]
    with ResponsesServer(script) as server:
        setting = {} if keep is None else {"keep_reasoning": keep}
        rig.configure(server, context=60_000, **setting)
        await rig.open(allow=("shell: *",))
        assert (await rig.ask("count")).text == "All done."
        await rig.close()
        await rig.open(resume="last", allow=("shell: *",))
        assert (await rig.ask("again")).text == "Again."
        await rig.ask("bye")
    assert server.violations == []
    assert reasoning(server) == given_back
    for request in server.bodies:
        body = request.body
        assert body["store"] is False
        assert ("include" in body) == bool(keep)
        context = (body.get("reasoning") or {}).get("context")
        assert context == ("all_turns" if keep is True else None)
        replies = [i for i in body["input"] if i["type"] == "message" and i["role"] == "assistant"]
        assert all(item["phase"] in {"commentary", "final_answer"} for item in replies)
    assert rig.of(ev.Note) == [], "reasoning that leaves with the next reply is as it should be"
    logged = [part for reply in rig.of(ev.LlmResponse) for part in reply.parts]
    assert sum(isinstance(part, Block) for part in logged) == (9 if keep else 0)
    assert next(part for part in logged if isinstance(part, Thinking)).text == "Step 1: \n\na plan."
    words = [word for _, _, word in forecasts(rig)][1:]
    expected = [None, "reasoning", "reasoning", "reasoning", "reasoning"]
    assert words == (expected if keep == "latest" else [None] * 5)


@pytest.mark.parametrize("keep", [False, "latest", True])
async def test_prediction_is_what_the_server_reports(rig: Rig, keep: bool | str) -> None:
    """ENG-28: within the cache's own step where all was appended, never above it elsewhere."""
    script = [reasoned(n) for n in range(8)] + [done(), reasoned(9), done()]
    with ResponsesServer(script) as server:
        rig.configure(server, context=100_000, keep_reasoning=keep)
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
        await rig.ask("again")
    assert server.violations == []
    for predicted, reported, word in forecasts(rig)[1:]:
        assert predicted is not None
        assert reported is not None
        if word is None:
            assert predicted - STEP < reported <= predicted
        else:
            # The request has other bytes than the wire: a few tokens of each item.
            assert math.isclose(predicted, reported, rel_tol=0.05, abs_tol=2 * STEP)


async def test_what_no_mark_could_keep_is_not_foretold(rig: Rig) -> None:
    """ENG-28, ORD-6: a reply bears no mark, so a long one at a run's end is read anew once, with
    what follows it; no miss of the server's is made of that.
    """
    steps = [call("shell", {"command": "ls"}), say("It is so. " * 400)]
    with ResponsesServer(steps * 3, cache="breakpoints") as server:
        rig.configure(server, context=100_000, cache_control="12h", fresh="each_request")
        await rig.open(allow=("shell: *",))
        for _ in range(3):
            await rig.ask("and on")
    assert server.violations == []
    found = forecasts(rig)
    assert [word for _, _, word in found] == ["first", *["fresh_rows"] * 5]
    for predicted, reported, _ in found[1:]:
        assert predicted is not None
        assert reported is not None
        assert math.isclose(predicted, reported, rel_tol=0.05)
    assert (found[3][1] or 0) < (found[4][1] or 0) - 900, "the answer, one request later"


async def test_switch_of_model_away_and_back(rig: Rig) -> None:
    """C13, PRV-6: opaque reasoning goes to its origin alone, and again where it was; text and
    calls go anywhere, in each protocol's form.
    """
    one = ResponsesServer([reasoned(1), done(), reasoned(4), done("Back.")])
    two = ResponsesServer([reasoned(2), done()], model="other-model", tag="b")
    chat = ChatServer([call("shell", {"command": "ls"}, thinking="hm"), say("chat")])
    local = OllamaServer([call("shell", {"command": "ls"}, thinking="hm"), say("local")])
    with one, two, chat, local:
        rig.configure(one, two, chat, local, context=60_000, num_ctx=60_000, keep_reasoning=True)
        await rig.open(allow=("shell: *",))
        for name in ("m", "m2", "m3", "m4", "m"):
            if name != "m" or rig.told(up.RunEnded):
                rig.tell(commands.SwitchModel(model=name))
                await rig.until(up.ModelChanged)
            await rig.ask(f"for {name}")
    for server in (one, two, chat, local):
        assert server.violations == []
        assert len(server.bodies) == (4 if server is one else 2)
    assert reasoning(one) == [0, 2, 3, 5]
    assert reasoning(two) == [0, 2], "its own only"
    for server in (chat, local):
        sent = server.bodies[-1].content
        assert b"gAAAAA" not in sent
        assert b"Step 1" in sent, "what was told of the reasoning is no secret"
    history = one.bodies[-1].body["input"]
    assert [item["name"] for item in history if item["type"] == "function_call"] == ["shell"] * 5
    assert b"hm" not in one.bodies[-1].content, "the protocol has no field for it"
    assert [ended for _, _, ended in forecasts(rig)] == [
        "first", None, "model_switch", None, "model_switch", None, "model_switch", None, None, None,
    ]  # fmt: skip


async def test_trim_takes_stale_reasoning_along(rig: Rig) -> None:
    """ENG-20: a reply made before a trim goes back without its blocks, one made after it with."""
    script = [reasoned(n, size=900) for n in range(20)] + [done()]
    with ResponsesServer(script) as server:
        rig.configure(server, context=30_000, keep_reasoning=True)
        await rig.open(allow=("shell: *",))
        assert (await rig.ask("count")).why == "done"
    assert server.violations == []
    trims = [n for n, event in enumerate(rig.of(ev.LlmRequest)) if event.elided]
    assert trims
    found = reasoning(server)
    at = trims[0]
    assert found[at] < found[at - 1]
    assert found[at + 1] == found[at] + 2, "the reply to the trimmed request keeps its own"
    predicted, reported, word = forecasts(rig)[at]
    assert word == "trim"
    assert (reported or 0) <= (predicted or 0) + STEP


async def test_interrupted_reply_leaves_no_reasoning(rig: Rig) -> None:
    """AGT-3, C09: what had come of it is no item that could go back."""
    gate = threading.Event()
    slow = Output(items=reasoned(2).items, piece=2, pause=0.05)
    with ResponsesServer([reasoned(1), slow, done()]) as server:
        rig.configure(server, context=60_000, keep_reasoning=True)
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.ReplyPiece, lambda piece: piece.kind == "text")
        await rig.until(
            up.ReplyPiece, lambda piece: piece.kind == "text" and len(server.bodies) > 1
        )
        rig.tell(commands.Interrupt())
        assert (await rig.until(up.RunEnded)).why == "interrupted"
        gate.set()
        assert (await rig.ask("and now?")).text == "All done."
    assert server.violations == []
    partial = rig.of(ev.LlmResponse)[1]
    assert partial.finish == "interrupted"
    assert [type(part) for part in partial.parts] == [Thinking, Text]
    assert reasoning(server) == [0, 2, 2]


async def test_worker_that_died_in_mid_run_goes_on(rig: Rig) -> None:
    """ENG-5, PRV-5: a call without a result gets one; its reasoning still stands before it."""
    with ResponsesServer([reasoned(1), done()]) as server:
        rig.configure(server, context=60_000, keep_reasoning=True)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.ApprovalAsked)
        for task in rig._tasks:
            task.cancel()
        await asyncio.gather(*rig._tasks, return_exceptions=True)
        await rig.open(resume="last")
        assert (await rig.ask("go on")).text == "All done."
    assert server.violations == []
    assert kinds(server) == [
        "message", "reasoning", "message", "reasoning", "function_call", "function_call_output",
        "message",
    ]  # fmt: skip


async def test_encrypted_content_stays_with_its_item(rig: Rig) -> None:
    """C35: done events out of order, over the disk and a resume."""
    raw = Raw((STREAMS / "C35_responses.sse").read_bytes())
    with ResponsesServer([raw, done(), done()]) as server:
        server.issued["ENC-rs_B"] = Issued("", None)
        rig.configure(server, context=60_000, keep_reasoning=True)
        await rig.open()
        await rig.ask("plan")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("on")
    assert server.violations == []
    given = [i for i in server.bodies[-1].body["input"] if i["type"] == "reasoning"]
    assert given[0] == {"type": "reasoning", "summary": [], "encrypted_content": "ENC-rs_B"}
    assert "short plan" not in str(given)


async def test_reasoning_that_the_log_would_alter_is_left_out(rig: Rig) -> None:
    """ENG-6: a summary with a credential in it; a note says so."""
    secret = samples(random.Random(7))["groq-key"][1]
    leak = Output(items=(Reason((f"With {secret}.",)), ScriptedCall("shell", '{"command": "ls"}')))
    with ResponsesServer([leak, reasoned(1), done()]) as server:
        rig.configure(server, context=60_000, keep_reasoning=True)
        await rig.open(allow=("shell: *",))
        await rig.ask("look")
    assert server.violations == []
    assert reasoning(server) == [0, 0, 2]
    assert [note.why for note in rig.of(ev.Note)] == ["redaction"]
    assert secret.encode() not in Path(rig.opened.log_path if rig.opened else "").read_bytes()


@pytest.mark.parametrize("keep", [False, True])
async def test_answer_of_reasoning_alone_is_said(rig: Rig, keep: bool) -> None:
    """C18: its reasoning leads nowhere, and does not go back."""
    nothing = Output(items=(Reason(("All thought.",)),), finish="length")
    with ResponsesServer([nothing, done("An answer.")]) as server:
        rig.configure(server, context=60_000, keep_reasoning=keep)
        await rig.open()
        assert (await rig.ask("start")).why == "limit"
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "An answer."
    assert server.violations == []
    assert reasoning(server) == [0, 0]


async def test_stream_without_an_end_is_asked_again_once(rig: Rig) -> None:
    """PRV-8."""
    with ResponsesServer([cut(done("half")), done("whole")]) as server:
        rig.configure(server, context=60_000, keep_reasoning=True)
        await rig.open()
        assert (await rig.ask("start")).text == "whole"
    assert server.violations == []
    (failed,) = rig.of(ev.LlmError)
    assert (failed.kind, failed.partial) == ("incomplete_stream", "half")


REFUSALS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"encrypts": "never"}, {"keep_reasoning": True}, "Set keep_reasoning = false"),
    ({"reasons": False}, {"effort": "high"}, "Remove effort"),
    ({"script": [error(404, {"error": "no such path: /v1/responses"})]}, {}, 'provider = "openai"'),
]


@pytest.mark.parametrize(("server", "model", "words"), REFUSALS)
async def test_refusal_names_the_setting(
    rig: Rig, server: dict[str, Any], model: dict[str, Any], words: str
) -> None:
    """PRV-9: reasoning is never dropped to get past a refusal; nothing is asked again."""
    with ResponsesServer(**server) as refusing:
        rig.configure(refusing, context=60_000, **model)
        await rig.open()
        ended = await rig.ask("start")
    assert ended.why == "error"
    assert words in str(ended)
    assert len(refusing.bodies) == 1


async def test_keep_reasoning_is_taken_up_by_a_resume(rig: Rig) -> None:
    """ENG-8, ENG-11: the setting of the day holds, though the server tells no context."""
    with ResponsesServer([reasoned(1), done(), reasoned(3), done()]) as server:
        rig.configure(server)
        await rig.open(allow=("shell: *",))
        await rig.ask("count")
        await rig.close()
        rig.configure(server, keep_reasoning=True)
        await rig.open(resume="last", allow=("shell: *",))
        await rig.ask("again")
    assert server.violations == []
    assert reasoning(server) == [0, 0, 0, 2]
    resumed = rig.of(ev.SessionResume)[0].recipe
    assert resumed.keep_reasoning is True
    assert [word for _, _, word in forecasts(rig)] == ["first", None, None, None]
