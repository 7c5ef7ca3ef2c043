"""Calls and their results: together, ordered by call, never one without the other (ENG-16)."""

from dataclasses import dataclass, field

from nodwyn_tui.domain.events import LlmResponse
from nodwyn_tui.domain.parts import Call

UNANSWERED = "[interrupted: no result was recorded]"
"""The result a window shows for a call that has none. A session writes its own before it asks
again, so this stands only in windows of damaged or foreign logs."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply whose calls wait for results: where it stands among the entries, and the calls that
    have theirs. Each call has its place behind the reply, in order (C03).
    """

    seq: int
    at: int
    calls: tuple[Call, ...]
    answered: set[str] = field(default_factory=set)

    @property
    def whole(self) -> bool:
        """Whether every call has its result."""
        return all(call.id in self.answered for call in self.calls)


def kept_calls(reply: LlmResponse) -> tuple[Call, ...]:
    """The calls that go back: none of an interrupted reply, whose calls are half-made."""
    if reply.finish == "interrupted":
        return ()
    return tuple(part for part in reply.parts if isinstance(part, Call))
