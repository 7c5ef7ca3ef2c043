"""What is shown in place of everything else where the terminal is too small for it (TUI-11)."""

from collections.abc import Iterator

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, wrap

LEAST = (40, 10)


class TooSmall(Bar):
    """Says so; what goes on goes on, and the draft is kept."""

    def bar_rows(self, width: int) -> Iterator[Row]:
        size = self.app.size
        text = (
            f"The terminal is {size.width} x {size.height}; Nodwyn needs {LEAST[0]} x {LEAST[1]}."
            " Everything goes on; make it larger to see it."
        )
        yield from wrap([Span(text)], max(width, 1))
