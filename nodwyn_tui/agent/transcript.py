"""Log events to transcript entries: one projection, the same for a live run and a log that is read.

What the screen shows of a session follows from its events alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nodwyn_tui.agent.bodies import NO_ANSWER, body_of, call_title, text_of, thinking_of
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.link import events as up
from nodwyn_tui.window import handover
from nodwyn_tui.window.carrying import ASK, TASK
from nodwyn_tui.window.rows import HANDOVER

INTERRUPTED = "interrupted"
"""How the result of a call that was stopped begins."""

WITH_BODIES = 64
"""Entries that bear their bodies when a session opens: more than a screen shows."""

PREVIEW = 240
"""Characters of a body that an entry bears."""

NOTES = {
    ASK: "asks the model for a handover note",
    HANDOVER: "the handover note",
    TASK: "the request that goes on in the new window",
}
"""Titles of notes, by why they are there."""


class Transcript:
    """Folds events into entries, in order. `feed` gives what changed, as link events."""

    def __init__(self) -> None:
        self.entries: dict[str, up.Entry] = {}
        self._bodies: dict[str, ev.Event] = {}
        self._calls: dict[str, str] = {}
        self._by_seq: dict[int, list[str]] = {}
        self._results: dict[str, ev.ToolResult] = {}

    def feed(self, event: ev.Event) -> Iterator[up.UpEvent]:
        """What the screen must be told of one event."""
        match event:
            case ev.ToolResult():
                yield from self._result(event)
            case ev.Approval():
                status: up.CallStatus = "running" if event.decision == "allowed" else "refused"
                yield from self._status(event.call_id, status)
            case ev.LlmRequest() if event.elided:
                yield from self._trimmed(event)
            case ev.WindowReset():
                yield from self._reset(event)
            case _:
                for entry in _entries(event):
                    yield self._added(entry, event)

    def load(self, events: Iterable[ev.Event]) -> tuple[up.Entry, ...]:
        """The entries of a log that was read."""
        for event in events:
            for _ in self.feed(event):
                pass
        return self.shown()

    def shown(self) -> tuple[up.Entry, ...]:
        """The entries so far; only the latest bear their bodies, the others' are fetched."""
        entries = list(self.entries.values())
        for at, entry in enumerate(entries[:-WITH_BODIES]):
            entries[at] = replace(entry, body=None)
        return tuple(entries)

    def body(self, entry_id: str) -> up.Body | None:
        """An entry in full; `None` for an id that is not there."""
        event = self._bodies.get(entry_id)
        if event is None:
            return None
        return body_of(self.entries[entry_id].kind, event, self._results.get(entry_id))

    def entry_of_call(self, call_id: str) -> up.Entry | None:
        """The entry of a call."""
        return self.entries.get(self._calls.get(call_id, ""))

    def waiting(self, call_id: str) -> Iterator[up.UpEvent]:
        """The call now waits for the person."""
        yield from self._status(call_id, "waiting")

    def _added(self, entry: up.Entry, event: ev.Event) -> up.UpEvent:
        body = body_of(entry.kind, event, None)
        entry = replace(entry, preview=body.text[:PREVIEW], size=len(body.text), body=body)
        self._keep(entry)
        self._bodies[entry.id] = event
        if entry.call_id:
            self._calls[entry.call_id] = entry.id
        self._by_seq.setdefault(entry.seq, []).append(entry.id)
        return up.EntryAdded(entry=entry)

    def _keep(self, entry: up.Entry) -> up.Entry:
        self.entries[entry.id] = entry
        return entry

    def _status(self, call_id: str, status: up.CallStatus) -> Iterator[up.UpEvent]:
        entry = self.entry_of_call(call_id)
        if entry is not None and entry.status != status:
            yield up.EntryChanged(entry=self._keep(replace(entry, status=status)))

    def _result(self, event: ev.ToolResult) -> Iterator[up.UpEvent]:
        entry = self.entry_of_call(event.call_id)
        call = self._bodies.get(entry.id) if entry else None
        if entry is None or call is None:
            return
        self._results[entry.id] = event
        self._by_seq.setdefault(event.seq, []).append(entry.id)
        body = body_of("call", call, event)
        changed = replace(
            entry,
            status=_status_after(entry, event),
            title=entry.title if body.diff else _with_outcome(entry.title, event),
            preview=body.text[:PREVIEW],
            size=len(body.text),
            ms=event.ms,
            body=body,
        )
        yield up.EntryChanged(entry=self._keep(changed))

    def _trimmed(self, event: ev.LlmRequest) -> Iterator[up.UpEvent]:
        ids = tuple(
            entry_id
            for seq in event.elided
            for entry_id in self._by_seq.get(seq, ())
            if self.entries[entry_id].state != "elided"
        )
        for entry_id in ids:
            self._keep(replace(self.entries[entry_id], state="elided"))
        if ids:
            yield up.StatesChanged(ids=ids, state="elided")
        count = len(event.elided)
        label = f"window trimmed · {count} older {'entry' if count == 1 else 'entries'} left it"
        yield self._added(_divider(event, label), event)

    def _reset(self, event: ev.WindowReset) -> Iterator[up.UpEvent]:
        ids = tuple(
            entry.id for entry in self.entries.values() if entry.state not in ("behind", "outside")
        )
        for entry_id in ids:
            self._keep(replace(self.entries[entry_id], state="behind"))
        if ids:
            yield up.StatesChanged(ids=ids, state="behind")
        label = "window cleared" if event.kind == "manual" else "window rolled over"
        yield self._added(_divider(event, label), event)


def _entries(event: ev.Event) -> Iterator[up.Entry]:
    """The entries that one event begins."""
    match event:
        case ev.UserMessage():
            yield _entry(
                event, "user", state="outside" if event.rejected else "in", title=_via(event)
            )
        case ev.LlmResponse():
            yield from _reply_entries(event)
        case ev.ToolCall():
            title = call_title(event.name, event.arguments)
            call = _entry(event, "call", title=title)
            yield replace(call, call_id=event.call_id, tool=event.name)
        case ev.GatePlan():
            yield _entry(event, "plan", title="plan")
        case ev.Note():
            state: up.EntryState = "outside" if event.audience == "person" else "in"
            yield _entry(event, "note", state=state, title=NOTES.get(event.why, ""))
        case ev.LlmError() | ev.BudgetBlocked() | ev.SessionRecovered():
            yield _entry(event, "error", state="outside")
        case _ if label := _divider_label(event):
            yield _divider(event, label)
        case _:
            pass


def _divider_label(event: ev.Event) -> str:
    match event:
        case ev.RunEnd(why="interrupted"):
            return "interrupted"
        case ev.SessionResume():
            return "resumed"
        case ev.ContextOpen(kind=handover.KIND):
            return _compacted(event)
        case ev.ContextClose(report=handover.UNDONE):
            return event.report
        case ev.UnknownEvent():
            return f"an entry of another build ({event.kind})"
        case _:
            return ""


def _compacted(event: ev.ContextOpen) -> str:
    if event.context_tokens is None or event.start_tokens is None:
        return "compacted"
    before, after = event.context_tokens / 1000, event.start_tokens / 1000
    return f"compacted: {before:.1f}k → {after:.1f}k tokens"


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
    return "not sent: too long" if event.rejected else titles.get(event.via, "")


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
