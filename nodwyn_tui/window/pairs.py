"""Calls and their results: linked, ordered by call, never one without the other (ENG-16)."""

from collections.abc import Sequence

from nodwyn_tui.domain.events import Event, LlmResponse, ToolResult
from nodwyn_tui.domain.parts import Call

UNANSWERED = "[interrupted: no result was recorded]"
"""The result a window shows for a call that has none. A session writes its own before it asks
again, so this stands only in windows of damaged or foreign logs."""


def kept_calls(reply: LlmResponse) -> tuple[Call, ...]:
    """The calls that go back: none of an interrupted reply, whose calls are half-made."""
    if reply.finish == "interrupted":
        return ()
    return tuple(part for part in reply.parts if isinstance(part, Call))


def link(events: Sequence[Event]) -> dict[int, dict[str, ToolResult]]:
    """Replies' seqs to their results by call id.

    A reused id belongs to the latest reply that used it; a second result for a call, and one
    whose call is nowhere, belong to nobody.
    """
    latest: dict[str, int] = {}
    linked: dict[int, dict[str, ToolResult]] = {}
    for event in events:
        if isinstance(event, LlmResponse):
            linked[event.seq] = {}
            latest.update({call.id: event.seq for call in kept_calls(event)})
        elif isinstance(event, ToolResult) and event.call_id in latest:
            linked[latest[event.call_id]].setdefault(event.call_id, event)
    return linked
