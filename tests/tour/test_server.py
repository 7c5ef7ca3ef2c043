"""The tour's server speaks Ollama's protocol."""

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from ollama import ChatResponse, ListResponse, ShowResponse

from nodwyn_tui.tour.chapters import CHAPTERS
from nodwyn_tui.tour.server import CONTEXT, MODEL, TourServer

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("fs-list", "fs-read", "fs-search", "fs-edit", "shell", "plan-write")
]


def asked(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}, *messages]}
    return body | {"tools": TOOLS, "options": {"num_ctx": CONTEXT}} | more


async def chat(client: httpx.AsyncClient, body: dict[str, Any]) -> list[ChatResponse]:
    """The lines of one reply, each validated by Ollama's own client library."""
    async with client.stream("POST", "/api/chat", json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/x-ndjson"
        return [ChatResponse.model_validate_json(line) async for line in response.aiter_lines()]


async def test_a_reply_streams_word_by_word_and_ends_with_its_figures() -> None:
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        *lines, last = await chat(client, asked())
        assert not any(line.done for line in lines)
        assert "".join(line.message.content or "" for line in lines).startswith("**Tour 1/7")
        assert len(lines) > 50
        assert last.done
        assert last.done_reason == "stop"
        assert last.prompt_eval_count
        assert last.prompt_eval_duration
        assert last.eval_count
        assert last.model == MODEL


async def test_calls_come_whole_with_ids_after_thinking_and_text() -> None:
    welcome = {"role": "assistant", "content": "**Tour 1/7 · Welcome**"}
    body = asked(welcome, {"role": "user", "content": "on"})
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        lines = await chat(client, body)
        async with client.stream("POST", "/api/chat", json=body) as response:
            raw = [json.loads(line) async for line in response.aiter_lines()]
        unthinking = await chat(client, body | {"think": False})
    assert "".join(line.message.thinking or "" for line in lines) == CHAPTERS[1].steps[0].thinking
    assert not any(line.message.thinking for line in unthinking)
    calls = [call for line in raw for call in line["message"].get("tool_calls", [])]
    assert [call["function"]["name"] for call in calls] == ["fs-list", "fs-read"]
    assert calls[1]["function"]["arguments"] == {"path": "README.md"}
    assert len({call["id"] for call in calls}) == 2
    kinds = [
        next((k for k in ("tool_calls", "thinking") if line["message"].get(k)), "content")
        for line in raw
    ]
    assert [kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]] == [
        "thinking",
        "content",
        "tool_calls",
        "content",
    ]


async def test_a_warm_prefix_is_evaluated_faster() -> None:
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        long = {"role": "user", "content": "word " * 4000}
        cold = (await chat(client, asked(long)))[-1]
        warm = (await chat(client, asked(long, {"role": "user", "content": "more"})))[-1]
    assert (warm.prompt_eval_count or 0) > (cold.prompt_eval_count or 0) > 5000
    assert (warm.prompt_eval_duration or 0) * 20 < (cold.prompt_eval_duration or 0)


async def test_a_prompt_over_the_context_is_refused_and_never_cut() -> None:
    body = asked({"role": "user", "content": "x" * 5 * CONTEXT})
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        response = await client.post("/api/chat", json=body)
        small = await client.post("/api/chat", json=asked() | {"options": {"num_ctx": 50}})
    assert response.status_code == small.status_code == 400
    assert "exceed_context_size_error" in response.json()["error"]


async def test_the_listings_name_a_guide_and_no_model() -> None:
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        tags = ListResponse.model_validate_json((await client.get("/api/tags")).content)
        shown = await client.post("/api/show", json={"model": MODEL})
        before = (await client.get("/api/ps")).json()
        await chat(client, asked())
        after = (await client.get("/api/ps")).json()
        version = (await client.get("/api/version")).json()
    assert [model.model for model in tags.models] == [MODEL]
    details = ShowResponse.model_validate_json(shown.content)
    assert "tools" in (details.capabilities or [])
    assert (details.modelinfo or {})["tour.context_length"] == CONTEXT
    assert before == {"models": []}
    assert after["models"][0]["context_length"] == CONTEXT
    assert version["version"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/api/chat", b'{"model": "llama3", "messages": []}', 404),
        ("POST", "/api/show", b'{"model": "llama3"}', 404),
        ("POST", "/api/chat", b"{", 400),
        ("POST", "/api/chat", b"[]", 400),
        ("POST", "/api/chat", b'{"model": "nodwyn-tour", "messages": "hi"}', 400),
        ("POST", "/api/chat", b'{"model": "nodwyn-tour", "messages": ["hi"]}', 400),
        ("GET", "/api/chat", b"", 404),
        ("POST", "/v1/chat/completions", b"{}", 404),
    ],
)
async def test_what_it_does_not_serve_is_an_error(
    method: str, path: str, content: bytes, status: int
) -> None:
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        response = await client.request(method, path, content=content)
    assert response.status_code == status
    assert response.json()["error"]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"hello\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 431"),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"HTTP/1.1 413"),
        (b"POST /api/chat HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 411"),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}", b""),
        (b"", b""),
    ],
)
async def test_whatever_else_comes_in_ends_that_connection_only(sent: bytes, answer: bytes) -> None:
    async with TourServer(pace=0) as server, httpx.AsyncClient(base_url=server.base_url) as client:
        port = int(server.base_url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        assert (await reader.read()).startswith(answer)
        writer.close()
        assert (await client.get("/api/version")).status_code == 200


async def test_a_reader_that_leaves_does_no_harm() -> None:
    """Esc: the stream is closed in the middle, and the next request is served."""
    async with (
        TourServer(pace=500) as server,
        httpx.AsyncClient(base_url=server.base_url) as client,
    ):
        async with client.stream("POST", "/api/chat", json=asked()) as response:
            await anext(response.aiter_lines())
        assert (await client.get("/api/version")).status_code == 200


async def test_leaving_the_block_ends_a_reply_that_streams() -> None:
    async with TourServer(pace=1) as server:
        port = int(server.base_url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps(asked()).encode()
        writer.write(b"POST /api/chat HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.readuntil(b"\r\n\r\n")
        before = time.monotonic()
    assert time.monotonic() - before < 2
    assert b"0\r\n\r\n" not in await reader.read()
    writer.close()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        await asyncio.open_connection("127.0.0.1", port)


async def test_the_pace_is_kept() -> None:
    """At a pace a reply takes at least as long as its tokens."""
    welcome = {"role": "assistant", "content": "**Tour 4/7 · "}
    body = asked(welcome, {"role": "assistant", "content": "x"}, {"role": "user", "content": "on"})
    async with (
        TourServer(pace=400) as server,
        httpx.AsyncClient(base_url=server.base_url) as client,
    ):
        before = time.monotonic()
        *lines, _last = await chat(client, body)
        spent = time.monotonic() - before
    text = "".join(line.message.content or "" for line in lines)
    assert spent >= len(text.encode()) / 4 / 400
