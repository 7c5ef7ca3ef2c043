"""PRV-17: the fake Anthropic API is honest: the official client understands it, and it refuses what
the real one refuses.
"""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import pytest

from nodwyn_tui.providers.anthropic import BINDING_BETA, Anthropic
from tests.fakes.anthropic_server import AnthropicServer, Thought, turn
from tests.fakes.script import ScriptedCall, call, error, say
from tests.providers.samples import conversation, model, parameters

Body = dict[str, Any]
Change = Callable[[Body], Any]
HEADERS = {"anthropic-version": "2026-10-21", "anthropic-beta": BINDING_BETA}
KEY = "k" * 20


def body(**more: Any) -> Body:
    settings = parameters(**{"keep_reasoning": True, "cache_control": "ephemeral", **more})
    return dict(
        json.loads(Anthropic().encode(conversation(), model("anthropic"), settings).content())
    )


def post(server: AnthropicServer, sent: Body, headers: Any = None) -> httpx.Response:
    url = server.root + server.chat_path
    return httpx.post(url, json=sent, headers=headers or HEADERS, trust_env=False)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = answer.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def client(server: AnthropicServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.base_url, api_key=KEY, max_retries=0)


def test_the_official_client_reads_the_fake() -> None:
    script = [
        turn(Thought("Hm."), "I look.", ScriptedCall("a", '{"x": 1}'), Thought(redacted=True),
             ScriptedCall("b", "")),
        error(529, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
    ]  # fmt: skip
    with AnthropicServer(script, key=KEY) as server:
        sent = {k: v for k, v in body().items() if k != "stream"}
        with client(server).beta.messages.stream(**sent, betas=[BINDING_BETA]) as stream:
            message = stream.get_final_message()
        kinds = [block.type for block in message.content]
        assert kinds == ["thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
        assert message.content[2].input == {"x": 1}
        assert message.content[4].input == {}
        assert (message.stop_reason, message.input_transformations) == ("tool_use", [])
        assert message.usage.output_tokens_details.thinking_tokens == 0
        with pytest.raises(anthropic.APIStatusError) as caught:
            client(server).beta.messages.create(**sent, betas=[BINDING_BETA])
        assert caught.value.status_code == 529
        listed = client(server).models.list().data
        assert [entry.id for entry in listed] == ["test-model"]
        assert client(server).models.retrieve("test-model").max_input_tokens == 200_000
    assert server.violations == []


def blocks(sent: Body, at: int) -> Any:
    return sent["messages"][at]["content"]


def set_blocks(sent: Body, at: int, value: Any) -> None:
    sent["messages"][at]["content"] = value


def image(media: str, data: str) -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def png(width: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, 1) + b"\0" * 9
    return base64.b64encode(head).decode()


def mark_all(sent: Body) -> None:
    for message in sent["messages"]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}


def split_results(sent: Body) -> None:
    one, two = blocks(sent, 2)
    sent["messages"][2:3] = [{"role": "user", "content": [one]}, {"role": "user", "content": [two]}]


THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
EPHEMERAL, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}

REFUSED: list[tuple[Change, str]] = [
    (lambda b: b["messages"].pop(2), "without `tool_result` blocks immediately after"),
    (lambda b: set_blocks(b, 2, blocks(b, 2)[:1]), "without `tool_result`"),
    (lambda b: b["messages"].pop(1), "unexpected `tool_use_id`"),
    (lambda b: set_blocks(b, 2, [{"type": "text", "text": "x"}, *blocks(b, 2)]), "before anything"),
    (split_results, "without `tool_result`"),
    (lambda b: blocks(b, 1)[2].update(id="c1"), "must be unique"),
    (lambda b: blocks(b, 1)[1].update(name="a b"), "does not match the pattern"),
    (lambda b: blocks(b, 1)[1].update(input='{"path": "a"}'), "input"),
    (lambda b: blocks(b, 2)[0].pop("tool_use_id"), "tool_use_id"),
    (lambda b: set_blocks(b, 0, []), "must not be empty"),
    (lambda b: set_blocks(b, 0, " \n"), "non-whitespace"),
    (lambda b: blocks(b, 2)[0].update(content=""), "non-whitespace"),
    (lambda b: b["messages"].pop(0), "must use the user role"),
    (lambda b: b["messages"].pop(), "prefill"),
    (lambda b: b.update(messages=[]), "at least one"),
    (lambda b: b["messages"][0].update(role="tool"), "role"),
    (lambda b: b["messages"][0].update(name="x"), "name"),
    (lambda b: b.update(unheard_of=1), "unheard_of"),
    (lambda b: b.update(temperature=1.0), "temperature: Extra inputs are not permitted"),
    (lambda b: b.update(top_p=1), "top_p"),
    (lambda b: b.pop("max_tokens"), "max_tokens"),
    (lambda b: b.update(max_tokens=64_001), "which is the maximum"),
    (mark_all, "maximum of 4"),
    (lambda b: b["messages"][-1]["content"][-1].update(cache_control=LONG), "must not come after"),
    (lambda b: b["system"][0]["cache_control"].update(ttl="2h"), "ttl"),
    (lambda b: blocks(b, 1).insert(0, {**THINKING, "cache_control": EPHEMERAL}), "cache_control"),
    (lambda b: blocks(b, 3).append(THINKING), "final block"),
    (lambda b: b["tools"][0].update(input_schema={"type": "string"}), "should be 'object'"),
    (lambda b: b["tools"].append(b["tools"][0]), "given twice"),
    (lambda b: b["tools"][0].update(parameters={}), "parameters"),
    (lambda b: blocks(b, 0).append(image("image/bmp", "AAAA")), "bmp"),
    (lambda b: b["thinking"].update(type="disabled"), "block_binding"),
    (lambda b: b.update(thinking={"type": "enabled", "budget_tokens": 2000}), "budget_tokens"),
    (lambda b: b["messages"][1]["content"].insert(0, THINKING), "Invalid `signature`"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_the_fake_refuses(change: Change, words: str) -> None:
    """A body that the real server would refuse gets 400 and is remembered."""
    sent = body()
    change(sent)
    with AnthropicServer([say("never")], thinks=("adaptive", "disabled", "enabled")) as server:
        answer = post(server, sent)
    assert answer.status_code == 400
    assert any(words in violation for violation in server.violations), server.violations
    assert len(server.script) == 1


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([image("image/png", "A" * (5 * 1024 * 1024 + 4))], "exceeds 5 MB"),
        ([image("image/png", png(8001))], "8000 pixels"),
        ([image("image/png", png(2001))] * 21, "2000 pixels"),
        ([image("image/png", png(1))] * 101, "too many images"),
    ],
)
def test_the_fake_refuses_pictures_over_the_limits(pictures: list[Body], words: str) -> None:
    sent = body()
    blocks(sent, 0).extend(pictures)
    with AnthropicServer([say("never")]) as server:
        post(server, sent)
    assert any(words in violation for violation in server.violations), server.violations


def test_the_fake_refuses_strangers_and_what_it_does_not_have() -> None:
    with AnthropicServer([say("never")], key=KEY) as server:
        assert post(server, body()).json()["error"]["type"] == "authentication_error"
        assert post(server, body(), {**HEADERS, "x-api-key": KEY}).status_code == 401
    with AnthropicServer([say("ok")], key=KEY, auth="x-api-key") as server:
        assert post(server, body(), {**HEADERS, "x-api-key": KEY}).status_code == 200
    with AnthropicServer([], thinks=("disabled",)) as server:
        assert post(server, body(effort="off") | {"model": "another"}).status_code == 404
        assert post(server, body(effort="off")).status_code == 500
        assert post(server, body(), {"x": "y"}).status_code == 400
        assert post(server, body()).status_code == 400
    for words in ("end of the script", "anthropic-version", "block_binding", "adaptive thinking"):
        assert any(words in violation for violation in server.violations), server.violations


def test_the_fake_overflows_in_the_apis_words() -> None:
    with AnthropicServer([say("never")], context=50) as server:
        assert "tokens > 50 maximum" in post(server, body()).json()["error"]["message"]


def grown(sent: Body, answer: list[dict[str, Any]], *more: Body) -> Body:
    """A request with the reply that the events make, and what was said to it."""
    made: list[Body] = []
    for event in answer:
        if event["type"] == "content_block_start":
            made.append(dict(event["content_block"]))
        for name, value in event.get("delta", {}).items():
            if name in {"thinking", "signature", "text"}:
                made[-1][name] += value
    reply, said = {"role": "assistant", "content": made}, {"role": "user", "content": list(more)}
    return {**sent, "messages": [*sent["messages"], reply, said]}


OK = {"type": "text", "text": "ok?"}
DROP = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: blocks(b, -2)[0].update(thinking="hM"), "Invalid `signature`"),
        (lambda b: blocks(b, -2)[0].update(signature="AAAA"), "Invalid `signature`"),
        (lambda b: blocks(b, 0)[0].update(text="changed"), "different conversation"),
        (lambda b: b["tools"][0].update(description="changed"), "different conversation"),
        (lambda b: b["system"][0].update(text="changed"), "different conversation"),
        (lambda b: blocks(b, -2).insert(0, blocks(b, -2).pop(1)), "order"),
        (lambda b: blocks(b, -2).pop(0), "different conversation"),
    ],
)
def test_the_fake_holds_blocks_to_what_came_before_them(change: Change, words: str) -> None:
    """C12: changed, moved, or with another prefix than they were made with."""
    sent = body() | {"thinking": {"type": "adaptive", "display": "summarized"}}
    with AnthropicServer([turn(Thought("hm"), Thought("so"), "a", "b"), say("c")]) as server:
        after = grown(sent, events(post(server, sent)), OK)
        change(after)
        assert post(server, after).status_code == 400
    assert any(words in violation for violation in server.violations), server.violations


def test_the_fake_drops_blocks_where_it_is_told_to() -> None:
    """And says so; marks and the way that texts are split are no part of a prefix."""
    sent = body()
    with AnthropicServer([turn(Thought("hm"), "a"), say("b"), say("c")]) as server:
        after = grown(sent, events(post(server, sent)), OK)
        for message in after["messages"]:
            message["content"][-1].pop("cache_control", None)
        assert post(server, after).status_code == 200
        blocks(after, 0)[0]["text"] = "changed"
        start = events(post(server, after))[0]["message"]
    assert [found["reason"] for found in start["input_transformations"]] == [
        "prefix_binding_mismatch"
    ]
    assert (server.dropped, server.violations) == ([[], [], ["prefix_binding_mismatch"]], [])


def test_the_fake_forgets_another_models_blocks() -> None:
    sent = body()
    with AnthropicServer([turn(Thought("hm"), "a"), say("b")]) as server:
        after = grown(sent, events(post(server, sent)), OK)
        server.model = "newer"
        assert post(server, {**after, "model": "newer"}).status_code == 200
    assert server.dropped[-1] == ["model_binding_mismatch"]


def test_the_fake_wants_a_loop_with_a_budget_to_begin_with_thinking() -> None:
    """C14: in adaptive mode it may begin with anything."""
    results = {"messages": conversation_until_results()}
    enabled = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
    with AnthropicServer([say("a")], thinks=("adaptive", "enabled")) as server:
        assert post(server, body() | results | enabled).status_code == 400
        assert "expected `thinking`" in server.violations[-1]
        assert post(server, body() | results).status_code == 200


def test_the_fake_takes_a_loop_with_a_budget_whose_later_replies_do_not_think() -> None:
    """C14: models that take a budget think at a loop's beginning."""
    enabled = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
    script = [turn(Thought("hm"), ScriptedCall("fs-read", "{}")), call("fs-read", {}), say("so")]
    with AnthropicServer(script, thinks=("enabled",)) as server:
        sent = {**body(cache_control=None), **enabled}
        for _ in range(2):
            made = events(post(server, sent))
            (id_,) = [
                event["content_block"]["id"]
                for event in made
                if event["type"] == "content_block_start"
                and event["content_block"]["type"] == "tool_use"
            ]
            answer = {"type": "tool_result", "tool_use_id": id_, "content": "x"}
            sent = grown(sent, made, answer)
        assert post(server, sent).status_code == 200
    assert server.violations == []


def conversation_until_results() -> list[Body]:
    return list(body(cache_control=None)["messages"][:3])


def usages(*texts: list[str], minimum: int = 512, ttl: str = "5m") -> list[Body]:
    """What the fake reports for requests of these texts, the last of each marked, and the system
    prompt.
    """
    mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    with AnthropicServer([say("a")], repeat=True, minimum=minimum) as server:
        found = []
        for said in texts:
            content = [{"type": "text", "text": text} for text in said]
            content[-1] |= mark
            sent = body(cache_control="1h" if ttl == "1h" else "ephemeral")
            sent["messages"] = [{"role": "user", "content": content}]
            found.append(events(post(server, sent))[0]["message"]["usage"])
    assert server.violations == []
    return found


def read(usage: Body) -> tuple[int, int, int]:
    """Tokens read anew, read from the cache, and written to it."""
    return (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["cache_creation_input_tokens"],
    )


LONG_TEXT = "x" * 8000


def test_the_fake_caches_up_to_its_marks() -> None:
    """Written once, read again from then on, and what follows the last entry is written."""
    first, second, third = (read(each) for each in usages([LONG_TEXT], [LONG_TEXT, "y"], ["z"]))
    assert first[1] == 0
    assert first[2] > 2000
    assert second[1] == first[2]
    assert 0 < second[2] < 50
    assert third[1] == 0
    assert third[2] == 0, "below the least size, and the head as well"


def test_the_fake_looks_back_on_twenty_blocks() -> None:
    near = usages([LONG_TEXT], [LONG_TEXT, *"abcdefghijklmnopqrs"])[1]
    far = usages([LONG_TEXT], [LONG_TEXT, *"abcdefghijklmnopqrst"])[1]
    assert read(near)[1] > 2000
    assert read(far)[1] == 0


def test_the_fake_reports_lifetimes_apart() -> None:
    short, long = usages([LONG_TEXT])[0], usages([LONG_TEXT], ttl="1h")[0]
    assert short["cache_creation"]["ephemeral_5m_input_tokens"] == read(short)[2] > 0
    assert long["cache_creation"]["ephemeral_1h_input_tokens"] == read(long)[2] > 0
