"""The cache arithmetic (ENG-28)."""

import dataclasses

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.events import Parameters
from nodwyn_tui.window.prefix import Prediction, Sent, predict, sent
from tests.builders import MODEL, LogBuilder

PARAMETERS = Parameters()


def ask(
    log: LogBuilder,
    earlier: list[Sent],
    *,
    reported: int | None = 300,
    origin: str = MODEL.origin,
    parameters: Parameters = PARAMETERS,
    one_slot: bool = False,
) -> Prediction:
    """Predicts the next request, then remembers it."""
    event, window = log.request()
    made, model, before = window.pieces(), (origin, parameters), log.events[:-1]
    prediction = predict(
        earlier, made, model, before, one_slot=one_slot, trimmed=bool(window.newly)
    )
    event = dataclasses.replace(
        event, model=dataclasses.replace(MODEL, origin=origin), parameters=parameters
    )
    earlier.append(sent(event, made, reported))
    return prediction


def test_first_request_predicts_nothing() -> None:
    log = LogBuilder()
    log.user()
    assert ask(log, []) == Prediction(None, "first")


def test_appended_request_reads_the_whole_earlier_prompt() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, reported=321)
    log.reply("ok")
    log.user()
    assert ask(log, earlier) == Prediction(321, None)


def test_without_a_report_the_estimate_stands_in() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, reported=None)
    log.reply("ok")
    log.user()
    cached = ask(log, earlier).cached
    assert cached is not None
    assert cached > 0


def test_trim_is_named_and_only_what_stands_before_it_counts() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    for step in range(9):
        prediction = ask(log, earlier, reported=1_000)
        log.exchange(f"c{step}", "x" * 700)
        log.events.pop(-4)  # the exchange's own request: this test asks by itself
        if prediction.ended_by == "trim":
            break
    assert prediction.ended_by == "trim"
    assert 0 < (prediction.cached or 0) < 1_000


def test_clear_resume_and_switches_are_named() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier)
    log.add(ev.WindowReset(kind="manual", reason="clear"))
    log.user("new")
    cleared = ask(log, earlier)
    assert cleared.ended_by == "clear"
    assert (cleared.cached or 0) > 0, "the system text and the catalogue are still there"
    log.reply("ok")
    log.user("other")
    assert ask(log, earlier, origin="t/other") == Prediction(0, "model_switch")
    log.reply("ok")
    log.user("back")
    assert ask(log, earlier).ended_by is None, "the first origin still has its own prefix"
    changed = ask(log, earlier, parameters=Parameters(num_ctx=9))
    assert changed == Prediction(0, "parameter_switch")


def test_trim_of_a_request_that_got_no_reply_is_named() -> None:
    """Its process died: the resume behind it did not end the prefix, the trim did."""
    log, earlier = LogBuilder(), []
    log.user()
    log.exchange("c", "x" * 700)
    ask(log, earlier)
    for step in range(9):
        log.exchange(f"c{step}", "x" * 700)
    assert any(isinstance(event, ev.LlmRequest) and event.elided for event in log.events)
    log.add(ev.SessionResume(session="s", workspace="/w", app="t", recipe=log.recipe))
    log.user("on")
    assert ask(log, earlier).ended_by == "trim"


def test_one_slot_server_holds_only_its_last_request() -> None:
    log, earlier = LogBuilder(), []
    log.user("long history " * 20)
    ask(log, earlier, reported=500)
    other = LogBuilder(system="something else")
    other.user()
    ask(other, earlier, reported=50)
    log.reply("ok")
    log.user()
    assert (ask(log, earlier[:], one_slot=True).cached or 0) < 50
