"""Revocable summaries: a span of the conversation replaced by an assistant message (ENG-22)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.canonical import canonical, event_line, sha256
from nodwyn_tui.domain.events import (
    AttachImage,
    Event,
    GatePlan,
    LlmResponse,
    Note,
    SummaryAdd,
    SummaryRevoke,
    ToolResult,
    UserMessage,
)
from nodwyn_tui.window import pairs
from nodwyn_tui.window.contexts import Place

SUMMARY_HEADER = "Summary of earlier conversation:"
SOURCE = (UserMessage, AttachImage, LlmResponse, ToolResult, GatePlan, Note)
"""What a summary is made of, and what its digest covers."""

KEPT_TURNS = 2
"""User turns at the end that no summary replaces."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The events without those a live summary stands for, and the summaries by the seq of the
    event in whose place they stand.
    """

    events: Sequence[Event]
    summaries: dict[int, SummaryAdd]


def source_digest(events: Sequence[Event], first: int, last: int) -> str:
    """The SHA-256 of the recorded, redacted original of a span, in all its contexts."""
    lines = [event_line(event) for event in _span(events, first, last)]
    return sha256(canonical(lines))


def apply(shown: Sequence[Event], events: Sequence[Event], at: Place) -> Replaced:
    """The events `shown` of the conversation at `at` with live summaries applied; `events` is the
    log they were taken from.

    A newer summary wins over an older one that overlaps it, also once it is itself overlapped,
    revoked or stale: then the source shows, never an older summary's text.
    """
    adds = [event for event in shown if isinstance(event, SummaryAdd)]
    if not adds:
        return Replaced(shown, {})
    revoked = {event.target for event in shown if isinstance(event, SummaryRevoke)}
    live = [
        add
        for number, add in enumerate(adds, 1)
        if add.seq not in revoked
        and not any(_overlap(add, newer) for newer in adds[number:])
        and _may_stand(add, shown, events, at)
    ]
    return _replace(shown, live)


def _may_stand(add: SummaryAdd, shown: Sequence[Event], events: Sequence[Event], at: Place) -> bool:
    """Whether a summary may replace its span: that span is old, whole and as it was.

    Old counts from when the summary was added: one that came too soon never begins to hold by
    itself, since only a declared event may change what was sent.
    """
    seqs = {event.seq for event in shown}
    here = (e for e in _span(events, add.first, add.last) if e.ctx == at.ctx or e.seq < at.since)
    return (
        add.last < min(_border(shown), _border([e for e in shown if e.seq < add.seq]))
        and all(event.seq in seqs for event in here)
        and not _parts_a_batch(add, shown)
        and source_digest(events, add.first, add.last) == add.source_digest
    )


def _border(events: Sequence[Event]) -> int:
    """The seq at which the latest user turns begin; a steer message begins none."""
    turns = [e.seq for e in events if isinstance(e, UserMessage) and e.starts_run]
    return turns[-KEPT_TURNS] if len(turns) >= KEPT_TURNS else 0


def _parts_a_batch(add: SummaryAdd, shown: Sequence[Event]) -> bool:
    """Whether the span holds a reply without a result of it, or the other way round."""
    return any(
        _within(add, reply) != _within(add, result.seq)
        for reply, results in pairs.link(shown).items()
        for result in results.values()
    )


def _replace(events: Sequence[Event], live: Collection[SummaryAdd]) -> Replaced:
    kept: list[Event] = []
    places: dict[int, SummaryAdd] = {}
    placed: set[int] = set()
    for event in events:
        summary = next((add for add in live if _within(add, event.seq)), None)
        if summary is None or not isinstance(event, SOURCE):
            kept.append(event)
        elif summary.seq not in placed:
            placed.add(summary.seq)
            places[event.seq] = summary
            kept.append(event)
    return Replaced(kept, places)


def _span(events: Sequence[Event], first: int, last: int) -> list[Event]:
    return [e for e in events if first <= e.seq <= last and isinstance(e, SOURCE)]


def _within(add: SummaryAdd, seq: int) -> bool:
    return add.first <= seq <= add.last


def _overlap(one: SummaryAdd, other: SummaryAdd) -> bool:
    return one.first <= other.last and other.first <= one.last
