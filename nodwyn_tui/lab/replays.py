"""Recorded sessions under another policy: each recorded request's window built anew (ENG-30).

What was said and done stays as recorded; the policy's own elisions take the place of the recorded
ones as it goes, so that stickiness and hysteresis are its own. What the model would have said to
another window, nobody knows: a re-fold compares prompts, not outcomes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nodwyn_tui.domain.events import Event, LlmRequest, LlmResponse
from nodwyn_tui.lab.compactions import Compacting, assumed_note, without_compactions
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.rolling_over import RollingOver
from nodwyn_tui.lab.rollovers import assumed_notes, without_rollovers
from nodwyn_tui.lab.sessions import Left, Refolded, Session
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.entries import Entry


def refold(events: Sequence[Event], policy: LabPolicy) -> Iterator[Refolded]:
    """Every recorded request of a session, in order, and those for notes that the policy adds.
    `ReplayError` where there is no recipe, or one of an unknown version, and where the policy would
    have ended the session.

    Under a strategy of the policy's own, recorded compactions and rollovers never were.
    """
    session = _session(events, policy)
    shown: dict[int, Window] = {}
    for event in _told(events, policy):
        if not isinstance(event, LlmRequest):
            session.take(event)
            continue
        yield from session.before(event)
        window = session.window(event)
        left = _left(shown.get(event.ctx), window)
        shown[event.ctx] = window
        yield Refolded(request=event, window=window, left=left)


def _session(events: Sequence[Event], policy: LabPolicy) -> Session:
    match policy.strategy:
        case "compact":
            return Compacting(policy, assumed_note(events))
        case "rollover":
            return RollingOver(policy, assumed_notes(events))
        case _:
            return Session(policy)


def _told(events: Sequence[Event], policy: LabPolicy) -> Iterable[Event]:
    """What was said and done, whatever was recorded of windows that filled."""
    if policy.strategy is None:
        return events
    told = without_compactions(events)
    # A session that rolls over sees where the recorded ones were.
    return told if policy.strategy == "rollover" else without_rollovers(told)


def answered(events: Sequence[Event]) -> Mapping[int, LlmResponse]:
    """The replies by their request's seq. A request without one was refused, or never came."""
    return {event.req: event for event in events if isinstance(event, LlmResponse)}


def scales(events: Sequence[Event]) -> dict[str, float]:
    """By origin, the prompt tokens that replies reported over what was estimated for them; an
    origin whose replies reported nothing is missing.
    """
    replies = answered(events)
    reported: dict[str, int] = {}
    estimated: dict[str, int] = {}
    for event in events:
        if isinstance(event, LlmRequest) and event.seq in replies:
            tokens, origin = replies[event.seq].usage.prompt_tokens, event.model.origin
            if tokens and event.estimate:
                reported[origin] = reported.get(origin, 0) + tokens
                estimated[origin] = estimated.get(origin, 0) + event.estimate
    return {origin: reported[origin] / estimated[origin] for origin in reported}


def _left(former: Window | None, window: Window) -> tuple[Left, ...]:
    if former is None:
        return ()
    now = {entry.seq: entry for entry in window.entries}
    return tuple(
        Left(seq=was.seq, kind=was.kind, tokens=was.tokens - _tokens(now.get(was.seq)))
        for was in former.entries
        if was.state != "elided" and _is_out(now.get(was.seq))
    )


def _is_out(entry: Entry | None) -> bool:
    return entry is None or entry.state == "elided"


def _tokens(entry: Entry | None) -> int:
    return entry.tokens if entry else 0
