"""Lines of Ollama's stream to a reply."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.deltas import CallDelta, Reply
from nodwyn_tui.domain.parts import Call, Text, Thinking
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.ollama import OllamaDecoder
from tests.providers.samples import calls_of, decode, failure, stream, text_of
from tests.providers.test_chat_decoder import JSON_VALUES


def line(message: Any = None, **more: Any) -> Frame:
    return Frame(json.dumps({"model": "m", "message": message or {}, "done": False, **more}))


def read(*frames: Frame) -> Reply:
    decoder = OllamaDecoder()
    for frame in frames:
        decoder.feed(frame)
    return decoder.finish()


def tool(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


END = line(done=True, done_reason="stop")


def test_text_and_thinking() -> None:
    reply = read(line({"thinking": "hm"}), line({"content": "o"}), line({"content": "k"}), END)
    assert reply.parts == (Thinking("hm"), Text("ok"))
    assert (reply.finish, reply.thinking_field) == ("stop", "thinking")


def test_calls_on_any_line() -> None:
    """Native calls stand in the last line, rendered ones before it; both are taken."""
    decoder = OllamaDecoder()
    deltas = decoder.feed(line({"tool_calls": [tool("a", {"x": 1}, id="call_1")]}))
    assert deltas == [CallDelta(0, "a", 8)]
    decoder.feed(
        line({"tool_calls": [tool("b", {}), tool("c", None)]}, done=True, done_reason="stop")
    )
    reply = decoder.finish()
    assert calls_of(reply) == [
        Call("call_1", "a", '{"x": 1}'),
        Call("", "b", "{}"),
        Call("", "c", "{}"),
    ]
    assert reply.finish == "calls"


def test_arguments_keep_their_form() -> None:
    """C28: order, letters and numbers as the model gave them."""
    given_ = {"z": 1.0, "a": 12345678901234567890, "q": "中"}
    (call,) = calls_of(read(line({"tool_calls": [tool("t", given_)]}), END))
    assert call.arguments == '{"z": 1.0, "a": 12345678901234567890, "q": "中"}'


def test_arguments_as_text_are_taken_too() -> None:
    assert (
        calls_of(read(line({"tool_calls": [tool("t", '{"a": 1}')]}), END))[0].arguments
        == '{"a": 1}'
    )
    assert calls_of(read(line({"tool_calls": [tool("t", " ")]}), END))[0].arguments == "{}"


def test_an_error_line_is_an_error() -> None:
    """C20: on a 200, after text."""
    error = failure(stream("C20_ollama.ndjson"), OllamaDecoder(), "ndjson")
    assert error.kind == "server_error"
    assert "model runner stopped" in error.message


def test_llama_servers_words_inside_an_error_are_read() -> None:
    inner = {
        "code": 400,
        "message": "request (9 tokens) exceeds the available context size (8 tokens)",
        "type": "exceed_context_size_error",
    }
    with pytest.raises(ProviderError) as caught:
        read(Frame(json.dumps({"error": json.dumps({"error": inner})})))
    assert caught.value.kind == "context_exceeded"
    assert caught.value.message.startswith("request (9 tokens)")


def test_no_done_line_is_no_reply() -> None:
    with pytest.raises(ProviderError) as caught:
        read(line({"content": "half"}))
    assert caught.value.kind == "incomplete_stream"


@pytest.mark.parametrize(
    ("reason", "finish"), [("stop", "stop"), ("", "stop"), ("length", "length"), ("new", "stop")]
)
def test_reasons(reason: str, finish: str) -> None:
    assert read(line({"content": "x"}), line(done=True, done_reason=reason)).finish == finish


def test_usage_in_our_units() -> None:
    """PRV-10: nanoseconds to milliseconds; the cache is never told, so it stays unknown."""
    figures = {
        "prompt_eval_count": 26,
        "prompt_eval_duration": 325_953_000,
        "eval_count": 290,
        "eval_duration": 4_709_213_000,
    }
    usage = read(line(done=True, **figures)).usage
    assert usage == Usage(prompt_tokens=26, prompt_eval_ms=326, output_tokens=290, eval_ms=4709)
    assert read(END).usage == Usage()


def test_an_interruption_keeps_text_and_thinking() -> None:
    decoder = OllamaDecoder()
    decoder.feed(line({"thinking": "hm", "content": "So", "tool_calls": [tool("t", {})]}))
    assert decoder.interrupted().parts == (Thinking("hm"), Text("So"))
    assert decoder.interrupted().finish == "interrupted"
    assert decoder.partial() == "So"


def test_whole_characters() -> None:
    """C25."""
    _, reply = decode(stream("C25_ollama.ndjson"), OllamaDecoder(), "ndjson")
    assert text_of(reply) == json.loads(stream("C25_stream.cuts.json"))["expected_text"]


@given(st.lists(JSON_VALUES, max_size=4))
def test_no_json_breaks_the_decoder(values: list[Any]) -> None:
    """REL-4: whatever the shape, the outcome is a reply or a `ProviderError`."""
    decoder = OllamaDecoder()
    with suppress(ProviderError):
        for value in values:
            decoder.feed(Frame(json.dumps({"message": {"tool_calls": value, "content": value}})))
            decoder.feed(Frame(json.dumps({"message": value, "done": value})))
        decoder.finish()
    assert decoder.interrupted().finish == "interrupted"


@pytest.mark.parametrize("figure", [10**400, 2**64, -1, True, "12", 1.5, None])
def test_a_figure_that_none_can_be_is_missing(figure: object) -> None:
    """PRV-10: and spoils no reply."""
    end = {"prompt_eval_count": figure, "prompt_eval_duration": figure, "eval_count": 3}
    line = {"message": {"content": "ok"}, "done": True, **end}
    decoder = OllamaDecoder()
    decoder.feed(Frame(json.dumps(line)))
    assert decoder.finish().usage == Usage(output_tokens=3)
