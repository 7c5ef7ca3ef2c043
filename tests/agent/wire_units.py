"""What a request that a fake received is made of, unit by unit, and where each stands in its bytes.
It is read from the wire alone, so that a test of the order need not believe who made it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["system", "said", "plan", "note", "fresh", "opaque", "answer", "call", "result"]

MARK = re.compile(
    rb',"(?:cache_control":\{"type":"ephemeral"(?:,"ttl":"1h")?\}'
    rb'|prompt_cache_breakpoint":\{"mode":"explicit"\})'
)
TITLES: Mapping[str, str] = {
    "working state": "working_state",
    "skills in use": "skills",
    "runtime": "runtime",
    "recalled facts": "recall",
    "standing corrections": "corrections",
}
_FRESH = re.compile(rf"\[({'|'.join(TITLES)}) as of here, ")
_HEADS: Sequence[tuple[str, Kind]] = (
    ("The person asks:", "said"),
    ("By the way:", "said"),
    ("The plan as it stands:", "plan"),
    ("Note from the program:", "note"),
)
_STARTS = re.compile(rf"(?:^|\n\n)(?={_FRESH.pattern}|{'|'.join(head for head, _ in _HEADS)})")
"""Where a row begins in a message that joins several, for templates that insist on turns."""


@dataclass(frozen=True)
class Unit:
    """A row, or a part of a reply; `label` is a fresh row's kind, `id` a call's, `end` the count of
    bytes up to its end where no marks are.
    """

    kind: Kind
    text: str
    start: int
    end: int
    marked: bool = False
    label: str = ""
    id: str = ""


def bare(content: bytes) -> bytes:
    """A body without its cache marks, which move."""
    return MARK.sub(b"", content)


def units(content: bytes) -> list[Unit]:
    """A body's units, in order."""
    body = json.loads(content)
    name = "input" if "input" in body else "messages"
    items = body[name]
    whole = bare(content)
    written = [_bytes(item) for item in items]
    at = len(whole) - len(b",".join(written)) - len(b"]}")
    assert whole[at:-2] == b",".join(written), "the conversation stands last, written as others are"
    found = [
        Unit("system", each["text"], 0, 0, "cache_control" in each)
        for each in body.get("system") or []
    ]
    for item, data in zip(items, written, strict=True):
        found += _of(item, at, at + len(data))
        at += len(data) + 1
    return found


def _bytes(value: Any) -> bytes:
    return bare(_marked_bytes(value))


def _marked_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _of(item: Mapping[str, Any], start: int, end: int) -> Iterator[Unit]:
    """The units of a message or an item."""
    marked = bool(MARK.search(_marked_bytes(item)))
    match item.get("type"), item.get("role"):
        case "reasoning", _:
            yield Unit("opaque", item["encrypted_content"], start, end)
        case "function_call", _:
            yield Unit("call", item["name"], start, end, marked, id=item["call_id"])
        case "function_call_output", _:
            yield Unit("result", _text(item["output"]), start, end, marked, id=item["call_id"])
        case _, "system":
            yield Unit("system", _text(item["content"]), start, end, marked)
        case _, "tool":
            id_ = item["tool_call_id"]
            yield Unit("result", _text(item["content"]), start, end, marked, id=id_)
        case _, "assistant" if not isinstance(item.get("content"), list):
            yield from _reply(item, start, end)
        case _, "user" if isinstance(item["content"], str):
            yield from _joined(item["content"], start)
        case _:
            yield from _blocks(item, start)


def _reply(item: Mapping[str, Any], start: int, end: int) -> Iterator[Unit]:
    """A reply whose parts are fields of one message."""
    if "reasoning_details" in item:
        yield Unit("opaque", json.dumps(item["reasoning_details"]), start, end)
    if item.get("content"):
        yield Unit("answer", item["content"], start, end)
    for call in item.get("tool_calls") or ():
        yield Unit("call", call["function"]["name"], start, end, id=call["id"])


def _joined(text: str, start: int) -> Iterator[Unit]:
    """The rows that a message of one text holds."""
    at = start + len(b'{"role":"user","content":"')
    places = [found.end() for found in _STARTS.finditer(text)] or [0]
    for begin, after in zip(places, [*places[1:], None], strict=True):
        row = text[begin:after].removesuffix("\n\n") if after else text[begin:]
        first = at + _escaped(text[:begin])
        yield _row(row, first, first + _escaped(row), marked=False)


def _escaped(text: str) -> int:
    return len(_bytes(text)) - 2


def _blocks(item: Mapping[str, Any], start: int) -> Iterator[Unit]:
    """The units of a message whose content is a list, and of what stands beside the list."""
    content = item["content"]
    head = _bytes({**item, "content": []})
    at = start + head.index(b'"content":[') + len(b'"content":[')
    if "reasoning_details" in item:
        yield Unit("opaque", json.dumps(item["reasoning_details"]), start, start)
    for block in content:
        end = at + len(_bytes(block))
        has = bool(MARK.search(_marked_bytes(block)))
        match block["type"]:
            case "thinking" | "redacted_thinking":
                yield Unit("opaque", block.get("signature") or block["data"], at, end, has)
            case "tool_use":
                yield Unit("call", block["name"], at, end, has, id=block["id"])
            case "tool_result":
                text = _text(block["content"])
                yield Unit("result", text, at, end, has, id=block["tool_use_id"])
            case _ if item["role"] == "assistant":
                yield Unit("answer", block["text"], at, end, has)
            case _:
                yield _row(block["text"], at, end, marked=has)
        at = end + 1
    for call in item.get("tool_calls") or ():
        yield Unit("call", call["function"]["name"], at, at, id=call["id"])


def _row(text: str, start: int, end: int, *, marked: bool) -> Unit:
    if (fresh := _FRESH.match(text)) is not None:
        return Unit("fresh", text, start, end, marked, label=TITLES[fresh[1]])
    kind = next((kind for head, kind in _HEADS if text.startswith(head)), None)
    assert kind is not None, f"a row that nobody sent: {text!r}"
    return Unit(kind, text, start, end, marked)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
