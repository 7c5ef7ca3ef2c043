"""PRV-17: the fakes are honest: the official clients understand them, and they refuse what the
real servers refuse.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import ollama
import openai
import pytest

from nodwyn_tui.providers.chat_completions import ChatCompletions
from nodwyn_tui.providers.ollama import Ollama
from tests.fakes.chat_rules import Flavour
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, calls, error, say
from tests.providers.samples import conversation, model, parameters

Body = dict[str, Any]
Change = Callable[[Body], Any]


def chat_body(dialect: str = "compatible") -> Body:
    wire = ChatCompletions().encode(conversation(), model(), parameters(dialect=dialect))
    return dict(json.loads(wire.content()))


def ollama_body(**more: Any) -> Body:
    wire = Ollama().encode(conversation(), model("ollama"), parameters(**more))
    return dict(json.loads(wire.content()))


def post(server: ChatServer | OllamaServer, body: Body) -> httpx.Response:
    return httpx.post(server.root + server.chat_path, json=body, trust_env=False)


def test_the_official_client_reads_the_chat_fake() -> None:
    script = [
        say("Hello.", thinking="Hm."),
        calls(("a", {"x": 1}), ("b", None)),
        error(429, {"error": {"message": "slow"}}),
    ]
    with ChatServer(script, key="k" * 20) as server:
        client = openai.OpenAI(
            base_url=server.base_url,
            api_key="k" * 20,
            max_retries=0,
            http_client=httpx.Client(trust_env=False),
        )
        chunks = list(client.chat.completions.create(**chat_body()))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == "Hello."
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.prompt_tokens_details is not None
        assert chunks[-2].choices[0].finish_reason == "stop"
        with client.chat.completions.stream(
            **{k: v for k, v in chat_body().items() if k != "stream"}
        ) as stream:
            found = stream.get_final_completion().choices[0].message.tool_calls
        assert found is not None
        assert [(c.function.name, c.function.arguments) for c in found] == [
            ("a", '{"x": 1}'),
            ("b", "{}"),
        ]
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(**chat_body())
        assert [m.id for m in client.models.list()] == ["test-model"]
    assert server.violations == []


@pytest.mark.parametrize("native", [True, False])
def test_the_official_client_reads_the_ollama_fake(native: bool) -> None:
    with OllamaServer(
        [say("Hello.", thinking="Hm."), call("a", {"x": 1.5})], native=native
    ) as server:
        client = ollama.Client(host=server.base_url, trust_env=False)
        body = ollama_body()
        parts = {key: body[key] for key in ("model", "tools", "options")}
        asked = [{"role": "user", "content": "hi"}]
        lines = list(client.chat(messages=asked, stream=True, **parts))
        assert "".join(line.message.content or "" for line in lines) == "Hello."
        assert lines[-1].done
        assert lines[-1].prompt_eval_count
        called = [
            c
            for line in client.chat(messages=asked, stream=True, **parts)
            for c in line.message.tool_calls or []
        ]
        assert [(c.function.name, c.function.arguments) for c in called] == [("a", {"x": 1.5})]
        assert client.list().models[0].model == "test-model"
        assert client.show("test-model").modelinfo == {
            "general.architecture": "fake",
            "fake.context_length": 131072,
        }
        assert client.ps().models[0].context_length == 8192
        with pytest.raises(ollama.ResponseError, match="not found"):
            client.show("another")
    assert server.violations == []


def drop(body: Body, index: int) -> None:
    del body["messages"][index]


def swap(body: Body) -> None:
    body["messages"][3:5] = body["messages"][4:2:-1]


CHAT: list[tuple[Change, str]] = [
    (lambda b: drop(b, 3), "without a result"),
    (lambda b: drop(b, 2), "must be a response"),
    (swap, "out of its call's order"),
    (lambda b: drop(b, 1), "begins with 'assistant'"),
    (lambda b: b.update(messages=[]), "empty"),
    (lambda b: b["messages"].append({"role": "assistant", "content": "x"}), "ends with a reply"),
    (lambda b: b["messages"].append({"role": "system", "content": "x"}), "system message"),
    (lambda b: b["messages"][1].update(content="  "), "blank"),
    (lambda b: b["messages"][1].update(content=[]), "content"),
    (lambda b: b["messages"][3].update(content=""), "blank"),
    (lambda b: b["messages"][3].pop("tool_call_id"), "tool_call_id"),
    (lambda b: b["messages"][2]["tool_calls"][1].update(id="c1"), "used twice"),
    (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}), "arguments"),
    (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments='{"a'), "no object"),
    (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(name="a b"), "bad name"),
    (lambda b: b["messages"][1].update(extra=1), "extra"),
    (lambda b: b["messages"][1].update(role="person"), "role"),
    (lambda b: b.update(unheard_of=1), "unheard_of"),
    (lambda b: b.update(stream="yes"), "stream"),
    (lambda b: b.update(max_tokens=0), "limit"),
    (lambda b: b.update(tools=[]), "empty list"),
    (lambda b: b["tools"][0].update(type="tool"), "tools"),
    (lambda b: b["tools"][0]["function"].update(parameters={"type": "string"}), "schema"),
    (lambda b: b.pop("model"), "model"),
]


@pytest.mark.parametrize(("change", "words"), CHAT)
def test_the_chat_fake_refuses(change: Change, words: str) -> None:
    """A body that a real server would refuse gets 400 and is remembered."""
    body = chat_body()
    change(body)
    with ChatServer([say("never")]) as server:
        assert post(server, body).status_code == 400
    assert any(words in violation for violation in server.violations), server.violations
    assert len(server.script) == 1


@pytest.mark.parametrize(
    ("flavour", "field"),
    [
        ("cerebras", "reasoning_content"),
        ("vllm", "reasoning_content"),
        ("deepseek", "reasoning"),
        ("openai", "reasoning_content"),
        ("openai", "reasoning"),
    ],
)
def test_each_flavour_refuses_the_others_reasoning(flavour: Flavour, field: str) -> None:
    """C16, PRV-17."""
    body = chat_body("openai")
    body["messages"][2][field] = "hm"
    with ChatServer([say("never")], flavour=flavour) as server:
        answer = post(server, body)
    assert answer.status_code == 400
    assert field in answer.text
    assert ("wrong_api_format" in answer.text) == (flavour == "cerebras")


def test_the_chat_fake_refuses_strangers_and_what_it_does_not_have() -> None:
    with ChatServer([say("never")], key="k" * 20) as server:
        assert post(server, chat_body()).status_code == 401
    with ChatServer([]) as server:
        assert post(server, {**chat_body(), "model": "another"}).status_code == 404
        assert post(server, chat_body()).status_code == 500
    assert server.violations == ["a request past the end of the script"]


def test_the_chat_fake_overflows_with_figures() -> None:
    with ChatServer([say("never")], context=50) as server:
        found = post(server, chat_body()).json()["error"]
    assert (found["type"], found["n_ctx"]) == ("exceed_context_size_error", 50)
    assert found["n_prompt_tokens"] > 50


OLLAMA: list[tuple[Change, str]] = [
    (lambda b: drop(b, 3), "without a result"),
    (lambda b: drop(b, 2), "must be a response"),
    (lambda b: b["messages"][1].update(content=""), "blank"),
    (lambda b: b["messages"][1].update(content=["x"]), "content"),
    (lambda b: b["messages"][1].update(name="x"), "unknown field name"),
    (lambda b: b["messages"][3].pop("tool_name"), "tool_name"),
    (lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments="{}"), "arguments"),
    (lambda b: b["options"].update(num_ctx="x"), "options"),
    (lambda b: b["options"].update(mirostat=1), "mirostat"),
    (lambda b: b.update(think="ultra"), "think"),
    (lambda b: b.update(keep_alive="5"), "duration"),
    (lambda b: b.update(truncate="no"), "bool"),
    (lambda b: b.update(max_tokens=3), "max_tokens"),
    (lambda b: b["tools"][0]["function"].update(parameters={}), "schema"),
]


@pytest.mark.parametrize(("change", "words"), OLLAMA)
def test_the_ollama_fake_refuses(change: Change, words: str) -> None:
    body = ollama_body()
    change(body)
    with OllamaServer([say("never")]) as server:
        assert post(server, body).status_code == 400
    assert any(words in violation for violation in server.violations), server.violations


def test_the_ollama_fake_refuses_what_its_model_cannot() -> None:
    with OllamaServer([say("never")], capabilities=["completion"]) as server:
        assert "thinking" in post(server, ollama_body(think=True)).text
        assert "tools" in post(server, ollama_body()).text
        assert post(server, {**ollama_body(), "model": "x"}).status_code == 404


def test_the_ollama_fake_reloads_when_its_size_or_shift_changes() -> None:
    """PRV-7: and the cache is gone."""
    with OllamaServer([say("a")], repeat=True) as server:
        durations, counts = [], []
        for more in ({}, {}, {"num_ctx": 4096}, {"num_ctx": 4096}):
            last = json.loads(post(server, ollama_body(**more)).text.splitlines()[-1])
            durations.append(last["prompt_eval_duration"])
            counts.append(last["prompt_eval_count"])
        assert server.reloads == 1
        post(server, {**ollama_body(num_ctx=4096), "shift": True})
    assert server.reloads == 2
    assert len(set(counts)) == 1
    assert durations[1] < durations[0] / 10
    assert durations[2] == durations[0]
    assert durations[3] == durations[1]


def test_the_ollama_fake_cuts_a_long_prompt_unless_told_not_to() -> None:
    """The front is lost without a word, and only the count tells."""
    with OllamaServer([say("a"), say("b")]) as server:
        silent = copy.deepcopy(ollama_body(num_ctx=64))
        del silent["truncate"]
        last = json.loads(post(server, silent).text.splitlines()[-1])
        assert last["prompt_eval_count"] == 34
        answer = post(server, ollama_body(num_ctx=64))
    assert server.truncated == 1
    assert answer.status_code == 400
    assert json.loads(answer.json()["error"])["error"]["n_ctx"] == 64


@pytest.mark.parametrize(("cache", "step"), [("slot", 1), ("blocks", 128), ("off", 0)])
def test_the_chat_fake_counts_its_cache_as_documented(cache: Any, step: int) -> None:
    with ChatServer([say("a")], repeat=True, cache=cache) as server:
        counts = []
        for text in ("x" * 9000, "x" * 9000 + "y" * 100, "z" * 9000, "x" * 9000):
            body = chat_body()
            body["messages"][1]["content"] = text
            events = post(server, body).text.split("\n\n")
            usage = json.loads(events[-3].removeprefix("data: "))["usage"]
            counts.append((usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]))
    cached = [count for _, count in counts]
    assert cached[0] == 0
    match cache:
        case "slot":
            assert cached[1] > 2200
            assert cached[2] == cached[3] < 300
        case "blocks":
            assert [count % step for count in cached] == [0] * 4
            assert cached[1] >= 2048
            assert cached[3] >= 2048
        case _:
            assert cached == [0] * 4
