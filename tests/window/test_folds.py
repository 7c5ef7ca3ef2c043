"""Folds as windows show them, and which ones are due (ENG-21)."""

import json
import math

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window.folds import (
    Fold,
    Moment,
    by_hand,
    due,
    gain,
    stale_reads,
    superseded_failures,
    worth,
)
from tests.builders import LogBuilder, texts

CHANGES = Moment(prefix_changes=True, protected=0)


def call(log: LogBuilder, name: str, arguments: str, text: str = "ok", **fields: bool) -> int:
    """An exchange with one call; its result's seq."""
    number = f"c{len(log.events)}"
    log.reply(Call(number, name, arguments))
    return log.result(number, text, name=name, **fields).seq


def read(log: LogBuilder, path: str, text: str = "code " * 80, **lines: int) -> int:
    return call(log, "fs-read", json.dumps({"path": path, **lines}), text)


def edit(log: LogBuilder, path: str, **fields: bool) -> int:
    return call(log, "fs-edit", json.dumps({"path": path, "old": "a", "new": "b"}), **fields)


def begun() -> LogBuilder:
    log = LogBuilder(high_water=90_000, low_water=50_000, task_header="")
    log.user("go")
    return log


def targets(folds: list[Fold] | tuple[Fold, ...]) -> list[int]:
    return [fold.target for fold in folds]


def test_fold_stands_in_place_of_its_result_from_then_on() -> None:
    log = begun()
    target = call(log, "shell", "{}", "long output")
    log.reply("ok")
    _, before = log.request()
    log.fold(target, "in short")
    assert texts(before)[2] == "tool: long output"
    assert texts(log.window())[1:] == [
        f"assistant: shell(c{target - 3})",
        "tool: in short",
        "assistant: ok",
    ]
    assert log.window().entries[2].state == "folded"


def test_later_fold_of_the_same_result_wins() -> None:
    log = begun()
    target = call(log, "shell", "{}", "long output")
    log.fold(target, "first")
    log.fold(target, "second")
    assert texts(log.window())[-1] == "tool: second"


def test_fold_stands_for_a_results_images_too() -> None:
    log = begun()
    log.reply(Call("a", "fs-read", "{}"))
    shot = ev.ImageRef(sha256="ab", mime="image/png", width=5, height=5, tokens=900)
    target = log.result("a", "x.png", name="fs-read", images=(shot,)).seq
    log.fold(target, "in short")
    assert texts(log.window())[-1] == "tool: in short"
    assert log.window().entries[-1].tokens < 100


def test_elision_goes_over_a_fold() -> None:
    """ENG-15: what left the window is not brought back by a fold."""
    log = LogBuilder(protected=0, high_water=260, low_water=260, task_header="")
    log.user("go")
    target = call(log, "shell", "{}", "long output " * 30)
    log.request()
    log.reply("ok")
    log.fold(target, "in short")
    assert texts(log.window())[2] == f"tool: [elided seq={target}]"


def test_fold_by_hand_says_what_it_was_and_how_to_see_it() -> None:
    log = begun()
    target = call(log, "shell", '{"command": "make   test"}', "one\ntwo\nthree")
    result = log.events[target - 1]
    assert isinstance(result, ev.ToolResult)
    assert by_hand(Call("x", "shell", '{"command": "make   test"}'), result) == Fold(
        target,
        '[folded by the person: shell {"command": "make test"} gave 3 lines;'
        f' session_history {{"action": "read_item", "item": "i:{target}"}} shows them]',
        "by hand",
    )


def test_what_the_person_brought_back_is_not_folded_again() -> None:
    """TUI-15: nobody's wish is undone by the next trim."""
    log = begun()
    target = read(log, "a.py")
    edit(log, "a.py")
    assert targets(due(log.events, log.window(), CHANGES)) == [target]
    log.edit(target, "restore")
    assert due(log.events, log.window(), CHANGES) == ()


def test_read_of_a_file_that_was_edited_is_stale() -> None:
    log = begun()
    whole, ranged = read(log, "src/a.py"), read(log, "src/b.py", start=3)
    at = edit(log, "./src//a.py")
    assert stale_reads(log.events) == [
        Fold(
            whole,
            f"[an earlier read: the file was changed at seq {at};"
            ' fs-read {"path": "src/a.py"} shows it]',
            "stale read",
        )
    ]
    call(log, "fs-patch", json.dumps({"edits": [{"path": "src/b.py", "old": "a", "new": "b"}]}))
    assert targets(stale_reads(log.events)) == [whole, ranged]


def test_failed_edit_makes_nothing_stale() -> None:
    log = begun()
    read(log, "a.py")
    edit(log, "a.py", is_error=True)
    assert stale_reads(log.events) == []


def test_read_after_the_edit_is_not_stale() -> None:
    log = begun()
    before = read(log, "a.py")
    edit(log, "a.py")
    read(log, "a.py")
    assert targets(stale_reads(log.events)) == [before]


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
    assert stale_reads(log.events) == []
    read(log, "a.py", second + "code")
    assert targets(stale_reads(log.events)) == ([earlier] if stale else [])


def test_read_that_is_cut_in_the_window_stands_for_no_lines_but_its_own() -> None:
    """Its middle is not shown: folding the ranged read would take those lines out."""
    log = LogBuilder(high_water=90_000, low_water=50_000, max_result_tokens=200)
    log.user()
    read(log, "a.py", "[lines 50-60 of 999]\n" + "x\n" * 90)
    whole = read(log, "a.py", "x\n" * 999)
    assert due(log.events, log.window(), CHANGES) == ()
    read(log, "a.py", "x\n" * 999)
    assert targets(due(log.events, log.window(), CHANGES)) == [whole]


def test_fold_of_a_ranged_read_says_how_to_read_those_lines() -> None:
    log = begun()
    read(log, 'a "b".py', "[lines 5-9 of 90]\ncode")
    edit(log, 'a "b".py')
    [fold] = stale_reads(log.events)
    assert 'fs-read {"path": "a \\"b\\".py", "start": 5, "end": 9} shows it]' in fold.text
    assert "\n" not in fold.text


def test_failure_is_superseded_by_a_later_identical_call() -> None:
    """However that one ended; another order of the arguments is the same call."""
    log = begun()
    first = call(log, "shell", '{"command": "make",\n "timeout_s": 5}', "broken", is_error=True)
    call(log, "shell", '{"command": "make check"}', "broken", is_error=True)
    second = call(log, "shell", '{"timeout_s": 5, "command": "make"}', "broken", is_error=True)
    assert superseded_failures(log.events) == [
        Fold(
            first,
            '[a failed attempt: shell {"command": "make", "timeout_s": 5} was made again at seq'
            f' {second}; session_history {{"action": "read_item", "item": "i:{first}"}} shows how'
            " it failed]",
            "superseded failure",
        )
    ]
    call(log, "shell", '{"timeout_s": 5, "command": "make"}')
    assert targets(superseded_failures(log.events)) == [first, second]


def test_fold_of_a_failure_repeats_no_more_of_the_call_than_tells_it() -> None:
    log = begun()
    for _ in range(2):
        call(log, "shell", json.dumps({"command": "echo " + "a" * 500}), is_error=True)
    [fold] = superseded_failures(log.events)
    assert len(fold.text) < 300


def test_what_worked_is_superseded_by_nothing() -> None:
    log = begun()
    call(log, "shell", "{}")
    call(log, "shell", "{}", is_error=True)
    assert superseded_failures(log.events) == []


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
    assert targets(due(log.events, log.window(), CHANGES)) == [old, new]


@pytest.mark.parametrize(("requests", "expected"), [(1, 0), (5, 1), (100, 2)])
def test_elsewhere_only_those_that_pay(requests: int, expected: int) -> None:
    """The newer one loses less: it goes first."""
    log, old, new = stale_twice()
    moment = Moment(prefix_changes=False, requests=requests, ratio=10, protected=0)
    assert targets(due(log.events, log.window(), moment)) == [old, new][2 - expected :]


def test_folding_the_older_too_costs_only_what_stands_between() -> None:
    """Of all ways to choose, none saves more."""
    log, old, new = stale_twice()
    window = log.window()
    moment = Moment(prefix_changes=False, requests=30, ratio=10, protected=0)
    chosen = targets(due(log.events, window, moment))

    def net(picked: list[int]) -> float:
        after = [entry.tokens for entry in window.entries]
        for fold in due(log.events, window, CHANGES):
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
    latest = Moment(prefix_changes=True, protected=8)
    assert targets(due(log.events, window, latest)) == [old]
    log.fold(old, "in short")
    log.edit(new, "drop")
    assert due(log.events, log.window(), CHANGES) == ()


def test_what_a_rewind_took_out_makes_nothing_stale() -> None:
    log = begun()
    read(log, "a.py", "code " * 300)
    wrong = log.user("wrong").seq
    edit(log, "a.py")
    log.rewind(wrong)
    assert due(log.events, log.window(), CHANGES) == ()


def test_fold_that_would_save_nothing_is_not_due() -> None:
    log = begun()
    read(log, "a.py", "x")
    edit(log, "a.py")
    assert due(log.events, log.window(), CHANGES) == ()
