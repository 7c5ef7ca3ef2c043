"""Sticky elision and hysteresis (ENG-14, ENG-15, ENG-16).

What an earlier request elided stays elided, in place. Above the trim line, more is elided, oldest
first, in two passes (results, then replies), down to low water; then nothing until the line is
crossed again. Messages of the person are never elided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import Event, LlmRequest
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.domain.request import AssistantRow, ToolRow
from nodwyn_tui.window.entries import Entry, message_tokens


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The entries as shown, what was elided now, and the estimate of the entries in tokens."""

    entries: tuple[Entry, ...]
    newly: tuple[int, ...]
    tokens: int


def sticky(events: Iterable[Event]) -> frozenset[int]:
    """What earlier requests of these events elided."""
    return frozenset(
        seq for event in events if isinstance(event, LlmRequest) for seq in event.elided
    )


def elided_entry(entry: Entry) -> Entry:
    """The entry's stand-in: `[elided seq=N]`; a reply loses its calls and its thinking with it."""
    stub = Text(f"[elided seq={entry.seq}]")
    match entry.message:
        case AssistantRow():
            message: AssistantRow | ToolRow = AssistantRow((stub,))
        case ToolRow():
            message = replace(entry.message, parts=(stub,))
        case _:
            return entry
    return replace(entry, message=message, tokens=message_tokens(message), state="elided")


def apply(entries: Sequence[Entry], elided: frozenset[int]) -> list[Entry]:
    """The entries with `elided` applied: results of an elided reply leave the request."""
    gone = {entry.seq for entry in entries if entry.kind == "assistant" and entry.seq in elided}
    return [
        elided_entry(entry) if entry.seq in elided else entry
        for entry in entries
        if not (entry.kind == "result" and entry.batch in gone)
    ]


def trim(
    entries: Sequence[Entry], fixed: int, limits: WindowLimits, line: int, elided: frozenset[int]
) -> Trimmed:
    """Applies the sticky set, and trims if the window is above `line` (tokens, the fixed prefix
    included), down to low water or until nothing is left that may go.
    """
    shown = apply(entries, elided)
    total = fixed + sum(entry.tokens for entry in shown)
    if total <= line:
        return Trimmed(tuple(shown), (), total - fixed)
    target = min(limits.low_water, line)
    kept = _trim_down(shown, total - target, _protected(shown, limits.protected))
    states = {entry.seq: entry.state for entry in kept}
    newly = sorted(
        entry.seq
        for entry in shown
        if entry.seq not in elided and states.get(entry.seq, "elided") == "elided"
    )
    return Trimmed(tuple(kept), tuple(newly), sum(entry.tokens for entry in kept))


def _trim_down(shown: Sequence[Entry], excess: int, safe: frozenset[int]) -> list[Entry]:
    """Elides results, then replies, oldest first, until `excess` tokens are gone."""
    current: list[Entry | None] = list(shown)
    for kind in ("result", "assistant"):
        for index, entry in enumerate(shown):
            if excess <= 0:
                break
            if entry.kind != kind or entry.state == "elided" or not entry.whole:
                continue
            if entry.seq in safe:
                continue
            with_it = _results_of(current, index, entry) if kind == "assistant" else []
            stub = elided_entry(entry)
            saved = entry.tokens - stub.tokens + sum(other.tokens for _, other in with_it)
            if saved <= 0:
                continue
            current[index] = stub
            for at, _ in with_it:
                current[at] = None
            excess -= saved
    return [entry for entry in current if entry is not None]


def _results_of(
    current: Sequence[Entry | None], index: int, reply: Entry
) -> list[tuple[int, Entry]]:
    """The results of the reply at `index`, and where they stand: right behind it."""
    found = []
    for at in range(index + 1, len(current)):
        entry = current[at]
        if entry is None or entry.batch != reply.seq:
            break
        found.append((at, entry))
    return found


def _protected(shown: Sequence[Entry], count: int) -> frozenset[int]:
    """The seqs of the latest `count` entries, and of the replies whose results are among them."""
    latest = shown[-count:] if count else []
    return frozenset(entry.seq for entry in latest) | frozenset(
        entry.batch for entry in latest if entry.batch is not None
    )
