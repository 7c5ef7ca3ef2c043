"""Sticky elision and hysteresis (ENG-14, ENG-15, ENG-16).

What an earlier request elided stays elided, in place. Above the trim line, more is elided, oldest
first, in passes (results, then attachments, then replies), down to low water; then nothing until
the line is crossed again. Messages of the person are never trimmed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    SummaryAdd,
    SummaryRevoke,
    WindowEdit,
)
from nodwyn_tui.domain.parts import Image, Text
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.domain.request import AssistantRow, Message, ToolRow, UserRow
from nodwyn_tui.window.entries import Entry, EntryKind, message_tokens
from nodwyn_tui.window.policy import Policy

PASSES: tuple[EntryKind, ...] = ("result", "attachment", "assistant")


@dataclass(frozen=True, slots=True)
class Marks:
    """What earlier requests elided, what the person dropped, and what they brought back."""

    elided: frozenset[int]
    dropped: frozenset[int]
    restored: frozenset[int]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The entries as shown, everything elided, and what was elided now."""

    entries: tuple[Entry, ...]
    elided: frozenset[int]
    newly: tuple[int, ...]


def marks(events: Iterable[Event]) -> Marks:
    """The marks after `events`. A summary that is added or revoked starts the elided set anew."""
    elided: set[int] = set()
    dropped: set[int] = set()
    restored: set[int] = set()
    for event in events:
        match event:
            case LlmRequest():
                elided.update(event.elided)
                restored.difference_update(event.elided)
            case SummaryAdd() | SummaryRevoke():
                elided.clear()
                restored.clear()
            case WindowEdit(action="drop"):
                dropped.add(event.target)
                restored.discard(event.target)
            case WindowEdit(action="restore"):
                dropped.discard(event.target)
                elided.discard(event.target)
                restored.add(event.target)
            case _:
                pass
    return Marks(frozenset(elided), frozenset(dropped), frozenset(restored))


def stub(entry: Entry, word: str = "elided") -> Entry:
    """The entry's stand-in: `[elided seq=N]`. A reply loses its calls and its thinking with it, an
    attachment its image only.
    """
    mark = Text(f"[{word} seq={entry.seq}]")
    match entry.message:
        case AssistantRow():
            message: Message = AssistantRow((mark,))
        case ToolRow():
            message = replace(entry.message, parts=(mark,))
        case UserRow():
            kept = tuple(part for part in entry.message.parts if not isinstance(part, Image))
            is_image = entry.kind == "attachment" and word == "elided"
            message = UserRow((*kept, mark) if is_image else (mark,))
    return replace(entry, message=message, tokens=message_tokens(message), state="elided")


def apply(entries: Sequence[Entry], found: Marks, policy: Policy) -> list[Entry]:
    """The entries with what is elided and dropped. From recipe 16 the results of an elided reply
    leave the request with it.
    """
    out = found.elided | found.dropped
    gone = {entry.seq for entry in entries if entry.kind == "assistant" and entry.seq in out}
    # A reply that was brought back brings its results along: they had left with it.
    back = {entry.seq for entry in entries if entry.batch in found.restored}
    shown = []
    for entry in entries:
        if entry.kind == "result" and entry.batch in gone and policy.pairs:
            continue
        if entry.seq in found.dropped:
            shown.append(stub(entry, "dropped"))
        elif entry.seq in found.elided and entry.seq not in back:
            shown.append(stub(entry))
        else:
            shown.append(entry)
    return shown


def trim(
    entries: Sequence[Entry],
    fixed: int,
    limits: WindowLimits,
    line: int,
    found: Marks,
    policy: Policy,
) -> Trimmed:
    """Applies the marks, and trims if the window is above `line` (tokens, the fixed prefix
    included), down to low water or until nothing is left that may go.
    """
    shown = apply(entries, found, policy)
    total = fixed + sum(entry.tokens for entry in shown)
    if total <= line:
        return Trimmed(tuple(shown), found.elided, ())
    target = min(limits.low_water, line)
    kept = _trim_down(shown, total - target, _protected(shown, limits.protected, policy), policy)
    states = {entry.seq: entry.state for entry in kept}
    newly = sorted(
        before.seq
        for before in shown
        if before.seq not in found.elided | found.dropped
        and states.get(before.seq, "elided") == "elided"
    )
    return Trimmed(tuple(kept), found.elided | frozenset(newly), tuple(newly))


def _trim_down(
    shown: Sequence[Entry], excess: int, safe: frozenset[int], policy: Policy
) -> list[Entry]:
    """Elides pass by pass, oldest first, until `excess` tokens are gone."""
    current: list[Entry | None] = list(shown)
    for kind in PASSES:
        for index, entry in enumerate(shown):
            if excess <= 0:
                break
            if entry.kind != kind or entry.seq in safe or not _may_go(entry):
                continue
            with_it = _results_of(current, index, entry) if _takes_results(kind, policy) else []
            stand_in = stub(entry)
            saved = entry.tokens - stand_in.tokens + sum(other.tokens for _, other in with_it)
            if saved <= 0:
                continue
            current[index] = stand_in
            for at, _ in with_it:
                current[at] = None
            excess -= saved
    return [entry for entry in current if entry is not None]


def _takes_results(kind: EntryKind, policy: Policy) -> bool:
    return kind == "assistant" and policy.pairs


def _may_go(entry: Entry) -> bool:
    return entry.state != "elided" and entry.whole


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
    """The seqs of the latest `count` entries, and of the replies whose results are among them."""
    latest = shown[-count:] if count else []
    batches = (entry.batch for entry in latest if entry.batch is not None)
    return frozenset(entry.seq for entry in latest) | frozenset(batches if policy.pairs else ())
