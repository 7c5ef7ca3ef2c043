"""Events of the Responses API to a reply, with every habit of the servers."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.deltas import Alive, CallDelta, Delta, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.framing import SseDecoder
from nodwyn_tui.providers.responses_stream import ResponsesDecoder
from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import ScriptedCall
from tests.providers.samples import calls_of, decode, failure, stream, text_of

ORIGIN = "s/m"


def decoder() -> ResponsesDecoder:
    return ResponsesDecoder(ORIGIN)


def event(kind: str, **fields: Any) -> Frame:
    return Frame(json.dumps({"type": f"response.{kind}", **fields}), f"response.{kind}")


def done(item: dict[str, Any], **fields: Any) -> Frame:
    return event("output_item.done", item=item, **fields)


def added(item: dict[str, Any], **fields: Any) -> Frame:
    return event("output_item.added", item=item, **fields)


def completed(*output: dict[str, Any], **fields: Any) -> Frame:
    response = {"status": "completed", "output": list(output), **fields}
    return event("completed", response=response)


def message(text: str, id_: str = "msg_1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id_, "role": "assistant", "content": content, **more}


def called(name: str, arguments: Any = "{}", number: int = 1) -> dict[str, Any]:
    call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
    return {"type": "function_call", **call, "arguments": arguments}


def thought(*summary: str, id_: str = "rs_1", **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id_, "summary": parts, **more}


def fed(*frames: Frame) -> ResponsesDecoder:
    reading = decoder()
    for frame in frames:
        reading.feed(frame)
    return reading


def read(*frames: Frame) -> Reply:
    return fed(*frames).finish()


def blocks_of(reply: Reply) -> list[dict[str, Any]]:
    return [json.loads(part.data) for part in reply.parts if isinstance(part, Block)]


WHOLE = Output(
    items=(
        Reason(("First I look. ", "Then I read — 質量: 12 µm 🛠️.")),
        Said("Let me see.", "commentary"),
        ScriptedCall("fs-read", '{"path": "naïve 中.txt"}'),
        Reason(()),
        ScriptedCall("fs-list", ""),
        Said("Done.", "final_answer"),
    ),
    piece=5,
)


def streamed(*, terse: bool = False, bare_end: bool = False) -> bytes:
    """What the strict fake streams for `WHOLE`."""
    server = ResponsesServer(terse=terse, bare_end=bare_end)
    server.here.number, server.here.encrypts = 1, True
    server.here.read = server._cache.read({}, [], "k")
    return b"".join(server.render(WHOLE, {}))


@pytest.mark.parametrize("terse", [False, True])
@pytest.mark.parametrize("bare_end", [False, True])
def test_a_stream_is_a_reply_with_its_parts_in_order(terse: bool, bare_end: bool) -> None:
    """PRV-5, PRV-8: with places or without, with a whole last event or an empty one; each reasoning
    before what it came before, its summary in one piece, `phase` kept, no id of the server's.
    """
    deltas, reply = decode(streamed(terse=terse, bare_end=bare_end), decoder())
    assert [type(part).__name__ for part in reply.parts] == [
        "Thinking", "Block", "Text", "Call", "Block", "Call", "Text",
    ]  # fmt: skip
    thinking, block, first, one, other, two, last = reply.parts
    words = "First I look. \n\nThen I read — 質量: 12 µm 🛠️."
    assert thinking == Thinking(words)
    assert (first, last) == (Text("Let me see.", "commentary"), Text("Done.", "final_answer"))
    assert one == Call("call_1_2", "fs-read", '{"path": "naïve 中.txt"}')
    assert two == Call("call_1_4", "fs-list", "{}")
    found = blocks_of(reply)
    assert [part.origin for part in (block, other) if isinstance(part, Block)] == [ORIGIN] * 2
    assert list(found[0]) == ["type", "summary", "encrypted_content"]
    assert found[0]["summary"] == [{"type": "summary_text", "text": words}]
    assert found[1]["summary"] == []
    assert all(len(each["encrypted_content"]) > 400 for each in found), "not the one begun with"
    assert (reply.finish, reply.thinking_field) == ("calls", "summary")
    shown = "".join(d.text for d in deltas if isinstance(d, ThinkingDelta))
    assert shown == words
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Let me see.\n\nDone."
    counts = [(d.index, d.name, d.chars) for d in deltas if isinstance(d, CallDelta)]
    assert counts[0] == (0, "fs-read", 0)
    assert counts[-1] == (1, "fs-list", 2)


@pytest.mark.parametrize("terse", [False, True])
def test_every_split_gives_the_same_deltas_and_reply(terse: bool) -> None:
    """C23, C25: whole, byte by byte, and cut once at each place."""
    data = streamed(terse=terse)
    whole = decode(data, decoder())

    def pieces(*cuts: int) -> tuple[list[Delta], Reply]:
        edges, frames, reading = [0, *cuts, len(data)], SseDecoder(), decoder()
        deltas: list[Delta] = []
        for a, b in pairwise(edges):
            for frame in frames.feed(data[a:b]):
                deltas += reading.feed(frame)
        for frame in frames.finish():
            deltas += reading.feed(frame)
        return deltas, reading.finish()

    assert pieces(*range(1, len(data))) == whole
    for place in range(1, len(data), 7):
        assert pieces(place) == whole


def test_parts_of_an_item_stay_together() -> None:
    """C35: events out of order; encrypted content only with its own item, nothing made up."""
    _, reply = decode(stream("C35_responses.sse"), decoder())
    assert [type(part) for part in reply.parts] == [Thinking, Call, Block]
    assert reply.parts[0] == Thinking("short plan")
    assert blocks_of(reply) == [
        {"type": "reasoning", "summary": [], "encrypted_content": "ENC-rs_B"}
    ]
    assert reply.usage == Usage(prompt_tokens=30, output_tokens=9)


def test_the_stream_of_a_real_llama_cpp() -> None:
    """PRV-8, C32: no places, items open side by side, and a reply that was cut in the middle of a
    call's arguments and yet is called complete.
    """
    deltas, reply = decode(stream("llamacpp_responses.sse"), decoder())
    text, whole, broken = reply.parts
    assert isinstance(text, Text)
    assert text.text == "".join(d.text for d in deltas if isinstance(d, TextDelta))
    assert isinstance(whole, Call)
    assert isinstance(broken, Call)
    assert (whole.name, whole.arguments) == ("shell", '{"command":"ls -la"}')
    assert (broken.name, broken.arguments) == ("shell", '{"command":"ls -')
    assert whole.id != broken.id
    assert reply.usage == Usage(
        prompt_tokens=226, cached_tokens=225, output_tokens=64, prompt_eval_ms=77, eval_ms=14139
    )


def test_a_failed_response_is_no_answer() -> None:
    """C20."""
    error = failure(stream("C20_responses.sse"), decoder())
    assert (error.kind, error.message) == ("server_error", "mock failure")


def failed(**error: Any) -> Frame:
    return event("failed", response={"status": "failed", "error": error})


ERRORS: list[tuple[Frame, ErrorKind, str]] = [
    (failed(code="rate_limit_exceeded", message="try again in 1.3s"), "rate_limit", "try again"),
    (failed(code="context_length_exceeded", message="too long"), "context_exceeded", "too long"),
    (failed(code="insufficient_quota", message="no credit"), "permission", "no credit"),
    (failed(code="usage_not_included", message="upgrade"), "permission", "upgrade"),
    (failed(code="invalid_prompt", message="it was flagged"), "refused_content", "flagged"),
    (failed(code="invalid_prompt", message="odd"), "invalid_request", "odd"),
    (failed(code="image_too_large", message="big"), "invalid_request", "big"),
    (failed(code="bio_policy", message="no"), "refused_content", "no"),
    (event("failed", response={}), "server_error", "no reason"),
    (event("failed"), "server_error", "no reason"),
    (event("cancelled", response={"status": "cancelled"}), "incomplete_stream", "cancelled"),
    (
        Frame('{"type":"error","code":"server_is_overloaded","message":"busy","param":null}'),
        "overloaded",
        "busy",
    ),
    (Frame('{"code":null,"message":"hm","param":"input"}', "error"), "server_error", "hm"),
    (Frame('{"error":{"code":503,"message":"Loading model"}}'), "overloaded", "Loading model"),
    (Frame("not json", "error"), "server_error", "not json"),
    (Frame("<html>"), "server_error", "no part of a reply"),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "kind", "words"), ERRORS)
def test_an_error_in_a_good_stream_is_one(frame: Frame, kind: ErrorKind, words: str) -> None:
    """C20: whatever had come; what had stays as partial."""
    reading = fed(event("output_text.delta", delta="Two words"))
    with pytest.raises(ProviderError, match=words) as caught:
        reading.feed(frame)
    assert caught.value.kind == kind
    assert reading.partial() == "Two words"


def test_a_wait_in_words_is_a_lower_bound() -> None:
    with pytest.raises(ProviderError) as caught:
        fed(failed(code="rate_limit_exceeded", message="Please try again in 1.3s."))
    assert caught.value.retry_after_s == 1.3


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", "length"),
        ("content_filter", "filtered"),
        ("steered", "stop"),
        ("tomorrow's", "length"),
        (None, "length"),
    ],
)
def test_an_incomplete_response_says_why(reason: str | None, finish: str) -> None:
    """C18."""
    details = {"reason": reason} if reason else None
    end = event("incomplete", response={"status": "incomplete", "incomplete_details": details})
    assert read(done(message("half")), end).finish == finish
    assert text_of(read(done(message("half")), end)) == "half"


def test_a_status_wins_over_the_events_name() -> None:
    assert read(done(message("x")), event("done", response={"status": "incomplete"})).finish == (
        "length"
    )
    with pytest.raises(ProviderError, match="gone"):
        fed(event("completed", response={"status": "failed", "error": {"message": "gone"}}))


def test_a_stream_without_an_end_is_no_reply() -> None:
    """PRV-8: also where each item was done."""
    with pytest.raises(ProviderError) as caught:
        read(done(message("all of it")))
    assert caught.value.kind == "incomplete_stream"


def test_a_call_that_was_cut_is_no_call_to_run() -> None:
    """C32: what came of it stays, so that the model can be told; its reasoning leads nowhere."""
    reply = read(
        added(thought(), output_index=0),
        done(thought(encrypted_content="E", status="incomplete"), output_index=0),
        added(called("fs-write", ""), output_index=1),
        event("function_call_arguments.delta", output_index=1, delta='{"path": "big'),
        event("incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}),
    )
    assert reply.finish == "length"
    assert reply.parts == (Call("call_1", "fs-write", '{"path": "big'),)


def test_an_item_that_was_never_done_stands_as_it_was_streamed() -> None:
    reply = read(
        event("reasoning_text.delta", delta="hm"),
        event("output_text.delta", delta="Hel"),
        event("output_text.delta", delta="lo"),
        completed(),
    )
    assert reply.parts == (Thinking("hm"), Text("Hello"))
    assert reply.thinking_field == "reasoning_text"


def test_what_comes_whole_without_a_delta_is_read() -> None:
    """PRV-8, C27: a call must not run without the arguments that its server sent in one piece."""
    frames = [
        added(thought()), event("reasoning_summary_text.done", item_id="rs_1", text="Hm."),
        added(message("")), event("output_text.done", item_id="msg_1", text="I look."),
        added(called("fs-read", "")),
        event("function_call_arguments.done", item_id="fc_1", arguments='{"path": "a"}'),
        completed(),
    ]  # fmt: skip
    made = decoder()
    deltas = [delta for frame in frames for delta in made.feed(frame)]
    assert made.finish().parts == (
        Thinking("Hm."), Text("I look."), Call("call_1", "fs-read", '{"path": "a"}'),
    )  # fmt: skip
    assert TextDelta("I look.") in deltas


def test_what_comes_whole_again_adds_nothing() -> None:
    """However late."""
    late = event("function_call_arguments.done", item_id="fc_1", arguments='{"path": "b"}')
    frames = [
        added(called("fs-read", "")),
        event("function_call_arguments.delta", item_id="fc_1", delta='{"path": "a"}'),
        late, done(called("fs-read", '{"path": "a"}')), late, completed(),
    ]  # fmt: skip
    assert calls_of(read(*frames)) == [Call("call_1", "fs-read", '{"path": "a"}')]


def test_an_item_that_only_the_last_event_has_counts() -> None:
    """PRV-8: where it has more than were done in the stream."""
    both = (message("I look."), called("fs-read", '{"path": "a"}'))
    reply = read(done(both[0]), completed(*both))
    assert [part.type for part in reply.parts] == ["text", "call"]
    assert text_of(read(done(both[0]), completed(both[0]))) == "I look."


def test_the_last_events_items_count_where_none_was_done() -> None:
    """PRV-8: and not where one was, for its own may be other ones."""
    items = (thought("hm", encrypted_content="E"), message("Hello"), called("a"))
    reply = read(event("output_text.delta", delta="Hel"), completed(*items))
    assert [type(part) for part in reply.parts] == [Thinking, Block, Text, Call]
    assert text_of(read(done(message("streamed")), completed(message("other")))) == "streamed"


def test_a_server_that_answers_whole_is_read() -> None:
    """Plain JSON in place of a stream."""
    response = {
        "object": "response",
        "status": "completed",
        "error": None,
        "output": [message("Hello")],
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }
    reply = read(Frame(json.dumps(response)))
    assert (text_of(reply), reply.usage.prompt_tokens) == ("Hello", 5)
    with pytest.raises(ProviderError, match="gone"):
        read(Frame(json.dumps({**response, "status": "failed", "error": {"message": "gone"}})))


def test_items_without_deltas_are_shown_when_they_are_done() -> None:
    reading = decoder()
    deltas = [*reading.feed(done(thought("a", "b"))), *reading.feed(done(message("Hello")))]
    deltas += reading.feed(done(called("fs-read", {"path": "a"})))
    assert deltas == [ThinkingDelta("a\n\nb"), TextDelta("Hello"), CallDelta(0, "fs-read", 13)]
    reading.feed(completed())
    assert calls_of(reading.finish()) == [Call("call_1", "fs-read", '{"path": "a"}')]


def test_ids_that_change_with_each_event_make_one_item() -> None:
    """A gateway that hides the ids gives others each time."""
    reply = read(
        added(message("", "x1"), output_index=0),
        event("output_text.delta", item_id="x2", output_index=0, delta="Hel"),
        event("output_text.delta", item_id="x3", output_index=0, delta="lo"),
        done(message("Hello", "x4"), output_index=0),
        completed(message("Hello", "x5")),
    )
    assert reply.parts == (Text("Hello"),)
    reply = read(
        added(message("", "x1")),
        event("output_text.delta", item_id="x2", delta="Hello"),
        done(message("Hello", "x4")),
        completed(),
    )
    assert reply.parts == (Text("Hello"),)


def test_the_same_place_for_every_item_is_no_place() -> None:
    """C31: calls one after the other, or side by side, all at place 0."""
    one, two = called("a", '{"n": 1}', 1), called("b", '{"n": 2}', 2)
    expected = [Call("call_1", "a", '{"n": 1}'), Call("call_2", "b", '{"n": 2}')]
    begun = [added({**item, "arguments": ""}, output_index=0) for item in (one, two)]
    ended = [done(item, output_index=0) for item in (one, two)]
    for order in ([begun[0], ended[0], begun[1], ended[1]], [*begun, *ended], ended):
        assert calls_of(read(*order, completed())) == expected


def test_an_item_that_is_done_twice_is_one() -> None:
    twice = [done(called("a"), output_index=0)] * 2
    assert len(calls_of(read(*twice, completed()))) == 1


def test_two_calls_of_the_same_id_are_two() -> None:
    """C29: the app names them apart."""
    first, second = called("a"), {**called("a"), "id": "fc_2"}
    reply = read(done(first, output_index=0), done(second, output_index=1), completed())
    assert [call.id for call in calls_of(reply)] == ["call_1", "call_1"]


@pytest.mark.parametrize("arguments", ["", "  ", None])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    """C27."""
    assert calls_of(read(done(called("a", arguments)), completed()))[0].arguments == "{}"


def test_blank_texts_are_no_parts() -> None:
    """C17."""
    assert read(done(message(" \n")), done(thought(" ")), completed()).parts == ()


def test_a_refusal_is_what_the_model_said() -> None:
    content = [{"type": "refusal", "refusal": "I can't."}]
    whole = done({**message(""), "content": content})
    assert text_of(read(event("refusal.delta", delta="I can't."), whole, completed())) == "I can't."


@pytest.mark.parametrize("encrypted", [None, "", 7])
def test_reasoning_that_cannot_go_back_makes_no_block(encrypted: Any) -> None:
    """PRV-5: without its encrypted content a server that stores nothing knows nothing of it."""
    reply = read(done(thought("hm", encrypted_content=encrypted)), done(message("x")), completed())
    assert reply.parts == (Thinking("hm"), Text("x"))


def test_open_reasoning_stays_with_its_encrypted_content() -> None:
    content = [{"type": "reasoning_text", "text": "all of it"}]
    item = {**thought(encrypted_content="E"), "content": content}
    reply = read(done(item), done(message("x")), completed())
    assert reply.parts[0] == Thinking("all of it")
    assert blocks_of(reply)[0]["content"] == content


def test_a_text_and_its_summary_are_told_once() -> None:
    both = [
        event("reasoning_summary_text.delta", item_id="rs_1", delta="short"),
        event("reasoning_text.delta", item_id="rs_1", delta="long and open"),
    ]
    reading = decoder()
    deltas = [delta for frame in both for delta in reading.feed(frame)]
    assert deltas == [ThinkingDelta("short")]


def test_what_an_interruption_keeps() -> None:
    """AGT-3: text and thinking; no half-made call, no reasoning that may be cut."""
    reading = fed(
        done(thought("plan", encrypted_content="E"), output_index=0),
        added({**message(""), "phase": "commentary"}, output_index=1),
        event("output_text.delta", output_index=1, delta="Half an ans"),
        added(called("a"), output_index=2),
    )
    kept = reading.interrupted()
    assert kept.parts == (Thinking("plan"), Text("Half an ans", "commentary"))
    assert kept.finish == "interrupted"
    assert decoder().interrupted().parts == ()


def test_half_characters_join() -> None:
    """C25: two escapes of one character in two events."""
    reading = decoder()
    deltas = [
        delta
        for piece in ("a\ud83d", "\udee0b")
        for delta in reading.feed(event("output_text.delta", delta=piece))
    ]
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "a🛠b"


def test_usage_is_what_was_reported() -> None:
    """PRV-10: missing stays missing; no prompt is no zero."""
    details = {"cached_tokens": 1920, "cache_write_tokens": 80}
    details_of_writes = {"ttl_30m_tokens": 0, "ttl_12h_tokens": 80}
    full = {
        "input_tokens": 2000,
        "input_tokens_details": {**details, "cache_write_tokens_details": details_of_writes},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 2050,
    }
    assert read(done(message("x")), completed(usage=full)).usage == Usage(
        prompt_tokens=2000,
        cached_tokens=1920,
        cache_write_tokens=80,
        cache_write_long_tokens=80,
        output_tokens=50,
        reasoning_tokens=30,
    )
    for nothing in (None, {}, {"input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}}):
        assert read(done(message("x")), completed(usage=nothing)).usage == Usage()
    half = {"input_tokens": 7, "input_tokens_details": None, "output_tokens": "many"}
    assert read(done(message("x")), completed(usage=half)).usage == Usage(prompt_tokens=7)


def test_comments_keep_alive_and_strangers_are_passed_over() -> None:
    """C24."""
    reading = decoder()
    assert reading.feed(Frame("ping", comment=True)) == [Alive()]
    strangers: Sequence[Frame] = [
        event("queued"),
        event("tomorrow", detail="no error"),
        added({"type": "web_search_call", "id": "ws_1"}),
        done({"type": "web_search_call", "id": "ws_1"}),
        added({}),
        event("output_item.done"),
        event("output_text.delta", delta=None),
        Frame("[DONE]"),
        Frame(""),
    ]
    assert [delta for frame in strangers for delta in reading.feed(frame)] == []
    reading.feed(completed(usage={"input_tokens": 3}))
    assert reading.done
    assert reading.feed(event("output_text.delta", delta="late")) == []
    assert reading.finish().parts == ()


FIELDS = (
    "type item id call_id name arguments content summary text delta output_index item_id response"
    " output status usage error"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS.split()), inner, max_size=5)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.incomplete",
        "error",
        "message",
        "function_call",
        "reasoning",
    ]
)


@given(st.lists(st.tuples(KINDS, JSON, KINDS, JSON), max_size=6))
def test_nothing_but_a_provider_error_ever_comes(events: list[tuple[str, Any, str, Any]]) -> None:
    """REL-4: whatever a server makes up."""
    reading = decoder()
    try:
        for kind, fields, item_kind, item in events:
            value = dict(fields) if isinstance(fields, dict) else {"delta": fields}
            inner = {**item, "type": item_kind} if isinstance(item, dict) else item
            reading.feed(Frame(json.dumps({**value, "item": inner, "type": kind})))
        reading.finish()
    except ProviderError:
        pass
    reading.interrupted()
    reading.partial()
