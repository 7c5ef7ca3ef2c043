"""C33, PRV-9: what is asked again, after how long, and how often."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.failures import error_in, from_response
from nodwyn_tui.providers.retry import TRIES, delay, retry_after

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
JITTER = st.floats(0, 1)


def refused(status: int, body: bytes = b"", **headers: str) -> ProviderError:
    lower = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(status, lower, body, address="http://fake", now=NOW)


@pytest.mark.parametrize(
    ("error", "bound"),
    [
        (refused(429, retry_after="2"), 2.0),
        (refused(429, retry_after=format_datetime(NOW + timedelta(seconds=3), usegmt=True)), 3.0),
        (refused(429, retry_after="3600"), 3600.0),
        (refused(429, retry_after_ms="1500", retry_after="9"), 1.5),
        (refused(503, retry_after="4"), 4.0),
        (refused(429, b'{"error": {"message": "Rate limit. Please try again in 1.3s."}}'), 1.3),
        (refused(429, b'{"error": {"message": "Rate limit. Try again in 250ms"}}'), 0.25),
        (refused(429, retry_after="soon"), None),
        (refused(429, b'{"error": {"message": "Provider returned error"}}'), None),
        (refused(529), None),
        (refused(429, b"<html><title>429</title></html>", content_type="text/html"), None),
    ],
)
def test_waits_are_lower_bounds(error: ProviderError, bound: float | None) -> None:
    """C33: seconds, a date, words, or nothing: all are asked again, none too early."""
    assert error.retry_after_s == bound
    for jitter in (0.0, 0.5, 1.0):
        wait = delay(error, 1, jitter)
        assert wait is not None
        assert wait >= (bound or 0.5)
        assert wait <= max(bound or 0.0, 0.5) + 1.0


@given(JITTER)
def test_few_tries_further_and_further_apart(jitter: float) -> None:
    error = refused(529)
    waits = [delay(error, attempt, jitter) for attempt in range(1, TRIES + 2)]
    given_ = [wait for wait in waits if wait is not None]
    assert len(given_) == TRIES - 1
    assert given_ == sorted(given_)
    assert waits[TRIES - 1 :] == [None, None]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (refused(429), True),
        (refused(429, x_should_retry="false"), False),
        (refused(500), False),
        (refused(500, x_should_retry="true"), True),
        (refused(500, x_should_retry="perhaps"), False),
    ],
)
def test_the_servers_word_on_asking_again_outranks_the_kind(
    error: ProviderError, again: bool
) -> None:
    """PRV-9: `x-should-retry`; after so many tries it is given up all the same."""
    assert (delay(error, 1, 0.5) is not None) == again
    assert delay(error, TRIES, 0.5) is None


@given(JITTER)
def test_a_server_that_loads_its_model_is_waited_for(jitter: float) -> None:
    """PRV-9: minutes, as loading takes them; a server that is busy is given up sooner."""
    loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    error = refused(503, json.dumps(loading).encode())
    waits = [delay(error, attempt, jitter) or 0.0 for attempt in range(1, 40)]
    assert 60 <= sum(waits) <= 210
    assert max(waits) <= 23
    assert delay(refused(503, b'{"error": "server busy"}'), TRIES, jitter) is None


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_nothing_else_is_asked_again(kind: ErrorKind) -> None:
    """PRV-9: refusals never; a stream without an end once, at once (PRV-8)."""
    error = ProviderError(kind, "x")
    first, second = delay(error, 1, 0.5), delay(error, 2, 0.5)
    match kind:
        case "rate_limit" | "overloaded":
            assert first is not None
            assert second is not None
        case "incomplete_stream":
            assert (first, second) == (0.0, None)
        case _:
            assert (first, second) == (None, None)


def test_an_error_inside_a_stream_can_name_its_wait() -> None:
    error = error_in({"error": {"code": 429, "message": "try again in 2s", "type": "x"}})
    assert error is not None
    assert (error.kind, error.retry_after_s) == ("rate_limit", 2.0)


@pytest.mark.parametrize("text", ["-3", "nan", "inf", "", "Sun, 99 Foo 2026 00:00:00 GMT", "1e9"])
def test_a_header_that_makes_no_sense_is_none(text: str) -> None:
    assert retry_after({"retry-after": text}, "", NOW) is None


def test_a_date_in_the_past_is_no_wait() -> None:
    past = format_datetime(NOW - timedelta(hours=1), usegmt=True)
    assert retry_after({"retry-after": past}, "", NOW) == 0.0
