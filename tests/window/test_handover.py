"""A compaction's request and batch: what goes along, and how much of it (AGT-16, ENG-23)."""

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import Shape
from nodwyn_tui.window.handover import Handover
from nodwyn_tui.window.own_note import own_note
from tests.builders import LogBuilder, texts

PLAN = "[>] look\n[ ] mend"


def at_work() -> LogBuilder:
    """A run whose second call was answered; the person has added something no reply has seen."""
    log = LogBuilder()
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


def test_the_request_is_the_conversations_own_with_one_message_appended() -> None:
    """AGT-16: so it reads the whole prompt from the cache."""
    log = at_work()
    before = log.window()
    log.add(handover.request(log.recipe, log.carrying.now))
    after = log.window(Shape(high_water=log.recipe.window.ceiling))
    assert after.request.messages[:-1] == before.request.messages
    assert after.request.messages[-1].role == "user"
    assert (after.request.system, after.request.tools) == (
        before.request.system,
        before.request.tools,
    )


def test_the_new_window_holds_the_note_the_request_and_the_plan() -> None:
    """C11: a user row is first; the ask is never lost, nor what no reply has seen of it."""
    log = at_work()
    log.hand_over("half of it is done")
    note, task, plan = texts(log.window())
    assert "handover note that you wrote for yourself:\n\nhalf of it is done" in note
    assert "word for word" in task
    assert '<asked item="i:8">\nmend the tests\n</asked>' in task
    assert "not seen: and the docs" in task
    assert "seen: keep the names" not in task
    assert "an earlier request" not in task
    assert plan == f"user: The plan as it stands:\n\n{PLAN}"


def test_a_run_that_is_done_leaves_nothing_to_ask() -> None:
    log = at_work()
    log.request()
    log.reply("done")
    log.add(ev.RunEnd(why="done"))
    log.hand_over()
    assert [text.split(":", 1)[0] for text in texts(log.window())] == ["user", "user"]
    assert "<asked" not in "".join(texts(log.window()))


@pytest.mark.parametrize("why", ["interrupted", "limit", "error", "blocked"])
def test_a_run_that_did_not_come_to_its_end_is_carried(why: ev.RunEndWhy) -> None:
    log = at_work()
    log.add(ev.RunEnd(why=why))
    log.hand_over()
    assert "mend the tests" in texts(log.window())[1]


def test_the_request_is_carried_from_note_to_note() -> None:
    """Through a second compaction of the same run, and through one after the person said only to
    go on.
    """
    log = at_work()
    log.hand_over("first")
    task = texts(log.window())[1]
    log.exchange("d", "four")
    log.hand_over("second")
    assert texts(log.window())[1] == task
    log.add(ev.RunEnd(why="interrupted"))
    log.user("Continue.", via="continue")
    log.exchange("e", "five")
    log.user("and quickly", via="steer")
    log.hand_over("third")
    note, carried, plan = texts(log.window())
    assert "third" in note
    assert carried.startswith(task)
    assert carried.endswith("and quickly\n</asked>")
    assert PLAN in plan


def test_the_next_request_of_the_person_takes_its_place() -> None:
    log = at_work()
    log.hand_over("first")
    log.user("something else")
    log.hand_over("second")
    assert "mend the tests" not in texts(log.window())[1]
    assert "something else" in texts(log.window())[1]


def test_a_long_request_is_cut_by_name() -> None:
    log = LogBuilder()
    asked = log.user("é" * 5_000)
    log.hand_over()
    task = texts(log.window())[1]
    kept = task.count("é")
    assert 0 < kept < 5_000
    rest = f'"item": "i:{asked.seq}", "offset": {kept}'
    assert f"[{5_000 - kept:,} more characters; session_history" in task
    assert rest in task


def test_many_additions_stay_within_their_room() -> None:
    log = at_work()
    for number in range(200):
        log.user(f"addition {number} " + "x" * 300, via="steer")
    log.hand_over()
    task = texts(log.window())[1]
    assert all(f'"i:{event.seq}"' in task for event in log.carrying._behind[0][1].asked)
    assert task.count("x" * 300) == 3, "what there is no room for is named"


def test_a_long_note_is_cut_so_that_there_is_room_to_work_in() -> None:
    """The new window begins below low water; the reply's own item holds the note whole."""
    log = at_work()
    log.request()
    reply = log.reply("\n".join(f"line {n} of a note that goes on and on" for n in range(400)))
    log.hand_over("\n".join(f"line {n} of a note that goes on and on" for n in range(400)))
    window = log.window()
    assert window.estimate <= log.recipe.window.low_water + handover.LEAST_NOTE
    assert "of this note left out" in texts(window)[0]
    assert f'"item": "i:{reply.seq}"' in texts(window)[0]


def test_the_persons_own_note_stands_as_they_left_it() -> None:
    log = at_work()
    text = "\n".join(f"line {n}" for n in range(900))
    rows = handover.batch(
        Handover(text, by="person"), log.carrying.now, log.recipe, ctx=99, parent=0
    )
    assert isinstance(rows[1], ev.Note)
    assert text in rows[1].text
    assert "as the person edited it" in rows[1].text


def test_a_wish_of_the_person_is_in_the_request() -> None:
    log = at_work()
    asked = handover.request(log.recipe, log.carrying.now, "  mind the migration  ")
    assert asked.text.endswith("The person adds: mind the migration")
    long = handover.request(log.recipe, log.carrying.now, "x" * 50_000)
    assert len(long.text) < 3_000


def test_undoing_brings_the_old_window_back() -> None:
    """ENG-23: byte for byte, with what was to be carried."""
    log = at_work()
    before, carried = log.window(), log.carrying.now
    asked = log.add(handover.request(log.recipe, carried))
    log.request(Shape(high_water=700), "handover")
    log.reply("a note")
    opened = log.hand_over("a note")
    assert log.carrying.undoable == opened
    assert log.carrying.asked_for == asked.seq
    log.widen(opened)
    log.rewind(asked.seq, "undo")
    assert log.window() == before
    assert log.carrying.now == carried
    assert log.carrying.undoable is None


def test_it_can_be_undone_until_somebody_speaks() -> None:
    log = at_work()
    log.hand_over()
    assert log.carrying.undoable
    log.user("go on")
    assert log.carrying.undoable is None
    log.hand_over()
    log.request()
    assert log.carrying.undoable is None


def test_a_question_without_an_answer_is_known() -> None:
    """What a crash leaves: the note that asks, and nothing that came of it."""
    log = at_work()
    asked = log.add(handover.request(log.recipe, log.carrying.now))
    assert log.carrying.now.asking == asked.seq
    log.rewind(asked.seq, "undo")
    assert log.carrying.now.asking == 0


def test_what_happens_in_a_sub_context_is_not_carried() -> None:
    log = at_work()
    carried = log.carrying.now
    log.ctx = 70
    log.add(ev.ContextOpen(id=70, parent=0, kind="task", ctx=70))
    log.user("the sub-agent's task")
    log.add(ev.GatePlan(text="its plan"))
    assert log.carrying.now == carried


def test_the_programs_own_note_says_what_was_said_last() -> None:
    """C05: where no request for a note fits, one is made without."""
    log = at_work()
    log.exchange("d", "x" * 3_000)
    log.request(Shape(high_water=0))
    log.reply("I have mended " + "it " * 900)
    note = own_note(log.window(), 300)
    assert len(note.encode()) <= 900
    assert note.splitlines()[-1].startswith("- you (i:")
    assert note.splitlines()[-1].endswith("…")
    assert "- the person (i:" in note
    assert "elided" not in note
    assert own_note(log.window(), 30).count("\n") == 0, "nothing fits"
