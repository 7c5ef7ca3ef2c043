"""Where a log stands: what its next event gets. Pure; follows the events one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from nodwyn_tui.domain.events import ContextOpen, Event, UserMessage
from nodwyn_tui.system.clock import stamp

_STAMP_LENGTH = len("2026-01-01T00:00:00.000Z")


@dataclass(frozen=True, slots=True)
class Position:
    """`next_seq` for the next event; the current `run`; the latest `at`; `inner` are the
    sub-contexts, whose messages are not the person's and start no run.
    """

    next_seq: int = 1
    run: int = 0
    at: str = ""
    inner: frozenset[int] = frozenset()

    def after(self, event: Event) -> "Position":
        """The position behind `event`, as a log holds it."""
        inner = self.inner
        if isinstance(event, ContextOpen) and (not event.lasting or event.parent in inner):
            inner |= {event.id}
        return Position(
            max(self.next_seq, event.seq + 1),
            max(self.run, event.run),
            max(self.at, event.at if _is_stamp(event.at) else ""),
            inner,
        )

    def place(self, drafts: Sequence[Event], now: datetime) -> tuple[tuple[Event, ...], "Position"]:
        """The drafts as events of one append, and the position behind them.

        A message of the person bears the run that it starts. `at` never goes back: while the clock
        is behind the last event, events bear that one's time. Their order is that of `seq` alone.
        """
        at = max(stamp(now), self.at)
        position = self
        events: list[Event] = []
        for draft in drafts:
            event = replace(
                draft,
                seq=position.next_seq,
                at=at,
                run=position.run + position._starts_run(draft),
                batch=len(drafts) if not events and len(drafts) > 1 else None,
            )
            events.append(event)
            position = position.after(event)
        return tuple(events), position

    def _starts_run(self, draft: Event) -> bool:
        return isinstance(draft, UserMessage) and draft.starts_run and draft.ctx not in self.inner


def _is_stamp(text: str) -> bool:
    return len(text) == _STAMP_LENGTH and text[4] == text[7] == "-" and text[-1] == "Z"
