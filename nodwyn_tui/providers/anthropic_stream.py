"""The named events of the Anthropic protocol to deltas and the reply (PRV-8, C12, C20)."""

from collections.abc import Iterator, Mapping, Sequence

from nodwyn_tui.domain.deltas import Alive, Delta, Finish, Reply, ThinkingDelta
from nodwyn_tui.domain.parts import Call, ReplyPart
from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic_blocks import (
    CallBlock,
    StreamedBlock,
    TextBlock,
    ThinkingBlock,
    streamed_block,
    string,
)
from nodwyn_tui.providers.anthropic_usage import UsageReader
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.failures import error_event, error_in, frame_object, incomplete

_FINISHES: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""What a `stop_reason` means besides a plain end; a word not listed is one."""


class AnthropicDecoder:
    """One reply, its blocks in their order. Events and blocks of kinds that nobody asked for are
    passed over. Some servers give every block the same place, or none: a block that begins where
    another stood follows all that came.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._blocks: dict[int, StreamedBlock] = {}
        self._at: dict[int, int] = {}
        """The block that a place of the stream means now."""
        self._latest = -1
        self._open: set[int] = set()
        self._usage = UsageReader()
        self._stop: Mapping[str, Json] = {}
        self._left_out: list[str] = []
        self._done = self._began = False

    @property
    def done(self) -> bool:
        return self._done

    def feed(self, frame: Frame) -> Sequence[Delta]:
        """The deltas of one frame; raises the `ProviderError` that it is (C20)."""
        data = frame.data.strip()
        if frame.comment:
            return [Alive()]
        if self._done or not data:
            return []
        if frame.event == "error":
            raise error_event(data)
        event = frame_object(data)
        return list(self._event(string(event.get("type")) or frame.event, event)) or [Alive()]

    def finish(self) -> Reply:
        """The whole reply. A refusal is an error: its words say why, and what had come of the reply
        would only be refused again.
        """
        reason = string(self._stop.get("stop_reason"))
        ended = self._began if self._done else reason and not self._open
        if not ended:
            raise incomplete("no message_stop" if self._began else "nothing came")
        if reason == "refusal":
            raise _refusal(self._stop.get("stop_details"))
        parts = [part for block in self._in_order() for part in block.parts(self._origin)]
        calls = any(isinstance(part, Call) for part in parts)
        return self._reply(parts, _FINISHES.get(reason, "calls" if calls else "stop"))

    def partial(self) -> str:
        texts = (block.text.text() for block in self._in_order() if isinstance(block, TextBlock))
        return "\n\n".join(text for text in texts if text)

    def interrupted(self) -> Reply:
        """What an interruption keeps: text and thinking, no half-made call (AGT-3)."""
        parts = [part for block in self._in_order() for part in block.readable()]
        return self._reply(parts, "interrupted")

    def _reply(self, parts: list[ReplyPart], finish: Finish) -> Reply:
        thought = any(isinstance(block, ThinkingBlock) for block in self._blocks.values())
        return Reply(
            tuple(parts),
            finish,
            self._usage.usage(),
            "thinking" if thought else None,
            tuple(self._left_out),
        )

    def _in_order(self) -> Iterator[StreamedBlock]:
        return (self._blocks[index] for index in sorted(self._blocks))

    def _event(self, kind: str, event: Mapping[str, Json]) -> Iterator[Delta]:
        match kind:
            case "message_start":
                self._start(event.get("message"))
            case "content_block_start":
                yield from self._begin(event.get("index"), event.get("content_block"))
            case "content_block_delta":
                yield from self._add(self._index(event), event.get("delta"))
            case "content_block_stop":
                self._open.discard(self._index(event))
            case "message_delta":
                self._end(event.get("delta"), event)
            case "message_stop":
                self._done = True
            case "message":  # a server that answers whole although it was asked to stream
                yield from self._whole(event)
            case _ if error := error_in(event):
                raise error
            case _:
                pass

    def _start(self, message: Json) -> None:
        self._began = True
        if isinstance(message, Mapping):
            self._usage.take(message.get("usage"))
            self._left_out += _dropped(message.get("input_transformations"))

    def _index(self, event: Mapping[str, Json]) -> int:
        """The block that an event is about, the latest one where it names none."""
        place = event.get("index")
        return self._at.get(place, -1) if isinstance(place, int) else self._latest

    def _begin(self, place: Json, content: Json) -> Iterator[Delta]:
        if not isinstance(content, Mapping):
            return
        self._began = True
        before = [*self._in_order()]
        calls = sum(isinstance(block, CallBlock) for block in before)
        block = streamed_block(string(content.get("type")), calls)
        index = max((*self._at.values(), self._latest)) + 1
        if isinstance(place, int):
            index = index if place in self._at else place
            self._at[place] = index
        self._latest = index
        if block is None:
            return
        self._blocks[index] = block
        self._open.add(index)
        thoughts = (block for block in before if isinstance(block, ThinkingBlock))
        if isinstance(block, ThinkingBlock) and any(thought.readable() for thought in thoughts):
            yield ThinkingDelta("\n\n")
        yield from block.add(content)

    def _add(self, index: int, delta: Json) -> Iterator[Delta]:
        if isinstance(delta, Mapping) and index in self._blocks:
            yield from self._blocks[index].add(delta)

    def _end(self, delta: Json, event: Mapping[str, Json]) -> None:
        self._usage.take(event.get("usage"))
        if isinstance(delta, Mapping) and delta.get("stop_reason"):
            self._stop = delta

    def _whole(self, message: Mapping[str, Json]) -> Iterator[Delta]:
        self._start(message)
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            yield from self._begin(index, block)
        self._end(message, message)
        self._done = True


def _dropped(changes: Json) -> list[str]:
    """Why the server left blocks of the request out, each reason once."""
    reasons = (
        string(change.get("reason"))
        for change in (changes if isinstance(changes, list) else [])
        if isinstance(change, Mapping) and change.get("type") == "thinking_dropped"
    )
    return list(dict.fromkeys(reasons))


def _refusal(details: Json) -> ProviderError:
    category = explanation = ""
    if isinstance(details, Mapping):
        category, explanation = string(details.get("category")), string(details.get("explanation"))
    about = f" ({category})" if category else ""
    words = f": {explanation}" if explanation else ""
    return ProviderError("refused_content", f"the model declined to answer{about}{words}")
