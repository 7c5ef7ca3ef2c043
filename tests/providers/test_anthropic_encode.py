"""Requests in the Anthropic protocol: what the API takes, and nothing else."""

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Message, Request, ToolRow, UserRow
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic import BINDING_BETA, Anthropic
from nodwyn_tui.providers.base import Endpoint, WireRequest
from nodwyn_tui.providers.calls import INVALID
from nodwyn_tui.providers.registry import standing_headers
from tests.fakes.anthropic_rules import anthropic_problems, marked
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

ORIGIN = "fake/test-model"
ENDPOINT = Endpoint(server="fake", provider="anthropic", base_url="http://127.0.0.1")


def encode(what: Request, **more: Any) -> WireRequest:
    return Anthropic().encode(what, model("anthropic"), parameters(**more))


def body(what: Request, **more: Any) -> dict[str, Any]:
    return dict(json.loads(encode(what, **more).content()))


def messages(what: Request, **more: Any) -> list[dict[str, Any]]:
    return list(body(what, **more)["messages"])


def problems(what: Request, **more: Any) -> list[str]:
    """What the strict server would refuse of it."""
    wire = encode(what, **more)
    headers = {**standing_headers(ENDPOINT), **wire.headers}
    return list(anthropic_problems(json.loads(wire.content()), headers))


def signed(words: str = "hm", *, origin: str = ORIGIN, signature: str = "c2ln") -> Block:
    data = {"type": "thinking", "thinking": words, "signature": signature}
    return Block("thinking", origin, json.dumps(data))


def redacted(data: str = "cmVk") -> Block:
    return Block(
        "redacted_thinking", ORIGIN, json.dumps({"type": "redacted_thinking", "data": data})
    )


def call(id_: str = "c1", arguments: str = "{}") -> Call:
    return Call(id_, "fs-read", arguments)


def thoughtful(*parts: ReplyPart) -> Request:
    """A reply of these parts in a loop that goes on."""
    calls = [part for part in parts if isinstance(part, Call)]
    return request(user("hi"), AssistantRow(parts), *(result(c, "x") for c in calls), user("and?"))


def test_a_conversation() -> None:
    """Results of one reply are one message; thinking without a signature does not go back."""
    sent = body(conversation())
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "What is in a.txt and b?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Two files."},
                {"type": "tool_use", "id": "c1", "name": "fs-read", "input": {"path": "a.txt"}},
                {"type": "tool_use", "id": "c2", "name": "fs-read", "input": {"path": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "alpha"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "beta"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "alpha and beta"}]},
        {"role": "user", "content": [{"type": "text", "text": "Thanks. And c?"}]},
    ]
    assert sent["system"] == [{"type": "text", "text": "Be brief."}]
    assert list(sent["tools"][0]) == ["name", "description", "input_schema"]
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == ("test-model", 512, True)
    assert encode(conversation()).path == "/v1/messages"
    assert problems(conversation()) == []


def test_no_sampling_parameter_and_no_field_of_another_protocol_is_sent() -> None:
    """PRV-16."""
    more = {"keep_reasoning": True, "effort": "high", "cache_control": "1h", "session_key": KEY}
    more |= {"dialect": "cerebras", "num_ctx": 1, "keep_alive": "5m", "think": True}
    sent = body(conversation(), cache_key="session", **more)
    fields = {"model", "max_tokens", "stream", "thinking", "output_config", "system", "tools"}
    assert set(sent) == fields | {"messages"}
    assert problems(conversation(), cache_key="session", **more) == []


def test_results_stand_before_what_was_said_meanwhile() -> None:
    """Rows of one side make one message, in their order but for results, which come first."""
    what = request(
        user("a"), user("b"), reply("", "", call()), user("wait"), result(call(), "x"), user("c")
    )
    sent = messages(what)
    assert [block.get("text", block.get("content")) for block in sent[0]["content"]] == ["a", "b"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text", "text"]
    assert problems(what) == []
    two = messages(request(user("a"), reply("b"), reply("c"), user("d")))
    assert [len(message["content"]) for message in two] == [1, 2, 1]


def test_a_failed_result_says_so() -> None:
    row = ToolRow("c1", "fs-read", True, (Text("no such file"),))
    sent = messages(request(user("hi"), reply("", "", call()), row))
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no such file", "is_error": True}
    ]


BLANK = [
    pytest.param(AssistantRow(()), "(no answer)", id="stopped before the first word"),
    pytest.param(AssistantRow((Text("  \n"),)), "(no answer)", id="a blank answer"),
    pytest.param(AssistantRow((Thinking("hm"),)), "(no answer)", id="thinking alone"),
    pytest.param(UserRow((Text(" "),)), "(no text)", id="a blank message"),
]


@pytest.mark.parametrize(("row", "note"), BLANK)
def test_no_blank_text_is_ever_sent(row: Message, note: str) -> None:
    """C17 a, c, e, C18."""
    what = request(user("hi"), row, user("ok?"))
    assert note in [block["text"] for message in messages(what) for block in message["content"]]
    assert problems(what) == []


def test_a_call_without_text_has_none() -> None:
    """C17 b, d."""
    what = request(user("hi"), reply("", "", call()), result(call(), " \n"))
    sent = messages(what)
    assert [block["type"] for block in sent[1]["content"]] == ["tool_use"]
    assert sent[2]["content"][0]["content"] == "(no output)"
    assert problems(what, cache_control="ephemeral") == []


def test_a_window_that_begins_with_a_reply_gets_a_user_first() -> None:
    """C11."""
    what = request(reply("A summary."), user("go on"))
    assert [m["role"] for m in messages(what)] == ["user", "assistant", "user"]
    assert problems(what) == []
    assert [m["role"] for m in messages(request())] == ["user"]


def test_without_system_or_tools_there_are_none() -> None:
    """And the mark of the fixed part stands on what there is of it."""
    bare = request(user("hi"), system=" ", tools=())
    assert {"system", "tools"}.isdisjoint(body(bare, cache_control="ephemeral"))
    only_tools = body(request(user("hi"), system=""), cache_control="ephemeral")
    assert only_tools["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert problems(bare) == problems(request(user("hi"), system=""), cache_control="1h") == []


ARGUMENTS = '{"q":"naïve 中","n":1.0,"big":12345678901234567890}'


def test_arguments_are_an_object_and_keep_their_form() -> None:
    """C28."""
    what = thoughtful(call(arguments=ARGUMENTS))
    assert f'"input":{ARGUMENTS}'.encode() in encode(what).content()


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """C27."""
    assert messages(thoughtful(call(arguments=text)))[1]["content"][0]["input"] == {}


@pytest.mark.parametrize("text", ['{"path": "big', "[1]", "null", '{"n": NaN}'])
def test_arguments_that_are_no_object_go_back_inside_one(text: str) -> None:
    """C32."""
    what = thoughtful(call(arguments=text))
    assert messages(what)[1]["content"][0]["input"] == {INVALID: text}
    assert problems(what) == []


def test_blocks_go_back_as_given_and_where_they_were() -> None:
    """PRV-5, C12: each at its place among the calls, blanks, escapes and all."""
    first, second = signed("  odd\n\t", signature="AA+/=="), signed("", signature="QkI=")
    what = thoughtful(
        Thinking("odd"), first, Text("I look."), call("c1"), redacted(), second, call("c2")
    )
    sent = messages(what, keep_reasoning=True)[1]["content"]
    assert [block["type"] for block in sent] == [
        "thinking", "text", "tool_use", "redacted_thinking", "thinking", "tool_use",
    ]  # fmt: skip
    assert sent[0] == {"type": "thinking", "thinking": "  odd\n\t", "signature": "AA+/=="}
    assert sent[3] == {"type": "redacted_thinking", "data": "cmVk"}
    assert sent[4] == {"type": "thinking", "thinking": "", "signature": "QkI="}
    assert problems(what, keep_reasoning=True) == []


def test_a_reply_never_ends_in_thinking() -> None:
    """C18: the API takes none that does."""
    for parts in ([signed()], [Text("so"), redacted()]):
        sent = messages(thoughtful(*parts), keep_reasoning=True)[1]["content"]
        assert sent[-1] == {"type": "text", "text": "(no answer)"}
        assert problems(thoughtful(*parts), keep_reasoning=True) == []


def test_blocks_go_to_their_origin_alone() -> None:
    """PRV-6, C13: and only the kinds that this API made."""
    foreign = Block("reasoning", ORIGIN, '{"id": "rs_1"}')
    what = thoughtful(
        signed(origin="fake/other", signature="b3RoZXI="), foreign, signed(), Text("a")
    )
    sent = encode(what, keep_reasoning=True).content()
    assert b"c2ln" in sent
    assert b"b3RoZXI=" not in sent
    assert b"rs_1" not in sent


def three_replies() -> Request:
    one, two, three = (signed(signature=name) for name in ("b25l", "dHdv", "dGhyZWU="))
    return request(
        user("hi"),
        AssistantRow((one, call("c1"))),
        result(call("c1"), "x"),
        AssistantRow((two, Text("so"))),
        user("and?"),
        AssistantRow((three, call("c2"))),
        result(call("c2"), "y"),
    )


@pytest.mark.parametrize(
    ("keep", "effort", "sent"),
    [
        (True, None, {"b25l", "dHdv", "dGhyZWU="}),
        (True, "high", {"b25l", "dHdv", "dGhyZWU="}),
        ("latest", None, {"b25l", "dHdv", "dGhyZWU="}),
        (False, None, set()),
        (True, "off", set()),
        (True, "between_tools", set()),
    ],
)
def test_keep_reasoning_and_effort_say_whether_blocks_go_back(
    keep: Any, effort: str | None, sent: set[str]
) -> None:
    """ORD-7, PRV-5: those that the window holds; with them goes the ask to drop one that does not
    fit, and its beta. A request that switches thinking off takes none along.
    """
    what = three_replies()
    wire = encode(what, keep_reasoning=keep, effort=effort)
    found = {b["signature"] for m in messages(what, keep_reasoning=keep, effort=effort)
             for b in m["content"] if "signature" in b}  # fmt: skip
    assert found == sent
    binding = wire.body["thinking"].get("block_binding")
    assert binding == ({"prefix_mismatch_behavior": "drop_block"} if sent else None)
    assert wire.headers == ({"anthropic-beta": BINDING_BETA} if sent else {})
    assert problems(what, keep_reasoning=keep, effort=effort) == []


def test_a_session_that_keeps_reasoning_asks_alike_from_its_first_request() -> None:
    """PRV-5: the parameters never change, so that the cache holds."""
    first = encode(request(user("hi")), keep_reasoning=True)
    later = encode(three_replies(), keep_reasoning=True)
    assert (first.headers, first.body["thinking"]) == (later.headers, later.body["thinking"])


@pytest.mark.parametrize(
    ("effort", "thinking", "config"),
    [
        (None, {"type": "adaptive", "display": "summarized"}, None),
        ("low", {"type": "adaptive", "display": "summarized"}, {"effort": "low"}),
        ("xhigh", {"type": "adaptive", "display": "summarized"}, {"effort": "xhigh"}),
        ("off", {"type": "disabled"}, None),
        ("between_tools", {"type": "between_tools"}, None),
    ],
)
def test_effort(effort: str | None, thinking: object, config: object) -> None:
    """PRV-16: the text of the thinking is asked for."""
    sent = body(conversation(), effort=effort)
    assert (sent["thinking"], sent.get("output_config")) == (thinking, config)
    assert problems(conversation(), effort=effort) == []


def test_a_loop_whose_blocks_are_gone_can_go_on() -> None:
    """C14, ENG-20: thinking stays on; in adaptive mode the API takes a loop without its blocks."""
    what = request(user("hi"), reply("I look.", "hm", call()), result(call(), "x"))
    assert body(what, keep_reasoning=True)["thinking"]["type"] == "adaptive"
    assert problems(what, keep_reasoning=True) == []


def test_the_version_goes_with_every_request() -> None:
    """PRV-16."""
    assert standing_headers(ENDPOINT) == {"anthropic-version": "2026-10-21"}
    older = Endpoint(server="s", provider="anthropic", base_url="", api_version="2023-06-01")
    assert standing_headers(older) == {"anthropic-version": "2023-06-01"}
    assert standing_headers(Endpoint(server="s", provider="openai", base_url="")) == {}


def test_the_session_is_named_in_headers_only() -> None:
    """PRV-4: routers before the API read them, the API itself has no field for it."""
    named = {"session_key": KEY, "cache_key_header": "X-Route"}
    headers = {"X-Session-Id": KEY, "X-Session-Affinity": KEY, "X-Route": KEY}
    assert encode(conversation(), cache_key="session", **named).headers == headers
    assert encode(conversation(), cache_key="off", **named).headers == {}


# Cache marks.


def bare(value: Any) -> Any:
    """Without the marks."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def places(sent: Sequence[Any]) -> list[tuple[int, int]]:
    """Where messages bear marks."""
    return [
        (at, n)
        for at, message in enumerate(sent)
        for n, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def batch(number: int, size: int) -> list[Message]:
    """A reply of `size` calls and their results."""
    calls = [call(f"c{number}_{n}") for n in range(size)]
    return [reply("", "", *calls), *(result(each, "x") for each in calls)]


def test_no_mark_unless_the_cache_is_asked_for() -> None:
    """PRV-3."""
    for ask in (None, "off", "12h"):
        assert marked(body(conversation(), cache_control=ask)) == []


def test_marks_stand_at_the_former_end_and_at_the_end() -> None:
    """ORD-6: and at the end of what never changes."""
    first = body(request(user("hi")), cache_control="ephemeral")
    assert first["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert places(first["messages"]) == [(0, 0)]
    grown = request(user("hi"), *batch(1, 3))
    assert places(messages(grown, cache_control="ephemeral")) == [(0, 0), (2, 2)]
    grown = request(user("hi"), *batch(1, 3), *batch(2, 1))
    sent = body(grown, cache_control="1h")
    assert places(sent["messages"]) == [(2, 2), (4, 0)]
    assert {block["cache_control"]["ttl"] for block in marked(sent)} == {"1h"}
    assert "cache_control" not in sent["tools"][-1]


def test_a_mark_stands_half_way_where_many_blocks_came() -> None:
    """ORD-6, C19: more than a server looks back on; never on thinking."""
    few, many = request(user("hi"), *batch(1, 10)), request(user("hi"), *batch(1, 11))
    assert places(messages(few, cache_control="ephemeral")) == [(0, 0), (2, 9)]
    assert places(messages(many, cache_control="ephemeral")) == [(0, 0), (1, 10), (2, 10)]
    thoughts = AssistantRow((call("c0"), *[signed()] * 30, call("c1")))
    what = request(user("hi"), thoughts, result(call("c0"), "x"), result(call("c1"), "y"))
    more = {"keep_reasoning": True, "cache_control": "ephemeral"}
    assert places(messages(what, **more)) == [(0, 0), (1, 0), (2, 1)]
    assert problems(what, **more) == problems(many, cache_control="1h") == []


def test_where_only_the_latest_thinking_is_sent_marks_stand_before_it() -> None:
    """ORD-6, ORD-7: what comes after it is other in the next request."""
    latest = {"keep_reasoning": "latest", "cache_control": "ephemeral"}
    rows = list(three_replies().messages)
    rows[1], rows[3] = AssistantRow((call("c1"),)), reply("so")  # the window has left theirs out
    assert places(messages(request(*rows), **latest)) == [(2, 0), (4, 0)]
    assert places(messages(request(*rows[:5]), **latest)) == [(0, 0), (4, 0)]
    assert places(messages(request(*three_replies().messages[:3]), **latest)) == [(0, 0)]
    assert problems(request(*rows), **latest) == []


def test_the_former_mark_stands_before_what_was_not_answered_then() -> None:
    """ORD-6: fresh rows stood between the two; however long the message is, what was written before
    it is in reach of a mark.
    """
    said = [user(f"line {n}") for n in range(25)]
    rows = (user("hi"), reply("yes"), *said, AssistantRow((call("c1"),)), result(call("c1"), "x"))
    goes = request(*rows, user("[runtime] now"))
    asks = {"cache_control": "ephemeral", "history": len(rows), "former": 2}
    assert places(messages(goes, **asks)) == [(1, 0), (2, 12), (4, 0)]
    assert problems(goes, **asks) == []
    first = request(user("[runtime] now"), user("hi"))
    assert places(messages(first, cache_control="ephemeral", history=0, former=0)) == []


def test_a_mark_that_moves_changes_nothing_else() -> None:
    """ORD-8: the messages of the shorter request are the first ones of the longer, byte for byte
    but for the marks; the dialect remembers rows, and gives what a new one would.
    """
    kept, rows = Anthropic(), list(three_replies().messages)
    settings = parameters(cache_control="ephemeral", keep_reasoning=True)
    before: list[Any] = []
    for count in (1, 3, 5, 7):
        what = request(*rows[:count])
        wire = kept.encode(what, model("anthropic"), settings)
        assert (
            wire.content() == encode(what, cache_control="ephemeral", keep_reasoning=True).content()
        )
        sent = bare(json.loads(wire.content()))["messages"]
        assert json.dumps(sent).startswith(json.dumps(before)[:-1])
        assert sent == messages(what, keep_reasoning=True)
        before = sent


def test_rows_are_not_written_anew_for_what_came_since() -> None:
    """PERF-4: a message that lost its mark, and one that keeps it, are written once."""
    kept, rows = Anthropic(), [user("hi"), *batch(1, 2), *batch(2, 2), *batch(3, 2)]
    settings = parameters(cache_control="ephemeral")
    first = kept.encode(request(*rows[:7]), model("anthropic"), settings).body["messages"]
    second = kept.encode(request(*rows), model("anthropic"), settings).body["messages"]
    same = [one is other for one, other in zip(first, second, strict=False)]
    assert same == [True, True, False, True, True]


# Any conversation.

TEXTS = st.text(max_size=8)
PARTS = st.lists(
    st.one_of(
        TEXTS.map(Text),
        TEXTS.map(Thinking),
        st.just(signed()),
        st.just(redacted()),
        st.just(signed(origin="fake/other")),
        st.tuples(TEXTS, TEXTS | st.sampled_from([ARGUMENTS, "{", "[]"])).map(
            lambda pair: Call("", *pair)
        ),
    ),
    max_size=5,
)
SETTINGS = st.fixed_dictionaries(
    {
        "cache_control": st.sampled_from([None, "ephemeral", "1h"]),
        "keep_reasoning": st.sampled_from([True, False, "latest"]),
        "effort": st.sampled_from([None, "off", "max", "2048"]),
    }
)


def with_ids(turns: Sequence[tuple[Sequence[ReplyPart], str]]) -> list[Message]:
    rows: list[Message] = []
    for i, (parts, said) in enumerate(turns):
        made = [
            Call(f"c{i}_{n}", part.name, part.arguments) if isinstance(part, Call) else part
            for n, part in enumerate(parts)
        ]
        rows += [user(said), AssistantRow(tuple(made))]
        rows += [result(part, said) for part in made if isinstance(part, Call)]
    return rows


@given(st.lists(st.tuples(PARTS, TEXTS), max_size=4), SETTINGS)
def test_any_conversation_passes_the_strict_server(
    turns: list[tuple[list[ReplyPart], str]], settings: dict[str, Any]
) -> None:
    """PRV-17, C17, C19, C28: whatever people and models wrote."""
    what = replace(request(*with_ids(turns), user("and now?")), max_output=4096)
    assert problems(what, **settings) == []
    if turns and (goes_on := replace(what, messages=what.messages[:-1])).messages:
        assert isinstance(goes_on.messages[-1], AssistantRow) or problems(goes_on, **settings) == []
    once = encode(what, **settings).content()
    assert once == encode(copy.deepcopy(what), **settings).content()


# What refusals point at.


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("thinking.block_binding: Extra inputs are not permitted", "keep_reasoning = false"),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", "keep_reasoning = false"),
        ("Expected `thinking` or `redacted_thinking`, but found `text`", "keep_reasoning = false"),
        ("adaptive thinking is not supported on this model", 'effort = "off"'),
        ("thinking.display: Extra inputs are not permitted", 'effort = "off"'),
        ("thinking.type: `disabled` is not supported by this model", 'effort = "low"'),
        ("thinking: between_tools thinking is not supported on this model", 'effort = "low"'),
        ("output_config.effort: Input should be 'low'", "Remove effort"),
        ("cache_control: Extra inputs are not permitted", 'cache_control = "off"'),
        ("max_tokens: 64001 > 64000, which is the maximum", "max_output lower"),
        ("anthropic-version: “1” is not a valid version", "api_version"),
        ("messages: at least one message is required", ""),
    ],
)
def test_a_refusal_names_the_setting(words: str, setting: str) -> None:
    """PRV-9."""
    error = ProviderError("invalid_request", words, status=400)
    remedy = Anthropic().remedy(error, encode(conversation()))
    assert setting in remedy
    assert bool(remedy) == bool(setting)


def test_a_refused_key_points_at_the_header_it_goes_in() -> None:
    error = ProviderError("authentication", "invalid x-api-key", status=401)
    assert 'auth = "x-api-key"' in Anthropic().remedy(error, encode(conversation()))
    busy = ProviderError("overloaded", "thinking", status=529)
    assert Anthropic().remedy(busy, encode(conversation())) == ""
