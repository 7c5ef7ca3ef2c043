"""What the real Anthropic API refuses of a request, as its reference says; what it knows only from
earlier requests (signatures, prefixes) stands in `anthropic_thinking.py`.
"""

import base64
import functools
import re
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParams as BetaParams
from anthropic.types.message_create_params import MessageCreateParams
from pydantic import ConfigDict, TypeAdapter

from tests.fakes.images import data_problems
from tests.fakes.sdk_types import type_problems

VERSIONS = ("2023-06-01", "2026-10-21")
BINDING = "thinking-binding-controls-2026-08-01"
THINKING = ("thinking", "redacted_thinking")
MOST_MARKS = 4

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MOST_BYTES = 32_000_000
"""Of a request's body."""
_SAMPLING = ("temperature", "top_p", "top_k")

Block = Mapping[str, Any]
Message = Mapping[str, Any]


def anthropic_problems(body: Any, headers: Mapping[str, str]) -> Iterator[str]:
    """Everything that is wrong with a request. Header names in lower case."""
    version = headers.get("anthropic-version")
    if version is None:
        yield "anthropic-version: header is required"
    elif version not in VERSIONS:
        yield f"anthropic-version: “{version}” is not a valid version"
    if not isinstance(body, Mapping):
        yield "the body is no JSON object"
        return
    yield from (f"{name}: Extra inputs are not permitted" for name in _SAMPLING if name in body)
    betas = {name.strip() for name in headers.get("anthropic-beta", "").split(",")}
    yield from type_problems(_adapter(beta=BINDING in betas), body)
    messages = [m for m in body.get("messages") or [] if isinstance(m, Mapping)]
    yield from _order_problems(messages)
    yield from _pairing_problems(messages)
    for i, message in enumerate(messages):
        for j, block in enumerate(blocks_of(message)):
            yield from (f"messages.{i}.content.{j}: {words}" for words in _block_problems(block))
    yield from _image_problems(messages)
    yield from _tool_problems(body.get("tools"))
    yield from _mark_problems(body)
    yield from _thinking_problems(body, messages)


def blocks_of(message: Message) -> list[Block]:
    """A message's content blocks; a text is one."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []


@functools.cache
def _adapter(*, beta: bool) -> TypeAdapter[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a part of the beta that takes more fields by design
        if beta:
            return TypeAdapter(BetaParams, config=ConfigDict(extra="forbid"))
        return TypeAdapter(MessageCreateParams, config=ConfigDict(extra="forbid"))


def _order_problems(messages: Sequence[Message]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0].get("role") != "user":
        yield "messages: first message must use the user role"
    if messages[-1].get("role") != "user":
        yield "messages: this model does not support prefill: the last message must be the user's"
    for i, message in enumerate(messages):
        blocks = blocks_of(message)
        if not blocks:
            yield f"messages.{i}: content must not be empty"
        elif message.get("role") == "assistant" and blocks[-1].get("type") in THINKING:
            yield f"messages.{i}: the final block in an assistant message cannot be `thinking`"


def _pairing_problems(messages: Sequence[Message]) -> Iterator[str]:
    """Each call answered once, in the one message behind it, before anything else."""
    seen: set[str] = set()
    wanted: list[str] = []
    for i, message in enumerate(messages):
        blocks = blocks_of(message)
        results = [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
        if missing := [id_ for id_ in wanted if id_ not in results]:
            yield (
                f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately"
                f" after: {', '.join(missing)}"
            )
        for id_ in results:
            if id_ not in wanted or results.count(id_) > 1:
                yield f"messages.{i}: unexpected `tool_use_id` found in `tool_result`: {id_}"
        kinds = [b.get("type") for b in blocks]
        if "tool_result" in kinds[kinds.count("tool_result") :]:
            yield f"messages.{i}: `tool_result` blocks must stand before anything else"
        wanted = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
        if twice := [id_ for id_ in wanted if id_ in seen or wanted.count(id_) > 1]:
            yield f"messages.{i}: `tool_use` ids must be unique: {', '.join(twice)}"
        seen |= set(wanted)
    if wanted:
        yield f"`tool_use` ids without `tool_result` at the end: {', '.join(wanted)}"


def _block_problems(block: Block) -> Iterator[str]:
    match block.get("type"):
        case "text" if not str(block.get("text", "")).strip():
            yield "text content blocks must contain non-whitespace text"
        case "tool_use":
            if not _TOOL_NAME.fullmatch(str(block.get("name"))):
                yield f"tool_use.name: {block.get('name')!r} does not match the pattern"
            if not _ID.fullmatch(str(block.get("id"))):
                yield f"tool_use.id: {block.get('id')!r} does not match the pattern"
        case "tool_result":
            content = block.get("content")
            inner = content if isinstance(content, list) else [{"type": "text", "text": content}]
            for part in inner:
                yield from _block_problems(part)
        case _:
            pass


def _image_problems(messages: Sequence[Message]) -> Iterator[str]:
    blocks = [block for message in messages for block in blocks_of(message)]
    inner = [part for b in blocks for part in b.get("content") or [] if isinstance(part, Mapping)]
    images = [block for block in [*blocks, *inner] if block.get("type") == "image"]
    if len(images) > 100:
        yield f"too many images: {len(images)} > 100"
    side = 2000 if len(images) > 20 else 8000
    for image in images:
        source = image.get("source") or {}
        data = str(source.get("data", ""))
        if source.get("media_type") not in _IMAGES:
            yield f"image: {source.get('media_type')!r} is not supported"
        yield from data_problems(data, str(source.get("media_type")))
        if max(_png_size(data)) > side:
            yield f"image dimensions exceed the maximum of {side} pixels"


def _png_size(data: str) -> tuple[int, int]:
    """The size of a PNG, nothing of any other kind."""
    head = base64.b64decode(data[:32])
    return struct.unpack(">II", head[16:24]) if head[1:4] == b"PNG" else (0, 0)


def _tool_problems(tools: Any) -> Iterator[str]:
    names = [tool.get("name") for tool in tools or []]
    for i, tool in enumerate(tools or []):
        if not _TOOL_NAME.fullmatch(str(tool.get("name"))) or names.count(tool.get("name")) > 1:
            yield f"tools.{i}.name: {tool.get('name')!r} is no name, or given twice"
        schema = tool.get("input_schema")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"tools.{i}.input_schema.type: input should be 'object'"


def marked(body: Mapping[str, Any]) -> list[Block]:
    """The blocks that bear a cache mark, in the order of the prompt."""
    system = body.get("system")
    pieces = [*(body.get("tools") or []), *(system if isinstance(system, list) else [])]
    for message in body.get("messages") or []:
        for block in blocks_of(message):
            inner = block.get("content")
            pieces += [*(inner if isinstance(inner, list) else []), block]
    return [piece for piece in pieces if piece.get("cache_control")]


def _mark_problems(body: Mapping[str, Any]) -> Iterator[str]:
    marks = marked(body)
    asks = [block["cache_control"] for block in marks]
    asks += [body["cache_control"]] if body.get("cache_control") else []
    if len(asks) > MOST_MARKS:
        yield f"a maximum of {MOST_MARKS} blocks with cache_control may be provided: {len(asks)}"
    for block in marks:
        if block.get("type") in THINKING:
            yield "cache_control: thinking blocks cannot bear it"
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            yield "cache_control: cannot be set for empty text blocks"
    lives = [ask.get("ttl", "5m") for ask in asks]
    if "1h" in lives[lives.index("5m") :] if "5m" in lives else False:
        yield "cache_control: a ttl='1h' block must not come after a ttl='5m' one"


def _thinking_problems(body: Mapping[str, Any], messages: Sequence[Message]) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or not 1024 <= budget < body.get("max_tokens", 0):
        yield "thinking.enabled.budget_tokens: must be 1024 or more, and less than max_tokens"
    # With a budget, though not in adaptive mode, the loop that goes on begins with its thinking.
    # All that came after the person's own message is one turn: only its first reply has to think.
    answers = [any(b.get("type") == "tool_result" for b in blocks_of(m)) for m in messages]
    own = [i for i, m in enumerate(messages) if m.get("role") == "user" and not answers[i]]
    loop = [m for m in messages[max(own, default=-1) + 1 :] if m.get("role") == "assistant"]
    if answers and answers[-1] and loop and blocks_of(loop[0])[0].get("type") not in THINKING:
        yield "messages: expected `thinking` or `redacted_thinking`, but found another block"
