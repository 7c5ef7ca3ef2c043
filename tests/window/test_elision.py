"""Trimming: sticky, with hysteresis, pairs whole."""

import pytest

from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.domain.request import AssistantRow, ToolRow, UserRow
from nodwyn_tui.window.build import Shape, Window
from tests.builders import LogBuilder


def shown(window: Window) -> list[str]:
    """Each entry as `kind seq state`."""
    return [f"{entry.kind} {entry.seq} {entry.state}" for entry in window.entries]


def grown(count: int, size: int = 600) -> LogBuilder:
    log = LogBuilder()
    log.user()
    for step in range(count):
        log.reply(Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}", "x" * size)
    return log


def assert_paired(window: Window) -> None:
    calls = [part.id for row in window.request.messages if isinstance(row, AssistantRow)
             for part in row.parts if isinstance(part, Call)]  # fmt: skip
    results = [row.call_id for row in window.request.messages if isinstance(row, ToolRow)]
    assert calls == results


def test_above_high_water_oldest_results_go_first_down_to_low_water() -> None:
    """ENG-14."""
    log = grown(9)
    window = log.window()
    assert window.newly
    states = [entry.state for entry in window.entries if entry.kind == "result"]
    assert states == sorted(states, key=["elided", "in"].index)
    assert window.estimate <= log.recipe.window.low_water
    elided = next(entry for entry in window.entries if entry.state == "elided")
    assert elided.message.parts == (Text(f"[elided seq={elided.seq}]"),)
    assert_paired(window)


def test_below_high_water_nothing_changes_and_elision_sticks() -> None:
    """ENG-14, ENG-15: trimmed once, then left alone until the line is crossed again."""
    log = grown(9)
    _, trimmed = log.request()
    log.reply("ok")
    later = log.window()
    assert later.newly == ()
    assert later.elided == frozenset(trimmed.newly)
    assert later.request.messages[: len(trimmed.request.messages)] == trimmed.request.messages


def test_eliding_a_reply_takes_its_results_out() -> None:
    """ENG-16: their seqs join the elided set, their tokens leave the estimate."""
    log = LogBuilder(high_water=1_000, low_water=400)
    log.user()
    for step in range(12):
        log.request()
        log.reply("words " * 60, Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}", "y" * 200)
    window = log.window()
    stubs = [
        entry for entry in window.entries if entry.kind == "assistant" and entry.state == "elided"
    ]
    assert stubs
    assert window.elided - {entry.seq for entry in window.entries}
    assert all(stub.message.parts == (Text(f"[elided seq={stub.seq}]"),) for stub in stubs)
    assert_paired(window)


def test_latest_four_entries_and_their_batch_are_protected() -> None:
    """ENG-14: even if that keeps the window above low water."""
    log = LogBuilder(high_water=300, low_water=150)
    log.user()
    log.reply(*(Call(f"c{n}", "shell", "{}") for n in range(6)))
    for number in range(6):
        log.result(f"c{number}", "z" * 700)
    window = log.window()
    assert shown(window)[1].endswith("in")
    assert [entry.state for entry in window.entries if entry.kind == "result"] == [
        "elided", "elided", "in", "in", "in", "in",
    ]  # fmt: skip
    assert window.estimate > log.recipe.window.low_water


def test_user_messages_are_never_elided() -> None:
    log = LogBuilder(high_water=500, low_water=250)
    for number in range(8):
        log.user("a long request " * 20 + str(number))
        log.reply("b" * 300)
    window = log.window()
    users = [entry for entry in window.entries if entry.kind == "user"]
    assert len(users) == 8
    assert all(entry.state == "in" for entry in users)


def test_incomplete_batch_is_not_newly_elided() -> None:
    log = LogBuilder(high_water=300, low_water=150)
    log.user()
    log.reply(Call("a", "shell", "{}"), Call("b", "shell", "{}"))
    log.result("a", "q" * 900)
    for number in range(5):
        log.user(f"more {number}")
    window = log.window()
    assert window.newly == ()
    assert_paired(window)


def test_trim_line_of_its_own_is_obeyed() -> None:
    """Recipe 10, ENG-14: headroom lets a request past high water, a forced trim goes lower."""
    log = grown(9)
    assert log.window(Shape(high_water=3_000)).newly == ()
    forced = log.window(Shape(high_water=900))
    assert forced.estimate <= 900


@pytest.mark.parametrize("low", range(900, 300, -50))
def test_cut_at_every_place_keeps_calls_and_results_together(low: int) -> None:
    """C01, C02, C04: the cut falls before, between, after the results; the person's words stay."""
    log = LogBuilder(high_water=1_000, low_water=low)
    log.user("look at three files")
    log.request()
    log.reply(*(Call(f"r{name}", "fs-read", "{}") for name in "abc"))
    for name in "abc":
        log.result(f"r{name}", "content " * 120, name="fs-read")
    for turn in range(6):
        log.user(f"also look at docs/{turn}")
        log.request()
        log.reply("a short answer " * 5)
    window = log.window()
    assert_paired(window)
    kept = [row for row in window.request.messages if isinstance(row, UserRow)]
    assert len(kept) == 7


@pytest.mark.parametrize("line", range(250, 2_500, 90))
def test_history_begins_with_the_person_after_any_cut(line: int) -> None:
    """C11."""
    log = grown(14, size=500)
    log.reply("half", finish="interrupted")
    log.user("again")
    window = log.window(Shape(high_water=line))
    assert isinstance(window.request.messages[0], UserRow)
    assert isinstance(window.request.messages[-1], UserRow)
    assert all(row.parts for row in window.request.messages)
    assert_paired(window)
