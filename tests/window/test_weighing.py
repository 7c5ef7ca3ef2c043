"""Which folds are due, and what they save (ENG-21)."""

import math

import pytest

from nodwyn_tui.window.stale import Stale
from nodwyn_tui.window.weighing import Moment, due, gain, worth
from tests.builders import LogBuilder
from tests.exchanges import begun, call, edit, read, targets

CHANGES = Moment(held=0, protected=0)
"""The prefix changes anyway."""
ALL = 10**6
"""Entries that the cache holds: more than there are."""


def test_what_the_person_brought_back_is_not_folded_again() -> None:
    """TUI-15: nobody's wish is undone by the next trim."""
    log = begun()
    target = read(log, "a.py")
    edit(log, "a.py")
    assert targets(due(Stale(log.events), log.window(), CHANGES)) == [target]
    log.edit(target, "restore")
    assert due(Stale(log.events), log.window(), CHANGES) == ()


def test_read_that_is_cut_in_the_window_stands_for_no_lines_but_its_own() -> None:
    """Its middle is not shown: folding the ranged read would take those lines out."""
    log = LogBuilder(high_water=90_000, low_water=50_000, max_result_tokens=200)
    log.user()
    read(log, "a.py", "[lines 50-60 of 999]\n" + "x\n" * 90)
    whole = read(log, "a.py", "x\n" * 999)
    assert due(Stale(log.events), log.window(), CHANGES) == ()
    read(log, "a.py", "x\n" * 999)
    assert targets(due(Stale(log.events), log.window(), CHANGES)) == [whole]


def test_worked_example_of_the_docs() -> None:
    assert not worth(saved=5_940, behind=20_000, requests=25, ratio=10)
    assert worth(saved=5_940, behind=20_000, requests=31, ratio=10)


@pytest.mark.parametrize(
    ("saved", "behind", "requests", "ratio", "pays"),
    [
        (1, 10_000, 1, 1.0, True),
        (5_000, 10, 10_000, math.inf, False),
        (5_000, 0, 1, math.inf, True),
        (5_000, 100, 0, 10.0, False),
    ],
    ids=["no cache", "a slot whose cache costs nothing", "at the very end", "the last request"],
)
def test_worth_at_its_ends(
    saved: int, behind: int, requests: int, ratio: float, pays: bool
) -> None:
    assert worth(saved, behind, requests, ratio) is pays


def stale_twice() -> tuple[LogBuilder, int, int]:
    """An old stale read far in front, a new one near the end, of the same size."""
    log = begun()
    old = read(log, "a.py", "code " * 300)
    for _ in range(5):
        call(log, "shell", '{"command": "x"}', "out " * 500)
    new = read(log, "b.py", "code " * 300)
    edit(log, "a.py")
    edit(log, "b.py")
    return log, old, new


def test_all_are_due_where_the_prefix_changes_anyway() -> None:
    log, old, new = stale_twice()
    assert targets(due(Stale(log.events), log.window(), CHANGES)) == [old, new]


@pytest.mark.parametrize(("requests", "expected"), [(1, 0), (5, 1), (100, 2)])
def test_elsewhere_only_those_that_pay(requests: int, expected: int) -> None:
    """The newer one loses less: it goes first."""
    log, old, new = stale_twice()
    moment = Moment(held=ALL, requests=requests, ratio=10, protected=0)
    assert targets(due(Stale(log.events), log.window(), moment)) == [old, new][2 - expected :]


def test_folding_the_older_too_costs_only_what_stands_between() -> None:
    """Of all ways to choose, none saves more."""
    log, old, new = stale_twice()
    window = log.window()
    moment = Moment(held=ALL, requests=30, ratio=10, protected=0)
    chosen = targets(due(Stale(log.events), window, moment))

    def net(picked: list[int]) -> float:
        after = [entry.tokens for entry in window.entries]
        for fold in due(Stale(log.events), window, CHANGES):
            index = next(n for n, e in enumerate(window.entries) if e.seq == fold.target)
            if fold.target in picked:
                after[index] = 40
        if not picked:
            return 0.0
        first = next(n for n, e in enumerate(window.entries) if e.seq in picked)
        saved = sum(entry.tokens for entry in window.entries) - sum(after)
        return gain(saved, sum(after[first + 1 :]), moment.requests, moment.ratio)

    assert net(chosen) == max(map(net, ([], [new], [old], [old, new])))


def test_latest_entries_and_what_left_the_window_are_left_alone() -> None:
    log, old, new = stale_twice()
    window = log.window()
    latest = Moment(held=0, protected=8)
    assert targets(due(Stale(log.events), window, latest)) == [old]
    log.fold(old, "in short")
    log.edit(new, "drop")
    assert due(Stale(log.events), log.window(), CHANGES) == ()


def test_what_a_rewind_took_out_makes_nothing_stale() -> None:
    log = begun()
    read(log, "a.py", "code " * 300)
    wrong = log.user("wrong").seq
    edit(log, "a.py")
    log.rewind(wrong)
    assert due(Stale(log.events), log.window(), CHANGES) == ()


def test_fold_that_would_save_nothing_is_not_due() -> None:
    log = begun()
    read(log, "a.py", "x")
    edit(log, "a.py")
    assert due(Stale(log.events), log.window(), CHANGES) == ()


@pytest.mark.parametrize(("held", "free"), [(0, 2), (3, 2), (4, 1), (15, 1), (16, 0), (ALL, 0)])
def test_what_stands_behind_what_the_cache_holds_is_free(held: int, free: int) -> None:
    """Though a cached token cost nothing: what stands behind is read anew whatever is folded."""
    log, old, new = stale_twice()
    window = log.window()
    assert [window.entries.index(e) for e in window.entries if e.seq in (old, new)] == [2, 14]
    moment = Moment(held=held, ratio=math.inf, protected=0)
    assert targets(due(Stale(log.events), window, moment)) == [old, new][2 - free :]
