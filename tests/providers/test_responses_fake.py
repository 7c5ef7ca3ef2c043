"""The Responses fake: the official client takes it for the real one, and it is strict (PRV-17)."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import ScriptedCall, calls, error, say

Body = dict[str, Any]

TOOL = {
    "type": "function",
    "name": "read",
    "description": "Reads.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    "strict": False,
}
THOUGHT = Output(
    items=(
        Reason(("Look", "Then")),
        ScriptedCall("read", '{"path": "a"}'),
        Said("Done.", "commentary"),
    )
)


def body(*items: Any, **more: Any) -> Body:
    return {
        "model": "test-model",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [TOOL],
        "input": [user("hi"), *items],
        **more,
    }


def user(text: str) -> Body:
    return {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
    }


def output(call_id: str, text: str = "ok") -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def post(server: ResponsesServer, what: Body, **headers: str) -> httpx.Response:
    url = server.root + server.chat_path
    return httpx.post(url, json=what, headers=headers, trust_env=False)


def events(answer: httpx.Response) -> list[Body]:
    lines = answer.text.split("\n\n")
    return [json.loads(e.partition("data: ")[2]) for e in lines if e]


def replayed(answer: httpx.Response) -> list[Body]:
    """The items of an answer as a client that keeps reasoning gives them back."""
    items = [e["item"] for e in events(answer) if e["type"] == "response.output_item.done"]
    kept = []
    for item in copy.deepcopy(items):
        item.pop("id")
        item.pop("status", None)
        if item["type"] == "message":
            item["content"] = item["content"][0]["text"]
        kept.append(item)
    return kept


def test_the_official_client_reads_it() -> None:
    script = [
        THOUGHT,
        calls(("a", {"x": 1}), ("b", None)),
        error(429, {"error": {"message": "slow"}}),
    ]
    with ResponsesServer(script, key="k" * 20) as server:
        client = openai.OpenAI(
            base_url=server.base_url,
            api_key="k" * 20,
            max_retries=0,
            http_client=httpx.Client(trust_env=False),
        )
        found = list(client.responses.create(**body()))
        assert found[-1].type == "response.completed"
        response = found[-1].response
        assert [item.type for item in response.output] == ["reasoning", "function_call", "message"]
        assert response.output_text == "Done."
        assert response.usage is not None
        assert response.usage.input_tokens_details.cached_tokens == 0
        plain = {name: value for name, value in body().items() if name != "stream"}
        with client.responses.stream(**plain) as stream:
            made = stream.get_final_response().output
        assert [(item.name, item.arguments) for item in made] == [("a", '{"x": 1}'), ("b", "{}")]
        with pytest.raises(openai.RateLimitError):
            client.responses.create(**body())
        assert [m.id for m in client.models.list()] == ["test-model"]
    assert server.violations == []


def test_every_event_is_one_of_the_official_types() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    with ResponsesServer([THOUGHT, say("cut", finish="length")]) as server:
        for event in [*events(post(server, body())), *events(post(server, body()))]:
            adapter.validate_python(event)


def test_what_it_gave_it_takes_back() -> None:
    """And knows it again: with its encrypted content, without an id."""
    with ResponsesServer([THOUGHT, say("ok")]) as server:
        given = replayed(post(server, body()))
        call = next(item["call_id"] for item in given if item["type"] == "function_call")
        given.insert(2, output(call))
        assert post(server, body(*given, user("on"))).status_code == 200, server.violations
    assert server.violations == []


def of(items: Sequence[Body], kind: str) -> Body:
    return next(item for item in items if item["type"] == kind)


Change = Callable[[list[Body]], object]
REFUSED: list[tuple[Change, int, str]] = [
    (lambda i: i[0].update(id="rs_1_0"), 404, "Item with id 'rs_1_0' not found"),
    (lambda i: of(i, "message").update(id="msg_1_2"), 404, "not found"),
    (lambda i: i.append({"type": "item_reference", "id": "rs_1_0"}), 404, "not found"),
    (lambda i: i[0].pop("encrypted_content"), 404, "without its encrypted content"),
    (lambda i: i[0].update(encrypted_content="gAAAAAother"), 400, "could not be verified"),
    (lambda i: i[0].update(summary=[]), 400, "summary"),
    (lambda i: i.insert(3, i.pop(0)), 400, "required following item"),
    (lambda i: i.append(i[0]), 400, "Duplicate reasoning"),
    (lambda i: i.pop(2), 400, "No tool output found"),
    (lambda i: i.pop(1), 400, "No tool call found"),
    (lambda i: i.insert(2, user("now?")), 400, "No tool output found"),
    (lambda i: of(i, "function_call_output").pop("call_id"), 400, "No tool call found"),
    (lambda i: of(i, "function_call_output").update(output=" "), 400, "blank"),
    (lambda i: of(i, "function_call").update(arguments={"path": "a"}), 400, "arguments"),
    (lambda i: of(i, "function_call").update(arguments='{"a'), 400, "no object"),
    (lambda i: of(i, "function_call").update(name="a b"), 400, "bad name"),
    (lambda i: i.pop(), 400, "ends with a reply"),
    (lambda i: i[-1]["content"][0].update(type="text"), 400, "content"),
    (lambda i: i.append({**user("x"), "reasoning_content": "hm"}), 400, "reasoning_content"),
]


@pytest.mark.parametrize(("change", "status", "words"), REFUSED)
def test_it_refuses_items(change: Change, status: int, words: str) -> None:
    """C15, C17, C35."""
    with ResponsesServer([THOUGHT, say("never")]) as server:
        given = replayed(post(server, body()))
        call = next(item["call_id"] for item in given if item["type"] == "function_call")
        given = [*given[:2], output(call), *given[2:], user("on")]
        change(given)
        answer = post(server, body(*given))
        assert answer.status_code == status
    assert any(words in violation for violation in server.violations), server.violations
    assert len(server.script) == 1


FIELDS: list[tuple[Body, str]] = [
    ({"store": True}, "stored"),
    ({"max_tokens": 9}, "max_tokens"),
    ({"messages": []}, "messages"),
    ({"max_output_tokens": 1}, "max_output_tokens"),
    ({"input": []}, "empty"),
    ({"tools": []}, "empty list"),
    ({"tools": [{"type": "function", "function": {"name": "a"}}]}, "tools"),
    ({"tools": [{**TOOL, "strict": True}]}, "additionalProperties"),
    ({"reasoning": {"effort": "ultra"}}, "effort"),
    ({"include": ["everything"]}, "include"),
    ({"previous_response_id": "resp_1"}, "not found"),
]


@pytest.mark.parametrize(("fields", "words"), FIELDS)
def test_it_refuses_fields(fields: Body, words: str) -> None:
    with ResponsesServer([say("never")]) as server:
        assert post(server, body(**fields)).status_code in {400, 404}
    assert any(words in violation for violation in server.violations), server.violations


def test_it_refuses_what_its_model_cannot() -> None:
    with ResponsesServer(encrypts="never") as server:
        assert "Encrypted content is not supported" in post(server, body()).text
    with ResponsesServer(reasons=False) as server:
        asked = body(reasoning={"effort": "high"})
        assert "reasoning.effort" in post(server, asked).text
    with ResponsesServer(key="k" * 20) as server:
        assert post(server, body()).status_code == 401
    with ResponsesServer(context=20) as server:
        server.script.append(say("never"))
        assert post(server, body()).json()["error"]["code"] == "context_length_exceeded"


LONG = "x" * 9000


def test_its_cache_is_the_keys_machine() -> None:
    """Steps of 128 tokens from 1,024 on; without a key the machines take turns."""
    with ResponsesServer([say("a")], repeat=True, replicas=2) as server:
        for _ in range(2):
            post(server, body(user(LONG), prompt_cache_key="k"))
        for _ in range(2):
            post(server, body(user("y" * 9000)))
        post(server, body(user("short"), prompt_cache_key="k"))
    cached = [read for _, read in server.reads]
    assert cached[0] == cached[2] == cached[3] == cached[4] == 0
    assert cached[1] > 2000
    assert cached[1] % 128 == 0


def test_on_a_plan_a_header_picks_the_machine() -> None:
    """PRV-4: and the key in the body does not."""
    with ResponsesServer([say("a")], repeat=True, replicas=2, plan=True) as server:
        for headers in ({}, {}, {"session-id": "s"}, {"session-id": "s"}):
            post(server, body(user(LONG), prompt_cache_key="k"), **headers)
            server.reads.append((0, 0))
    cached = [read for prompt, read in server.reads if prompt]
    assert cached[1] == 0
    assert cached[3] > 2000


def test_its_other_cache_reads_at_marks_only() -> None:
    """What was written behind fresh rows is not found again; an explicit mark before them is."""
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    history = user(LONG)
    history["content"][0] |= mark
    with ResponsesServer([say("a")], repeat=True, cache="breakpoints") as server:
        post(server, body(user(LONG), user("fresh 1")))
        post(server, body(user(LONG), user("fresh 2")))
        post(server, body(history, user("fresh 3")))
        answer = post(server, body(history, user("fresh 4")))
    cached = [read for _, read in server.reads]
    assert cached[:3] == [0, 0, 0]
    assert cached[3] > 2000
    usage = events(answer)[-1]["response"]["usage"]
    assert 0 < usage["input_tokens_details"]["cache_write_tokens"] < 30


def test_earlier_turns_reasoning_is_read_where_it_is_asked_for() -> None:
    """Under `current_turn` the model does not see it, and reads all behind it anew."""
    with ResponsesServer([THOUGHT, say("a"), say("b")]) as server:
        given = replayed(post(server, body()))
        call = next(item["call_id"] for item in given if item["type"] == "function_call")
        given = [*given[:2], output(call), *given[2:], user("on")]
        post(server, body(*given))
        post(server, body(*given, reasoning={"context": "all_turns"}))
    assert server.reads[2][0] - server.reads[1][0] > 100
