"""What a decoder gives while a reply streams, and the one reply it ends in."""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.domain.parts import ReplyPart
from nodwyn_tui.domain.usage import Usage

Finish = Literal["stop", "length", "calls", "filtered", "interrupted"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the reply's readable reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A tool call is being written: its place among the calls, name so far, characters so far."""

    index: int
    name: str
    chars: int


@dataclass(frozen=True, slots=True)
class Alive:
    """The server said nothing yet, but lives (a comment line, a keep-alive)."""


Delta = TextDelta | ThinkingDelta | CallDelta | Alive


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. Call ids are as the provider sent them ('' where it sent none).

    `thinking_field` names the wire field the reasoning came in, if any; `left_out` says why the
    server left opaque blocks of the request out, in its words, if it did.
    """

    parts: tuple[ReplyPart, ...]
    finish: Finish
    usage: Usage
    thinking_field: str | None = None
    left_out: tuple[str, ...] = ()
