"""Sticky elision and hysteresis (ENG-14, ENG-15, ENG-16).

What an earlier request elided stays elided, in place. Above the trim line, more is elided, oldest
first, in passes (results, then attachments, then assistant text), down to low water; then nothing
until the line is crossed again. Messages of the person are never trimmed, nor is fresh context that
no later row of its kind made out of date.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    SummaryAdd,
    SummaryRevoke,
    WindowEdit,
)
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.domain.request import AssistantRow, Message, ToolRow, UserRow
from nodwyn_tui.window.entries import Entry, EntryKind, remade
from nodwyn_tui.window.policy import Policy

PASSES: tuple[tuple[EntryKind, ...], ...] = (
    ("result", "fresh"),
    ("attachment",),
    ("assistant", "summary"),
)


@dataclass(frozen=True, slots=True)
class Marks:
    """What earlier requests elided and the person did not bring back, and what they dropped."""

    elided: frozenset[int]
    dropped: frozenset[int]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The entries as shown, everything elided, what the person dropped (with a reply, its results),
    and what was elided now.
    """

    entries: tuple[Entry, ...]
    elided: frozenset[int]
    dropped: frozenset[int]
    newly: tuple[int, ...]


def marks(events: Iterable[Event], entries: Iterable[Entry], policy: Policy) -> Marks:
    """The marks after `events`, of which `entries` were made. A summary that is added or revoked
    starts the elided set anew.
    """
    elided: set[int] = set()
    dropped: set[int] = set()
    bound = _bound(entries) if policy.pairs else {}
    for event in events:
        match event:
            case LlmRequest():
                elided.update(event.elided)
            case SummaryAdd() | SummaryRevoke() if policy.summaries:
                elided.clear()
            case WindowEdit(action="drop"):
                dropped.add(event.target)
            case WindowEdit(action="restore"):
                dropped.discard(event.target)
                elided.difference_update((event.target, *bound.get(event.target, ())))
            case _:
                pass
    return Marks(frozenset(elided), frozenset(dropped))


def _bound(entries: Iterable[Entry]) -> Mapping[int, list[int]]:
    """What comes back with what: a reply with its results, a result with its reply."""
    bound: dict[int, list[int]] = {}
    for entry in entries:
        if entry.batch is not None:
            bound.setdefault(entry.batch, []).append(entry.seq)
            bound[entry.seq] = [entry.batch]
    return bound


def stub(entry: Entry, word: str = "elided") -> Entry:
    """The entry's stand-in: `[elided seq=N]`. A reply loses its calls and its thinking with it; of
    an image its name and size stay.
    """
    mark = Text(f"[{word} seq={entry.seq}]" + (f" {entry.label}" if entry.label else ""))
    match entry.message:
        case AssistantRow():
            message: Message = AssistantRow((mark,))
        case ToolRow():
            message = replace(entry.message, parts=(mark,))
        case UserRow():
            message = UserRow((mark,))
    return remade(entry, message, "elided")


def trim(
    entries: Sequence[Entry],
    fixed: int,
    limits: WindowLimits,
    line: int,
    found: Marks,
    policy: Policy,
) -> Trimmed:
    """Applies the marks, and trims if the window is above `line` (tokens, with the `fixed` ones
    that no trim can take), down to low water or until nothing is left that may go.
    """
    shown = _apply(entries, found, policy)
    excess = fixed + sum(entry.tokens for entry in shown) - line
    if excess > 0:
        excess += line - min(limits.low_water, line)
        shown = _trim_down(shown, excess, _protected(shown, limits.protected, policy), policy)
    newly = _newly(entries, shown, found)
    dropped = frozenset(e.seq for e in entries if {e.seq, e.batch} & found.dropped)
    return Trimmed(tuple(shown), found.elided | frozenset(newly), dropped, newly)


def _newly(entries: Sequence[Entry], shown: Sequence[Entry], found: Marks) -> tuple[int, ...]:
    """What is elided now and was not yet: with an elided reply, its results (ENG-16)."""
    states = {entry.seq: entry.state for entry in shown}
    gone = {
        entry.seq
        for entry in entries
        if states.get(entry.seq, "elided") == "elided"
        and entry.seq > 0
        and not {entry.seq, entry.batch} & found.dropped
    }
    return tuple(sorted(gone - found.elided))


def _apply(entries: Sequence[Entry], found: Marks, policy: Policy) -> list[Entry]:
    """The entries with what is elided and dropped. From recipe 16 the results of an elided reply
    leave the request with it.
    """
    if not found.elided and not found.dropped:
        return list(entries)
    out = found.elided | found.dropped
    gone = {entry.seq for entry in entries if entry.kind == "assistant" and entry.seq in out}
    shown = []
    for entry in entries:
        if policy.pairs and entry.batch in gone:
            continue
        if entry.seq in found.dropped:
            shown.append(stub(entry, "dropped"))
        elif entry.seq in found.elided:
            shown.append(stub(entry))
        else:
            shown.append(entry)
    return shown


def _trim_down(
    shown: Sequence[Entry], excess: int, safe: frozenset[int], policy: Policy
) -> list[Entry]:
    """Elides pass by pass, oldest first, until `excess` tokens are gone."""
    current: list[Entry | None] = list(shown)
    for kinds in PASSES:
        for index, entry in enumerate(shown):
            if excess <= 0:
                break
            if entry.kind not in kinds or entry.seq in safe or not _may_go(entry, policy):
                continue
            with_it = _results_of(current, index, entry) if policy.pairs else []
            stand_in = stub(entry)
            saved = entry.tokens - stand_in.tokens + sum(other.tokens for _, other in with_it)
            if saved <= 0:
                continue
            current[index] = stand_in
            for at, _ in with_it:
                current[at] = None
            excess -= saved
    return [entry for entry in current if entry is not None]


def _may_go(entry: Entry, policy: Policy) -> bool:
    """From recipe 16 a call that has no result yet keeps its whole batch."""
    return entry.state != "elided" and (entry.whole or not policy.pairs)


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


def _protected(shown: Sequence[Entry], count: int, policy: Policy) -> frozenset[int]:
    """The seqs of the latest `count` entries, fresh rows not counted, and of the replies whose
    results are among them; of each kind of fresh context the latest row's; and of images that
    no reply has seen yet (C44).
    """
    fresh = {entry.label: entry.seq for entry in shown if entry.kind == "fresh"}
    counted = [entry for entry in shown if entry.kind != "fresh"] if fresh else shown
    latest = [*(counted[-count:] if count else ())]
    latest += _unseen(shown) if policy.unseen_images else ()
    batches = (entry.batch for entry in latest if entry.batch is not None)
    replies = frozenset(batches if policy.pairs else ())
    return frozenset(entry.seq for entry in latest) | replies | frozenset(fresh.values())


def _unseen(shown: Sequence[Entry]) -> Iterator[Entry]:
    """The attachments behind the last reply."""
    for entry in reversed(shown):
        if entry.kind == "assistant":
            return
        if entry.kind == "attachment":
            yield entry
