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


def link(events: Sequence[Event]) -> dict[int, dict[int, ToolResult]]:
    """Replies' seqs to their results, by the place of the call among the reply's calls.

    A reused id belongs to the latest reply that used it, within one to its calls in turn. One
    result more than there are calls, and one whose call is nowhere, belong to nobody.
    """
    latest: dict[str, int] = {}
    calls: dict[int, tuple[Call, ...]] = {}
    linked: dict[int, dict[int, ToolResult]] = {}
    for event in events:
        if isinstance(event, LlmResponse):
            calls[event.seq], linked[event.seq] = kept_calls(event), {}
            latest.update({call.id: event.seq for call in calls[event.seq]})
        elif isinstance(event, ToolResult) and event.call_id in latest:
            reply = latest[event.call_id]
            for place, call in enumerate(calls[reply]):
                if call.id == event.call_id and place not in linked[reply]:
                    linked[reply][place] = event
                    break
    return linked
