"""Which windows a session had, as `session_history` lists them (ROL-11, ROL-9)."""

import pytest

from nodwyn_tui.agent.ledger import Ledger
from nodwyn_tui.domain import events as ev
from tests.builders import LogBuilder


def told(log: LogBuilder) -> list[str]:
    """The windows as `seq kind: first message`; the fold also after it was stored on the way."""
    ledger, stored = Ledger(), Ledger()
    for event in log.events:
        ledger.feed(event)
        stored = Ledger.of(stored.state())
        stored.feed(event)
    assert stored.facts.earlier == ledger.facts.earlier
    return [f"{w.seq} {w.kind}: {w.first}" for w in ledger.facts.earlier.windows]


def gone(log: LogBuilder) -> list[tuple[int, int]]:
    ledger = Ledger()
    for event in log.events:
        ledger.feed(event)
    return ledger.facts.earlier.gone


@pytest.fixture
def log() -> LogBuilder:
    made = LogBuilder()
    made.user("one")
    return made


def test_a_session_begins_with_a_window(log: LogBuilder) -> None:
    log.user("two")
    assert told(log) == ["0 start: one"]


def test_rollovers_and_compactions_begin_others(log: LogBuilder) -> None:
    begun = log.add(ev.WindowReset(kind="rollover"))
    log.add(ev.WindowLeadIn(rollover_id="r", text="hidden"))
    log.user("two " + "x" * 100)
    opened = log.compact()
    assert told(log) == [
        "0 start: one", f"{begun.seq} rollover: two " + "x" * 76, f"{opened.seq} compaction: ",
    ]  # fmt: skip


def test_an_undone_compaction_begins_none(log: LogBuilder) -> None:
    opened = log.compact()
    log.widen(opened)
    log.user("two")
    assert told(log) == ["0 start: one"]


def test_a_compaction_that_was_rewound_begins_none(log: LogBuilder) -> None:
    said = log.user("two")
    log.compact()
    log.rewind(said.seq)
    assert told(log) == ["0 start: one"]


def test_a_clear_hides_all_before_it(log: LogBuilder) -> None:
    """ROL-9."""
    log.compact()
    log.user("two")
    log.rewind(4)
    cleared = log.clear()
    log.user("three")
    assert told(log) == [f"{cleared.seq} clear: three"]
    assert gone(log) == []


def test_sub_agents_begin_none(log: LogBuilder) -> None:
    log.add(ev.ContextOpen(id=50, parent=0, kind="subagent"))
    log.user("for the sub-agent", ctx=50)
    log.add(ev.ContextClose(id=50))
    assert told(log) == ["0 start: one"]
    log = LogBuilder()
    log.add(ev.ContextOpen(id=50, parent=0, kind="subagent"))
    log.user("for the sub-agent", ctx=50)
    assert told(log) == ["0 start: "]


def test_rejected_messages_are_not_told() -> None:
    log = LogBuilder()
    log.user("too long", rejected=True)
    assert told(log) == ["0 start: "]


def test_rewinds_say_what_is_gone(log: LogBuilder) -> None:
    """One that goes further back takes the earlier spans in."""
    second = log.user("two")
    third = log.user("three")
    first_back = log.rewind(third.seq)
    fourth = log.user("four")
    second_back = log.rewind(fourth.seq)
    spans = [(third.seq, first_back.seq), (fourth.seq, second_back.seq)]
    assert gone(log) == spans
    last = log.rewind(second.seq)
    assert gone(log) == [(second.seq, last.seq)]
