"""How far something is that takes a while: bytes, share, pace, and the time that is left."""

from collections import deque
from collections.abc import Iterator

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cut, wrap

PACE_S = 8.0
"""Seconds over which the pace is told."""
_LEAST_S = 1.0
_UNITS = ("B", "kB", "MB", "GB", "TB")


class Progress(Bar):
    """Shows a state in words and, where bytes are known, a bar."""

    def __init__(self, intro: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._intro = intro
        self.state, self.wrong = "", False
        self._done = self._all = 0
        self._seen: deque[tuple[float, int]] = deque()

    def say(self, state: str, *, wrong: bool = False) -> None:
        """What goes on, or why it does not."""
        self.state, self.wrong = state, wrong
        self.redraw()

    def measure(self, done: int, whole: int, now: float) -> None:
        """Bytes that are there, of all; `now` in seconds of any clock."""
        if done < self._done:
            self._seen.clear()
        self._done, self._all = done, whole
        self._seen.append((now, done))
        while now - self._seen[0][0] > PACE_S:
            self._seen.popleft()
        self.redraw()

    @property
    def pace(self) -> float:
        """Bytes a second, 0 where it is not known."""
        (first, before), (last, now) = self._seen[0], self._seen[-1]
        return (now - before) / (last - first) if last - first >= _LEAST_S else 0.0

    def bar_rows(self, width: int) -> Iterator[Row]:
        yield from wrap([Span(self._intro)], width)
        yield ()
        mark = Span("✗ ", "error") if self.wrong else Span("… ", "dim")
        yield from wrap([mark, Span(self.state)], width)
        if self._all:
            share = min(self._done / self._all, 1.0)
            full = int(share * width)
            yield ()
            yield (Span("█" * full, "primary"), Span("░" * (width - full), "dim"))
            yield cut([Span(" · ".join(self._figures(share)), "dim")], width)

    def _figures(self, share: float) -> Iterator[str]:
        yield f"{size(self._done)} of {size(self._all)}"
        yield f"{share:.0%}"
        if pace := self.pace:
            yield f"{size(int(pace))}/s"
            yield f"{duration((self._all - self._done) / pace)} left"


def size(count: int) -> str:
    """Bytes as people say them, by thousands as Ollama's library does: `1.4 GB`."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    digits = 1 if unit and amount < 100 else 0
    return f"{amount:.{digits}f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """A time ahead, coarse as such a guess is: `40 s`, `3 min`, `2 h 10 min`."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
