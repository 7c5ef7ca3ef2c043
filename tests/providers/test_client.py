"""Requests over real sockets: streams, refusals, patience, and what is never sent."""

import asyncio
import json
import socket
import time

import pytest

from nodwyn_tui.domain.deltas import Alive, Delta, Reply, TextDelta
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.request import AssistantRow, Request
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Timeouts
from nodwyn_tui.providers.exchange import Exchange
from nodwyn_tui.providers.provider import Provider
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Raw, call, cut, error, say
from tests.providers.samples import (
    KEY,
    calls_of,
    conversation,
    model,
    parameters,
    provider,
    request,
    stream,
    text_of,
    user,
)

HELLO = request(user("hello"))
QUICK = Timeouts(connect=1.0, first=0.3, idle=0.3)


def ask(server: Provider, what: Request = HELLO, **more: object) -> Exchange:
    return server.stream(what, model(server.endpoint.provider), parameters(**more))


async def drain(exchange: Exchange) -> list[Delta]:
    async with exchange:
        return [delta async for delta in exchange]


async def talk(server: Provider, what: Request = HELLO, **more: object) -> Reply:
    exchange = ask(server, what, **more)
    await drain(exchange)
    return exchange.reply


async def refused(server: Provider, what: Request = HELLO) -> ProviderError:
    try:
        await talk(server, what)
    except ProviderError as found:
        return found
    finally:
        await server.aclose()
    raise AssertionError("the request was answered")


@pytest.fixture(params=["openai", "ollama"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fake(kind: str, *script: object, **more: object) -> ChatServer | OllamaServer:
    return (ChatServer if kind == "openai" else OllamaServer)(script, **more)


async def test_a_reply_streams(kind: str) -> None:
    with fake(kind, say("Hello there, you.", thinking="They greet me.")) as server:
        us = provider(server.base_url, kind)
        exchange = ask(us)
        deltas = await drain(exchange)
        await us.aclose()
    reply = exchange.reply
    assert reply.parts == exchange.interrupted().parts
    assert text_of(reply) == "Hello there, you."
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Hello there, you."
    assert server.violations == []


async def test_what_is_sent_is_what_encode_says(kind: str) -> None:
    """ENG-26: the replay compares these bytes."""
    with fake(kind, call("fs-read", {"path": "c"})) as server:
        us = provider(server.base_url, kind)
        reply = await talk(us, conversation())
        wire = us.encode(conversation(), model(kind), parameters())
        await us.aclose()
    assert server.violations == []
    assert [body.content for body in server.bodies] == [wire.content()]
    assert json.loads(calls_of(reply)[0].arguments) == {"path": "c"}


async def test_one_connection_serves_many_requests() -> None:
    """The few bytes after a terminal event are read, so the next request needs no new handshake."""
    with ChatServer([say("a")], repeat=True) as server:
        us = provider(server.base_url)
        for _ in range(3):
            await talk(us)
        await us.aclose()
    assert server.connections == 1


async def test_a_connection_closed_while_it_was_idle_is_no_failure() -> None:
    """Servers close kept connections whenever they like: the request goes over a new one."""
    with ChatServer([say("a"), say("", ending="drop"), say("b")]) as server:
        us = provider(server.base_url)
        texts = [text_of(await talk(us)) for _ in range(2)]
        await us.aclose()
    assert texts == ["a", "b"]
    assert server.connections == 2


async def test_a_server_that_hangs_up_on_a_new_connection_is_one() -> None:
    """PRV-9: nothing else is asked again by itself."""
    with ChatServer([say("", ending="drop"), say("never")]) as server:
        found = await refused(provider(server.base_url))
    assert found.kind == "transport"
    assert len(server.bodies) == 1


async def test_usage_tells_the_cache() -> None:
    """PRV-10."""
    with ChatServer([say("a"), say("b")]) as server:
        us = provider(server.base_url)
        first = (await talk(us, conversation())).usage
        again = (await talk(us, conversation())).usage
        await us.aclose()
    assert first.cached_tokens == 0
    assert again.cached_tokens == (first.prompt_tokens or 0) - 1


async def test_leaving_early_ends_the_connection(kind: str) -> None:
    """AGT-3: the server sees it at once, and what had come is kept."""
    with fake(kind, say("one two", ending="stall")) as server:
        us = provider(server.base_url, kind)
        async with ask(us) as exchange:
            await anext(exchange)
            kept = exchange.interrupted()
        assert await asyncio.to_thread(server.hung_up.wait, 2)
        await us.aclose()
    assert kept.parts == (Text("one two"),)
    assert kept.finish == "interrupted"


async def test_a_cancelled_turn_ends_the_connection(kind: str) -> None:
    """AGT-3: before the first word too."""
    with fake(kind, say("", ending="stall")) as server:
        us = provider(server.base_url, kind)
        task = asyncio.create_task(talk(us))
        assert await asyncio.to_thread(server.asked.wait, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 2)
        await us.aclose()


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_a_stream_without_an_end_is_incomplete(kind: str, ending: str) -> None:
    """PRV-8, REL-2: closed or reset, with the partial text at hand."""
    with fake(kind, say("half a", ending=ending)) as server:
        us = provider(server.base_url, kind)
        exchange = ask(us)
        with pytest.raises(ProviderError) as caught:
            await drain(exchange)
        await us.aclose()
    assert caught.value.kind == "incomplete_stream"
    assert caught.value.server == "fake"
    assert exchange.partial() == "half a" or (ending == "reset" and exchange.partial() == "")


async def test_a_reset_after_the_end_is_no_matter() -> None:
    with ChatServer([Raw(stream("C26_stream.sse") + b"\n\n", ending="reset")]) as server:
        us = provider(server.base_url)
        assert text_of(await talk(us)) == "one two three"
        await us.aclose()


async def test_bytes_in_any_pieces(kind: str) -> None:
    """C23, C25: the network's cuts are not the text's."""
    name, framed = (
        ("C25_stream.bin", "openai") if kind == "openai" else ("C25_ollama.ndjson", "ollama")
    )
    data = stream(name)
    places = tuple(json.loads(stream("C25_stream.cuts.json"))["cuts_inside_a_character"])
    with fake(kind, Raw(data, cuts=places, pause=0.002)) as server:
        us = provider(server.base_url, framed)
        assert (
            text_of(await talk(us)) == json.loads(stream("C25_stream.cuts.json"))["expected_text"]
        )
        await us.aclose()


async def test_no_word_in_time() -> None:
    """PRV-13: a server that accepts and says nothing."""
    with ChatServer([Raw(b"", ending="stall")]) as server:
        found = await refused(provider(server.base_url, timeouts=QUICK))
    assert found.kind == "timeout"
    assert "timeouts.first" in found.remedy


async def test_comments_alone_are_no_word() -> None:
    """C24: they show life, and still the patience for a first word ends."""
    body = b": ping\n\n" * 40
    with ChatServer([Raw(body, cuts=tuple(range(8, len(body), 8)), pause=0.05)]) as server:
        us = provider(server.base_url, timeouts=QUICK)
        began = time.monotonic()
        found = await refused(us)
    assert found.kind == "timeout"
    assert time.monotonic() - began < 1.5


async def test_comments_keep_a_reply_alive() -> None:
    """C24: idle time counts from the last byte, a comment's too."""
    first, rest = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n', b": ping\n\n"
    body = first + rest * 4 + b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
    cuts = tuple(len(first) + len(rest) * i for i in range(5))
    with ChatServer([Raw(body, cuts=cuts, pause=0.15)]) as server:
        us = provider(server.base_url, timeouts=Timeouts(first=2.0, idle=0.4))
        exchange = ask(us)
        deltas = await drain(exchange)
        await us.aclose()
    assert deltas.count(Alive()) == 4
    assert text_of(exchange.reply) == "hi"


async def test_a_reply_that_stands_still() -> None:
    with ChatServer([say("half", ending="stall")]) as server:
        us = provider(server.base_url, timeouts=Timeouts(first=5.0, idle=0.2))
        found = await refused(us)
    assert found.kind == "timeout"
    assert "timeouts.idle" in found.remedy


async def test_a_finished_reply_needs_no_patience() -> None:
    """A server that keeps the connection open after its last word costs nothing."""
    with ChatServer([Raw(stream("C16_step1.sse"), ending="stall")]) as server:
        us = provider(server.base_url)
        began = time.monotonic()
        assert text_of(await talk(us)) == "Hello"
        await us.aclose()
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("named", ["application/json", "text/event-stream", "text/plain"])
async def test_a_whole_answer_in_place_of_a_stream(named: str) -> None:
    """PRV-8: told by how it begins, whatever its type says."""
    answer = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    body = b"\r\n\xef\xbb\xbf " + json.dumps(answer, indent=1).encode()
    with ChatServer([Raw(body, named, cuts=(2, 9))]) as server:
        us = provider(server.base_url)
        assert text_of(await talk(us)) == "hi"
        await us.aclose()


async def test_a_stream_that_calls_itself_json() -> None:
    with ChatServer([Raw(stream("C16_step1.sse"), "application/json")]) as server:
        us = provider(server.base_url)
        exchange = ask(us)
        deltas = await drain(exchange)
        await us.aclose()
    assert text_of(exchange.reply) == "Hello"
    assert any(isinstance(delta, TextDelta) for delta in deltas)


async def test_an_error_object_that_calls_itself_a_stream() -> None:
    """C20."""
    body = json.dumps({"error": {"message": "no room", "code": "context_length_exceeded"}})
    with ChatServer([Raw(body.encode(), "text/event-stream")]) as server:
        found = await refused(provider(server.base_url))
    assert (found.kind, found.message) == ("context_exceeded", "no room")


async def test_nobody_listens() -> None:
    """PRV-9: the remedy says to start the server."""
    found = await refused(provider(f"http://127.0.0.1:{_free_port()}", "ollama"))
    assert found.kind == "transport"
    assert found.remedy == "Start Ollama, or correct the server's base_url"
    assert "cannot connect to http://127.0.0.1" in found.message


@pytest.mark.parametrize(
    "base", ["", "fake", "ftp://127.0.0.1", "http://", "http://[::1", "http://a b/"]
)
async def test_no_address_is_an_error_with_its_remedy(base: str) -> None:
    found = await refused(provider(base))
    assert found.kind == "transport"
    assert "base_url" in found.remedy


@pytest.mark.parametrize("base", ["http://8.8.8.8:1", "http://[2001:4860:4860::8888]:1"])
async def test_plain_http_stays_near(base: str) -> None:
    """PRV-13: http for loopback and private addresses, else `insecure`."""
    found = await refused(provider(base, secret=KEY))
    assert "insecure = true" in found.remedy


async def test_the_key_goes_in_its_header_and_into_no_error() -> None:
    """SEC-1: not even where the server repeats it."""
    words = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    with ChatServer([say("a"), error(401, words)], key=KEY) as server:
        us = provider(server.base_url, secret=f"{KEY}\n")
        await talk(us)
        found = await refused(us)
    assert server.bodies[0].headers["authorization"] == f"Bearer {KEY}"
    assert found.kind == "authentication"
    assert KEY not in f"{found!r}{found}{found.message}{found.detail}{us.endpoint!r}"
    assert "credential" in found.remedy


async def test_server_that_wants_a_key_where_none_is_named_says_where_to_name_one() -> None:
    with ChatServer([say("a")], key=KEY) as server:
        found = await refused(provider(server.base_url))
    assert found.kind == "authentication"
    assert 'credential = "env:NAME"' in found.remedy


async def test_three_turns_with_cerebras() -> None:
    """C16: with its dialect no request is refused, and the thinking goes back."""
    with ChatServer([Raw(stream("C16_step1.sse"))], repeat=True, flavour="cerebras") as server:
        us = provider(server.base_url)
        rows = [user("one")]
        for text in ("two", "three", "four"):
            answer = await talk(us, request(*rows), dialect="cerebras")
            rows += [AssistantRow(answer.parts), user(text)]
        wrong = await refused(us, request(*rows))
    assert server.bodies[2].body["messages"][2]["reasoning"] == "let me think"
    assert all("reasoning_content" in violation for violation in server.violations)
    assert wrong.kind == "invalid_request"
    assert 'dialect = "cerebras"' in wrong.remedy


async def test_another_header_for_the_key() -> None:
    with ChatServer([say("a")]) as server:
        us = provider(server.base_url, secret=KEY, auth="x-api-key")
        await talk(us)
        await us.aclose()
    assert server.bodies[0].headers["x-api-key"] == KEY
    assert "authorization" not in server.bodies[0].headers


async def test_a_key_that_no_header_can_carry() -> None:
    found = await refused(provider("http://127.0.0.1:9", secret="schlüssel\nx"))
    assert found.kind == "authentication"
    assert "schl" not in str(found)


async def test_known_secrets_leave_every_error() -> None:
    with ChatServer([error(400, {"error": "no hunter22 here"})]) as server:
        us = provider(server.base_url, redact=lambda text: text.replace("hunter22", "[hidden]"))
        found = await refused(us)
    assert found.message == "no [hidden] here"
    assert "hunter22" not in found.detail


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_redirect_is_followed(status: int) -> None:
    """PRV-13: a key goes to no other host."""
    with ChatServer([say("a")]) as other:
        there = f"{other.base_url}/chat/completions"
        with ChatServer([Raw(b"", status=status, headers={"Location": there})]) as server:
            found = await refused(provider(server.base_url, secret=KEY))
    assert other.requests == []
    assert there in found.message
    assert "base_url" in found.remedy


async def test_a_page_with_status_200() -> None:
    """C34."""
    page = b"<html><head><title>Log in</title></head></html>"
    with ChatServer([Raw(page, "text/html; charset=utf-8")]) as server:
        found = await refused(provider(server.base_url))
    assert "web page “Log in”" in found.message
    assert server.base_url in found.message


async def test_a_flood_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """REL-2: a stream without end fills no memory."""
    monkeypatch.setattr("nodwyn_tui.providers.exchange.REPLY_LIMIT", 1000)
    with ChatServer([say("x" * 5000)]) as server:
        found = await refused(provider(server.base_url))
    assert found.kind == "transport"


async def test_listings_are_read_and_never_name_the_session() -> None:
    """PRV-4."""
    with ChatServer(key=KEY) as server:
        us = provider(server.base_url, secret=KEY)
        (found,) = await us.catalogue.models()
        await us.aclose()
    assert found.id == "test-model"
    assert not any(name.startswith("x-session") for name in server.requests[0].headers)


async def test_a_listing_that_is_none() -> None:
    with ChatServer(key=KEY) as server:
        us = provider(server.base_url, secret="wrong-key-here")
        with pytest.raises(ProviderError) as caught:
            await us.catalogue.models()
        await us.aclose()
    assert caught.value.kind == "authentication"


async def test_the_tail_of_a_cut_reply_is_partial() -> None:
    with ChatServer([cut(say("as far as this"))]) as server:
        us = provider(server.base_url)
        exchange = ask(us)
        with pytest.raises(ProviderError):
            await drain(exchange)
        await us.aclose()
    assert exchange.partial() == "as far as this"
    with pytest.raises(RuntimeError):
        _ = exchange.reply


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
