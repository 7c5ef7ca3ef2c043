"""Canonical bytes: what the digest covers."""

import json

from nodwyn_tui.domain import canonical
from nodwyn_tui.domain.events import LlmResponse, UserMessage
from nodwyn_tui.domain.parts import Call, Image, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Request, ToolRow, ToolSpec, UserRow
from nodwyn_tui.domain.usage import Usage, totals


def test_request_has_the_published_form() -> None:
    """ENG-25: the schema is a contract; a provider's own id stands outside the digest."""
    request = Request(
        system="s",
        tools=(ToolSpec("t", "d", {"type": "object"}),),
        max_output=7,
        messages=(
            UserRow((Text("hi"), Image("ab", "image/png", 1, 2))),
            AssistantRow((Thinking("hm"), Text("ok"), Call("c1", "t", '{"b":1,"a":2}', "call_0"))),
            ToolRow("c1", "t", False, (Text("中"),)),
        ),
    )
    data = canonical.request_bytes(request)
    assert (
        data
        == (
            '{"max_output":7,"messages":['
            '{"parts":[{"text":"hi","type":"text"},{"height":2,"mime":"image/png","sha256":"ab","type":"image","width":1}],"role":"user"},'
            '{"parts":[{"text":"hm","type":"thinking"},{"text":"ok","type":"text"},'
            '{"arguments":"{\\"b\\":1,\\"a\\":2}","id":"c1","name":"t","type":"call"}],"role":"assistant"},'
            '{"call_id":"c1","is_error":false,"name":"t","parts":[{"text":"中","type":"text"}],"role":"tool"}],'
            '"system":"s","tools":[{"description":"d","name":"t","parameters":{"type":"object"}}]}'
        ).encode()
    )


def test_request_is_the_sum_of_its_pieces() -> None:
    """ENG-27: what is hashed piece by piece is the request's own bytes."""
    rows = (UserRow((Text('a "b" 中'),)), AssistantRow((Text("c"),)))
    tools = (ToolSpec("t", "d", {"type": "object"}),)
    for messages in ((), rows[:1], rows):
        request = Request(system="s\n", tools=tools, max_output=7, messages=messages)
        assert canonical.request_bytes(request) == b"".join(
            (
                canonical.before_messages(7),
                b",".join(map(canonical.message_bytes, messages)),
                canonical.after_messages(
                    canonical.system_bytes(request.system), canonical.tools_bytes(tools)
                ),
            )
        )


def test_event_line_keeps_extra_fields_and_order() -> None:
    event = UserMessage(seq=3, at="t", run=1, text="hi", extra={"later": 1})
    assert list(canonical.event_line(event)) == [
        "seq", "at", "type", "ctx", "run", "text", "via", "rejected", "later",
    ]  # fmt: skip
    assert canonical.event_line(event)["type"] == "user.message"


def test_response_line_keeps_the_providers_call_id() -> None:
    event = LlmResponse(req=1, finish="calls", parts=(Call("a", "t", "{}", "call_0"),))
    assert canonical.event_line(event)["parts"] == [
        {"id": "a", "name": "t", "arguments": "{}", "provider_id": "call_0", "type": "call"}
    ]


def test_clean_makes_every_later_step_total() -> None:
    """C55: half pairs and NUL are replaced, whole pairs given apart become their character."""
    assert canonical.clean("a\ud83db\0c") == "a\ufffdb\ufffdc"
    assert canonical.clean("\ud83d\ude00") == "😀"
    assert canonical.clean("plain 中 😀") == "plain 中 😀"
    json.dumps(canonical.clean_json({"a\0": ["\udcff", 1, None]})).encode()


def test_cache_rate_weighs_tokens_and_knows_unknown_from_zero() -> None:
    """ENG-29."""
    assert totals([]).cache_rate is None
    assert totals([Usage(prompt_tokens=10), Usage(cached_tokens=5)]).cache_rate is None
    assert totals([Usage(prompt_tokens=10, cached_tokens=0)]).cache_rate == 0.0
    assert (
        totals(
            [Usage(prompt_tokens=100, cached_tokens=0), Usage(prompt_tokens=300, cached_tokens=300)]
        ).cache_rate
        == 0.75
    )
