"""A compaction that is killed anywhere leaves the old window or the new one, never a mixture
(AGT-16, ENG-3).
"""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.scan import scan
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import Shape, build
from nodwyn_tui.window.carrying import Carrying
from tests.builders import LogBuilder
from tests.fakes.sessions import ToldClock


def compacted() -> tuple[LogBuilder, int, int]:
    """A session that was compacted in mid-run, how many events it had before a note was asked for,
    and how many before the batch.
    """
    log = LogBuilder()
    log.user("mend it")
    log.exchange("a", "x" * 200)
    log.add(ev.GatePlan(text="[>] mend"))
    before = len(log.events)
    log.add(handover.request(log.recipe, log.carrying.now))
    log.request(Shape(high_water=3_000), "handover")
    log.reply("the note")
    asked = len(log.events)
    rows = handover.batch(
        handover.Handover("the note"), log.carrying.now, log.recipe, ctx=asked + 1, parent=0
    )
    batch, _ = Position(next_seq=asked + 1, run=1).place(rows, ToldClock().now())
    for event in batch:
        log.events.append(event)
    return log, before, asked


def repaired(events: list[ev.Event]) -> list[ev.Event]:
    """As a session that is opened again repairs them."""
    carrying = Carrying()
    for event in events:
        carrying.feed(event)
    if asking := carrying.now.asking:
        events = [*events, ev.WindowRewind(seq=events[-1].seq + 1, to=asking, why="undo")]
    return events


def test_cut_at_any_byte_the_window_is_the_old_one_or_the_new_one() -> None:
    log, before, asked = compacted()
    old = build(log.events[:before], log.recipe).request
    new = build(log.events, log.recipe).request
    assert len(new.messages) == 3
    start = b"".join(map(encode, log.events[:before]))
    rest = b"".join(map(encode, log.events[before:]))
    last_line = len(rest) - 1
    for cut in range(len(rest) + 1):
        events = repaired(list(scan(start + rest[:cut]).events))
        request = build(events, log.recipe).request
        assert request == (new if cut >= last_line else old), f"cut at byte {cut}"
    assert asked > before
