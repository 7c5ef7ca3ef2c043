"""Log events to transcript entries: one projection, the same for a live run and a log that is read.

What the screen shows of a session follows from its events alone.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nodwyn_tui.agent import dividers, instructed
from nodwyn_tui.agent.bodies import NO_ANSWER, body_of, call_title, text_of, thinking_of
from nodwyn_tui.agent.skill_words import NOTE as SKILL
from nodwyn_tui.agent.standing import Standing
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.link import events as up
from nodwyn_tui.window.carrying import ASK, TASK
from nodwyn_tui.window.rows import HANDOVER

INTERRUPTED = "interrupted"
"""How the result of a call that was stopped begins."""

PREVIEW = 240
"""Characters of a body that an entry bears."""

NOTES = {
    ASK: "asks the model for a handover note",
    HANDOVER: "the handover note",
    TASK: "the request that goes on in the new window",
    SKILL: "what a skill says, for the model",
}
"""Titles of notes, by why they are there."""
TOLD = "told the model: "
"""How the title of guidance begins: of what the program says to the model by itself."""
NOT_SENT = "not sent"
"""The title of a message that was rejected; what follows it says why."""

REWOUND = 80
"""Characters of a message that was rewound to."""


Fetch = Callable[[int], ev.Event | None]
"""A line of the log, by its seq; `None` for one that is lost."""
Pictures = Callable[[str], Path]
"""Where an image lies, by its digest."""


@dataclass(frozen=True, slots=True)
class _Edits:
    """What was done with entries last, the line and the number it has come to, and its divider."""

    word: str
    last: int
    count: int
    divider: str


class Transcript:
    """Folds events into entries, in order. `feed` gives what changed, as link events. Bodies are
    not held: `fetch` reads their lines again. Without `pictures` no image's file is told.
    """

    def __init__(self, fetch: Fetch, pictures: Pictures | None = None) -> None:
        self.entries: dict[str, up.Entry] = {}
        self._fetch, self._pictures = fetch, pictures
        self._calls: dict[str, str] = {}
        self._anchors: dict[str, int] = {}
        """By entry, the line whose state in the window is the entry's: a call's is its result's."""
        self._results: dict[str, int] = {}
        self._open: dict[str, ev.ToolCall] = {}
        self._unsettled: set[str] = set()
        self._edits: _Edits | None = None
        self._before: ev.Event | None = None

    def feed(self, event: ev.Event) -> Iterator[up.UpEvent]:
        """What the screen must be told of one event."""
        before, self._before = self._before, event
        match event:
            case ev.UserMessage():
                yield self._added(self._said(event, before), event)
            case ev.ToolResult():
                yield from self._result(event)
            case ev.Approval():
                status: up.CallStatus = "running" if event.decision == "allowed" else "refused"
                yield from self._status(event.call_id, status)
            case ev.WindowEdit() | ev.ResultFold():
                yield self._edited(event)
            case ev.WindowRewind():
                yield from self._rewound(event)
            case _:
                for entry in _entries(event):
                    yield self._added(entry, event)

    def settle(self, standing: Standing, *, anew: bool) -> Iterator[up.UpEvent]:
        """What changed of where entries stand in the window: of all that are told if it was made
        `anew`, else of those that came since.
        """
        moved: dict[up.EntryState, list[str]] = {}
        for entry_id in list(self._anchors if anew else self._unsettled):
            entry, state = self.entries[entry_id], standing.of(self._anchors[entry_id])
            if entry.state != state:
                self.entries[entry_id] = replace(entry, state=state)
                moved.setdefault(state, []).append(entry_id)
        self._unsettled.clear()
        for state, ids in moved.items():
            yield up.StatesChanged(ids=tuple(ids), state=state)

    def load(self, events: Iterable[ev.Event], standing: Standing | None) -> tuple[up.Entry, ...]:
        """The entries of lines that were read from a log, in their order."""
        part = Transcript(self._fetch, self._pictures)
        for event in events:
            for _ in part.feed(event):
                pass
        if standing is not None:
            for _ in part.settle(standing, anew=True):
                pass
        self._adopt(part)
        return tuple(part.entries.values())

    def body(self, entry_id: str) -> up.Body | None:
        """An entry in full; `None` for an id that is not there, and for a lost line."""
        entry = self.entries.get(entry_id)
        event = self._fetch(entry.seq) if entry is not None else None
        if entry is None or event is None:
            return None
        answer = self._fetch(self._results[entry_id]) if entry_id in self._results else None
        return body_of(entry.kind, event, answer if isinstance(answer, ev.ToolResult) else None)

    def anchor(self, entry_id: str) -> int:
        """The line whose state in the window is the entry's: a call's is its result's."""
        return self._anchors.get(entry_id, self.entries[entry_id].seq)

    def entry_of_call(self, call_id: str) -> up.Entry | None:
        """The entry of a call."""
        return self.entries.get(self._calls.get(call_id, ""))

    def waiting(self, call_id: str) -> Iterator[up.UpEvent]:
        """The call now waits for the person."""
        yield from self._status(call_id, "waiting")

    def _adopt(self, part: "Transcript") -> None:
        """What was told apart, an earlier page: it follows the window from now on too."""
        self.entries.update(part.entries)
        self._calls = part._calls | self._calls  # an id that was used twice is the later call's
        self._anchors.update(part._anchors)
        self._results.update(part._results)
        self._open.update(part._open)

    def _added(self, entry: up.Entry, event: ev.Event) -> up.UpEvent:
        body = body_of(entry.kind, event, None)
        entry = replace(entry, preview=body.text[:PREVIEW], size=len(body.text))
        if isinstance(event, ev.AttachImage) and self._pictures is not None:
            entry = replace(entry, picture=str(self._pictures(event.sha256)))
        self.entries[entry.id] = entry
        if isinstance(event, ev.ToolCall):
            self._calls[event.call_id] = entry.id
            self._open[entry.id] = event
            self._stands_at(entry, event.resp)
        elif entry.kind not in ("error", "divider") and not _is_rejected(event):
            self._stands_at(entry, event.seq)
        return up.EntryAdded(entry=replace(entry, body=body))

    def _said(self, event: ev.UserMessage, before: ev.Event | None) -> up.Entry:
        """A message; where it carries a rollover, `before` or the line there is the lead-in."""
        if before is None or before.seq != event.seq - 1:
            before = self._fetch(event.seq - 1)
        carries = isinstance(before, ev.WindowLeadIn)
        if carries and event.via == "continue":
            return _entry(event, "guidance", title=TOLD + event.text)
        reset = self._fetch(event.seq - 2) if carries else None
        again = isinstance(reset, ev.WindowReset) and reset.reason == "context-exceeded"
        state: up.EntryState = "outside" if event.rejected else "in"
        return _entry(event, "user", state=state, title="sent again" if again else _via(event))

    def _edited(self, event: ev.WindowEdit | ev.ResultFold) -> up.UpEvent:
        """One divider for what was done in a row, however many lines that took."""
        word = dividers.edited(event)
        before = self._edits
        goes_on = before is not None and (before.word, before.last) == (word, event.seq - 1)
        count = before.count + 1 if before and goes_on else 1
        label = f"{count} {'entry' if count == 1 else 'entries'} {word}"
        if before is None or not goes_on:
            divider = _divider(event, label)
            self._edits = _Edits(word, event.seq, count, divider.id)
            return self._added(divider, event)
        self._edits = replace(before, last=event.seq, count=count)
        divider = self.entries[before.divider] = replace(self.entries[before.divider], title=label)
        return up.EntryChanged(entry=divider)

    def _rewound(self, event: ev.WindowRewind) -> Iterator[up.UpEvent]:
        """A message that was taken back, by its beginning."""
        message = self._fetch(event.to)
        if isinstance(message, ev.UserMessage):
            said = " ".join(message.text[:PREVIEW].split())
            yield self._added(_divider(event, f"rewound to: {said[:REWOUND]}"), event)

    def _stands_at(self, entry: up.Entry, seq: int) -> None:
        self._anchors[entry.id] = seq
        self._unsettled.add(entry.id)

    def _status(self, call_id: str, status: up.CallStatus) -> Iterator[up.UpEvent]:
        entry = self.entry_of_call(call_id)
        if entry is not None and entry.status != status:
            entry = self.entries[entry.id] = replace(entry, status=status)
            yield up.EntryChanged(entry=entry)

    def _result(self, event: ev.ToolResult) -> Iterator[up.UpEvent]:
        entry = self.entry_of_call(event.call_id)
        call = self._open.pop(entry.id, None) if entry else None
        if entry is None or call is None:
            return
        self._results[entry.id] = event.seq
        self._stands_at(entry, event.seq)
        body = body_of("call", call, event)
        entry = self.entries[entry.id] = replace(
            entry,
            status=_status_after(entry, event),
            title=entry.title if body.diff else _with_outcome(entry.title, event),
            preview=body.text[:PREVIEW],
            size=len(body.text),
            ms=event.ms,
        )
        yield up.EntryChanged(entry=replace(entry, body=body))


def _entries(event: ev.Event) -> Iterator[up.Entry]:
    """The entries that one event begins."""
    match event:
        case ev.AttachImage():
            yield _entry(event, "image", title=_image_title(event))
        case ev.LlmResponse():
            yield from _reply_entries(event)
        case ev.ToolCall():
            title = call_title(event.name, event.arguments)
            call = _entry(event, "call", title=title)
            yield replace(call, call_id=event.call_id, tool=event.name)
        case ev.GatePlan():
            yield _entry(event, "plan", title="plan")
        case ev.Note() if told := instructed.title(event):
            yield _entry(event, "guidance", title=told)
        case ev.Note():
            state: up.EntryState = "outside" if event.audience == "person" else "in"
            yield _entry(event, "note", state=state, title=NOTES.get(event.why, ""))
        case ev.LlmError() | ev.BudgetBlocked() | ev.SessionRecovered():
            yield _entry(event, "error", state="outside")
        case ev.WindowLeadIn() | ev.BudgetWarning():
            yield _entry(event, "guidance", title=TOLD + _guidance(event))
        case _ if label := dividers.label(event):
            yield replace(_divider(event, label), leaves=dividers.leaves(event))
        case _:
            pass


def _entry(
    event: ev.Event, kind: up.EntryKind, *, state: up.EntryState = "in", title: str = ""
) -> up.Entry:
    suffix = {"thinking": ".a", "assistant": ".b"}.get(kind, "")
    return up.Entry(
        id=f"{event.seq:08}{suffix}", seq=event.seq, kind=kind, state=state, title=title
    )


def _divider(event: ev.Event, label: str) -> up.Entry:
    return _entry(event, "divider", state="outside", title=label)


def _via(event: ev.UserMessage) -> str:
    titles = {"steer": "while it worked", "continue": "continue", "shell": "shell"}
    return NOT_SENT if event.rejected else titles.get(event.via, "")


def _is_rejected(event: ev.Event) -> bool:
    """It stands in no window, whatever becomes of the window (ROL-8)."""
    return isinstance(event, ev.UserMessage) and event.rejected


def _guidance(event: ev.WindowLeadIn | ev.BudgetWarning) -> str:
    """In a few words, what the program told the model."""
    if isinstance(event, ev.BudgetWarning):
        percent = event.figures.get("percent")
        return f"the window is ~{percent} % full" if percent else "the window fills"
    quoted = (("what you asked", event.asked), ("the plan", event.plan))
    left = event.rollover_id.partition(":")[2]
    return ", ".join([f"how it looks into w:{left}", *(what for what, text in quoted if text)])


def _image_title(event: ev.AttachImage) -> str:
    return f"{event.name} {event.width}×{event.height}"  # noqa: RUF001 - the sign between two sizes


def _reply_entries(event: ev.LlmResponse) -> Iterator[up.Entry]:
    if thinking_of(event):
        yield _entry(event, "thinking")  # how long it took is in no log: no figure is told
    spoke = bool(text_of(event).strip())
    if spoke or (event.finish in NO_ANSWER and not _called(event)):
        yield replace(_entry(event, "assistant"), title="" if spoke else "no answer", ms=event.ms)


def _called(event: ev.LlmResponse) -> bool:
    return any(isinstance(part, Call) for part in event.parts)


def _with_outcome(title: str, result: ev.ToolResult) -> str:
    if result.lines is None or result.is_error:
        return title
    return f"{title} · {result.lines:,} {'line' if result.lines == 1 else 'lines'}"


def _status_after(entry: up.Entry, result: ev.ToolResult) -> up.CallStatus:
    if not result.is_error:
        return "ok"
    if entry.status == "refused":
        return "refused"
    return "interrupted" if result.text.startswith(INTERRUPTED) else "failed"
