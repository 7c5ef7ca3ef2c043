"""A recorded request rebuilds from the log alone, or says why not (ENG-26)."""

import dataclasses
import json

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.store.lines import decode, encode
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


def resumed() -> tuple[LogBuilder, ev.LlmRequest, int]:
    """A log whose second recipe has another prompt; a request after it, and the recipe's seq."""
    log = LogBuilder(task_header="")
    log.user("before")
    log.request()
    log.reply("ok")
    log.resume(system="Another prompt.")
    bearing = log.events[-1].seq
    log.clear()
    log.user("after")
    request, _ = log.request()
    return log, request, bearing


def test_lost_recipe_is_named_though_the_window_starts_behind_it() -> None:
    """ENG-5: the request would be built by the recipe before, and not match."""
    log, request, bearing = resumed()
    events = [event for event in log.events if event.seq != bearing]
    events.append(ev.SessionRecovered(seq=900, missing=(bearing,)))
    with pytest.raises(ReplayError, match=f"needs event {bearing}, which was lost"):
        replay(events, request.seq)
    assert replay(events, 3).request.system == "You help."


def test_lost_only_recipe_is_named() -> None:
    """ENG-5: nothing says by which rules the request was made."""
    log = recorded()
    events = [*log.events[1:], ev.SessionRecovered(seq=900, missing=(1,))]
    with pytest.raises(ReplayError, match=r"recipe.*event 1, which was lost"):
        replay(events, 3)


def test_lost_event_is_named_before_anything_was_mended() -> None:
    """ENG-5: whoever only reads a damaged log knows what is missing from the reader alone."""
    log = recorded()
    lost = log.events.pop(1).seq
    with pytest.raises(ReplayError, match=f"needs event {lost}, which was lost"):
        replay(log.events, 3, lost=(lost,))
    with pytest.raises(ReplayError, match="seq 2 was lost to damage"):
        replay(log.events, 2, lost=(lost,))


def test_event_lost_before_the_window_is_not_needed() -> None:
    """ENG-5: nor is it named for a request that does not match for another reason."""
    log = LogBuilder()
    log.user("before")
    log.resume()
    log.clear()
    log.user("after")
    request, _ = log.request()
    events = [event for event in log.events if event.seq != 2]
    assert replay(events, request.seq, lost=(2,)).digest == request.digest
    events = [dataclasses.replace(e, text="x") if e.seq == 5 else e for e in events]
    with pytest.raises(ReplayError, match="does not match"):
        replay(events, request.seq, lost=(2,))


def test_request_without_a_digest_fails_by_name() -> None:
    """ENG-26: as older builds recorded it."""
    log = recorded()
    request = next(event for event in log.events if isinstance(event, ev.LlmRequest))
    line = json.loads(encode(request))
    del line["digest"]
    bare = decode(json.dumps(line).encode())
    events = [bare if event is request else event for event in log.events]
    with pytest.raises(ReplayError, match=r"seq 3 .*cannot be read.*digest: Field required"):
        replay(events, 3)
    events = [dataclasses.replace(e, digest="") if e is request else e for e in log.events]
    with pytest.raises(ReplayError, match="seq 3 was recorded without a digest"):
        replay(events, 3)


def test_recipe_of_another_build_fails_by_name() -> None:
    """ENG-2, ENG-26: no request is rebuilt by the recipe before it."""
    log, request, bearing = resumed()
    line = json.loads(encode(log.events[bearing - 1]))
    line["recipe"]["strategy"] = "dream"
    log.events[bearing - 1] = decode(json.dumps(line).encode())
    with pytest.raises(ReplayError, match=f"recipe at seq {bearing} cannot be read.*strategy"):
        replay(log.events, request.seq)
