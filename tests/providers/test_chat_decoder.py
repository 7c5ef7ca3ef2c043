"""Chunks of chat completions to a reply, with every habit of the servers."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.deltas import CallDelta, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.calls import parse_arguments
from nodwyn_tui.providers.chat_stream import ChatDecoder
from tests.providers.samples import calls_of, decode, failure, stream, text_of


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> Frame:
    return Frame(
        json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})
    )


def fragment(**fields: Any) -> Frame:
    return chunk({"tool_calls": [fields]})


def read(*frames: Frame) -> Reply:
    decoder = ChatDecoder("s/m")
    for frame in frames:
        decoder.feed(frame)
    return decoder.finish()


def readable(reply: Reply) -> tuple[ReplyPart, ...]:
    return tuple(part for part in reply.parts if not isinstance(part, Block))


def details(*deltas: object) -> Json:
    """The array that a reply keeps of what its deltas held."""
    reply = read(*(chunk({"reasoning_details": delta}) for delta in deltas), END)
    found = [part for part in reply.parts if isinstance(part, Block)]
    assert all((part.block, part.origin) == ("reasoning_details", "s/m") for part in found)
    return json.loads(found[0].data) if found else None


def fed(*frames: Frame) -> ChatDecoder:
    decoder = ChatDecoder("s/m")
    for frame in frames:
        decoder.feed(frame)
    return decoder


END, DONE = chunk({}, "stop"), Frame("[DONE]")


@pytest.mark.parametrize(
    ("delta", "field"),
    [
        ({"reasoning_content": "hm"}, "reasoning_content"),
        ({"reasoning": "hm"}, "reasoning"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "reasoning_details"),
        (
            {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
            "reasoning_details",
        ),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
            "content",
        ),
    ],
)
def test_every_spelling_of_thinking_is_read(delta: dict[str, Any], field: str) -> None:
    """PRV-2: whatever the dialect; which field it came in is told."""
    reply = read(chunk(delta), chunk({"content": "ok"}), END)
    assert readable(reply) == (Thinking("hm"), Text("ok"))
    assert reply.thinking_field == field


def test_thinking_sent_twice_counts_once() -> None:
    """Aggregators send the same words in `reasoning` and in `reasoning_details`."""
    both = {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}
    last = {"reasoning_details": [{"type": "reasoning.text", "text": "a", "signature": "s"}]}
    assert readable(read(chunk(both), chunk(last), END)) == (Thinking("a"),)


WHOLE = {
    "type": "reasoning.text",
    "index": 0,
    "text": "a<b> & 中",
    "signature": None,
    "x": [1, 1.0],
}


def test_details_in_one_piece_stay_as_they_came() -> None:
    """PRV-5: every field, also those that nobody here knows; nothing keeps nothing."""
    assert details([WHOLE]) == [WHOLE]
    assert json.dumps(details([WHOLE])) == json.dumps([WHOLE])
    for nothing in (None, [], {}, "text", [1, None]):
        assert details(nothing) is None
    whole = Frame(json.dumps({"choices": [{"message": {"reasoning_details": [WHOLE]}}]}))
    assert [part.block for part in read(whole, END).parts if isinstance(part, Block)]


def test_details_in_fragments_are_joined_by_index_and_type() -> None:
    """PRV-5, C12: texts, signatures and data grow; what is said once is kept."""
    text, seal = {"type": "reasoning.text", "index": 0}, {"type": "reasoning.encrypted", "index": 1}
    found = details(
        [{**text, "text": "Let ", "signature": None, "format": "f"}],
        [{**text, "text": "me"}, {**seal, "id": "rs_1", "data": "AA"}],
        [{**seal, "data": "BB=="}, {**text, "text": " see.", "signature": "S" * 400}],
        [{**text, "signature": "1"}, {**text, "signature": "==", "format": "g"}],
        [{"type": "reasoning.summary", "index": 0, "summary": "short"}],
    )
    signature = "S" * 400 + "1=="
    assert found == [
        {**text, "text": "Let me see.", "signature": signature, "format": "f"},
        {**seal, "id": "rs_1", "data": "AABB=="},
        {"type": "reasoning.summary", "index": 0, "summary": "short"},
    ]


def test_details_without_an_index() -> None:
    """Texts go on with the one before; what is sealed comes whole, one after the other."""
    seal = {"type": "reasoning.encrypted", "data": "AA"}
    text = {"type": "reasoning.text", "text": "a"}
    assert details([text], [text], [seal], [seal], [text]) == [
        {"type": "reasoning.text", "text": "aa"}, seal, seal, text,
    ]  # fmt: skip


def test_another_id_begins_another_item() -> None:
    """A provider that numbers all of its items 0."""
    one = {"type": "reasoning.encrypted", "index": 0, "id": "rs_1", "data": "A"}
    two = {**one, "id": "rs_2", "data": "B"}
    assert details([one], [two]) == [one, two]


def test_half_a_character_in_details() -> None:
    """C25: two halves in two fragments are one; half of one could only be kept altered, so the
    whole is not, and the thinking stays.
    """
    halves = [[{"type": "reasoning.text", "index": 0, "text": t}] for t in ("a\ud83d", "\udee0")]
    assert details(*halves) == [{"type": "reasoning.text", "index": 0, "text": "a🛠"}]
    assert details(halves[0]) is None
    assert details([{"type": "reasoning.encrypted", "data": "\0"}]) == [
        {"type": "reasoning.encrypted", "data": "\0"}
    ]


def test_an_interruption_keeps_no_details() -> None:
    """AGT-3: they may be cut."""
    decoder = fed(chunk({"reasoning_details": [WHOLE]}))
    assert decoder.interrupted().parts == (Thinking(WHOLE["text"]),)


def test_cerebras_stream() -> None:
    """C16: `reasoning` is read."""
    deltas, reply = decode(stream("C16_step1.sse"), ChatDecoder("s/m"))
    assert reply.parts == (Thinking("let me think"), Text("Hello"))
    assert reply.thinking_field == "reasoning"
    assert reply.usage.prompt_tokens == 20
    assert [type(delta) for delta in deltas] == [ThinkingDelta, ThinkingDelta, TextDelta]


@pytest.mark.parametrize(
    ("name", "finish"), [("C18_length.sse", "length"), ("C18_stop.sse", "stop")]
)
def test_thinking_alone_is_a_reply_that_says_so(name: str, finish: str) -> None:
    """C18: no text, no call, and why."""
    _, reply = decode(stream(name), ChatDecoder("s/m"))
    assert [type(part) for part in reply.parts] == [Thinking]
    assert reply.finish == finish


@pytest.mark.parametrize(
    ("name", "kind", "words", "status"),
    [
        ("C20_first.sse", "overloaded", "worker limit reached", 502),
        ("C20_choices_empty.sse", "overloaded", "worker limit reached", 502),
        ("C20_after_text.sse", "overloaded", "worker limit reached", 502),
        ("C20_code_string_null.sse", "server_error", "mock failure", None),
    ],
)
def test_an_error_in_a_good_stream_is_one(
    name: str, kind: str, words: str, status: int | None
) -> None:
    """C20: none counts as a finished answer."""
    error = failure(stream(name), ChatDecoder("s/m"))
    assert (error.kind, error.status) == (kind, status)
    assert words in error.message


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (Frame('{"error": "plain text error"}'), "plain text error"),
        (Frame('{"object": "error", "message": "from vllm", "code": 400}'), "from vllm"),
        (Frame('{"message": "flat", "type": "x", "param": null, "code": "y"}'), "flat"),
        (Frame('{"code": 400, "message": "in the field"}', "error"), "in the field"),
        (Frame("not json at all", "error"), "not json at all"),
        (Frame("Internal Server Error"), "Internal Server Error"),
        (Frame('"only a string"'), "only a string"),
    ],
)
def test_every_spelling_of_an_error(frame: Frame, words: str) -> None:
    """C20: objects, strings, flat bodies, an event's name, plain words."""
    with pytest.raises(ProviderError, match=words):
        read(chunk({"content": "hi"}), frame, END)


def test_text_before_an_error_is_kept_as_partial() -> None:
    """C20: what had arrived stays, marked as incomplete by whoever asks for it."""
    decoder = fed(chunk({"content": "Two "}), chunk({"content": "words "}))
    with pytest.raises(ProviderError):
        decoder.feed(chunk({}, "error", error={"message": "gone", "code": 502}))
    assert decoder.partial() == "Two words "


def test_chunks_without_a_choice_are_passed_over() -> None:
    """C21: empty, null and missing `choices`; usage is read all the same."""
    _, reply = decode(stream("C21_stream.sse"), ChatDecoder("s/m"))
    assert text_of(reply) == "ok"
    assert reply.usage == Usage(prompt_tokens=20, output_tokens=5)


def test_empty_arguments_mean_an_empty_object() -> None:
    """C27: empty, blank, null and missing."""
    _, reply = decode(stream("C27_stream.sse"), ChatDecoder("s/m"))
    assert [call.arguments for call in calls_of(reply)] == ["{}"] * 4
    assert reply.finish == "calls"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("C29_turn1.sse", ["call_0", "call_0"]),
        ("C30_stream.sse", ["", "", ""]),
        ("C31_a_all_zero.sse", ["call_a", "call_b"]),
        ("C31_b_no_index_no_id.sse", ["", ""]),
        ("C31_c_interleaved.sse", ["call_a", "call_b"]),
        ("C31_d_id_first_only_no_index.sse", ["call_a", "call_b"]),
    ],
)
def test_fragments_find_their_calls(name: str, ids: list[str]) -> None:
    """C29, C30, C31: each call whole, ids as they came; the session gives its own."""
    _, reply = decode(stream(name), ChatDecoder("s/m"))
    calls = calls_of(reply)
    assert [call.id for call in calls] == ids
    paths = [f"{letter}.txt" for letter in "abc"[: len(ids)]]
    assert [json.loads(call.arguments) for call in calls] == [{"path": path} for path in paths]


@pytest.mark.parametrize(
    ("name", "finish"),
    [
        ("C32_length.sse", "length"),
        ("C32_list_cut.sse", "length"),
        ("C32_stop.sse", "calls"),
        ("C32_tool_calls.sse", "calls"),
    ],
)
def test_cut_arguments_stay_as_they_came(name: str, finish: str) -> None:
    """C32: nothing is repaired, so that nobody can run it."""
    _, reply = decode(stream(name), ChatDecoder("s/m"))
    (call,) = calls_of(reply)
    assert parse_arguments(call.arguments) is None
    assert call.arguments.startswith("{")
    assert reply.finish == finish


def test_an_id_and_a_name_on_every_fragment_make_one_call() -> None:
    head = {"index": 0, "id": "x", "type": "function"}
    frames = [
        fragment(**head, function={"name": "t", "arguments": part})
        for part in ("", '{"a"', ":1}", "")
    ]
    assert calls_of(read(*frames, END)) == [Call("x", "t", '{"a":1}')]


def test_a_name_on_every_fragment_without_any_mark_makes_one_call() -> None:
    frames = [fragment(function={"name": "t", "arguments": part}) for part in ("", '{"a"', ":1}")]
    assert calls_of(read(*frames, END)) == [Call("", "t", '{"a":1}')]


def test_a_call_sent_whole_once_more_is_one_call() -> None:
    head = {"index": 0, "id": "x"}
    whole = {"name": "t", "arguments": '{"a":1}'}
    streamed = [
        fragment(**head, function={"name": "t", "arguments": part}) for part in ('{"a"', ":1}")
    ]
    assert len(calls_of(read(*streamed, fragment(**head, function=whole), END))) == 1
    assert len(calls_of(read(*streamed, fragment(index=1, id="x", function=whole), END))) == 2


def test_an_id_alone_finds_its_call_and_another_name_starts_one() -> None:
    """C31: no index at all; ids that come again, and a name that differs."""
    one, two = {"name": "a", "arguments": '{"x"'}, {"name": "b", "arguments": '{"y"'}
    frames = [fragment(id="1", function=one), fragment(id="2", function=two)]
    frames += [fragment(id="1", function={"arguments": ":1}"})]
    frames += [fragment(id="2", function={"arguments": ":2}"})]
    frames += [fragment(function={"name": "c", "arguments": "{}"})]
    found = [(call.name, call.arguments) for call in calls_of(read(*frames, END))]
    assert found == [("a", '{"x":1}'), ("b", '{"y":2}'), ("c", "{}")]


def test_arguments_as_an_object_become_its_text() -> None:
    """PRV-8, C28: number forms and letters stay."""
    given_ = {"q": "naïve 中", "n": 1.0, "big": 12345678901234567890}
    (call,) = calls_of(
        read(fragment(index=0, id="a", function={"name": "t", "arguments": given_}), END)
    )
    assert call.arguments == '{"q": "naïve 中", "n": 1.0, "big": 12345678901234567890}'


@pytest.mark.parametrize("junk", [None, 3, "x", [], {"function": None}, {"function": {"name": 7}}])
def test_calls_that_are_none_break_nothing(junk: Any) -> None:
    reply = read(chunk({"tool_calls": [junk]}), chunk({"tool_calls": junk, "content": junk}), END)
    assert all(isinstance(call.name, str) for call in calls_of(reply))


def test_only_the_first_choice_is_read() -> None:
    """PRV-8: several choices."""
    two = [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]
    assert text_of(read(Frame(json.dumps({"choices": two})), END)) == "yes"


def test_a_whole_answer_in_place_of_a_stream_is_read() -> None:
    answer = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}
    assert text_of(read(Frame(json.dumps(answer)))) == "hi"


def test_a_refusal_is_text() -> None:
    assert text_of(read(chunk({"refusal": "I will not."}), END)) == "I will not."


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "filtered"),
        ("tool_calls", "stop"),
        ("eos", "stop"),
    ],
)
def test_finish_reasons(reason: str, finish: str) -> None:
    assert read(chunk({"content": "x"}), chunk({}, reason)).finish == finish


def test_length_outranks_calls() -> None:
    """C32: a server that says the limit was hit is believed."""
    call = fragment(index=0, id="a", function={"name": "t", "arguments": "{}"})
    assert read(call, chunk({}, "length")).finish == "length"
    assert read(call, chunk({}, "stop")).finish == "calls"


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [DONE],
        [chunk({"content": "half"})],
        [chunk({"content": "half"}), chunk({}, "error")],
        [chunk({"content": "half"}), chunk({}, "abort")],
        [Frame(json.dumps({"choices": [], "usage": {"prompt_tokens": 3}}))],
    ],
)
def test_a_stream_without_an_end_is_no_reply(frames: Sequence[Frame]) -> None:
    """PRV-8."""
    with pytest.raises(ProviderError) as caught:
        read(*frames)
    assert caught.value.kind == "incomplete_stream"


def test_either_end_is_enough() -> None:
    """PRV-8: a missing [DONE], a missing finish_reason."""
    assert text_of(read(chunk({"content": "a"}), END)) == "a"
    decoder = fed(chunk({"content": "a"}), DONE, chunk({"content": "after the end"}))
    assert decoder.done
    assert text_of(decoder.finish()) == "a"


def test_an_interruption_keeps_text_and_thinking() -> None:
    """AGT-3: half-made calls do not go back."""
    decoder = fed(
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "So far"}),
        fragment(index=0, id="a", function={"name": "t", "arguments": '{"a'}),
    )
    kept = decoder.interrupted()
    assert kept.parts == (Thinking("hm"), Text("So far"))
    assert kept.finish == "interrupted"
    assert fed().interrupted().parts == ()


def test_blank_text_makes_no_part() -> None:
    """C17."""
    assert read(chunk({"content": "  \n"}), END).parts == ()


def test_a_character_whose_escapes_came_apart_is_one() -> None:
    """C25: a surrogate pair over two chunks, and a half that stays alone."""
    decoder = ChatDecoder("s/m")
    first = decoder.feed(Frame('{"choices":[{"delta":{"content":"a\\ud83d"}}]}'))
    second = decoder.feed(Frame('{"choices":[{"delta":{"content":"\\ude00b"}}]}'))
    assert [*first, *second] == [TextDelta("a"), TextDelta("😀b")]
    decoder.feed(Frame('{"choices":[{"delta":{"content":"\\ud83d"},"finish_reason":"stop"}]}'))
    assert text_of(decoder.finish()) == "a😀b\ufffd"


def test_call_deltas_say_name_and_size() -> None:
    decoder = ChatDecoder("s/m")
    deltas = [
        *decoder.feed(fragment(index=0, id="a", function={"name": "t", "arguments": ""})),
        *decoder.feed(fragment(index=0, function={"arguments": '{"a'})),
    ]
    assert deltas == [CallDelta(0, "t", 0), CallDelta(0, "t", 3)]


USAGE = {"prompt_tokens": 100, "completion_tokens": 7}
COUNTED = Usage(prompt_tokens=100, output_tokens=7)
LLAMA = {"cache_n": 90, "prompt_n": 10, "prompt_ms": 12.6, "predicted_n": 7, "predicted_ms": 99.4}


def with_details(**details: int) -> list[dict[str, Any]]:
    return [{"usage": {**USAGE, "prompt_tokens_details": details}}]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([{"usage": USAGE}], COUNTED),
        ([{"usage": None}, {"x_groq": {"usage": USAGE}}], COUNTED),
        ([{"usage": USAGE}, {"usage": None}, {"usage": {}}], COUNTED),
        (
            with_details(cached_tokens=90, cache_write_tokens=4),
            replace(COUNTED, cached_tokens=90, cache_write_tokens=4),
        ),
        (with_details(cached_tokens=0), replace(COUNTED, cached_tokens=0)),
        (
            [{"usage": {**USAGE, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}}],
            replace(COUNTED, cached_tokens=64),
        ),
        (
            [{"usage": {**USAGE, "completion_tokens_details": {"reasoning_tokens": 3}}}],
            replace(COUNTED, reasoning_tokens=3),
        ),
        ([{"usage": {**USAGE, "cost": 0.0021}}], replace(COUNTED, cost_usd=0.0021)),
        (
            [{"timings": LLAMA}],
            replace(COUNTED, cached_tokens=90, prompt_eval_ms=13, eval_ms=99),
        ),
        (
            [{"usage": {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}}],
            Usage(output_tokens=0),
        ),
        ([{"usage": {"prompt_tokens": None, "completion_tokens": "7", "cost": -1}}], Usage()),
        ([{"usage": {"prompt_tokens": 10**400, "completion_tokens": 2**64}}], Usage()),
    ],
)
def test_usage_in_any_spelling(chunks: list[dict[str, Any]], expected: Usage) -> None:
    """PRV-10, C08: missing stays missing, a null replaces nothing, a prompt of zero is unknown."""
    frames = [Frame(json.dumps({"choices": [], **fields})) for fields in chunks]
    assert read(chunk({"content": "x"}), END, *frames).usage == expected


def test_usage_on_the_finish_chunk_and_in_the_choice() -> None:
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop", "usage": USAGE}
    assert read(Frame(json.dumps({"choices": [choice]}))).usage.prompt_tokens == 100
    assert read(chunk({"content": "x"}, "stop", usage=USAGE)).usage.prompt_tokens == 100


WIRE_KEYS = (
    *("choices", "delta", "content", "tool_calls", "function", "arguments", "name", "index", "id"),
    *("finish_reason", "usage", "timings", "reasoning", "reasoning_details", "text", "error"),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WIRE_KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(JSON_VALUES, max_size=4))
def test_no_json_breaks_the_decoder(values: list[Any]) -> None:
    """REL-4: whatever the shape, the outcome is a reply or a `ProviderError`."""
    decoder = ChatDecoder("s/m")
    with suppress(ProviderError):
        for value in values:
            decoder.feed(Frame(json.dumps({"choices": [{"delta": value}], "usage": value})))
            decoder.feed(Frame(json.dumps(value)))
        decoder.finish()
    assert decoder.interrupted().finish == "interrupted"
