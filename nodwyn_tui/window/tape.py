"""A request's canonical bytes as they are hashed, message by message (ENG-25, ENG-27).

A tape is never changed: the next request's goes on from the hash state that the one before left, so
that a digest costs what is new. Its trail names every prefix of the prompt.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nodwyn_tui.domain.canonical import (
    after_messages,
    before_messages,
    system_bytes,
    tools_bytes,
)
from nodwyn_tui.domain.request import ToolSpec


@dataclass(frozen=True, slots=True)
class Mark:
    """The prompt up to the end of a piece: its length in bytes, and the SHA-256 that names it."""

    end: int
    digest: bytes


Trail = tuple[Mark, ...]
"""A prompt in the order servers read it: the system text, the catalogue, each message. The reply
cap is no part of it. Two prompts share the pieces up to which their marks are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """The digest and the trail of a request. `head` is its system text and catalogue, `body` the
    hash of its bytes up to the last message.
    """

    head: tuple[bytes, bytes]
    body: Any  # a hash object, for which the standard library has no public type
    trail: Trail

    def extended(self, messages: Sequence[bytes]) -> "Tape":
        """With messages, as canonical bytes, at the end."""
        body = self.body.copy()
        if messages:
            comma = b"," if len(self.trail) > len(self.head) else b""
            body.update(comma + b",".join(messages))
        trail = (*self.trail, *_marks(self.trail[-1], messages))
        return Tape(head=self.head, body=body, trail=trail)

    @property
    def digest(self) -> str:
        """The SHA-256 of the request's canonical JSON, hex."""
        whole = self.body.copy()
        whole.update(after_messages(*self.head))
        return str(whole.hexdigest())


def start(system: str, tools: tuple[ToolSpec, ...], max_output: int) -> Tape:
    """The tape of a request without messages."""
    head = system_bytes(system), tools_bytes(tools)
    body = hashlib.sha256(before_messages(max_output))
    return Tape(head=head, body=body, trail=tuple(_marks(Mark(0, b""), head)))


def _marks(last: Mark, pieces: Iterable[bytes]) -> Iterator[Mark]:
    """The marks at the ends of `pieces`, each named by the one before and its own bytes."""
    for piece in pieces:
        last = Mark(last.end + len(piece), hashlib.sha256(last.digest + piece).digest())
        yield last
