"""Entries by index and id while pages come in (PERF-3)."""

import pytest

from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets import entry_list
from nodwyn_tui.ui.widgets.entry_list import Edge, EntryList, Splice


def entry(seq: int, part: str = "") -> up.Entry:
    return up.Entry(id=f"{seq:08}{part}", seq=seq, kind="user")


def page(*seqs: int, before: int = 0, after: int = 0, more: bool = True) -> up.PageLoaded:
    return up.PageLoaded(
        entries=tuple(entry(seq) for seq in seqs), before=before, after=after, more=more
    )


def made(*seqs: int) -> EntryList:
    """A list that begins with a gap."""
    entries = EntryList()
    entries.begin_with_gap()
    for seq in seqs:
        entries.append(entry(seq))
    return entries


def fill(entries: EntryList, told: up.PageLoaded) -> Splice:
    assert entries.gap is not None
    return entries.fill(entries.gap, told, told.entries)


def seqs(entries: EntryList) -> list[int]:
    """Lines in order, 0 for the gap; each is found at its place."""
    told = [entries[at] for at in range(1, len(entries))]
    assert [entries.find(made.id) for made in told if made] == [
        at for at, made in enumerate(told, 1) if made
    ]
    return [made.seq if made else 0 for made in told]


def test_pages_come_in_at_both_sides_of_the_gap() -> None:
    entries = made(50, 51)
    assert entries.edge(1, above=False) == Edge(before=50, after=0)
    assert entries.edge(1, above=True) == Edge(before=0, after=0)
    assert fill(entries, page(48, 49, before=50)) == Splice(2, 0, 2)
    assert fill(entries, page(1, 2)) == Splice(1, 0, 2)
    assert seqs(entries) == [1, 2, 0, 48, 49, 50, 51]
    assert entries.edge(3, above=True) == Edge(before=0, after=2)
    assert fill(entries, page(3, 4, after=2)) == Splice(3, 0, 2)
    assert seqs(entries) == [1, 2, 3, 4, 0, 48, 49, 50, 51]
    assert entries.gap == 5


@pytest.mark.parametrize(
    "last", [page(3, 4, before=5), page(3, after=2, more=False), page(3, 5, 6, after=2)]
)
def test_the_two_sides_meet_and_none_is_there_twice(last: up.PageLoaded) -> None:
    """A page that reaches what is here, or says that nothing more is there, closes the gap."""
    entries = made(5, 6)
    fill(entries, page(1, 2))
    if last.before:
        fill(entries, last)
        last = page(1, 2, before=3, more=False)
    fill(entries, last)
    assert entries.gap is None
    assert seqs(entries) == sorted({*seqs(entries)})
    assert {1, 2, 3, 5, 6} <= {*seqs(entries)}


def test_an_empty_page_closes_the_gap_only_if_it_says_so() -> None:
    """A log that could not be read is asked again."""
    entries = made(5)
    fill(entries, page(before=5))
    assert seqs(entries) == [0, 5]
    fill(entries, page(before=5, more=False))
    assert seqs(entries) == [5]


def test_nothing_is_asked_from_an_entry_that_is_on_no_disk() -> None:
    entries = made(0)
    assert entries.edge(1, above=False) == Edge(before=0, after=0)
    assert made().edge(1, above=False) == Edge(before=0, after=0)


def test_the_earlier_of_very_many_are_let_go_and_can_be_asked_for() -> None:
    entries = EntryList()
    for seq in range(1, entry_list.MOST + 1):
        entries.append(entry(seq // 2 + 1, f".{seq}"))
    last = entry_list.MOST // 2 + 1
    change = entries.let_go()
    assert change is not None
    assert entries.gap == 1
    first = entries[2]
    assert first is not None
    assert first.seq == last - entry_list.FEWER // 2 + 1, "the entries of a line stay together"
    assert len(entries) == entry_list.MOST + 1 - change.removed + change.added
    assert entries.edge(1, above=False) == Edge(before=first.seq, after=0)
    assert entries.let_go() is None


def test_what_is_on_no_disk_is_not_let_go() -> None:
    entries = EntryList()
    for number in range(entry_list.MOST + 1):
        entries.append(up.Entry(id=f"{number:08}", seq=0, kind="user"))
    assert entries.let_go() is None


def test_calls_are_not_parted_from_their_results() -> None:
    """A page that ended before a call would show the one above it without its result."""
    entries = EntryList()
    for number in range(1, entry_list.MOST + 1):
        kind: up.EntryKind = "assistant" if number % 7 == 0 else "call"
        entries.append(up.Entry(id=f"{number:08}", seq=number, kind=kind))
    assert entries.let_go() is not None
    first = entries[2]
    assert first is not None
    assert first.kind == "assistant"
