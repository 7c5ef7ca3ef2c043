"""The content blocks of an Anthropic reply while they stream, and the parts that they become.

Signed thinking goes into its block exactly as it came: joined, never cleaned (C12).
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from nodwyn_tui.domain.deltas import CallDelta, Delta, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import Json
from nodwyn_tui.providers.calls import json_text
from nodwyn_tui.providers.pieces import Pieces


class StreamedBlock(Protocol):
    """One block. `add` takes its beginning or a delta; `parts` is what the reply has of it, and
    `readable` what an interruption keeps.
    """

    def add(self, piece: Mapping[str, Json]) -> Iterator[Delta]: ...

    def parts(self, origin: str) -> list[ReplyPart]: ...

    def readable(self) -> list[ReplyPart]: ...


class TextBlock:
    """What the model says."""

    def __init__(self) -> None:
        self.text = Pieces()

    def add(self, piece: Mapping[str, Json]) -> Iterator[Delta]:
        if text := self.text.add(string(piece.get("text"))):
            yield TextDelta(text)

    def parts(self, origin: str) -> list[ReplyPart]:  # noqa: ARG002 - as the other kinds
        return self.readable()

    def readable(self) -> list[ReplyPart]:
        text = self.text.text()
        return [Text(text)] if text.strip() else []


class ThinkingBlock:
    """Thinking: its text for the person, and all of it for the server, if it is signed. The text
    may be empty (PRV-16).
    """

    def __init__(self) -> None:
        self._shown = Pieces()
        self._text: list[str] = []
        self._signature: list[str] = []

    def add(self, piece: Mapping[str, Json]) -> Iterator[Delta]:
        text = string(piece.get("thinking"))
        self._text.append(text)
        self._signature.append(string(piece.get("signature")))
        if shown := self._shown.add(text):
            yield ThinkingDelta(shown)

    def parts(self, origin: str) -> list[ReplyPart]:
        signature = _joined(self._signature)
        if not signature:
            return self.readable()
        block = {"type": "thinking", "thinking": _joined(self._text), "signature": signature}
        return [*self.readable(), Block("thinking", origin, json_text(block))]

    def readable(self) -> list[ReplyPart]:
        text = self._shown.text()
        return [Thinking(text)] if text.strip() else []


class RedactedBlock:
    """Thinking that only the server can read."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def add(self, piece: Mapping[str, Json]) -> Iterator[Delta]:
        self._data.append(string(piece.get("data")))
        yield from ()

    def parts(self, origin: str) -> list[ReplyPart]:
        block = {"type": "redacted_thinking", "data": _joined(self._data)}
        return [Block("redacted_thinking", origin, json_text(block))]

    def readable(self) -> list[ReplyPart]:
        return []


class CallBlock:
    """A tool call, the `number`th of its reply; its arguments come as pieces of JSON text, or
    whole, as an object, in its beginning.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._id = self._name = ""
        self._input: Json = None
        self._arguments = Pieces()
        self._chars = 0

    def add(self, piece: Mapping[str, Json]) -> Iterator[Delta]:
        self._id = self._id or string(piece.get("id"))
        self._name = self._name or string(piece.get("name"))
        self._input = piece.get("input") or self._input
        self._chars += len(self._arguments.add(string(piece.get("partial_json"))))
        yield CallDelta(self._number, self._name, self._chars)

    def parts(self, origin: str) -> list[ReplyPart]:  # noqa: ARG002 - as the other kinds
        text = self._arguments.text()
        if not text.strip():
            text = json_text({} if self._input is None else self._input)
        return [Call(self._id, self._name, text)]

    def readable(self) -> list[ReplyPart]:
        return []


def streamed_block(kind: str, calls: int) -> StreamedBlock | None:
    """A block of that kind, after so many calls; `None` for a kind that was never asked for."""
    match kind:
        case "text":
            return TextBlock()
        case "thinking":
            return ThinkingBlock()
        case "redacted_thinking":
            return RedactedBlock()
        case "tool_use":
            return CallBlock(calls)
        case _:
            return None


def string(value: Json) -> str:
    """A text, '' for anything else."""
    return value if isinstance(value, str) else ""


def _joined(pieces: list[str]) -> str:
    """The pieces as one text. A character whose two JSON escapes came apart is whole again; nothing
    else is altered.
    """
    text = "".join(pieces)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
