"""The forecast as a session feeds it: live, and from what an earlier process left (ENG-28)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nodwyn_tui.agent.forecast import Forecast
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.providers.base import Endpoint
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.window.build import ORDINARY, Window
from nodwyn_tui.window.contexts import StartTracker
from nodwyn_tui.window.prefix import Prediction
from nodwyn_tui.window.sizes import Wanted
from tests.builders import MODEL, LogBuilder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""When the builder's events happen."""


def target(provider: str = "openai", **parameters: str) -> Target:
    endpoint = Endpoint(server="s", provider="openai", base_url="http://127.0.0.1:9/v1")
    return Target(
        ref=replace(MODEL, provider=provider),
        parameters=ev.Parameters(**parameters),
        provider=Provider(endpoint, clock=SystemClock()),
        context=3_500,
        context_from="test",
        wanted=Wanted(output_reserve=500),
        strategy="trim",
    )


def predicted(forecast: Forecast, window: Window) -> Prediction:
    return forecast.predict(window, target(), ORDINARY, NOW)[0]


def exchange(log: LogBuilder, text: str, tokens: int, asked: Target | None = None) -> None:
    asked = asked or target()
    log.user(text)
    request, _ = log.request()
    log.events[-1] = replace(request, model=asked.ref, parameters=asked.parameters)
    reply = log.reply("ok", req=request.seq)
    log.events[-1] = replace(reply, usage=Usage(prompt_tokens=tokens))


def cleared() -> LogBuilder:
    """Two requests in a first window, another window that nothing was asked in yet."""
    log = LogBuilder()
    exchange(log, "one", 300)
    exchange(log, "two", 400)
    log.clear()
    log.user("three")
    return log


def recalled(*parts: Sequence[ev.Event]) -> Forecast:
    forecast = Forecast()
    for part in parts:
        forecast.recall(part)
    return forecast


def from_start(events: Sequence[ev.Event]) -> list[ev.Event]:
    tracker = StartTracker()
    for event in events:
        tracker.feed(event)
    return [event for event in events if tracker.needs(event.seq)]


def test_whole_log_and_its_parts_are_recalled_alike() -> None:
    """A resume that holds the events from the window's start only, and those that the last request
    before it needs, predicts what one that reads the whole log does.
    """
    log = cleared()
    whole = predicted(recalled(log.events), log.window())
    assert whole.ended_by == "clear"
    assert 0 < (whole.cached or 0) < 400
    start = from_start(log.events)
    last = next(e.seq for e in reversed(log.events) if isinstance(e, ev.LlmResponse))
    assert len(start) < 5, "the recipe, the reset and the message"
    before = [event for event in log.events if event.seq <= last]
    assert predicted(recalled(before, start), log.window()) == whole


def test_request_that_needs_earlier_events_is_passed_over() -> None:
    log = cleared()
    forecast = recalled(from_start(log.events))
    assert predicted(forecast, log.window()) == Prediction(None, "first")
    parts = [event for event in log.events if event.seq != 2]
    assert predicted(recalled(parts), log.window()) == Prediction(None, "first")


def test_recalling_after_the_events_were_fed_is_the_same() -> None:
    log = cleared()
    forecast = Forecast()
    for event in log.events:
        forecast.feed(event)
    forecast.recall(log.events)
    whole = predicted(recalled(log.events), log.window())
    assert predicted(forecast, log.window()) == whole


def test_what_came_after_the_earlier_request_counts_as_it_is_fed() -> None:
    log = cleared()
    before = log.events[:-2]
    forecast = recalled(before)
    log.events = [*before]
    log.user("three")
    for event in log.events:
        forecast.feed(event)
    now = predicted(forecast, log.window())
    assert (now.cached, now.ended_by) == (400, None)


@pytest.mark.parametrize(
    ("asked", "idle_s", "ended_by"),
    [
        (target("ollama"), 299, None),
        (target("ollama"), 300, "likely_expiry"),
        (target("ollama", keep_alive="30m"), 1799, None),
        (target("ollama", keep_alive="1h30m"), 5400, "likely_expiry"),
        (target("ollama", keep_alive="20"), 20, "likely_expiry"),
        (target("ollama", keep_alive="0"), 0, "likely_expiry"),
        (target("ollama", keep_alive="-1"), 10**7, None),
        (target("ollama", keep_alive="-1m"), 10**7, None),
        (target("openai", cache_control="ephemeral"), 299, None),
        (target("openai", cache_control="ephemeral"), 300, "likely_expiry"),
        (target("anthropic", cache_control="1h"), 3599, None),
        (target("anthropic", cache_control="1h"), 3600, "likely_expiry"),
        (target("responses", cache_control="12h"), 43_200, "likely_expiry"),
        (target("openai"), 10**7, None),
        (target("responses"), 10**7, None),
        (target("ollama"), -60, None),
    ],
)
def test_expiry_is_likely_after_the_lifetime_that_the_server_documents(
    asked: Target, idle_s: int, ended_by: str | None
) -> None:
    """ENG-28: where nothing is promised, nothing is said; a clock put back ends nothing."""
    log = LogBuilder()
    exchange(log, "one", 300, asked)
    log.user("two")
    now = NOW + timedelta(seconds=idle_s)
    prediction, _ = recalled(log.events).predict(log.window(), asked, ORDINARY, now)
    assert (prediction.cached, prediction.ended_by) == ((0 if ended_by else 300), ended_by)


def test_cache_that_was_not_asked_for_holds_nothing() -> None:
    log, asked = LogBuilder(), target("anthropic")
    exchange(log, "one", 300, asked)
    log.user("two")
    prediction, _ = recalled(log.events).predict(log.window(), asked, ORDINARY, NOW)
    assert (prediction.cached, prediction.ended_by) == (0, None)


def test_time_that_cannot_be_read_expires_nothing() -> None:
    log, asked = LogBuilder(), target("ollama")
    exchange(log, "one", 300, asked)
    log.events = [replace(event, at="yesterday") for event in log.events]
    log.user("two")
    later = NOW + timedelta(days=9)
    prediction, _ = recalled(log.events).predict(log.window(), asked, ORDINARY, later)
    assert prediction.cached == 300
