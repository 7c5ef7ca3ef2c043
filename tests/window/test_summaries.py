"""Summaries that the person adds to a closed session and takes back (ENG-22)."""

import dataclasses

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window.build import Shape
from tests.builders import LogBuilder, texts

SHORT = "assistant: Summary of earlier conversation:\n\n"


def talk(turns: int = 4) -> LogBuilder:
    """Turns `ask N` and `say N`, each message an event: seqs 2 and 3, 4 and 5, …"""
    log = LogBuilder(task_header="")
    for turn in range(turns):
        log.user(f"ask {turn}")
        log.reply(f"say {turn}")
    return log


def test_summary_stands_as_an_assistant_message_in_place_of_its_span() -> None:
    log = talk()
    log.summary(2, 5)
    assert texts(log.window()) == [
        SHORT + "in short", "user: ask 2", "assistant: say 2", "user: ask 3", "assistant: say 3",
    ]  # fmt: skip


def test_latest_two_user_turns_are_never_replaced() -> None:
    """A steer message begins no turn."""
    log = talk()
    source = texts(log.window())
    log.summary(2, 6)
    assert texts(log.window()) == source
    log = talk()
    log.user("hurry", via="steer")
    log.summary(2, 7)
    assert texts(log.window())[-1] == "user: hurry"
    assert not any(text.startswith(SHORT) for text in texts(log.window()))


def test_summary_that_came_too_soon_never_begins_to_hold_by_itself() -> None:
    """The prefix changes only at a declared event, and another message of the person is none."""
    log = talk(2)
    log.summary(2, 3)
    _, before = log.request()
    log.reply("ok")
    log.user("ask 2")
    log.reply("say 2")
    log.user("ask 3")
    kept = before.request.messages
    assert log.window().request.messages[: len(kept)] == kept


def test_newer_summary_wins_over_one_that_it_overlaps() -> None:
    log = talk(5)
    log.summary(2, 5, "older")
    log.summary(4, 7, "newer")
    assert texts(log.window())[:4] == [
        "user: ask 0", "assistant: say 0", SHORT + "newer", "user: ask 3",
    ]  # fmt: skip


def test_revoked_summary_exposes_the_source_and_no_older_text() -> None:
    log = talk(5)
    source = texts(log.window())
    log.summary(2, 5, "older")
    newer = log.summary(2, 7, "newer")
    log.add(ev.SummaryRevoke(target=newer.seq))
    assert texts(log.window()) == source


def test_of_three_that_overlap_the_newest_wins_and_the_oldest_stays_superseded() -> None:
    """The middle one superseded the oldest when it came; that the newest supersedes it in turn, or
    is taken back, brings no older text to light.
    """
    log = talk(8)
    source = texts(log.window())
    log.summary(2, 5, "oldest")
    middle = log.summary(4, 9, "middle")
    newest = log.summary(8, 11, "newest")
    assert texts(log.window())[:8] == [*source[:6], SHORT + "newest", source[10]]
    log.add(ev.SummaryRevoke(target=newest.seq))
    assert texts(log.window()) == source
    log.add(ev.SummaryRevoke(target=middle.seq))
    assert texts(log.window()) == source
    log.summary(2, 3, "again")
    assert texts(log.window())[:2] == [SHORT + "again", source[2]]


def test_summaries_that_do_not_overlap_all_stand() -> None:
    log = talk(8)
    log.summary(6, 9, "later turns")
    log.summary(2, 5, "first turns")
    assert texts(log.window())[:3] == [SHORT + "first turns", SHORT + "later turns", "user: ask 4"]


@pytest.mark.parametrize(("first", "last"), [(2, 2), (3, 6), (2, 11)])
def test_bounds_are_both_part_of_the_span(first: int, last: int) -> None:
    log = talk(8)
    source = texts(log.window())
    log.summary(first, last)
    shown = texts(log.window())
    assert shown == [*source[: first - 2], SHORT + "in short", *source[last - 1 :]]


@pytest.mark.parametrize(("first", "last"), [(9, 4), (90, 99), (1, 1)])
def test_bounds_that_hold_nothing_replace_nothing(first: int, last: int) -> None:
    """As a log of another build may have them."""
    log = talk(8)
    source = texts(log.window())
    log.summary(first, last)
    assert texts(log.window()) == source


def test_stale_summary_exposes_the_source() -> None:
    log = talk()
    log.summary(2, 5)
    log.events[1] = dataclasses.replace(log.events[1], text="something else")
    assert texts(log.window())[0] == "user: something else"


def test_summary_of_what_was_taken_out_is_stale() -> None:
    """It would speak of what the person took back."""
    log = talk(6)
    log.summary(2, 5)
    log.rewind(4)
    for turn in range(3):
        log.user(f"again {turn}")
    assert texts(log.window())[:3] == ["user: ask 0", "assistant: say 0", "user: again 0"]


def test_summary_never_parts_a_call_from_its_result() -> None:
    """ENG-16: a span that would, exposes the source."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("a", "shell", "{}"))
    log.result("a", "out")
    for turn in range(2):
        log.user(f"ask {turn}")
    source = texts(log.window())
    log.summary(2, 4)
    assert texts(log.window()) == source


def test_summary_holds_in_a_lasting_context_whatever_wrote_it() -> None:
    """It is appended to a closed session, by a command that is in no context."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.compact("so far")
    for turn in range(3):
        log.user(f"ask {turn}")
    here, log.ctx = log.ctx, 0
    log.summary(4, 5)
    log.ctx = here
    assert texts(log.window()) == [SHORT + "in short", "user: ask 1", "user: ask 2"]


def test_adding_and_revoking_start_the_elided_set_anew() -> None:
    """ENG-15."""
    log = LogBuilder(task_header="", protected=1)
    log.user("go")
    for step in range(4):
        log.exchange(f"c{step}", "x" * 600)
    for turn in range(3):
        log.user(f"ask {turn}")
    _, trimmed = log.request(Shape(high_water=log.window().estimate - 1))
    assert trimmed.newly
    added = log.summary(2, 3)
    assert log.window(Shape(high_water=9_000)).elided == frozenset()
    log.request(Shape(high_water=log.window(Shape(high_water=9_000)).estimate - 1))
    assert log.window().elided
    log.add(ev.SummaryRevoke(target=added.seq))
    assert log.window(Shape(high_water=9_000)).elided == frozenset()


def test_summary_is_assistant_text_to_a_trim() -> None:
    """ENG-14: results first, then assistant text, oldest first."""
    log = talk()
    added = log.summary(2, 5, "in short " * 60)
    assert log.window(Shape(high_water=log.window().estimate - 50)).newly == (added.seq,)


def test_earlier_requests_still_rebuild() -> None:
    log = talk()
    _, before = log.request()
    at = len(log.events) - 1
    log.reply("ok")
    log.summary(2, 3)
    log.events, later = log.events[:at], log.events
    assert log.window() == before
    assert len(later) > at
