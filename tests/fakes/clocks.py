"""A clock that a test sets."""

from datetime import UTC, datetime, timedelta


class SetClock:
    """Stands still until it is moved on."""

    def __init__(self, at: datetime = datetime(2026, 11, 29, 12, tzinfo=UTC)) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def monotonic(self) -> float:
        return self._at.timestamp()

    def move(self, seconds: float) -> None:
        self._at += timedelta(seconds=seconds)
