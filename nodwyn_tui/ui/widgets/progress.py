"""How far something is that takes a while: what goes on, and where bytes are known, a bar."""

from collections.abc import Iterator

from nodwyn_tui.domain.progress import Pace, figures
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cut, wrap
from nodwyn_tui.ui.widgets.visible import one_line


class Progress(Bar):
    """`intro` says what it is for and what Esc does."""

    def __init__(self, intro: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._intro = intro
        self.state, self.wrong = "", False
        self._done = self._whole = 0
        self._pace = Pace()

    def say(self, state: str, *, wrong: bool = False) -> None:
        """What goes on, or why it does not."""
        self.state, self.wrong = state, wrong
        self.redraw()

    def measure(self, done: int, whole: int, now: float) -> None:
        """Bytes that are there, of all; `now` in seconds of any one clock."""
        self._done, self._whole = done, whole
        self._pace.see(done, now)
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        yield from wrap([Span(self._intro)], width)
        yield ()
        mark = Span("✗ ", "error") if self.wrong else Span("… ", "dim")
        yield from wrap([mark, Span(one_line(self.state))], width)
        if self._whole:
            full = min(self._done * width // self._whole, width)
            told = figures(self._done, self._whole, self._pace.bytes_a_second)
            yield ()
            yield (Span("█" * full, "primary"), Span("░" * (width - full), "dim"))
            yield cut([Span(" · ".join(told), "dim")], width)
