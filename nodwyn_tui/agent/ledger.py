"""What is known of a whole session, folded event by event: its totals, its title, where its window
starts, what still waits. The log's index keeps it, so that a resume reads none of what is behind.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from nodwyn_tui.agent.earlier import Earlier
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Totals
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.redact import has_marker
from nodwyn_tui.window.contexts import StartTracker
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.prefix import TEMPLATE

VERSION = 6
"""Of what `state` gives: another one is folded anew from the log."""

LONGEST = 2_000
"""Characters of the first message that are kept."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A request and its reply, by their seqs."""

    req: int
    resp: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request without a reply: to which origin, and the engine's estimate of it (tokens)."""

    origin: str
    estimate: int


@dataclass(slots=True, kw_only=True)
class Facts:
    """A session's figures and words. Seqs are 0 and texts '' where there is none yet.

    `spoken` says that the person has said anything; `floor` is the latest manual reset: nothing
    before it is shown to the model again (ROL-9); `changed_files` are those of the workspace that
    calls changed since then, sorted; `run_start` the message that began the latest
    run, `run_open` whether that run has no end; `waiting` messages that were queued and neither
    sent nor taken back, `waiting_images` their images by text; `markers` whether a redaction marker
    stands in what the model was shown or wrote; `latest` the last answered request to each origin,
    `ratios` a server's count of a prompt over the estimate of it, at most so far, `unanswered`
    the requests without a reply, by their seqs; `turns` the requests of runs, `asking_runs` the
    runs that made one, `asking_run` the last;
    `rewriting` are origins whose template leaves the thinking of earlier runs out, `answered_by`
    the origin of the last reply; `earlier` are the windows so far; `skills` those in use, in the
    order in which they were taken up, with their digests then: a reset drops them (ROL-8).
    """

    session: str = ""
    workspace: str = ""
    title: str = ""
    spoken: bool = False
    first_message: str = ""
    began_at: str = ""
    last_at: str = ""
    events: int = 0
    runs: int = 0
    requests: int = 0
    recoveries: int = 0
    models: list[str] = field(default_factory=list)
    last_model: str = ""
    last_origin: str = ""
    totals: Totals = field(default_factory=Totals)
    floor: int = 0
    changed_files: list[str] = field(default_factory=list)
    run_start: int = 0
    run_open: bool = False
    waiting: list[str] = field(default_factory=list)
    waiting_images: dict[str, list[ev.QueuedImage]] = field(default_factory=dict)
    markers: bool = False
    latest: dict[str, Answered] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    unanswered: dict[int, Asked] = field(default_factory=dict)
    turns: int = 0
    asking_runs: int = 0
    asking_run: int = 0
    rewriting: list[str] = field(default_factory=list)
    answered_by: str = ""
    earlier: Earlier = field(default_factory=Earlier)
    skills: dict[str, str] = field(default_factory=dict)

    def calibration(self, origin: str) -> float:
        """The server's count of a prompt over our estimate of it, at most so far; 1.0 unknown. No
        tokenizer makes more than one token of a byte: a count beyond that is no count.
        """
        return self.ratios.get(origin, 1.0)

    @property
    def requests_a_run(self) -> int:
        """How many requests a run has made on average so far, at least 1."""
        return max(self.turns // max(self.asking_runs, 1), 1)

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log."""
        self.began_at = self.began_at or event.at
        self.last_at = event.at
        self.events += 1
        self.runs = max(self.runs, event.run)
        self.waiting = _still_waiting(self.waiting, event)
        self._queued(event)
        self._picked(event)
        self.markers |= _holds_a_marker(event)
        match event:
            case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
                self.session, self.workspace = event.session, event.workspace
            case ev.SessionTitle():
                self.title = event.title
            case ev.SessionRecovered():
                self.recoveries += 1
            case ev.UserMessage():
                self._said(event)
            case ev.LlmRequest() | ev.LlmResponse() | ev.LlmError():
                self._exchange(event)
            case ev.ToolResult(changed=changed) if changed:
                self.changed_files = sorted({*self.changed_files, *changed})
            case ev.WindowReset(kind="manual"):
                self.floor, self.changed_files = event.seq, []
            case ev.Note(why=why) if why == TEMPLATE:
                self._learned(self.answered_by)
            case ev.RunEnd():
                self.run_open = False
            case _:
                pass

    def _queued(self, event: ev.Event) -> None:
        if isinstance(event, ev.UserQueued) and event.images:
            self.waiting_images[event.text] = list(event.images)
        for text in self.waiting_images.keys() - set(self.waiting):
            del self.waiting_images[text]

    def _picked(self, event: ev.Event) -> None:
        match event:
            case ev.WindowReset():
                self.skills.clear()
            case ev.SkillUse():
                self.skills.pop(event.name, None)
                if event.digest:
                    self.skills[event.name] = event.digest
            case _:
                pass

    def _said(self, event: ev.UserMessage) -> None:
        self.spoken = True
        self.first_message = self.first_message or event.text[:LONGEST]
        if event.starts_run:
            self.run_start, self.run_open = event.seq, True

    def _exchange(self, event: ev.LlmRequest | ev.LlmResponse | ev.LlmError) -> None:
        match event:
            case ev.LlmRequest():
                self._asked(event)
            case ev.LlmResponse():
                self.totals = self.totals.plus(event.usage)
                if (asked := self.unanswered.pop(event.req, None)) is not None:
                    self.answered_by = asked.origin
                    self.latest[asked.origin] = Answered(event.req, event.seq)
                    self._calibrate(asked, event.usage.prompt_tokens)
            case ev.LlmError():
                self.unanswered.pop(event.req, None)

    def _asked(self, event: ev.LlmRequest) -> None:
        self.requests += 1
        self.run_open |= event.purpose != "handover"
        if event.purpose in ("turn", "handover"):
            self.last_model, self.last_origin = event.model.name, event.model.origin
        self.unanswered[event.seq] = Asked(event.model.origin, event.estimate)
        if event.purpose == "turn":
            self.turns += 1
            self.asking_runs += event.run != self.asking_run
            self.asking_run = event.run
        if event.model.name not in self.models:
            self.models.append(event.model.name)

    def _learned(self, origin: str) -> None:
        if origin not in self.rewriting:
            self.rewriting.append(origin)

    def _calibrate(self, asked: Asked, counted: int | None) -> None:
        if counted:
            ratio = min(counted / max(asked.estimate, 1), BYTES_PER_TOKEN)
            self.ratios[asked.origin] = max(self.ratios.get(asked.origin, 0.0), ratio)


class Ledger:
    """The facts, and where the window starts."""

    def __init__(self, facts: Facts | None = None, tracker: StartTracker | None = None) -> None:
        self.facts = facts or Facts()
        self.tracker = tracker or StartTracker()

    @property
    def start(self) -> tuple[int, int]:
        """The first seq that a later window may need, and the seq of the recipe that held there (0
        for none before it).
        """
        return self.tracker.keep, self.tracker.recipe

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log."""
        self.tracker.feed(event)
        self.facts.feed(event)
        self.facts.earlier.feed(event, self.tracker)

    def copy(self) -> "Ledger":
        """One that goes on by itself."""
        return Ledger.of(self.state())

    def state(self) -> Json:
        """All of it as JSON, for `of`."""
        facts = _adapter().dump_python(self.facts, mode="json")
        return {"facts": facts, "tracker": self.tracker.state()}

    @classmethod
    def of(cls, state: Json) -> "Ledger":
        """One as it was. Raises `ValueError` for what is no such state."""
        match state:
            case {"facts": facts, "tracker": tracker}:
                try:
                    return cls(_adapter().validate_python(facts), StartTracker.of(tracker))
                except ValidationError as error:
                    raise ValueError("no facts of a session") from error
        raise ValueError("no state of a session")


class Ledgers:
    """The kind of fold that a ledger is, for the index that keeps it."""

    version = VERSION

    def new(self) -> Ledger:
        """Of a session of which nothing was read yet."""
        return Ledger()

    def of(self, state: Json) -> Ledger:
        """One as it was. Raises `ValueError` for what is no such state."""
        return Ledger.of(state)


def ledger_of(archive: Archive) -> Ledger:
    """What the archive, which was opened with `Ledgers`, knows of its whole log."""
    ledger = archive.fold
    assert isinstance(ledger, Ledger), "it was opened with Ledgers"
    return ledger


def _holds_a_marker(event: ev.Event) -> bool:
    match event:
        case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
            return has_marker(event.recipe.system)
        case ev.UserMessage() | ev.ToolResult() | ev.FreshContext() | ev.Note():
            return has_marker(event.text)
        case ev.ToolCall():
            return has_marker(event.arguments)
        case _:
            return False


@functools.cache
def _adapter() -> TypeAdapter[Facts]:
    return TypeAdapter(Facts)


def _still_waiting(waiting: list[str], event: ev.Event) -> list[str]:
    """Of messages that wait, those that do so after `event`: neither sent nor taken back."""
    match event:
        case ev.UserQueued(dropped=False):
            return [*waiting, event.text]
        case ev.UserQueued():
            at = next((n for n in reversed(range(len(waiting))) if waiting[n] == event.text), None)
            return waiting if at is None else [*waiting[:at], *waiting[at + 1 :]]
        case ev.UserMessage() if waiting:
            said = event.text.split("\n\n")
            return [t for t in waiting if t != event.text and not _within(t, said)]
        case _:
            return waiting


def _within(text: str, said: Sequence[str]) -> bool:
    """Whether a message stands whole among those that were sent as one."""
    parts = text.split("\n\n")
    return any(said[at : at + len(parts)] == parts for at in range(len(said)))
