"""How far something is that takes a while, in figures that a person reads: bytes, share, pace, and
the time that is left.
"""

from collections import deque
from collections.abc import Iterator

PACE_S = 8.0
"""Seconds over which the pace is told."""
_LEAST_S = 1.0
_UNITS = ("B", "kB", "MB", "GB", "TB")


class Pace:
    """Bytes a second, of late."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def see(self, done: int, now: float) -> None:
        """So many bytes are there; `now` in seconds of any one clock."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()  # it began anew
        self._seen.append((now, done))
        while now - self._seen[0][0] > PACE_S:
            self._seen.popleft()

    @property
    def bytes_a_second(self) -> float:
        """0 where it is not known yet, or nothing comes."""
        if not self._seen:
            return 0.0
        (first, before), (last, now) = self._seen[0], self._seen[-1]
        return (now - before) / (last - first) if last - first >= _LEAST_S else 0.0


def figures(done: int, whole: int, pace: float) -> Iterator[str]:
    """`1.2 GB of 5.2 GB`, `23%`, `45.0 MB/s`, `2 min left`; the last two once there is a pace."""
    yield f"{size(done)} of {size(whole)}"
    yield f"{done * 100 // whole if whole else 0}%"
    if pace > 0:
        yield f"{size(int(pace))}/s"
        yield f"{duration((whole - done) / pace)} left"


def size(count: int) -> str:
    """Bytes by thousands, as model libraries tell them: `1.4 GB`."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    digits = 1 if unit and amount < 100 else 0
    return f"{amount:.{digits}f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """A time ahead, as coarse as a guess is: `40 s`, `3 min`, `2 h 10 min`."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
