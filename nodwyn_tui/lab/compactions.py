"""Compactions in a re-fold: the recorded ones taken out, and a session that compacts where it would
trim, from the note that it is assumed to get.

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
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.sessions import AnyEvent, Refolded, Session
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import ENDLESS, UNTRIMMED, Shape
from nodwyn_tui.window.carrying import ASK, TASK
from nodwyn_tui.window.contexts import CONVERSATION
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, size
from nodwyn_tui.window.handover import KIND, Handover
from nodwyn_tui.window.own_note import own_handover
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
    return filler([text for text in texts if text.strip()])


def filler(texts: Sequence[str]) -> str:
    """A text that says nothing, as long as the median of others."""
    sizes = [len(text.encode()) for text in texts]
    length = round(median(sizes)) if sizes else ASSUMED_NOTE * BYTES_PER_TOKEN
    return (FILLER * (length // len(FILLER) + 1))[:length]


class Compacting(Session):
    """A session that asks for a note where it would trim; `note` is what it is assumed to get."""

    def __init__(self, policy: LabPolicy, note: str) -> None:
        super().__init__(policy)
        self._note = note
        self._not_before = 0
        """Tokens that the window must have for the next compaction."""

    def before(self, recorded: LlmRequest) -> Iterator[Refolded]:
        """The request for a handover note, if the policy compacts here: where the window crosses
        its high mark. The conversation goes on from the note then.
        """
        recipe, rolling = self._recipe, self._conversation
        if recipe is None or recorded.ctx != CONVERSATION:
            return
        before = rolling.window(recipe, UNTRIMMED).estimate
        forced = self._shape(recorded).high_water or ENDLESS
        if before <= min(recipe.window.high_water, forced) or before < self._not_before:
            return
        if not any(entry.kind == "assistant" for entry in rolling.window(recipe).entries):
            return
        carried = self._carrying.now
        shape = Shape(high_water=recipe.window.ceiling)
        asked = rolling.window(recipe, shape, handover.request(recipe, carried))
        fits = asked.estimate <= recipe.window.ceiling
        made = Handover(self._note, source=recorded.seq)
        if not fits:
            made = own_handover(rolling.window(recipe), recipe, carried)
        # Just before the request, whose own seq they bear: there is no other between them.
        for row in handover.batch(
            made, carried, recipe, ctx=recorded.seq, parent=rolling.place.ctx
        ):
            self._add(replace(row, seq=recorded.seq))
        marks = recipe.window
        after = rolling.window(recipe).estimate
        self._not_before = after + (marks.high_water - marks.low_water) // 2
        if fits:  # else it is the program's own note, and nothing is asked
            request = replace(recorded, purpose="handover")
            assumed = size(self._note.encode())
            yield Refolded(request=request, window=asked, left=(), assumed=assumed)

    def _placed(self, event: AnyEvent) -> AnyEvent:
        """In the latest compaction's context. A rewind ends behind the handover note: what lies
        before it could not have been taken back.
        """
        place = self._conversation.place
        if event.ctx != CONVERSATION or not place.ctx:
            return event
        placed = replace(event, ctx=place.ctx)
        if isinstance(placed, WindowRewind):
            return replace(placed, to=max(placed.to, place.since + 1))
        return placed


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
