"""The clock: the one place that asks what time it is."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What a room is handed where it needs the time."""

    def now(self) -> datetime:
        """The time in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`, as log lines bear it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(stamped: str) -> datetime | None:
    """The time that a log line bears; `None` where it bears none that can be read."""
    try:
        found = datetime.fromisoformat(stamped)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
