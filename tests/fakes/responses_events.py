"""The items of a Responses reply, and the events that the real API streams them in."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.script import Say, ScriptedCall
from tests.fakes.server import pieces


@dataclass(frozen=True)
class Reason:
    """A reasoning item: its summary in parts, or its open text as open models give it."""

    summary: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Said:
    """A message item."""

    text: str
    phase: str | None = None


@dataclass(frozen=True)
class Output(Say):
    """A reply of items in their order; an ordinary `Say` has one of each kind."""

    items: tuple[Reason | Said | ScriptedCall, ...] = ()


def items_of(item: Say) -> tuple[Reason | Said | ScriptedCall, ...]:
    """What a reply is made of."""
    if isinstance(item, Output):
        return item.items
    thought = (Reason((item.thinking,)),) if item.thinking else ()
    said = (Said(item.text),) if item.text else ()
    return (*thought, *said, *item.calls)


class Events:
    """Numbers the events of one stream; `terse` leaves out places and numbers."""

    def __init__(self, *, terse: bool) -> None:
        self._terse, self._sequence = terse, 0

    def item(self, index: int, done: dict[str, Any], size: int) -> Iterator[bytes]:
        """The events of an item, given as it is when it is done."""
        begun = {**done, "status": "in_progress"}
        match done["type"]:
            case "reasoning":
                begun |= {"summary": []}
                begun.pop("content", None)
                if sealed := done.get("encrypted_content"):
                    begun["encrypted_content"] = sealed[:20]  # not whole before the item is done
            case "message":
                begun |= {"content": []}
            case _:
                begun |= {"arguments": ""}
        yield self.event("response.output_item.added", index, item=begun)
        yield from self._deltas(index, done, size)
        yield self.event("response.output_item.done", index, item=done)

    def _deltas(self, index: int, done: dict[str, Any], size: int) -> Iterator[bytes]:
        where = {"item_id": done["id"]}
        if done["type"] == "function_call":
            kind = "response.function_call_arguments"
            for piece in pieces(done["arguments"], size):
                yield self.event(f"{kind}.delta", index, **where, delta=piece)
            whole = {"arguments": done["arguments"], "name": done["name"]}
            yield self.event(f"{kind}.done", index, **where, **whole)
            return
        for at, part in enumerate(done.get("summary") or []):
            yield from self._summary(index, {**where, "summary_index": at}, part, size)
        kinds = {"output_text": "response.output_text", "reasoning_text": "response.reasoning_text"}
        for at, part in enumerate(done.get("content") or []):
            place = {**where, "content_index": at}
            empty = {**part, "text": ""}
            yield self.event("response.content_part.added", index, **place, part=empty)
            yield from self._text(kinds[part["type"]], index, place, part["text"], size)
            yield self.event("response.content_part.done", index, **place, part=part)

    def _summary(
        self, index: int, place: Mapping[str, Any], part: Mapping[str, Any], size: int
    ) -> Iterator[bytes]:
        kind = "response.reasoning_summary"
        yield self.event(f"{kind}_part.added", index, **place, part={**part, "text": ""})
        yield from self._text(f"{kind}_text", index, place, part["text"], size)
        yield self.event(f"{kind}_part.done", index, **place, part=part)

    def _text(
        self, kind: str, index: int, place: Mapping[str, Any], text: str, size: int
    ) -> Iterator[bytes]:
        logprobs: dict[str, Any] = {"logprobs": []} if kind == "response.output_text" else {}
        for piece in pieces(text, size):
            padding = "x" * (len(piece) % 7)
            yield self.event(
                f"{kind}.delta", index, **place, delta=piece, **logprobs, obfuscation=padding
            )
        yield self.event(f"{kind}.done", index, **place, text=text, **logprobs)

    def event(self, kind: str, index: int | None = None, **fields: Any) -> bytes:
        """One event."""
        event: dict[str, Any] = {"type": kind, **fields}
        if not self._terse:
            event["sequence_number"] = self._sequence
            self._sequence += 1
            if index is not None:
                event["output_index"] = index
        else:
            event.pop("content_index", None)
        return f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode()
