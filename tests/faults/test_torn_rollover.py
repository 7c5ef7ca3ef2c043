"""ROL-1, ROL-5, ENG-3: power is lost between any two bytes of a rollover's append."""

from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.scan import scan
from nodwyn_tui.window.budget import Budget, RollOver
from nodwyn_tui.window.build import build
from nodwyn_tui.window.carrying import Carrying
from tests.builders import LogBuilder, texts
from tests.fakes.sessions import ToldClock

OLD = "user: mend it"
LEAD = "user: Note from the program: A new window begins here."
EACH = 23
"""A mended log costs a few writes: besides each line's ends, every so many bytes are cut at."""


def full() -> LogBuilder:
    """A window that is over its mark in the middle of a run."""
    log = LogBuilder(task_header="", strategy="rollover")
    log.user("mend it")
    log.exchange("a", "one\n" * 300)
    log.add(ev.GatePlan(text="[>] mend"))
    log.exchange("b", "two\n" * 300)
    log.exchange("c", "three\n" * 300)
    return log


def written(folder: Path, log: LogBuilder) -> tuple[bytes, bytes]:
    """The bytes of a session's log, and those that its rollover appends, as the store writes it."""
    over = log.budget.decide("mid-run", log.window(), log.recipe, counted=2_900)
    assert isinstance(over, RollOver)
    store = Log.create(folder, ToldClock(), Redactor())
    for event in log.events:
        store.append(event)
    whole = store.path.read_bytes()
    store.append(*log.rollover(reason=over.reason))
    store.close()
    return whole, store.path.read_bytes()[len(whole) :]


def assert_old_or_fresh(events: tuple[ev.Event, ...], log: LogBuilder) -> str:
    """What the window of a cut log is: `old`, `fresh` or `new`. Its next message decides anew, and
    no call of it runs again.
    """
    budget, carrying = Budget(), Carrying()
    for event in events:
        budget.feed(event)
        carrying.feed(event)
    again = ev.UserMessage(seq=events[-1].seq + 1, text="typed again")
    window = build([*events, again], log.recipe)
    shown = texts(window)
    assert shown[-1] == "user: typed again"
    decided = budget.decide("on-send", window, log.recipe, counted=2_900)
    if OLD in shown:
        assert shown[:-1] == texts(log.window())
        assert isinstance(decided, RollOver)
        assert [asked.text for asked in carrying.now.asked] == ["mend it"]
        return "old"
    assert not any(row.startswith(("assistant:", "tool:")) for row in shown)
    if "user: Continue." in shown:
        assert shown[0].startswith(LEAD)
        assert "mend it" in shown[0]
        return "new"
    assert decided is None, "a fresh window begins no second time"
    assert [row.startswith(LEAD) for row in shown[:-1]] in ([], [True])
    return "fresh"


def test_cut_at_any_byte_the_window_is_whole_or_fresh(tmp_path: Path) -> None:
    """ROL-1, ROL-5: never a mixture, never a second reset."""
    log = full()
    whole, batch = written(tmp_path / "s", log)
    found = [
        assert_old_or_fresh(scan(whole + batch[:cut]).events, log) for cut in range(len(batch) + 1)
    ]
    assert list(dict.fromkeys(found)) == ["old", "fresh", "new"]


def test_cut_log_is_mended_into_one_of_them(tmp_path: Path) -> None:
    """ROL-1, ENG-5: as the store opens it again, and goes on with it."""
    log = full()
    whole, batch = written(tmp_path / "s", log)
    ends = [end + 1 for end, byte in enumerate(batch) if byte == ord("\n")]
    assert len(ends) == 3
    near = {end + by for end in ends for by in (-2, -1, 0, 1) if end + by <= len(batch)}
    path = tmp_path / "s" / "log.jsonl"
    found = set()
    for cut in sorted({*near, *range(0, len(batch), EACH)}):
        path.write_bytes(whole + batch[:cut])
        store, opened = Log.open(tmp_path / "s", ToldClock(), Redactor())
        with store:
            found.add(assert_old_or_fresh(opened.events, log))
            (said,) = store.append(ev.UserMessage(text="typed again"))
        kept = Log.read(path)
        assert not kept.damage
        assert kept.events[-1] == said
        assert len([e for e in kept.events if isinstance(e, ev.WindowReset)]) <= 1
    assert found == {"old", "fresh", "new"}


def test_what_the_store_gives_back_is_what_was_decided(tmp_path: Path) -> None:
    """ENG-3: one append, whose first line says how many stand together."""
    log = full()
    whole, batch = written(tmp_path / "s", log)
    events = scan(whole + batch).events[len(log.events) :]
    assert [event.type for event in events] == ["window.reset", "window.lead_in", "user.message"]
    assert events[0].batch == 3
    assert b"".join(map(encode, events)) == batch
