"""PRV-17: the same code against a real server, where NODWYN_TEST_SERVER names one: over chat
completions, and over the protocols of Anthropic and of Responses where it has them too, as
llama.cpp does.

Its model may be weak, so only the transport is asserted, never wit.
"""

import os
from collections.abc import AsyncIterator

import pytest

from nodwyn_tui.domain.deltas import Reply, TextDelta
from nodwyn_tui.domain.events import ModelRef
from nodwyn_tui.domain.request import Request, ToolSpec
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Timeouts
from nodwyn_tui.providers.calls import parse_arguments
from nodwyn_tui.providers.provider import Provider
from tests.providers.samples import (
    calls_of,
    model,
    parameters,
    provider,
    reply,
    result,
    text_of,
    user,
)

BASE = os.environ.get("NODWYN_TEST_SERVER", "")
pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(not BASE, reason="NODWYN_TEST_SERVER names no server"),
]
SLOW = Timeouts(connect=5.0, first=300.0, idle=120.0)
SYSTEM = "You are a coding assistant working in a terminal."
TRIES = 8
SHELL = ToolSpec(
    "shell",
    "Runs a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


@pytest.fixture(params=["openai", "anthropic", "responses"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Provider]:
    found = provider(BASE, request.param, timeouts=SLOW)
    yield found
    await found.aclose()


@pytest.fixture
async def first_model(server: Provider) -> ModelRef:
    id_ = (await server.catalogue.models())[0].id
    return model(server.endpoint.provider, id_)


async def ask(server: Provider, what: Request, which: ModelRef) -> Reply:
    try:
        async with server.stream(what, which, parameters()) as exchange:
            texts = [delta.text async for delta in exchange if isinstance(delta, TextDelta)]
    except ProviderError as error:
        if error.kind == "not_found" and which.provider != "openai":
            pytest.skip(f"this server does not speak {which.provider}")
        raise
    assert "".join(texts) == text_of(exchange.reply)
    return exchange.reply


async def test_a_plain_stream_and_its_cache(server: Provider, first_model: ModelRef) -> None:
    """PRV-10: the second time, nearly all of the prompt comes from the cache."""
    rules = " ".join(f"Rule {number}: be brief." for number in range(20))
    what = Request(rules, (), 8, (user("Say hello."),))
    first = await ask(server, what, first_model)
    again = await ask(server, what, first_model)
    assert text_of(first).strip()
    assert first.finish in {"stop", "length"}
    assert first.usage.output_tokens in range(1, 9)
    prompt, cached = again.usage.prompt_tokens, again.usage.cached_tokens
    assert prompt == first.usage.prompt_tokens
    assert prompt is not None
    assert cached is not None
    assert cached >= 0.9 * prompt


async def test_a_call_and_its_result(server: Provider, first_model: ModelRef) -> None:
    """The arguments are whole, and the history with call and result is taken back."""
    words = "Call the function shell with command `ls -la` now."
    asked = Request(SYSTEM, (SHELL,), 64, (user(words),))
    for _ in range(TRIES):
        called = await ask(server, asked, first_model)
        if called.finish == "calls":
            break
    else:
        pytest.skip(f"the model called no tool in {TRIES} tries")
    call = calls_of(called)[0]
    assert call.name == "shell"
    assert "command" in (parse_arguments(call.arguments) or {})
    history = (*asked.messages, reply("", "", call), result(call, "total 0"))
    answered = await ask(server, Request(SYSTEM, (SHELL,), 16, history), first_model)
    assert answered.usage.cached_tokens


async def test_an_overflow_has_figures(server: Provider, first_model: ModelRef) -> None:
    """ENG-14: refused before anything is read, with both sizes."""
    context = (await server.catalogue.facts(first_model.id)).context
    assert context
    what = Request("", (), 8, (user("one two three four five " * context),))
    with pytest.raises(ProviderError) as caught:
        await ask(server, what, first_model)
    assert caught.value.kind == "context_exceeded"
    assert str(context) in caught.value.message
