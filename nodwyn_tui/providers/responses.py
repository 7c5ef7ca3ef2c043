"""The OpenAI Responses protocol: requests to bytes, and what a refusal's words point at.

Nothing is stored at the server (`store: false`), so no id of an item that it made ever goes back,
and every item goes inline (C15).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from nodwyn_tui.domain.canonical import plain
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.parts import Call, ReplyPart, Text, UserPart
from nodwyn_tui.domain.request import AssistantRow, Json, Message, Request, ToolSpec, UserRow
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Decoder, Framing, WireRequest
from nodwyn_tui.providers.body import RowMemo, WireMessage
from nodwyn_tui.providers.calls import arguments_text, wire_name
from nodwyn_tui.providers.history import history_marks, last_reply
from nodwyn_tui.providers.images import DETAIL, Pixels, data_url, images_of, no_pixels
from nodwyn_tui.providers.opaque import given_back
from nodwyn_tui.providers.response_items import REASONING
from nodwyn_tui.providers.responses_stream import ResponsesDecoder
from nodwyn_tui.providers.rows import NO_ANSWER, NO_OUTPUT, NO_TEXT, opened, said
from nodwyn_tui.providers.session_key import key_to_send, session_headers

_LIFETIMES: Mapping[str, str] = {"ephemeral": "30m", "12h": "12h"}
"""The cache's lifetimes by `cache_control`."""

_BREAKPOINT: Mapping[str, Json] = {"prompt_cache_breakpoint": {"mode": "explicit"}}


class Responses:
    """`POST /responses`, SSE."""

    name = "responses"
    framing: Framing = "sse"

    def __init__(self) -> None:
        self._memo = RowMemo()

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest:
        """The request's body. The conversation comes last, so that a longer one's body begins with
        the bytes of the shorter one's, but for the cache marks, which move along.
        """
        marked = parameters.cache_control in _LIFETIMES
        body: dict[str, Json] = {
            "model": model.id,
            "stream": True,
            "store": False,
            "max_output_tokens": request.max_output,
            **_reasoning(parameters),
            **_caching(parameters),
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.system.strip() and not marked:
            body["instructions"] = request.system
        rows = opened(request.messages)
        variant = f"{marked} {model.origin}"
        items = self._memo.items(
            rows, variant, lambda row: _items(row, model.origin, marked, pixels)
        )
        if marked:
            latest = items[last_reply(rows)]
            marks = history_marks(
                rows,
                told=parameters.markers(len(rows) - len(request.messages)),
                latest_only=parameters.keep_reasoning == "latest",
                thoughtful=any(item["type"] == REASONING for item in latest),
            )
            _set_marks(items, marks)
            if request.system.strip():
                items.insert(0, (_marked(WireMessage(_message("system", request.system))),))
        body["input"] = [item for made in items for item in made]
        return WireRequest(path="/responses", body=body, headers=session_headers(parameters))

    def decoder(self, model: ModelRef) -> Decoder:
        """A decoder of one reply, whose opaque reasoning is this model's."""
        return ResponsesDecoder(model.origin)

    def remedy(self, error: ProviderError, wire: WireRequest) -> str:  # noqa: ARG002 - other protocols need it
        """The setting behind a refusal."""
        words = f"{error.message} {error.detail}"
        if error.kind == "not_found" and "model" not in words.lower() and "Item with" not in words:
            return 'If it has no Responses API, set provider = "openai" for this server'
        if error.kind not in {"invalid_request", "not_found"}:
            return ""
        found = (remedy for pattern, remedy in _SETTINGS if pattern.search(words))
        return next(found, "")


def _reasoning(parameters: Parameters) -> dict[str, Json]:
    """What is asked of the model's reasoning: nothing at all where no setting is about it, since
    models without any refuse to be asked.
    """
    asks: dict[str, Json] = {}
    effort, summary = parameters.effort, parameters.summary
    if effort:
        asks["effort"] = "none" if effort == "off" else effort
    if summary is None and ((effort and effort != "off") or parameters.keep_reasoning):
        summary = "auto"
    if summary and summary != "off":
        asks["summary"] = summary
    if parameters.keep_reasoning is True:
        # Else a model may leave out what it reasoned before the person's last message, and read
        # all behind it anew.
        asks["context"] = "all_turns"
    found: dict[str, Json] = {"reasoning": asks} if asks else {}
    if parameters.keep_reasoning:
        found["include"] = ["reasoning.encrypted_content"]
    return found


def _caching(parameters: Parameters) -> dict[str, Json]:
    asks: dict[str, Json] = {}
    if parameters.cache_key == "session" and (key := key_to_send(parameters)):
        asks["prompt_cache_key"] = key
    if ttl := _LIFETIMES.get(parameters.cache_control or "off"):
        # What would be written behind rows that go could never be read again (ORD-6).
        mode = "implicit" if parameters.history is None else "explicit"
        asks["prompt_cache_options"] = {"mode": mode, "ttl": ttl}
    return asks


def _tool(tool: ToolSpec) -> Json:
    """Not strict: that would want every parameter required, and is what an unset field means."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": plain(tool.parameters),
        "strict": False,
    }


def _items(row: Message, origin: str, marked: bool, pixels: Pixels) -> Iterator[Mapping[str, Json]]:
    """The items of a row. Where marks are asked for, results are lists of parts, marked or not, so
    that only the mark comes and goes; so are results with images.
    """
    match row:
        case UserRow():
            yield _message("user", said(row.parts, NO_TEXT), _images(row.parts, pixels))
        case AssistantRow():
            yield from _reply(row.parts, origin)
        case _:
            text, images = said(row.parts, NO_OUTPUT), _images(row.parts, pixels)
            yield {
                "type": "function_call_output",
                "call_id": row.call_id,
                "output": [*images, _part(text)] if marked or images else text,
            }


def _reply(parts: Sequence[ReplyPart], origin: str) -> Iterator[Mapping[str, Json]]:
    """A reply's items in the order it had them. Its thinking has no field to go back in; it goes
    back encrypted, or not at all.
    """
    spoke = False
    for at, part in enumerate(parts):
        item = given_back(part, REASONING, origin)
        if item is not None and _leads_somewhere(parts, at):
            yield item
        elif isinstance(part, Text) and part.text.strip():
            spoke = True
            yield _answer(part)
        elif isinstance(part, Call):
            spoke = True
            yield {
                "type": "function_call",
                "call_id": part.id,
                "name": wire_name(part.name),
                "arguments": arguments_text(part.arguments),
            }
    if not spoke:
        yield _answer(Text(NO_ANSWER))


def _leads_somewhere(parts: Sequence[ReplyPart], at: int) -> bool:
    """Whether the reasoning at `at` has what it must have behind it: something the model said, or
    the results of its calls.
    """
    rest = (part for part in parts[at + 1 :] if isinstance(part, Text))
    said_more = any(part.text.strip() and part.text != NO_ANSWER for part in rest)
    return said_more or any(isinstance(part, Call) for part in parts)


def _answer(text: Text) -> Mapping[str, Json]:
    item = {"type": "message", "role": "assistant", "content": text.text}
    return {**item, "phase": text.phase} if text.phase else item


def _message(role: str, text: str, images: Sequence[Json] = ()) -> Mapping[str, Json]:
    """The images first: what bears a mark is the text behind them."""
    return {"type": "message", "role": role, "content": [*images, _part(text)]}


def _images(parts: Sequence[UserPart], pixels: Pixels) -> list[Json]:
    return [
        {"type": "input_image", "detail": DETAIL, "image_url": data_url(image, pixels)}
        for image in images_of(parts)
    ]


def _part(text: str) -> Mapping[str, Json]:
    return {"type": "input_text", "text": text}


def _set_marks(items: list[tuple[WireMessage, ...]], marks: Sequence[int]) -> None:
    """Marks the last row before each of `marks` that can bear one: no reply can."""
    for mark in marks:
        for at in range(mark - 1, -1, -1):
            if _bears(items[at][-1]):
                items[at] = (*items[at][:-1], _marked(items[at][-1]))
                break


def _bears(item: WireMessage) -> bool:
    return item["type"] == "function_call_output" or item.get("role") == "user"


def _marked(item: WireMessage) -> WireMessage:
    name = "output" if item["type"] == "function_call_output" else "content"
    *parts, last = item[name]
    return WireMessage({**item, name: [*parts, {**last, **_BREAKPOINT}]})


_NO_REASONING = "Set keep_reasoning = false for this model"

_SETTINGS: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (r"encrypted.content|type 'reasoning'|required 'reasoning' item|'rs_", _NO_REASONING),
        (r"reasoning\.context", 'Set keep_reasoning = "latest" or false for this model'),
        (r"prompt_cache_key", 'Set cache_key = "header" or "off" for this model'),
        (r"prompt_cache_(?:options|breakpoint)", 'Set cache_control = "off" for this model'),
        (r"max_output_tokens", "Change max_output for this model"),
        (r"summar", 'Set summary = "off" for this model'),
        (r"reasoning", "Remove effort and keep_reasoning for this model, or change effort"),
        (r"support (?:tools|tool use|function)", "Pick a model that can call tools"),
    )
)
"""What a refusal's words point at, the most telling first."""
