"""Which folds are due, and what they save (ENG-21). `docs/folds.md` explains the arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.request import ToolRow
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.entries import Entry, message_tokens
from nodwyn_tui.window.folds import Fold
from nodwyn_tui.window.stale import Stale


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When folds are weighed.

    `held` is how many of the window's first entries the cache should hold: what stands behind them
    is read anew whatever is folded. `requests` are still expected, the next one included; `ratio`
    is the price of a prompt token that is read anew over one that is read from the cache; the
    latest `protected` entries are left alone.
    """

    held: int
    requests: int = 1
    ratio: float = 10.0
    protected: int = 4


def due(stale: Stale, window: Window, moment: Moment) -> tuple[Fold, ...]:
    """The folds to record now, of results that `window` shows: the latest ones, as many as save
    most after what they cost. All that stand behind what the cache holds cost nothing.
    """
    found = stale.folds({entry.seq for entry in window.entries if entry.state == "cut"})
    if not found:
        return ()
    last = max(len(window.entries) - moment.protected, 0)
    saving = [
        (index, saved)
        for index, entry in enumerate(window.entries[:last])
        if entry.seq in found and (saved := _saved(entry, found[entry.seq])) > 0
    ]
    first = _first_worth(window, saving, moment)
    return tuple(found[window.entries[index].seq] for index, _ in saving[first:])


def worth(saved: int, behind: int, requests: int, ratio: float) -> bool:
    """Whether a fold saves more than the cache that it loses: `saved` cached tokens in each of
    `requests`, against `behind` tokens that are read anew once.
    """
    return gain(saved, behind, requests, ratio) > 0


def gain(saved: int, behind: int, requests: int, ratio: float) -> float:
    """What a fold saves in the end, in the price of a token that is read from the cache."""
    lost = behind * (ratio - 1) if behind else 0.0
    return saved * requests - lost


def _saved(entry: Entry, fold: Fold) -> int:
    """Tokens that a fold takes off every later request."""
    if not isinstance(entry.message, ToolRow) or entry.state not in ("in", "cut"):
        return 0
    row = replace(entry.message, parts=(Text(fold.text),))
    return entry.tokens - message_tokens(row)


def _first_worth(window: Window, saving: Sequence[tuple[int, int]], moment: Moment) -> int:
    """From which fold on it pays most; the number of folds where none does."""
    ends = [0, *accumulate(entry.tokens for entry in window.entries)]
    held = ends[min(moment.held, len(window.entries))]
    best, first, saved, gone = 0.0, len(saving), 0, 0
    for number in range(len(saving) - 1, -1, -1):
        index, own = saving[number]
        behind = max(held - ends[index + 1] - gone, 0)
        saved += own
        gone += own if index < moment.held else 0
        if (gained := gain(saved, behind, moment.requests, moment.ratio)) > best:
            best, first = gained, number
    return first
