"""Requests to bytes, in both dialects: what the servers take, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.events import Parameters
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Message, Request, ToolRow, UserRow
from nodwyn_tui.errors import ConfigError, ProviderError
from nodwyn_tui.providers.base import Dialect, WireRequest
from nodwyn_tui.providers.calls import INVALID
from nodwyn_tui.providers.chat_completions import DIALECTS, ChatCompletions
from nodwyn_tui.providers.ollama import Ollama
from nodwyn_tui.providers.opaque import kept
from nodwyn_tui.providers.registry import dialect
from nodwyn_tui.providers.session_key import PLAN_SCOPE, session_key
from tests.fakes.chat_rules import Flavour, chat_problems
from tests.fakes.ollama_rules import ollama_problems
from tests.providers.samples import (
    KEY,
    conversation,
    model,
    parameters,
    reply,
    request,
    result,
    user,
)


def chat(what: Request, **more: Any) -> WireRequest:
    return ChatCompletions().encode(what, model(), parameters(**more))


def ollama(what: Request, **more: Any) -> WireRequest:
    return Ollama().encode(what, model("ollama"), parameters(**more))


def problems(what: Request, flavour: Flavour = "compatible", **more: Any) -> list[str]:
    """What the strict servers would refuse of it, in both protocols."""
    sent = json.loads(chat(what, **more).content())
    native = json.loads(ollama(what).content())
    return [*chat_problems(sent, flavour), *ollama_problems(native)]


def messages(wire: WireRequest) -> list[dict[str, Any]]:
    return list(json.loads(wire.content())["messages"])


def test_a_conversation_in_chat_completions() -> None:
    body = json.loads(chat(conversation()).content())
    call = {"id": "c1", "type": "function"}
    assert body["messages"][:4] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is in a.txt and b?"},
        {
            "role": "assistant",
            "content": "Two files.",
            "reasoning_content": "I look.",
            "tool_calls": [
                {**call, "function": {"name": "fs-read", "arguments": '{"path": "a.txt"}'}},
                {**call, "id": "c2", "function": {"name": "fs-read", "arguments": '{"path": "b"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "alpha"},
    ]
    assert (body["model"], body["max_tokens"]) == ("test-model", 512)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert problems(conversation()) == []


def test_a_conversation_in_ollamas_protocol() -> None:
    """PRV-7."""
    body = json.loads(ollama(conversation(), keep_alive="30m", think=True).content())
    assert body["messages"][2]["thinking"] == "I look."
    assert body["messages"][2]["tool_calls"][0] == {
        "id": "c1",
        "function": {"name": "fs-read", "arguments": {"path": "a.txt"}},
    }
    assert body["messages"][3] == {
        "role": "tool",
        "tool_name": "fs-read",
        "tool_call_id": "c1",
        "content": "alpha",
    }
    assert body["options"] == {"num_ctx": 8192, "num_predict": 512}
    assert (body["truncate"], body["shift"]) == (False, False)
    assert (body["keep_alive"], body["think"]) == ("30m", True)


def test_num_ctx_is_in_every_request_to_ollama() -> None:
    """PRV-7: the smallest one too; without it nothing is encoded."""
    small = ollama(request(user("title?"), tools=()))
    assert json.loads(small.content())["options"]["num_ctx"] == 8192
    with pytest.raises(ValueError, match="num_ctx"):
        ollama(conversation(), num_ctx=None)


@pytest.mark.parametrize(("text", "sent"), [("5m", "5m"), ("-1", -1), ("0", 0), ("300", 300)])
def test_keep_alive_is_a_duration_or_a_number(text: str, sent: object) -> None:
    body = json.loads(ollama(conversation(), keep_alive=text).content())
    assert body["keep_alive"] == sent
    assert list(ollama_problems(body)) == []


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({}, None),
        ({"effort": "off"}, False),
        ({"effort": "high"}, "high"),
        ({"think": False}, False),
    ],
)
def test_ollamas_think(more: dict[str, Any], sent: object) -> None:
    assert json.loads(ollama(conversation(), **more).content()).get("think") == sent


@pytest.mark.parametrize("encode", [chat, ollama])
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter(encode: Any) -> None:
    """ORD-8: messages come last, so the body only grows, and the same request is the same bytes."""
    whole = conversation()
    one, two = Call("c1", "fs-read", '{"path": "a.txt"}'), Call("c2", "fs-read", '{"path": "b"}')
    shorter = request(*whole.messages[:4])
    assert result(one, "alpha") in shorter.messages
    assert result(two, "beta") in shorter.messages
    assert encode(whole).content().startswith(encode(shorter).content().removesuffix(b"]}"))
    assert encode(whole).content() == encode(conversation()).content()


BLANK = [
    pytest.param(AssistantRow(()), "(no answer)", id="stopped before the first word"),
    pytest.param(AssistantRow((Text("  \n"),)), "(no answer)", id="a blank answer"),
    pytest.param(AssistantRow((Thinking("hm"),)), "(no answer)", id="thinking alone"),
    pytest.param(UserRow((Text(" "),)), "(no text)", id="a blank message"),
]


@pytest.mark.parametrize(("row", "note"), BLANK)
def test_no_blank_text_is_ever_sent(row: Message, note: str) -> None:
    """C17 a, c, e, C18: a short note stands where nothing was said."""
    what = request(user("hi"), row, user("ok?"))
    assert messages(chat(what))[2]["content"] == note
    assert messages(ollama(what))[2]["content"] == note
    assert problems(what) == []


def test_a_call_without_text_has_none() -> None:
    """C17 b, d: calls stand alone, and a result without output says so."""
    call = Call("c1", "fs-read", "{}")
    what = request(user("hi"), reply("", "", call), result(call, " \n"))
    assert messages(chat(what))[2]["content"] is None
    assert "content" not in messages(ollama(what))[2]
    assert [m[-1]["content"] for m in (messages(chat(what)), messages(ollama(what)))] == [
        "(no output)"
    ] * 2
    assert problems(what) == []


def test_a_window_that_begins_with_a_reply_gets_a_user_first() -> None:
    """C11."""
    what = request(reply("A summary."), user("go on"))
    assert [m["role"] for m in messages(chat(what))] == ["system", "user", "assistant", "user"]
    assert problems(what) == []
    assert [m["role"] for m in messages(chat(request()))] == ["system", "user"]


def test_messages_of_the_user_in_a_row_stay_apart_unless_the_server_wants_turns() -> None:
    """C11: a row of the window is a message; `alternating` is for templates that refuse that."""
    what = request(user("a"), user("b"), reply("c"), user("d"))
    assert len(messages(chat(what))) == 5
    joined = messages(chat(what, dialect="alternating"))
    assert [m["content"] for m in joined] == ["Be brief.", "a\n\nb", "c", "d"]
    assert problems(what, "alternating", dialect="alternating") == []
    assert any("must alternate" in problem for problem in problems(what, "alternating"))


def test_a_user_who_speaks_before_the_answer_waits_for_a_turn() -> None:
    """C11: after a stopped run or in the middle of one, calls and results are no turn."""
    call = Call("c1", "fs-read", "{}")
    what = request(
        user("a"), reply("", "", call), result(call, "x"), user("b"), reply("c"), user("d")
    )
    sent = messages(chat(what, dialect="alternating"))
    assert [m["content"] for m in sent[3:6]] == ["x", "(no answer)", "b"]
    assert problems(what, "alternating", dialect="alternating") == []
    assert len(messages(chat(what))) == len(sent) - 1


ARGUMENTS = '{"q":"naïve 中","n":1.0,"big":12345678901234567890}'


def test_arguments_in_each_protocols_form() -> None:
    """C28: a string or an object; letters and numbers as they were."""
    call = Call("c1", "fs-read", ARGUMENTS)
    what = request(user("hi"), reply("", "", call), result(call, "x"))
    assert messages(chat(what))[2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert f'"arguments":{ARGUMENTS}'.encode() in ollama(what).content()


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """C27."""
    call = Call("c1", "fs-read", text)
    what = request(user("hi"), reply("", "", call), result(call, "x"))
    assert messages(chat(what))[2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert messages(ollama(what))[2]["tool_calls"][0]["function"]["arguments"] == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "big.md", "content": "# Rep',
        "[1]",
        '"text"',
        "null",
        '{"n": NaN}',
        '{"n": 1e999}',
        '{"a":' * 3000,
        '{"n": %s}' % ("9" * 5000),
    ],
)
def test_arguments_that_are_no_object_go_back_inside_one(text: str) -> None:
    """C32: no server ever gets broken JSON, and the model sees what it wrote."""
    call = Call("c1", "fs-read", text)
    what = request(user("hi"), reply("", "", call), result(call, "cut"))
    sent = messages(chat(what))[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {INVALID: text}
    assert messages(ollama(what))[2]["tool_calls"][0]["function"]["arguments"] == {INVALID: text}
    assert problems(what) == []


def test_half_a_character_in_arguments_breaks_nothing() -> None:
    call = Call("c1", "fs-read", '{"path": "\\ud83d"}')
    what = request(user("hi"), reply("", "", call), result(call, "x"))
    assert problems(what) == []


@pytest.mark.parametrize(
    ("name", "sent"), [("fs.read!", "fs_read_"), ("", "unknown"), ("x" * 99, "x" * 64)]
)
def test_a_name_that_a_model_made_up_is_sent_in_a_form_that_servers_take(
    name: str, sent: str
) -> None:
    call = Call("c1", name, "{}")
    what = request(user("hi"), reply("", "", call), result(call, "no such tool"))
    assert messages(chat(what))[2]["tool_calls"][0]["function"]["name"] == sent
    assert messages(ollama(what))[3]["tool_name"] == sent
    assert problems(what) == []


DIALECT_FLAVOURS: list[tuple[str, Flavour, str | None]] = [
    ("compatible", "compatible", "reasoning_content"),
    ("cerebras", "cerebras", "reasoning"),
    ("deepseek", "deepseek", "reasoning_content"),
    ("vllm", "vllm", "reasoning"),
    ("llamacpp", "llamacpp", "reasoning_content"),
    ("alternating", "alternating", "reasoning_content"),
    ("openai", "openai", None),
]


@pytest.mark.parametrize(("name", "flavour", "field"), DIALECT_FLAVOURS)
def test_history_thinking_goes_back_in_the_dialects_field(
    name: str, flavour: Flavour, field: str | None
) -> None:
    """PRV-2, C16."""
    sent = messages(chat(conversation(), dialect=name))[2]
    found = {key: sent[key] for key in ("reasoning", "reasoning_content") if key in sent}
    assert found == ({field: "I look."} if field else {})
    more = {
        "cache_control": "ephemeral",
        "cache_key": "session",
        "session_key": KEY,
        "effort": "off",
    }
    more |= {"cache_control": "off"} if flavour in {"openai", "deepseek"} else {}
    assert problems(conversation(), flavour, dialect=name, **more) == []


def test_deepseek_wants_the_field_on_every_turn_with_calls() -> None:
    """PRV-2: empty too; never on a turn without calls."""
    call = Call("c1", "fs-read", "{}")
    what = request(user("hi"), reply("", "", call), result(call, "x"), reply("done"), user("?"))
    sent = messages(chat(what, dialect="deepseek"))
    assert sent[2]["reasoning_content"] == ""
    assert "reasoning_content" not in sent[4]
    assert problems(what, "deepseek", dialect="deepseek") == []
    assert any("passed back" in problem for problem in problems(what, "deepseek"))


def test_every_dialect_is_a_row_that_encodes() -> None:
    for name in DIALECTS:
        assert chat(conversation(), dialect=name).body["messages"]
    with pytest.raises(ConfigError, match="compatible, openai"):
        chat(conversation(), dialect="cerebra")


def test_the_session_is_named_as_the_person_wants() -> None:
    """PRV-4."""
    assert session_key("20261129T120000Z-0123abcd") == session_key("20261129T120000Z-0123abcd")
    assert len(session_key("x")) == 64
    named = {"session_key": KEY, "cache_key_header": "X-Route"}
    both = {"X-Session-Id": KEY, "X-Session-Affinity": KEY, "X-Route": KEY}
    full, headers, off = (
        chat(conversation(), cache_key=mode, **named) for mode in ("session", "header", "off")
    )
    assert (full.body["prompt_cache_key"], full.headers) == (KEY, both)
    assert ("prompt_cache_key" in headers.body, headers.headers) == (False, both)
    assert ("prompt_cache_key" in off.body, off.headers) == (False, {})
    assert ollama(conversation(), cache_key="session", **named).headers == {"X-Route": KEY}


@pytest.mark.parametrize("mode", ["session", "header", "off"])
@pytest.mark.parametrize("scopes", [None, ("openid",), ("openid", PLAN_SCOPE)])
def test_a_plans_token_names_the_session_as_its_server_routes(
    mode: str, scopes: tuple[str, ...] | None
) -> None:
    """PRV-4: only what was granted the plan's use, never an API key, and never where it is off."""
    sent = chat(conversation(), cache_key=mode, session_key=KEY, scopes=scopes).headers
    bears = mode != "off" and scopes is not None and PLAN_SCOPE in scopes
    wanted = {"session-id": KEY, "thread-id": KEY, "x-client-request-id": KEY} if bears else {}
    assert {name: value for name, value in sent.items() if not name.startswith("X-")} == wanted


@pytest.mark.parametrize(
    ("ask", "sent"),
    [
        (None, None),
        ("off", None),
        ("ephemeral", {"type": "ephemeral"}),
        ("1h", {"type": "ephemeral", "ttl": "1h"}),
    ],
)
def test_the_top_level_cache_ask(ask: str | None, sent: object) -> None:
    """PRV-3."""
    assert chat(conversation(), cache_control=ask).body.get("cache_control") == sent
    assert "cache_control" not in chat(conversation(), cache_control=ask, dialect="cerebras").body


def marks(wire: WireRequest) -> list[int]:
    """The places of messages that bear a cache mark."""
    sent = messages(wire)
    return [n for n, m in enumerate(sent) if "cache_control" in json.dumps(m["content"])]


def test_marks_stand_before_rows_that_go() -> None:
    """ORD-6: at the end of Region A, before the former request's fresh rows, and before its own;
    what a request says is the same with them and without.
    """
    rows = (*conversation().messages[:5], user("[runtime] now"), user("And?"))
    sent = chat(request(*rows), cache_control="1h", history=5, former=4)
    assert "cache_control" not in sent.body
    assert marks(sent) == [0, 4, 5]
    assert messages(sent)[5]["content"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    plain = messages(chat(request(*rows)))
    for marked, bare in zip(messages(sent), plain, strict=True):
        texts = [part["text"] for part in marked["content"] or []]
        assert "".join(texts) == (bare["content"] or "")
        assert {**marked, "content": 0} == {**bare, "content": 0}
    assert problems(request(*rows), cache_control="1h", history=5, former=4) == []
    assert marks(chat(request(*rows), cache_control="1h", history=5, dialect="cerebras")) == []
    # What the latest reply answered stood behind fresh rows then: it was no history.
    after = (*conversation().messages, reply("No c."), user("[runtime] now"), user("So?"))
    assert marks(chat(request(*after), cache_control="1h", history=7, former=5)) == [0, 5, 7]


def test_marks_and_the_requests_own_ask_where_all_stays() -> None:
    """ORD-6, PRV-3: a server that reads the ask alone is served too; together they are four."""
    many = [Call(f"c{n}", "fs-read", "{}") for n in range(25)]
    rows = (user("hi"), reply("I look.", "", *many), *(result(call, "x") for call in many))
    asked = chat(request(*rows), cache_control="ephemeral")
    assert asked.body["cache_control"] == {"type": "ephemeral"}
    assert marks(asked) == [0, 1, 27]
    assert problems(request(*rows), cache_control="ephemeral") == []
    goes = request(user("Is it?"), reply("Yes."), *rows, user("[runtime] now"))
    asks = {"cache_control": "ephemeral", "history": 29, "former": 2}
    assert marks(chat(goes, **asks)) == [0, 2, 4, 29]
    assert problems(goes, **asks) == []


def test_a_first_request_with_rows_that_go_is_marked_behind_its_system_prompt() -> None:
    """ORD-6: there is no history yet; a window that begins with a reply counts from there."""
    first = request(user("[runtime] now"), user("hi"))
    assert marks(chat(first, cache_control="ephemeral", history=0)) == [0]
    opened = request(reply("So far."), user("[runtime] now"), user("And?"))
    assert marks(chat(opened, cache_control="ephemeral", history=1, former=0)) == [0, 2]


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"effort": "high"}, ("reasoning_effort", "high")),
        ({"effort": "off"}, ("reasoning_effort", "none")),
        ({"effort": "off", "dialect": "cerebras"}, ("disable_reasoning", True)),
        ({"effort": "off", "dialect": "deepseek"}, ("thinking", {"type": "disabled"})),
    ],
)
def test_effort(more: dict[str, Any], sent: tuple[str, object]) -> None:
    assert chat(conversation(), **more).body[sent[0]] == sent[1]
    assert "reasoning_effort" not in chat(conversation()).body


def test_blocks_of_other_protocols_stay_at_home() -> None:
    """PRV-6, C13: opaque reasoning goes to its origin alone; the text goes anywhere."""
    row = AssistantRow((Block("thinking", "anthropic/x", "c2ln"), Thinking("hm"), Text("ok")))
    what = request(user("hi"), row, user("?"))
    assert b"c2ln" not in chat(what).content() + ollama(what).content()
    assert problems(what) == []


DETAILS = [{"type": "reasoning.text", "text": "hm <&> 中", "signature": "S==", "index": 0}]


def with_details(origin: str = "fake/test-model") -> Request:
    call = Call("c1", "fs-read", "{}")
    block = next(kept("reasoning_details", origin, DETAILS))
    row = AssistantRow((block, Thinking("hm"), Text("Let me see."), call))
    return request(user("hi"), row, result(call, "x"))


@pytest.mark.parametrize("name", ["compatible", None])
def test_reasoning_details_go_back_in_place_of_the_thinking(name: str | None) -> None:
    """PRV-5: the array as it came, on its message; no text of it beside."""
    sent = messages(chat(with_details(), dialect=name))[2]
    assert sent["reasoning_details"] == DETAILS
    assert "reasoning_content" not in sent
    assert problems(with_details(), dialect=name or "compatible") == []


@pytest.mark.parametrize(
    ("name", "flavour", "origin"),
    [
        ("compatible", "compatible", "fake/another"),
        ("cerebras", "cerebras", "fake/test-model"),
        ("deepseek", "deepseek", "fake/test-model"),
        ("vllm", "vllm", "fake/test-model"),
        ("openai", "openai", "fake/test-model"),
    ],
)
def test_reasoning_details_go_to_their_origin_where_the_dialect_takes_them(
    name: str, flavour: Flavour, origin: str
) -> None:
    """PRV-6, C13: else the thinking goes, as if there were none."""
    sent = messages(chat(with_details(origin), dialect=name))[2]
    assert "reasoning_details" not in sent
    field = DIALECTS[name].thinking
    assert not field or sent[field] == "hm"
    assert problems(with_details(origin), flavour, dialect=name) == []
    assert b"S==" not in ollama(with_details(origin)).content()


def test_refused_details_name_the_setting() -> None:
    wire = chat(with_details())
    error = ProviderError("invalid_request", "messages.1.reasoning_details: unknown field")
    assert 'dialect = "llamacpp"' in ChatCompletions().remedy(error, wire)
    silent = ProviderError("invalid_request", "Bad Request")
    assert "may not take reasoning_details" in ChatCompletions().remedy(silent, wire)


def test_an_unknown_provider_is_named() -> None:
    assert dialect("openai").name == "openai"
    assert dialect("ollama").name == "ollama"
    with pytest.raises(ConfigError, match="ollama, openai"):
        dialect("open-ai")


TEXTS = st.text(max_size=12)
CALLS = st.builds(
    lambda name, text: (name, text), TEXTS, TEXTS | st.sampled_from([ARGUMENTS, "{", "[]"])
)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.lists(CALLS, max_size=3), TEXTS), max_size=5))
def test_any_conversation_passes_the_strict_servers(
    turns: list[tuple[str, str, list[tuple[str, str]], str]],
) -> None:
    """PRV-17, C17, C28: whatever people and models wrote, no strict server refuses its form."""
    rows: list[Message] = []
    for i, (said, thought, wanted, answer) in enumerate(turns):
        calls = [Call(f"c{i}_{j}", name, text) for j, (name, text) in enumerate(wanted)]
        rows.append(UserRow((Text(said),)))
        rows.append(AssistantRow((Thinking(thought), Text(answer), *calls)))
        rows += [ToolRow(call.id, call.name, False, (Text(said),)) for call in calls]
    what = request(*rows, user("and now?"))
    for encoder, check in (
        (chat, lambda body: chat_problems(body, "compatible")),
        (ollama, ollama_problems),
    ):
        clean = Request(what.system, what.tools, what.max_output, what.messages)
        body = json.loads(encoder(clean).content().decode("utf-8"))
        assert list(check(body)) == []


@pytest.mark.parametrize("kind", [ChatCompletions, Ollama])
def test_what_is_remembered_changes_no_byte(kind: type[ChatCompletions] | type[Ollama]) -> None:
    """PERF-4: a dialect that wrote other windows before gives the bytes of one that did not, and
    they are the JSON of the body.
    """
    used, rows = kind(), conversation().messages
    for length in (6, 1, 4, 2, 6, 5, 3, 6):
        for name in ("compatible", "cerebras", "alternating"):
            what = request(*rows[:length], user(f"{length}"), rows[0])
            settings = parameters(dialect=name)
            wire = used.encode(what, model(), settings)
            assert wire == kind().encode(what, model(), settings)
            plain = json.dumps(wire.body, ensure_ascii=False, separators=(",", ":"))
            assert wire.content() == plain.encode()


def test_a_row_is_written_once() -> None:
    """PERF-4: the next step's body holds the very messages of the last one's."""
    used = ChatCompletions()
    whole = conversation()
    first = used.encode(request(*whole.messages[:4]), model(), parameters())
    second = used.encode(whole, model(), parameters())
    assert all(
        a is b
        for a, b in zip(first.body["messages"][1:], second.body["messages"][1:], strict=False)
    )


def test_dialects_are_pure() -> None:
    """The same arguments give the same bytes, from any instance."""
    kinds: list[type[Dialect]] = [ChatCompletions, Ollama]
    for kind in kinds:
        again = [kind().encode(conversation(), model(), Parameters(num_ctx=1)) for _ in range(2)]
        assert again[0] == again[1]
        assert again[0].content() == again[1].content()
