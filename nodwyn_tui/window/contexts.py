"""Where a window starts, and which events belong to it (ENG-23).

The conversation is context 0. A sub-context (a sub-agent's) stays out of its parent's window. A
lasting context (a compaction's) takes its parent's place: the conversation goes on in it. It can be
closed again until the person speaks in it; from then on it is the conversation's start for good.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    ContextClose,
    ContextOpen,
    Event,
    SummaryAdd,
    UserMessage,
    WindowReset,
    WindowRewind,
)

CONVERSATION = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A context of the conversation, and the seq from which its window's events count."""

    ctx: int
    since: int


class StartTracker:
    """Follows the conversation's start event by event.

    `place` is the context that the next message belongs to and where its window begins; `keep` the
    seq from which on a later window may need events: those before it can be let go of.
    """

    def __init__(self) -> None:
        self._open: list[Place] = [Place(CONVERSATION, 0)]
        self._has_summary = False

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        match event:
            case SummaryAdd():
                self._has_summary = True
            case ContextOpen(lasting=True) if event.parent == self.place.ctx:
                self._open.append(Place(event.id, event.seq))
            case ContextClose():
                self._close(event.id)
            case WindowReset() if event.ctx == self.place.ctx:
                self._open[-1] = Place(event.ctx, event.seq)
                del self._open[:-1]
            case UserMessage(rejected=False) if event.ctx == self.place.ctx:
                del self._open[:-1]
            case _:
                pass

    def _close(self, ctx: int) -> None:
        """Closes a lasting context and those within it, while its parent is still open."""
        at = next((n for n, place in enumerate(self._open) if n and place.ctx == ctx), None)
        if at is not None:
            del self._open[at:]

    @property
    def place(self) -> Place:
        """Where the next message belongs."""
        return self._open[-1]

    @property
    def keep(self) -> int:
        """The first seq that a later window may need. A session with a summary is held whole: it
        may replace a span that the tracker knows nothing of.
        """
        return 0 if self._has_summary else self._open[0].since


def place(events: Iterable[Event]) -> Place:
    """The conversation's place after `events`."""
    tracker = StartTracker()
    for event in events:
        tracker.feed(event)
    return tracker.place


def narrow(events: Sequence[Event], at: Place) -> list[Event]:
    """The events of a context from its start on, without those that a rewind took out."""
    kept: list[Event] = []
    for event in events:
        if event.seq < at.since or event.ctx != at.ctx:
            continue
        if isinstance(event, WindowRewind):
            kept = [earlier for earlier in kept if earlier.seq < event.to]
        kept.append(event)
    return kept
