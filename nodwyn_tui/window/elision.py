"""Sticky elision and hysteresis (ENG-14, ENG-15, ENG-16).

What an earlier request elided stays elided, in place. Above the trim line, more is elided, oldest
first, in two passes (results, then replies), down to low water; then nothing until the line is
crossed again. Messages of the person are never elided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.domain.request import AssistantRow, ToolRow
from nodwyn_tui.window.entries import Entry, entry


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The entries as shown, what was elided now, and the estimate of the entries in tokens."""

    entries: tuple[Entry, ...]
    newly: tuple[int, ...]
    tokens: int


def elided_entry(whole: Entry) -> Entry:
    """The entry's stand-in: `[elided seq=N]`; a reply loses its calls and its thinking with it."""
    stub = Text(f"[elided seq={whole.seq}]")
    match whole.message:
        case AssistantRow():
            message: AssistantRow | ToolRow = AssistantRow((stub,))
        case ToolRow():
            message = replace(whole.message, parts=(stub,))
        case _:
            return whole
    return entry(
        whole.seq, whole.kind, message, state="elided", batch=whole.batch, whole=whole.whole
    )


def apply(entries: Sequence[Entry], elided: frozenset[int]) -> list[Entry]:
    """The entries with `elided` applied: results of an elided reply leave the request."""
    gone = {each.seq for each in entries if each.kind == "assistant" and each.seq in elided}
    return [
        elided_entry(each) if each.seq in elided and each.state != "elided" else each
        for each in entries
        if not (each.kind == "result" and each.batch in gone)
    ]


def trim(shown: Sequence[Entry], fixed: int, limits: WindowLimits, line: int) -> Trimmed:
    """Trims if the window is above `line` (tokens, the fixed prefix included), down to low water or
    until nothing is left that may go.
    """
    total = fixed + sum(each.tokens for each in shown)
    if total <= line:
        return Trimmed(tuple(shown), (), total - fixed)
    target = min(limits.low_water, line)
    kept = _trim_down(shown, total - target, _protected(shown, limits.protected))
    states = {each.seq: each.state for each in kept}
    newly = sorted(
        each.seq
        for each in shown
        if each.state != "elided" and states.get(each.seq, "elided") == "elided"
    )
    return Trimmed(tuple(kept), tuple(newly), sum(each.tokens for each in kept))


def _trim_down(shown: Sequence[Entry], excess: int, safe: frozenset[int]) -> list[Entry]:
    """Elides results, then replies, oldest first, until `excess` tokens are gone."""
    current: list[Entry | None] = list(shown)
    for kind in ("result", "assistant"):
        for index, each in enumerate(shown):
            if excess <= 0:
                break
            if each.kind != kind or each.state == "elided" or not each.whole:
                continue
            if each.seq in safe:
                continue
            with_it = _results_of(current, index, each) if kind == "assistant" else []
            stub = elided_entry(each)
            saved = each.tokens - stub.tokens + sum(other.tokens for _, other in with_it)
            if saved <= 0:
                continue
            current[index] = stub
            for at, _ in with_it:
                current[at] = None
            excess -= saved
    return [each for each in current if each is not None]


def _results_of(
    current: Sequence[Entry | None], index: int, reply: Entry
) -> list[tuple[int, Entry]]:
    """The results of the reply at `index`, and where they stand: right behind it."""
    found = []
    for at in range(index + 1, len(current)):
        each = current[at]
        if each is None or each.batch != reply.seq:
            break
        found.append((at, each))
    return found


def _protected(shown: Sequence[Entry], count: int) -> frozenset[int]:
    """The seqs of the latest `count` entries, and of the replies whose results are among them."""
    latest = shown[-count:] if count else []
    return frozenset(each.seq for each in latest) | frozenset(
        each.batch for each in latest if each.batch is not None
    )
