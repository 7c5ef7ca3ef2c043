"""Refusals in every spelling to typed errors, and the settings they point at (PRV-9)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.base import WireRequest
from nodwyn_tui.providers.chat_completions import ChatCompletions
from nodwyn_tui.providers.failures import (
    DETAIL_LIMIT,
    MESSAGE_LIMIT,
    REMEDIES,
    at_server,
    error_in,
    from_response,
)
from nodwyn_tui.providers.ollama import Ollama
from tests.providers.samples import conversation, model, parameters, request, stream, user

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
ADDRESS = "http://fake/v1/chat/completions"


def refused(status: int, body: Any, **headers: str) -> ProviderError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lower = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, lower, data, address=ADDRESS, now=NOW)


def anthropic(kind: str, message: str, error_code: str = "") -> dict[str, Any]:
    details = {"details": {"error_code": error_code}} if error_code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


def openai(message: str, code: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "t", "code": code, **more}}


KINDS: list[tuple[int, Any, ErrorKind]] = [
    (401, openai("Incorrect API key provided", "invalid_api_key"), "authentication"),
    (400, openai("API key not valid. Please pass a valid API key."), "authentication"),
    (402, openai("Insufficient credits", 402), "permission"),
    (403, openai("Not allowed"), "permission"),
    (403, openai("Your input was flagged by moderation"), "refused_content"),
    (404, openai("The model `x` does not exist", "model_not_found"), "not_found"),
    (404, {"error": "model 'x' not found"}, "not_found"),
    (408, openai("too slow"), "timeout"),
    (413, b"Payload Too Large", "context_exceeded"),
    (429, openai("Rate limit reached for gpt", "rate_limit_exceeded"), "rate_limit"),
    (429, openai("You exceeded your current quota", "insufficient_quota"), "permission"),
    (429, openai("Provider returned error"), "rate_limit"),
    (429, b"<html><title>Slow down</title></html>", "rate_limit"),
    (499, {"error": "cancelled"}, "cancelled"),
    (500, openai("oops"), "server_error"),
    (500, openai("The engine is currently overloaded"), "overloaded"),
    (502, b"", "server_error"),
    (
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        "overloaded",
    ),
    (504, b"", "timeout"),
    (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        "overloaded",
    ),
    (401, anthropic("authentication_error", "invalid x-api-key"), "authentication"),
    (402, anthropic("billing_error", "Pay first"), "permission"),
    (404, anthropic("not_found_error", "model: claude-x"), "not_found"),
    (409, anthropic("conflict_error", "busy with another"), "invalid_request"),
    (413, anthropic("request_too_large", "over 32 MB"), "context_exceeded"),
    (429, anthropic("rate_limit_error", "slower"), "rate_limit"),
    (429, anthropic("rate_limit_error", "slower", "ramp_limit_exceeded"), "rate_limit"),
    (429, anthropic("rate_limit_error", "no", "enforced_spend_limit_reached"), "permission"),
    (500, anthropic("api_error", "Internal server error"), "server_error"),
    (504, anthropic("timeout_error", "too slow"), "timeout"),
    (
        400,
        anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        "context_exceeded",
    ),
    (
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the API"),
        "permission",
    ),
    (
        400,
        anthropic(
            "invalid_request_error",
            "You have reached your API usage limits. You will"
            " regain access on 2026-12-01 at 00:00 UTC.",
        ),
        "permission",
    ),
    (400, anthropic("invalid_request_error", "This organization has been disabled."), "permission"),
    (
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit:"
            " 199000 + 8192 > 200000, decrease input length",
        ),
        "context_exceeded",
    ),
    (
        400,
        anthropic("invalid_request_error", "Output blocked by content filtering policy"),
        "refused_content",
    ),
    (400, anthropic("invalid_request_error", "max_tokens: too large"), "invalid_request"),
    (
        400,
        openai("maximum context length is 8192 tokens", "context_length_exceeded"),
        "context_exceeded",
    ),
    (400, openai("This model's maximum context length is 8192 tokens."), "context_exceeded"),
    (400, {"error": "the prompt is longer than the context length"}, "context_exceeded"),
    (400, openai("Input is too long for requested model"), "context_exceeded"),
    (
        500,
        openai("request (9 tokens) exceeds the available context size (8 tokens)"),
        "context_exceeded",
    ),
    (400, openai("Rate limit: 30000 tokens per minute, maximum context length"), "rate_limit"),
    (400, openai("Invalid value", param="messages[0]"), "invalid_request"),
    (422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, "invalid_request"),
    (400, [{"error": {"message": "in a list", "status": "INVALID_ARGUMENT"}}], "invalid_request"),
    (429, [{"error": {"message": "busy", "status": "RESOURCE_EXHAUSTED"}}], "rate_limit"),
]


@pytest.mark.parametrize(("status", "body", "kind"), KINDS)
def test_kinds(status: int, body: Any, kind: ErrorKind) -> None:
    """PRV-9: a small set of kinds, whatever the server calls them."""
    found = refused(status, body)
    assert (found.kind, found.status) == (kind, status)
    assert found.message


def test_a_web_page_is_one_line() -> None:
    """C34: status, address and title; the body to the log, cut."""
    page = stream("C34_page_502.html")
    found = refused(502, page, content_type="text/html")
    assert (
        found.message
        == f"a web page “502 Bad gateway [/b] mock” came from {ADDRESS} in place of a reply"
    )
    assert len(found.detail) == DETAIL_LIMIT < len(page)
    assert (found.kind, found.status) == ("server_error", 502)
    assert "without a title" in refused(500, b"<html>x").message


def test_other_bodies_that_are_no_error_objects() -> None:
    """C34: empty, a plain string, a list of details, plain text."""
    assert refused(403, b"").message == f"Forbidden, with nothing else said, from {ADDRESS}"
    assert refused(400, stream("C34_error_string.json")).message == "plain string"
    detail = refused(400, stream("C34_error_detail.json"))
    assert detail.message == "body.messages.0: field required"
    assert (
        refused(500, b"Traceback (most recent\ncall last)\x1b[0m").message
        == "Traceback (most recent call last) [0m"
    )
    assert refused(599, b"{}").message.startswith("An answer of an unknown kind")
    assert len(refused(500, b"word " * 9000).message) <= MESSAGE_LIMIT


def test_the_field_is_named() -> None:
    """PRV-9."""
    assert (
        refused(400, openai("Invalid type", param="tools[0]")).message == "tools[0]: Invalid type"
    )
    assert refused(400, stream("C16_error_400.json")).kind == "invalid_request"


def test_the_provider_behind_an_aggregator_is_heard() -> None:
    raw = json.dumps({"error": {"message": "quota of upstream", "code": "rate_limit_exceeded"}})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    found = refused(400, {"error": error})
    assert found.message == "Provider returned error: quota of upstream"
    assert found.kind == "rate_limit"
    typed = {"message": "no", "code": 502, "metadata": {"error_type": "provider_unavailable"}}
    assert refused(502, {"error": typed}).kind == "overloaded"


@pytest.mark.parametrize(
    "piece", [{"choices": []}, {"error": None}, {"message": {}}, [], "x", None]
)
def test_pieces_of_a_reply_are_no_errors(piece: Any) -> None:
    assert error_in(piece) is None


def test_overflow_figures_are_in_the_message() -> None:
    """ENG-14: the person, and the next try, see what was asked and what is there."""
    words = (
        "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it"
    )
    error = {"code": 400, "message": words, "type": "exceed_context_size_error"}
    found = refused(400, {"error": {**error, "n_prompt_tokens": 13392, "n_ctx": 8192}})
    assert found.kind == "context_exceeded"
    assert found.message == words
    assert '"n_ctx": 8192' in found.detail


def test_an_error_at_its_server_is_a_line_with_a_remedy() -> None:
    bare = refused(401, openai("no"))
    found = at_server(bare, server="cloud", remedy="", redact=str)
    assert str(found) == f"cloud: authentication [401]: no. {REMEDIES['authentication']}".format(
        server="cloud"
    )
    assert at_server(bare, server="cloud", remedy="Do this", redact=str).remedy == "Do this"
    assert str(ProviderError("transport", "cut")) == "connection: cut", "a word for a person"
    bare.message = "Connection error."
    assert str(at_server(bare, server="cloud", remedy="Do this", redact=str)).endswith(
        "Connection error. Do this"
    )


def chat_remedy(body: Any, status: int = 400, **more: Any) -> str:
    dialect = ChatCompletions()
    wire = dialect.encode(conversation(), model(), parameters(**more))
    return dialect.remedy(refused(status, body), wire)


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            '"deepseek"',
        ),
        ("messages.1.assistant.reasoning_content: unsupported property", '"cerebras"'),
        ("Unrecognized request argument: prompt_cache_key", "cache_key"),
        ("cache_control: Extra inputs are not permitted", "cache_control"),
        ("Use 'max_completion_tokens' instead of 'max_tokens'.", '"openai"'),
        ("max_tokens is too large", "max_output"),
        ("reasoning_effort does not support none", "effort"),
        ("Conversation roles must alternate user/assistant", '"alternating"'),
    ],
)
def test_a_refused_field_names_its_setting(words: str, setting: str) -> None:
    """C16, PRV-2: what fixes it is said, and nothing is dropped to get past it."""
    assert setting in chat_remedy(openai(words))


def test_an_empty_refusal_points_at_the_field_that_was_sent() -> None:
    """C16: some servers say nothing; then the dialect is the likeliest cause."""
    assert "dialect" in chat_remedy(b"")
    assert "reasoning_content" in chat_remedy(b"")
    assert chat_remedy(b"", dialect="openai") == ""
    assert chat_remedy(openai("something else")) == ""
    assert (
        chat_remedy(openai("roles must alternate"), 500)
        == 'Set dialect = "alternating" for this model'
    )


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, {"error": "model 'm' not found"}, "ollama pull m"),
        (404, b"404 page not found", "/v1"),
        (400, {"error": '"m" does not support thinking'}, 'effort = "off"'),
        (400, {"error": "m does not support tools"}, "call tools"),
        (500, {"error": "x"}, ""),
    ],
)
def test_ollamas_refusals_name_what_to_do(status: int, body: Any, words: str) -> None:
    wire = WireRequest(path="/api/chat", body={"model": "m"})
    assert words in Ollama().remedy(refused(status, body), wire)
    assert Ollama().encode(request(user("x")), model("ollama"), parameters()).path == wire.path
