"""Revocable summaries: a span of the conversation replaced by an assistant message (ENG-22)."""

from collections.abc import Sequence
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

    events: list[Event]
    summaries: dict[int, SummaryAdd]


def source_digest(events: Sequence[Event], first: int, last: int) -> str:
    """The SHA-256 of the recorded, redacted original of a span."""
    lines = [
        event_line(event)
        for event in events
        if first <= event.seq <= last and isinstance(event, SOURCE)
    ]
    return sha256(canonical(lines))


def apply(events: Sequence[Event]) -> Replaced:
    """The events with live summaries applied.

    A newer summary wins over an older one that overlaps it, also once it is revoked or stale: then
    the source shows, never an older summary's text.
    """
    revoked = {event.target for event in events if isinstance(event, SummaryRevoke)}
    border = _border(events)
    claimed: list[SummaryAdd] = []
    live: list[SummaryAdd] = []
    for event in reversed(events):
        if not isinstance(event, SummaryAdd) or any(_overlap(event, other) for other in claimed):
            continue
        claimed.append(event)
        if event.seq in revoked or event.last >= border:
            continue
        if source_digest(events, event.first, event.last) == event.source_digest:
            live.append(event)
    return _replace(events, live)


def _replace(events: Sequence[Event], live: Sequence[SummaryAdd]) -> Replaced:
    kept: list[Event] = []
    places: dict[int, SummaryAdd] = {}
    placed: set[int] = set()
    for event in events:
        summary = next((s for s in live if s.first <= event.seq <= s.last), None)
        if summary is None or not isinstance(event, SOURCE):
            kept.append(event)
        elif summary.seq not in placed:
            placed.add(summary.seq)
            places[event.seq] = summary
            kept.append(event)
    return Replaced(kept, places)


def _border(events: Sequence[Event]) -> int:
    """The seq at which the latest user turns begin."""
    turns = [e.seq for e in events if isinstance(e, UserMessage) and not e.rejected]
    return turns[-KEPT_TURNS] if len(turns) >= KEPT_TURNS else 0


def _overlap(one: SummaryAdd, other: SummaryAdd) -> bool:
    return one.first <= other.last and other.first <= one.last
