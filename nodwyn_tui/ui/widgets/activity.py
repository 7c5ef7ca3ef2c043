"""What goes on right now, with a clock; still and free of cost when nothing does (PERF-8)."""

from collections.abc import Iterator
from dataclasses import dataclass

from textual.timer import Timer

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.events import RunEnded
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui.widgets.bar import Bar, Row, joined
from nodwyn_tui.ui.widgets.entries import duration
from nodwyn_tui.ui.widgets.lines import Span, cut
from nodwyn_tui.ui.widgets.visible import one_line

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_S = 0.125
_BETWEEN = Span(" · ", "faint")


@dataclass(frozen=True, slots=True)
class Doing:
    """What goes on. `until` is when it ends, by the clock, where that is known."""

    text: str
    until: float | None = None
    waits_for_you: bool = False


class Activity(Bar):
    """A row of its own, so that its clock repaints nothing else."""

    ONE_ROW = True

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._doing: Doing | None = None
        self._began: float | None = None
        self._last: Row = ()
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._timer = self.set_interval(_FRAME_S, self.refresh, pause=True)

    def begin(self) -> None:
        """A run begins: its clock starts."""
        self._began = self._clock.monotonic()
        self._last = ()
        self.do(Doing("works"))

    def do(self, doing: Doing) -> None:
        """Something else goes on now, if a run does."""
        if self._began is None:
            return
        self._doing = doing
        if self._timer is not None:
            if doing.waits_for_you:
                self._timer.pause()
            else:
                self._timer.resume()
        self.refresh()

    def end(self, ended: RunEnded | None = None) -> None:
        """The run is over; what it came to stays until the next."""
        took = self._elapsed()
        self._began = self._doing = None
        self._last = summary(ended, took) if ended else ()
        if self._timer is not None:
            self._timer.pause()
        self.refresh()

    @property
    def busy(self) -> bool:
        """Whether a run goes on."""
        return self._began is not None

    def seconds_from_now(self, seconds: float) -> float:
        """That time by the clock, for `Doing.until`."""
        return self._clock.monotonic() + seconds

    def bar_rows(self, width: int) -> Iterator[Row]:
        if self._doing is None:
            yield (Span(" "), *cut(self._last, width - 2))
            return
        now = self._clock.monotonic()
        doing = self._doing
        mark = "●" if doing.waits_for_you else _FRAMES[int(now / _FRAME_S) % len(_FRAMES)]
        role = "accent strong" if doing.waits_for_you else "primary"
        text = one_line(doing.text)
        if doing.until is not None:
            text = f"{text}, in {max(round(doing.until - now), 0)} s"
        parts: list[Row] = [(Span(f"{mark} ", role), Span(text, role))]
        if not doing.waits_for_you:
            parts.append((Span(f"{int(self._elapsed())} s", "dim"),))
        parts.append((Span("Esc stops", "dim"),))
        yield (Span(" "), *cut(joined(parts, _BETWEEN), width - 2))

    def _elapsed(self) -> float:
        return 0.0 if self._began is None else self._clock.monotonic() - self._began


def summary(ended: RunEnded, took_s: float) -> Row:
    """What a run came to, in a row."""
    words = {"done": "done", "interrupted": "stopped", "limit": "paused at a limit"}
    facts = [f"{words.get(ended.why, ended.why)} in {duration(round(took_s * 1000))}"]
    if ended.requests:
        facts.append(_count(ended.requests, "request"))
    if ended.usage and ended.usage.output_tokens is not None:
        facts.append(f"{tokens(ended.usage.output_tokens)} tokens written")
    if ended.changed_files:
        facts.append(f"{_count(len(ended.changed_files), 'file')} changed")
    return joined([(Span(fact, "dim"),) for fact in facts], _BETWEEN)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
