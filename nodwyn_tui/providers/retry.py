"""When a failed request is asked again, and after how long (PRV-9). Pure; waiting is the turn's."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from nodwyn_tui.errors import ProviderError

TRIES = 4
"""Requests in all, the first one counted."""
TRIES_WHILE_LOADING = 13
"""The same of a server that is still loading its model: two minutes and more."""

_PASSING = frozenset({"rate_limit", "overloaded"})
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 15.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_LOADING = re.compile(r"loading (?:the )?model|model is (?:still )?loading", re.IGNORECASE)
_IN_WORDS = re.compile(
    r"(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|m)\b", re.IGNORECASE
)


def delay(error: ProviderError, attempt: int, jitter: float) -> float | None:
    """Seconds to wait before asking again, `None` to give up.

    `attempt` counts the failures of this kind in this step from 1; `jitter` is from 0 to 1 and
    handed in. What the server asked for is a lower bound, however long (C33), and its word on
    whether the failure passes outranks its kind. A stream without an end is asked again once, at
    once (PRV-8); refusals never.
    """
    if error.kind == "incomplete_stream":
        return 0.0 if attempt == 1 else None
    passes = error.kind in _PASSING if error.passing is None else error.passing
    loads = error.kind == "overloaded" and _LOADING.search(error.message)
    if not passes or attempt >= (TRIES_WHILE_LOADING if loads else TRIES):
        return None
    backoff = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
    spread = backoff * (0.5 + jitter)
    # Above the server's own figure too, or all who waited come back in the same instant.
    return spread if error.retry_after_s is None else max(spread, error.retry_after_s + jitter)


def retry_after(headers: Mapping[str, str], text: str, now: datetime | None) -> float | None:
    """The server's lower bound in seconds: `retry-after-ms`, `retry-after` in seconds or as a date
    against `now`, or the words of the message; `None` if it gave none. Header names in lower case.
    """
    if (ms := _number(headers.get("retry-after-ms", ""))) is not None:
        return ms / 1000
    given = headers.get("retry-after", "").strip()
    if (seconds := _number(given)) is not None:
        return seconds
    if given and now is not None and (until := _date(given)) is not None:
        return max(0.0, (until - now).total_seconds())
    if found := _IN_WORDS.search(text):
        return float(found[1]) * _UNITS[found[2].lower()]
    return None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text.strip()) else None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
