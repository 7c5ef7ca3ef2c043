"""Explicit cache marks in chat completions, on content parts, for routes that pass them on (ORD-6).

Where marks are asked for, all content stands in parts, marked or not, so that from one request to
the next only the marks come and go; images stand before their text, which bears the mark.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import Parameters
from nodwyn_tui.domain.request import Json, Message
from nodwyn_tui.providers.body import WireMessage
from nodwyn_tui.providers.history import last_reply
from nodwyn_tui.providers.images import behind_results
from nodwyn_tui.providers.marks import CACHE_CONTROL, marked_blocks


@dataclass(frozen=True, slots=True)
class ChatMarks:
    """The marks of one request: what each asks for, and how many rows stand before those that go
    again, in the former request and in this one; `None` where none does.
    """

    ask: Mapping[str, str]
    told: tuple[int, int] | None

    @classmethod
    def of(
        cls, cache_control: str | None, parameters: Parameters, opening: int
    ) -> "ChatMarks | None":
        """Those of a `cache_control`, if it asks for any; `opening` rows stand before the
        conversation's own.
        """
        ask = CACHE_CONTROL.get(cache_control or "")
        return None if ask is None else cls(ask, parameters.markers(opening))

    def on(self, message: Mapping[str, Json]) -> WireMessage:
        """The message with a mark on its last part, which is a text."""
        *parts, last = message["content"]
        return WireMessage(
            {**message, "content": [*parts, {**last, "cache_control": {**self.ask}}]}
        )

    def put(self, messages: list[WireMessage], rows: Sequence[Message]) -> None:
        """Marks where the former request ended, before the latest reply, and where the next one
        will go on. `messages` are one a row, and one more behind each batch of results that holds
        images.
        """
        images = behind_results(rows)
        blocks = [(at, bears) for at, each in enumerate(messages) for bears in _bears(each)]

        def counted(count: int) -> int:
            """The content blocks of so many rows, and of the images behind them."""
            ahead = count + sum(place <= count for place in images)
            return sum(at < ahead for at, _ in blocks)

        former, history = self.told or (last_reply(rows), len(rows))
        places = marked_blocks([bears for _, bears in blocks], counted(former), counted(history))
        # The request's own ask counts as one, too: with it, a fourth mark would be one too many.
        for place in {*places[:1], *places[-1:]} if self.told is None else places:
            at, _ = blocks[place]
            messages[at] = self.on(messages[at])


def in_parts(message: Mapping[str, Json]) -> dict[str, Json]:
    """The message with its content in parts; one that only calls has none."""
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    elif content is not None:
        content = sorted(content, key=lambda part: part["type"] == "text")
    return {**message, "content": content}


def _bears(message: Mapping[str, Json]) -> Iterator[bool]:
    """Whether each of its content blocks may bear a mark: the last part may, no call can."""
    parts: Sequence[Json] = message["content"] or ()
    yield from (at == len(parts) for at in range(1, len(parts) + 1))
    yield from (False for _ in message.get("tool_calls", ()))
