"""The events of a Responses stream to deltas and the reply, whatever the server's habits."""

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
from nodwyn_tui.domain.parts import Call, ReplyPart, Thinking
from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.failures import error_event, error_in, frame_object, incomplete
from nodwyn_tui.providers.response_items import CALL, MESSAGE, REASONING, Item, Items
from nodwyn_tui.providers.token_counts import RESPONSES, UsageReader

_ENDS: Mapping[str, str] = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""The events that end a stream, and the status of the response where it names none itself."""

_FINISHES: Mapping[str, Finish | None] = {"content_filter": "filtered", "steered": None}
"""What the reason of an incomplete response means (`None`: a plain end); any other is the limit."""

_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHTS: Mapping[str, tuple[str, str]] = {
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.reasoning_text.delta": ("reasoning_text", "content_index"),
}
"""Events with a piece of thinking: where it comes in, and the field that tells its parts apart."""

_WHOLE: Mapping[str, tuple[str, str, str]] = {
    "response.function_call_arguments.done": (CALL, "arguments", ""),
    "response.output_text.done": (MESSAGE, "text", ""),
    "response.refusal.done": (MESSAGE, "refusal", ""),
    "response.reasoning_summary_text.done": (REASONING, "text", "summary"),
    "response.reasoning_text.done": (REASONING, "text", "reasoning_text"),
}
"""Events with all of a piece: the kind of item, the field, and where thinking comes in. Most
servers sent it before."""


class ResponsesDecoder:
    """One reply. What goes back of it is taken from `response.output_item.done` alone, for what
    came before may be unfinished (PRV-5); where no item was done in the stream, the terminal
    response's own count (PRV-8). `origin` names the model: its opaque reasoning is nobody else's.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._items = Items()
        self._usage = UsageReader(RESPONSES)
        self._thinking_field: str | None = None
        self._end: Mapping[str, Json] | None = None

    @property
    def done(self) -> bool:
        return self._end is not None

    def feed(self, frame: Frame) -> Sequence[Delta]:
        """The deltas of one frame; raises the `ProviderError` that it is (C20)."""
        if frame.comment:
            return [Alive()]
        data = frame.data.strip()
        if self.done or not data or data == "[DONE]":
            return []
        if frame.event == "error":
            raise error_event(data)
        event = frame_object(data)
        if event.get("object") == "response":  # the server answers whole, though asked to stream
            event = {"type": f"response.{event.get('status')}", "response": event}
        kind = str(event.get("type") or frame.event)
        if not kind.startswith("response.") and (error := error_in(event)):
            raise error
        return list(self._event(kind, event))

    def finish(self) -> Reply:
        """The whole reply."""
        if self._end is None:
            raise incomplete("no event said that the response had ended")
        output = self._end.get("output")
        items = self._items.settled(output if isinstance(output, list) else [])
        parts = [part for item in items for part in item.parts(self._origin)]
        return self._reply(parts, _finish(self._end, parts))

    def partial(self) -> str:
        texts = (item.text() for item in self._items.in_order() if item.kind == MESSAGE)
        return "\n\n".join(text for text in texts if text)

    def interrupted(self) -> Reply:
        """What an interruption keeps: text and thinking, no half-made call (AGT-3)."""
        parts = [part for item in self._items.in_order() for part in item.readable()]
        return self._reply(parts, "interrupted")

    def _reply(self, parts: list[ReplyPart], finish: Finish) -> Reply:
        thought = any(isinstance(part, Thinking) for part in parts)
        field = (self._thinking_field or "summary") if thought else None
        return Reply(tuple(parts), finish, self._usage.usage(), field)

    def _event(self, kind: str, event: Mapping[str, Json]) -> Iterator[Delta]:
        if kind in _ENDS:
            self._ends(kind, event)
        elif kind in _TEXTS:
            yield from self._text(self._items.of(event, MESSAGE), _string(event.get("delta")))
        elif found := _THOUGHTS.get(kind):
            yield from self._thought(self._items.of(event, REASONING), event, *found)
        elif kind == "response.function_call_arguments.delta":
            item = self._items.of(event, CALL)
            item.add(_string(event.get("delta")))
            yield self._called(item)
        elif kind == "response.output_item.added":
            item_begun = self._items.added(event)
            if item_begun is not None and item_begun.kind == CALL:
                yield self._called(item_begun)
        elif kind == "response.output_item.done":
            yield from self._done(event)
        elif whole := _WHOLE.get(kind):
            yield from self._at_once(event, *whole)

    def _at_once(
        self, event: Mapping[str, Json], kind: str, field: str, source: str
    ) -> Iterator[Delta]:
        """All of an item's text or arguments, of which nothing was streamed."""
        item, all_of_it = self._items.unfinished(event, kind), _string(event.get(field))
        if item is None or item.chars or not all_of_it:
            return
        if kind == CALL:
            item.add(all_of_it)
            yield self._called(item)
        elif kind == MESSAGE:
            yield from self._text(item, all_of_it)
        else:
            yield from self._thought(item, {"delta": all_of_it}, source, "")

    def _done(self, event: Mapping[str, Json]) -> Iterator[Delta]:
        """An item is whole. What was not streamed of it is shown now."""
        item = self._items.done(event)
        if item is None:
            return
        if item.kind == CALL:
            item.chars = len(item.arguments())
            yield self._called(item)
        elif not item.began and (text := item.text()):
            if item.kind == MESSAGE:
                yield from self._text(item, text)
            else:
                yield from self._thought(item, {"delta": text}, "summary", "")

    def _text(self, item: Item, piece: str) -> Iterator[Delta]:
        between = self._between(item)
        if text := item.add(piece):
            yield TextDelta(between + text)

    def _thought(
        self, item: Item, event: Mapping[str, Json], source: str, part: str
    ) -> Iterator[Delta]:
        between = self._between(item)
        if text := item.think(_string(event.get("delta")), source, event.get(part)):
            self._thinking_field = self._thinking_field or source
            yield ThinkingDelta(between + text)

    def _between(self, item: Item) -> str:
        """What sets an item that begins apart from the one before it."""
        return "\n\n" if not item.began and self._items.has_begun(item.kind) else ""

    def _called(self, item: Item) -> CallDelta:
        return CallDelta(self._items.number(item), item.name, item.chars)

    def _ends(self, kind: str, event: Mapping[str, Json]) -> None:
        response = event.get("response")
        response = response if isinstance(response, Mapping) else {}
        self._usage.chunk(event)
        self._usage.chunk(response)
        status = response.get("status")
        status = status if status in _ENDS.values() else _ENDS[kind]
        if status == "failed":
            raise _failure(response)
        if status == "cancelled":
            raise incomplete("the server cancelled it")
        self._end = {**response, "status": status}


def _finish(end: Mapping[str, Json], parts: Sequence[ReplyPart]) -> Finish:
    plain: Finish = "calls" if any(isinstance(part, Call) for part in parts) else "stop"
    if end["status"] == "completed":
        return plain
    details = end.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return _FINISHES.get(str(reason), "length") or plain


def _failure(response: Mapping[str, Json]) -> ProviderError:
    error = response.get("error") or "the server gave no reason"
    return error_in({"error": error}) or incomplete("it failed")


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
