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
    LlmRequest,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SessionStart,
    SummaryAdd,
    SummaryRevoke,
    UserMessage,
    WindowEdit,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.request import Json

CONVERSATION = 0

DECLARED = (ResultFold, WindowEdit, SummaryAdd, SummaryRevoke)
"""Lines about other lines, by their seqs: they count whichever context they were recorded in."""

RECIPES = (SessionStart, SessionResume, SessionRecipe)


@dataclass(frozen=True, slots=True)
class Place:
    """A context of the conversation, and the seq from which its window's events count."""

    ctx: int
    since: int


class StartTracker:
    """Follows the conversation's start event by event.

    `place` is the context that the next message belongs to and where its window begins; `needs`
    says which events a later window may need: the others can be let go of, and a tracker that takes
    only the kept ones comes to the same place. Without `resets` (before recipe 20) a reset starts
    nothing.
    """

    def __init__(self, *, resets: bool = True) -> None:
        self._resets = resets
        self._open: list[Place] = [Place(CONVERSATION, 0)]
        self._recipes: list[int] = []
        self._inner: set[int] = set()
        """Sub-contexts: whatever begins anew in one of them, the conversation does not."""
        self._has_summary = False

    def copy(self) -> "StartTracker":
        """One that goes on by itself."""
        other = StartTracker(resets=self._resets)
        other._open, other._recipes = [*self._open], [*self._recipes]
        other._inner = {*self._inner}
        other._has_summary = self._has_summary
        return other

    def state(self) -> Json:
        """Where it stands, as JSON, for `of`."""
        return {
            "resets": self._resets,
            "open": [[place.ctx, place.since] for place in self._open],
            "recipes": list(self._recipes),
            "inner": sorted(self._inner),
            "has_summary": self._has_summary,
        }

    @classmethod
    def of(cls, state: Json) -> "StartTracker":
        """One that stands where another stood. Raises `ValueError` for what is no such state."""
        match state:
            case {
                "resets": bool(resets),
                "open": [_, *_] as opened,
                "recipes": [*recipes],
                "inner": [*inner],
                "has_summary": bool(has_summary),
            } if all(isinstance(number, int) for number in (*recipes, *inner)):
                tracker = cls(resets=resets)
                tracker._open = [_place_of(each) for each in opened]
                tracker._recipes, tracker._inner = [*recipes], {*inner}
                tracker._has_summary = has_summary
                return tracker
        raise ValueError("no state of a start tracker")

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                self._recipes = [self.recipe, *(s for s in self._recipes if s >= self.keep)]
                self._recipes.append(event.seq)
            case SummaryAdd():
                self._has_summary = True
            case ContextOpen():
                self._enter(event)
            case ContextClose():
                self._close(event.id)
            case WindowReset() if self._resets and event.ctx not in self._inner:
                self._open = [Place(event.ctx, event.seq)]
            case WindowRewind():
                self._open[1:] = [place for place in self._open[1:] if place.since < event.to]
            case UserMessage(rejected=False) if event.ctx == self.place.ctx:
                del self._open[:-1]
            case _:
                pass

    def _enter(self, opened: ContextOpen) -> None:
        """A lasting context of the conversation takes its place. Where its parent was opened before
        the part of a log that is read, the window starts here.
        """
        here = Place(opened.id, opened.seq)
        if not opened.lasting or opened.parent in self._inner:
            self._inner.add(opened.id)
        elif opened.parent == self.place.ctx:
            self._open.append(here)
        else:
            self._open = [here]

    def _close(self, ctx: int) -> None:
        """Closes a lasting context and those within it, while its parent is still open."""
        at = next((n for n, place in enumerate(self._open) if n and place.ctx == ctx), None)
        if at is not None:
            del self._open[at:]

    @property
    def place(self) -> Place:
        """Where the next message belongs."""
        return self._open[-1]

    def is_inner(self, ctx: int) -> bool:
        """Whether a context is a sub-agent's, or within one: no part of the conversation."""
        return ctx in self._inner

    @property
    def keep(self) -> int:
        """The first seq that a later window may need. A session with a summary is held whole: it
        may replace a span that the tracker knows nothing of.
        """
        return 0 if self._has_summary else self._open[0].since

    @property
    def recipe(self) -> int:
        """The seq of the recipe that held at `keep`, 0 where none stands before it."""
        return max((seq for seq in self._recipes if seq < self.keep), default=0)

    def needs(self, seq: int) -> bool:
        """Whether a later window may need the event at `seq`."""
        return seq >= self.keep or seq == self.recipe


def _place_of(state: Json) -> Place:
    match state:
        case [int(ctx), int(since)]:
            return Place(ctx, since)
    raise ValueError("no place in a log")


def place(events: Iterable[Event], *, resets: bool = True) -> Place:
    """The conversation's place after `events`."""
    tracker = StartTracker(resets=resets)
    for event in events:
        tracker.feed(event)
    return tracker.place


def opening(events: Iterable[Event], ctx: int) -> ContextOpen | None:
    """How the sub-context `ctx` was opened; `None` for the conversation."""
    return next(
        (e for e in events if isinstance(e, ContextOpen) and e.id == ctx and not e.lasting), None
    )


def narrow(events: Sequence[Event], at: Place) -> list[Event]:
    """The events of a context from its start on, without what a rewind took out, and the recipes.

    A rewind takes messages out; what was folded, edited and elided of earlier ones stays so, for
    nothing comes back by itself (ENG-15). What a request for a handover note elided, to fit, it
    elided for itself: taken back, it leaves the window as it was (AGT-16).
    """
    kept: list[Event] = []
    for event in events:
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                kept.append(event)
            case _ if event.seq < at.since:
                pass
            case WindowRewind():
                kept = [e for e in kept if e.seq < event.to or _outlasts_a_rewind(e)]
            case _ if event.ctx == at.ctx or isinstance(event, DECLARED):
                kept.append(event)
            case _:
                pass
    return kept


def _outlasts_a_rewind(event: Event) -> bool:
    if isinstance(event, LlmRequest):
        return event.purpose != "handover"
    return isinstance(event, (*DECLARED, *RECIPES))
