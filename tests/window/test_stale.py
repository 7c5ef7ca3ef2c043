"""Which results went stale, event by event (ENG-21)."""

import json

import pytest

from nodwyn_tui.window import folds
from nodwyn_tui.window.folds import Fold
from nodwyn_tui.window.stale import Stale
from tests.builders import LogBuilder
from tests.exchanges import begun, call, edit, read, targets


def went_stale(log: LogBuilder, why: str) -> list[Fold]:
    """The folds for a reason, in the order of their results."""
    return [fold for _, fold in sorted(Stale(log.events).folds().items()) if fold.why == why]


def test_read_of_a_file_that_was_edited_is_stale() -> None:
    log = begun()
    whole, ranged = read(log, "src/a.py"), read(log, "src/b.py", start=3)
    at = edit(log, "./src//a.py")
    assert went_stale(log, "stale read") == [
        Fold(
            whole,
            f"[an earlier read: the file was changed at seq {at};"
            ' fs-read {"path": "src/a.py"} shows it]',
            "stale read",
        )
    ]
    call(log, "fs-patch", json.dumps({"edits": [{"path": "src/b.py", "old": "a", "new": "b"}]}))
    assert targets(went_stale(log, "stale read")) == [whole, ranged]


def test_failed_edit_makes_nothing_stale() -> None:
    log = begun()
    read(log, "a.py")
    edit(log, "a.py", is_error=True)
    assert went_stale(log, "stale read") == []


def test_read_after_the_edit_is_not_stale() -> None:
    log = begun()
    before = read(log, "a.py")
    edit(log, "a.py")
    read(log, "a.py")
    assert targets(went_stale(log, "stale read")) == [before]


@pytest.mark.parametrize(
    ("first", "second", "stale"),
    [
        ("", "", True),
        ("[lines 5-9 of 90]\n", "", True),
        ("[lines 5-9 of 90]\n", "[lines 1-20 of 90]\n", True),
        ("[lines 5-90 of 90]\n", "[lines 1-90 of 90; line ends are CRLF]\n", True),
        ("", "[lines 1-20 of 90]\n", False),
        ("[lines 5-9 of 90]\n", "[lines 6-20 of 90]\n", False),
    ],
    ids=["whole", "range in whole", "range in range", "to the end", "whole in range", "overlap"],
)
def test_read_is_stale_once_its_lines_were_read_again(first: str, second: str, stale: bool) -> None:
    log = begun()
    earlier = read(log, "a.py", first + "code")
    read(log, "b.py", second + "code")
    assert went_stale(log, "stale read") == []
    read(log, "a.py", second + "code")
    assert targets(went_stale(log, "stale read")) == ([earlier] if stale else [])


def test_fold_of_a_ranged_read_says_how_to_read_those_lines() -> None:
    log = begun()
    read(log, 'a "b".py', "[lines 5-9 of 90]\ncode")
    edit(log, 'a "b".py')
    [fold] = went_stale(log, "stale read")
    assert 'fs-read {"path": "a \\"b\\".py", "start": 5, "end": 9} shows it]' in fold.text
    assert "\n" not in fold.text


def test_failure_is_superseded_by_a_later_identical_call() -> None:
    """However that one ended; another order of the arguments is the same call."""
    log = begun()
    first = call(log, "shell", '{"command": "make",\n "timeout_s": 5}', "broken", is_error=True)
    call(log, "shell", '{"command": "make check"}', "broken", is_error=True)
    second = call(log, "shell", '{"timeout_s": 5, "command": "make"}', "broken", is_error=True)
    assert went_stale(log, "superseded failure") == [
        Fold(
            first,
            '[a failed attempt: shell {"command": "make", "timeout_s": 5} was made again at seq'
            f' {second}; session_history {{"action": "read_item", "item": "i:{first}"}} shows how'
            " it failed]",
            "superseded failure",
        )
    ]
    call(log, "shell", '{"timeout_s": 5, "command": "make"}')
    assert targets(went_stale(log, "superseded failure")) == [first, second]


def test_fold_of_a_failure_repeats_no_more_of_the_call_than_tells_it() -> None:
    log = begun()
    for _ in range(2):
        call(log, "shell", json.dumps({"command": "echo " + "a" * 500}), is_error=True)
    [fold] = went_stale(log, "superseded failure")
    assert len(fold.text) < 300


def test_what_worked_is_superseded_by_nothing() -> None:
    log = begun()
    call(log, "shell", "{}")
    call(log, "shell", "{}", is_error=True)
    assert went_stale(log, "superseded failure") == []


def test_rewind_takes_back_why_and_not_what() -> None:
    """What it took out made nothing stale; what stands may go stale again."""
    log = begun()
    code = read(log, "a.py")
    failed = call(log, "shell", '{"command": "make"}', is_error=True)
    wrong = log.user("wrong").seq
    later = read(log, "b.py")
    edit(log, "a.py")
    edit(log, "b.py")
    call(log, "shell", '{"command": "make"}')
    assert sorted(Stale(log.events).folds()) == [code, failed, later]
    log.rewind(wrong)
    assert Stale(log.events).folds() == {}
    at = edit(log, "a.py")
    call(log, "shell", '{"command": "make"}')
    assert sorted(Stale(log.events).folds()) == [code, failed]
    assert f"changed at seq {at};" in Stale(log.events).folds()[code].text


def test_change_of_the_file_says_more_than_a_later_read() -> None:
    log = begun()
    code = read(log, "a.py")
    read(log, "a.py")
    assert "read again" in Stale(log.events).folds()[code].text
    edit(log, "a.py")
    assert "changed" in Stale(log.events).folds()[code].text


def test_what_left_the_window_is_let_go_of() -> None:
    log = LogBuilder(high_water=700, low_water=500, task_header="")
    log.user()
    for _ in range(30):
        read(log, "a.py")
        call(log, "shell", '{"command": "make"}', is_error=True)
        log.request()
    stale = Stale(log.events)
    assert len(stale.folds()) < 8
    log.clear()
    stale.feed(log.events[-1])
    assert stale.folds() == {}


def test_context_that_was_handed_over_keeps_what_it_came_from() -> None:
    """A compaction may be taken back; the one before it no longer."""
    log = begun()
    first = read(log, "a.py")
    edit(log, "a.py")
    log.compact()
    second = read(log, "b.py")
    edit(log, "b.py")
    assert sorted(Stale(log.events).folds()) == [first, second]
    log.compact()
    assert sorted(Stale(log.events).folds()) == [second]


def test_file_read_over_and_over_costs_each_time_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """ENG-27: a read is held against those only that it may put out of date."""
    said: list[int] = []
    real = folds.stale_read
    monkeypatch.setattr(
        folds, "stale_read", lambda seq, *rest: said.append(seq) or real(seq, *rest)
    )
    log = begun()
    seqs = [read(log, "a.py") for _ in range(300)]
    assert sorted(fold.target for fold in went_stale(log, "stale read")) == seqs[:-1]
    assert said == seqs[:-1]
