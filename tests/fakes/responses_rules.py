"""What the real Responses API refuses of a request that stores nothing."""

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openai.types.responses.easy_input_message_param import EasyInputMessageParam
from openai.types.responses.response_create_params import ResponseCreateParams
from openai.types.responses.response_function_tool_call_param import ResponseFunctionToolCallParam
from openai.types.responses.response_input_param import FunctionCallOutput, ItemReference
from openai.types.responses.response_reasoning_item_param import ResponseReasoningItemParam
from pydantic import ConfigDict, TypeAdapter

from tests.fakes.images import url_problems
from tests.fakes.sdk_types import type_problems

Item = Mapping[str, Any]
Problem = tuple[int, str]
"""A status and the words that go with it."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LEAST_OUTPUT = 16


@dataclass(frozen=True)
class Issued:
    """A reasoning item that the server gave: its summary, and what followed it in its output
    (`None`: nothing).
    """

    summary: str
    follower: tuple[str, str] | None

    @property
    def letters(self) -> str:
        """The summary without its blanks: in one part or several, it is the same."""
        return _letters([self.summary])


def responses_problems(body: Any, issued: Mapping[str, Issued]) -> Iterator[Problem]:
    """Everything that is wrong with a request's body; `issued` are reasoning items by their
    encrypted content.
    """
    if not isinstance(body, Mapping):
        yield 400, "the body is no JSON object"
        return
    if body.get("store") is not False:
        yield 400, "store: what is not switched off is stored"
    given = body.get("input")
    items = [i for i in given if isinstance(i, Mapping)] if isinstance(given, list) else []
    yield from _reference_problems(body, items)
    yield from ((400, words) for words in _type_problems(body, items))
    yield from ((400, words) for words in _pairing_problems(items))
    yield from _reasoning_problems(items, issued)
    for i, item in enumerate(items):
        yield from ((400, f"input[{i}]: {words}") for words in _item_problems(item))
    for i, tool in enumerate(body.get("tools") or []):
        yield from ((400, f"tools[{i}]: {words}") for words in _tool_problems(tool))
    if body.get("tools") == []:
        yield 400, "tools: an empty list"
    cap = body.get("max_output_tokens")
    if cap is not None and (not isinstance(cap, int) or cap < LEAST_OUTPUT):
        yield 400, f"max_output_tokens: integer below minimum value of {LEAST_OUTPUT}"
    if len(breakpoints(items)) > 4:
        yield 400, "prompt_cache_breakpoint: more than four"


def breakpoints(items: Sequence[Item]) -> list[int]:
    """The places of items that bear an explicit cache mark."""
    return [at for at, item in enumerate(items) if "prompt_cache_breakpoint" in json.dumps(item)]


def without_breakpoints(value: Any) -> Any:
    """An item as the model reads it."""
    match value:
        case Mapping():
            kept = {k: v for k, v in value.items() if k != "prompt_cache_breakpoint"}
            return {name: without_breakpoints(inner) for name, inner in kept.items()}
        case list():
            return [without_breakpoints(inner) for inner in value]
        case _:
            return value


def _reference_problems(body: Mapping[str, Any], items: Sequence[Item]) -> Iterator[Problem]:
    """Nothing is stored, so there is nothing to refer to (C15)."""
    if body.get("previous_response_id"):
        yield 404, f"Previous response with id '{body['previous_response_id']}' not found."
    for item in items:
        if item.get("id") or item.get("type") == "item_reference":
            yield (
                404,
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store`"
                " is set to false.",
            )


def _type_problems(body: Mapping[str, Any], items: Sequence[Item]) -> Iterator[str]:
    """What the official types refuse, item by item, so that the words are about the item. They want
    an id on reasoning, which a request that stores nothing does not have.
    """
    yield from type_problems(_adapter(), {**body, "input": "checked apart"})
    for at, item in enumerate(items):
        kind = str(item.get("type"))
        if kind not in ITEMS:
            yield f"input[{at}]: unknown type {kind!r}"
            continue
        stand_in = {"id": "none"} if kind == "reasoning" else {}
        yield from (f"input[{at}]: {p}" for p in type_problems(_item_type(kind), [stand_in | item]))


ITEMS: Mapping[str, Any] = {
    "message": EasyInputMessageParam,
    "reasoning": ResponseReasoningItemParam,
    "function_call": ResponseFunctionToolCallParam,
    "function_call_output": FunctionCallOutput,
    "item_reference": ItemReference,
}


@functools.cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(ResponseCreateParams, config=ConfigDict(extra="forbid"))


@functools.cache
def _item_type(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(list[ITEMS[kind]], config=ConfigDict(extra="forbid"))  # type: ignore[misc]


def _pairing_problems(items: Sequence[Item]) -> Iterator[str]:
    """Each call answered once, before anybody but the model says something else."""
    if not items:
        yield "input: empty"
        return
    seen: set[str] = set()
    open_: list[str] = []
    for item in items:
        id_ = str(item.get("call_id"))
        match item.get("type"):
            case "function_call":
                if id_ in seen:
                    yield f"Duplicate item found with call_id {id_}."
                seen.add(id_)
                open_.append(id_)
            case "function_call_output" if id_ not in open_:
                yield f"No tool call found for function call output with call_id {id_}."
            case "function_call_output":
                open_.remove(id_)
            case "message" if open_ and item.get("role") != "assistant":
                yield f"No tool output found for function call {open_[0]}."
                open_.clear()
            case _:
                pass
    if open_:
        yield f"No tool output found for function call {open_[0]}."
    if items[-1].get("role") == "assistant":
        yield "input: the conversation ends with a reply"


def _reasoning_problems(items: Sequence[Item], issued: Mapping[str, Issued]) -> Iterator[Problem]:
    """Reasoning comes back as it was given, once, and before what it was given before."""
    seen: set[str] = set()
    for at, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        encrypted = str(item.get("encrypted_content") or "")
        if not encrypted:
            yield 404, "Item with id 'rs_?' not found: reasoning without its encrypted content"
            continue
        known = issued.get(encrypted)
        if known is None:
            yield 400, f"The encrypted content {encrypted[:12]}... could not be verified."
            continue
        if encrypted in seen:
            yield 400, f"Duplicate reasoning item {encrypted[:12]}..."
        seen.add(encrypted)
        if _letters(part.get("text") for part in item.get("summary") or ()) != known.letters:
            yield 400, f"input[{at}].summary: not the one of this item"
        follower = _key(items[at + 1]) if at + 1 < len(items) else None
        if follower != (known.follower or ("function_call_output", "")):
            yield (
                400,
                f"Item {encrypted[:12]} of type 'reasoning' was provided without its required"
                " following item.",
            )


def _letters(texts: Iterable[Any]) -> str:
    return "".join("".join(str(text).split()) for text in texts)


def _key(item: Item) -> tuple[str, str]:
    kind = str(item.get("type"))
    match kind:
        case "function_call":
            return kind, str(item.get("call_id"))
        case "message" if item.get("role") == "assistant":
            return kind, text_of(item)
        case "reasoning":
            return kind, str(item.get("encrypted_content"))
        case _:
            return kind, ""


def text_of(item: Item) -> str:
    """The text of a message or a result."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content or [])


def _item_problems(item: Item) -> Iterator[str]:
    content = item.get("content", item.get("output"))
    for part in content if isinstance(content, list) else []:
        if part.get("type") == "input_image":
            yield from url_problems(part.get("image_url"))
    match item.get("type"):
        case "message" | "function_call_output" if not text_of(item).strip():
            yield "text must not be blank"
        case "function_call_output" if not item.get("call_id"):
            yield "call_id: missing"
        case "function_call":
            if not _NAME.fullmatch(str(item.get("name"))):
                yield f"bad name {item.get('name')!r}"
            try:
                arguments = json.loads(item.get("arguments") or "")
            except (TypeError, ValueError):
                arguments = None
            if not isinstance(arguments, dict):
                yield f"arguments are no object: {item.get('arguments')!r}"
        case _:
            pass


def _tool_problems(tool: Any) -> Iterator[str]:
    if not isinstance(tool, Mapping) or tool.get("type") != "function":
        yield "not a function"
        return
    if not _NAME.fullmatch(str(tool.get("name"))):
        yield f"bad name {tool.get('name')!r}"
    parameters = tool.get("parameters")
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        yield "parameters are no schema of an object"
    elif tool.get("strict") is not False and parameters.get("additionalProperties") is not False:
        yield "strict: additionalProperties must be false"
