"""Records to plain JSON values, canonical bytes, and the digest (ENG-25)."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from nodwyn_tui.domain.events import Event, UnknownEvent
from nodwyn_tui.domain.parts import Block, Call, Image, Text, Thinking
from nodwyn_tui.domain.request import (
    AssistantRow,
    Json,
    Message,
    Request,
    ToolRow,
    ToolSpec,
    UserRow,
)

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """`text` with NUL and lone surrogates replaced, so that every later step is total (C55)."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A pair of surrogates that JSON escapes gave apart is one character; the rest is replaced.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Json) -> Json:
    """`clean` for every string of a JSON value, keys too."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            return value


def plain(record: Any) -> Json:
    """A record of `domain` as a JSON value: fields by name, tuples as lists, in declared order."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return _plain_record(record)
    match record:
        case Mapping():
            return {key: plain(value) for key, value in record.items()}
        case tuple() | list():
            return [plain(value) for value in record]
        case _:
            return record


def _plain_record(record: Any) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.metadata.get("merge") or (value is None and field.metadata.get("omit_none")):
            continue
        out[field.name] = plain(value)
    return out


def event_line(event: Event) -> dict[str, Json]:
    """The object of an event's log line: `seq`, `at`, `type`, `ctx`, `run`, then its own fields."""
    if isinstance(event, UnknownEvent):
        return dict(event.raw)
    fields = _plain_record(event)
    head = {
        "seq": event.seq,
        "at": event.at,
        "type": event.type,
        "ctx": event.ctx,
        "run": event.run,
    }
    return (
        head | {key: value for key, value in fields.items() if key not in head} | dict(event.extra)
    )


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: Json) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode("utf-8")


def sha256(data: bytes) -> str:
    """Lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def tool_value(tool: ToolSpec) -> Json:
    """A tool as the request holds it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": plain(tool.parameters),
    }


def part_value(part: Text | Thinking | Image | Block | Call) -> Json:
    """A part as the request holds it; a call's `provider_id` stands outside."""
    match part:
        case Text(phase=str(phase)):
            return {"type": "text", "text": part.text, "phase": phase}
        case Text() | Thinking():
            return {"type": part.type, "text": part.text}
        case Image():
            return {
                "type": "image",
                "sha256": part.sha256,
                "mime": part.mime,
                "width": part.width,
                "height": part.height,
            }
        case Block():
            return {"type": "block", "block": part.block, "origin": part.origin, "data": part.data}
        case Call():
            return {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}


def message_value(message: Message) -> Json:
    """A message as the request holds it."""
    parts = [part_value(part) for part in message.parts]
    match message:
        case UserRow() | AssistantRow():
            return {"role": message.role, "parts": parts}
        case ToolRow():
            return {
                "role": "tool",
                "call_id": message.call_id,
                "name": message.name,
                "is_error": message.is_error,
                "parts": parts,
            }


def request_value(request: Request) -> Json:
    """The request's JSON value, as `contracts` publish it."""
    return {
        "system": request.system,
        "tools": [tool_value(tool) for tool in request.tools],
        "max_output": request.max_output,
        "messages": [message_value(message) for message in request.messages],
    }


def request_bytes(request: Request) -> bytes:
    """What the digest covers, and what `replay --window` prints."""
    return canonical(request_value(request))


def system_bytes(system: str) -> bytes:
    """A request's system prompt within its canonical JSON."""
    return canonical(system)


def tools_bytes(tools: tuple[ToolSpec, ...]) -> bytes:
    """A request's catalogue within its canonical JSON."""
    return canonical([tool_value(tool) for tool in tools])


def message_bytes(message: Message) -> bytes:
    """A message within its request's canonical JSON, where commas stand between messages."""
    return canonical(message_value(message))


def before_messages(max_output: int) -> bytes:
    """A request's canonical JSON up to its first message."""
    return b'{"max_output":%d,"messages":[' % max_output


def after_messages(system: bytes, tools: bytes) -> bytes:
    """A request's canonical JSON from its last message on."""
    return b'],"system":%b,"tools":%b}' % (system, tools)
