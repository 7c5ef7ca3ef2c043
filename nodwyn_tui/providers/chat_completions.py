"""The chat-completions protocol: requests to bytes, by a table of server dialects (PRV-2).

A dialect is the person's setting, never guessed from a model's name or an address.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.request import AssistantRow, Json, Message, Request, UserRow
from nodwyn_tui.errors import ConfigError, ProviderError
from nodwyn_tui.providers.base import Decoder, Framing, WireRequest
from nodwyn_tui.providers.body import RowMemo, Rows, WireMessage
from nodwyn_tui.providers.calls import arguments_text, wire_name
from nodwyn_tui.providers.chat_details import DETAILS
from nodwyn_tui.providers.chat_marks import ChatMarks, in_parts
from nodwyn_tui.providers.chat_stream import ChatDecoder
from nodwyn_tui.providers.images import (
    OF_RESULTS,
    Pixels,
    chat_parts,
    images_of,
    images_of_rows,
    inserted,
    no_pixels,
)
from nodwyn_tui.providers.marks import CACHE_CONTROL
from nodwyn_tui.providers.opaque import given_back
from nodwyn_tui.providers.rows import (
    NO_ANSWER,
    NO_OUTPUT,
    NO_TEXT,
    answered,
    calls_of,
    function_tool,
    opened,
    said,
    thought,
)
from nodwyn_tui.providers.session_key import key_to_send, session_headers


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDialect:
    """One row of the table: how a kind of server differs.

    `thinking` is the field that history thinking goes back in ('' none), `stands_empty` says that
    it must be there on every message with calls; `details` that a reply's `reasoning_details` go
    back to who gave them, in place of the thinking; `refused` are request fields never sent;
    `reply_cap` names the reply's limit; `no_effort` is what `effort = "off"` becomes;
    `takes_turns` makes user and assistant alternate, for templates that insist on it.
    """

    thinking: str = "reasoning_content"
    stands_empty: bool = False
    details: bool = False
    refused: frozenset[str] = frozenset()
    reply_cap: str = "max_tokens"
    no_effort: Mapping[str, Json] = field(default_factory=lambda: {"reasoning_effort": "none"})
    takes_turns: bool = False


DIALECTS: Mapping[str, ServerDialect] = {
    "compatible": ServerDialect(details=True),
    "openai": ServerDialect(thinking="", reply_cap="max_completion_tokens"),
    "cerebras": ServerDialect(
        thinking="reasoning",
        refused=frozenset({"cache_control"}),
        reply_cap="max_completion_tokens",
        no_effort={"disable_reasoning": True},
    ),
    "deepseek": ServerDialect(stands_empty=True, no_effort={"thinking": {"type": "disabled"}}),
    "vllm": ServerDialect(
        thinking="reasoning", no_effort={"chat_template_kwargs": {"enable_thinking": False}}
    ),
    "llamacpp": ServerDialect(no_effort={"chat_template_kwargs": {"enable_thinking": False}}),
    "alternating": ServerDialect(takes_turns=True),
}
"""The values of a model's `dialect`; parsing is the same for all."""

_THINKING_FIELDS = ("reasoning_content", "reasoning", DETAILS)


class ChatCompletions:
    """`POST /chat/completions`, SSE."""

    name = "openai"
    framing: Framing = "sse"

    def __init__(self) -> None:
        self._memo, self._images = RowMemo(), RowMemo()

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest:
        """The request's body. Messages come last, so that a longer conversation's body begins with
        the bytes of the shorter one's, but for the cache marks, which move along.
        """
        server = dialect_named(parameters.dialect)
        body: dict[str, Json] = {
            "model": model.id,
            "stream": True,
            "stream_options": {"include_usage": True},
            server.reply_cap: request.max_output,
            **_effort(parameters.effort, server),
            **_caching(parameters),
        }
        if request.tools:
            body["tools"] = [function_tool(tool) for tool in request.tools]
        body = {name: value for name, value in body.items() if name not in server.refused}
        body["messages"] = self._messages(request, parameters, model.origin, pixels)
        return WireRequest(path="/chat/completions", body=body, headers=session_headers(parameters))

    def decoder(self, model: ModelRef) -> Decoder:
        """A decoder of one reply, whose opaque reasoning is this model's."""
        return ChatDecoder(model.origin)

    def remedy(self, error: ProviderError, wire: WireRequest) -> str:
        """The setting behind a refusal: which field the server did not take, and what sets it."""
        if error.kind == "invalid_request":
            return _field_remedy(error, wire)
        if error.status == 500 and _TURNS.search(error.message):
            return 'Set dialect = "alternating" for this model'
        return ""

    def _messages(
        self, request: Request, parameters: Parameters, origin: str, pixels: Pixels
    ) -> list[WireMessage]:
        name = parameters.dialect or ""
        server, shown = dialect_named(name), opened(request.messages)
        ask = "" if "cache_control" in server.refused else parameters.cache_control
        marks = ChatMarks.of(ask, parameters, len(shown) - len(request.messages))
        form, variant = in_parts if marks else dict, f"{name} {origin} {bool(marks)}"
        rows = self._memo.messages(
            shown, variant, lambda row: form(_message(row, server, origin, pixels))
        )
        rows = inserted(
            rows, shown, self._images, lambda batch: form(_shown(batch, pixels)), variant
        )
        system = WireMessage(role="system", content=request.system)
        if marks:
            marks.put(rows, shown)
            system = marks.on(in_parts(system))
        messages = _in_turns(rows) if server.takes_turns else rows
        return [system, *messages] if request.system.strip() else messages


def dialect_named(name: str | None) -> ServerDialect:
    """The row of that name, `compatible` for none; `ConfigError` for an unknown one."""
    row = DIALECTS.get(name or "compatible")
    if row is None:
        raise ConfigError("no such dialect", key="dialect", found=f'"{name}"', allowed=_allowed())
    return row


def _allowed() -> str:
    return ", ".join(DIALECTS)


def _effort(effort: str | None, server: ServerDialect) -> Mapping[str, Json]:
    if effort == "off":
        return server.no_effort
    return {"reasoning_effort": effort} if effort else {}


def _caching(parameters: Parameters) -> dict[str, Json]:
    asks: dict[str, Json] = {}
    if parameters.cache_key == "session" and (key := key_to_send(parameters)):
        asks["prompt_cache_key"] = key
    ask = CACHE_CONTROL.get(parameters.cache_control or "off")
    if ask and parameters.history is None:
        # It follows the last message, which serves where that stays (ORD-6).
        asks["cache_control"] = dict(ask)
    return asks


def _shown(batch: Rows, pixels: Pixels) -> dict[str, Json]:
    return {"role": "user", "content": chat_parts(OF_RESULTS, images_of_rows(batch), pixels)}


def _message(row: Message, server: ServerDialect, origin: str, pixels: Pixels) -> dict[str, Json]:
    match row:
        case UserRow():
            text, images = said(row.parts, NO_TEXT), images_of(row.parts)
            content = chat_parts(text, images, pixels) if images else text
            return {"role": "user", "content": content}
        case AssistantRow():
            return _assistant(row, server, origin)
        case _:
            return {
                "role": "tool",
                "tool_call_id": row.call_id,
                "content": said(row.parts, NO_OUTPUT),
            }


def _assistant(row: AssistantRow, server: ServerDialect, origin: str) -> dict[str, Json]:
    calls, thinking = calls_of(row), thought(row)
    message: dict[str, Json] = {"role": "assistant", "content": answered(row) or None}
    given = (given_back(part, DETAILS, origin) for part in row.parts if server.details)
    if details := next(filter(None, given), None):
        message[DETAILS] = details
    elif server.thinking and (thinking or (server.stands_empty and calls)):
        message[server.thinking] = thinking
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": wire_name(call.name),
                    "arguments": arguments_text(call.arguments),
                },
            }
            for call in calls
        ]
    return message


def _in_turns(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """One message of users' messages in a row, and between results and a user's message the note
    that the assistant said nothing: such a template counts neither calls nor results as a turn.
    """
    out: list[WireMessage] = []
    for message in messages:
        before = out[-1]["role"] if out else ""
        if message["role"] == before == "user":
            content = _joined(out[-1]["content"], message["content"])
            out[-1] = WireMessage(role="user", content=content)
            continue
        if message["role"] == "user" and before == "tool":
            out.append(WireMessage(role="assistant", content=NO_ANSWER))
        out.append(message)
    return out


def _joined(one: Json, other: Json) -> Json:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [
        part
        for content in (one, other)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


_TURNS = re.compile(r"roles must alternate|alternate user", re.IGNORECASE)

_FIELD_SETTINGS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"must be passed back"), 'Set dialect = "deepseek" for this model'),
    (_TURNS, 'Set dialect = "alternating" for this model'),
    (re.compile(DETAILS), 'Set dialect = "llamacpp" or "vllm" for this model'),
    (re.compile(r"reasoning_content"), 'Set dialect = "cerebras" (or "vllm") for this model'),
    (re.compile(r"prompt_cache_key"), 'Set cache_key = "header" or "off" for this model'),
    (re.compile(r"cache_control"), 'Set cache_control = "off" for this model'),
    (re.compile(r"max_completion_tokens"), 'Set dialect = "openai" for this model'),
    (re.compile(r"max_tokens"), "Set max_output lower for this model"),
    (re.compile(r"reasoning_effort|disable_reasoning|\bthinking\b"), "Remove effort, or change it"),
    (re.compile(r"\breasoning\b"), 'Set dialect = "compatible" for this model'),
    (re.compile(r"support (?:tools|tool use|function)"), "Pick a model that can call tools"),
)
"""What a refusal's words point at, the most telling first."""


def _field_remedy(error: ProviderError, wire: WireRequest) -> str:
    words = f"{error.message} {error.detail}"
    for pattern, remedy in _FIELD_SETTINGS:
        if pattern.search(words):
            return remedy
    sent = {name for message in wire.body["messages"] for name in message}
    found = sorted(sent & set(_THINKING_FIELDS))
    if not found or error.detail.strip():
        return ""
    # Some servers refuse a reasoning field without a word (C16): then it is the likeliest cause.
    return (
        f"The server may not take {found[0]} in the conversation: "
        f"set this model's dialect to another of {_allowed()}"
    )
