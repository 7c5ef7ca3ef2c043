"""Requests, models and helpers that the provider tests share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodwyn_tui.domain.deltas import Delta, Reply
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.parts import Call, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Message, Request, ToolRow, ToolSpec, UserRow
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Decoder, Endpoint, Framing, Timeouts
from nodwyn_tui.providers.framing import frame_decoder
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.system.clock import SystemClock

STREAMS = Path(__file__).parent / "streams"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec("fs-read", "Reads a file.", SCHEMA)
KEY = "0123456789abcdef" * 4


def model(provider: str = "openai", id_: str = "test-model") -> ModelRef:
    return ModelRef(name="test", server="fake", provider=provider, id=id_, origin="fake/test-model")


def parameters(**more: Any) -> Parameters:
    return Parameters(**{"num_ctx": 8192, **more})


def request(
    *messages: Message, system: str = "Be brief.", tools: Sequence[ToolSpec] = (READ,)
) -> Request:
    return Request(system, tuple(tools), 512, messages)


def user(text: str) -> UserRow:
    return UserRow((Text(text),))


def reply(text: str = "", thinking: str = "", *calls: Call) -> AssistantRow:
    parts = (*([Thinking(thinking)] if thinking else []), *([Text(text)] if text else []), *calls)
    return AssistantRow(parts)


def result(call: Call, text: str) -> ToolRow:
    return ToolRow(call.id, call.name, False, (Text(text),) if text else ())


def conversation() -> Request:
    """Two runs, one of them with thinking, two calls at once and their results."""
    one, two = Call("c1", "fs-read", '{"path": "a.txt"}'), Call("c2", "fs-read", '{"path": "b"}')
    return request(
        user("What is in a.txt and b?"),
        reply("Two files.", "I look.", one, two),
        result(one, "alpha"),
        result(two, "beta"),
        reply("alpha and beta"),
        user("Thanks. And c?"),
    )


def provider(base_url: str, kind: str = "openai", **more: Any) -> Provider:
    """A provider for a fake, with timeouts that a test can wait for."""
    times = more.pop("timeouts", Timeouts(connect=2.0, first=5.0, idle=5.0))
    fields = {name: more.pop(name) for name in ("secret", "auth", "insecure") if name in more}
    where = Endpoint(server="fake", provider=kind, base_url=base_url, timeouts=times, **fields)
    return Provider(where, clock=SystemClock(), **more)


def stream(name: str) -> bytes:
    return (STREAMS / name).read_bytes()


def decode(data: bytes, decoder: Decoder, framing: Framing = "sse") -> tuple[list[Delta], Reply]:
    """All of a body's deltas and its reply."""
    frames = frame_decoder(framing)
    deltas = [d for f in [*frames.feed(data), *frames.finish()] for d in decoder.feed(f)]
    return deltas, decoder.finish()


def failure(data: bytes, decoder: Decoder, framing: Framing = "sse") -> ProviderError:
    """The error that a body ends in."""
    try:
        decode(data, decoder, framing)
    except ProviderError as error:
        return error
    raise AssertionError("the stream counted as a finished reply")


def text_of(found: Reply) -> str:
    return "".join(part.text for part in found.parts if isinstance(part, Text))


def calls_of(found: Reply) -> list[Call]:
    return [part for part in found.parts if isinstance(part, Call)]
