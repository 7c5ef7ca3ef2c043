"""Where fresh context stands, and which of it is due (ORD-1 to ORD-5, ORD-9).

Fresh context is a few rows of the user's side: working state, skills, runtime metadata, recall,
corrections. Rows placed `each_request` stand behind completed history and before what the person
said last, and are gone with the next request; any other row is part of the conversation from where
it was recorded. What a row says is the agent's matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.domain.events import Event, FreshContext, Recall, WindowRewind
from nodwyn_tui.window import rows
from nodwyn_tui.window.contexts import StartTracker
from nodwyn_tui.window.entries import Entry
from nodwyn_tui.window.sequence import EACH_REQUEST, SAID

FreshKind = Literal["working_state", "skills", "runtime", "recall", "corrections"]
KINDS: tuple[FreshKind, ...] = get_args(FreshKind)
"""In the order in which they stand."""

Placement = Literal["each_request", "on_change", "run_start", "off"]
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshRow:
    """What a kind of fresh context says now. One that has nothing to say has no row; `gone` is what
    a row says from then on where an earlier one still stands in the window.
    """

    kind: FreshKind
    trust: Literal["trusted", "data"]
    text: str
    gone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a request needs: `record` goes into the log before it, in order; `again` are rows that
    stand in the log already, as seqs by kind, where the request is to show them.
    """

    record: tuple[FreshContext, ...] = ()
    again: Mapping[FreshKind, int] = field(default_factory=dict)

    def shown(self, recorded: Sequence[Event]) -> tuple[int, ...]:
        """The seqs of the rows that stand in the request alone (`Shape.fresh`), once the log has
        `recorded` what was due.
        """
        seqs: dict[str, int] = dict(self.again.items())
        for event in recorded:
            if isinstance(event, FreshContext) and event.placement == EACH_REQUEST:
                seqs[event.kind] = event.seq
        return tuple(seqs[kind] for kind in KINDS if kind in seqs)


class Choice(NamedTuple):
    """A placement, and why it is the one, for the person."""

    placement: Placement
    why: str


def placement_for(
    provider: str, *, breakpoints: bool, keeps_reasoning: bool, dialect: str | None = None
) -> Choice:
    """What `auto` is on a provider (ORD-9): rows that come and go where what stands before them is
    read from the cache all the same; rows that stay where a row taken out would cost the prefix or
    void the reasoning bound to it; and those only at a run's start where a template rewrites
    earlier turns at each row of the person's side. `breakpoints` says that the cache is asked for
    by explicit ones. Of the dialects of chat completions, llama.cpp's has one slot and templates as
    Ollama has.
    """
    if provider == "ollama" or dialect == "llamacpp":
        return Choice("run_start", "chat templates drop earlier thinking at each row that comes")
    if provider == "openai":
        return Choice("each_request", "what stands before rows that go is cached all the same")
    if keeps_reasoning:
        return Choice("on_change", "kept reasoning is bound to all before it, so no row may go")
    if breakpoints:
        return Choice("each_request", "the last cache mark stands before rows that go")
    return Choice("on_change", "without cache marks, a row that goes would cost the cache")


def placed(fresh: str) -> Placement:
    """The placement that a recipe names; `off` for one that this build does not know."""
    return next((each for each in PLACEMENTS if each == fresh), "off")


def tail(entries: Sequence[Entry]) -> int:
    """How many entries stand before the unanswered input at the end: behind the last reply, its
    results and its plan, from the first entry on that is to be answered (ORD-1).
    """
    start = end = len(entries)
    while end and (entries[end - 1].kind in SAID or entries[end - 1].kind == "note"):
        end -= 1
        start = end if entries[end].kind in SAID else start
    return start


def answered(history: Sequence[Entry]) -> int:
    """How many entries of a history stood before the unanswered input that the last reply in it
    answers.
    """
    replies = (at for at in range(len(history) - 1, -1, -1) if history[at].kind == "assistant")
    return tail(history[: next(replies, 0)])


def recorded(events: Sequence[Event]) -> dict[int, FreshContext]:
    """The rows of fresh context among events, by seq."""
    return {event.seq: event for event in events if isinstance(event, FreshContext)}


def entries_of(seqs: Sequence[int], known: Mapping[int, FreshContext]) -> list[Entry]:
    """The entries of the fresh rows that a request names, in that order."""
    return [rows.fresh(known[seq]) for seq in seqs if seq in known]


class Freshness:
    """Follows a session event by event, and knows which rows its window holds."""

    def __init__(self) -> None:
        self._tracker = StartTracker()
        self.known: dict[int, FreshContext] = {}
        """Those that were recorded since the window's start, by seq."""
        self._said: dict[tuple[str, str], int] = {}
        self._standing: dict[str, FreshContext] = {}
        self.recall: Recall | None = None
        """Why the facts that this window recalls are what they are, as recorded last."""

    def feed(self, event: Event) -> None:
        """Takes the next event of the log, or of the part of it that later windows need."""
        place = self._tracker.place
        self._tracker.feed(event)
        if self._tracker.place != place:
            self._hold({})
            self.recall = None
        match event:
            case FreshContext() if event.ctx == self._tracker.place.ctx:
                self._take(event)
            case Recall() if event.ctx == self._tracker.place.ctx:
                self.recall = event
            case WindowRewind():
                self._hold({seq: row for seq, row in self.known.items() if seq < event.to})
            case _:
                pass

    def _hold(self, known: Mapping[int, FreshContext]) -> None:
        """These, and no others any more."""
        self.known, self._said, self._standing = {}, {}, {}
        for row in known.values():
            self._take(row)

    def _take(self, row: FreshContext) -> None:
        self.known[row.seq] = row
        if row.placement == EACH_REQUEST:
            self._said[row.kind, row.digest] = row.seq
        else:
            self._standing[row.kind] = row

    def due(self, now: Sequence[FreshRow], placement: Placement, *, run_starts: bool) -> Due:
        """What the next request needs, where fresh context says `now` (one row a kind at most)."""
        ordered = sorted(now, key=lambda row: KINDS.index(row.kind))
        if placement == EACH_REQUEST:
            return self._each_request(ordered)
        if placement == "off" or (placement == "run_start" and not run_starts):
            return Due()
        return Due(record=tuple(self._changed(ordered, placement)))

    def _each_request(self, now: Sequence[FreshRow]) -> Due:
        """All that says something; what was said already in this window is not recorded anew. A
        row that stays from another placement is said to be out of date.
        """
        told = ((row, row.text or (row.gone if row.kind in self._standing else "")) for row in now)
        now = [replace(row, text=text) for row, text in told if text]
        again = {row.kind: self._said.get((row.kind, _digest(row.text))) for row in now}
        return Due(
            record=tuple(
                _event(row, EACH_REQUEST, row.text) for row in now if again[row.kind] is None
            ),
            again={kind: seq for kind, seq in again.items() if seq is not None},
        )

    def _changed(self, now: Sequence[FreshRow], placement: Placement) -> Iterator[FreshContext]:
        """Each kind that says something else than its row in the window does."""
        for row in now:
            before = self._standing.get(row.kind)
            text = row.text or (row.gone if before else "")
            if text and (before is None or not _says(before, text)):
                yield _event(row, placement, text, before.seq if before else None)


def _says(row: FreshContext, text: str) -> bool:
    """Whether a row that stands says a text already. Facts are the same in any order: each request
    of the person ranks them otherwise.
    """
    if row.digest == _digest(text):
        return True
    return row.kind == "recall" and sorted(row.text.split("\n")) == sorted(text.split("\n"))


def _event(row: FreshRow, placement: str, text: str, supersedes: int | None = None) -> FreshContext:
    return FreshContext(
        kind=row.kind,
        trust=row.trust,
        text=text,
        digest=_digest(text),
        placement=placement,
        supersedes=supersedes,
    )


def _digest(text: str) -> str:
    """Names a text before the log redacts it: the same one is known again."""
    return sha256(text.encode())
