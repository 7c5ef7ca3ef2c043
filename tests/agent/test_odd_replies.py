"""Replies as bad servers and short models give them: the session always goes on."""

import json
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, ids, messages
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Raw, Say, ScriptedCall, call, calls, cut, error, say
from tests.fakes.server import FakeServer

STREAMS = Path(__file__).parent.parent / "providers" / "streams"
FILES = Path(__file__).parent.parent / "cases" / "files"


def stream(name: str) -> Raw:
    return Raw((STREAMS / name).read_bytes(), content_type="text/event-stream")


PROTOCOLS = [ChatServer, OllamaServer, ResponsesServer, AnthropicServer]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "blank", [call("fs-list", {}, text=""), say("  \n"), call("shell", {"command": "true"})],
    ids=["call and no text", "blanks", "no output"],
)  # fmt: skip
async def test_blank_text_is_never_sent(rig: Rig, blank: Say, protocol: type[FakeServer]) -> None:
    """C17 (b), (c), (d): the fakes refuse it."""
    with protocol([blank, say("so"), say("fine")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask("start")
        if not blank.calls:
            server.script = [say("fine")]
        ended = await rig.ask("ok?")
        assert ended.why == "done"
    assert server.violations == []


@pytest.mark.parametrize(("name", "why"), [("C18_length.sse", "limit"), ("C18_stop.sse", "done")])
async def test_thinking_without_an_answer_is_said(rig: Rig, name: str, why: str) -> None:
    """C18: at most two requests, the entry says why, and one can go on."""
    with ChatServer([stream(name), say("an answer")]) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask("start")
        assert (ended.why, len(server.bodies)) == (why, 1)
        entries = [e.entry for e in rig.told(up.EntryAdded) if e.entry.kind == "assistant"]
        assert entries[-1].title == "no answer"
        assert entries[-1].body is not None
        assert "Send a message to go on" in entries[-1].body.text
        rig.tell(commands.Continue())
        assert (await rig.until(up.RunEnded)).text == "an answer"
    assert server.violations == []


@pytest.mark.parametrize(
    "name",
    ["C20_after_text.sse", "C20_choices_empty.sse", "C20_code_string_null.sse", "C20_first.sse"],
)
async def test_error_inside_a_stream_is_no_finished_answer(rig: Rig, name: str) -> None:
    """C20: text that had come is shown as incomplete and stands in no window."""
    with ChatServer([stream(name)] * 8, repeat=True) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        first = await rig.until(up.ReplyEnded)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.close()
    failed = rig.of(ev.LlmError)
    assert failed
    assert failed[0].partial == first.partial
    assert [reply for reply in rig.of(ev.LlmResponse) if reply.finish != "interrupted"] == []


async def test_stream_without_an_end_is_asked_again_once(rig: Rig) -> None:
    """PRV-8: visibly, and what had streamed is not kept as if whole."""
    with ChatServer([cut(say("half an ans")), say("a whole answer")]) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask()
    assert ended.text == "a whole answer"
    assert [event.partial for event in rig.told(up.ReplyEnded)] == ["half an ans", ""]
    assert rig.told(up.RetryWaiting)
    assert messages(server, 0) == messages(server, 1)
    with ChatServer([cut(say("one")), cut(say("two"))]) as server:
        rig.configure(server)
        await rig.close()
        await rig.open()
        ended = await rig.ask()
    assert (ended.why, ended.kind, ended.exit_code) == ("error", "incomplete_stream", 4)


async def test_calls_without_arguments_run_and_go_back_as_an_empty_object(rig: Rig) -> None:
    """C27."""
    with ChatServer([stream("C27_stream.sse"), say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    sent = [c["function"]["arguments"] for m in messages(server) for c in m.get("tool_calls", ())]
    assert len(sent) == 4
    assert set(sent) == {"{}"}
    assert server.violations == []


async def test_arguments_keep_their_type_and_their_numbers(rig: Rig) -> None:
    """C28, PRV-1: a string on chat completions, an object on Ollama, also for one session."""
    odd = '{"q":"naïve 中","n":1.0,"big":12345678901234567890}'
    with (
        ChatServer([call("fs-list", odd), say("ok")]) as chat,
        OllamaServer([say("there")]) as local,
    ):
        rig.configure(chat, local)
        await rig.open()
        await rig.ask()
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        await rig.ask()
    on_chat = messages(chat)[2]["tool_calls"][0]["function"]["arguments"]
    assert on_chat == odd
    raw = local.bodies[-1].content.decode()
    assert odd in raw
    assert local.violations == chat.violations == []


async def test_repeated_ids_are_made_unique_and_stay_so(rig: Rig) -> None:
    """C29: each answer reaches its call; the provider's id is kept in the log."""
    with ChatServer([stream("C29_turn1.sse"), stream("C29_turn2.sse"), say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    asked, answered = ids(server)
    assert asked == answered
    assert len(set(asked)) == 3
    parts = [p for reply in rig.of(ev.LlmResponse) for p in reply.parts if p.type == "call"]
    assert [part.provider_id for part in parts] == [None, "call_0", "call_0"]


async def test_missing_ids_are_made_and_the_same_after_a_resume(rig: Rig) -> None:
    """C30."""
    with ChatServer([stream("C30_stream.sse"), say("ok"), say("bye")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        before = ids(server)
        await rig.close()
        await rig.open(resume="last")
        await rig.ask()
    assert ids(server) == before
    assert len(set(before[0])) == 3
    assert before[0] == before[1]


@pytest.mark.parametrize(
    "letter", ["a_all_zero", "b_no_index_no_id", "c_interleaved", "d_id_first_only_no_index"]
)
async def test_parallel_calls_are_told_apart(rig: Rig, letter: str) -> None:
    """C31: two calls with whole arguments each time."""
    with ChatServer([stream(f"C31_{letter}.sse"), say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    sent = [c["function"]["arguments"] for m in messages(server) for c in m.get("tool_calls", ())]
    assert len(sent) == 2
    assert all(isinstance(json.loads(arguments), dict) for arguments in sent)
    assert server.violations == []


@pytest.mark.parametrize("name", ["C32_length", "C32_list_cut", "C32_stop", "C32_tool_calls"])
async def test_cut_arguments_are_never_run(rig: Rig, name: str) -> None:
    """C32: the model is told; after two such replies in a row the run ends and says so."""
    with ChatServer([stream(f"{name}.sse"), stream(f"{name}.sse")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",), mode="edits")
        ended = await rig.ask()
    assert (ended.why, len(server.bodies)) == ("limit", 2)
    assert "cut in the middle of a call" in ended.message
    assert list(rig.workspace.glob("*.md")) == []
    assert all(result.is_error for result in rig.of(ev.ToolResult))
    assert rig.of(ev.Approval) == []
    assert server.violations == []


async def test_cut_write_of_our_own_tool_says_what_to_do(rig: Rig) -> None:
    """C32: with the limit named."""
    broken = Say(
        calls=(ScriptedCall("fs-write", '{"path":"big.md","text":"half'),), finish="length"
    )
    with ChatServer([broken, say("ok")]) as server:
        rig.configure(server)
        await rig.open(mode="edits")
        await rig.ask()
    assert "cut at its limit of 8,192 tokens" in messages(server)[-1]["content"]
    assert not (rig.workspace / "big.md").exists()


async def test_control_words_are_plain_text_everywhere(rig: Rig) -> None:
    """C07."""
    text = (FILES / "C07_notes_on_models.txt").read_text()
    (rig.workspace / "notes <|endoftext|>.txt").write_text(text)
    with ChatServer(
        [call("fs-read", {"path": "notes <|endoftext|>.txt"}), say("<|im_end|>")]
    ) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask(text)
    assert ended.text == "<|im_end|>"
    assert messages(server)[1]["content"].endswith(text)
    assert rig.of(ev.UserMessage)[0].text == text
    first, second = (request.estimate for request in rig.of(ev.LlmRequest))
    assert second > first


@pytest.mark.parametrize(
    "usage", [False, {"prompt_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}]
)
async def test_meter_never_falls_to_zero_without_usage(rig: Rig, usage: object) -> None:
    """C08: the estimate stands in and is marked as such; elision still comes."""
    long = "word " * 1_400
    with ChatServer([say(long, usage=usage)], repeat=True, context=16_000) as server:
        rig.configure(server, context=16_000)
        await rig.open()
        for _ in range(9):
            await rig.ask("more")
    meters = rig.told(up.MeterChanged)
    assert all(meter.used > 0 and meter.source == "estimated" for meter in meters)
    assert all(meter.cached_session in (None, 0.0) for meter in meters)
    assert any(request.elided for request in rig.of(ev.LlmRequest))


async def test_switch_to_a_small_model_fits_from_the_first_request(rig: Rig) -> None:
    """C05: 30,000 tokens, then a window of 8,000: no request is over it."""
    (rig.workspace / "big.txt").write_text("\n".join(f"line {n} of it" for n in range(5_000)))
    reads = [call("fs-read", {"path": "big.txt", "start": 1 + n * 400, "end": 400 + n * 400})
             for n in range(9)]  # fmt: skip
    with (
        ChatServer([*reads, say("read it")], context=64_000) as big,
        ChatServer([say("continued")], context=8_192) as small,
    ):
        rig.configure(big, small)
        await rig.open()
        await rig.ask("read")
        assert rig.of(ev.LlmRequest)[-1].estimate > 20_000
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        ended = await rig.ask("continue")
    assert ended.text == "continued"
    assert rig.of(ev.LlmRequest)[-1].elided
    assert rig.of(ev.LlmRequest)[-1].estimate < 8_192


async def test_refused_for_its_size_is_trimmed_and_sent_once_more(rig: Rig) -> None:
    """ENG-14: one forced trim, recorded; and blocked with remedies where nothing is left."""
    for number in range(4):
        (rig.workspace / f"{number}.txt").write_text("\n".join("9" * 60 for _ in range(120)))
    too_long = error(400, {"error": {"message": "maximum context length exceeded",
                                     "code": "context_length_exceeded"}})  # fmt: skip
    reads = [call("fs-read", {"path": f"{number}.txt"}) for number in range(4)]
    with ChatServer([*reads, too_long, say("fits"), too_long, too_long]) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask()).text == "fits"
        forced = rig.of(ev.LlmRequest)[-1]
        assert forced.high_water is not None
        assert forced.elided
        assert (await rig.ask()).exit_code in (4, 5)


async def test_message_that_fits_no_window_is_kept_and_not_sent(rig: Rig) -> None:
    """ENG-18, ROL-8: blocked with the figures; the session goes on."""
    with ChatServer([say("fine")], context=16_000) as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask("x" * 60_000)
        assert (ended.why, ended.exit_code, len(server.bodies)) == ("blocked", 5, 0)
        assert rig.of(ev.UserMessage)[0].rejected
        assert "put it into a file" in rig.of(ev.BudgetBlocked)[0].remedies[0]
        assert (await rig.ask("short")).text == "fine"
    assert len(messages(server)) == 2


async def test_half_surrogates_are_replaced_before_storing_and_sending(rig: Rig) -> None:
    """C55: from tool output, file names and arguments; the same after a resume."""
    name = b"bad\xff.txt".decode("utf-8", "surrogateescape")
    (rig.workspace / name).write_text("x")
    odd = Say(calls=(ScriptedCall("fs-search", '{"pattern":"\\ud83d alone"}'),))
    with ChatServer([call("fs-list", {}), odd, say("half \\ud83d"), say("bye")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("list it \ud83d")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("again")
    for received in server.bodies:
        received.content.decode("utf-8")
        assert "\\ud83d" not in received.content.decode().replace("\\\\ud83d", "")
    assert server.violations == []


async def test_several_results_of_one_reply_reach_their_calls(rig: Rig) -> None:
    """C03 through the wire."""
    slow = ("shell", {"command": "sleep 0.4; echo P"})
    with ChatServer(
        [calls(("fs-list", {}), slow, ("fs-list", {"path": "."})), say("ok")]
    ) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask()
    asked, answered = ids(server)
    assert asked == answered
