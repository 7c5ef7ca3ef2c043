"""Which windows a session had, and what a rewind took back: what `session_history` may look into
(ROL-11). A part of the ledger, folded event by event.
"""

from dataclasses import dataclass, field

from nodwyn_tui.domain import events as ev
from nodwyn_tui.window.contexts import StartTracker

SHOWN = 80
"""Characters that are kept of a window's first message."""


@dataclass(slots=True)
class Began:
    """A window: the seq of the event that it began with (0: the session's first), what that was,
    its time (UTC), and how the first message in it begins, with its seq (0 for none).
    """

    seq: int = 0
    kind: str = "start"
    at: str = ""
    first: str = ""
    said: int = 0

    def hear(self, message: ev.UserMessage) -> None:
        """Takes a message of the window."""
        if not self.first:
            self.first, self.said = message.text[:SHOWN], message.seq

    def forget(self, to: int) -> None:
        """A rewind takes out what was said from a seq on."""
        if self.said >= to:
            self.first, self.said = "", 0


@dataclass(slots=True, kw_only=True)
class Earlier:
    """The windows since the last `/clear`, the first one first, and the spans of seqs that are no
    part of the conversation any more, each with the seq behind its last.
    """

    windows: list[Began] = field(default_factory=list)
    gone: list[tuple[int, int]] = field(default_factory=list)

    def feed(self, event: ev.Event, tracker: StartTracker) -> None:
        """Takes the next event, which the tracker has taken."""
        if not self.windows:
            self.windows.append(Began(at=event.at))
        match event:
            case ev.WindowReset(kind="manual"):
                self.windows, self.gone = [Began(event.seq, "clear", event.at)], []
            case ev.WindowRewind():
                kept = [span for span in self.gone if span[0] < event.to]
                self.gone = [*kept, (event.to, event.seq)]
                for window in self.windows:
                    window.forget(event.to)
            case ev.UserMessage(rejected=False) if not (
                event.via == "continue" or tracker.is_inner(event.ctx)
            ):
                self.windows[-1].hear(event)
            case _:
                pass
        self._follow(event, tracker.place.since)

    def _follow(self, event: ev.Event, since: int) -> None:
        """A new window begins, or a compaction was taken back."""
        while len(self.windows) > 1 and self.windows[-1].seq > since:
            self.windows.pop()
        if self.windows[-1].seq < since:
            kind = "rollover" if isinstance(event, ev.WindowReset) else "compaction"
            self.windows.append(Began(since, kind, event.at))
