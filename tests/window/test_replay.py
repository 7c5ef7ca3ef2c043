"""A recorded request rebuilds from the log alone, or says why not (ENG-26)."""

import dataclasses

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder


def recorded() -> LogBuilder:
    log = LogBuilder()
    log.user()
    for step in range(12):
        log.exchange(f"c{step}", "x" * 500)
    return log


def test_every_request_of_a_trimmed_session_replays() -> None:
    log = recorded()
    requests = [event for event in log.events if isinstance(event, ev.LlmRequest)]
    assert any(request.elided for request in requests)
    for request in requests:
        assert replay(log.events, request.seq).digest == request.digest


def test_later_events_do_not_matter() -> None:
    log = recorded()
    third = [event for event in log.events if isinstance(event, ev.LlmRequest)][2]
    upto = [event for event in log.events if event.seq <= third.seq]
    assert replay(upto, third.seq) == replay(log.events, third.seq)


def test_latest_recipe_before_the_request_holds() -> None:
    log = LogBuilder()
    log.user()
    first, _ = log.request()
    log.reply("ok")
    log.recipe = dataclasses.replace(log.recipe, system="Another prompt.")
    log.add(ev.SessionRecipe(session="s", workspace="/w", app="t", recipe=log.recipe))
    log.user()
    second, _ = log.request()
    assert replay(log.events, first.seq).request.system == "You help."
    assert replay(log.events, second.seq).request.system == "Another prompt."


@pytest.mark.parametrize(
    ("seq", "words"), [(2, "is a user.message"), (999, "no event has seq 999")]
)
def test_wrong_seq_lists_the_requests_there_are(seq: int, words: str) -> None:
    with pytest.raises(ReplayError, match=rf"{words}.*requests here: 3, 7"):
        replay(recorded().events, seq)


def test_changed_log_says_what_differs() -> None:
    log = recorded()
    log.events[1] = dataclasses.replace(log.events[1], text="something else")
    with pytest.raises(ReplayError, match=r"seq 3 does not match: recorded digest [0-9a-f]{64}"):
        replay(log.events, 3)


def test_lost_event_is_named_and_requests_that_do_not_need_it_still_replay() -> None:
    """ENG-5."""
    log = recorded()
    lost = log.events.pop(1)
    log.events.append(ev.SessionRecovered(seq=900, missing=(lost.seq,)))
    with pytest.raises(ReplayError, match=f"needs event {lost.seq}, which was lost"):
        replay(log.events, 3)
    log = recorded()
    gone = log.events.pop(14)
    log.events.append(ev.SessionRecovered(seq=900, missing=(gone.seq,)))
    assert replay(log.events, 3).digest


def test_request_without_a_recipe_fails_by_name() -> None:
    log = recorded()
    with pytest.raises(ReplayError, match="no recipe is recorded before the request at seq 3"):
        replay(log.events[1:], 3)
