"""Ollama's native protocol: requests to bytes, and lines of a stream to a reply (PRV-7)."""

from collections.abc import Iterator, Mapping, Sequence

from nodwyn_tui.domain.deltas import (
    Alive,
    CallDelta,
    Delta,
    Finish,
    Reply,
    TextDelta,
    ThinkingDelta,
)
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.parts import Call, ReplyPart
from nodwyn_tui.domain.request import AssistantRow, Json, Message, Request, UserRow
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Decoder, Frame, Framing, WireRequest
from nodwyn_tui.providers.body import RowMemo, Rows, WireMessage
from nodwyn_tui.providers.calls import arguments_object, json_text, wire_name
from nodwyn_tui.providers.failures import error_in, frame_object, incomplete
from nodwyn_tui.providers.images import (
    OF_RESULTS,
    Pixels,
    base64_of,
    images_of,
    images_of_rows,
    inserted,
    no_pixels,
)
from nodwyn_tui.providers.pieces import Readable
from nodwyn_tui.providers.rows import (
    NO_OUTPUT,
    NO_TEXT,
    answered,
    calls_of,
    function_tool,
    opened,
    said,
    thought,
)
from nodwyn_tui.providers.session_key import session_headers
from nodwyn_tui.providers.token_counts import MOST

_NANOSECONDS_IN_MS = 1_000_000


class Ollama:
    """`POST /api/chat`, NDJSON."""

    name = "ollama"
    framing: Framing = "ndjson"

    def __init__(self) -> None:
        self._memo, self._images = RowMemo(), RowMemo()

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest:
        """The request's body, messages last. `num_ctx` is in every one, the small ones too:
        another value would reload the model. `ValueError` if the parameters hold none.
        """
        if parameters.num_ctx is None:
            raise ValueError("a request to Ollama needs num_ctx")
        body: dict[str, Json] = {"model": model.id, "stream": True}
        if (think := _think(parameters)) is not None:
            body["think"] = think
        if parameters.keep_alive:
            body["keep_alive"] = _keep_alive(parameters.keep_alive)
        body |= {
            # Without these the server cuts the front of a long prompt, and says nothing.
            "truncate": False,
            "shift": False,
            "options": {"num_ctx": parameters.num_ctx, "num_predict": request.max_output},
        }
        if request.tools:
            body["tools"] = [function_tool(tool) for tool in request.tools]
        messages = self._messages(opened(request.messages), pixels)
        if request.system.strip():
            messages.insert(0, WireMessage(role="system", content=request.system))
        body["messages"] = messages
        return WireRequest(path="/api/chat", body=body, headers=session_headers(parameters, ()))

    def _messages(self, rows: Sequence[Message], pixels: Pixels) -> list[WireMessage]:
        """A message a row, and one with the images of each batch of results behind it."""
        messages = self._memo.messages(rows, "", lambda row: _message(row, pixels))
        return inserted(messages, rows, self._images, lambda batch: _shown(batch, pixels))

    def decoder(self, model: ModelRef) -> Decoder:  # noqa: ARG002 - other protocols need it
        """A decoder of one reply."""
        return OllamaDecoder()

    def remedy(self, error: ProviderError, wire: WireRequest) -> str:
        """What Ollama's own words point at."""
        words = error.message.lower()
        match error.kind:
            case "not_found" if "model" in words:
                return f"Get the model: ollama pull {wire.body['model']}"
            case "not_found":
                return "Check base_url: Ollama's has no /v1 at its end"
            case "invalid_request" if "support thinking" in words:
                return 'Set effort = "off" for this model'
            case "invalid_request" if "think value" in words:
                return "Set effort to off, low, medium, high or max for this model"
            case "invalid_request" if "support tools" in words:
                return "Pick a model that can call tools"
            case _:
                return ""


def _think(parameters: Parameters) -> bool | str | None:
    if parameters.think is not None:
        return parameters.think
    return False if parameters.effort == "off" else parameters.effort


def _keep_alive(text: str) -> str | int:
    """A Go duration as it is; a bare number means seconds and must be one on the wire."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    return int(sign + digits) if digits.isdecimal() else text


def _shown(batch: Rows, pixels: Pixels) -> dict[str, Json]:
    images = [base64_of(image, pixels) for image in images_of_rows(batch)]
    return {"role": "user", "content": OF_RESULTS, "images": images}


def _message(row: Message, pixels: Pixels) -> dict[str, Json]:
    match row:
        case UserRow():
            message: dict[str, Json] = {"role": "user", "content": said(row.parts, NO_TEXT)}
            if images := images_of(row.parts):
                message["images"] = [base64_of(image, pixels) for image in images]
            return message
        case AssistantRow():
            return _assistant(row)
        case _:
            return {
                "role": "tool",
                "tool_name": wire_name(row.name),
                "tool_call_id": row.call_id,
                "content": said(row.parts, NO_OUTPUT),
            }


def _assistant(row: AssistantRow) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant"}
    if thinking := thought(row):
        message["thinking"] = thinking
    if text := answered(row):
        message["content"] = text
    if calls := calls_of(row):
        message["tool_calls"] = [
            {
                "id": call.id,
                "function": {
                    "name": wire_name(call.name),
                    "arguments": arguments_object(call.arguments),
                },
            }
            for call in calls
        ]
    return message


class OllamaDecoder:
    """One reply. Calls come whole, on any line, the last one included."""

    def __init__(self) -> None:
        self._readable = Readable()
        self._calls: list[Call] = []
        self._end: Mapping[str, Json] = {}

    @property
    def done(self) -> bool:
        return bool(self._end)

    def feed(self, frame: Frame) -> Sequence[Delta]:
        """The deltas of one line; raises the `ProviderError` that it is (C20)."""
        if frame.comment:
            return [Alive()]
        return [] if self.done else list(self._line(frame_object(frame.data)))

    def finish(self) -> Reply:
        """The whole reply."""
        if not self.done:
            raise incomplete("no line said done")
        finish: Finish = "calls" if self._calls else "stop"
        if self._end.get("done_reason") == "length":
            finish = "length"
        return self._reply([*self._readable.parts(), *self._calls], finish)

    def partial(self) -> str:
        return self._readable.text.text()

    def interrupted(self) -> Reply:
        """What an interruption keeps: text and thinking, no call (AGT-3)."""
        return self._reply(self._readable.parts(), "interrupted")

    def _reply(self, parts: list[ReplyPart], finish: Finish) -> Reply:
        field = "thinking" if self._readable.thinking.text() else None
        return Reply(tuple(parts), finish, _usage(self._end), field)

    def _line(self, line: Mapping[str, Json]) -> Iterator[Delta]:
        if error := error_in(line):
            raise error
        message = line.get("message")
        if isinstance(message, Mapping):
            if thinking := self._readable.thinking.add(_string(message.get("thinking"))):
                yield ThinkingDelta(thinking)
            if text := self._readable.text.add(_string(message.get("content"))):
                yield TextDelta(text)
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else []:
                yield from self._call(call)
        if line.get("done") is True:
            self._end = line

    def _call(self, call: Json) -> Iterator[Delta]:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            return
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json_text(arguments or {})
        text = text if text.strip() else "{}"
        self._calls.append(Call(_string(call.get("id")), _string(function.get("name")), text))
        yield CallDelta(len(self._calls) - 1, self._calls[-1].name, len(text))


def _usage(end: Mapping[str, Json]) -> Usage:
    """Zeros are left out by the server, so a missing figure stays missing. How much of the prompt
    came from the cache it never says.
    """
    return Usage(
        prompt_tokens=_count(end.get("prompt_eval_count")),
        output_tokens=_count(end.get("eval_count")),
        prompt_eval_ms=_milliseconds(end.get("prompt_eval_duration")),
        eval_ms=_milliseconds(end.get("eval_duration")),
    )


def _count(value: Json) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= MOST else None


def _milliseconds(value: Json) -> int | None:
    nanoseconds = _count(value)
    return None if nanoseconds is None else round(nanoseconds / _NANOSECONDS_IN_MS)


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
