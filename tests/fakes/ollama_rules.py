"""What a real Ollama refuses of a request to `/api/chat`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ollama import Message, Options, Tool
from pydantic import ValidationError

from tests.fakes.images import data_problems
from tests.fakes.pairing import order_problems, pairing_problems

_FIELDS = {"model", "messages", "stream", "format", "keep_alive", "tools", "options", "think"} | {
    *("truncate", "shift", "logprobs", "top_logprobs")
}
_GONE = {"mirostat", "mirostat_tau", "mirostat_eta", "tfs_z"}
_OPTIONS = {*Options.model_fields, "min_p", "draft_num_predict"} - _GONE
_MESSAGE = {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
_DURATION = re.compile(r"-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")
_LEVELS = (True, False, "low", "medium", "high", "max", None)


def ollama_problems(body: Any) -> Iterator[str]:
    """Everything that is wrong with a request's body."""
    if not isinstance(body, Mapping):
        yield "the body is no JSON object"
        return
    messages = [m for m in body.get("messages") or [] if isinstance(m, Mapping)]
    yield from (f"unknown field {name}" for name in sorted(body.keys() - _FIELDS))
    yield from order_problems(messages)
    yield from pairing_problems(messages)
    for i, message in enumerate(messages):
        yield from (f"messages.{i}.{problem}" for problem in _message_problems(message))
    for i, tool in enumerate(body.get("tools") or []):
        yield from (f"tools.{i}: {problem}" for problem in _tool_problems(tool))
    yield from _option_problems(body.get("options") or {})
    yield from _setting_problems(body)


def _setting_problems(body: Mapping[str, Any]) -> Iterator[str]:
    if body.get("think") not in _LEVELS:
        yield f"invalid think value: {body['think']!r}"
    keep = body.get("keep_alive")
    if isinstance(keep, str) and not _DURATION.fullmatch(keep):
        yield f'time: missing unit in duration "{keep}"'
    for name in ("truncate", "shift", "stream"):
        if not isinstance(body.get(name, True), bool):
            yield f"{name}: cannot unmarshal into bool"


def _option_problems(options: Mapping[str, Any]) -> Iterator[str]:
    try:
        Options.model_validate(options)
    except ValidationError as error:
        yield f"options: {error.errors()[0]['msg']}"
    yield from (f"options: unknown {name}" for name in sorted(options.keys() - _OPTIONS))


def _message_problems(message: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown field {name}" for name in sorted(message.keys() - _MESSAGE))
    try:
        Message.model_validate({k: v for k, v in message.items() if k != "images"})
    except ValidationError as error:
        yield f"{'.'.join(map(str, error.errors()[0]['loc']))}: {error.errors()[0]['msg']}"
    for image in message.get("images") or []:
        yield from data_problems(image)
    content = message.get("content")
    stands_alone = not (message.get("tool_calls") or message.get("images"))
    if not str(content or "").strip() and (stands_alone or content is not None):
        yield "content is blank"
    if message.get("role") == "tool" and not message.get("tool_name"):
        yield "tool_name is missing"
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not function.get("name"):
            yield "tool_calls: a call without a name"
        elif not isinstance(function.get("arguments"), Mapping):
            yield "tool_calls: arguments: cannot unmarshal into object"


def _tool_problems(tool: Any) -> Iterator[str]:
    try:
        Tool.model_validate(tool)
    except ValidationError as error:
        yield error.errors()[0]["msg"]
        return
    function = tool.get("function") or {}
    if not function.get("name") or (function.get("parameters") or {}).get("type") != "object":
        yield "not a function with a schema of an object"
