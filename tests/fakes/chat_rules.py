"""What real chat-completions servers refuse, by the kind of server."""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import ConfigDict, TypeAdapter

from tests.fakes.images import url_problems
from tests.fakes.pairing import order_problems, pairing_problems
from tests.fakes.prefix_cache import without_marks
from tests.fakes.sdk_types import type_problems

Flavour = Literal["compatible", "openai", "cerebras", "deepseek", "vllm", "llamacpp", "alternating"]

_EXTENSIONS: Mapping[Flavour, frozenset[str]] = {
    "compatible": frozenset({"cache_control", "chat_template_kwargs", "thinking"}),
    "openai": frozenset(),
    "cerebras": frozenset({"disable_reasoning", "clear_thinking", "reasoning_format"}),
    "deepseek": frozenset({"thinking"}),
    "vllm": frozenset({"chat_template_kwargs", "cache_control"}),
    "llamacpp": frozenset({"chat_template_kwargs", "cache_control", "cache_prompt", "id_slot"}),
    "alternating": frozenset({"chat_template_kwargs", "cache_control"}),
}
"""Request fields besides the protocol's own that each kind of server takes; those that take
`cache_control` take it on texts of content, too.
"""
MOST_MARKS = 4

_HISTORY_THINKING: Mapping[Flavour, frozenset[str]] = {
    "compatible": frozenset({"reasoning_content", "reasoning", "reasoning_details"}),
    "openai": frozenset(),
    "cerebras": frozenset({"reasoning"}),
    "deepseek": frozenset({"reasoning_content"}),
    "vllm": frozenset({"reasoning"}),
    "llamacpp": frozenset({"reasoning_content"}),
    "alternating": frozenset({"reasoning_content"}),
}

_CEREBRAS = (
    {"messages", "model", "clear_thinking", "disable_reasoning", "frequency_penalty", "logit_bias"}
    | {"logprobs", "max_completion_tokens", "max_tokens", "min_completion_tokens", "min_tokens"}
    | {"n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key"}
    | {"reasoning_effort", "reasoning_format", "response_format", "seed", "service_tier", "stop"}
    | {"stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p"}
    | {"user"}
)
"""All that Cerebras takes; anything else is refused."""

_EFFORTS: Mapping[Flavour, frozenset[str]] = {
    "cerebras": frozenset({"none", "low", "medium", "high"}),
    "deepseek": frozenset({"low", "medium", "high", "xhigh", "max"}),
}

_TTLS = ("5m", "1h")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def chat_problems(body: Any, flavour: Flavour) -> Iterator[str]:
    """Everything that is wrong with a request's body."""
    if not isinstance(body, Mapping):
        yield "the body is no JSON object"
        return
    messages = [m for m in body.get("messages") or [] if isinstance(m, Mapping)]
    yield from order_problems(messages)
    yield from pairing_problems(messages)
    for i, message in enumerate(messages):
        yield from (f"messages.{i}.{problem}" for problem in _message_problems(message, flavour))
    yield from _type_problems(body, flavour)
    yield from _field_problems(body, flavour)
    if flavour == "alternating":
        yield from _turn_problems(messages)
    for i, tool in enumerate(body.get("tools") or []):
        yield from (f"tools.{i}.{problem}" for problem in _tool_problems(tool))
    if body.get("tools") == []:
        yield "tools: an empty list"
    caps = [body[name] for name in ("max_tokens", "max_completion_tokens") if name in body]
    if any(not isinstance(cap, int) or cap < 1 for cap in caps):
        yield f"the reply's limit is {caps}"


def _field_problems(body: Mapping[str, Any], flavour: Flavour) -> Iterator[str]:
    """What a kind of server refuses though the protocol knows it."""
    if flavour == "cerebras":
        yield from (f"{name}: unsupported" for name in sorted(body.keys() - _CEREBRAS))
    if flavour == "openai" and "max_tokens" in body:
        yield "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    effort = body.get("reasoning_effort")
    if effort is not None and effort not in _EFFORTS.get(flavour, {effort}):
        yield f"reasoning_effort: {effort!r} is none of this server's"


def _turn_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A template that wants turns: what is said by the two alternates, calls and results aside."""
    said = [
        str(message.get("role"))
        for message in messages
        if message.get("role") in {"user", "assistant"} and not message.get("tool_calls")
    ]
    if said != [("user", "assistant")[i % 2] for i in range(len(said))]:
        yield "Conversation roles must alternate user/assistant/user/assistant/..."


def _type_problems(body: Mapping[str, Any], flavour: Flavour) -> Iterator[str]:
    """What the official types refuse, their unknown keys too, once known extensions are off."""
    plain = {name: value for name, value in body.items() if name not in _EXTENSIONS[flavour]}
    thinking = _HISTORY_THINKING[flavour]
    plain["messages"] = [
        {name: value for name, value in message.items() if name not in thinking}
        if isinstance(message, Mapping)
        else message
        for message in body.get("messages") or []
    ]
    if "cache_control" in _EXTENSIONS[flavour]:
        yield from _mark_problems(plain["messages"], int("cache_control" in body))
        plain["messages"] = [without_marks(message) for message in plain["messages"]]
    yield from type_problems(_adapter(), plain)


def _mark_problems(messages: Sequence[Any], asks: int) -> Iterator[str]:
    """What a router that passes marks on refuses of them, beside the request's own `asks`."""
    contents = (m.get("content") for m in messages if isinstance(m, Mapping))
    parts = [part for content in contents if isinstance(content, list) for part in content]
    marked = [part for part in parts if "cache_control" in part]
    if len(marked) + asks > MOST_MARKS:
        yield f"cache_control: {len(marked)} parts bear it, {MOST_MARKS - asks} may"
    for part in marked:
        if part.get("type") != "text":
            yield f"cache_control: a part of type {part.get('type')} bears none"
        ask = part["cache_control"]
        if ask not in ({"type": "ephemeral"}, *({"type": "ephemeral", "ttl": t} for t in _TTLS)):
            yield f"cache_control: {ask!r}"


@functools.cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(CompletionCreateParams, config=ConfigDict(extra="forbid"))


def _message_problems(message: Mapping[str, Any], flavour: Flavour) -> Iterator[str]:
    calls = message.get("tool_calls")
    yield from _content_problems(message.get("content"), has_calls=bool(calls))
    for field in ("reasoning_content", "reasoning", "reasoning_details"):
        if field in message and field not in _HISTORY_THINKING[flavour]:
            yield f"{message.get('role')}.{field}: property '{field}' is unsupported"
    if flavour == "deepseek" and calls and "reasoning_content" not in message:
        yield "The reasoning_content in the thinking mode must be passed back to the API."
    for call in calls or []:
        function = call.get("function") or {}
        if not _NAME.fullmatch(str(function.get("name"))):
            yield f"tool_calls: bad name {function.get('name')!r}"
        try:
            arguments = json.loads(function.get("arguments"))
        except (TypeError, ValueError):
            arguments = None
        if not isinstance(arguments, dict):
            yield f"tool_calls: arguments are no object: {function.get('arguments')!r}"


def _content_problems(content: Any, *, has_calls: bool) -> Iterator[str]:
    if content is None and has_calls:
        return
    texts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if not texts:
        yield "content: empty"
    for part in texts:
        if part.get("type") == "image_url":
            yield from url_problems((part.get("image_url") or {}).get("url"))
        if part.get("type") == "text" and not str(part.get("text") or "").strip():
            yield "content: text must not be blank"


def _tool_problems(tool: Any) -> Iterator[str]:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or tool.get("type") != "function":
        yield "not a function"
        return
    if not _NAME.fullmatch(str(function.get("name"))):
        yield f"bad name {function.get('name')!r}"
    parameters = function.get("parameters")
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        yield "parameters are no schema of an object"
