"""What the next event gets: seq, time, run, batch."""

from datetime import UTC, datetime, timedelta

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.position import Position

NOON = datetime(2026, 1, 2, 12, 0, 0, 5000, tzinfo=UTC)


def say(text: str = "hi", **fields: object) -> ev.UserMessage:
    return ev.UserMessage(text=text, **fields)  # type: ignore[arg-type]


def runs(*drafts: ev.Event) -> list[int]:
    events, _ = Position().place(drafts, NOON)
    return [event.run for event in events]


def test_events_of_one_append_have_one_time_and_the_first_bears_the_count() -> None:
    """ENG-3: the batch's size stands in its first event; a single event has none."""
    events, behind = Position(next_seq=5).place((say(), ev.Note(text="n"), ev.Note(text="m")), NOON)
    assert [event.seq for event in events] == [5, 6, 7]
    assert [event.batch for event in events] == [3, None, None]
    assert {event.at for event in events} == {"2026-01-02T12:00:00.005Z"}
    assert behind.next_seq == 8
    (single,), _ = behind.place((ev.Note(text="n", batch=9, seq=99),), NOON)
    assert (single.batch, single.seq) == (None, 8)


def test_runs_count_the_persons_messages() -> None:
    """A message bears the run it starts; steering, `!` output and rejected input start none."""
    assert runs(
        ev.SessionTitle(title="t"),
        say(),
        ev.RunEnd(why="done"),
        say(via="steer"),
        say(via="shell"),
        say(rejected=True),
        say(via="continue"),
        ev.Note(text="n"),
    ) == [0, 1, 1, 1, 1, 1, 2, 2]


def test_messages_to_sub_agents_start_no_run() -> None:
    """ENG-23: a lasting context goes on with the person's conversation, a sub-context does not."""
    assert runs(
        say(),
        ev.ContextOpen(id=1, parent=0, kind="subagent"),
        say(ctx=1),
        ev.ContextOpen(id=2, parent=1, kind="compaction", lasting=True),
        say(ctx=2),
        ev.ContextOpen(id=3, parent=0, kind="compaction", lasting=True),
        say(ctx=3),
    ) == [1, 1, 1, 1, 1, 1, 2]


def test_clock_that_goes_back_repeats_the_last_time() -> None:
    """REL-3: `at` never decreases; the order is that of `seq`."""
    (first,), behind = Position().place((say(),), NOON)
    (second,), behind = behind.place((say(),), NOON - timedelta(hours=3))
    (third,), _ = behind.place((say(),), NOON + timedelta(hours=1))
    assert first.at == second.at < third.at


def test_a_log_is_followed_to_the_same_position() -> None:
    drafts = (say(), ev.ContextOpen(id=1, parent=0, kind="subagent"), say(ctx=1), say())
    events, behind = Position().place(drafts, NOON)
    position = Position()
    for event in events:
        position = position.after(event)
    assert position == behind


def test_a_strangers_time_is_not_taken_over() -> None:
    for at in ("", "zzz", "z" * 24, "9999"):
        assert Position().after(ev.Note(seq=1, at=at, text="n")).at == ""
