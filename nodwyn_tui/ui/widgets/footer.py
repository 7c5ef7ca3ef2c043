"""The last row: the keys that do something now."""

from collections.abc import Iterable, Iterator

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cells

Hint = tuple[str, str]
"""A key, and what it does."""


class Footer(Bar):
    """`show_keys` what matters most first; what does not fit is left out (help has all)."""

    ROLE = "bar"
    ONE_ROW = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: tuple[Hint, ...] = ()

    def show_keys(self, hints: Iterable[Hint]) -> None:
        """Other keys matter now."""
        if (new := tuple(hints)) != self._hints:
            self._hints = new
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        spans: list[Span] = [Span(" ")]
        for key, what in self._hints:
            part = [Span(key, "key"), Span(f" {what}", "dim"), Span("   ")]
            if cells(spans) + cells(part) - 2 > width:
                break
            spans += part
        yield tuple(spans)
