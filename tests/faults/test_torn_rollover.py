"""ROL-1, ENG-3: power is lost between any two bytes of a rollover's append."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.scan import scan
from nodwyn_tui.window.build import build
from tests.builders import LogBuilder, texts
from tests.fakes.sessions import ToldClock


def test_torn_rollover_leaves_the_old_window_whole_or_a_fresh_one() -> None:
    """Never a mixture; what the person then types begins the fresh one or goes on with the old."""
    log = LogBuilder(task_header="")
    log.user("the old ask")
    log.reply("the old answer")
    whole = b"".join(map(encode, log.events))
    batch, _ = Position(next_seq=len(log.events) + 1, run=1).place(
        (
            ev.WindowReset(kind="rollover", rollover_id="r", reason="on-send"),
            ev.WindowLeadIn(rollover_id="r", text="go on"),
            ev.UserMessage(text="the new ask"),
        ),
        ToldClock().now(),
    )
    lines = b"".join(map(encode, batch))
    found = set()
    for cut in range(len(lines) + 1):
        read = scan(whole + lines[:cut])
        again = ev.UserMessage(seq=read.last_seq + 1, text="typed again")
        shown = texts(build([*read.events, again], log.recipe))
        found.add(("user: the old ask" in shown, "user: the new ask" in shown))
        assert shown[-1] == "user: typed again"
        assert ("assistant: the old answer" in shown) == ("user: the old ask" in shown)
        assert read.last_seq >= len(read.events)
    assert found == {(True, False), (False, False), (False, True)}
