"""The chunks of a chat-completions stream to deltas and the reply, whatever the server's habits."""

from collections.abc import Iterator, Mapping, Sequence

from nodwyn_tui.domain.deltas import Alive, Delta, Finish, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import ReplyPart
from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.chat_calls import CallAssembler
from nodwyn_tui.providers.chat_details import DETAILS, Details
from nodwyn_tui.providers.failures import error_event, error_in, frame_object, incomplete
from nodwyn_tui.providers.pieces import Readable
from nodwyn_tui.providers.token_counts import UsageReader

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "safety": "filtered",
}
"""What a `finish_reason` means besides a plain end; any word not listed is one."""

_BROKEN_OFF = frozenset({"error", "abort"})


class ChatDecoder:
    """One reply. Only the first choice is read; chunks without one count for usage alone (C21).
    `origin` names the model, whose `reasoning_details` are nobody else's.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._readable = Readable()
        self._details = Details()
        self._calls = CallAssembler()
        self._usage = UsageReader()
        self._thinking_field: str | None = None
        self._finish_reason: str | None = None
        self._done = self._spoke = False

    @property
    def done(self) -> bool:
        return self._done

    def feed(self, frame: Frame) -> Sequence[Delta]:
        """The deltas of one frame; raises the `ProviderError` that it is (C20)."""
        if frame.comment:
            return [Alive()]
        data = frame.data.strip()
        if self._done or not data:
            return []
        if frame.event == "error":
            raise error_event(data)
        if data == "[DONE]":
            self._done = True
            return []
        return list(self._chunk(frame_object(data)))

    def finish(self) -> Reply:
        """The whole reply."""
        if self._finish_reason in _BROKEN_OFF:
            raise incomplete(f"the server gave “{self._finish_reason}” as its reason")
        ended = self._finish_reason is not None or (self._done and self._spoke)
        if not ended:
            raise incomplete("no finish_reason" if self._spoke else "nothing came")
        calls = self._calls.calls()
        finish = _FINISHES.get((self._finish_reason or "").lower(), "calls" if calls else "stop")
        block = self._details.block(self._origin)
        return self._reply([*block, *self._readable.parts(), *calls], finish)

    def partial(self) -> str:
        return self._readable.text.text()

    def interrupted(self) -> Reply:
        """What an interruption keeps: text and thinking, no half-made call (AGT-3)."""
        return self._reply(self._readable.parts(), "interrupted")

    def _reply(self, parts: list[ReplyPart], finish: Finish) -> Reply:
        return Reply(tuple(parts), finish, self.usage(), self._thinking_field)

    def usage(self) -> Usage:
        """What was reported so far."""
        return self._usage.usage()

    def _chunk(self, chunk: Mapping[str, Json]) -> Iterator[Delta]:
        if error := error_in(chunk):
            raise error
        self._usage.chunk(chunk)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._usage.chunk(choice)
                yield from self._choice(choice)
                break

    def _choice(self, choice: Mapping[str, Json]) -> Iterator[Delta]:
        # `message` is what a server sends that answers whole although it was asked to stream.
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            yield from self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason

    def _delta(self, delta: Mapping[str, Json]) -> Iterator[Delta]:
        self._details.add(delta.get(DETAILS))
        if thinking := self._readable.thinking.add(self._thought(delta)):
            self._spoke = True
            yield ThinkingDelta(thinking)
        said = _text_of(delta.get("content")) or _text_of(delta.get("refusal"))
        if text := self._readable.text.add(said):
            self._spoke = True
            yield TextDelta(text)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else []:
            if call := self._calls.feed(fragment):
                self._spoke = True
                yield call

    def _thought(self, delta: Mapping[str, Json]) -> str:
        """The new thinking of a delta. Aggregators send it twice, in two fields: the first field
        that ever held some is the one that counts, and is remembered for the log.
        """
        for name, text in _thoughts(delta):
            if text and self._thinking_field in {None, name}:
                self._thinking_field = name
                return text
        return ""


def _thoughts(delta: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    yield "reasoning_content", _text_of(delta.get("reasoning_content"))
    yield "reasoning", _text_of(delta.get("reasoning"))
    yield DETAILS, _details_text(delta.get(DETAILS))
    yield "content", _parts_text(delta.get("content"), "thinking")


def _details_text(details: Json) -> str:
    if not isinstance(details, list):
        return ""
    items = [item for item in details if isinstance(item, Mapping)]
    return "".join(_text_of(item.get("text") or item.get("summary")) for item in items)


def _text_of(content: Json) -> str:
    """Content as text: a string, or the text parts of a list."""
    return content if isinstance(content, str) else _parts_text(content, "text")


def _parts_text(content: Json, key: str) -> str:
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, Mapping)]
    return "".join(_text_of(part.get(key)) for part in parts)
