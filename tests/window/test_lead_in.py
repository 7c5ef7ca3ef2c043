"""What a rolled-over window begins with, and the warning before it (ROL-1, ROL-3)."""

import dataclasses
import re
from dataclasses import replace

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import RollOver, Warn
from nodwyn_tui.window.build import Shape, build
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.rolling import Rolling
from tests.builders import LogBuilder, texts

PLAN = "[>] look\n[ ] mend"


def at_work() -> LogBuilder:
    """A run whose calls were answered; the person has added something no reply has seen."""
    log = LogBuilder(task_header="")
    log.user("an earlier request")
    log.exchange("a", "one")
    log.add(ev.RunEnd(why="done"))
    log.user("mend the tests")
    log.exchange("b", "two")
    log.user("seen: keep the names", via="steer")
    log.exchange("c", "three")
    log.add(ev.GatePlan(text=PLAN))
    log.user("not seen: and the docs", via="steer")
    return log


def test_a_run_goes_on_behind_what_was_asked_and_planned() -> None:
    """The ask is never lost; the old window is named, with how it is looked into."""
    log = at_work()
    log.roll_over()
    lead, go_on = texts(log.window())
    assert go_on == "user: Continue."
    assert lead.startswith("user: Note from the program: A new window begins here.")
    assert '"window": "w:0"' in lead
    assert "interrupted by this rollover and goes on" in lead
    assert '<asked item="i:8">\nmend the tests\n</asked>' in lead
    assert "not seen: and the docs" in lead
    assert "seen: keep the names" not in lead
    assert "an earlier request" not in lead
    assert lead.endswith(f"The plan as it stands:\n\n{PLAN}")


def test_the_batch_says_why_and_how_full() -> None:
    log = at_work()
    reset, lead, go_on = log.rollover()
    assert reset == ev.WindowReset(
        kind="rollover",
        rollover_id="r:0",
        reason="mid-run",
        previous_window="w:0",
        flush_opportunity=False,
        context_tokens=2_300,
        max_tokens=3_000,
    )
    assert isinstance(lead, ev.WindowLeadIn)
    assert lead.rollover_id == "r:0"
    assert go_on == lead_in.CONTINUE


def test_what_is_carried_stays_through_rollover_after_rollover() -> None:
    """Also into a compaction's note, and back out of it."""
    log = at_work()
    log.roll_over()
    first = texts(log.window())[0]
    log.exchange("d", "four")
    log.user("and quickly", via="steer")
    log.roll_over()
    second = texts(log.window())[0]
    quoted = first[first.index("What the person asked") : first.index("\n\nThe plan")]
    assert quoted in second
    assert "and quickly\n</asked>" in second
    assert second.endswith(PLAN)
    assert second.count("What the person asked") == 1
    log.exchange("e", "five")
    log.hand_over("note")
    _, task, plan = texts(log.window())
    assert "and quickly" in task
    assert PLAN in plan
    log.exchange("f", "six")
    log.roll_over()
    assert "mend the tests" in texts(log.window())[0]
    assert "and quickly" in texts(log.window())[0]


def test_a_run_that_is_done_leaves_nothing_to_ask() -> None:
    log = at_work()
    log.request()
    log.reply("done")
    log.add(ev.RunEnd(why="done"))
    log.roll_over(ev.UserMessage(text="next"), reason="on-send")
    lead, said = texts(log.window())
    assert said == "user: next"
    assert "<asked" not in lead
    assert PLAN not in lead
    assert "interrupted" not in lead


@pytest.mark.parametrize("via", ["prompt", "continue"])
def test_what_was_not_answered_to_its_end_is_quoted_on_send(via: str) -> None:
    """ROL-1, ROL-13: a restart between the stop and Continue loses no ask."""
    log = at_work()
    log.add(ev.RunEnd(why="interrupted"))
    log.roll_over(ev.UserMessage(text="go on", via=via), reason="on-send")  # type: ignore[arg-type]
    lead, said = texts(log.window())
    assert said == "user: go on"
    assert "mend the tests" in lead
    assert ("what the person says now goes first" in lead) == (via == "prompt")


def test_a_message_that_is_sent_again_is_not_quoted_too() -> None:
    """ROL-7."""
    log = LogBuilder(task_header="")
    log.user("first")
    log.exchange("a", "one")
    log.add(ev.RunEnd(why="done"))
    again = log.user("once more")
    log.request()
    log.roll_over(dataclasses.replace(again, seq=0), reason="context-exceeded")
    lead, said = texts(log.window())
    assert said == "user: once more"
    assert "<asked" not in lead


def test_a_long_request_and_a_long_plan_are_cut_by_name() -> None:
    log = LogBuilder(task_header="")
    asked = log.user("é" * 5_000)
    log.exchange("a", "one")
    plan = log.add(ev.GatePlan(text="[ ] step\n" * 500))
    log.roll_over()
    lead = texts(log.window())[0]
    kept = lead.count("é")
    assert 0 < kept < 5_000
    assert f'"item": "i:{asked.seq}", "offset": {kept}' in lead
    assert "of this plan left out" in lead
    assert f'"item": "i:{plan.seq}"}}' in lead
    assert log.window().estimate < log.recipe.window.high_water


@pytest.mark.parametrize(("ceiling", "most"), [(100_000, 2_000), (4_000, 1_000)])
def test_notes_stand_in_it_where_nothing_else_shows_them(ceiling: int, most: int) -> None:
    """ROL-1, ROL-12: within 2,000 tokens and a quarter of a small window, and the rest is named."""
    log = at_work()
    log.recipe = replace(log.recipe, window=replace(log.recipe.window, ceiling=ceiling))
    room = most - (0 if most == 2_000 else fixed_tokens(log.recipe.system, log.recipe.tools) // 4)
    log.roll_over(notes="n" * 9_000)
    lead = texts(log.window())[0]
    assert "may be among them:\n\nnnn" in lead
    kept = max(map(len, re.findall("n+", lead)))
    assert room - 2 <= kept / 3 <= room
    assert f"[{9_000 - kept:,} more characters; memory" in lead


def test_skills_that_were_put_away_are_named() -> None:
    """ROL-8."""
    over = RollOver(
        reason="on-send", rollover_id="r:0", window="w:0", tokens=9, ceiling=9, flushed=False,
        too_small=False,
    )  # fmt: skip
    log = at_work()
    rows = lead_in.batch(over, log.carrying.now, log.recipe, skills=["pdf", "tests"])
    assert isinstance(rows[1], ev.WindowLeadIn)
    assert "put away with it: pdf, tests. Call `skill` again" in rows[1].text


def test_lead_in_then_fresh_rows_then_input() -> None:
    """ROL-1, ORD-1: whichever way fresh rows stand."""
    for placement in ("each_request", "on_change"):
        log = at_work()
        log.roll_over(ev.UserMessage(text="next"))
        row = ev.FreshContext(
            kind="recall", trust="data", text="fact", digest="d", placement=placement
        )
        seq = log.add(row).seq
        shape = Shape(fresh=(seq,)) if placement == "each_request" else Shape()
        lead, fresh, said = texts(log.window(shape))
        assert lead.startswith("user: Note from the program:")
        assert (fresh, said) == ("user: fact", "user: next")


def test_a_warning_is_a_durable_row_where_it_was_given() -> None:
    """ROL-3: never between a call and its result; before what the person then says."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.exchange("a", "one")
    warned = log.add(lead_in.warning(Warn(2_000, 3_000), notes=True))
    assert warned.figures == {"tokens": 2_000, "ceiling": 3_000, "percent": 66}
    row = (
        "user: Note from the program: context ~66 % used (2,000 of 3,000 tokens); write what is"
        " worth keeping to the notes now, essential state first, at most 8 KiB, then go on without"
        " comment."
    )
    before = texts(log.window())
    assert before[-1] == row
    log.exchange("b", "two")
    assert texts(log.window())[: len(before)] == before
    log.user("more")
    assert texts(log.window())[-1] == "user: more"


def test_a_warning_without_notes_names_the_history() -> None:
    """ROL-3: where memory is off or may not be written."""
    text = lead_in.warning(Warn(2_000, 3_000), notes=False).text
    assert "session_history" in text
    assert "to the notes" not in text


def test_grown_window_begins_with_the_batch_and_previews_it() -> None:
    """ROL-6, ENG-27: the drafts' window is the recorded ones', byte for byte."""
    log = at_work()
    rolling = Rolling()
    for event in log.events:
        rolling.feed(event)
    drafts = log.rollover()
    seen = rolling.window(log.recipe, Shape(), *drafts)
    fed = len(log.events)
    log.roll_over()
    for event in log.events[fed:]:
        rolling.feed(event)
    assert rolling.window(log.recipe).digest == seen.digest == build(log.events, log.recipe).digest
