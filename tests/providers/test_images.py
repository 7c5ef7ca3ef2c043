"""Images as each protocol wants them (IMG-5), under rules as strict as the real servers'."""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import pytest

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.domain.parts import Call, Image, Text
from nodwyn_tui.domain.request import Message, Request, ToolRow, UserRow
from nodwyn_tui.providers.registry import dialect
from tests.fakes.anthropic_rules import anthropic_problems
from tests.fakes.chat_rules import chat_problems
from tests.fakes.images import data_problems, images_in, url_problems
from tests.fakes.ollama_rules import ollama_problems
from tests.fakes.responses_rules import responses_problems
from tests.providers.samples import model, parameters, reply, request, user

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 40, 30) + b"one" * 30
JPEG = b"\xff\xd8\xff" + b"two" * 30
FILES = {sha256(PNG): PNG, sha256(JPEG): JPEG}
SHOT = Image(sha256(PNG), "image/png", 40, 30)
PHOTO = Image(sha256(JPEG), "image/jpeg", 40, 30)
PROTOCOLS = ["ollama", "openai", "responses", "anthropic"]
HEADERS = {"anthropic-version": "2026-10-21"}


def encoded(kind: str, what: Request, **more: Any) -> dict[str, Any]:
    wire = dialect(kind).encode(what, model(kind), parameters(**more), FILES.__getitem__)
    return dict(json.loads(wire.content()))


def problems(kind: str, body: dict[str, Any]) -> list[Any]:
    match kind:
        case "ollama":
            return list(ollama_problems(body))
        case "openai":
            return [*chat_problems(body, "compatible"), *chat_problems(body, "vllm")]
        case "responses":
            return list(responses_problems(body, {}))
        case _:
            return list(anthropic_problems(body, HEADERS))


def attached(image: Image, name: str) -> UserRow:
    return UserRow((Text(f"[image {name}]"), image))


def asked() -> Request:
    return request(user("What is this?"), attached(SHOT, "a.png"), attached(PHOTO, "b.jpg"))


def looked() -> Request:
    """Two results in a batch, both with images, then a reply and a question."""
    one, two = Call("c1", "fs-read", '{"path": "a.png"}'), Call("c2", "fs-read", '{"path": "b"}')
    return request(
        user("Look."),
        reply("", "", one, two),
        ToolRow("c1", "fs-read", False, (Text("a.png"), SHOT)),
        ToolRow("c2", "fs-read", False, (Text("b.jpg"), PHOTO)),
        reply("Seen."),
        user("And?"),
    )


@pytest.mark.parametrize("kind", PROTOCOLS)
@pytest.mark.parametrize("make", [asked, looked])
def test_every_protocol_takes_images(kind: str, make: Callable[[], Request]) -> None:
    """IMG-5, IMG-8: of messages and of results, in their order, and byte for byte."""
    body = encoded(kind, make())
    assert problems(kind, body) == []
    assert list(images_in(body)) == [PNG, JPEG]


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_no_blank_text_stands_beside_an_image(kind: str) -> None:
    """C17"""
    body = encoded(kind, request(UserRow((SHOT,)), UserRow((Text(" "), SHOT))))
    assert problems(kind, body) == []
    assert json.dumps(body).count("(no text)") == 2


def test_ollama_gets_bare_base64() -> None:
    sent = encoded("ollama", asked())["messages"]
    assert sent[2]["images"] == [base64.b64encode(PNG).decode()]
    assert sent[2]["content"] == "[image a.png]"
    assert [m["role"] for m in encoded("ollama", looked())["messages"][3:6]] == [
        "tool",
        "tool",
        "user",
    ]


def test_chat_completions_gets_addresses() -> None:
    """The type is that of the bytes, and the detail what the estimates reckon with."""
    _, _, shot, photo = encoded("openai", asked())["messages"]
    assert [part["type"] for part in shot["content"]] == ["text", "image_url"]
    address = photo["content"][1]["image_url"]
    assert address["url"] == f"data:image/jpeg;base64,{base64.b64encode(JPEG).decode()}"
    assert address["detail"] == "high"


def test_chat_completions_results_hold_text_only() -> None:
    """Their images follow the batch in one message of the user."""
    sent = encoded("openai", looked())["messages"]
    assert [m["role"] for m in sent] == [
        *("system", "user", "assistant", "tool", "tool", "user", "assistant", "user")
    ]
    assert [part["type"] for part in sent[5]["content"]] == ["text", "image_url", "image_url"]


def test_alternating_roles_join_images_too() -> None:
    body = encoded("openai", asked(), dialect="alternating")
    (message,) = body["messages"][1:]
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "text", "image_url", "text", "image_url"]
    assert list(chat_problems(body, "compatible")) == []


def test_responses_gets_input_images() -> None:
    items = encoded("responses", asked())["input"]
    image = items[1]["content"][0]
    assert (image["type"], image["detail"]) == ("input_image", "high")
    output = encoded("responses", looked())["input"][3]["output"]
    assert [part["type"] for part in output] == ["input_image", "input_text"]


def test_anthropic_gets_images_before_the_question() -> None:
    (message,) = encoded("anthropic", asked())["messages"]
    kinds = [block["type"] for block in message["content"]]
    assert kinds == ["image", "text", "image", "text", "text"]
    assert message["content"][-1]["text"] == "What is this?"
    results = encoded("anthropic", looked())["messages"][2]["content"]
    assert [part["type"] for part in results[0]["content"]] == ["image", "text"]


@pytest.mark.parametrize("kind", PROTOCOLS)
@pytest.mark.parametrize("cached", ["off", "ephemeral"])
def test_marks_and_memory_change_no_image(kind: str, cached: str) -> None:
    """PERF-4: the second request costs no reading, and is the same; marks stand beside images."""
    read: list[str] = []

    def pixels(digest: str) -> bytes:
        read.append(digest)
        return FILES[digest]

    used, what = dialect(kind), looked()
    ask = parameters(cache_control=cached)
    first = used.encode(what, model(kind), ask, pixels).content()
    count = len(read)
    assert used.encode(what, model(kind), ask, pixels).content() == first
    assert len(read) == count
    assert problems(kind, json.loads(first)) == [] or cached != "off"


@pytest.mark.parametrize("kind", ["ollama", "openai", "responses"])
def test_a_longer_conversation_begins_with_the_shorter_one(kind: str) -> None:
    """ORD-1: images of results stand where they stood."""
    rows: tuple[Message, ...] = looked().messages
    shorter, longer = (
        dialect(kind)
        .encode(request(*rows[:n]), model(kind), parameters(), FILES.__getitem__)
        .content()
        for n in (4, 6)
    )
    assert longer.startswith(shorter.removesuffix(b"]}"))


def test_the_fakes_refuse_what_real_servers_refuse() -> None:
    """The rules these tests stand on."""
    good = base64.b64encode(PNG).decode()
    assert list(data_problems(good, "image/png")) == []
    assert list(data_problems(good, "image/jpeg"))
    assert list(data_problems(f"data:image/png;base64,{good}"))
    assert list(data_problems("a" * (5 * 1024 * 1024 + 4)))
    assert list(data_problems(base64.b64encode(b"text" * 20).decode()))
    assert list(url_problems(f"data:image/png;base64,{good}")) == []
    assert list(url_problems(f"data:image/jpg;base64,{base64.b64encode(JPEG).decode()}"))
    assert list(url_problems("file:///a.png"))
    wrong = encoded("anthropic", asked())
    wrong["messages"][0]["content"][0]["source"]["media_type"] = "image/jpeg"
    assert problems("anthropic", wrong)
    wrong = encoded("ollama", asked())
    wrong["messages"][2]["images"] = ["not base64!"]
    assert problems("ollama", wrong)
