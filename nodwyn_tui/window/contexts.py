"""Where a window starts, and which events belong to it (ENG-23)."""

from collections.abc import Sequence

from nodwyn_tui.domain.events import Event, WindowReset

CONVERSATION = 0


def start(events: Sequence[Event], ctx: int = CONVERSATION) -> int:
    """The index of the event that last cut the conversation (a reset), or 0."""
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if isinstance(event, WindowReset) and event.ctx == ctx:
            return index
    return 0


def narrow(events: Sequence[Event], ctx: int = CONVERSATION) -> list[Event]:
    """The events of a context from its start on."""
    return [event for event in events[start(events, ctx) :] if event.ctx == ctx]
