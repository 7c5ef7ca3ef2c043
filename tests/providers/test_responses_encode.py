"""Requests to the Responses API: what it takes, and nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.deltas import TextDelta
from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Json, Message, Request, ToolRow, UserRow
from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.base import WireRequest
from nodwyn_tui.providers.calls import INVALID
from nodwyn_tui.providers.opaque import kept
from nodwyn_tui.providers.registry import dialect
from nodwyn_tui.providers.responses import Responses
from tests.fakes.responses_rules import Issued, breakpoints, responses_problems
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import say
from tests.providers.samples import (
    KEY,
    conversation,
    model,
    parameters,
    provider,
    reply,
    request,
    result,
    user,
)

ORIGIN = "fake/test-model"
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def encode(what: Request, **more: Any) -> WireRequest:
    return Responses().encode(what, model("responses"), parameters(**more))


def body(what: Request, **more: Any) -> dict[str, Json]:
    return dict(json.loads(encode(what, **more).content()))


def items(what: Request, **more: Any) -> list[dict[str, Json]]:
    return list(body(what, **more)["input"])


def problems(what: Request, *issued: tuple[str, Issued], **more: Any) -> list[str]:
    return [words for _, words in responses_problems(body(what, **more), dict(issued))]


def thought(encrypted: str, summary: str = "", origin: str = ORIGIN) -> Block:
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    value = {"type": "reasoning", "summary": parts, "encrypted_content": encrypted}
    return next(kept("reasoning", origin, value))


ONE, TWO = Call("c1", "fs-read", '{"path": "a"}'), Call("c2", "fs-read", '{"path": "b"}')


def with_reasoning(origin: str = ORIGIN, *more: ReplyPart) -> Request:
    parts = (Thinking("plan"), thought("E1", "plan", origin), ONE, thought("E2", "", origin), TWO)
    return request(
        user("hi"),
        AssistantRow((*parts, *more)),
        result(ONE, "alpha"),
        result(TWO, "beta"),
        AssistantRow((thought("E3", "done", origin), Text("Both read.", "final_answer"))),
        user("on"),
    )


ISSUED = [
    ("E1", Issued("plan", ("function_call", "c1"))),
    ("E2", Issued("", ("function_call", "c2"))),
    ("E3", Issued("done", ("message", "Both read."))),
]


def test_a_conversation() -> None:
    """Flat tools, inline items in order, no thinking text: it has no field to go back in."""
    sent = body(conversation())
    assert list(sent) == [
        "model", "stream", "store", "max_output_tokens", "tools", "instructions", "input",
    ]  # fmt: skip
    assert (sent["store"], sent["stream"], sent["max_output_tokens"]) == (False, True, 512)
    assert sent["instructions"] == "Be brief."
    assert sent["tools"][0]["name"] == "fs-read"
    assert sent["tools"][0]["strict"] is False
    assert sent["input"][:5] == [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "What is in a.txt and b?"}],
        },
        {"type": "message", "role": "assistant", "content": "Two files."},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "fs-read",
            "arguments": '{"path": "a.txt"}',
        },
        {"type": "function_call", "call_id": "c2", "name": "fs-read", "arguments": '{"path": "b"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "alpha"},
    ]
    assert problems(conversation()) == []


def test_reasoning_goes_back_before_what_it_came_before() -> None:
    """PRV-5, C15: encrypted and inline, no id; `phase` kept."""
    sent = items(with_reasoning(), keep_reasoning=True)
    kinds = [item["type"] for item in sent]
    assert kinds == [
        "message", "reasoning", "function_call", "reasoning", "function_call",
        "function_call_output", "function_call_output", "reasoning", "message", "message",
    ]  # fmt: skip
    assert [item["encrypted_content"] for item in sent if item["type"] == "reasoning"] == [
        "E1", "E2", "E3",
    ]  # fmt: skip
    assert sent[1]["summary"] == [{"type": "summary_text", "text": "plan"}]
    assert sent[8]["phase"] == "final_answer"
    assert not any("id" in item for item in sent)
    assert problems(with_reasoning(), *ISSUED, keep_reasoning=True) == []


@pytest.mark.parametrize("origin", ["other/test-model", "fake/another"])
def test_reasoning_goes_to_its_origin_only(origin: str) -> None:
    """PRV-6, C13: another model's, and another protocol's, stays at home."""
    what = with_reasoning(origin)
    assert "reasoning" not in {item["type"] for item in items(what, keep_reasoning=True)}
    row = AssistantRow((Block("thinking", ORIGIN, '{"signature":"s"}'), Thinking("hm"), Text("ok")))
    assert b"signature" not in encode(request(user("hi"), row, user("?"))).content()
    assert problems(what, keep_reasoning=True) == []


LONELY = [
    pytest.param((thought("E1"),), id="alone"),
    pytest.param((thought("E1"), Text("(no answer)")), id="before the program's own note"),
    pytest.param((Text("said"), thought("E1")), id="behind the last word"),
    pytest.param((thought("E1"), Text(" \n")), id="before a blank"),
]


@pytest.mark.parametrize("parts", LONELY)
def test_reasoning_that_leads_nowhere_stays_at_home(parts: tuple[ReplyPart, ...]) -> None:
    """Without the item that it led to it would be refused; a short note stands for it (C18)."""
    what = request(user("hi"), AssistantRow(parts), user("on"))
    assert [item["type"] for item in items(what)] == ["message"] * 3
    assert problems(what) == []


def test_reasoning_behind_the_last_call_stands_before_the_results() -> None:
    """C35: where the reply had it."""
    row = AssistantRow((ONE, thought("E1")))
    what = request(user("hi"), row, result(ONE, "x"))
    assert [item["type"] for item in items(what)][1:] == [
        "function_call", "reasoning", "function_call_output",
    ]  # fmt: skip
    assert problems(what, ("E1", Issued("", None))) == []


@pytest.mark.parametrize(
    ("more", "reasoning", "include"),
    [
        ({}, None, False),
        ({"effort": "high"}, {"effort": "high", "summary": "auto"}, False),
        ({"effort": "off"}, {"effort": "none"}, False),
        ({"effort": "high", "summary": "off"}, {"effort": "high"}, False),
        ({"summary": "detailed"}, {"summary": "detailed"}, False),
        ({"summary": "off"}, None, False),
        ({"keep_reasoning": "latest"}, {"summary": "auto"}, True),
        ({"keep_reasoning": True}, {"summary": "auto", "context": "all_turns"}, True),
        (
            {"keep_reasoning": True, "effort": "off"},
            {"effort": "none", "summary": "auto", "context": "all_turns"},
            True,
        ),
    ],
)
def test_what_is_asked_of_reasoning(more: dict[str, Any], reasoning: Json, include: bool) -> None:
    """PRV-5: nothing at all where no setting is about it."""
    sent = body(conversation(), **more)
    assert sent.get("reasoning") == reasoning
    assert sent.get("include") == (["reasoning.encrypted_content"] if include else None)
    assert problems(conversation(), **more) == []


def test_the_session_is_named_as_the_person_wants() -> None:
    """PRV-4."""
    named = {"session_key": KEY, "cache_key_header": "X-Route"}
    both = {"X-Session-Id": KEY, "X-Session-Affinity": KEY, "X-Route": KEY}
    full, headers, off = (
        encode(conversation(), cache_key=mode, **named) for mode in ("session", "header", "off")
    )
    assert (full.body["prompt_cache_key"], full.headers) == (KEY, both)
    assert ("prompt_cache_key" in headers.body, headers.headers) == (False, both)
    assert ("prompt_cache_key" in off.body, off.headers) == (False, {})


PLAN = ("offline_access", "chatgpt.tokens.use.direct")


@pytest.mark.parametrize(("mode", "sent"), [("session", True), ("header", True), ("off", False)])
def test_a_plans_requests_name_the_session_in_three_more_headers(mode: str, sent: bool) -> None:
    """PRV-4: wherever the key is sent at all; a request with an API key never bears them."""
    plan = ("session-id", "thread-id", "x-client-request-id")
    named = {"session_key": KEY, "cache_key": mode}
    found = encode(conversation(), scopes=PLAN, **named).headers
    assert [found.get(name) for name in plan] == [KEY if sent else None] * 3
    for scopes in (None, (), ("offline_access",)):
        assert not set(plan) & set(encode(conversation(), scopes=scopes, **named).headers)


@pytest.mark.parametrize("scopes", [PLAN, None])
async def test_a_plan_reads_its_cache_where_its_headers_lead(
    scopes: tuple[str, ...] | None,
) -> None:
    """PRV-4: without them its requests go to one machine after the other."""
    what = request(user("x" * 9_000))
    named = parameters(cache_key="session", session_key=KEY, scopes=scopes)
    with ResponsesServer([say("ok")], repeat=True, replicas=3, plan=True) as server:
        client = provider(server.base_url, "responses")
        for _ in range(3):
            async with client.stream(what, model("responses"), named) as exchange:
                assert [d.text async for d in exchange if isinstance(d, TextDelta)] == ["ok"]
        await client.aclose()
    cached = [cached for _, cached in server.reads]
    assert cached[0] == 0
    assert all(tokens > 2_000 for tokens in cached[1:]) == bool(scopes)


@pytest.mark.parametrize(("ask", "ttl"), [("ephemeral", "30m"), ("12h", "12h")])
def test_the_cache_is_asked_for_at_the_history_marks(ask: str, ttl: str) -> None:
    """PRV-3, ORD-6: at the end of what never changes, at the former marker and at this one; a reply
    bears none, so the block before it does.
    """
    whole = conversation()
    shorter = request(*whole.messages[:4])
    sent = body(shorter, cache_control=ask)
    assert sent["prompt_cache_options"] == {"mode": "implicit", "ttl": ttl}
    assert "instructions" not in sent
    assert sent["input"][0]["role"] == "system"
    assert breakpoints(sent["input"]) == [0, 6], "no history before the first answer"
    assert sent["input"][6]["output"] == [{"type": "input_text", "text": "beta", **MARK}]
    asked_on = body(whole, cache_control=ask)["input"]
    assert breakpoints(asked_on) == [0, 6], "both markers stand on the last result"
    on = request(*whole.messages, reply("c is gamma"), user("and d?"))
    assert breakpoints(body(on, cache_control=ask)["input"]) == [0, 6, 8]
    for what in (shorter, whole, on, request(user("first"))):
        assert problems(what, cache_control=ask) == []
    assert breakpoints(body(request(user("first")), cache_control=ask)["input"]) == [0]


def test_nothing_is_written_behind_rows_that_go() -> None:
    """ORD-6: the marks stand at the markers that the window gives, and the server sets none."""
    plan, now = user("[plan] c is next"), user("[runtime] now")
    first = request(*conversation().messages[:4], plan, now)
    asks = {"cache_control": "ephemeral", "history": 5, "former": 0}
    sent = body(first, **asks)
    assert sent["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
    assert breakpoints(sent["input"]) == [0, 7], "behind the plan row, before what is there now"
    assert problems(first, **asks) == []
    then = request(*conversation().messages[:4], plan, reply("I see."), now, user("Go on."))
    asked_on = body(then, **{**asks, "history": 6, "former": 5})["input"]
    assert breakpoints(asked_on) == [0, 7], "a reply bears none"
    assert (
        body(request(now, user("hi")), **{**asks, "history": 0})["input"][1:]
        == body(request(now, user("hi")), cache_control="ephemeral")["input"][1:]
    )


def test_a_reply_without_reasoning_holds_no_mark_back() -> None:
    """ORD-6, ORD-7: where only the latest reply's goes back, and it has none."""
    settled = request(*conversation().messages[:4])
    marked = items(settled, cache_control="ephemeral", keep_reasoning="latest")
    assert marked[breakpoints(marked)[-1]]["output"][0]["text"] == "beta"


def test_marks_come_and_go_and_change_nothing_else() -> None:
    """ORD-8: without them, the longer conversation begins with the shorter one's bytes."""
    whole = conversation()
    sent = [
        json.dumps(items(request(*whole.messages[:length]), cache_control="ephemeral"))
        for length in (4, 6)
    ]
    bare = [text.replace(", " + json.dumps(MARK)[1:-1], "") for text in sent]
    assert bare[1].startswith(bare[0].removesuffix("]"))


def test_latest_only_reasoning_stands_behind_the_mark() -> None:
    """ORD-6, ORD-7: what leaves with the next reply ends no prefix that could be read again."""
    what = request(*with_reasoning().messages[:4])
    marked = items(what, cache_control="ephemeral", keep_reasoning="latest")
    assert breakpoints(marked) == [0, 1], "the question is history once the model called tools"
    longer = items(with_reasoning(), cache_control="ephemeral", keep_reasoning="latest")
    assert [longer[at]["type"] for at in breakpoints(longer)] == [
        "message", "message", "function_call_output",
    ]  # fmt: skip


@pytest.mark.parametrize("more", [{}, {"keep_reasoning": True}])
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter(more: dict[str, Any]) -> None:
    """ORD-8: the body only grows, and the same request is the same bytes."""
    whole = with_reasoning().messages
    for length in range(1, len(whole)):
        shorter = encode(request(*whole[:length]), **more).content()
        assert encode(request(*whole), **more).content().startswith(shorter.removesuffix(b"]}"))
    assert encode(request(*whole), **more).content() == encode(request(*whole), **more).content()


BLANK = [
    (AssistantRow(()), "(no answer)"),
    (AssistantRow((Text("  \n"),)), "(no answer)"),
    (AssistantRow((Thinking("hm"),)), "(no answer)"),
    (UserRow((Text(" "),)), "(no text)"),
]


@pytest.mark.parametrize(("row", "note"), BLANK)
def test_no_blank_text_is_ever_sent(row: Message, note: str) -> None:
    """C17 a, c, e, C18."""
    what = request(user("hi"), row, user("ok?"))
    content = items(what)[1]["content"]
    assert (content if isinstance(content, str) else content[0]["text"]) == note
    assert problems(what) == []


def test_a_call_without_text_stands_alone() -> None:
    """C17 b, d."""
    what = request(user("hi"), reply("", "", ONE), result(ONE, " \n"))
    assert items(what)[1:] == [
        {"type": "function_call", "call_id": "c1", "name": "fs-read", "arguments": ONE.arguments},
        {"type": "function_call_output", "call_id": "c1", "output": "(no output)"},
    ]
    assert problems(what) == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('{"q":"naïve 中","n":1.0,"big":12345678901234567890}', None),
        ("", "{}"),
        ('{"content": "# Rep', json.dumps({INVALID: '{"content": "# Rep'})),
    ],
)
def test_arguments_are_the_text_of_an_object(text: str, sent: str | None) -> None:
    """C27, C28, C32."""
    call = Call("c1", "fs.read!", text)
    what = request(user("hi"), reply("", "", call), result(call, "x"))
    assert items(what)[1]["arguments"] == (text if sent is None else sent)
    assert items(what)[1]["name"] == "fs_read_"
    assert problems(what) == []


TEXTS = st.text(max_size=12)
PARTS = st.one_of(
    TEXTS.map(Text),
    TEXTS.map(Thinking),
    TEXTS.map(lambda text: Text(text, "commentary")),
    st.tuples(TEXTS, TEXTS).map(lambda pair: Call("", *pair)),
)


@given(st.lists(st.tuples(TEXTS, st.lists(PARTS, max_size=5)), max_size=5), st.booleans())
def test_any_conversation_passes_the_strict_server(
    turns: list[tuple[str, list[ReplyPart]]], marked: bool
) -> None:
    """PRV-17, C17, C28: whatever people and models wrote."""
    rows: list[Message] = []
    for i, (said, parts) in enumerate(turns):
        named = [
            Call(f"c{i}_{j}", part.name, part.arguments) if isinstance(part, Call) else part
            for j, part in enumerate(parts)
        ]
        rows += [UserRow((Text(said),)), AssistantRow(tuple(named))]
        calls = [part for part in named if isinstance(part, Call)]
        rows += [ToolRow(call.id, call.name, False, (Text(said),)) for call in calls]
    what = request(*rows, user("and now?"))
    assert problems(what, cache_control="ephemeral" if marked else None) == []


def test_what_is_remembered_changes_no_byte() -> None:
    """PERF-4: what other windows were written before, for whom, and with which marks."""
    used, rows = Responses(), with_reasoning().messages
    for length in (6, 1, 4, 2, 6, 5, 3, 6):
        for origin in (ORIGIN, "other"):
            for ask in (None, "ephemeral"):
                what, whom = request(*rows[:length]), replace(model("responses"), origin=origin)
                wire = used.encode(what, whom, parameters(cache_control=ask))
                fresh = Responses().encode(what, whom, parameters(cache_control=ask))
                assert wire.content() == fresh.content()
                plain = json.dumps(wire.body, ensure_ascii=False, separators=(",", ":"))
                assert wire.content() == plain.encode()
    whole = [used.encode(request(*rows[:n]), model("responses"), parameters()) for n in (4, 6)]
    assert all(a is b for a, b in zip(*(w.body["input"] for w in whole), strict=False))


REMEDIES: list[tuple[ErrorKind, str, str]] = [
    ("invalid_request", "Encrypted content is not supported with this model.", "keep_reasoning"),
    ("invalid_request", "The encrypted content gAAA could not be verified", "keep_reasoning"),
    ("not_found", "Item with id 'rs_1' not found. Items are not persisted", "keep_reasoning"),
    (
        "invalid_request",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item",
        "keep_reasoning = false",
    ),
    ("invalid_request", "Unknown parameter: 'reasoning.context'", '"latest"'),
    ("invalid_request", "Unsupported parameter: 'reasoning.effort' is not supported", "effort"),
    ("invalid_request", "must be verified to generate reasoning summaries", 'summary = "off"'),
    ("invalid_request", "Unknown parameter: 'prompt_cache_key'.", "cache_key"),
    ("invalid_request", "Unknown parameter: 'prompt_cache_options'.", "cache_control"),
    ("invalid_request", "max_output_tokens: below minimum value", "max_output"),
    ("not_found", "no such path: /v1/responses", 'provider = "openai"'),
    ("not_found", "The model `gpt` does not exist", ""),
    ("rate_limit", "slow down", ""),
]


@pytest.mark.parametrize(("kind", "words", "remedy"), REMEDIES)
def test_a_refusal_names_the_setting(kind: ErrorKind, words: str, remedy: str) -> None:
    """PRV-9."""
    found = Responses().remedy(ProviderError(kind, words), encode(conversation()))
    assert remedy in found
    assert bool(found) == bool(remedy)


def test_the_registry_knows_it() -> None:
    assert dialect("responses").name == "responses"
