"""Compactions in a re-fold: the recorded ones taken out, and the note that one is assumed to have.

What note a model would have written nobody knows: its size is assumed, as that of the session's own
notes, else as `ASSUMED_NOTE`. What it says is of no matter to a prompt's size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from nodwyn_tui.domain.events import (
    Approval,
    ContextClose,
    ContextOpen,
    Event,
    GatePlan,
    LlmError,
    LlmRequest,
    LlmResponse,
    Note,
    ToolCall,
    ToolResult,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.window.carrying import ASK, TASK
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.handover import KIND
from nodwyn_tui.window.rows import HANDOVER

ASSUMED_NOTE = 1_500
"""Tokens of a note where a session has none of its own."""

FILLER = "so "


def assumed_note(events: Sequence[Event]) -> str:
    """A text as long as the median of the notes that the session's own requests came to."""
    asked = {e.seq for e in events if isinstance(e, LlmRequest) and e.purpose == "handover"}
    texts = (
        "".join(part.text for part in event.parts if isinstance(part, Text))
        for event in events
        if isinstance(event, LlmResponse) and event.req in asked
    )
    sizes = [len(text.encode()) for text in texts if text.strip()]
    size = round(median(sizes)) if sizes else ASSUMED_NOTE * BYTES_PER_TOKEN
    return (FILLER * (size // len(FILLER) + 1))[:size]


def without_compactions(events: Sequence[Event]) -> Iterator[Event]:
    """The session as if no note had ever been asked for: what was said in a compacted context was
    said in the conversation.
    """
    leaving = _Leaving()
    for event in events:
        if not leaving.takes(event):
            home = leaving.homes.get(event.ctx)
            yield event if home is None else replace(event, ctx=home)


class _Leaving:
    """Tells which events belong to compactions. `homes` are the contexts around compacted ones."""

    def __init__(self) -> None:
        self.homes: dict[int, int] = {}
        self._asked: set[int] = set()
        """Notes that ask, the requests that do, and the replies to those."""
        self._calls: set[str] = set()
        self._opening = 0
        """The context whose first rows are being read."""

    def takes(self, event: Event) -> bool:
        """Whether an event leaves with the compactions."""
        if self._is_first_row(event):
            return True
        match event:
            case ContextOpen() if event.kind == KIND and event.lasting:
                self.homes[event.id] = self.homes.get(event.parent, event.parent)
                self._opening = event.id
                return True
            case ContextClose():
                return event.id in self.homes
            case WindowRewind():
                return event.to in self._asked
            case Note(why=why) if why == ASK:
                self._asked.add(event.seq)
                return True
            case _:
                return self._is_exchange(event)

    def _is_first_row(self, event: Event) -> bool:
        """Whether it is one of the rows that were appended with the context: the notes, and the
        plan that was written again.
        """
        if not self._opening or event.ctx != self._opening:
            self._opening = 0
            return False
        if isinstance(event, Note) and event.why in (HANDOVER, TASK):
            return True
        self._opening = 0
        return isinstance(event, GatePlan)

    def _is_exchange(self, event: Event) -> bool:
        """Whether it is part of asking for a note."""
        match event:
            case LlmRequest() if event.purpose == "handover":
                self._asked.add(event.seq)
                return True
            case LlmResponse() if event.req in self._asked:
                self._calls.update(part.id for part in event.parts if isinstance(part, Call))
                return True
            case LlmError():
                return event.req in self._asked
            case ToolCall() | ToolResult() | Approval():
                return event.call_id in self._calls
            case _:
                return False
