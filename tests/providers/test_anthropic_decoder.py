"""The events of the Anthropic protocol to a reply, however the network cut them."""

import json
from contextlib import suppress
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nodwyn_tui.domain.deltas import Alive, CallDelta, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic_stream import AnthropicDecoder
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.framing import SseDecoder
from tests.providers.samples import decode, failure, stream

ORIGIN = "anthropic/claude"
Event = dict[str, Any]
OFFICIAL: TypeAdapter[Any] = TypeAdapter(anthropic.types.RawMessageStreamEvent)


def decoder() -> AnthropicDecoder:
    return AnthropicDecoder(ORIGIN)


def start(**usage: Any) -> Event:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [],
               "stop_reason": None, "stop_sequence": None}  # fmt: skip
    counts = {"input_tokens": 20, "output_tokens": 1, **usage}
    return {"type": "message_start", "message": {**message, "usage": counts}}


def block(index: int, content: Event, *deltas: Event) -> list[Event]:
    begin = {"type": "content_block_start", "index": index, "content_block": content}
    middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begin, *middle, {"type": "content_block_stop", "index": index}]


def text(index: int, *words: str) -> list[Event]:
    deltas = [{"type": "text_delta", "text": word} for word in words]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, words: str, *signature: str) -> list[Event]:
    deltas = [{"type": "thinking_delta", "thinking": words}] if words else []
    deltas += [{"type": "signature_delta", "signature": piece} for piece in signature]
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def call(index: int, id_: str, *pieces: str) -> list[Event]:
    content = {"type": "tool_use", "id": id_, "name": "fs-read", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, content, *deltas)


def end(reason: str | None = "end_turn", *, stop: bool = True, **more: Any) -> list[Event]:
    usage = more.pop("usage", {"output_tokens": 9})
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    last = [{"type": "message_stop"}] if stop else []
    return [{"type": "message_delta", "delta": delta, "usage": usage}, *last]


def sse(*events: Event) -> bytes:
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
    ).encode()


def read(*events: Event) -> Reply:
    return decode(sse(*events), decoder())[1]


INTERLEAVED = [
    start(cache_read_input_tokens=5, cache_creation_input_tokens=3),
    {"type": "ping"},
    *thinking(0, "First, 質.", "AA/", "B+=="),
    *text(1, "I look", " twice."),
    *call(2, "t1", "", '{"path"', ': "a 🛠️"}'),
    *block(3, {"type": "redacted_thinking", "data": "cmVk"}),
    *thinking(4, "Then."),
    *call(5, "t2"),
    *end("tool_use"),
]


def signed(words: str, signature: str) -> Block:
    data = {"type": "thinking", "thinking": words, "signature": signature}
    return Block("thinking", ORIGIN, json.dumps(data, ensure_ascii=False))


WHOLE = Reply(
    (
        Thinking("First, 質."),
        signed("First, 質.", "AA/B+=="),
        Text("I look twice."),
        Call("t1", "fs-read", '{"path": "a 🛠️"}'),
        Block("redacted_thinking", ORIGIN, '{"type": "redacted_thinking", "data": "cmVk"}'),
        Thinking("Then."),
        Call("t2", "fs-read", "{}"),
    ),
    "calls",
    Usage(prompt_tokens=28, cached_tokens=5, cache_write_tokens=3, output_tokens=9),
    "thinking",
)


def test_blocks_stand_in_their_order() -> None:
    """PRV-5, C12: each thinking block at its place among the calls, exactly as it came; one that is
    not signed can be read, and does not go back.
    """
    deltas, reply = decode(sse(*INTERLEAVED), decoder())
    assert reply == WHOLE
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "I look twice."
    assert [d.text for d in deltas if isinstance(d, ThinkingDelta)] == [
        "First, 質.", "\n\n", "Then.",
    ]  # fmt: skip
    calls = [(d.index, d.name, d.chars) for d in deltas if isinstance(d, CallDelta)]
    assert calls[-2:] == [(0, "fs-read", 16), (1, "fs-read", 0)]


def test_the_official_types_take_the_streams_of_these_tests() -> None:
    for event in INTERLEAVED:
        if event["type"] != "ping":
            OFFICIAL.validate_python(event)


def test_any_cut_gives_the_same_reply() -> None:
    """PRV-8, C25: whole, byte by byte, and at every split."""
    data = sse(*INTERLEAVED)
    for pieces in (
        [bytes([byte]) for byte in data],
        *([data[:n], data[n:]] for n in range(0, len(data), 7)),
    ):
        frames, made = SseDecoder(), decoder()
        for piece in pieces:
            for frame in frames.feed(piece):
                made.feed(frame)
        assert made.done
        assert made.finish() == WHOLE


def test_a_signature_in_pieces_is_joined_exactly() -> None:
    """C12: 800 characters in three pieces, with no thinking to read."""
    _, reply = decode(stream("C12_anthropic.sse"), decoder())
    expected = stream("C12_expected_signature.txt").decode().strip()
    assert len(expected) == 800
    assert reply.parts == (signed("", expected), Text("done"))
    assert reply.usage == Usage(prompt_tokens=20, output_tokens=9)


def test_thinking_text_is_given_back_as_it_came() -> None:
    """C12: blanks and line ends at its edges, a NUL, and a character in two escapes; what the
    person reads is cleaned.
    """
    raw = "\n  odd\0 \ud83d"
    events = [start(), *thinking(0, raw, "c2ln"), *text(1, "ok"), *end()]
    events.insert(3, {"type": "content_block_delta", "index": 0,
                      "delta": {"type": "thinking_delta", "thinking": "\ude00  "}})  # fmt: skip
    made = read(*events).parts[1]
    assert isinstance(made, Block)
    assert json.loads(made.data)["thinking"] == "\n  odd\0 😀  "


def test_an_error_in_a_good_stream_is_one() -> None:
    """C20."""
    error = failure(stream("C20_anthropic.sse"), decoder())
    assert (error.kind, error.message) == ("overloaded", "Overloaded (mock)")


@pytest.mark.parametrize(
    ("frame", "kind", "words"),
    [
        (Frame('{"type": "error", "error": {"type": "api_error", "message": "x"}}'),
         "server_error", "x"),
        (Frame('{"error": {"type": "rate_limit_error", "message": "slow"}}', "error"),
         "rate_limit", "slow"),
        (Frame("plain words", "error"), "server_error", "plain words"),
        (Frame('{"error": "unwrapped"}'), "server_error", "unwrapped"),
        (Frame("no json"), "server_error", "no json"),
    ],
)  # fmt: skip
def test_every_spelling_of_an_error(frame: Frame, kind: str, words: str) -> None:
    """C20: and the text before it is kept as partial."""
    made = decoder()
    for event in (start(), *text(0, "two ", "words")):
        made.feed(Frame(json.dumps(event)))
    with pytest.raises(ProviderError, match=words) as caught:
        made.feed(frame)
    assert caught.value.kind == kind
    assert made.partial() == "two words"


@pytest.mark.parametrize(
    ("reason", "calls", "finish"),
    [
        ("end_turn", False, "stop"),
        ("stop_sequence", False, "stop"),
        ("pause_turn", False, "stop"),
        ("a_new_word", False, "stop"),
        ("a_new_word", True, "calls"),
        ("tool_use", True, "calls"),
        ("max_tokens", False, "length"),
        ("max_tokens", True, "length"),
        ("model_context_window_exceeded", False, "length"),
    ],
)
def test_why_a_reply_ended(reason: str, calls: bool, finish: str) -> None:
    events = [start(), *text(0, "so"), *(call(1, "t") if calls else []), *end(reason)]
    assert read(*events).finish == finish


def test_a_refusal_is_an_error_in_the_providers_words() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "That could harm."}
    data = sse(start(), *text(0, "I"), *end("refusal", stop_details=details))
    error = failure(data, decoder())
    assert error.kind == "refused_content"
    assert "(cyber): That could harm." in error.message
    assert failure(sse(start(), *end("refusal")), decoder()).kind == "refused_content"


@pytest.mark.parametrize(
    "events",
    [
        [],
        [start()],
        [start(), *text(0, "half")],
        [start(), *text(0, "half")[:-1], *end(stop=False)],
        [{"type": "message_stop"}],
        [{"type": "ping"}],
    ],
)
def test_a_stream_without_its_end_is_incomplete(events: list[Event]) -> None:
    """PRV-8: what had come is partial, and never half-kept as if whole."""
    assert failure(sse(*events), decoder()).kind == "incomplete_stream"


def test_a_reply_whose_last_event_was_lost_is_whole() -> None:
    """C26: it has said why it ended, and every block has."""
    assert read(start(), *text(0, "so"), *end(stop=False)).parts == (Text("so"),)


def test_what_nobody_asked_for_is_passed_over() -> None:
    """Events, blocks and deltas of later versions."""
    events = [
        start(),
        {"type": "a_new_event", "message": {"x": 1}},
        *block(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
               {"type": "input_json_delta", "partial_json": "{}"}),
        *block(1, {"type": "text", "text": "whole "}, {"type": "citations_delta", "citation": {}},
               {"type": "text_delta", "text": "words"}),
        *end(),
    ]  # fmt: skip
    assert read(*events).parts == (Text("whole words"),)
    made = decoder()
    assert made.feed(Frame('{"type": "ping"}')) == [Alive()]
    assert made.feed(Frame("", comment=True)) == [Alive()]


def test_arguments_that_came_whole_are_taken() -> None:
    """C27: and none are an empty object."""
    whole = {"type": "tool_use", "id": "t", "name": "a", "input": {"n": 1.0, "q": "中"}}
    blank = {"type": "tool_use", "id": "u", "name": "b"}
    events = [start(), *block(0, whole), *block(1, blank), *end("tool_use")]
    assert read(*events).parts == (Call("t", "a", '{"n": 1.0, "q": "中"}'), Call("u", "b", "{}"))


def test_a_blank_reply_has_no_parts() -> None:
    """C17: what is blank makes no part; a signed block without words is one."""
    reply = read(start(), *thinking(0, " ", "c2ln"), *text(1, " \n"), *end())
    assert reply.parts == (signed(" ", "c2ln"),)


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    content = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
               {"type": "text", "text": "so"}]  # fmt: skip
    message = {**start()["message"], "content": content, "stop_reason": "end_turn"}
    assert read(message).parts == (Thinking("hm"), signed("hm", "c2ln"), Text("so"))


def test_an_interruption_keeps_what_can_be_read() -> None:
    """AGT-3: no half signature, no half call."""
    made = decoder()
    events = [start(), *thinking(0, "hm", "AA"), *text(1, "so far"), *call(2, "t", '{"pa')]
    for event in events[:-1]:
        made.feed(Frame(json.dumps(event)))
    kept = made.interrupted()
    assert kept.parts == (Thinking("hm"), Text("so far"))
    assert kept.finish == "interrupted"


@pytest.mark.parametrize("turned", [False, True])
def test_a_zero_at_either_end_replaces_no_count(turned: bool) -> None:
    """C08: some servers count the prompt in the first event only, some in the last."""
    zero = {"input_tokens": 0, "cache_read_input_tokens": 0}
    told = {"input_tokens": 20, "cache_read_input_tokens": 5}
    first, last = (zero, told) if turned else (told, zero)
    usage = read(start(**first), *text(0, "so"), *end(usage={**last, "output_tokens": 9})).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.output_tokens) == (25, 5, 9)


def test_usage_is_cumulative_and_split_by_lifetime() -> None:
    """PRV-10: the prompt is what was read anew, from the cache, and written to it."""
    creation = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 300}
    first = start(
        input_tokens=10,
        cache_read_input_tokens=0,
        cache_creation_input_tokens=300,
        cache_creation=creation,
    )
    last = end(usage={"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 25}})
    assert read(first, *text(0, "so"), *last).usage == Usage(
        prompt_tokens=310,
        cached_tokens=0,
        cache_write_tokens=300,
        cache_write_long_tokens=300,
        output_tokens=40,
        reasoning_tokens=25,
    )


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ({}, {}, Usage(prompt_tokens=20, output_tokens=1)),
        ({"input_tokens": 0}, {"input_tokens": 7}, Usage(prompt_tokens=7, output_tokens=1)),
        ({"input_tokens": 0}, None, Usage(output_tokens=1)),
        ({"input_tokens": None, "output_tokens": None}, {}, Usage()),
        ({"cache_read_input_tokens": None, "cache_creation": "x"}, {"output_tokens": True},
         Usage(prompt_tokens=20, output_tokens=1)),
    ],
)  # fmt: skip
def test_missing_usage_stays_missing(first: Any, last: Any, expected: Usage) -> None:
    """PRV-10, C08."""
    assert read(start(**first), *text(0, "so"), *end(usage=last)).usage == expected


def test_why_blocks_were_left_out_is_told() -> None:
    """Once a reason; what was let through is no news."""
    first = start()
    first["message"]["input_transformations"] = [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": reason}
        for reason in (
            "prefix_binding_mismatch",
            "prefix_binding_mismatch",
            "model_binding_mismatch",
        )
    ] + [{"type": "thinking_mismatch_allowed", "path": "messages.1.content.0", "reason": "x"}]
    reply = read(first, *text(0, "so"), *end())
    assert reply.left_out == ("prefix_binding_mismatch", "model_binding_mismatch")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop",
     "message_delta", "message_stop", "message", "ping"]
)  # fmt: skip


@pytest.mark.parametrize("place", [0, None], ids=["all the same", "none"])
def test_blocks_without_a_place_of_their_own_are_told_apart(place: int | None) -> None:
    """PRV-8: as C31 has it of calls; what is of no known kind takes its deltas with it."""
    unknown = block(0, {"type": "server_tool_use"}, {"type": "text_delta", "text": "no"})
    events = [
        start(), *thinking(0, "hm", "c2ln"), *unknown, *text(0, "a"), *call(0, "c1", "{}"),
        *call(0, "c2", '{"path": "b"}'), *end("tool_use"),
    ]  # fmt: skip
    for event in events:
        if "index" in event:
            event["index"] = place
    reply = read(*events)
    assert [part.type for part in reply.parts] == ["thinking", "block", "text", "call", "call"]
    assert [part.arguments for part in reply.parts if isinstance(part, Call)] == [
        "{}", '{"path": "b"}',
    ]  # fmt: skip


FIELDS = st.sampled_from(["message", "index", "content_block", "delta", "usage", "content"])


@given(st.lists(st.tuples(KINDS, st.dictionaries(FIELDS, JSON, max_size=3)), max_size=6))
def test_no_event_breaks_the_decoder(events: list[tuple[str, Event]]) -> None:
    """PRV-8: whatever a server sends, there is a reply or an error that says what happened."""
    made = decoder()
    with suppress(ProviderError):
        for kind, fields in events:
            made.feed(Frame(json.dumps({**fields, "type": kind})))
        made.finish()
    made.partial()
    assert made.interrupted().finish == "interrupted"
